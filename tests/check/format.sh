# SPDX-License-Identifier: GPL-3.0-or-later
# The tree is as clang-format 14 writes it; other versions format differently.
set -eu
command -v clang-format >/dev/null || { echo "clang-format is not installed"; exit 77; }
clang-format --version | grep -q 'version 14\.' ||
	{ echo "needs clang-format 14 (Debian 12), here is $(clang-format --version)"; exit 77; }
find src tests bpf -name '*.[ch]' -print0 | xargs -0 clang-format --dry-run -Werror
