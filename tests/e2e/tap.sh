# SPDX-License-Identifier: GPL-3.0-or-later
# TAP for shell tests: plan N, then N of ok, check, skip.  Sourced.
tap_nr=0

plan() {
	echo "1..$1"
}

# ok NAME RC: one result; 0 passes
ok() {
	tap_nr=$((tap_nr + 1))
	if [ "$2" -eq 0 ]; then
		echo "ok $tap_nr - $1"
	else
		echo "not ok $tap_nr - $1"
	fi
}

skip() {
	tap_nr=$((tap_nr + 1))
	echo "ok $tap_nr - $1 # SKIP $2"
}

# check NAME WANT_RC COMMAND...: the command's exit code is WANT_RC; else its output is shown
check() {
	tap_name=$1
	tap_want=$2
	shift 2
	tap_out=$("$@" 2>&1) && tap_rc=0 || tap_rc=$?
	[ "$tap_rc" -eq "$tap_want" ] && tap_ok=0 || tap_ok=1
	ok "$tap_name" $tap_ok
	[ $tap_ok -eq 0 ] || printf 'exit code %s instead of %s\n%s\n' "$tap_rc" "$tap_want" "$tap_out" | sed 's/^/# /'
}

# plan of nothing: the whole file cannot run here
skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}
