#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The wakeup probe and stock cyclictest measure the same thing: run in turns with the same settings,
# minimum and median agree within 1 us or 10 %.
#	cyclictest.t WAKEUP_MAIN
#
# The same settings include cyclictest's habit of waking its main thread every 10 ms (wakeup_main.c).
# A shared machine is never quiet: what is compared is the median difference over short rounds, and
# what disturbs one of the two by chance is tried again.  A difference between the programs stays.
set -u
. "$(dirname "$0")/tap.sh"
main=${1:?usage: cyclictest.t WAKEUP_MAIN}
rounds=15
tries=4
dir=$work

command -v cyclictest >/dev/null || skip_all "cyclictest is not installed (Debian: rt-tests)"
"$main" 0.1 >/dev/null 2>"$dir/why" || skip_all "$(tail -n 1 "$dir/why")"

# "min p50 max n missed" of cyclictest in ns; it cuts off to whole us.
theirs() {
	cyclictest -m -S -p98 -q -l2000 -i250 -h 20000 |
	awk '	$1 == "#" && $2 == "Min" { for (i = 4; i <= NF; i++) if (min == "" || $i + 0 < min) min = $i + 0 }
		$1 == "#" && $2 == "Max" { for (i = 4; i <= NF; i++) if ($i + 0 > max) max = $i + 0 }
		$1 == "#" && $2 == "Total:" { for (i = 3; i <= NF; i++) n += $i }
		$1 == "#" && $2 == "Histogram" && $3 == "Overflows:" { for (i = 4; i <= NF; i++) n += $i }
		/^[0-9]/ { us[++rows] = $1 + 0; for (i = 2; i <= NF; i++) count[rows] += $i }
		END {
			for (i = 1; i <= rows && seen < n / 2; i++) { seen += count[i]; p50 = us[i] }
			print min * 1000, p50 * 1000, max * 1000, n, 0
		}'
}

# Which of the two runs first in a round alternates, too.
measure() {
	: >"$dir/ours"
	: >"$dir/theirs"
	for i in $(seq "$rounds"); do
		[ $((i % 2)) = 0 ] && theirs >>"$dir/theirs"
		"$main" 0.5 priority=98 interval=250us 2>/dev/null >>"$dir/ours" || return 1
		[ $((i % 2)) = 1 ] && theirs >>"$dir/theirs"
	done
	paste -d ' ' "$dir/ours" "$dir/theirs" >"$dir/both"
}

# agree NAME COLUMN: the median over the rounds of ours - theirs, both cut off to us.
agree() {
	awk -v c="$2" '{ a = int($c / 1000); b = int($(c + 5) / 1000); print a - b, a, b }' "$dir/both" |
	sort -n |
	awk -v name="$1" '
		{ d[NR] = $1; ours += $2; theirs += $3 }
		END {
			if (!NR || !ours || !theirs) exit 1
			ours /= NR; theirs /= NR; m = d[int((NR + 1) / 2)]
			printf "# %s: probe %.1f us, cyclictest %.1f us, median difference %d us\n", name, ours, theirs, m
			m = m < 0 ? -m : m
			exit !(m <= 1 || m <= 0.1 * theirs)
		}'
}

plan 2
for try in $(seq "$tries"); do
	measure
	agree minimum 1 && agree median 2 && break
	echo "# try $try of $tries: apart"
done
ok "minimum agrees with cyclictest within 1 us or 10 %" agree minimum 1
ok "median agrees with cyclictest within 1 us or 10 %" agree median 2
