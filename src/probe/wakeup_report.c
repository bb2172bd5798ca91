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

/*
 * A quantile is given when ten of the wake-ups that were due lie above it, N (1 - q) >= 10: below
 * that it is noise.  N counts the skipped ones too: it follows from window and interval alone, so
 * that a variant with long stalls does not lose the quantile that shows them.
 */
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
static const struct quantile corrected_quantiles[] = {
	{ "p50-corrected", 0.5, 20 },
	{ "p99-corrected", 0.99, 1000 },
	{ "p999-corrected", 0.999, 10000 },
};

/* What a line of statistics is about. */
struct group {
	const char *labels;
	struct hist *hist, *corrected; /* scratch, merged into */
	uint64_t skipped, elsewhere, interval_ns;
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
	bool is_corrected = h == g->corrected; /* of the same number: said once */
	uint64_t v = 0, due = g->hist->total + g->skipped;

	if (due >= q->needs && hist_quantile(h, q->q, &v) == 0) {
		emit_scalar(m, q->name, "ns", g->labels, (double)v);
		return;
	}
	if (g->says && !is_corrected)
		emit_event(m, SEVERITY_NOTE, 0,
			   "%s%s%s left out: %" PRIu64 " wake-ups were due in the window, %" PRIu64
			   " needed; a longer trial or a shorter interval gives them",
			   q->name, *g->labels ? " of " : "", g->labels, due, q->needs);
}

static void report_group(struct emit *m, const struct group *g)
{
	const struct hist *h = g->hist;
	double cycles = (double)h->total + (double)g->skipped;

	emit_scalar(m, "n", "count", g->labels, (double)h->total);
	emit_scalar(m, "missed", "count", g->labels, (double)g->skipped);
	if (g->elsewhere)
		emit_scalar(m, "elsewhere", "count", g->labels, (double)g->elsewhere);
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
	for (size_t i = 0; i < ARRAY_SIZE(corrected_quantiles); i++)
		report_quantile(m, g, &corrected_quantiles[i], g->corrected);
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
	g->elsewhere = 0;
	g->interval_ns = l->interval_ns;
	for (size_t i = 0; i < nr; i++) {
		hist_merge(g->hist, &l[i].hist);
		g->skipped += l[i].skipped;
		g->elsewhere += l[i].elsewhere;
	}
	report_group(m, g);
}

/*
 * How many points the window of @res has at most: one a second, and a last interval shorter than
 * half a second belongs to the one before it, whose maximum it would otherwise undercut.
 */
static size_t max_points(const struct wakeup_result *res, size_t nr_seconds)
{
	uint64_t nr;

	if (res->end_ns <= res->begin_ns || res->end_ns == UINT64_MAX)
		return nr_seconds;
	nr = (res->end_ns - res->begin_ns + NS_PER_S / 2) / NS_PER_S;
	nr = nr ? nr : 1;
	return nr < nr_seconds ? (size_t)nr : nr_seconds;
}

static void report_seconds(struct emit *m, const struct wakeup_lane *l,
			   const struct wakeup_result *res, const char *labels)
{
	_cleanup_(freep) struct point *points = calloc(l->nr_seconds, sizeof(*points));
	size_t nr = 0, most = max_points(res, l->nr_seconds);

	if (!points) {
		if (m->r == 0)
			m->r = err_nomem(m->e, "maxima of the wake-ups");
		return;
	}
	for (size_t i = 0; i < l->nr_seconds; i++) {
		const struct wakeup_second *s = &l->seconds[i];
		uint64_t at_ns = s->at_ns;
		struct point at = { (int64_t)(at_ns - res->begin_ns), (double)s->max_ns };

		if (!at_ns)
			continue;
		if (i < most || nr == 0)
			points[nr++] = at;
		else if (at.v > points[nr - 1].v)
			points[nr - 1] = at;
	}
	if (nr)
		emit_series(m, "max", "ns", labels, points, nr);
}

static void report_raw(struct emit *m, const struct wakeup_lane *l, const struct wakeup_result *res)
{
	char labels[WAKEUP_LABELS_SIZE];

	snprintf(labels, sizeof(labels), "cpu=%u,prio=%u", l->cpu, l->priority);
	if (l->hist.total)
		emit_hist(m, "latency", labels, &l->hist);
	report_seconds(m, l, res, labels);
	if (l->error)
		emit_event(m, SEVERITY_VETO, 0, "%s: clock_nanosleep failed (errno %d)", labels,
			   l->error);
	if (l->elsewhere)
		emit_event(
			m, SEVERITY_VETO, 0,
			"%s: %" PRIu64
			" wake-ups ran on another CPU and are not counted; was its CPU taken offline?",
			labels, l->elsewhere);
	else if (l->last_cpu >= 0 && (unsigned int)l->last_cpu != l->cpu)
		emit_event(m, SEVERITY_VETO, 0,
			   "%s: the thread ended on CPU %d; was its CPU taken offline?", labels,
			   l->last_cpu);
}

void wakeup_priority_label(const struct wakeup_result *res, size_t at, char ret[WAKEUP_LABELS_SIZE])
{
	ret[0] = '\0';
	if (at)
		snprintf(ret, WAKEUP_LABELS_SIZE, "prio=%u", res->lanes[at].priority);
}

void wakeup_report(const struct wakeup_result *res, struct emit *m)
{
	_cleanup_(hist_freep) struct hist *merged = hist_new();
	_cleanup_(hist_freep) struct hist *corrected = hist_new();
	char labels[WAKEUP_LABELS_SIZE];
	struct group g = { .labels = labels, .hist = merged, .corrected = corrected };

	if (!merged || !corrected) {
		m->r = err_nomem(m->e, "histogram of the wake-ups");
		return;
	}
	for (size_t at = 0; at < res->nr_lanes; at += res->nr_cpus) {
		const struct wakeup_lane *l = &res->lanes[at];

		wakeup_priority_label(res, at, labels);
		g.says = true;
		report_lanes(m, &g, l, res->nr_cpus);
		g.says = false;
		for (size_t i = 0; i < res->nr_cpus; i++, l++) {
			snprintf(labels, sizeof(labels), at ? "cpu=%u,prio=%u" : "cpu=%u", l->cpu,
				 l->priority);
			report_lanes(m, &g, l, 1);
			report_raw(m, l, res);
		}
	}
}
