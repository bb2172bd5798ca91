// SPDX-License-Identifier: GPL-3.0-or-later
#include "probe/wakeup.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"
#include "probe/emit.h"

/* Room for "cpu=8191,prio=99". */
#define LABELS_SIZE 48

/* A quantile is given with ten samples above it at least: below that it is noise. */
struct quantile {
	const char *name;
	double q;
	uint64_t needs;
};

static const struct quantile quantiles[] = {
	{ "p50", 0.5, 20 },
	{ "p99", 0.99, 1000 },
	{ "p999", 0.999, 10000 },
};
static const struct quantile corrected_p99 = { "p99-corrected", 0.99, 1000 };

/* What a line of statistics is about. */
struct group {
	const char *labels;
	struct hist *hist, *corrected; /* scratch, merged into */
	uint64_t skipped, interval_ns;
	bool says; /* events too, not only numbers */
};

uint64_t wakeup_phase(uint64_t seed, unsigned int cpu, unsigned int priority, uint64_t interval_ns)
{
	/* the lane picks the stream: which other lanes exist does not change its phase */
	uint64_t state = seed, lane = ((uint64_t)cpu << 8) | priority;

	state = rng_next(&state) ^ rng_next(&lane);
	return rng_below(&state, interval_ns);
}

uint64_t wakeup_first(uint64_t now_ns, uint64_t phase_ns, uint64_t interval_ns)
{
	uint64_t first = now_ns / interval_ns * interval_ns + phase_ns;

	return first > now_ns ? first : first + interval_ns;
}

void wakeup_correct(const struct hist *h, uint64_t interval_ns, struct hist *ret)
{
	hist_merge(ret, h);
	for (unsigned int i = hist_index(interval_ns); i < HIST_BUCKETS; i++) {
		uint64_t lower = hist_lower(i), late = lower + (hist_upper(i) - lower) / 2;

		if (!h->count[i])
			continue;
		late = late < h->max ? late : h->max;
		for (; late >= interval_ns; late -= interval_ns)
			hist_add_many(ret, late - interval_ns, h->count[i]);
	}
}

static void report_quantile(struct emit *m, const struct group *g, const struct quantile *q,
			    const struct hist *h)
{
	uint64_t v = 0;

	if (h->total >= q->needs && hist_quantile(h, q->q, &v) == 0) {
		emit_scalar(m, q->name, "ns", g->labels, (double)v);
		return;
	}
	if (g->says)
		emit_event(m, SEVERITY_NOTE, 0,
			   "%s%s%s left out: %" PRIu64 " wake-ups, %" PRIu64
			   " needed; a longer trial or a shorter interval gives them",
			   q->name, *g->labels ? " of " : "", g->labels, h->total, q->needs);
}

static void report_group(struct emit *m, const struct group *g)
{
	const struct hist *h = g->hist;
	double cycles = (double)h->total + (double)g->skipped;

	emit_scalar(m, "n", "count", g->labels, (double)h->total);
	emit_scalar(m, "missed", "count", g->labels, (double)g->skipped);
	if (h->total == 0) {
		if (g->says)
			emit_event(m, SEVERITY_WARN, 0, "no wake-up was measured%s%s",
				   *g->labels ? ": " : "", g->labels);
		return;
	}
	emit_scalar(m, "missed-ratio", "ratio", g->labels, (double)g->skipped / cycles);
	emit_scalar(m, "min", "ns", g->labels, (double)h->min);
	emit_scalar(m, "avg", "ns", g->labels, h->sum / (double)h->total);
	emit_scalar(m, "max", "ns", g->labels, (double)h->max);
	for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++)
		report_quantile(m, g, &quantiles[i], h);
	memset(g->corrected, 0, sizeof(*g->corrected));
	wakeup_correct(h, g->interval_ns, g->corrected);
	report_quantile(m, g, &corrected_p99, g->corrected);
	if (g->says && g->skipped)
		emit_event(m, SEVERITY_WARN, 0,
			   "%" PRIu64 " wake-ups of %.0f were skipped (%.2g %%)%s%s: a thread came "
			   "later than its next wake-up, which p50, p99 and p999 do not see",
			   g->skipped, cycles, 100 * (double)g->skipped / cycles,
			   *g->labels ? ": " : "", g->labels);
}

/* Statistics of the lanes @l[0..nr-1], which share a priority. */
static void report_lanes(struct emit *m, struct group *g, const struct wakeup_lane *l, size_t nr)
{
	memset(g->hist, 0, sizeof(*g->hist));
	g->skipped = 0;
	g->interval_ns = l->interval_ns;
	for (size_t i = 0; i < nr; i++) {
		hist_merge(g->hist, &l[i].hist);
		g->skipped += l[i].skipped;
	}
	report_group(m, g);
}

static void free_pointp(struct point **p)
{
	free(*p);
}

static void report_seconds(struct emit *m, const struct wakeup_lane *l, uint64_t begin_ns,
			   const char *labels)
{
	_cleanup_(free_pointp) struct point *points = calloc(l->nr_seconds, sizeof(*points));
	size_t nr = 0;

	if (!points) {
		if (m->r == 0)
			m->r = err_nomem(m->e, "maxima of the wake-ups");
		return;
	}
	for (size_t i = 0; i < l->nr_seconds; i++)
		if (l->seconds[i].at_ns)
			points[nr++] = (struct point){ (int64_t)(l->seconds[i].at_ns - begin_ns),
						       (double)l->seconds[i].max_ns };
	if (nr)
		emit_series(m, "max", "ns", labels, points, nr);
}

static void report_raw(struct emit *m, const struct wakeup_lane *l, uint64_t begin_ns)
{
	char labels[LABELS_SIZE];

	snprintf(labels, sizeof(labels), "cpu=%u,prio=%u", l->cpu, l->priority);
	if (l->hist.total)
		emit_hist(m, "latency", labels, &l->hist);
	report_seconds(m, l, begin_ns, labels);
	if (l->error)
		emit_event(m, SEVERITY_VETO, 0, "%s: clock_nanosleep failed (errno %d)", labels,
			   l->error);
	if (l->last_cpu >= 0 && (unsigned int)l->last_cpu != l->cpu)
		emit_event(m, SEVERITY_VETO, 0,
			   "%s: the thread ended on CPU %d; was its CPU taken offline?", labels,
			   l->last_cpu);
}

void wakeup_report(const struct wakeup_result *res, struct emit *m)
{
	_cleanup_(hist_freep) struct hist *merged = hist_new();
	_cleanup_(hist_freep) struct hist *corrected = hist_new();
	char labels[LABELS_SIZE];
	struct group g = { .labels = labels, .hist = merged, .corrected = corrected };

	if (!merged || !corrected) {
		m->r = err_nomem(m->e, "histogram of the wake-ups");
		return;
	}
	for (size_t at = 0; at < res->nr_lanes; at += res->nr_cpus) {
		const struct wakeup_lane *l = &res->lanes[at];

		/* the first priority is the one meant when a plan names none */
		labels[0] = '\0';
		if (at)
			snprintf(labels, sizeof(labels), "prio=%u", l->priority);
		g.says = true;
		report_lanes(m, &g, l, res->nr_cpus);
		g.says = false;
		for (size_t i = 0; i < res->nr_cpus; i++, l++) {
			snprintf(labels, sizeof(labels), at ? "cpu=%u,prio=%u" : "cpu=%u", l->cpu,
				 l->priority);
			report_lanes(m, &g, l, 1);
			report_raw(m, l, res->begin_ns);
		}
	}
}
