#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# embed.sh FILE...: each FILE as a line of struct ready_plan: its name without folder and ending, its text.
set -eu
for file; do
	name=${file##*/}
	printf '{ "%s",\n' "${name%.*}"
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/  "/' -e 's/$/\\n"/' "$file"
	printf '},\n'
done
