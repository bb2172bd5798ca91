// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/report.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "report/json_write.h"
#include "report/model.h"
#include "sample/hist.h"

static const char *run_word(enum run_state s)
{
	switch (s) {
	case RUN_OPEN:
		return "open";
	case RUN_DONE:
		return "done";
	case RUN_STOPPED:
		return "stopped";
	}
	return "unknown";
}

static const char *better_word(enum better b)
{
	switch (b) {
	case BETTER_HIGHER:
		return "higher";
	case BETTER_LOWER:
		return "lower";
	case BETTER_NONE:
		break;
	}
	return "none";
}

static void put_env(struct json *j, const char *env)
{
	struct json_object *o = json_tokener_parse(env ? env : "{}");

	json_key(j, "env");
	buf_puts(j->out, o ? json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN) : "null");
	json_object_put(o);
}

static void put_run(struct json *j, const struct report *rep)
{
	const struct run_info *run = &rep->run;

	json_begin(j, "run", '{');
	put_count(j, "id", (uint64_t)run->id);
	put_text(j, "name", run->name);
	put_text(j, "plan_file", run->plan_file);
	put_text(j, "state", run_word(run->state));
	put_text(j, "irqlab", run->version);
	put_count(j, "seed", run->seed);
	put_count(j, "started_ns", run->started_ns);
	put_count(j, "ended_ns", run->ended_ns);
	put_count(j, "blocks", rep->plan->blocks);
	put_count(j, "planned_trials", model_planned(rep));
	put_bool(j, "aa", run->aa);
	put_env(j, run->env);
	json_end(j, '}');
	json_begin(j, "variants", '[');
	for (size_t i = 0; i < rep->plan->nr_variants; i++)
		put_text(j, NULL, rep->plan->variants[i].name);
	json_end(j, ']');
	json_begin(j, "scenarios", '[');
	for (size_t i = 0; i < rep->plan->nr_scenarios; i++)
		put_text(j, NULL, rep->plan->scenarios[i].name);
	json_end(j, ']');
}

/* null when no A/A run of this bench is stored */
static void put_noise(struct json *j, const struct report *rep, const struct verdict *v)
{
	const struct noise *n = &rep->noise[v->query];

	if (n->run == 0) {
		put_text(j, "noise_floor", NULL);
		return;
	}
	json_begin(j, "noise_floor", '{');
	put_count(j, "run", (uint64_t)n->run);
	put_text(j, "scale", verdict_scale_word(n->scale));
	put_number(j, "pair_sd", n->sd);
	put_count(j, "blocks", n->blocks);
	put_number(j, "visible", noise_visible(n, v));
	json_end(j, '}');
}

static void put_verdict(struct json *j, const struct report *rep, const struct verdict *v)
{
	const struct plan_metric *m = &rep->plan->metrics[v->query];

	json_begin(j, NULL, '{');
	put_text(j, "metric", m->text);
	put_text(j, "unit", m->unit);
	put_text(j, "better_is", better_word(m->better));
	put_text(j, "baseline", model_variant(rep, 0));
	put_text(j, "variant", model_variant(rep, v->variant));
	put_text(j, "verdict", verdict_word(v->word));
	put_number(j, "baseline_median", v->baseline);
	put_number(j, "variant_median", v->value);
	put_text(j, "scale", verdict_scale_word(v->scale));
	put_number(j, "change", v->change);
	put_number(j, "low", v->low);
	put_number(j, "high", v->high);
	put_number(j, "margin", m->margin);
	put_number(j, "p", v->p);
	put_number(j, "alpha", v->alpha);
	put_noise(j, rep, v);
	put_text(j, "test", verdict_test(v->kind));
	put_number(j, "pair_sd", v->sd);
	put_count(j, "samples_baseline", (uint64_t)v->n_baseline);
	put_count(j, "samples_variant", (uint64_t)v->n_value);
	put_count(j, "look", v->look);
	put_count(j, "looks", v->looks);
	put_bool(j, "futile", v->futile);
	put_count(j, "blocks", v->blocks);
	put_count(j, "lost", v->lost);
	put_count(j, "more_blocks", v->more_blocks);
	put_text(j, "reason", v->reason);
	json_end(j, '}');
}

/* What a note says beside its text: of a trial its state, of an event what and how bad it is. */
static void put_origin(struct json *j, const struct note *n)
{
	static const char *const words[] = { "note", "warn", "veto" };

	if (n->state != TRIAL_OK) {
		put_text(j, "state", model_state_word(n->state));
		return;
	}
	put_text(j, "metric", n->metric);
	put_text(j, "severity", words[n->severity]);
}

