// SPDX-License-Identifier: GPL-3.0-or-later
/* What a report says beside the verdict: this bench's noise, drift, what no plan names; and what it
 * does not say before its time.  Runs are made up and stored for real. */
#include "test.h"

#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json_field.h"
#include "base/rng.h"
#include "plan/plan.h"
#include "report/noise.h"
#include "report/report.h"
#include "sample/hist.h"
#include "store/store.h"

#define BLOCKS 16

static const struct opt no_rows[] = { {} };
static const struct metric_desc tcp_metrics[] = {
	{ "throughput", "bit/s", BETTER_HIGHER, "goodput", .global = true },
	{},
};
static const struct metric_desc wakeup_metrics[] = {
	{ "n", "count", BETTER_NONE, "wake-ups" },
	{ "missed", "count", BETTER_LOWER, "skipped" },
	{ "above", "ratio", BETTER_LOWER, "share above a limit", .kind = METRIC_RATE,
	  .samples = "n", .skipped = "missed", .hist = "latency" },
	{},
};
static const struct plugin tcp = { "tcp", "TCP", no_rows, tcp_metrics };
static const struct plugin wakeup = { "wakeup", "latency", no_rows, wakeup_metrics };
static const struct plugin *const knobs[] = { NULL };
static const struct plugin *const loads[] = { &tcp, NULL };
static const struct plugin *const probes[] = { &wakeup, NULL };
static const struct plan_registry reg = { knobs, loads, probes };

static const char plan_text[] = "name: t\npeer: netns\nvariants: { before: [], after: [] }\n"
				"scenarios: { net: [ tcp ] }\nprobes: { wakeup: }\nblocks: 16\n"
				"metrics:\n  throughput: { margin: 1% }\n"
				"  wakeup.above: { limit: 100us, margin: 10% }\n";

struct fixture {
	char dir[64], path[96];
	struct store *store;
	uint64_t rng;
};

/* What a made-up run is like. */
struct recipe {
	const char *env;
	bool aa;
	enum run_state state;
	unsigned int blocks;
	double noise; /* of single trials */
	double drift; /* from the first to the last trial */
	double step;  /* in the middle */
	double extra; /* effect on what the plan does not name */
	double loss;  /* of throughput with the variant, for three fifths fewer late wake-ups */
	bool maxima;  /* a Gumbel maximum every second, of either CPU; a jump half-way with step */
};

static double normal(uint64_t *rng)
{
	double sum = 0;

	for (int i = 0; i < 12; i++)
		sum += (double)(rng_next(rng) >> 11) / 9007199254740992.0;
	return sum - 6;
}

static void take(struct record_list *l, const struct record *rec)
{
	struct err e = {};

	assert_int_equal(record_list_take(l, record_copy(rec), &e), 0);
}

static void scalar(struct record_list *l, const char *metric, const char *unit, double v)
{
	const struct record rec = {
		.kind = RECORD_SCALAR, .metric = metric, .unit = unit, .labels = "", .value = v
	};

	take(l, &rec);
}

/* 990 wake-ups of 10 us and @late of 200 us on either CPU, so many skipped that 2000 were due;
 * another priority is always late. */
static void wakeups(struct record_list *l, unsigned int late)
{
	static const char *const labels[] = { "cpu=0,prio=98", "cpu=1,prio=98", "cpu=0,prio=40" };

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		static struct hist h;
		const struct record rec = { .kind = RECORD_HIST,
					    .metric = "wakeup.latency",
					    .unit = "ns",
					    .labels = labels[i],
					    .hist = &h };

		memset(&h, 0, sizeof(h));
		hist_add_many(&h, i < 2 ? 10000 : 900000, 990);
		hist_add_many(&h, 200000, late);
		take(l, &rec);
	}
	scalar(l, "wakeup.n", "count", 1980 + 2 * late);
	scalar(l, "wakeup.missed", "count", 20 - 2 * late);
}

/* Five seconds of maxima around 100 us. */
static void maxima(struct fixture *f, struct record_list *l, double factor)
{
	static const char *const labels[] = { "cpu=0,prio=98", "cpu=1,prio=98" };

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		struct point points[5];
		const struct record rec = { .kind = RECORD_SERIES,
					    .metric = "wakeup.max",
					    .unit = "ns",
					    .labels = labels[i],
					    .points = points,
					    .nr_points = ARRAY_SIZE(points) };

		for (size_t k = 0; k < ARRAY_SIZE(points); k++) {
			double u = ((double)(rng_next(&f->rng) >> 11) + 0.5) / 9007199254740992.0;

			points[k] = (struct point){ .t_ns = (int64_t)(k + 1) * 1000000000,
						    .v = factor * (100000 - 10000 * log(-log(u))) };
		}
		take(l, &rec);
	}
}

