# SPDX-License-Identifier: GPL-3.0-or-later
# clang-tidy 14 has nothing to say; newer versions have more checks.
set -eu
command -v clang-tidy >/dev/null || { echo "clang-tidy is not installed"; exit 77; }
clang-tidy --version | grep -q 'version 14\.' ||
	{ echo "needs clang-tidy 14 (Debian 12), here is $(clang-tidy --version | grep version)"; exit 77; }
rc=0
tools/lint.sh "$1" >"$1/lint.log" || rc=1
[ ! -s "$1/lint.log" ] || rc=1
cat "$1/lint.log"
exit $rc
