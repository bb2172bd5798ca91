// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/model.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "report/labels.h"
#include "sample/hist.h"

/* Room for one more element of @elem bytes in the array at *@v. */
static int grow(void **v, size_t nr, size_t *size, size_t elem, struct err *e)
{
	size_t more = *size ? *size * 2 : 8;
	char *p;

	if (nr < *size)
		return 0;
	p = realloc(*v, more * elem);
	if (!p)
		return err_nomem(e, "report");
	memset(p + *size * elem, 0, (more - *size) * elem);
	*v = p;
	*size = more;
	return 0;
}

#define GROW(list, e) grow((void **)&(list)->v, (list)->nr, &(list)->size, sizeof(*(list)->v), e)

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

static bool begins_with(const char *s, const char *start)
{
	return strncmp(s, start, strlen(start)) == 0;
}

/* Equal but for the digits in them: "moved by 12" and "moved by 7". */
static bool same_but_numbers(const char *a, const char *b)
{
	while (*a && *b) {
		if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
			a += strspn(a, "0123456789");
			b += strspn(b, "0123456789");
		} else if (*a++ != *b++) {
			return false;
		}
	}
	return *a == *b;
}

static int note_trial(struct note *n, size_t trial, struct err *e)
{
	size_t *v;

	n->count++;
	if (n->nr_trials && n->trials[n->nr_trials - 1] == trial)
		return 0;
	v = realloc(n->trials, (n->nr_trials + 1) * sizeof(*v));
	if (!v)
		return err_nomem(e, "report");
	n->trials = v;
	v[n->nr_trials++] = trial;
	return 0;
}

static int note_new(struct note_list *l, const struct note *like, struct note **ret, struct err *e)
{
	struct note *n;
	int r = GROW(l, e);

	if (r < 0)
		return r;
	n = &l->v[l->nr];
	*n = *like;
	n->metric = strdup(like->metric);
	n->text = strdup(like->text);
	l->nr++;
	if (!n->metric || !n->text)
		return err_nomem(e, "report");
	*ret = n;
	return 0;
}

static int add_warning(struct report *rep, size_t index, const struct record *rec, struct err *e)
{
	const struct note like = { .metric = (char *)(uintptr_t)rec->metric,
				   .text = (char *)(uintptr_t)rec->text,
				   .severity = rec->severity,
				   .variant = rep->trials[index].variant };
	struct note *n = NULL;
	int r = 0;

	for (size_t i = 0; i < rep->warnings.nr && !n; i++) {
		struct note *at = &rep->warnings.v[i];

		if (at->severity == rec->severity && strcmp(at->text, rec->text) == 0)
			n = at;
	}
	if (!n)
		r = note_new(&rep->warnings, &like, &n, e);
	return r < 0 ? r : note_trial(n, index, e);
}

static int add_witness(struct report *rep, size_t index, const struct record *rec, struct err *e)
{
	const struct note like = { .metric = (char *)(uintptr_t)rec->metric,
				   .text = (char *)(uintptr_t)rec->text,
				   .severity = rec->severity,
				   .variant = rep->trials[index].variant };
	struct note *n = NULL;
	int r = 0;

	for (size_t i = 0; i < rep->witnesses.nr && !n; i++) {
		struct note *at = &rep->witnesses.v[i];

		if (at->severity == rec->severity && at->variant == like.variant &&
		    same_but_numbers(at->text, rec->text))
			n = at;
	}
	if (!n)
		r = note_new(&rep->witnesses, &like, &n, e);
	return r < 0 ? r : note_trial(n, index, e);
}

int model_add_rejected(struct report *rep, size_t index, struct err *e)
{
	const struct trial_info *t = &rep->trials[index];
	const char *reason = t->reason && *t->reason ? t->reason : "no reason was stored";
	const struct note like = { .metric = (char *)(uintptr_t) "",
				   .text = (char *)(uintptr_t)reason,
				   .state = t->state,
				   .variant = t->variant };
	struct note *n = NULL;
	int r = 0;

	for (size_t i = 0; i < rep->rejected.nr && !n; i++)
		if (rep->rejected.v[i].state == t->state &&
		    same_but_numbers(rep->rejected.v[i].text, reason))
			n = &rep->rejected.v[i];
	if (!n)
		r = note_new(&rep->rejected, &like, &n, e);
	return r < 0 ? r : note_trial(n, index, e);
}