static void add_trial(struct fixture *f, int64_t run, const struct recipe *r, unsigned int position)
{
	_cleanup_(record_list_release) struct record_list l = {};
	struct trial_info t = { .block = position / 2,
				.variant = (position ^ (position >> 1)) & 1,
				.position = position,
				.seed = position,
				.window_ns = 1000000000 };
	double at = position / (2.0 * BLOCKS - 1);
	double v = 1e9 * (1 + r->drift * at) * (1 + r->noise * normal(&f->rng));
	struct err e = {};

	if (position >= BLOCKS)
		v *= 1 + r->step;
	if (t.variant)
		v *= 1 - r->loss;
	scalar(&l, "throughput", "bit/s", v);
	scalar(&l, "cpu.busy", "ratio",
	       (0.5 + 0.001 * normal(&f->rng)) * (t.variant ? 1 + r->extra : 1));
	wakeups(&l, t.variant && r->loss > 0 ? 2 : 5);
	if (r->maxima)
		maxima(f, &l, position >= BLOCKS ? 1 + r->step : 1);
	if (store_trial_add(f->store, run, &t, &l, &e) < 0)
		fail_msg("%s", e.msg);
}

static int64_t add_run(struct fixture *f, const struct recipe *r)
{
	static const char *const names[] = { "before", "after", NULL };
	static const char *const where[] = { "net", NULL };
	const struct run_info info = { .name = (char *)(uintptr_t) "t",
				       .plan = (char *)(uintptr_t)plan_text,
				       .version = (char *)(uintptr_t) "0.1.0",
				       .env = (char *)(uintptr_t)(r->env ? r->env : "{}"),
				       .seed = 1,
				       .aa = r->aa };
	struct err e = {};
	int64_t id = 0;

	if (store_run_add(f->store, &info, names, where, &id, &e) < 0)
		fail_msg("%s", e.msg);
	for (unsigned int i = 0; i < 2 * r->blocks; i++)
		add_trial(f, id, r, i);
	assert_int_equal(store_run_end(f->store, id, r->state, 1, &e), 0);
	return id;
}

/* The report as JSON (json_object_put()) and as text. */
static struct json_object *say(struct fixture *f, int64_t run, struct buf *text)
{
	_cleanup_(report_freep) struct report *rep = NULL;
	_cleanup_(buf_release) struct buf json = {}, html = {};
	struct err e = {};
	struct json_object *o;

