#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every form of a stored run, read back by the programs that read such things.
. "$(dirname "$0")/tap.sh"
plan 27
STORED=${STORED:-$src/build/tests/e2e/stored}
"$STORED" "$IRQLAB_DB" || skip_all "a run cannot be stored here"

for form in json csv csv-scalars csv-series csv-exploratory junit ktap kcidb openmetrics hdr markdown patch; do
	ok "$form is written" "$IRQLAB" export --format "$form" -o "$work/$form"
done
ok "iperf3-json of a trial" "$IRQLAB" export last --format iperf3-json --trial 1 -o "$work/iperf3-json"
ok "cyclictest-json of a trial" "$IRQLAB" export last --format cyclictest-json --trial 1 -o "$work/cyclictest-json"
ok "irqlab itself reads the former back" sh -c "'$IRQLAB' import --list '$work/iperf3-json' | grep 'iperf3 .*20 rows.* 23.4 Gbit/s'"
ok "and the latter" sh -c "'$IRQLAB' import --list '$work/cyclictest-json' | grep 'cyclictest .*1.20 ms'"
"$IRQLAB" export --format patch >"$work/stdout"
ok "standard output has the same" cmp "$work/stdout" "$work/patch"

says() {
	code=$1 words=$2
	shift 2
	exits "$code" "$@" >"$work/said" 2>&1 && grep -qF -e "$words" "$work/said" && return
	cat "$work/said"
	return 1
}
ok "no format is a usage error with the list" says 2 "json, csv" "$IRQLAB" export
ok "a mistyped format is corrected" says 2 'did you mean "ktap"?' "$IRQLAB" export -f ktpa
ok "a form of one trial asks for it" says 2 "--trial N" "$IRQLAB" export -f iperf3-json
ok "a trial that is not there" says 1 "has no trial 4711" "$IRQLAB" export -f iperf3-json --trial 4711
ok "a run that is not there" exits 1 "$IRQLAB" export nowhere -f json

if python=$(python_with jsonschema); then
	ok "the JSON is as docs/schema says, key by key" "$python" "$src/tests/e2e/schema.py" "$src/docs/schema/report-1.json" "$work/json"
else
	skip "the JSON is as docs/schema says, key by key" "no python3-jsonschema"
fi
if python=$(python_with prometheus_client); then
	ok "Prometheus' own parser takes the OpenMetrics" "$python" -c "
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
families = {f.name: f for f in parse(open('$work/openmetrics').read())}
assert families['irqlab_verdict'].type == 'stateset' and len(families['irqlab_verdict'].samples) == 25
assert families['irqlab_latency_seconds'].unit == 'seconds'
count = [s for s in families['irqlab_latency_seconds'].samples if s.name.endswith('_count') and s.labels['scenario'] == 'net']
assert [s.value for s in count] == [64000, 64000], count"
else
	skip "Prometheus' own parser takes the OpenMetrics" "no python3-prometheus-client"
fi
if command -v python3 >/dev/null; then
	ok "the XML is well-formed and counts its tests" python3 -c "
import xml.etree.ElementTree as et
suite = et.parse('$work/junit').getroot()[0]
cases = suite.findall('testcase')
assert len(cases) == int(suite.get('tests')) == 5
assert sum(c.find('failure') is not None for c in cases) == int(suite.get('failures')) == 1
assert sum(c.find('skipped') is not None for c in cases) == int(suite.get('skipped')) == 2
assert suite.get('name').startswith('<script>')"
	ok "the CSV is read by python's csv" python3 -c "
import csv
rows = list(csv.DictReader(open('$work/csv')))
assert len(rows) == 48 and all(len(r) == 14 for r in rows)
assert sum(r['state'] == 'vetoed' and '\"|\`@x\`' in r['reason'] for r in rows) == 6"
else
	skip "the XML is well-formed and counts its tests" "no python3"
	skip "the CSV is read by python's csv" "no python3"
fi

# hdr-histogram-js: where HDR_HISTOGRAM_JS says, else from npm
module=${HDR_HISTOGRAM_JS:-}
if [ -z "$module" ] && command -v npm >/dev/null &&
	npm install --silent --no-audit --no-fund --fetch-retries=0 --prefix "$work/npm" hdr-histogram-js >/dev/null 2>&1; then
	module=$work/npm/node_modules/hdr-histogram-js
fi
# by the rule of stored.h: the 2000th of 4000 is 6664, the 3960th 10613, each within its bucket
read_back() {
	node "$src/tests/e2e/hdr.js" "$module" "$work/hdr" >"$work/intervals" &&
		[ "$(wc -l <"$work/intervals")" = 84 ] &&
		grep -qx 'flat-out/before/wakeup.latency/cpu=1;prio=98 4000 2992 1204223 6687 10623 2000' "$work/intervals" && return
	head -n 3 "$work/intervals"
	return 1
}
if [ -n "$module" ] && command -v node >/dev/null; then
	ok "hdr-histogram-js reads the log back" read_back
else
	skip "hdr-histogram-js reads the log back" "no node with npm's hdr-histogram-js"
fi