static void put_notes(struct json *j, const struct report *rep, const char *name,
		      const struct note_list *l)
{
	json_begin(j, name, '[');
	for (size_t i = 0; i < l->nr; i++) {
		const struct note *n = &l->v[i];

		json_begin(j, NULL, '{');
		put_origin(j, n);
		if (!l->any_variant)
			put_text(j, "variant", model_variant(rep, n->variant));
		put_text(j, "text", n->text);
		put_bool(j, "texts_differ", n->texts_differ);
		put_count(j, "count", n->count);
		json_begin(j, "trials", '[');
		for (size_t k = 0; k < n->nr_trials; k++)
			put_count(j, NULL, rep->trials[n->trials[k]].position);
		json_end(j, ']');
		json_end(j, '}');
	}
	json_end(j, ']');
}

static void put_totals(struct json *j, const struct report *rep)
{
	json_begin(j, "totals", '[');
	for (size_t i = 0; i < rep->totals.nr; i++) {
		const struct total *t = &rep->totals.v[i];

		for (unsigned int k = 0; k < rep->plan->nr_variants; k++) {
			json_begin(j, NULL, '{');
			put_text(j, "metric", t->metric);
			put_text(j, "unit", t->unit);
			put_text(j, "variant", model_variant(rep, k));
			put_number(j, "sum", t->cell[k].sum);
			put_number(j, "max", t->cell[k].max);
			put_count(j, "trials", t->cell[k].trials);
			json_end(j, '}');
		}
	}
	json_end(j, ']');
}

static void put_quantile(struct json *j, const char *name, const struct hist *h, double q)
{
	uint64_t ns = 0;

	if (hist_quantile(h, q, &ns) < 0)
		put_number(j, name, (double)NAN);
	else
		put_count(j, name, ns);
}

static void put_latency(struct json *j, const struct report *rep, const struct dist *d,
			unsigned int variant)
{
	const struct hist *h = d->hist[variant];

	json_begin(j, NULL, '{');
	put_text(j, "metric", d->metric);
	put_text(j, "labels", d->labels);
	put_text(j, "scenario", model_scenario(rep, d->scenario));
	put_text(j, "variant", model_variant(rep, variant));
	put_count(j, "n", h->total);
	put_quantile(j, "p50_ns", h, 0.5);
	put_quantile(j, "p99_ns", h, 0.99);
	put_quantile(j, "p999_ns", h, 0.999);
	put_quantile(j, "max_ns", h, 1);
	json_end(j, '}');
}

/* The metrics that the trial's scenario has; null where the trial gave none. */
static void put_values(struct json *j, const struct report *rep, size_t index)
{
	json_begin(j, "values", '{');
	for (size_t i = 0; i < rep->plan->nr_metrics; i++)
		if (model_is_of(rep, index, i))
			put_number(j, rep->plan->metrics[i].text, model_value(rep, index, i));
	json_end(j, '}');
}

static void put_trial(struct json *j, const struct report *rep, size_t index)
{
	const struct trial_info *t = &rep->trials[index];

	json_begin(j, NULL, '{');
	put_count(j, "position", t->position);
	put_count(j, "trial", t->position + 1);
	put_count(j, "block", t->block);
	put_text(j, "scenario", model_scenario(rep, t->scenario));
	put_text(j, "variant", model_variant(rep, t->variant));
	put_text(j, "state", model_state_word(t->state));
	put_text(j, "reason", t->reason);
	put_count(j, "seed", t->seed);
	put_count(j, "started_ns", t->started_ns);
	put_count(j, "window_ns", t->window_ns);
	put_values(j, rep, index);
	json_end(j, '}');
}

int report_json(const struct report *rep, struct buf *out, struct err *e)
{
	struct json j = { .out = out };

	json_begin(&j, NULL, '{');
	put_count(&j, "schema", REPORT_JSON_SCHEMA);
	put_text(&j, "plan", rep->run.name);
	put_run(&j, rep);
	json_begin(&j, "verdicts", '[');
	for (size_t i = 0; i < rep->nr_verdicts; i++)
		put_verdict(&j, rep, &rep->verdicts[i]);
	json_end(&j, ']');
	json_derived(&j, rep);
	json_exchange(&j, rep);
	json_explore(&j, rep);
	json_extremes(&j, rep);
	json_begin(&j, "health", '{');
	put_totals(&j, rep);
	put_notes(&j, rep, "rejected", &rep->rejected);
	json_begin(&j, "drift", '[');
	for (size_t i = 0; i < rep->drift.nr; i++)
		put_text(&j, NULL, rep->drift.v[i].text);
	json_end(&j, ']');
	put_notes(&j, rep, "warnings", &rep->warnings);
	put_notes(&j, rep, "witnesses", &rep->witnesses);
	json_end(&j, '}');
	json_begin(&j, "latency", '[');
	for (size_t i = 0; i < rep->dists.nr; i++)
		for (unsigned int k = 0; k < rep->plan->nr_variants; k++)
			put_latency(&j, rep, &rep->dists.v[i], k);
	json_end(&j, ']');
	json_begin(&j, "trials", '[');
	for (size_t i = 0; i < rep->nr_trials; i++)
		put_trial(&j, rep, i);
	json_end(&j, ']');
	json_end(&j, '}');
	buf_putc(out, '\n');
	return out->failed ? err_nomem(e, "report") : 0;
}
