// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/drift.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "report/format.h"
#include "report/model.h"
#include "stats/series.h"
#include "stats/stats.h"

/* Of each flag; a report with five metrics shows one by chance in ten reports or so. */
#define FLAG_ALPHA 0.01
/* Fewer trials say nothing about a trend. */
#define TRIALS_MIN 12
/* Points of a trial's series, of which a trend could be seen. */
#define POINTS_MIN 8
/* Trials between two changes of level. */
#define SEGMENT_MIN 5
#define PERMUTATIONS 199

/* The values of one metric by position, each as a share of its variant's median. */
struct course {
	double *v;
	size_t *trial;
	size_t nr;
};

static void course_release(struct course *c)
{
	free(c->v);
	free(c->trial);
}

static int add(struct report *rep, size_t query, struct buf *text, struct err *e)
{
	struct drift_list *l = &rep->drift;
	struct drift *v = realloc(l->v, (l->nr + 1) * sizeof(*v));

	if (v)
		l->v = v;
	if (!v || text->failed)
		return err_nomem(e, "report");
	v[l->nr] = (struct drift){ query, strdup(buf_str(text)) };
	return v[l->nr++].text ? 0 : err_nomem(e, "report");
}

/* Of @variant; NAN when it has none or cannot be divided by. */
static double median_of(const struct report *rep, size_t query, unsigned int variant, double *room)
{
	double m = (double)NAN;
	size_t n = 0;

	for (size_t i = 0; i < rep->nr_trials; i++) {
		double v = model_value(rep, i, query);

		if (rep->trials[i].variant == variant && rep->trials[i].state == TRIAL_OK &&
		    isfinite(v))
			room[n++] = v;
	}
	if (n == 0 || sample_median(room, n, &m) < 0 || !(m > 0))
		return (double)NAN;
	return m;
}

/* In units of its variant's median, so that a variant's effect is no drift. */
static int course_of(const struct report *rep, size_t query, struct course *ret, struct err *e)
{
	size_t nr = rep->nr_trials;
	_cleanup_(freep) double *room = calloc(nr + 1, sizeof(*room));

	ret->v = calloc(nr + 1, sizeof(*ret->v));
	ret->trial = calloc(nr + 1, sizeof(*ret->trial));
	if (!room || !ret->v || !ret->trial)
		return err_nomem(e, "report");
	for (unsigned int k = 0; k < rep->plan->nr_variants; k++) {
		double m = median_of(rep, query, k, room);

		for (size_t i = 0; i < nr; i++) {
			double v = model_value(rep, i, query);

			if (rep->trials[i].variant == k)
				ret->v[i] = rep->trials[i].state == TRIAL_OK ? v / m : (double)NAN;
		}
	}
	for (size_t i = 0; i < nr; i++) {
		if (!isfinite(ret->v[i]))
			continue;
		ret->v[ret->nr] = ret->v[i];
		ret->trial[ret->nr++] = i;
	}
	return 0;
}

static int find_trend(struct report *rep, size_t query, const struct course *c, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	struct trend t = {};
	double whole;

	if (c->nr < TRIALS_MIN || trend_test(c->v, c->nr, FLAG_ALPHA, &t) < 0 || t.p > FLAG_ALPHA)
		return 0;
	whole = t.slope.estimate * (double)(c->nr - 1);
	buf_printf(&text, "drift: %s went ", rep->plan->metrics[query].text);
	format_change(&text, whole, fabs(whole));
	buf_printf(
		&text,
		" from the first to the last trial, whatever the variant (p = %.2g); pairs within "
		"a block cancel it, the medians beside them do not",
		t.p);
	return add(rep, query, &text, e);
}

static int find_shifts(struct report *rep, size_t query, const struct course *c, struct err *e)
{
	const struct permute how = { PERMUTATIONS, 1, FLAG_ALPHA, 1 };
	struct change at[CHANGE_POINTS_MAX];
	size_t nr = 0;
	int r = 0;

	if (c->nr < TRIALS_MIN || change_points(c->v, c->nr, SEGMENT_MIN, &how, at, &nr) < 0)
		return 0;
	for (size_t i = 0; i < nr && r >= 0; i++) {
		_cleanup_(buf_release) struct buf text = {};
		double ratio = at[i].after / at[i].before - 1;

		/* a change of spread alone has no size that could be given */
		if (!isfinite(ratio))
			continue;
		buf_printf(&text, "level shift: %s went ", rep->plan->metrics[query].text);
		format_change(&text, ratio, fabs(ratio));
		buf_printf(&text, " at trial %u, whatever the variant (p = %.2g)",
			   rep->trials[c->trial[at[i].at]].position + 1, at[i].p);
		r = add(rep, query, &text, e);
	}
	return r;
}

/* The window's part of a curve. */
static bool drifts(const struct curve *c, double *room)
{
	struct trend t = {};
	size_t n = 0;

	for (size_t i = 0; i < c->nr; i++)
		if (c->points[i].t_ns > 0)
			room[n++] = c->points[i].v;
	return n >= POINTS_MIN && drift_test(room, n, FLAG_ALPHA, &t) == 0 && t.p <= FLAG_ALPHA;
}

/* More often than chance would have it? */
static bool is_many(size_t drifting, size_t trials)
{
	double mean = FLAG_ALPHA * (double)trials;

	return (double)drifting > mean + 3 * sqrt(mean) + 1;
}

static int inside_trials(struct report *rep, size_t query, const struct over_time *o, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	size_t most = 0, drifting = 0;
	_cleanup_(freep) double *room = NULL;

	for (size_t i = 0; i < o->nr; i++)
		most = o->v[i].nr > most ? o->v[i].nr : most;
	room = calloc(most + 1, sizeof(*room));
	if (!room)
		return err_nomem(e, "report");
	for (size_t i = 0; i < o->nr; i++)
		drifting += drifts(&o->v[i], room);
	if (!is_many(drifting, o->nr))
		return 0;
	buf_printf(&text,
		   "drift inside trials: %s has a trend in %zu of %zu windows; a longer warmup may "
		   "let it settle",
		   rep->plan->metrics[query].text, drifting, o->nr);
	return add(rep, query, &text, e);
}

bool drift_is_series_of(const struct report *rep, const struct over_time *o, size_t query)
{
	const struct plan_metric *m = &rep->plan->metrics[query];
	_cleanup_(buf_release) struct buf name = {};

	if (!m->desc || !m->owner || *o->labels ||
	    strcmp(model_scenario(rep, o->scenario), m->scenario) != 0)
		return false;
	buf_printf(&name, "%s.%s", m->owner, m->desc->name);
	return strcmp(o->metric, buf_str(&name)) == 0;
}

static int find_in_metric(struct report *rep, size_t query, struct err *e)
{
	_cleanup_(course_release) struct course c = {};
	int r = course_of(rep, query, &c, e);

	if (r >= 0)
		r = find_trend(rep, query, &c, e);
	if (r >= 0)
		r = find_shifts(rep, query, &c, e);
	for (size_t i = 0; i < rep->over_time.nr && r >= 0; i++)
		if (drift_is_series_of(rep, &rep->over_time.v[i], query))
			r = inside_trials(rep, query, &rep->over_time.v[i], e);
	return r;
}

int drift_find(struct report *rep, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < rep->plan->nr_metrics && r >= 0; i++)
		r = find_in_metric(rep, i, e);
	return r;
}

void drift_release(struct report *rep)
{
	for (size_t i = 0; i < rep->drift.nr; i++)
		free(rep->drift.v[i].text);
	free(rep->drift.v);
}
