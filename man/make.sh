#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# make.sh IRQLAB TEMPLATE FOLDER: every manual page into FOLDER, its tables printed by IRQLAB itself.
set -eu
irqlab=$1 template=$2 folder=$3
mkdir -p "$folder"
"$irqlab" --man >"$folder/irqlab.1"
for name in $("$irqlab" --complete ''); do
	"$irqlab" --man "$name" >"$folder/irqlab-$name.1"
done
version=$("$irqlab" --version | cut -d ' ' -f 2)
"$irqlab" --man plugins >"$folder/plugins.tmp"
sed -e "s/@VERSION@/$version/" -e "/^@PLUGINS@\$/{
r $folder/plugins.tmp
d
}" "$template" >"$folder/irqlab-plan.5"
rm "$folder/plugins.tmp"
