// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "import/cyclictest.h"

/* What is made of a whole cyclictest run. */

#define LABELS 32

/* Whether the command line has -N, alone or in a bundle such as -mNq, or --nsecs. */
static bool asks_ns(const char *command)
{
	const char *s = strstr(command, "cyclictest ");

	for (s = s ? scan_find(s, " -") : NULL; s; s = scan_find(s, " -")) {
		s += 2;
		if (strncmp(s, "-nsecs", 6) == 0)
			return true;
		if (s[strcspn(s, "N0123456789- ")] == 'N')
			return true;
	}
	return false;
}

void cyclictest_take_command(struct cyclictest_run *run, const char *command)
{
	run->ns = asks_ns(command);
	run->has_command = *command != '\0';
}

/*
 * As us, a smallest latency above the interval says that every single wake-up came later than the
 * next one was due; an average above 1 s or a maximum above 60 s is no machine's that anybody
 * measures.  As ns all three are ordinary.
 */
static bool is_hardly_us(const struct cyclictest_thread *t)
{
	if (t->cycles == 0)
		return false;
	return (t->interval_us > 0 && t->min > t->interval_us) || t->avg > 1000000 ||
	       t->max > 60000000;
}

/* Columns without the total that -H adds. */
static size_t thread_columns(const struct cyclictest_run *run)
{
	if (run->nr_said && run->nr_said < run->nr_columns)
		return run->nr_said;
	if (!run->nr_said && run->nr_columns > 2 && !run->sum_differs)
		return run->nr_columns - 1;
	return run->nr_columns;
}

