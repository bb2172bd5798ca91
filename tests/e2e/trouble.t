#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs in trouble end, say what is left and how to go on, and lose nothing.
. "$(dirname "$0")/tap.sh"
need_root
plan 19

# setup changes a file through commands; the undo fails for as long as $work/stuck exists
cat >"$work/stuck.yaml" <<EOF
name: stuck
setup:
  - command:
      set: "echo 1 >$work/value"
      undo: "test ! -e $work/stuck && echo 0 >$work/value"
      read: "cat $work/value"
      expect: "1"
variants:
  a: []
  b: []
probes:
  wakeup: { interval: 10ms, priority: [50], cpus: "0" }
trial: { settle: 0ms, warmup: 0ms, duration: 100ms }
blocks: 6
metrics:
  wakeup.p50: { margin: 5% }
EOF
echo 0 >"$work/value"

# what somebody's plan has a shell run is shown, and nobody's yes is not a yes
check "commands of a plan want a yes" 2 sh -c "'$IRQLAB' run '$work/stuck.yaml' -o '$work/r.html' 2>'$work/said' </dev/null"
ok "and are shown" grep -qF "setup, command: set: echo 1 >$work/value" "$work/said"
# on_terminal ANSWER: what a person there sees and says
on_terminal() {
	echo "$1" | script -qec "'$IRQLAB' run -q '$work/stuck.yaml' -o '$work/r.html'" /dev/null >"$work/said" 2>&1
}
if command -v script >/dev/null; then
	on_terminal n
	ok "a no on the terminal changes nothing" sh -c "grep -q 'not agreed to' '$work/said' && grep -qx 0 '$work/value' && test ! -e '$IRQLAB_DB'"
	on_terminal y
	ok "a yes there is one" grep -q '^ergo' "$work/said"
else
	skip "a no on the terminal changes nothing" "no script(1)"
	skip "a yes there is one" "no script(1)"
fi
rm -f "$IRQLAB_DB"*

touch "$work/stuck"
"$IRQLAB" run --yes "$work/stuck.yaml" -o "$work/r.html" >"$work/said" 2>"$work/err"
echo $? >"$work/rc"
ok "an undo that fails exits 3" grep -qx 3 "$work/rc"
ok "after the verdict, since all was measured" sh -c "grep -q '^ergo' '$work/said' && grep -q 'done.*stuck' <<X
$("$IRQLAB" list)
X"
check "restore cannot mend it and says how to give up" 3 sh -c "'$IRQLAB' restore 2>&1 | tee '$work/said' >/dev/null; grep -q -- --forget '$work/said' && exit 3"
rm "$work/stuck"
ok "once the cause is gone, restore mends it" "$IRQLAB" restore
ok "and the value is back" grep -qx 0 "$work/value"

# Ctrl-C in mid-trial with an undo that fails: the run ends by itself
sed 's/duration: 100ms/duration: 5s/' "$work/stuck.yaml" >"$work/long.yaml"
touch "$work/stuck"
"$IRQLAB" run --yes "$work/long.yaml" -o "$work/r.html" >"$work/said" 2>&1 &
run=$!
until [ "$(cat "$work/value")" = 1 ]; do sleep 0.05; done
sleep 0.3
kill -INT $run
wait $run
ok "an interrupted run whose undo fails ends by itself, with 3" test $? = 3
rm "$work/stuck"
ok "the next run undoes what was left and can be resumed" sh -c "'$IRQLAB' restore && grep -qx 0 '$work/value'"

# a peer that is away: the run stops, and the failed trials are measured when it is back
port=$((20000 + $$ % 10000))
cat >"$work/peer.yaml" <<EOF
name: peer
peer: 127.0.0.1:$port
variants:
  a: []
  b: []
scenarios:
  net:
    - tcp: { direction: to-dut, rate: 10M }
trial: { settle: 0ms, warmup: 50ms, duration: 100ms }
blocks: 6
metrics:
  throughput@net: { margin: 5% }
EOF
check "a peer that is away stops the run" 1 "$IRQLAB" run "$work/peer.yaml" -o "$work/r.html"
"$IRQLAB" traffic -s -p "$port" >/dev/null 2>&1 &
server=$!
"$IRQLAB" run --resume "$work/peer.yaml" -o "$work/r.html" >"$work/said" 2>&1
echo $? >"$work/rc"
kill $server
ok "when it is back, the resumed run ends with a verdict" grep -qx '[045]' "$work/rc"
"$IRQLAB" report last --json >"$work/json"
ok "for which every trial was measured" python3 -c "
import json
t = json.load(open('$work/json'))['trials']
assert len(t) == 12 and all(x['state'] == 'ok' for x in t), t"
check "an agent that ends at once is a failure, not a machine left changed" 1 sh -c "
	mkdir '$work/bin' && cp '$IRQLAB' '$work/bin/' &&
	printf '#!/bin/sh\nexit 0\n' >'$work/bin/irqlab-agent' && chmod 755 '$work/bin/irqlab-agent' &&
	'$work/bin/irqlab' run '$src/tests/plans/quick.yaml' -o '$work/r.html'"

# a change in a network namespace is not undone in another one, where the name means something else
mkdir "$work/ns"
cat >"$work/ns.yaml" <<'EOF'
name: ns
setup:
  - sysctl: { net.ipv4.tcp_ecn: 1 }
variants:
  a: []
  b: []
probes:
  wakeup: { interval: 10ms, priority: [50], cpus: "0" }
trial: { settle: 0ms, warmup: 0ms, duration: 5s }
blocks: 6
metrics:
  wakeup.p50: { margin: 5% }
EOF
unshare -n sleep 60 &
holder=$!
until [ "$(readlink /proc/$holder/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
inside() { nsenter --net=/proc/$holder/ns/net "$@"; }
ecn() { inside sysctl -n net.ipv4.tcp_ecn; }
old=$(ecn)
here=$(sysctl -n net.ipv4.tcp_ecn)
nsenter --net=/proc/$holder/ns/net "$IRQLAB" run "$work/ns.yaml" -q -o "$work/r.html" >"$work/said" 2>&1 &
run=$!
until [ "$(ecn)" = 1 ]; do sleep 0.05; done
kill -9 $run $(pgrep -P $run)
while pgrep -f "^$(dirname "$IRQLAB")/irqlab-agent" >/dev/null; do sleep 0.05; done
check "restore elsewhere refuses" 3 "$IRQLAB" restore
ok "and changes nothing there" test "$(sysctl -n net.ipv4.tcp_ecn)" = "$here"
ok "restore in that namespace works" inside "$IRQLAB" restore
ok "and sets it back" test "$(ecn)" = "$old"
kill $holder
