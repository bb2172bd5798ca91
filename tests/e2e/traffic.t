#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The traffic engine against stock iperf3 and against itself, in both directions.  What the sender
# sent and the receiver received of one test may differ by what the socket buffers hold.
#
# usage: traffic.t PROGRAM [ARGUMENT...]   ("irqlab traffic", or the command alone)
set -u
. "$(dirname "$0")/tap.sh"
dir=$work
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
command -v python3 >/dev/null || skip_all "python3 is missing (reads the JSON)"

# agree FILE RATE BUFFERS: both sides of the client's JSON; RATE is 0 or what was asked of all
# streams together; BUFFERS [bytes] is what may be under way when the test ends
cat >"$dir/agree.py" <<'PY'
import json, sys
with open(sys.argv[1]) as f:
    doc = json.load(f)
rate, buffers = float(sys.argv[2]), float(sys.argv[3])
assert "error" not in doc, doc["error"]
sent, received = doc["end"]["sum_sent"], doc["end"]["sum_received"]
assert received["bytes"] > 0, "nothing received"
assert abs(sent["bytes"] - received["bytes"]) <= buffers, (sent["bytes"], received["bytes"])
assert sent["retransmits"] >= 0, sent
# the rows of the intervals are the whole: all but what came after the last one
rows = sum(i["sum"]["bytes"] for i in doc["intervals"])
whole = (sent if doc["intervals"][0]["sum"]["sender"] else received)["bytes"]
assert abs(whole - rows) <= max(buffers, 67108864), (whole, rows)
for side in sent, received:
    want = side["bytes"] * 8 / side["seconds"]
    assert abs(side["bits_per_second"] - want) <= want * 0.001, side
# pacing never runs ahead by more than some blocks
if rate:
    assert sent["bytes"] <= rate / 8 * sent["seconds"] + 16 * 131072, sent
PY

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

# one NAME SERVER CLIENT RATE OPTION...
one() {
	name=$1 from=$2 to=$3 rate=$4
	shift 4
	# flat out the buffers are full at the end; paced they hold little; our own two ends wait
	buffers=67108864
	[ "$rate" = 0 ] || buffers=8388608
	[ "$from$to" != oursours ] || buffers=0
	if ! serve "$from" $program; then
		result "$name" 1
		sed 's/^/# /' "$dir/server.log"
		return
	fi
	client=$program
	[ "$to" = ours ] || client=iperf3
	$client -c 127.0.0.1 -p "$port" -t 1 -J "$@" >"$dir/client.json" 2>"$dir/client.err"
	rc=$?
	wait "$server"
	served=$?
	server=
	[ $rc -eq 0 ] && [ $served -eq 0 ] && python3 "$dir/agree.py" "$dir/client.json" "$rate" "$buffers" 2>"$dir/agree.err"
	rc=$?
	result "$name" $rc
	[ $rc -eq 0 ] || tail -n 20 "$dir/client.err" "$dir/agree.err" "$dir/server.log" | sed 's/^/# /'
}

# with stock iperf3 or a skip that names it
stock() {
	if command -v iperf3 >/dev/null; then
		one "$@"
	else
		skip "$1" "iperf3 is missing"
	fi
}

# the tests of one pair of programs
pair() {
	run=$1 what=$2 from=$3 to=$4
	"$run" "$what: client sends" "$from" "$to" 0
	"$run" "$what: server sends" "$from" "$to" 0 -R
	"$run" "$what: client sends, 4 streams" "$from" "$to" 0 -P 4
	"$run" "$what: server sends, 4 streams" "$from" "$to" 0 -P 4 -R
	"$run" "$what: client sends, paced" "$from" "$to" 200000000 -b 100M -P 2
	"$run" "$what: server sends, paced" "$from" "$to" 200000000 -b 100M -P 2 -R
	"$run" "$what: window, block and congestion control" "$from" "$to" 0 -w 256K -l 16K -C reno
}

program=$*
plan 45
pair one "ours to ours" ours ours
pair stock "stock client, our server" ours stock
pair stock "our client, stock server" stock ours
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
usage '-l "0"' -c 127.0.0.1 -l 0
usage '-w "x"' -c 127.0.0.1 -w x
usage 'unexpected "extra"' -c 127.0.0.1 extra
usage "-R is the client's" -s -R
usage "-b is the client's" -s -b 1M
usage "-1 is the server's" -c 127.0.0.1 -1
usage 'no option "--bitrat3", the nearest is --bitrate' -c 127.0.0.1 --bitrat3=1M
usage 'no option "-q"' -c 127.0.0.1 -Jq
usage 'option "-t" needs a value' -c 127.0.0.1 -t
usage 'option --reverse takes no value' -c 127.0.0.1 --reverse=yes
check "no server is an error" 1 $program -c 127.0.0.1 -p "$(free_port)"
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
		grep -q 'refuses the test (iperf3 error 200)' "$dir/text"
	rc=$?
	result "a server without memory for the streams says so, at both ends" $rc
	[ $rc -eq 0 ] || tail -n 5 "$dir/text" "$dir/server.log" | sed 's/^/# /'
	server=
else
	skip "a server without memory for the streams says so, at both ends" \
		"the program does not run in 400 MB of address space"
fi

# UDP, as far as a stock client is concerned
if command -v iperf3 >/dev/null; then
	port=$(free_port)
	serve ours $program
	iperf3 -c 127.0.0.1 -p "$port" -u -t 1 2>&1 | grep -q '(0%)  receiver'
	result "a stock client runs a test over UDP" $?
	kill "$server" 2>/dev/null
	wait "$server"
	server=
else
	skip "a stock client runs a test over UDP" "iperf3 is missing"
fi

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
