#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Without root: `run` says what it needs and exits 77, files can be compared, a bad plan is told.
. "$(dirname "$0")/tap.sh"
[ "$(id -u)" = 0 ] || command -v setpriv >/dev/null || skip_all "setpriv is not installed"
plan 6

# as nobody when we are root; the binaries are copied to where nobody may read them
cp "$IRQLAB" "$(dirname "$IRQLAB")/irqlab-agent" "$work/" && chmod 755 "$work" && mkdir -m 777 "$work/out"
cp "$src"/tests/plans/quick.yaml "$src"/tests/fixtures/mail/*.txt "$work/out/"
as_user() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$work/out" IRQLAB_DB="$work/out/db" "$@"
	else
		"$@"
	fi
}

user_run() {
	exits 77 as_user "$work/irqlab" run "$work/out/quick.yaml" >"$work/out/said" 2>&1 && grep -q 'needs root' "$work/out/said"
}
user_plan() {
	sed 's/blocks: 6/blocks: 5/' "$work/out/quick.yaml" >"$work/out/bad.yaml"
	exits 2 as_user "$work/irqlab" run "$work/out/bad.yaml" >"$work/out/said" 2>&1 && grep -q 'bad.yaml:.*at least 6' "$work/out/said"
}
user_compare() {
	exits 4 as_user "$work/irqlab" compare "$work/out/throughput.txt" >"$work/out/said" 2>&1 && grep -q '885.5' "$work/out/said"
}
user_help() {
	as_user "$work/irqlab" run --help | grep -q 'Example: irqlab run'
}
ok "run exits 77 and says what it needs" user_run
ok "a bad plan is told before that, with its line" user_plan
ok "compare on files works" user_compare
user_restore() {
	mkdir -p "$work/out/locked" && chmod 000 "$work/out/locked"
	exits 77 as_user env IRQLAB_STATE_DIR="$work/out/locked" "$work/irqlab" restore >"$work/out/said" 2>&1 &&
		grep -q 'Permission denied; run it as root: sudo irqlab restore$' "$work/out/said"
}
ok "help works" user_help
ok "restore exits 77 and says what it needs" user_restore
user_length() {
	as_user "$work/irqlab" plan "$work/out/quick.yaml" >"$work/out/said" && grep -q 'for 1 metric: ' "$work/out/said" &&
		grep -q 'about [1-9][0-9]* s$' "$work/out/said"
}
ok "plan says how long it takes" user_length
