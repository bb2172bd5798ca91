#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Run every libFuzzer harness for $FUZZ_SECONDS over its corpus; TAP.  $1: build directory.
set -eu
cd "$(dirname "$0")/.."
build=$1
if ! echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return 0; }' |
	clang -fsanitize=fuzzer,address -x c - -o /dev/null 2>/dev/null; then
	echo "1..0 # SKIP clang has no libFuzzer here"
	exit 0
fi
[ -f "$build/build.ninja" ] || CC=clang meson setup "$build" -Dfuzz=true -Dtests=enabled -Db_lundef=false >/dev/null
# only the harnesses; what cannot be built is no success by silence
harnesses=$(for f in tests/fuzz/fuzz_*.c; do echo "tests/fuzz/$(basename "$f" .c)"; done)
# shellcheck disable=SC2086
if ! ninja --quiet -C "$build" $harnesses >&2; then
	echo "not ok 1 - the harnesses are built"
	echo "1..1"
	exit 1
fi
n=0 bad=0
for f in tests/fuzz/fuzz_*.c; do
	name=$(basename "$f" .c)
	n=$((n + 1))
	work=$(mktemp -d)
	mkdir -p "$work/new"
	rc=0
	"$build/tests/fuzz/$name" -max_total_time="${FUZZ_SECONDS:-60}" -timeout=20 -rss_limit_mb=2048 -verbosity=0 \
		-artifact_prefix="$build/" "$work/new" "tests/fuzz/corpus/${name#fuzz_}" >"$work/log" 2>&1 || rc=$?
	if [ $rc = 0 ]; then
		echo "ok $n - $name for ${FUZZ_SECONDS:-60} s"
	else
		bad=1
		echo "not ok $n - $name"
		sed 's/^/# /' "$work/log" | tail -n 40
	fi
	rm -rf "$work"
done
echo "1..$n"
exit $bad
