#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The audit: on this machine, as another user, where /proc and /sys are not, and as the first thing of a run;
# what --fix sets and sets back; nothing personal in the store and in what is exported from it.
. "$(dirname "$0")/tap.sh"
here=$src/tests/e2e
STORED=${STORED:-$src/build/tests/e2e/stored}
plan 38

audit() {
	"$IRQLAB" audit --look 0 "$@"
}
# says CODE WORDS COMMAND...: it ends with that code and its output has the words
says() {
	code=$1 words=$2
	shift 2
	exits "$code" "$@" >"$work/said" 2>&1 && grep -qF -e "$words" "$work/said" && return
	cat "$work/said"
	return 1
}
json() {
	python3 -c "import json; r = json.load(open('$1')); f = {x['check']: x for x in r['findings']}
c = {x['check']: x for x in r['checks']}; assert ($2), repr($2)"
}
python_with() {
	for python in python3 /usr/bin/python3; do
		"$python" -c "import $1" 2>/dev/null && echo "$python" && return
	done
	return 1
}

audit --json >"$work/here.json"
code=$?
ok "it ends with 0 or, for a veto, 77" sh -c "[ $code = 0 ] || [ $code = 77 ]"
ok "the exit code is as the vetoes" json "$work/here.json" "(r['vetoes'] > 0) == ($code == 77)"
if python=$(python_with jsonschema); then
	ok "the JSON is as docs/schema says, key by key" "$python" "$here/schema.py" "$src/docs/schema/audit-1.json" "$work/here.json"
else
	skip "the JSON is as docs/schema says, key by key" "no python3-jsonschema"
fi
ok "facts are what other programs read" json "$work/here.json" "r['facts']['release'] == '$(uname -r)' and
	r['facts']['cpus'] == $(getconf _NPROCESSORS_ONLN) and
	r['facts']['congestion'] == '$(cat /proc/sys/net/ipv4/tcp_congestion_control)' and
	r['facts'].get('rt_runtime_us') == '$(cat /proc/sys/kernel/sched_rt_runtime_us)'"
audit >"$work/text" 2>&1
ok "lines for a terminal have 78 columns at most" sh -c "! grep -nE '^.{79}' '$work/text'"
ok "they end with what was fine" grep -q '^fine: ' "$work/text"
sed -n '/^| check /,$p' "$src/docs/audit.md" >"$work/documented"
audit --list >"$work/list"
ok "docs/audit.md has the list that --list prints" cmp "$work/documented" "$work/list"
ok "--look sees other work" sh -c "
	sh -c 'while :; do :; done' & pid=\$!
	'$IRQLAB' audit --look 500ms --json >'$work/busy.json'; kill \$pid"
ok "and says how much" json "$work/busy.json" "float(r['now']['busy']) > 0 and 'load' in f"
ok "without a netdev of that name it is a usage error" says 2 'no netdev "nowhere"' audit --dev nowhere
ok "lo has neither speed nor coalescing" sh -c "'$IRQLAB' audit --look 0 --dev lo --json >'$work/lo.json'; [ \$? != 1 ]"
ok "and is told apart from a card" json "$work/lo.json" "'dut.speed_mbit' not in r['facts'] and c['coalescing']['state'] == 'absent'"

# with a plan
ok "a veth that will not poll is a veto where NAPI is compared" says 77 "will not poll: GRO is off at \$dut, TSO is on at \$far" \
	audit "$src/tests/plans/no-effect.yaml"
ok "with the setup that mends it none" sh -c "'$IRQLAB' audit --look 0 '$src/tests/plans/quick.yaml' | grep -q '^fine:.*veth\|    .*veth'"
sed 's/^peer: netns/peer: 127.0.0.1/; /^setup:/,/^ *- netdev/d; /threaded/d; s/^  after:/  after: []/' \
	"$src/tests/plans/quick.yaml" >"$work/host.yaml"
audit --json "$work/host.yaml" >"$work/host.json"
ok "with a host as peer it is about the netdev that leads there" json "$work/host.json" \
	"r['facts']['dut.mtu'] == '$(cat /sys/class/net/lo/mtu)' and c['veth']['state'] == 'absent'"
ok "a bad plan is a usage error" says 2 "No such file" audit "$work/no/such.yaml"
ok "--fix alone explains itself" says 2 "irqlab audit --fix -- COMMAND" audit --fix
ok "two plans are one too many" exits 2 "$IRQLAB" audit a b

