#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The command line of the traffic engine, and how its two ends begin and end.  What tests measure is
# in matrix.py.
#
# usage: traffic.t PROGRAM [ARGUMENT...]   ("irqlab traffic", or the command alone)
set -u
. "$(dirname "$0")/tap.sh"
dir=$work
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
command -v python3 >/dev/null || skip_all "python3 is missing (finds free ports)"

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# serve ours|stock COMMAND...: one server for one test, listening when this returns
serve() {
	port=$(free_port)
	if [ "$1" = stock ]; then
		iperf3 -s -p "$port" -1 >"$dir/server.log" 2>&1 &
	else
		shift
		"$@" -s -p "$port" -1 >"$dir/server.log" 2>&1 &
	fi
	server=$!
	# not by connecting: that would be the one test
	until grep -q "$(printf ':%04X 0*:0000 0A' "$port")" /proc/net/tcp /proc/net/tcp6; do
		kill -0 "$server" 2>/dev/null || return 1
		sleep 0.05
	done
}

program=$*
plan 56
# usage WORDS ARGUMENT...: exit code 2, one line with WORDS that ends in where to look
usage() {
	words=$1
	shift
	ok "usage error: $words" misused "$words" "$@"
}
misused() {
	words=$1
	shift
	exits 2 $program "$@" >"$dir/said" 2>&1 && [ "$(wc -l <"$dir/said")" = 1 ] && grep -qF -e "$words" "$dir/said" &&
		grep -q '; see: irqlab traffic --help$' "$dir/said" && return
	cat "$dir/said"
	return 1
}
usage "either -s (server) or -c HOST (client)"
usage "either -s (server) or -c HOST (client)" -s -c 127.0.0.1
usage '-P "1000": expected a number from 1 to' -c 127.0.0.1 -P 1000
usage '-p "0"' -c 127.0.0.1 -p 0
usage '-b "fast": expected a bit rate' -c 127.0.0.1 -b fast
usage '-t "1s"' -c 127.0.0.1 -t 1s
usage '-t "0.5": expected whole seconds from 0 to' -c 127.0.0.1 -t 0.5
usage '-i ".01": expected 0 or 0.1' -c 127.0.0.1 -i .01
usage '-l "0"' -c 127.0.0.1 -l 0
usage '-w "x"' -c 127.0.0.1 -w x
usage 'unexpected "extra"' -c 127.0.0.1 extra
usage "-R is the client's" -s -R
usage "-b is the client's" -s -b 1M
usage "-1 is the server's" -c 127.0.0.1 -1
usage 'no option "--bitrat3", the nearest is --bitrate' -c 127.0.0.1 --bitrat3=1M
usage '--ti is ambiguous: --timestamps, --time, --title;' -c 127.0.0.1 --ti 1
usage 'no option "-q"' -c 127.0.0.1 -Jq
usage 'option "-t" needs a value' -c 127.0.0.1 -t
usage 'option --reverse takes no value' -c 127.0.0.1 --reverse=yes
usage "only one of -t, -n and -k can end a test" -c 127.0.0.1 -t 1 -n 1M
usage "-R and --bidir exclude each other" -c 127.0.0.1 -R --bidir
usage '-b "1M/2000": expected 1 to 1000 blocks' -c 127.0.0.1 -b 1M/2000
usage '-S "256": expected 0 to 255' -c 127.0.0.1 -S 256
usage '--dscp "af99"' -c 127.0.0.1 --dscp af99
usage "a datagram has 65507 bytes at most" -c 127.0.0.1 -u -l 100K
usage "--crr is TCP's" -c 127.0.0.1 --crr -u
usage "over UDP carry a number: 8 bytes at least" -c 127.0.0.1 -u --rr --request 4
usage "they need --beside" -c 127.0.0.1 --rr -b 1M
usage "--beside goes with --rr" -c 127.0.0.1 --beside tcp
usage "--arrivals poisson goes with a rate" -c 127.0.0.1 --rr --arrivals poisson
usage "shares of the full rate" -c 127.0.0.1 --sweep 0%..50%
usage '--max-clients "0"' -s --max-clients 0
usage "use --bidir" -c 127.0.0.1 -d
usage "TCP and UDP are; use iperf3 for SCTP" -c 127.0.0.1 --sctp
usage "pace with -b" -c 127.0.0.1 --fq-rate 1M
usage "bind the server to an inner address" -c 127.0.0.1 --username me
usage "let systemd keep it" -s -D
help_is_complete() {
	$program --help >"$dir/help" && for o in --udp --bidir --bitrate --json-stream --get-server-output --rr --beside \
		--sweep --max-clients --one-off --dont-fragment; do
		grep -q -e "$o" "$dir/help" || return 1
	done
}
ok "--help names the options" help_is_complete
# said WORDS ARGUMENT...: nobody listens, and WORDS begin a line of what is said about it
said() {
	words=$1
	shift
	exits 1 $program -c 127.0.0.1 -p "$(free_port)" "$@" >"$dir/said" 2>"$dir/err" && grep -q "^$words" "$dir/err" && return
	cat "$dir/err"
	return 1
}
ok "no server is an error, with the reason and then what to do" said 'irqlab: connect to .* refused; is "irqlab traffic -s" or '
ok "an interval may begin with its point" said 'irqlab: connect to ' -i .5
for o in --gsro --dont-fragment --udp-counters-64bit; do
	ok "TCP without an effect of $o" said "irqlab: $o has no effect with TCP$" $o
