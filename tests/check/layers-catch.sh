# SPDX-License-Identifier: GPL-3.0-or-later
# The layer check catches a planted violation and an unlisted folder.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/tools" "$dir/src/base" "$dir/src/store"
cp tools/layers "$dir/tools/"
echo '#include "base/err.h"' >"$dir/src/store/ok.c"
tools/check-layers.sh "$dir"
echo '#include "store/store.h"' >"$dir/src/base/bad.c"
! tools/check-layers.sh "$dir" >/dev/null || { echo "an upward include was not caught"; exit 1; }
rm "$dir/src/base/bad.c"
mkdir "$dir/src/unheard"
! tools/check-layers.sh "$dir" >/dev/null || { echo "an unlisted folder was not caught"; exit 1; }
