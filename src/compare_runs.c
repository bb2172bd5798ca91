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
#include "report/environment.h"
#include "report/format.h"
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

static void print_environment(struct json_object *env, struct buf *out)
{
	struct json_object *facts = json_field_object(env, "facts");
	static const char *const sides[] = { "only_a", "only_b" };

	json_object_object_foreach(facts, key, pair)
	{
		struct json_object *a = json_object_array_get_idx(pair, 0),
				   *b = json_object_array_get_idx(pair, 1);
		_cleanup_(buf_release) struct buf line = {};

		buf_printf(&line, "environment: %s: %s -> %s", key,
			   a ? json_object_get_string(a) : "(not known)",
			   b ? json_object_get_string(b) : "(not known)");
		format_wrap(out, "", 4, buf_str(&line));
	}
	for (size_t s = 0; s < ARRAY_SIZE(sides); s++) {
		struct json_object *list = json_field_array(env, sides[s]);

		for (size_t i = 0; list && i < json_object_array_length(list); i++) {
			_cleanup_(buf_release) struct buf line = {};

			buf_printf(&line, "audit, only of the %s run: %s", s ? "second" : "first",
				   json_object_get_string(json_object_array_get_idx(list, i)));
			format_wrap(out, "", 4, buf_str(&line));
		}
	}
}

static const char caveat[] =
	"The two runs were not interleaved: drift and whatever else changed between\n"
	"them cannot be told from the variant, so no verdict is given. Put both into\n"
	"one plan. (Change: Hodges-Lehmann estimate over all pairs of trials, not the\n"
	"ratio of the medians.)\n";

static int print(const struct side *a, const struct side *b, const struct row *rows, size_t nr,
		 bool json, struct buf *out)
{
	_cleanup_(json_putp) struct json_object *env = environment_diff(a->info.env, b->info.env);
	_cleanup_(json_putp) struct json_object *o = json_object_new_object();
	struct json_object *list = json_object_new_array();
	bool same_plan = strcmp(a->info.plan, b->info.plan) == 0;

	json_object_object_add(o, "a", json_object_new_int64(a->id));
	json_object_object_add(o, "b", json_object_new_int64(b->id));
	json_object_object_add(o, "rows", list);
	json_object_object_add(o, "environment", json_object_get(json_field_object(env, "facts")));
	json_object_object_add(o, "audit_only_a", json_object_get(json_field_array(env, "only_a")));
	json_object_object_add(o, "audit_only_b", json_object_get(json_field_array(env, "only_b")));
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
	print_environment(env, out);
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