/* Threads of which there is a histogram and no T: line. */
static int threads_of_columns(struct cyclictest_run *run)
{
	size_t nr = thread_columns(run);

	for (size_t i = 0; i < nr; i++) {
		const struct cyclictest_column *c = &run->columns[i];
		struct cyclictest_thread t = { .line = run->hist_line,
					       .t = (int64_t)i,
					       .tid = -1,
					       .prio = -1,
					       .interval_us = -1,
					       .cycles = (int64_t)c->rows,
					       .min = c->min,
					       .act = -1,
					       .avg = c->avg,
					       .max = c->max };

		if (c->overflow > 0)
			t.cycles += c->overflow;
		if (cyclictest_add_thread(run, &t) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int check_columns(struct import_run *run)
{
	const struct cyclictest_run *data = run->data;
	size_t nr = thread_columns(data);
	int r = 0;

	if (nr < data->nr_columns)
		r = import_note(run, data->hist_line,
				"the histogram's last column is the sum of the others (-H)");
	for (size_t i = 0; i < nr && r == 0; i++) {
		const struct cyclictest_column *c = &data->columns[i];

		if (c->total >= 0 && (uint64_t)c->total != c->rows)
			r = import_note(run, data->hist_line,
					"thread %zu: the rows add up to %" PRIu64
					" samples, its total says %" PRId64,
					i, c->rows, c->total);
		if (r == 0 && c->overflow > 0)
			r = import_note(run, data->hist_line,
					"thread %zu: %" PRId64
					" sample(s) lie above the histogram's last row",
					i, c->overflow);
	}
	return r;
}

/* The columns' names and widths, now that it is known which they are. */
static int name_hists(struct import_run *run)
{
	const struct cyclictest_run *data = run->data;
	size_t nr = thread_columns(data);
	double scale = data->ns ? 1 : 1000;

	for (size_t i = 0; i < run->nr_hists; i++) {
		struct import_hist *h = &run->hists[i];
		size_t column = strtoul(h->labels + strcspn(h->labels, "0123456789"), NULL, 10);

		h->width = scale;
		for (size_t k = 0; k < h->nr; k++)
			h->bars[k].v *= scale;
		if (column < nr && data->columns && data->columns[column].overflow > 0)
			h->overflow += (uint64_t)data->columns[column].overflow;
	}
	while (run->nr_hists > nr && nr)
		if (import_hist_drop(run) < 0)
			return -ENOMEM;
	return 0;
}

/* -v: the cycles of the points become times. */
static void time_samples(struct import_run *run)
{
	const struct cyclictest_run *data = run->data;

	for (size_t i = 0; i < run->nr_series; i++) {
		struct import_series *s = &run->series[i];

		for (size_t k = 0; k < s->nr; k++) {
			s->points[k].v *= data->ns ? 1 : 1000;
			s->points[k].half = data->ns ? 0.5 : 500;
		}
	}
}

/* -v without T: lines: threads of the samples. */
static int threads_of_samples(struct import_run *run)
{
	struct cyclictest_run *data = run->data;

	for (size_t i = 0; i < run->nr_series; i++) {
		const struct import_series *s = &run->series[i];
		struct cyclictest_thread t = { .line = run->line,
					       .tid = -1,
					       .prio = -1,
					       .interval_us = -1,
					       .cycles = (int64_t)(s->nr + s->dropped),
					       .min = INT64_MAX,
					       .act = -1 };
		double sum = s->dropped_sum;

		t.t = strtol(s->labels + strcspn(s->labels, "0123456789"), NULL, 10);
		for (size_t k = 0; k < s->nr; k++) {
			int64_t v = (int64_t)s->points[k].v;

			t.min = v < t.min ? v : t.min;
			t.max = v > t.max ? v : t.max;
			sum += s->points[k].v;
		}
		if (s->dropped) {
			t.min = (int64_t)fmin((double)t.min, s->dropped_min);
			t.max = (int64_t)fmax((double)t.max, s->dropped_max);
		}
		t.avg = (int64_t)(sum / (double)(s->nr + s->dropped));
		if (data->nr && data->threads[data->nr - 1].t >= t.t)
			continue;
		if (cyclictest_add_thread(data, &t) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* A latency in the run's own unit, known to within @half of it. */
struct latency {
	const char *metric;
	double value, half;
	int64_t n;
	bool key;
};

static int add_latency(struct import_run *run, const char *labels, const struct latency *l)
{
	double scale = ((const struct cyclictest_run *)run->data)->ns ? 1 : 1000;

	if (l->value < 0)
		return 0;
	return import_figure_add(run, &(struct import_figure){ .metric = l->metric,
							       .unit = "ns",
							       .labels = labels,
							       .value = l->value * scale,
							       .half = l->half * scale,
							       .n = l->n,
							       .key = l->key });
}

static int add_count(struct import_run *run, const char *metric, const char *labels, int64_t v,
		     bool key)
{
	return import_figure_add(run, &(struct import_figure){ .metric = metric,
							       .unit = "count",
							       .labels = labels,
							       .value = (double)v,
							       .n = -1,
							       .key = key });
}

/* Averages are cut, not rounded. */
static int add_three(struct import_run *run, const char *labels, const double v[3], int64_t n,
		     bool key)
{
	const struct latency l[] = { { "latency.min", v[0], 0.5, n, key },
				     { "latency.avg", v[1], 1, n, key },
				     { "latency.max", v[2], 0.5, n, key } };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(l) && r == 0; i++)
		r = add_latency(run, labels, &l[i]);
	return r;
}

static int thread_figures(struct import_run *run, const struct cyclictest_thread *t)
{
	const double v[] = { (double)t->min, (double)t->avg, (double)t->max };
	char labels[LABELS];
	int r;

	snprintf(labels, sizeof(labels), "thread=%" PRId64, t->t);
	r = add_count(run, "cycles", labels, t->cycles, false);
	if (r < 0 || t->cycles)
		return r < 0 ? r : add_three(run, labels, v, t->cycles, false);
	return import_note(run, t->line, "thread %" PRId64 ": no samples", t->t);
}

/* Of all threads together. */
static int whole_figures(struct import_run *run)
{
	const struct cyclictest_run *data = run->data;
	double v[] = { -1, 0, -1 };
	int64_t n = 0;
	bool avg = true;
	int r = add_count(run, "threads", "", (int64_t)data->nr, true);

	for (size_t i = 0; i < data->nr; i++) {
		const struct cyclictest_thread *t = &data->threads[i];

		if (t->cycles <= 0)
			continue;
		n += t->cycles;
		avg = avg && t->avg >= 0;
		v[1] += (double)t->avg * (double)t->cycles;
		if (t->min >= 0 && (v[0] < 0 || (double)t->min < v[0]))
			v[0] = (double)t->min;
		if ((double)t->max > v[2])
			v[2] = (double)t->max;
	}
	if (r < 0 || n == 0)
		return r;
	v[1] = avg ? v[1] / (double)n : -1;
	return add_three(run, "", v, n, true);
}

int cyclictest_finish(struct import_run *run)
{
	struct cyclictest_run *data = run->data;
	int r = data->nr_columns && !data->nr ? threads_of_columns(data) : 0;

	if (r == 0 && data->verbose_rows && !data->nr)
		r = threads_of_samples(run);

	for (size_t i = 0; i < data->nr && !data->has_command; i++)
		data->looks_ns = data->looks_ns || is_hardly_us(&data->threads[i]);
	if (data->verbose_rows == 0)
		run->rows = data->nr;
	if (r == 0 && data->looks_ns)
		r = import_note(run, run->line,
				"values look like nanoseconds (-N), but nothing says so: taken for "
				"microseconds");
	if (r == 0)
		r = check_columns(run);
	if (r == 0 && !data->json)
		r = name_hists(run);
	time_samples(run);
	for (size_t i = 0; i < data->nr && r == 0; i++)
		r = thread_figures(run, &data->threads[i]);
	return r < 0 || !data->nr ? r : whole_figures(run);
}