/* Is there a record of the same kind and metric whose labels are @labels? */
static bool has_record(const struct record_list *l, const struct record *rec, const char *labels)
{
	for (size_t i = 0; i < l->nr; i++)
		if (l->v[i]->kind == rec->kind && strcmp(l->v[i]->metric, rec->metric) == 0 &&
		    strcmp(l->v[i]->labels, labels) == 0)
			return true;
	return false;
}

static struct total *total_find(struct report *rep, const struct record *rec, struct err *e)
{
	struct total_list *l = &rep->totals;
	struct total *t;

	for (size_t i = 0; i < l->nr; i++)
		if (strcmp(l->v[i].metric, rec->metric) == 0)
			return &l->v[i];
	if (GROW(l, e) < 0)
		return NULL;
	t = &l->v[l->nr++];
	t->metric = strdup(rec->metric);
	t->unit = strdup(rec->unit);
	t->cell = calloc(rep->plan->nr_variants, sizeof(*t->cell));
	if (t->metric && t->unit && t->cell)
		return t;
	err_nomem(e, "report");
	return NULL;
}

/* The trial's one number is the record without labels, or else the sum (mean of ratios) of all. */
static int add_total(struct report *rep, size_t index, const struct record_list *l,
		     const struct record *rec, struct err *e)
{
	struct total *t;
	struct total_cell *c;
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < l->nr; i++) {
		const struct record *at = l->v[i];

		if (at->kind != RECORD_SCALAR || strcmp(at->metric, rec->metric) != 0)
			continue;
		/* only the first of them stands for all */
		if (n == 0 && at != rec)
			return 0;
		if (*at->labels && has_record(l, at, ""))
			n++;
		else if (isfinite(at->value))
			sum += at->value, n++;
		if (!*at->labels) {
			sum = isfinite(at->value) ? at->value : 0;
			n = 1;
			break;
		}
	}
	t = total_find(rep, rec, e);
	if (!t)
		return -ENOMEM;
	if (n > 1 && strcmp(rec->unit, "ratio") == 0)
		sum /= (double)n;
	c = &t->cell[rep->trials[index].variant];
	c->sum += sum;
	c->max = c->trials == 0 || sum > c->max ? sum : c->max;
	c->trials++;
	return 0;
}

static int over_time_find(struct report *rep, unsigned int scenario, const struct record *rec,
			  const char *labels, struct over_time **ret, struct err *e)
{
	struct over_time_list *l = &rep->over_time;
	struct over_time *o;

	for (size_t i = 0; i < l->nr; i++) {
		o = &l->v[i];
		if (o->scenario == scenario && strcmp(o->metric, rec->metric) == 0 &&
		    strcmp(o->labels, labels) == 0) {
			*ret = o;
			return 0;
		}
	}
	if (GROW(l, e) < 0)
		return -ENOMEM;
	o = &l->v[l->nr++];
	o->scenario = scenario;
	o->metric = strdup(rec->metric);
	o->labels = strdup(labels);
	o->unit = strdup(rec->unit);
	if (!o->metric || !o->labels || !o->unit)
		return err_nomem(e, "report");
	*ret = o;
	return 0;
}

static int add_series(struct report *rep, size_t index, const struct record_list *l,
		      const struct record *rec, struct err *e)
{
	_cleanup_(free_charp) char *labels = labels_without(rec->labels, "cpu");
	struct over_time *o = NULL;
	struct curve *c;
	int r;

	if (!labels)
		return err_nomem(e, "report");
	/* flows beside their sum are left out: the page shows what the verdict is about */
	if (rec->nr_points == 0 || (*rec->labels && has_record(l, rec, "")))
		return 0;
	r = over_time_find(rep, rep->trials[index].scenario, rec, labels, &o, e);
	if (r < 0)
		return r;
	r = GROW(o, e);
	if (r < 0)
		return r;
	c = &o->v[o->nr++];
	*c = (struct curve){ .trial = index, .nr = rec->nr_points };
	c->points = malloc(rec->nr_points * sizeof(*c->points));
	if (!c->points)
		return err_nomem(e, "report");
	memcpy(c->points, rec->points, rec->nr_points * sizeof(*c->points));
	return 0;
}