# as another user, and where nothing is mounted
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	cp "$IRQLAB" "$work/irqlab" && chmod 755 "$work" "$work/irqlab"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$work/irqlab" audit --look 0 --json >"$work/user.json"
	code=$?
	ok "another user gets an audit as well" sh -c "[ $code = 0 ] || [ $code = 77 ]"
	ok "in which what only root reads is unknown" json "$work/user.json" "c['timers']['state'] == 'unknown' and 'Permission denied' in c['timers']['reason']"
	ok "and --fix says what it needs" says 77 "run it as root" setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$work/irqlab" audit --fix -- true
else
	for name in "another user gets an audit as well" "in which what only root reads is unknown" "and --fix says what it needs"; do
		skip "$name" "needs root and setpriv"
	done
fi
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	# a chroot with the program and its libraries, and no /proc, /sys, /dev or /boot at all
	mkdir -p "$work/root/tmp"
	for f in "$IRQLAB" $(ldd "$IRQLAB" | grep -o '/[^ ]*'); do
		mkdir -p "$work/root/$(dirname "$f")" && cp -L "$f" "$work/root/$f"
	done
	chroot "$work/root" "$IRQLAB" audit --look 0 --json >"$work/chroot.json" 2>"$work/err"
	code=$?
	ok "in a chroot without /proc and /sys it ends with 0" sh -c "cat '$work/err'; [ $code = 0 ]"
	ok "and everything is unknown, nothing fine" json "$work/chroot.json" "not r['findings'] and
		{x['state'] for x in r['checks']} == {'unknown', 'absent'} and c['governor']['state'] == 'unknown'"
	unshare -m sh -c "mount -t tmpfs none /sys && '$IRQLAB' audit --look 0 --json" >"$work/nosys.json"
	ok "without /sys alone the rest is said" json "$work/nosys.json" "c['clocksource']['state'] == 'unknown' and
		r['facts']['congestion'] and c['kernel']['state'] != 'unknown'"
else
	for name in "in a chroot without /proc and /sys it ends with 0" "and everything is unknown, nothing fine" \
		"without /sys alone the rest is said"; do
		skip "$name" "needs root and mount namespaces"
	done
fi

# two stored runs of machines that differ
"$STORED" "$IRQLAB_DB" && "$STORED" "$IRQLAB_DB" >/dev/null
if python3 - "$IRQLAB_DB" <<-'EOT'; then
	import json, sqlite3, sys
	db = sqlite3.connect(sys.argv[1])
	(a, b), = [[r[0] for r in db.execute("SELECT id FROM run ORDER BY id LIMIT 2")]]
	found = lambda check, what: {"check": check, "severity": "warn", "affects": ["rr"], "what": what, "why": "", "mend": "", "knobs": []}
	env = [{"release": "6.1", "governor": "performance", "gone": "x", "now": {"load": "1"}, "audit": {"findings": [found("load", "busy 1")], "checks": []}},
	       {"release": "6.1", "governor": "powersave", "now": {"load": "2"}, "audit": {"findings": [found("load", "busy 2"), found("governor", "it is powersave")], "checks": []}}]
	for run, e in zip((a, b), env):
	    db.execute("UPDATE run SET env = ? WHERE id = ?", (db.execute("INSERT INTO env (json) VALUES (?)", (json.dumps(e),)).lastrowid, run))
	db.commit()
EOT
	"$IRQLAB" compare 1 2 >"$work/compare" 2>&1
	ok "compare names what differs between two machines" grep -qx 'environment: governor: performance -> powersave' "$work/compare"
	ok "and what only one of them says" grep -qx 'environment: gone: x -> (not known)' "$work/compare"
	ok "and what only one audit warned of" grep -qx 'audit, only of the second run: it is powersave' "$work/compare"
	ok "but nothing that passes" sh -c "! grep -E 'load|busy' '$work/compare'"
	ok "the report has the audit beside the verdict" sh -c "'$IRQLAB' report 2 | grep -qF 'audit: it is powersave [rr]'"
else
	for name in "compare names what differs between two machines" "and what only one of them says" \
		"and what only one audit warned of" "but nothing that passes" "the report has the audit beside the verdict"; do
		skip "$name" "no python3 with sqlite3"
	done
fi
rm -f "$IRQLAB_DB"*

