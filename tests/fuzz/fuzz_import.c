// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * libFuzzer over the importer and what reads its result.  By hand:
 *	clang -fsanitize=fuzzer,address,undefined (as tests/fuzz/meson.build does) and then
 *	fuzz_import tests/fuzz/corpus/import
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(import_release) struct import_doc doc = {};
	struct err e = {};

	if (import_text((const char *)data, size, &doc, &e) < 0)
		return 0;
	for (size_t i = 0; i < doc.nr_runs; i++) {
		const struct import_run *run = &doc.runs[i];

		assert(run->label && run->heading && run->line <= run->last_line);
		assert(i == 0 || doc.runs[i - 1].line <= run->line);
		if (import_iperf3(run))
			check_iperf3(import_iperf3(run));
		else
			check_cyclictest(import_cyclictest(run));
	}
	return 0;
}