static int dist_new(struct report *rep, struct dist *d, const struct record *rec,
		    const char *labels, struct err *e)
{
	d->metric = strdup(rec->metric);
	d->labels = strdup(labels);
	d->hist = calloc(rep->plan->nr_variants, sizeof(struct hist *));
	if (!d->metric || !d->labels || !d->hist)
		return err_nomem(e, "report");
	for (size_t i = 0; i < rep->plan->nr_variants; i++) {
		d->hist[i] = hist_new();
		if (!d->hist[i])
			return err_nomem(e, "report");
	}
	return 0;
}

static int add_hist(struct report *rep, size_t index, const struct record_list *l,
		    const struct record *rec, struct err *e)
{
	_cleanup_(free_charp) char *labels = labels_without(rec->labels, "cpu");
	const struct trial_info *t = &rep->trials[index];
	struct dist *d = NULL;

	if (!labels)
		return err_nomem(e, "report");
	/* already merged over CPUs by the probe */
	if (strcmp(labels, rec->labels) != 0 && has_record(l, rec, labels))
		return 0;
	for (size_t i = 0; i < rep->dists.nr && !d; i++) {
		struct dist *at = &rep->dists.v[i];

		if (at->scenario == t->scenario && strcmp(at->metric, rec->metric) == 0 &&
		    strcmp(at->labels, labels) == 0)
			d = at;
	}
	if (!d) {
		int r = GROW(&rep->dists, e);

		if (r < 0)
			return r;
		d = &rep->dists.v[rep->dists.nr++];
		d->scenario = t->scenario;
		r = dist_new(rep, d, rec, labels, e);
		if (r < 0)
			return r;
	}
	hist_merge(d->hist[t->variant], rec->hist);
	return 0;
}

static bool same_rate(const struct rate *a, const struct rate *b)
{
	return a->scenario == b->scenario && a->cpu == b->cpu &&
	       strcmp(a->labels, b->labels) == 0 && strcmp(a->metric, b->metric) == 0;
}

/*
 * Every trial lists the same sources in the same order, so the search begins behind the last hit
 * and is short although a machine has thousands of counters.
 */
static int rate_add(struct report *rep, const struct rate *like, unsigned int variant, double value,
		    struct err *e)
{
	struct rate_list *l = &rep->rates;
	struct rate *at;

	for (size_t i = 0; i < l->nr; i++) {
		size_t k = (l->next + i) % l->nr;

		if (!same_rate(&l->v[k], like))
			continue;
		l->v[k].sum[variant] += value;
		l->next = k + 1;
		return 0;
	}
	if (GROW(l, e) < 0)
		return -ENOMEM;
	at = &l->v[l->nr++];
	*at = *like;
	at->metric = strdup(like->metric);
	at->labels = strdup(like->labels);
	at->sum = calloc(rep->plan->nr_variants, sizeof(*at->sum));
	if (!at->metric || !at->labels || !at->sum)
		return err_nomem(e, "report");
	at->sum[variant] = value;
	return 0;
}

/* Interrupts and softirqs: what is counted per CPU and per source. */
static bool is_rate(const struct record *rec)
{
	return labels_value(rec->labels, "cpu") &&
	       (labels_value(rec->labels, "irq") || labels_value(rec->labels, "softirq")) &&
	       (strcmp(rec->unit, "count") == 0 || strcmp(rec->unit, "1/s") == 0);
}

