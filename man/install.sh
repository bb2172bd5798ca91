#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# install.sh IRQLAB TEMPLATE MANDIR DATADIR: manual pages and the shells' completions, with meson install.
set -eu
irqlab=$1 template=$2
man=${DESTDIR:-}$3 data=${DESTDIR:-}$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$(dirname "$0")/make.sh" "$irqlab" "$template" "$work"
mkdir -p "$man/man1" "$man/man5"
install -m 644 "$work"/*.1 "$man/man1"
install -m 644 "$work"/*.5 "$man/man5"
put() {
	mkdir -p "$(dirname "$data/$2")"
	"$irqlab" --completion "$1" >"$data/$2"
}
put bash bash-completion/completions/irqlab
put zsh zsh/site-functions/_irqlab
put fish fish/vendor_completions.d/irqlab.fish
