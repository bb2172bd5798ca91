#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Manual pages and completions come from the rows that commands are parsed by.
. "$(dirname "$0")/tap.sh"
plan 11
STORED=${STORED:-$src/build/tests/e2e/stored}

"$src/man/make.sh" "$IRQLAB" "$src/man/irqlab-plan.5.in" "$work/man"
commands=$("$IRQLAB" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
ok "every command of --help has a page" sh -c "
	for c in $(echo "$commands" | tr '\n' ' '); do test -s '$work/man/irqlab-'\$c.1 || exit 1; done"
ok "and the plan has one, with every plug-in" sh -c "
	'$IRQLAB' plan --plugins | sed -n 's/^  \([a-z][a-z0-9-]*\): .*/\1/p' | while read -r p; do
		grep -qF \".SS \\\"\$(echo \$p | sed 's/-/\\\\\\\\-/g')\\\"\" '$work/man/irqlab-plan.5' || exit 1
	done"
options_in_pages() {
	for c in $commands; do
		for o in $("$IRQLAB" --complete "$c" --); do
			[ "$o" = --help ] || grep -qF -e "$(echo "$o" | sed 's/-/\\-/g')" "$work/man/irqlab-$c.1" || {
				echo "$c $o"
				return 1
			}
		done
	done
}
ok "every option has its line" options_in_pages
ok "every key that a plan may have is in irqlab-plan(5)" sh -c "
	sed -n 's/^\t{ \"\([a-z]*\)\", parse_[a-z]* },.*/\1/p' '$src/src/plan/plan.c' >'$work/keys'
	test \$(wc -l <'$work/keys') -gt 10 && while read -r k; do
		grep -q \"^\.BR* .*\$k\" '$work/man/irqlab-plan.5' || { echo \$k; exit 1; }
	done <'$work/keys'"
if command -v groff >/dev/null; then
	for page in "$work"/man/*; do
		{ groff -man -Tutf8 -ww "$page" >/dev/null; } 2>&1
	done >"$work/warnings"
	ok "pages are clean for groff" test ! -s "$work/warnings"
else
	skip "pages are clean for groff" "no groff"
fi

says() {
	test "$("$IRQLAB" --complete "$@" | tr '\n' ' ')" = "$want "
}
want="report rename restore" && "$IRQLAB" --complete re | sort >"$work/re"
ok "commands are completed" test "$(tr '\n' ' ' <"$work/re")" = "rename report restore "
want="--bind --bind-dev"
ok "options of commands with their own parser, too" says traffic --bind
"$STORED" "$IRQLAB_DB" && "$IRQLAB" tag 1 baseline
want="last 1 baseline"
ok "runs are completed by id and tag" says report ""
want="baseline"
ok "as far as they begin so" says check b
ok "what is neither is left to the shell" test -z "$("$IRQLAB" --complete run pla)"
PATH=$(dirname "$IRQLAB"):$PATH
if command -v bash >/dev/null; then
	ok "bash asks" test "$(bash -c '
		eval "$(irqlab --completion bash)"
		COMP_WORDS=(irqlab report ba) COMP_CWORD=2
		_irqlab
		echo "${COMPREPLY[*]}"')" = baseline
else
	skip "bash asks" "no bash"
fi