	if (report_gather(&rep, f->store, run, &reg, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(report_json(rep, &json, &e), 0);
	assert_int_equal(report_text(rep, text, &e), 0);
	assert_int_equal(report_html(rep, &html, &e), 0);
	o = json_tokener_parse(buf_str(&json));
	assert_non_null(o);
	return o;
}

static struct json_object *first_verdict(struct json_object *report)
{
	return json_object_array_get_idx(json_object_object_get(report, "verdicts"), 0);
}

static double number(struct json_object *o, const char *key)
{
	return json_object_get_double(json_object_object_get(o, key));
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct err e = {};

	snprintf(f->dir, sizeof(f->dir), "/tmp/irqlab-unit-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/db", f->dir);
	f->rng = 7;
	*state = f;
	return store_open(&f->store, f->path, STORE_WRITE, &e);
}

static int tear_down(void **state)
{
	static const char *const ends[] = { "", "-wal", "-shm" };
	struct fixture *f = *state;

	store_close(f->store);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s%s", f->path, ends[i]);
		unlink(path);
	}
	rmdir(f->dir);
	free(f);
	return 0;
}

static void the_noise_floor_is_that_of_this_machine(void **state)
{
	static const char here[] = "{\"release\":\"6.1\",\"cpus\":2}";
	struct fixture *f = *state;
	_cleanup_(buf_release) struct buf text = {}, other_text = {};
	const struct recipe aa = { here, true, RUN_DONE, BLOCKS, .noise = 0.01 };
	const struct recipe run = { here, false, RUN_DONE, BLOCKS, .noise = 0.01 };
	const struct recipe other = { "{\"release\":\"6.2\",\"cpus\":2}", false, RUN_DONE, BLOCKS,
				      .noise = 0.01 };
	struct json_object *o, *noise;
	struct err e = {};

	/* not this one: another machine, and one that was not completed */
	add_run(f, &(struct recipe){ "{\"release\":\"5.0\"}", true, RUN_DONE, BLOCKS, 0.1 });
	assert_int_equal(add_run(f, &aa), 2);
	add_run(f, &(struct recipe){ here, true, RUN_STOPPED, 9, 0.1 });
	o = say(f, add_run(f, &run), &text);
	noise = json_object_object_get(first_verdict(o), "noise_floor");
	assert_int_equal(number(noise, "run"), 2);
	/* log ratios of two trials of 1 % */
	assert_near(number(noise, "pair_sd"), 0.01 * sqrt(2), 0.006);
	assert_true(number(noise, "visible") > 0.005 && number(noise, "visible") < 0.02);
	assert_contains(buf_str(&text), "noise floor of this bench: throughput: ");
	assert_contains(buf_str(&text), "(A/A run 2, 16");
	json_object_put(o);
	o = say(f, add_run(f, &other), &other_text);
	assert_null(json_object_object_get(first_verdict(o), "noise_floor"));
	assert_null(strstr(buf_str(&other_text), "noise floor"));
	json_object_put(o);
	assert_true(noise_same_machine(here, "{\"cpus\":2}"));
	assert_false(noise_same_machine(here, "{\"cpus\":4}"));
	assert_int_equal(e.code, 0);
}

static void drift_and_shifts_are_said(void **state)
{
	struct fixture *f = *state;
	_cleanup_(buf_release) struct buf flat = {}, drift = {}, step = {};
	struct json_object *o;

	o = say(f, add_run(f, &(struct recipe){ NULL, false, RUN_DONE, BLOCKS, .noise = 0.01 }),
		&flat);
	assert_null(strstr(buf_str(&flat), "drift: "));
	assert_null(strstr(buf_str(&flat), "level shift: "));
	json_object_put(o);
	o = say(f,
		add_run(f, &(struct recipe){ NULL, false, RUN_DONE, BLOCKS, 0.01, .drift = 0.2 }),
		&drift);
	assert_contains(buf_str(&drift), "drift: throughput went +");
	/* and yet: the same within the blocks, so no verdict for or against */
	assert_true(fabs(number(first_verdict(o), "change")) < 0.02);
	json_object_put(o);
	o = say(f,
		add_run(f, &(struct recipe){ NULL, false, RUN_DONE, BLOCKS, 0.01, .step = -0.3 }),
		&step);
	assert_contains(buf_str(&step), "level shift: throughput went -");
	assert_contains(buf_str(&step), "at trial 17, whatever the");
	json_object_put(o);
}

static void what_no_plan_names_is_shown_and_not_judged(void **state)
{
	struct fixture *f = *state;
	_cleanup_(buf_release) struct buf text = {};
	struct json_object *o, *x, *differ;

	o = say(f,
		add_run(f, &(struct recipe){ NULL, false, RUN_DONE, BLOCKS, 0.001, .extra = 0.5 }),
		&text);
	x = json_object_object_get(o, "exploratory");
	differ = json_object_object_get(x, "differ");
	assert_int_equal(number(x, "compared"), 3); /* busy, n, missed */
	assert_int_equal(json_object_array_length(differ), 1);
	x = json_object_array_get_idx(differ, 0);
	assert_string_equal(json_field_string(x, "metric"), "cpu.busy");
	assert_near(number(x, "change"), 0.5, 0.01);
	assert_contains(buf_str(&text), "exploratory: 1 of 3 other comparisons differ");
	assert_int_equal(json_object_array_length(json_object_object_get(o, "verdicts")), 2);
	json_object_put(o);
}

static void nothing_is_said_before_the_last_block(void **state)
{
	struct fixture *f = *state;
	_cleanup_(buf_release) struct buf text = {};
	struct json_object *o, *v;

	o = say(f,
		add_run(f, &(struct recipe){ NULL, false, RUN_STOPPED, 15, 0.001, .extra = 0.5 }),
		&text);
	v = first_verdict(o);
	assert_string_equal(json_field_string(v, "verdict"), "undecided");
	assert_null(json_object_object_get(v, "low"));
	assert_null(json_object_object_get(v, "change"));
	assert_null(json_object_object_get(v, "variant_median"));
	assert_int_equal(number(json_object_object_get(o, "exploratory"), "compared"), 0);
	assert_contains(buf_str(&text), "30 of 32 planned trials");
	json_object_put(o);
}

/* 10 of the 2000 wake-ups that were due at the first priority are above 100 us. */
static void a_share_above_a_limit_comes_from_the_histograms(void **state)
{
	struct fixture *f = *state;
	_cleanup_(buf_release) struct buf text = {};
	struct json_object *o, *v;

	o = say(f, add_run(f, &(struct recipe){ NULL, false, RUN_DONE, BLOCKS, 0.001 }), &text);
	v = json_object_array_get_idx(json_object_object_get(o, "verdicts"), 1);
	assert_string_equal(json_field_string(v, "metric"), "wakeup.above > 100us");
	assert_near(number(v, "baseline_median"), 0.005, 1e-12);
	assert_string_equal(json_field_string(v, "test"), "sign-flip");
	assert_string_equal(json_field_string(v, "verdict"), "same");
	assert_int_equal(number(v, "samples_baseline"), 2000 * BLOCKS);
	v = json_object_array_get_idx(json_object_object_get(o, "trials"), 0);
	assert_near(number(json_object_object_get(v, "values"), "wakeup.above > 100us"), 0.005,
		    1e-12);
	json_object_put(o);
}

/* 80 seconds a variant, the larger of two Gumbel maxima each: once an hour 100 + 10 ln 7200 us. */
static void beyond_the_maxima_only_where_every_gate_is_passed(void **state)
{
	const struct recipe steady = {
		NULL, false, RUN_DONE, BLOCKS, .noise = 0.01, .maxima = true
	};
	const struct recipe jump = { NULL,	    false,	 RUN_DONE,	BLOCKS,
				     .noise = 0.01, .step = 0.5, .maxima = true };
	struct fixture *f = *state;
	_cleanup_(buf_release) struct buf text = {}, other = {};
	struct json_object *o = say(f, add_run(f, &steady), &text);
	struct json_object *list = json_object_object_get(o, "extrapolation");

	assert_int_equal(json_object_array_length(list), 2);
	for (size_t i = 0; i < 2; i++) {
		struct json_object *x = json_object_array_get_idx(list, i);

		assert_string_equal(json_object_get_string(json_object_object_get(x, "gate")),
				    "good");
		assert_near(number(x, "n"), 5 * BLOCKS, 0);
		assert_true(number(x, "low_ns") < 188800 && number(x, "high_ns") > 188800);
		assert_true(number(x, "level_ns") > number(x, "largest_ns"));
	}
	assert_contains(buf_str(&text), "EXTRAPOLATION beyond what was measured");
	json_object_put(o);
	o = say(f, add_run(f, &jump), &other);
	assert_null(strstr(buf_str(&other), "EXTRAPOLATION"));
	assert_contains(buf_str(&other), "no extrapolation of maxima, trend");
	json_object_put(o);
}

static void variance_has_levels(void **state)
{
	struct fixture *f = *state;
	_cleanup_(buf_release) struct buf text = {};
	struct json_object *o, *l;

	/* a step is shared by the trials of a block */
	o = say(f, add_run(f, &(struct recipe){ NULL, false, RUN_DONE, BLOCKS, 0.01, .step = 0.3 }),
		&text);
	l = json_object_array_get_idx(json_object_object_get(o, "variance_by_level"), 0);
	assert_string_equal(json_field_string(l, "of"), "ratio");
	assert_near(sqrt(number(l, "trial")), 0.01, 0.006);
	assert_near(sqrt(number(l, "block")), log(1.3) / 2, 0.02);
	assert_null(json_object_object_get(l, "boot"));
	assert_contains(buf_str(&text), "spread (sd) of throughput, blocks 13");
	json_object_put(o);
}

/* 0.6 of the late wake-ups for log(1 / 0.8) of throughput. */
static void what_is_paid_for_what_is_said(void **state)
{
	struct fixture *f = *state;
	_cleanup_(buf_release) struct buf text = {}, other = {};
	struct json_object *o, *x;

	o = say(f, add_run(f, &(struct recipe){ NULL, false, RUN_DONE, BLOCKS, 0.02, .loss = 0.2 }),
		&text);
	assert_int_equal(json_object_array_length(json_object_object_get(o, "exchange")), 1);
	x = json_object_array_get_idx(json_object_object_get(o, "exchange"), 0);
	assert_string_equal(json_field_string(x, "worse"), "throughput");
	assert_string_equal(json_field_string(x, "better"), "wakeup.above > 100us");
	assert_near(number(x, "rate"), 0.6 / -log(0.8), 0.2);
	assert_true(number(x, "low") < number(x, "rate") && number(x, "rate") < number(x, "high"));
	assert_int_equal(number(x, "blocks"), BLOCKS);
	assert_contains(buf_str(&text),
			"exchange: with \"after\" each 1% less throughput comes with 2.");
	json_object_put(o);
	o = say(f, add_run(f, &(struct recipe){ NULL, false, RUN_DONE, BLOCKS, 0.02 }), &other);
	assert_int_equal(json_object_array_length(json_object_object_get(o, "exchange")), 0);
	assert_null(strstr(buf_str(&other), "exchange"));
	json_object_put(o);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_noise_floor_is_that_of_this_machine),
		TEST(drift_and_shifts_are_said),
		TEST(what_no_plan_names_is_shown_and_not_judged),
		TEST(nothing_is_said_before_the_last_block),
		TEST(a_share_above_a_limit_comes_from_the_histograms),
		TEST(beyond_the_maxima_only_where_every_gate_is_passed),
		TEST(variance_has_levels),
		TEST(what_is_paid_for_what_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
