// SPDX-License-Identifier: GPL-3.0-or-later
#include "compare_runs.h"

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_field.h"
#include "base/text.h"
#include "cmdline.h"
#include "registry.h"
#include "stats/stats.h"
#include "store/store.h"

/* One side: a stored run with its plan parsed again. */
struct side {
	int64_t id;
	struct run_info info;
	struct plan plan;
};

/* The usable values of one metric and variant. */
struct values {
	double *v;
	size_t nr;
	bool positive;
};

struct row {
	const struct plan_metric *metric;
	const char *variant;
	size_t na, nb;
	double median_a, median_b;
	struct interval change; /* ratios */
};

static void side_release(struct side *s)
{
	run_info_release(&s->info);
	plan_release(&s->plan);
}

static void values_release(struct values *v)
{
	free(v->v);
}

static int side_read(struct store *s, int64_t id, struct side *ret, struct err *e)
{
	int r = store_run_read(s, id, &ret->info, e);

	ret->id = id;
	if (r < 0)
		return r;
	return plan_parse(ret->info.plan, strlen(ret->info.plan), "stored plan", &plan_plugins,
			  &ret->plan, e);
}

static const struct plan_metric *same_metric(const struct plan *p, const char *text)
{
	for (size_t i = 0; i < p->nr_metrics; i++)
		if (strcmp(p->metrics[i].text, text) == 0)
			return &p->metrics[i];
	return NULL;
}

static long variant_index(const struct plan *p, const char *name)
{
	for (size_t i = 0; i < p->nr_variants; i++)
		if (strcmp(p->variants[i].name, name) == 0)
			return (long)i;
	return -1;
}

static unsigned int scenario_index(const struct plan *p, const char *name)
{
	for (size_t i = 0; i < p->nr_scenarios; i++)
		if (strcmp(p->scenarios[i].name, name) == 0)
			return (unsigned int)i;
	return 0;
}

static int values_read(struct store *s, const struct side *side, const struct plan_metric *m,
		       long variant, struct values *ret, struct err *e)
{
	_cleanup_(freep) struct observation *obs = NULL;
	size_t nr = 0;
	const struct store_key key = { .scenario = scenario_index(&side->plan, m->scenario),
				       .metric = m->metric,
				       .labels = m->labels };
	int r = store_observations(s, side->id, &key, &obs, &nr, e);

	if (r < 0)
		return r;
	ret->v = calloc(nr ? nr : 1, sizeof(*ret->v));
	if (!ret->v)
		return err_nomem(e, m->text);
	ret->positive = true;
	for (size_t i = 0; i < nr; i++) {
		if (obs[i].variant != (unsigned int)variant || obs[i].state != TRIAL_OK ||
		    !obs[i].has_value)
			continue;
		ret->positive &= obs[i].value > 0;
		ret->v[ret->nr++] = obs[i].value;
	}
	return 0;
}

static void to_logs(struct values *v)
{
	for (size_t i = 0; i < v->nr; i++)
		v->v[i] = log(v->v[i]);
}

/* Return: 1 with *ret filled; 0 when this cell cannot be compared. */
static int judge(struct values *a, struct values *b, double alpha, struct row *ret, struct err *e)
{
	struct interval i = {};

	if (!a->nr || !b->nr || !a->positive || !b->positive)
		return 0;
	sample_median(a->v, a->nr, &ret->median_a);
	sample_median(b->v, b->nr, &ret->median_b);
	to_logs(a);
	to_logs(b);
	if (ranksum_interval(a->v, a->nr, b->v, b->nr, alpha, &i) < 0)
		return err_set(e, -EDOM, "%s: the trials cannot be ranked", ret->metric->text);
	ret->na = a->nr;
	ret->nb = b->nr;
	ret->change = (struct interval){ exp(i.estimate) - 1, exp(i.low) - 1, exp(i.high) - 1 };
	return 1;
}

static int one_row(struct store *s, const struct side sides[2], const struct plan_metric *m,
		   size_t variant, struct row *ret, struct err *e)
{
	_cleanup_(values_release) struct values va = {}, vb = {};
	const struct side *a = &sides[0], *b = &sides[1];
	const struct plan_metric *mb = same_metric(&b->plan, m->text);
	long in_b = variant_index(&b->plan, a->plan.variants[variant].name);
	int r;

	if (!mb || in_b < 0)
		return 0;
	*ret = (struct row){ .metric = m, .variant = a->plan.variants[variant].name };
	r = values_read(s, a, m, (long)variant, &va, e);
	if (r >= 0)
		r = values_read(s, b, mb, in_b, &vb, e);
	return r < 0 ? r : judge(&va, &vb, a->plan.alpha, ret, e);
}

static void print_row(const struct row *row, struct buf *out)
{
	_cleanup_(buf_release) struct buf a = {}, b = {};
	bool ns = strcmp(row->metric->unit, "ns") == 0;

	text_si(&a, ns ? row->median_a * 1e-9 : row->median_a, ns ? "s" : row->metric->unit);
	text_si(&b, ns ? row->median_b * 1e-9 : row->median_b, ns ? "s" : row->metric->unit);
	buf_printf(out, "%s, %s: %s (%zu trials) -> %s (%zu)\n", row->metric->text, row->variant,
		   buf_str(&a), row->na, buf_str(&b), row->nb);
	if (isfinite(row->change.low) && isfinite(row->change.high))
		buf_printf(out, "  %+.2f %% (%+.2f to %+.2f %%)  undecided\n",
			   row->change.estimate * 100, row->change.low * 100,
			   row->change.high * 100);
	else
		buf_printf(out, "  %+.2f %% (too few trials for an interval)  undecided\n",
			   row->change.estimate * 100);
}

