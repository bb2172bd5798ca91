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

/* The array @v of @nr elements with room for one more, zero-filled; NULL without memory. */
static void *grown(void *v, size_t nr, size_t *size, size_t elem)
{
	size_t more = *size ? *size * 2 : 8;
	char *p;

	if (nr < *size)
		return v;
	p = realloc(v, more * elem);
	if (!p)
		return NULL;
	memset(p + *size * elem, 0, (more - *size) * elem);
	*size = more;
	return p;
}

/* The next element of a list, counted already; NULL without memory. */
#define NEXT(list)                                                                          \
	({                                                                                  \
		void *p_ = grown((list)->v, (list)->nr, &(list)->size, sizeof(*(list)->v)); \
		if (p_)                                                                     \
			(list)->v = p_;                                                     \
		p_ ? &(list)->v[(list)->nr++] : NULL;                                       \
	})

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

const char *model_health(const char *metric)
{
	static const char *const health[][2] = {
		{ ".missed", "missed wake-ups" },
		{ ".steal", "stolen CPU time" },
		{ ".warnings", "known kernel lines" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(health); i++)
		if (ends_with(metric, health[i][0]))
			return health[i][1];
	return NULL;
}

static bool begins_with(const char *s, const char *start)
{
	return strncmp(s, start, strlen(start)) == 0;
}

/* Length of "12", "-0.5", "1e+02" or "0x1f" at @p; 0 in a name, so that "p99" is not "p999". */
static size_t number_length(const char *text, const char *p)
{
	static const char digits[] = "0123456789";
	bool follows = p > text;
	size_t n = *p == '-' && (!follows || p[-1] == ' ');

	if (!isdigit((unsigned char)p[n]) ||
	    (follows && (isalnum((unsigned char)p[-1]) || p[-1] == '_')))
		return 0;
	if (p[n] == '0' && p[n + 1] == 'x')
		return n + 2 + strspn(p + n + 2, "0123456789abcdefABCDEF");
	n += strspn(p + n, digits);
	if (p[n] == '.')
		n += 1 + strspn(p + n + 1, digits);
	if (p[n] == 'e' && (p[n + 1] == '+' || p[n + 1] == '-'))
		n += 2 + strspn(p + n + 2, digits);
	return n;
}

/*
 * Equal but for the numbers in them, as "moved by 12" and "moved by 7"?  *@ret_more: is the first
 * number that differs larger in @b?
 */
static bool same_but_numbers(const char *a, const char *b, bool *ret_more)
{
	const char *p = a, *q = b;
	bool differ = false;

	*ret_more = false;
	while (*p && *q) {
		size_t n = number_length(a, p), m = number_length(b, q);

		if (!n != !m || (!n && *p != *q))
			return false;
		if (n && !differ && (n != m || memcmp(p, q, n) != 0)) {
			differ = true;
			*ret_more = strtod(q, NULL) > strtod(p, NULL);
		}
		p += n ? n : 1;
		q += m ? m : 1;
	}
	return *p == *q;
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

static int note_example(struct note *n, const char *text, size_t trial, struct err *e)
{
	char *copy = strdup(text);

	if (!copy)
		return err_nomem(e, "report");
	free(n->text);
	n->text = copy;
	n->example = trial;
	return 0;
}

/*
 * Count @index for the note that says the same as @like but for its numbers, or for a new one.  A
 * warning shows the text with the largest number, which is the worst where it counts what went
 * wrong; other notes the first.
 */
static int note_add(struct note_list *l, const struct note *like, size_t index, struct err *e)
{
	struct note *n = NULL;
	bool more = false;
	int r = 0;

	for (size_t i = 0; i < l->nr && !n; i++) {
		struct note *at = &l->v[i];

		if (at->severity == like->severity && at->state == like->state &&
		    (at->variant == like->variant || l->any_variant) &&
		    strcmp(at->metric, like->metric) == 0 &&
		    same_but_numbers(at->text, like->text, &more))
			n = at;
	}
	if (n) {
		n->texts_differ |= strcmp(n->text, like->text) != 0;
		if (more && like->severity == SEVERITY_WARN)
			r = note_example(n, like->text, index, e);
		return r < 0 ? r : note_trial(n, index, e);
	}
	n = NEXT(l);
	if (!n)
		return err_nomem(e, "report");
	*n = *like;
	n->example = index;
	n->metric = strdup(like->metric);
	n->text = strdup(like->text);
	if (!n->metric || !n->text)
		return err_nomem(e, "report");
	return note_trial(n, index, e);
}

static struct note note_of(const struct report *rep, size_t index, const struct record *rec)
{
	return (struct note){ .metric = (char *)(uintptr_t)rec->metric,
			      .text = (char *)(uintptr_t)rec->text,
			      .severity = rec->severity,
			      .variant = rep->trials[index].variant };
}

static int add_warning(struct report *rep, size_t index, const struct record *rec, struct err *e)
{
	const struct note like = note_of(rep, index, rec);

	rep->warnings.any_variant = true;
	return note_add(&rep->warnings, &like, index, e);
}

static int add_witness(struct report *rep, size_t index, const struct record *rec, struct err *e)
{
	const struct note like = note_of(rep, index, rec);

	return note_add(&rep->witnesses, &like, index, e);
}

int model_add_rejected(struct report *rep, size_t index, struct err *e)
{
	const struct trial_info *t = &rep->trials[index];
	const char *reason = t->reason && *t->reason ? t->reason : "no reason was stored";
	const struct note like = { .metric = (char *)(uintptr_t) "",
				   .text = (char *)(uintptr_t)reason,
				   .state = t->state,
				   .variant = t->variant };

	rep->rejected.any_variant = true;
	return note_add(&rep->rejected, &like, index, e);
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

static struct total *total_find(struct report *rep, const struct record *rec)
{
	struct total_list *l = &rep->totals;
	struct total *t;

	for (size_t i = 0; i < l->nr; i++)
		if (strcmp(l->v[i].metric, rec->metric) == 0)
			return &l->v[i];
	t = NEXT(l);
	if (!t)
		return NULL;
	t->metric = strdup(rec->metric);
	t->unit = strdup(rec->unit);
	t->cell = calloc(rep->plan->nr_variants, sizeof(*t->cell));
	return t->metric && t->unit && t->cell ? t : NULL;
}

/*
 * The trial's one number of a metric is the record without labels; without that the sum of all
 * (the mean of ratios).  @rec is the metric's first record.
 */
static double trial_total(const struct record_list *l, const struct record *rec)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < l->nr; i++) {
		const struct record *at = l->v[i];

		if (at->kind != RECORD_SCALAR || strcmp(at->metric, rec->metric) != 0 ||
		    !isfinite(at->value))
			continue;
		if (!*at->labels)
			return at->value;
		sum += at->value;
		n++;
	}
	return n > 1 && strcmp(rec->unit, "ratio") == 0 ? sum / (double)n : sum;
}

static int add_total(struct report *rep, size_t index, const struct record_list *l,
		     const struct record *rec, struct err *e)
{
	struct total *t = total_find(rep, rec);
	double v = trial_total(l, rec);
	struct total_cell *c;

	if (!t)
		return err_nomem(e, "report");
	c = &t->cell[rep->trials[index].variant];
	c->sum += v;
	c->max = c->trials == 0 || v > c->max ? v : c->max;
	c->trials++;
	return 0;
}

/* The first scalar of its metric in the trial? The others were counted with it. */
static bool is_first(const struct record_list *l, const struct record *rec)
{
	for (size_t i = 0; i < l->nr && l->v[i] != rec; i++)
		if (l->v[i]->kind == RECORD_SCALAR && strcmp(l->v[i]->metric, rec->metric) == 0)
			return false;
	return true;
}

static struct over_time *over_time_find(struct report *rep, unsigned int scenario,
					const struct record *rec, const char *labels)
{
	struct over_time_list *l = &rep->over_time;
	struct over_time *o;

	for (size_t i = 0; i < l->nr; i++) {
		o = &l->v[i];
		if (o->scenario == scenario && strcmp(o->metric, rec->metric) == 0 &&
		    strcmp(o->labels, labels) == 0)
			return o;
	}
	o = NEXT(l);
	if (!o)
		return NULL;
	o->scenario = scenario;
	o->metric = strdup(rec->metric);
	o->labels = strdup(labels);
	o->unit = strdup(rec->unit);
	return o->metric && o->labels && o->unit ? o : NULL;
}

static int add_series(struct report *rep, size_t index, const struct record_list *l,
		      const struct record *rec, struct err *e)
{
	_cleanup_(freep) char *labels = labels_without(rec->labels, "cpu");
	struct over_time *o;
	struct curve *c;

	if (!labels)
		return err_nomem(e, "report");
	/* flows beside their sum are left out: the page shows what the verdict is about */
	if (rec->nr_points == 0 || (*rec->labels && has_record(l, rec, "")))
		return 0;
	o = over_time_find(rep, rep->trials[index].scenario, rec, labels);
	c = o ? NEXT(o) : NULL;
	if (!c)
		return err_nomem(e, "report");
	*c = (struct curve){ .trial = index, .nr = rec->nr_points };
	c->points = malloc(rec->nr_points * sizeof(*c->points));
	if (!c->points)
		return err_nomem(e, "report");
	memcpy(c->points, rec->points, rec->nr_points * sizeof(*c->points));
	return 0;
}

static int dist_new(struct report *rep, struct dist *d, const struct record *rec,
		    const char *labels)
{
	d->metric = strdup(rec->metric);
	d->labels = strdup(labels);
	d->hist = calloc(rep->plan->nr_variants, sizeof(struct hist *));
	if (!d->metric || !d->labels || !d->hist)
		return -ENOMEM;
	for (size_t i = 0; i < rep->plan->nr_variants; i++) {
		d->hist[i] = hist_new();
		if (!d->hist[i])
			return -ENOMEM;
	}
	return 0;
}

static int add_hist(struct report *rep, size_t index, const struct record_list *l,
		    const struct record *rec, struct err *e)
{
	_cleanup_(freep) char *labels = labels_without(rec->labels, "cpu");
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
		d = NEXT(&rep->dists);
		if (!d || dist_new(rep, d, rec, labels) < 0)
			return err_nomem(e, "report");
		d->scenario = t->scenario;
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
	at = NEXT(l);
	if (!at)
		return err_nomem(e, "report");
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
	       (labels_value(rec->labels, "irq") || labels_value(rec->labels, "vec")) &&
	       (strcmp(rec->unit, "count") == 0 || strcmp(rec->unit, "1/s") == 0);
}

static int add_rate(struct report *rep, size_t index, const struct record *rec, struct err *e)
{
	_cleanup_(freep) char *labels = labels_without(rec->labels, "cpu");
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

/* What variant_witness() and knobs say about the effect of a setting. */
static bool is_witness(const struct record *rec)
{
	return begins_with(rec->metric, "witness") || strcmp(rec->metric, "variant") == 0;
}

static int add_record(struct report *rep, size_t index, const struct record_list *l,
		      const struct record *rec, struct err *e)
{
	bool good = rep->trials[index].state == TRIAL_OK;

	switch (rec->kind) {
	case RECORD_SCALAR:
		if (model_health(rec->metric))
			return is_first(l, rec) ? add_total(rep, index, l, rec, e) : 0;
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
		if (is_witness(rec))
			return add_witness(rep, index, rec, e);
		return rec->severity >= SEVERITY_WARN ? add_warning(rep, index, rec, e) : 0;
	}
	return 0;
}

bool model_is_of(const struct report *rep, size_t index, size_t query)
{
	const char *in = rep->plan->metrics[query].scenario;

	return strcmp(model_scenario(rep, rep->trials[index].scenario), in) == 0;
}

double model_value(const struct report *rep, size_t index, size_t query)
{
	return rep->values[index * rep->plan->nr_metrics + query];
}

/* What the verdict saw of the trial: the scalars of exactly a plan's metric and labels. */
static void add_values(struct report *rep, size_t index, const struct record *rec)
{
	for (size_t i = 0; i < rep->plan->nr_metrics; i++) {
		const struct plan_metric *m = &rep->plan->metrics[i];

		if (strcmp(m->metric, rec->metric) == 0 && strcmp(m->labels, rec->labels) == 0 &&
		    model_is_of(rep, index, i))
			rep->values[index * rep->plan->nr_metrics + i] = rec->value;
	}
}

int model_add_records(struct report *rep, size_t index, const struct record_list *l, struct err *e)
{
	for (size_t i = 0; i < rep->plan->nr_metrics; i++)
		rep->values[index * rep->plan->nr_metrics + i] = (double)NAN;
	for (size_t i = 0; i < l->nr; i++) {
		int r = add_record(rep, index, l, l->v[i], e);

		if (l->v[i]->kind == RECORD_SCALAR)
			add_values(rep, index, l->v[i]);
		if (r < 0)
			return r;
	}
	return explore_add(rep, index, l, e);
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
	explore_release(rep);
	extremes_release(rep);
	drift_release(rep);
	free(rep->noise);
	free(rep->values);
}

const char *model_state_word(enum trial_state s)
{
	switch (s) {
	case TRIAL_OK:
		return "ok";
	case TRIAL_VETOED:
		return "vetoed";
	case TRIAL_FAILED:
		return "failed";
	}
	return "unknown";
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

size_t model_trials(const struct report *rep, unsigned int variant)
{
	size_t n = 0;

	for (size_t i = 0; i < rep->nr_trials; i++)
		n += rep->trials[i].variant == variant;
	return n;
}

size_t model_planned(const struct report *rep)
{
	return (size_t)rep->plan->blocks * rep->plan->nr_scenarios * rep->plan->nr_variants;
}

bool model_is_partial(const struct report *rep)
{
	return rep->run.state != RUN_DONE && rep->nr_trials < model_planned(rep);
}

/* Insertion keeps those of a scenario as they came; the lists are short. */
#define SORT_BY_SCENARIO(list)                                                              \
	do {                                                                                \
		for (size_t i_ = 1; i_ < (list)->nr; i_++)                                  \
			for (size_t k_ = i_;                                                \
			     k_ > 0 && (list)->v[k_ - 1].scenario > (list)->v[k_].scenario; \
			     k_--) {                                                        \
				typeof(*(list)->v) t_ = (list)->v[k_];                      \
				(list)->v[k_] = (list)->v[k_ - 1];                          \
				(list)->v[k_ - 1] = t_;                                     \
			}                                                                   \
	} while (0)

void model_sort(struct report *rep)
{
	SORT_BY_SCENARIO(&rep->over_time);
	SORT_BY_SCENARIO(&rep->dists);
}
