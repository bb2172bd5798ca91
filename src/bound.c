// SPDX-License-Identifier: GPL-3.0-or-later
#include "bound.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "plan/plan.h"
#include "registry.h"
#include "report/json_write.h"
#include "report/queries.h"
#include "sample/observation.h"
#include "store/store.h"
#include "verdict/verdict.h"

static const struct opt loss_row = { "max-loss", OPT_RATIO, 0, NULL, "largest loss" };

/* The usable values of one metric, as logarithms. */
struct values {
	double *v;
	size_t nr;
};

static void values_release(struct values *v)
{
	free(v->v);
}

const char *bound_word(enum bound_word w)
{
	switch (w) {
	case BOUND_WITHIN:
		return "within";
	case BOUND_BEYOND:
		return "beyond";
	case BOUND_OPEN:
		break;
	}
	return "undecided";
}

/* "throughput" means "throughput@net" too when that is the only one. */
static bool names_metric(const char *name, size_t len, const struct plan_metric *m)
{
	size_t text = strcspn(m->text, "@");

	return (strlen(m->text) == len && memcmp(m->text, name, len) == 0) ||
	       (text == len && memcmp(m->text, name, len) == 0);
}

/* The metric that "NAME=LOSS" is about. */
static int find_metric(const char *text, const struct plan_metric *metrics, size_t nr, size_t *ret,
		       double *ret_most, struct err *e)
{
	/* a label has an = as well: the last one counts */
	const char *eq = strrchr(text, '=');
	size_t len = eq ? (size_t)(eq - text) : 0, found = 0;
	_cleanup_(buf_release) struct buf names = {};

	if (!eq || opt_set(&loss_row, eq + 1, ret_most, e) < 0 ||
	    !(*ret_most >= 0 && *ret_most < 1))
		return err_set(e, -EINVAL,
			       "--max-loss \"%s\": expected METRIC=SHARE such as throughput=1%%",
			       text);
	for (size_t i = 0; i < nr; i++) {
		buf_printf(&names, "%s%s", i ? ", " : "", metrics[i].text);
		if (!names_metric(text, len, &metrics[i]))
			continue;
		*ret = i;
		found++;
	}
	if (found == 1)
		return 0;
	return err_set(e, -EINVAL, "--max-loss \"%s\": %s metric of the plan; it has: %s", text,
		       found ? "that is more than one" : "that is no", buf_str(&names));
}

int bound_check(const struct str_list *losses, const struct plan_metric *metrics, size_t nr,
		struct err *e)
{
	size_t at = 0;
	double most = 0;
	int r = 0;

	if (losses->nr == 0)
		return err_set(e, -EINVAL,
			       "--max-loss says what may not be lost: --max-loss %s=1%%",
			       nr ? metrics[0].text : "throughput");
	for (size_t i = 0; i < losses->nr && r >= 0; i++)
		r = find_metric(losses->v[i], metrics, nr, &at, &most, e);
	return r;
}

static int variant_index(const struct plan *p, const char *name, unsigned int *ret, struct err *e)
{
	*ret = 0;
	if (!*name)
		return 0;
	for (size_t i = 0; i < p->nr_variants; i++) {
		if (strcmp(p->variants[i].name, name) == 0) {
			*ret = (unsigned int)i;
			return 0;
		}
	}
	return err_set(e, -EINVAL, "variant \"%s\": plan \"%s\" has none of that name", name,
		       p->name);
}

static int take_values(const struct verdict_query *q, unsigned int variant, struct values *ret,
		       struct err *e)
{
	double *v = realloc(ret->v, (ret->nr + q->nr_obs + 1) * sizeof(*v));

	if (!v)
		return err_nomem(e, q->metric);
	ret->v = v;
	for (size_t i = 0; i < q->nr_obs; i++) {
		const struct observation *o = &q->obs[i];

		if (o->variant != variant || o->state != TRIAL_OK || !o->has_value)
			continue;
		if (!(o->value > 0))
			return err_set(
				e, -EDOM,
				"%s: a value of %g has no ratio; a bound needs a metric that "
				"is never 0",
				q->metric, o->value);
		v[ret->nr++] = log(o->value);
	}
	return 0;
}

/* Values of the metric called @text of one run; none when its plan does not have it. */
static int read_values(struct store *s, int64_t run, const char *variant, const char *text,
		       struct values *ret, struct err *e)
{
	_cleanup_(plan_release) struct plan p = {};
	_cleanup_(queries_release) struct queries q = {};
	unsigned int index = 0;
	int r = queries_plan(s, run, &plan_plugins, &p, e);

	if (r >= 0)
		r = variant_index(&p, variant, &index, e);
	if (r >= 0)
		r = queries_read(s, run, &p, &q, e);
	for (size_t i = 0; i < q.nr && r >= 0; i++)
		if (strcmp(q.v[i].metric, text) == 0)
			r = take_values(&q.v[i], index, ret, e);
	return r;
}

static enum bound_word judge(const struct bound_row *row)
{
	if (row->high <= row->most)
		return BOUND_WITHIN;
	return row->low > row->most ? BOUND_BEYOND : BOUND_OPEN;
}

