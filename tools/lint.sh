#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# clang-tidy over the sources in the compile database of $1 (a build directory), or the files named after it.
set -eu
build=$1
shift
cd "$build"
{
	if [ $# -gt 0 ]; then
		printf '%s\n' "$@"
	else
		sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' compile_commands.json | grep '^\.\./src/' | sort -u
	fi
} | xargs -P "$(nproc)" -n 4 clang-tidy -p . --quiet --extra-arg=-Wno-unknown-warning-option 2>/dev/null