static struct json_object *json_ratio(double v)
{
	return isfinite(v) ? json_object_new_double(v) : NULL;
}

static struct json_object *json_row(const struct row *row)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "metric", json_object_new_string(row->metric->text));
	json_object_object_add(o, "variant", json_object_new_string(row->variant));
	json_object_object_add(o, "unit", json_object_new_string(row->metric->unit));
	json_object_object_add(o, "trials_a", json_object_new_uint64(row->na));
	json_object_object_add(o, "trials_b", json_object_new_uint64(row->nb));
	json_object_object_add(o, "median_a", json_object_new_double(row->median_a));
	json_object_object_add(o, "median_b", json_object_new_double(row->median_b));
	json_object_object_add(o, "change", json_ratio(row->change.estimate));
	json_object_object_add(o, "low", json_ratio(row->change.low));
	json_object_object_add(o, "high", json_ratio(row->change.high));
	json_object_object_add(o, "word", json_object_new_string("undecided"));
	return o;
}

/* Keys whose values differ, or that one side lacks: so that a governor is not taken for a patch. */
static struct json_object *differences(const struct side *a, const struct side *b)
{
	_cleanup_(json_putp) struct json_object *ea = json_tokener_parse(a->info.env);
	_cleanup_(json_putp) struct json_object *eb = json_tokener_parse(b->info.env);
	struct json_object *out = json_object_new_object();

	if (!json_object_is_type(ea, json_type_object) ||
	    !json_object_is_type(eb, json_type_object))
		return out;
	json_object_object_foreach(ea, key, value)
	{
		struct json_object *other = NULL;

		if (json_object_object_get_ex(eb, key, &other) && json_object_equal(value, other))
			continue;
		other = json_object_get(other);
		value = json_object_get(value);
		struct json_object *pair = json_object_new_array();

		json_object_array_add(pair, value);
		json_object_array_add(pair, other);
		json_object_object_add(out, key, pair);
	}
	return out;
}

static const char caveat[] =
	"The two runs were not interleaved: drift and whatever else changed between\n"
	"them cannot be told from the variant, so no verdict is given. Put both into\n"
	"one plan. (Change: Hodges-Lehmann estimate over all pairs of trials, not the\n"
	"ratio of the medians.)\n";

static int print(const struct side *a, const struct side *b, const struct row *rows, size_t nr,
		 bool json, struct buf *out)
{
	_cleanup_(json_putp) struct json_object *env = differences(a, b);
	_cleanup_(json_putp) struct json_object *o = json_object_new_object();
	struct json_object *list = json_object_new_array();
	bool same_plan = strcmp(a->info.plan, b->info.plan) == 0;

	json_object_object_add(o, "a", json_object_new_int64(a->id));
	json_object_object_add(o, "b", json_object_new_int64(b->id));
	json_object_object_add(o, "rows", list);
	json_object_object_add(o, "environment", json_object_get(env));
	json_object_object_add(o, "same_plan", json_object_new_boolean(same_plan));
	for (size_t i = 0; i < nr; i++)
		json_object_array_add(list, json_row(&rows[i]));
	if (json)
		return buf_printf(out, "%s\n",
				  json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY));
	buf_printf(out, "run %lld (%s) against run %lld (%s)\n\n", (long long)b->id, b->info.name,
		   (long long)a->id, a->info.name);
	for (size_t i = 0; i < nr; i++)
		print_row(&rows[i], out);
	buf_printf(out, "\n%s", caveat);
	if (!same_plan)
		buf_puts(out,
			 "The plans differ: what they call by one name need not be one thing.\n");
	json_object_object_foreach(env, key, pair)
		buf_printf(out, "environment: %s: %s\n", key, json_object_to_json_string(pair));
	return out->failed ? -ENOMEM : 0;
}

/* Every metric and variant that both have. */
static int all_rows(struct store *s, const struct side sides[2], struct row *rows, size_t *ret_nr,
		    struct err *e)
{
	const struct plan *p = &sides[0].plan;
	size_t nr = 0;
	int r = 0;

	for (size_t i = 0; i < p->nr_metrics * p->nr_variants && r >= 0; i++) {
		r = one_row(s, sides, &p->metrics[i / p->nr_variants], i % p->nr_variants,
			    &rows[nr], e);
		nr += r > 0;
	}
	*ret_nr = nr;
	return r;
}

int compare_runs(struct store *s, int64_t a, int64_t b, bool json, struct buf *out, struct err *e)
{
	struct side sides[2] = {};
	struct row *rows = NULL;
	size_t nr = 0;
	int r = a == b ? err_set(e, -EINVAL, "run %lld is on both sides", (long long)a)
		       : side_read(s, a, &sides[0], e);

	if (r >= 0)
		r = side_read(s, b, &sides[1], e);
	if (r >= 0) {
		rows = calloc(sides[0].plan.nr_metrics * sides[0].plan.nr_variants, sizeof(*rows));
		r = rows ? all_rows(s, sides, rows, &nr, e) : err_nomem(e, "comparison");
	}
	if (r >= 0 && nr == 0)
		r = err_set(e, -EINVAL,
			    "runs %lld and %lld share no metric and variant with usable trials; "
			    "compare runs of the same plan",
			    (long long)a, (long long)b);
	if (r >= 0)
		r = print(&sides[0], &sides[1], rows, nr, json, out);
	free(rows);
	side_release(&sides[0]);
	side_release(&sides[1]);
	return r < 0 ? r : EXIT_UNDECIDED;
}
