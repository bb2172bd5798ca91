// SPDX-License-Identifier: GPL-3.0-or-later
/* /proc/interrupts of any kernel: a table and itself differ by nothing. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "probe/procint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(procint_release) struct procint p = {};
	_cleanup_(procint_diff_release) struct procint_diff d = {};
	struct err e = {};

	if (procint_parse((const char *)data, size, &p, &e) < 0)
		return 0;
	assert(p.nr_cpus > 0);
	for (size_t i = 0; i < p.nr_rows; i++)
		assert(p.rows[i].id && p.rows[i].name && p.rows[i].count);
	assert(procint_subtract(&p, &p, &d, &e) == 0);
	assert(d.nr_vanished == 0 && d.nr_cpus_changed == 0);
	for (size_t i = 0; i < d.nr_rows; i++)
		assert(d.rows[i].total == 0);
	return 0;
}