done
for o in -Z -N; do
	ok "UDP without an effect of $o" said "irqlab: $o has no effect with UDP$" $o -u
done
silent() {
	said 'irqlab: connect' "$@" && [ "$(wc -l <"$dir/err")" = 1 ]
}
ok "no word about what has an effect" silent -u --gsro --dont-fragment --udp-counters-64bit
ok "no word about what has an effect on the load" silent -N -Z --gsro --rr --beside udp
serve ours $program && kill -TERM "$server" && wait "$server"
result "a server ends by SIGTERM with 0" $?
server=

# a server that takes the connection and says nothing
python3 -c '
import socket, sys, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
print(s.getsockname()[1], flush=True)
c = s.accept()[0]
c.recv(37, socket.MSG_WAITALL)
print("greeted", flush=True)
while c.recv(100):
    pass
' >"$dir/silent" &
server=$!
until [ -s "$dir/silent" ]; do sleep 0.05; done
$program -c 127.0.0.1 -p "$(cat "$dir/silent")" >"$dir/text" 2>&1 &
client=$!
until grep -q greeted "$dir/silent"; do
	kill -0 "$client" 2>/dev/null || break
	sleep 0.05
done
kill -INT "$client"
wait "$client"
[ $? -eq 1 ] && grep -q 'interrupted' "$dir/text"
rc=$?
result "a client waiting for its server can be interrupted" $rc
[ $rc -eq 0 ] || sed 's/^/# /' "$dir/text"
kill "$server" 2>/dev/null
wait "$server"
server=

# an end without a beginning would be no JSON document, or an abort
# shellcheck disable=SC3045 # dash has ulimit -v
if (ulimit -v 400000 && $program --help) >/dev/null 2>&1; then
	port=$(free_port)
	# shellcheck disable=SC2086
	# shellcheck disable=SC3045
	(ulimit -v 400000 && exec $program -s -p "$port" -J) >"$dir/server.log" 2>&1 &
	server=$!
	until grep -q "$(printf ':%04X 0*:0000 0A' "$port")" /proc/net/tcp /proc/net/tcp6; do
		kill -0 "$server" 2>/dev/null || break
		sleep 0.05
	done
	$program -c 127.0.0.1 -p "$port" -t 1 -P 100 >"$dir/text" 2>&1 && echo "# 100 threads?"
	kill -TERM "$server" && wait "$server" &&
		grep -q 'thread for stream [1-9][0-9]* of 100' "$dir/server.log" &&
		grep -q 'the test: .* (iperf3 error 200)' "$dir/text"
	rc=$?
	result "a server without memory for the streams says so, at both ends" $rc
	[ $rc -eq 0 ] || tail -n 5 "$dir/text" "$dir/server.log" | sed 's/^/# /'
	server=
else
	skip "a server without memory for the streams says so, at both ends" \
		"the program does not run in 400 MB of address space"
fi

# as systemd starts it: the listening socket is descriptor 3
cat >"$dir/activate.py" <<'PY'
import os, socket, sys
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
print(s.getsockname()[1], flush=True)
os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execvp(sys.argv[1], sys.argv[1:])
PY
# shellcheck disable=SC2086
python3 "$dir/activate.py" $program -s -1 -p 1 >"$dir/activated" 2>&1 &
server=$!
until [ -s "$dir/activated" ]; do sleep 0.05; done
$program -c 127.0.0.1 -p "$(head -n 1 "$dir/activated")" -t 1 -b 8M >"$dir/text" 2>&1 && wait "$server"
rc=$?
result "the server takes the socket of systemd" $rc
[ $rc -eq 0 ] || sed 's/^/# /' "$dir/text" "$dir/activated"
server=

# the files a person asks for
serve ours $program
$program -c 127.0.0.1 -p "$port" -t 1 -b 8M --logfile "$dir/log" -I "$dir/pid" --timestamps='<%Y> ' >"$dir/text" 2>&1
rc=$?
[ $rc -eq 0 ] && [ ! -s "$dir/text" ] && grep -q '^<20[0-9][0-9]> .*receiver$' "$dir/log" && [ ! -e "$dir/pid" ]
result "the output goes to a log with times, and the pid file is gone after" $?
wait "$server"
server=

# all of it was written, or not
serve ours $program
exits 1 $program -c 127.0.0.1 -p "$port" -t 1 -b 8M --logfile /dev/full >"$dir/text" 2>&1 &&
	grep -q 'write the output to /dev/full' "$dir/text"
result "a log that cannot be written is an error" $?
wait "$server"

# the table for people
serve ours $program
$program -c 127.0.0.1 -p "$port" -t 1 -P 2 -b 8M >"$dir/text" 2>&1
grep -q '^\[SUM\]   0.00-.* sec .*bits/sec .* sender$' "$dir/text"
result "the text ends in a sum of the sender" $?
grep -q 'receiver$' "$dir/text"
result "the text has the receiver" $?
wait "$server"
result "one-off ends after one test" $?
server=
