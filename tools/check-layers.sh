#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Fail when a file under src/ includes a header from a folder listed after its own in tools/layers,
# or when a folder under src/ is not listed there.  An argument names another tree (for the test).
set -eu
cd "${1:-$(dirname "$0")/..}"
for d in src/*/; do
	grep -qx "$(basename "$d")" tools/layers || { echo "$d is not in tools/layers"; exit 1; }
done
grep -rnoE --include='*.[ch]' '^#include "[a-z0-9_]+/' src |
awk -F'[:/"]' '
	BEGIN { while ((getline l < "tools/layers") > 0) if (l !~ /^#/ && l != "") rank[l] = ++n }
	{ from = $2; to = $(NF-1); if ((from in rank) && (to in rank) && rank[to] > rank[from]) { print $0 " breaks the layer order"; bad = 1 } }
	END { exit bad }'