static int add_rate(struct report *rep, size_t index, const struct record *rec, struct err *e)
{
	_cleanup_(free_charp) char *labels = labels_without(rec->labels, "cpu");
	const struct trial_info *t = &rep->trials[index];
	double value = rec->value;
	struct rate like = { .metric = (char *)(uintptr_t)rec->metric,
			     .labels = labels,
			     .scenario = t->scenario,
			     .cpu = (int)strtol(labels_value(rec->labels, "cpu"), NULL, 10) };

	if (!labels)
		return err_nomem(e, "report");
	if (strcmp(rec->unit, "count") == 0)
		value = t->window_ns ? value / ((double)t->window_ns / (double)NS_PER_S) : 0;
	/* counts of interrupts that never fired would fill the page */
	if (!isfinite(value) || value <= 0)
		return 0;
	return rate_add(rep, &like, t->variant, value, e);
}

static int add_record(struct report *rep, size_t index, const struct record_list *l,
		      const struct record *rec, struct err *e)
{
	bool good = rep->trials[index].state == TRIAL_OK;

	switch (rec->kind) {
	case RECORD_SCALAR:
		if (ends_with(rec->metric, ".missed") || ends_with(rec->metric, ".steal"))
			return add_total(rep, index, l, rec, e);
		return good && is_rate(rec) ? add_rate(rep, index, rec, e) : 0;
	case RECORD_SERIES:
		return add_series(rep, index, l, rec, e);
	case RECORD_HIST:
		return good ? add_hist(rep, index, l, rec, e) : 0;
	case RECORD_EVENT:
		/* what made the trial unusable is shown with the trial */
		if (rec->severity == SEVERITY_VETO && rep->trials[index].reason &&
		    strstr(rep->trials[index].reason, rec->text))
			return 0;
		if (begins_with(rec->metric, "witness"))
			return add_witness(rep, index, rec, e);
		return rec->severity >= SEVERITY_WARN ? add_warning(rep, index, rec, e) : 0;
	}
	return 0;
}

int model_add_records(struct report *rep, size_t index, const struct record_list *l, struct err *e)
{
	for (size_t i = 0; i < l->nr; i++) {
		int r = add_record(rep, index, l, l->v[i], e);

		if (r < 0)
			return r;
	}
	return 0;
}

static void notes_release(struct note_list *l)
{
	for (size_t i = 0; i < l->nr; i++) {
		free(l->v[i].metric);
		free(l->v[i].text);
		free(l->v[i].trials);
	}
	free(l->v);
}

static void over_time_release(struct over_time *o)
{
	for (size_t i = 0; i < o->nr; i++)
		free(o->v[i].points);
	free(o->v);
	free(o->metric);
	free(o->labels);
	free(o->unit);
}

static void dist_release(struct dist *d, size_t nr_variants)
{
	for (size_t i = 0; d->hist && i < nr_variants; i++)
		hist_free(d->hist[i]);
	free(d->hist);
	free(d->metric);
	free(d->labels);
}

void model_release(struct report *rep)
{
	notes_release(&rep->warnings);
	notes_release(&rep->witnesses);
	notes_release(&rep->rejected);
	for (size_t i = 0; i < rep->totals.nr; i++) {
		free(rep->totals.v[i].metric);
		free(rep->totals.v[i].unit);
		free(rep->totals.v[i].cell);
	}
	free(rep->totals.v);
	for (size_t i = 0; i < rep->over_time.nr; i++)
		over_time_release(&rep->over_time.v[i]);
	free(rep->over_time.v);
	for (size_t i = 0; i < rep->dists.nr; i++)
		dist_release(&rep->dists.v[i], rep->plan->nr_variants);
	free(rep->dists.v);
	for (size_t i = 0; i < rep->rates.nr; i++) {
		free(rep->rates.v[i].metric);
		free(rep->rates.v[i].labels);
		free(rep->rates.v[i].sum);
	}
	free(rep->rates.v);
}

const char *model_variant(const struct report *rep, unsigned int variant)
{
	return rep->plan->variants[variant].name;
}

const char *model_scenario(const struct report *rep, unsigned int scenario)
{
	return rep->plan->scenarios[scenario].name;
}

size_t model_good(const struct report *rep, unsigned int scenario, unsigned int variant)
{
	return rep->good[scenario * rep->plan->nr_variants + variant];
}
