# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# TAP for shell tests: `plan N`, then N of `ok "name" command...`, `check "name" exit-code command...`,
# `result "name" $?` and `skip "name" reason`.
# `skip_all REASON` ends a test that cannot run here.
n=0

plan() {
	echo "1..$1"
}

skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

# ok NAME COMMAND...: passes when the command succeeds; its output is shown otherwise
ok() {
	name=$1
	shift
	n=$((n + 1))
	if out=$("$@" 2>&1); then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		printf '%s\n' "# ran: $*" "$out" | sed 's/^/# /'
	fi
}

# exits CODE COMMAND...: succeeds when the command exits with that code
exits() {
	want=$1
	rc=0
	shift
	"$@" || rc=$?
	[ "$rc" = "$want" ] || {
		echo "exit code $rc, expected $want"
		return 1
	}
}

# check NAME CODE COMMAND...: passes when the command exits with that code
check() {
	name=$1
	shift
	ok "$name" exits "$@"
}

# result NAME CODE: one result that is known already; 0 passes
result() {
	n=$((n + 1))
	if [ "$2" = 0 ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
	fi
}

skip() {
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

need_root() {
	[ "$(id -u)" = 0 ] || skip_all "needs root"
	unshare -n true 2>/dev/null || skip_all "network namespaces cannot be made here"
}

# python_with MODULE: the first python3 that has it
python_with() {
	for python in python3 /usr/bin/python3; do
		"$python" -c "import $1" 2>/dev/null && echo "$python" && return
	done
	return 1
}

# a folder of this test's own, with store and state in it, gone at the end
work=$(mktemp -d "${TMPDIR:-/tmp}/irqlab-test-XXXXXX")
export IRQLAB_DB="$work/irqlab.db" IRQLAB_STATE_DIR="$work/state"
trap 'rm -rf "$work"' EXIT
src=$(cd "$(dirname "$0")/../.." && pwd)
# by hand, without meson: the programs of build/
IRQLAB=${IRQLAB:-$src/build/irqlab}
