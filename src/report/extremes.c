// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/extremes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "report/json_write.h"
#include "report/model.h"

/* Maxima second by second, in time order; a trial's seconds are never mixed with another's. */
struct seconds {
	double *v;
	size_t *trial;
	size_t nr;
};

static void seconds_release(struct seconds *s)
{
	free(s->v);
	free(s->trial);
}

static bool is_maxima(const struct over_time *o)
{
	size_t len = strlen(o->metric);

	return len > 4 && strcmp(o->metric + len - 4, ".max") == 0 && strcmp(o->unit, "ns") == 0;
}

static bool counts(const struct report *rep, const struct curve *c, unsigned int variant)
{
	const struct trial_info *t = &rep->trials[c->trial];

	return t->state == TRIAL_OK && t->variant == variant;
}

/* The curves of one trial are those of its CPUs: the maximum over them, as far as all have one. */
static void add_trial(struct seconds *s, const struct over_time *o, size_t first, size_t end)
{
	size_t n = o->v[first].nr;

	for (size_t k = first; k < end; k++)
		n = o->v[k].nr < n ? o->v[k].nr : n;
	for (size_t i = 0; i < n; i++) {
		double most = o->v[first].points[i].v;

		for (size_t k = first + 1; k < end; k++)
			most = fmax(most, o->v[k].points[i].v);
		s->v[s->nr] = most;
		s->trial[s->nr++] = o->v[first].trial;
	}
}

static int seconds_of(const struct report *rep, const struct over_time *o, unsigned int variant,
		      struct seconds *ret, struct err *e)
{
	size_t room = 1;

	for (size_t i = 0; i < o->nr; i++)
		room += o->v[i].nr;
	ret->v = calloc(room, sizeof(*ret->v));
	ret->trial = calloc(room, sizeof(*ret->trial));
	if (!ret->v || !ret->trial)
		return err_nomem(e, "report");
	for (size_t i = 0, end; i < o->nr; i = end) {
		for (end = i + 1; end < o->nr && o->v[end].trial == o->v[i].trial;)
			end++;
		if (counts(rep, &o->v[i], variant))
			add_trial(ret, o, i, end);
	}
	return 0;
}

/* Maxima of @block seconds, in place; what a trial has left over is dropped. */
static size_t longer_blocks(struct seconds *s, size_t block)
{
	size_t nr = 0;

	for (size_t i = 0; i + block <= s->nr;) {
		double most = s->v[i];

		if (s->trial[i] != s->trial[i + block - 1]) {
			i++;
			continue;
		}
		for (size_t k = 1; k < block; k++)
			most = fmax(most, s->v[i + k]);
		s->v[nr++] = most;
		i += block;
	}
	return nr;
}

static int judge(const struct report *rep, const struct over_time *o, struct extremes *x,
		 struct err *e)
{
	_cleanup_(seconds_release) struct seconds s = {};
	struct extreme_query q = { .alpha = EXTREMES_ALPHA, .seed = rep->run.seed };
	size_t nr;
	int r = seconds_of(rep, o, x->variant, &s, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < s.nr; i++)
		x->largest = fmax(x->largest, s.v[i]);
	x->block_s = (s.nr + EXTREMES_MOST - 1) / EXTREMES_MOST;
	x->block_s = x->block_s ? x->block_s : 1;
	nr = longer_blocks(&s, x->block_s);
	q.period = (double)EXTREMES_PERIOD_S / (double)x->block_s;
	x->is = (struct extreme_report){ .word = EXTREME_FEW, .n = nr };
	if (nr == 0 || !(q.period > 1))
		return 0;
	r = extreme_maxima(s.v, nr, &q, &x->is);
	if (r == -ENOMEM)
		return err_nomem(e, "report");
	/* numbers that no law is fitted to are no reason to have no report */
	if (r < 0)
		x->is = (struct extreme_report){ .word = EXTREME_SHAPE, .n = nr };
	return 0;
}

int extremes_find(struct report *rep, struct err *e)
{
	struct extremes_list *l = &rep->extremes;
	int r = 0;

	/* nobody looks before the end, not even at this */
	if (model_is_partial(rep))
		return 0;
	l->v = calloc(rep->over_time.nr * rep->plan->nr_variants + 1, sizeof(*l->v));
	if (!l->v)
		return err_nomem(e, "report");
	for (size_t i = 0; i < rep->over_time.nr; i++) {
		const struct over_time *o = &rep->over_time.v[i];

		for (unsigned int k = 0; is_maxima(o) && k < rep->plan->nr_variants && r >= 0;
		     k++) {
			struct extremes *x = &l->v[l->nr++];

			*x = (struct extremes){ .metric = o->metric,
						.labels = o->labels,
						.scenario = o->scenario,
						.variant = k };
			r = judge(rep, o, x, e);
		}
	}
	return r;
}

void extremes_release(struct report *rep)
{
	free(rep->extremes.v);
}

void json_extremes(struct json *j, const struct report *rep)
{
	json_begin(j, "extrapolation", '[');
	for (size_t i = 0; i < rep->extremes.nr; i++) {
		const struct extremes *x = &rep->extremes.v[i];
		bool good = x->is.word == EXTREME_GOOD;
		const double none = (double)NAN;

		json_begin(j, NULL, '{');
		put_text(j, "metric", x->metric);
		put_text(j, "labels", x->labels);
		put_text(j, "scenario", model_scenario(rep, x->scenario));
		put_text(j, "variant", model_variant(rep, x->variant));
		put_text(j, "gate", extreme_word(x->is.word));
		put_count(j, "n", x->is.n);
		put_count(j, "block_s", x->block_s);
		put_number(j, "largest_ns", x->largest);
		put_count(j, "period_s", EXTREMES_PERIOD_S);
		put_number(j, "level_ns", good ? x->is.level.estimate : none);
		put_number(j, "low_ns", good ? x->is.level.low : none);
		put_number(j, "high_ns", good ? x->is.level.high : none);
		put_number(j, "alpha", EXTREMES_ALPHA);
		put_number(j, "shape", good ? x->is.shape : none);
		json_end(j, '}');
	}
	json_end(j, ']');
}
