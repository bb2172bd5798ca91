# SPDX-License-Identifier: GPL-3.0-or-later
# TAP for shell tests.  Source it, then
#	plan 2
#	check "what holds" command args...
tap_n=0

plan() { echo "1..$1"; }

check() {
	tap_what=$1
	shift
	tap_n=$((tap_n + 1))
	if "$@"; then
		echo "ok $tap_n - $tap_what"
	else
		echo "not ok $tap_n - $tap_what"
	fi
}