/* @i: the shift of the logarithms from the baseline to now, turned into a loss. */
static void fill(const struct interval *i, bool higher, struct bound_row *ret)
{
	double low = isfinite(i->low) ? expm1(i->low) : i->low;
	double high = isfinite(i->high) ? expm1(i->high) : i->high;

	ret->loss = higher ? -expm1(i->estimate) : expm1(i->estimate);
	ret->low = higher ? -high : low;
	ret->high = higher ? -low : high;
	ret->word = judge(ret);
}

static int compare_metric(struct store *s, const struct bound_query *q, const struct plan_metric *m,
			  struct bound_row *ret, struct err *e)
{
	_cleanup_(values_release) struct values then = {}, now = {};
	double alpha = q->alpha / (double)(q->losses->nr * (q->steps ? q->steps : 1));
	struct interval i = { .estimate = (double)NAN, .low = -HUGE_VAL, .high = HUGE_VAL };
	int r = read_values(s, q->baseline, q->variant, m->text, &then, e);

	for (size_t k = 0; k < q->nr_runs && r >= 0; k++)
		r = read_values(s, q->runs[k], q->variant, m->text, &now, e);
	if (r >= 0 && (then.nr == 0 || now.nr == 0))
		r = err_set(e, -EINVAL,
			    "%s: run %" PRId64
			    " has %zu usable trials of it, what is compared with "
			    "it %zu; both runs need the same plan",
			    m->text, q->baseline, then.nr, now.nr);
	if (r >= 0 && ranksum_interval(then.v, then.nr, now.v, now.nr, alpha, &i) < 0)
		r = err_set(e, -EDOM, "%s: the trials cannot be ranked", m->text);
	if (r < 0)
		return r;
	ret->metric = strdup(m->text);
	ret->nr_baseline = then.nr;
	ret->nr_now = now.nr;
	fill(&i, m->better == BETTER_HIGHER, ret);
	return ret->metric ? 0 : err_nomem(e, m->text);
}

int bound_compare(struct store *s, const struct bound_query *q, struct bound_rows *ret,
		  struct err *e)
{
	_cleanup_(bound_rows_release) struct bound_rows rows = {};
	_cleanup_(plan_release) struct plan p = {};
	int r = queries_plan(s, q->baseline, &plan_plugins, &p, e);

	if (r >= 0)
		r = bound_check(q->losses, p.metrics, p.nr_metrics, e);
	if (r < 0)
		return r;
	rows.v = calloc(q->losses->nr, sizeof(*rows.v));
	if (!rows.v)
		return err_nomem(e, "bounds");
	while (rows.nr < q->losses->nr && r >= 0) {
		struct bound_row *row = &rows.v[rows.nr];
		size_t at = 0;

		r = find_metric(q->losses->v[rows.nr++], p.metrics, p.nr_metrics, &at, &row->most,
				e);
		if (r >= 0)
			r = compare_metric(s, q, &p.metrics[at], row, e);
	}
	if (r < 0)
		return r;
	*ret = rows;
	rows = (struct bound_rows){};
	return 0;
}

enum bound_word bound_word_of(const struct bound_rows *rows)
{
	enum bound_word w = BOUND_WITHIN;

	for (size_t i = 0; i < rows->nr; i++) {
		if (rows->v[i].word == BOUND_BEYOND)
			return BOUND_BEYOND;
		if (rows->v[i].word == BOUND_OPEN)
			w = BOUND_OPEN;
	}
	return w;
}

static void print_json(const struct bound_rows *rows, struct buf *out)
{
	struct json j = { .out = out };

	json_begin(&j, NULL, '{');
	put_text(&j, "bound", bound_word(bound_word_of(rows)));
	json_begin(&j, "metrics", '[');
	for (size_t i = 0; i < rows->nr; i++) {
		const struct bound_row *r = &rows->v[i];

		json_begin(&j, NULL, '{');
		put_text(&j, "metric", r->metric);
		put_text(&j, "bound", bound_word(r->word));
		put_number(&j, "max_loss", r->most);
		put_number(&j, "loss", r->loss);
		put_number(&j, "low", r->low);
		put_number(&j, "high", r->high);
		put_count(&j, "trials_baseline", r->nr_baseline);
		put_count(&j, "trials", r->nr_now);
		json_end(&j, '}');
	}
	json_end(&j, ']');
	json_end(&j, '}');
	buf_putc(out, '\n');
}

void bound_print(const struct bound_rows *rows, int json, struct buf *out)
{
	if (json) {
		print_json(rows, out);
		return;
	}
	for (size_t i = 0; i < rows->nr; i++) {
		const struct bound_row *r = &rows->v[i];

		buf_printf(out, "%s: loss %+.2f %%", r->metric, 100 * r->loss);
		if (isfinite(r->low) && isfinite(r->high))
			buf_printf(out, " (%+.2f to %+.2f %%)", 100 * r->low, 100 * r->high);
		else
			buf_puts(out, " (too few trials for an interval)");
		buf_printf(out, ", %.3g %% allowed, %zu trials against %zu: %s\n", 100 * r->most,
			   r->nr_now, r->nr_baseline, bound_word(r->word));
	}
	buf_puts(out, "The runs were not interleaved: what else changed between them counts as the "
		      "change.\n");
}

void bound_rows_release(struct bound_rows *rows)
{
	for (size_t i = 0; i < rows->nr; i++)
		free(rows->v[i].metric);
	free(rows->v);
	*rows = (struct bound_rows){};
}
