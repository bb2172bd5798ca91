#!/bin/sh
# clang-tidy over the files of the compile database in $1 (a build directory), or those named after it.
set -eu
build=$1
shift
[ $# -gt 0 ] || set -- $(sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' "$build/compile_commands.json" | grep '/src/\|^\.\./src/' | sort -u)
cd "$build"
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 4 clang-tidy -p . --quiet --extra-arg=-Wno-unknown-warning-option 2>/dev/null