if [ "$(id -u)" != 0 ] || ! unshare -n -u true 2>/dev/null; then
	for name in "run heeds a veto" "and has stored nothing" "--fix sets, runs the command, sets back" \
		"its exit code is the command's" "SIGTERM ends the command, and all is set back" "SIGKILL leaves it to restore" \
		"run --fix stores what it set" "and by that the veth polls" "no host name or address in the store and the exports"; do
		skip "$name" "needs root and namespaces"
	done
	exit 0
fi
ok "run heeds a veto" says 77 "--force runs it all the same" "$IRQLAB" run "$src/tests/plans/no-effect.yaml"
ok "and has stored nothing" sh -c "[ \"\$('$IRQLAB' list | wc -l)\" = 1 ]"

# in a network namespace of its own, whose sysctl is nobody else's
in_net() {
	unshare -n sh -c 'set -e; save=/proc/sys/net/ipv4/tcp_no_metrics_save; echo 0 >$save; '"$1" sh "$IRQLAB"
}
fix() {
	[ "$(in_net '"$1" audit --fix -- cat $save 2>/dev/null; cat $save' | tr '\n' ' ')" = "1 0 " ]
}
ok "--fix sets, runs the command, sets back" fix
ok "its exit code is the command's" exits 5 in_net 'exec "$1" audit --fix -- sh -c "exit 5" 2>/dev/null'
terminated() {
	in_net '"$1" audit --fix -- sh -c "cat $save; touch '"$work/on"'; exec sleep 600" >'"$work/during"' 2>/dev/null & pid=$!
		while [ ! -e '"$work/on"' ]; do sleep 0.1; done
		kill -TERM $pid; rc=0; wait $pid || rc=$?
		echo "$(cat '"$work/during"') $rc $(cat $save)"' >"$work/said"
	[ "$(cat "$work/said")" = "1 143 0" ] || { cat "$work/said"; return 1; }
}
ok "SIGTERM ends the command, and all is set back" terminated
rm -f "$work/on"
killed() {
	in_net '"$1" audit --fix -- sh -c "touch '"$work/on"'; exec sleep 600" 2>/dev/null & pid=$!
		while [ ! -e '"$work/on"' ]; do sleep 0.1; done
		child=$(cat /proc/$pid/task/$pid/children); kill -KILL $pid $child; wait $pid || :
		before=$(cat $save); "$1" restore >/dev/null; echo "$before $(cat $save)"' >"$work/said"
	[ "$(cat "$work/said")" = "1 0" ] || { cat "$work/said"; return 1; }
}
ok "SIGKILL leaves it to restore" killed

# one short run on a machine with a name, of a plan below a home, which without --fix is refused
mkdir -p "$work/alices-home"
sed 's/settle: [^,]*/settle: 10ms/; s/warmup: [^,]*/warmup: 50ms/; s/duration: [^ }]*/duration: 100ms/' \
	"$src/tests/plans/no-effect.yaml" >"$work/alices-home/quick.yaml"
unshare -u sh -c 'hostname rack-secret-nine; HOME=$2 exec "$1" run --fix -o "$3" "$2/quick.yaml"' sh "$IRQLAB" \
	"$work/alices-home" "$work/r.html" >"$work/r.txt" 2>&1
"$IRQLAB" export last -f json -o "$work/r.json"
ok "run --fix stores what it set" python3 -c "
import json
mended = json.load(open('$work/r.json'))['run']['env']['audit']['mended']
assert any('net.ipv4.tcp_no_metrics_save' in m['knob']['settings'] and m['refused'] is None for m in mended), mended
assert any(m['knob']['plugin'] == 'netdev' and m['refused'] is None for m in mended), mended"
ok "and by that the veth polls" sh -c "grep -q 'witness: after: .*works' '$work/r.txt' && ! grep -q 'no effect' '$work/r.txt'"
private() {
	set -- "$IRQLAB_DB"* "$work"/r.*
	for form in csv csv-scalars csv-series junit ktap kcidb openmetrics hdr markdown patch; do
		"$IRQLAB" export last -f "$form" -o "$work/x.$form" && set -- "$@" "$work/x.$form"
	done
	[ $# -ge 13 ] || return 1
	! grep -laE '([0-9a-f]{2}:){5}[0-9a-f]{2}' "$@" && ! grep -laF -e rack-secret-nine -e alices-home "$@"
}
ok "no host name or address in the store and the exports" private
