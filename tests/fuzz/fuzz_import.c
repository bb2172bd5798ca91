// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * libFuzzer over the importer and what reads its result.  By hand:
 *	clang -fsanitize=fuzzer,address,undefined (as tests/fuzz/meson.build does) and then
 *	fuzz_import tests/fuzz/corpus/import
 */
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "import/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_iperf3(const struct iperf3_run *run)
{
	assert(run->nr > 0);
	for (int i = 0; i < IPERF3_ROLES; i++) {
		_cleanup_(iperf3_series_release) struct iperf3_series s = {};

		assert(iperf3_series(run, (enum iperf3_role)i, &s) == 0);
		assert(s.nr <= run->nr && s.omitted + s.tail <= run->nr);
		for (size_t k = 0; k < s.nr; k++)
			assert(s.bps[k] >= 0 && s.retr[k] >= 0);
	}
}

static void check_cyclictest(const struct cyclictest_run *run)
{
	assert(run->nr > 0);
	for (size_t i = 0; i < run->nr; i++) {
		assert(run->threads[i].cycles >= 0);
		assert(i == 0 || run->threads[i - 1].t < run->threads[i].t);
	}
}

/* What holds whatever the tool. */
static void check_common(const struct import_run *run)
{
	for (size_t i = 0; i < run->nr_figures; i++) {
		const struct import_figure *f = &run->figures[i];

		assert(*f->metric && *f->unit && !strpbrk(f->labels, " \n"));
		assert(isfinite(f->value) && f->half >= 0 && f->n >= -1);
		assert(import_figure_find(run, f->metric, f->labels) == f);
	}
	for (size_t i = 0; i < run->nr_series; i++)
		for (size_t k = 0; k < run->series[i].nr; k++)
			assert(isfinite(run->series[i].points[k].v));
	for (size_t i = 0; i < run->nr_hists; i++)
		assert(run->hists[i].width >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(import_release) struct import_doc doc = {};
	struct err e = {};

	if (import_text((const char *)data, size, &doc, &e) < 0)
		return 0;
	for (size_t i = 0; i < doc.nr_runs; i++) {
		const struct import_run *run = &doc.runs[i];

		assert(run->label && run->heading && run->line <= run->last_line);
		assert(i == 0 || doc.runs[i - 1].number < run->number);
		if (import_iperf3(run))
			check_iperf3(import_iperf3(run));
		else if (import_cyclictest(run) && import_cyclictest(run)->nr)
			check_cyclictest(import_cyclictest(run));
		check_common(run);
	}
	return 0;
}
