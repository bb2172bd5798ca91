// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The other counters of /proc: the first byte says which parser, the rest is its text.  A table and
 * itself differ by nothing; what a row holds is in range.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "probe/procstat.h"
#include "probe/schedstat.h"
#include "probe/softnet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void softnet(const char *text, size_t len)
{
	_cleanup_(softnet_release) struct softnet s = {};
	unsigned int cpus[] = { 0, 5 };
	struct err e = {};

	if (softnet_parse(text, len, &s, &e) < 0) {
		assert(e.code < 0 && !s.rows);
		return;
	}
	assert(s.nr_columns >= 9 && s.nr_rows + s.nr_bad > 0);
	for (size_t i = 0; i < s.nr_rows; i++) {
		assert(s.rows[i].cpu < CPUSET_MAX);
		assert(softnet_row(&s, s.rows[i].cpu) == &s.rows[i]);
		for (int k = 0; k < SOFTNET_NR; k++)
			assert(s.has[k] || s.rows[i].v[k] == 0);
	}
	if (softnet_name_cpus(&s, &(struct cpuset){ cpus, 2 }) && !s.has_cpus)
		assert(s.nr_rows == 2 && s.rows[1].cpu == 5);
}

static void procstat(const char *text, size_t len)
{
	_cleanup_(procstat_release) struct procstat s = {};
	struct err e = {};

	if (procstat_parse(text, len, &s, &e) < 0) {
		assert(e.code < 0 && !s.cpus);
		return;
	}
	assert(s.nr_cpus > 0 && s.nr_columns >= 4 && s.nr_columns <= PROCSTAT_NR);
	for (size_t i = 0; i < s.nr_cpus; i++) {
		struct procstat_cpu d = procstat_subtract(&s.cpus[i], &s.cpus[i]);

		assert(procstat_cpu(&s, s.cpus[i].cpu) == &s.cpus[i]);
		assert(procstat_sum(&d) == 0);
	}
}

static void schedstat(const char *text, size_t len)
{
	_cleanup_(schedstat_release) struct schedstat s = {};
	struct err e = {};

	if (schedstat_parse(text, len, &s, &e) < 0) {
		assert(e.code < 0 && !s.cpus);
		return;
	}
	assert(s.nr_cpus > 0 && s.version >= 15);
	for (size_t i = 0; i < s.nr_cpus; i++)
		assert(schedstat_cpu(&s, s.cpus[i].cpu) == &s.cpus[i]);
}

static void thread(const char *text, size_t len)
{
	struct schedstat_thread t;

	if (schedstat_thread_parse(text, len, &t))
		assert(len >= 6 && text[len - 1] == '\n');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const parsers[])(const char *, size_t) = { softnet, procstat, schedstat,
								 thread };

	/* '0' to '3', so that the corpus can be read */
	if (size)
		parsers[data[0] % ARRAY_SIZE(parsers)]((const char *)data + 1, size - 1);
	return 0;
}
