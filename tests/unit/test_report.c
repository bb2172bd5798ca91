// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <ctype.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <unistd.h>

#include "base/rng.h"
#include "plan/plan.h"
#include "report/format.h"
#include "report/report.h"
#include "report/svg.h"
#include "sample/hist.h"
#include "store/store.h"
#include "verdict/verdict.h"

#include "golden.h"

/*
 * A run of 2 variants, 2 scenarios and 8 blocks, made up from a seed and stored for real: what the
 * forms of the report are made from.  Names and kernel lines carry what an attacker would put
 * there.
 */

#define HOSTILE "<script>alert(1)</script>"
#define BLOCKS 8

static struct variant variants[] = { { .name = (char *)(uintptr_t) "before" },
				     { .name = (char *)(uintptr_t) "after" } };
static struct scenario scenarios[] = { { .name = (char *)(uintptr_t) "net" },
				       { .name = (char *)(uintptr_t) "flat-out" } };

#define METRIC(name, in, how, unit_, margin_)                                                \
	{                                                                                    \
		.text = (char *)(uintptr_t)(name "@" in), .metric = (char *)(uintptr_t)name, \
		.labels = (char *)(uintptr_t) "", .scenario = (char *)(uintptr_t)in,         \
		.margin = margin_, .better = how, .unit = unit_                              \
	}

static struct plan_metric metrics[] = {
	METRIC("throughput", "flat-out", BETTER_HIGHER, "bit/s", 0.05),
	METRIC("wakeup.p99", "net", BETTER_LOWER, "ns", 0.10),
	METRIC("tcp.retransmits", "flat-out", BETTER_LOWER, "count", 0.10),
	METRIC("wakeup.max", "net", BETTER_LOWER, "ns", 0.20),
	METRIC("cpu.softirq", "flat-out", BETTER_LOWER, "ratio", 0.05),
	METRIC("wakeup.drift", "net", BETTER_LOWER, "ns", 0.05),
	METRIC("tcp.late", "net", BETTER_LOWER, "ns", 0.05),
	METRIC("tcp.drops", "net", BETTER_LOWER, "count", 0.05),
	METRIC("tcp.lost-share", "net", BETTER_LOWER, "ratio", 0.05),
};

static const char plan_text[] = "name: NAPI poll in its own thread " HOSTILE "\n"
				"peer: netns\n"
				"variants:\n"
				"  before: []\n"
				"  after:\n"
				"    - netdev: { dev: $dut, threaded: 1 }\n"
				"scenarios:\n"
				"  net:\n"
				"    - tcp: { direction: to-dut, rate: 4G }\n"
				"  flat-out:\n"
				"    - tcp: { direction: to-dut }\n"
				"probes:\n"
				"  wakeup: {}\n"
				"blocks: 8\n"
				"metrics:\n"
				"  throughput@flat-out: { margin: 5% }\n"
				"  wakeup.p99@net: { margin: 10% }\n"
				"seed: 1\n";

static const struct plan plan = {
	.name = (char *)(uintptr_t)("NAPI poll in its own thread " HOSTILE),
	.variants = variants,
	.nr_variants = 2,
	.scenarios = scenarios,
	.nr_scenarios = 2,
	.blocks = BLOCKS,
	.metrics = metrics,
	.nr_metrics = ARRAY_SIZE(metrics),
	.alpha = 0.05,
	.seed = 1,
};

static const struct verdict verdicts[] = {
	{ .query = 0,
	  .variant = 1,
	  .word = VERDICT_WORSE,
	  .blocks = 8,
	  .baseline = 23.41e9,
	  .value = 21.94e9,
	  .change = -0.0628,
	  .low = -0.0701,
	  .high = -0.0551,
	  .p = 0.0078125,
	  .alpha = 0.01 },
	{ .query = 1,
	  .variant = 1,
	  .word = VERDICT_BETTER,
	  .blocks = 7,
	  .lost = 1,
	  .baseline = 48123,
	  .value = 21456,
	  .change = -0.554,
	  .low = -0.612,
	  .high = -0.497,
	  .p = 0.0078125,
	  .alpha = 0.0125 },
	{ .query = 2,
	  .variant = 1,
	  .word = VERDICT_UNDECIDED,
	  .blocks = 8,
	  .baseline = 25,
	  .value = 31,
	  .change = 0.24,
	  .low = -0.35,
	  .high = 1.1,
	  .p = 0.31,
	  .alpha = 0.025,
	  .more_blocks = 14 },
	{ .query = 3,
	  .variant = 1,
	  .word = VERDICT_VETOED,
	  .blocks = 2,
	  .lost = 6,
	  .baseline = 901234,
	  .value = 750000,
	  .change = -0.17,
	  .low = (double)-INFINITY,
	  .high = (double)INFINITY,
	  .p = 1,
	  .alpha = 0.05,
	  .reason = "variant after had no effect " HOSTILE },
	{ .query = 4,
	  .variant = 1,
	  .word = VERDICT_SAME,
	  .blocks = 8,
	  .baseline = 0.412,
	  .value = 0.409,
	  .change = -0.0071,
	  .low = -0.021,
	  .high = 0.0044,
	  .p = 0.46,
	  .alpha = 0.05 },
	/* some values are negative, so there is no ratio */
	{ .query = 5,
	  .variant = 1,
	  .word = VERDICT_BETTER,
	  .scale = VERDICT_SCALE_MEDIAN,
	  .blocks = 8,
	  .baseline = 400,
	  .value = -80,
	  .change = -1.2,
	  .low = -1.31,
	  .high = -1.12,
	  .p = 0.0078125,
	  .alpha = 0.05 },
	/* the baseline's median is 0, so there is nothing to be relative to */
	{ .query = 6,
	  .variant = 1,
	  .word = VERDICT_WORSE,
	  .scale = VERDICT_SCALE_UNIT,
	  .blocks = 8,
	  .baseline = 0,
	  .value = 12300,
	  .change = 12300,
	  .low = 9870,
	  .high = 15100,
	  .p = 0.0078125,
	  .alpha = 0.05 },
	{ .query = 7,
	  .variant = 1,
	  .word = VERDICT_UNDECIDED,
	  .scale = VERDICT_SCALE_UNIT,
	  .blocks = 8,
	  .baseline = 0,
	  .value = 2,
	  .change = 2,
	  .low = -1,
	  .high = 5.5,
	  .p = 0.2,
	  .alpha = 0.05 },
	{ .query = 8,
	  .variant = 1,
	  .word = VERDICT_SAME,
	  .scale = VERDICT_SCALE_UNIT,
	  .blocks = 8,
	  .p = 1,
	  .alpha = 0.05 },
};

static const struct report_basis basis = { &plan, verdicts, ARRAY_SIZE(verdicts) };

struct fixture {
	char dir[64];
	char path[96];
	struct store *store;
	int64_t run;
	struct report *rep;
};

static double uniform(uint64_t *rng)
{
	return ((double)(rng_next(rng) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *rng)
{
	/* two statements: the order of two calls in one expression is the compiler's choice */
	double r = sqrt(-2 * log(uniform(rng)));

	return r * cos(2 * 3.14159265358979 * uniform(rng));
}

static void take(struct record_list *l, const struct record *rec)
{
	struct err e = {};

	assert_int_equal(record_list_take(l, record_copy(rec), &e), 0);
}

static void scalar(struct record_list *l, const char *metric, const char *unit, const char *labels,
		   double v)
{
	const struct record rec = {
		.kind = RECORD_SCALAR, .metric = metric, .unit = unit, .labels = labels, .value = v
	};

	take(l, &rec);
}

static void event(struct record_list *l, const char *metric, enum severity severity, int64_t t_ns,
		  const char *text)
{
	const struct record rec = { .kind = RECORD_EVENT,
				    .metric = metric,
				    .unit = "",
				    .labels = "",
				    .severity = severity,
				    .t_ns = t_ns,
				    .text = text };

	take(l, &rec);
}

static void add_throughput(struct record_list *l, const struct trial_info *t, uint64_t *rng)
{
	static struct point points[120];
	double mean = t->scenario == 0 ? 4e9 : t->variant ? 21.9e9 : 23.4e9;
	double sum = 0, trial = normal(rng) * 0.006;
	struct record rec = { .kind = RECORD_SERIES,
			      .metric = "throughput",
			      .unit = "bit/s",
			      .labels = "",
			      .points = points,
			      .nr_points = 60 };

	for (int i = 0; i < 60; i++) {
		double v = mean *
			   (1 + (t->scenario ? trial + normal(rng) * 0.008 : normal(rng) * 0.001));

		if (i < 4)
			v *= 0.55 + 0.12 * i;
		points[i] = (struct point){ .t_ns = (i - 10) * INT64_C(100000000), .v = round(v) };
		sum += i >= 10 ? v / 50 : 0;
	}
	take(l, &rec);
	scalar(l, "throughput", "bit/s", "", round(sum));
}

static void add_wakeups(struct record_list *l, const struct trial_info *t, uint64_t *rng)
{
	static struct hist h;
	double median = t->variant ? 6000 : 9000;
	double tail = t->variant ? 0.004 : 0.012;
	char labels[40];

	for (int cpu = 0; cpu < 2; cpu++) {
		struct point worst = { .t_ns = (int64_t)(uniform(rng) * 5e9) };
		struct record rec = { .kind = RECORD_HIST,
				      .metric = "wakeup.latency",
				      .unit = "ns",
				      .labels = labels,
				      .hist = &h };

		snprintf(labels, sizeof(labels), "cpu=%d,prio=98", cpu);
		memset(&h, 0, sizeof(h));
		for (int i = 0; i < 20000; i++) {
			double v = median * exp(normal(rng) * 0.35);

			if (uniform(rng) < tail)
				v *= 3 + 10 / sqrt(uniform(rng) + 0.01);
			hist_add(&h, (uint64_t)v);
		}
		take(l, &rec);
		worst.v = (double)h.max;
		rec = (struct record){ .kind = RECORD_SERIES,
				       .metric = "wakeup.max",
				       .unit = "ns",
				       .labels = labels,
				       .points = &worst,
				       .nr_points = 1 };
		take(l, &rec);
		scalar(l, "wakeup.missed", "count", labels, cpu);
	}
	scalar(l, "wakeup.p99", "ns", "",
	       round((t->variant ? 24e3 : 48e3) * exp(0.01 * normal(rng))));
	scalar(l, "wakeup.missed", "count", "", t->variant ? 3 : 17);
}

static void add_interrupts(struct record_list *l, const struct trial_info *t, uint64_t *rng)
{
	static const struct {
		const char *metric, *labels;
		double before, after;
	} rows[] = {
		{ "interrupts.softirq", "cpu=0,vec=NET_RX", 80000, 21000 },
		{ "interrupts.softirq", "cpu=1,vec=NET_RX", 120, 300 },
		{ "interrupts.softirq", "cpu=0,vec=TIMER", 1003, 1001 },
		{ "interrupts.softirq", "cpu=1,vec=TIMER", 998, 1004 },
		{ "interrupts.irq", "cpu=0,irq=LOC,name=Local timer interrupts", 4200, 4100 },
		{ "interrupts.irq", "cpu=1,irq=LOC,name=Local timer interrupts", 4100, 5200 },
		{ "interrupts.irq", "cpu=1,irq=24,name=eth0-rx " HOSTILE, 62, 0 },
		{ "interrupts.irq", "cpu=1,irq=RES,name=Rescheduling interrupts", 90, 22000 },
		{ "interrupts.irq", "cpu=0,irq=9,name=acpi", 0.4, 0.2 },
		{ "interrupts.irq", "cpu=1,irq=MCP,name=Machine check polls", 0.2, 0.2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		scalar(l, rows[i].metric, "count", rows[i].labels,
		       round(5 * (t->variant ? rows[i].after : rows[i].before) *
			     (1 + 0.01 * normal(rng))));
}

static void add_trial(struct fixture *f, struct trial_info *t, uint64_t *rng)
{
	_cleanup_(record_list_release) struct record_list l = {};
	char text[128];
	struct err e = {};

	add_throughput(&l, t, rng);
	add_wakeups(&l, t, rng);
	add_interrupts(&l, t, rng);
	scalar(&l, "kmsg.warnings", "count", "", t->block % 3 == 1);
	scalar(&l, "cpu.steal", "ratio", "", 0.001 * (1 + t->variant) * t->block);
	if (t->block % 3 == 1)
		event(&l, "kmsg", SEVERITY_WARN, 1200000000,
		      "NOHZ tick-stop error: local softirq work is pending, handler #08 (NET_RX)");
	if (t->block == 5 && t->variant == 1)
		event(&l, "kmsg", SEVERITY_WARN, 2500000000,
		      "eth0: " HOSTILE " \x1b[31mred\x1b[0m \xff link is \"down\" & gone");
	if (t->variant == 1) {
		unsigned int run_us = 900000 + (unsigned int)rng_below(rng, 90000);

		snprintf(
			text, sizeof(text),
			"netdev dut0.threaded: run time of napi/dut0-* moved by %u us, NET_RX by %u",
			run_us, 20000 + (unsigned int)rng_below(rng, 900));
		event(&l, "variant", SEVERITY_NOTE, 5000000000, text);
	}
	/* the same but for its numbers: one row; of other names or another probe: another */
	if (t->block >= 6) {
		snprintf(text, sizeof(text), "%u wake-ups of 2002 were skipped (%.2g %%)",
			 10 + t->position * 7 % 8, 0.5 * (1 + t->position * 7 % 8));
		event(&l, "wakeup", SEVERITY_WARN, 0, text);
	}
	if (t->block == 7 && t->variant == 0) {
		event(&l, "wakeup-low", SEVERITY_WARN, 0, "3 wake-ups of 2002 were skipped (1 %)");
		event(&l, "wakeup", SEVERITY_WARN, 0, "p99 was left out");
		event(&l, "wakeup", SEVERITY_WARN, 0, "p999 was left out");
	}
	if (t->state == TRIAL_VETOED)
		event(&l, "witness.netdev", SEVERITY_VETO, 5000000000, t->reason);
	if (store_trial_add(f->store, f->run, t, &l, &e) < 0)
		fail_msg("%s", e.msg);
}

static void add_trials(struct fixture *f, unsigned int blocks, uint64_t order)
{
	uint64_t rng = 42;
	unsigned int position = 0;

	for (unsigned int block = 0; block < blocks; block++) {
		uint64_t flip = rng_next(&order);

		for (unsigned int i = 0; i < 4; i++) {
			struct trial_info t = { .block = block,
						.scenario = (i >> 1) ^ (flip & 1),
						.variant = (i & 1) ^ ((flip >> 1) & 1),
						.position = position++,
						.seed = rng_next(&order),
						.window_ns = 5000000000 };

			t.started_ns = UINT64_C(1700000000000000000) + position * 7000000000;
			if (block == 2 && t.variant == 1 && t.scenario == 0) {
				t.state = TRIAL_VETOED;
				t.reason =
					(char *)(uintptr_t) "no effect: run time of napi/dut0-* "
							    "did not move, NET_RX moved by 21003";
			} else if (block == 6 && t.variant == 0 && t.scenario == 1) {
				t.state = TRIAL_FAILED;
				t.reason = (char *)(uintptr_t) "peer " HOSTILE
							       " closed the connection";
			}
			add_trial(f, &t, &rng);
		}
	}
}

/* @order: seed of the order within the blocks */
static void fixture_open(struct fixture *f, unsigned int blocks, uint64_t order)
{
	static const char *const names[] = { "before", "after", NULL };
	static const char *const where[] = { "net", "flat-out", NULL };
	const struct run_info run = {
		.name = plan.name,
		.plan = (char *)(uintptr_t)plan_text,
		.plan_file = (char *)(uintptr_t) "plans/napi.yaml",
		.version = (char *)(uintptr_t) "0.1.0",
		.env = (char *)(uintptr_t) "{\"kernel\":{\"release\":\"6.1.0-13-amd64\",\"cmdline\":"
					   "\"" HOSTILE " quiet\"},\"cpus\":2,\"model\":\"Example "
					   "CPU @ 2.40GHz\",\"governor\":\"performance\"}",
		.seed = 1,
		.started_ns = UINT64_C(1700000000000000000)
	};
	struct err e = {};

	*f = (struct fixture){ .dir = "/tmp/irqlab-report-XXXXXX" };
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/irqlab.db", f->dir);
	assert_int_equal(store_open(&f->store, f->path, STORE_WRITE, &e), 0);
	assert_int_equal(store_run_add(f->store, &run, names, where, &f->run, &e), 0);
	add_trials(f, blocks, order);
	assert_int_equal(
		store_run_end(f->store, f->run, RUN_DONE, UINT64_C(1700000300000000000), &e), 0);
	if (report_build(&f->rep, f->store, f->run, &basis, &e) < 0)
		fail_msg("%s", e.msg);
}

static void fixture_close(struct fixture *f)
{
	report_free(f->rep);
	store_close(f->store);
	unlink(f->path);
	assert_int_equal(rmdir(f->dir), 0);
}

static int set_up(void **state)
{
	static struct fixture f;

	fixture_open(&f, BLOCKS, 43);
	*state = &f;
	return 0;
}

static int set_up_hundred(void **state)
{
	static struct fixture f;

	fixture_open(&f, 25, 43);
	*state = &f;
	return 0;
}

static int set_up_two(void **state)
{
	static struct fixture f;

	/* a seed with which flat-out runs first */
	fixture_open(&f, 2, 44);
	*state = &f;
	return 0;
}

static int set_up_empty(void **state)
{
	static struct fixture f;

	fixture_open(&f, 0, 43);
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	fixture_close(*state);
	return 0;
}

static void text_is_as_agreed(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(buf_release) struct buf out = {};
	struct err e = {};

	assert_int_equal(report_text(f->rep, &out, &e), 0);
	assert_golden("report/text.txt", &out);
}

static void assert_fits(const char *text)
{
	for (const char *p = text; *p;) {
		size_t len = strcspn(p, "\n");
		_cleanup_(freep) char *line = strndup(p, len);

		if (format_columns(line) > 78)
			fail_msg("%zu columns: %s", format_columns(line), line);
		for (size_t i = 0; i < len; i++)
			assert_false((unsigned char)line[i] < 0x20 || line[i] == 0x7f);
		p += len + (p[len] == '\n');
	}
}

/* Lines joined again: where a line was broken does not matter. */
static void unwrap(struct buf *b)
{
	char *to = b->data;

	for (const char *p = b->data; *p; p++) {
		bool blank = *p == ' ' || *p == '\n';

		if (!blank || (to > b->data && to[-1] != ' '))
			*to++ = blank ? ' ' : *p;
	}
	*to = '\0';
}

static void text_fits_a_mail(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(buf_release) struct buf out = {};
	struct err e = {};

	assert_int_equal(report_text(f->rep, &out, &e), 0);
	assert_fits(buf_str(&out));
	unwrap(&out);
	assert_contains(buf_str(&out), "vetoed: trial 10: no effect: run time of napi/dut0-*");
	assert_contains(buf_str(&out), "NOHZ tick-stop error: local softirq work is pending");
}

static void long_names_wrap_and_never_overflow(void **state)
{
	static const char *const names[] = {
		"x",
		"a name with many words that goes on and on and on beyond the end of the line",
		"one-word-that-is-much-longer-than-the-line-could-ever-hold-without-being-broken-apart"
		"-somewhere-in-its-middle",
		"\xe5\x89\xb2\xe3\x82\x8a\xe8\xbe\xbc\xe3\x81\xbf\xe5\x89\xb2\xe3\x82\x8a\xe8\xbe\xbc"
		"\xe3\x81\xbf\xe5\x89\xb2\xe3\x82\x8a\xe8\xbe\xbc\xe3\x81\xbf\xe5\x89\xb2\xe3\x82\x8a"
		"\xe8\xbe\xbc\xe3\x81\xbf\xe5\x89\xb2\xe3\x82\x8a\xe8\xbe\xbc\xe3\x81\xbf\xe5\x89\xb2"
		"\xe3\x82\x8a\xe8\xbe\xbc\xe3\x81\xbf\xe5\x89\xb2\xe3\x82\x8a\xe8\xbe\xbc\xe3\x81\xbf",
	};
	const struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *const text = metrics[0].text, *const variant = variants[1].name;
		_cleanup_(buf_release) struct buf out = {};
		struct err e = {};

		metrics[0].text = (char *)(uintptr_t)names[i];
		variants[1].name = (char *)(uintptr_t)names[i];
		assert_int_equal(report_text(f->rep, &out, &e), 0);
		metrics[0].text = text;
		variants[1].name = variant;
		assert_fits(buf_str(&out));
	}
}

static double number(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	if (!json_object_object_get_ex(o, key, &v))
		fail_msg("no key %s", key);
	return v ? json_object_get_double(v) : (double)INFINITY;
}

static const char *string(struct json_object *o, const char *key)
{
	return json_object_get_string(json_object_object_get(o, key));
}

static void json_says_what_the_verdicts_say(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(buf_release) struct buf out = {};
	struct json_object *o, *list;
	struct err e = {};

	assert_int_equal(report_json(f->rep, &out, &e), 0);
	o = json_tokener_parse(buf_str(&out));
	assert_non_null(o);
	assert_near(number(o, "schema"), REPORT_JSON_SCHEMA, 0);
	assert_string_equal(string(o, "plan"), plan.name);
	list = json_object_object_get(o, "verdicts");
	assert_int_equal(json_object_array_length(list), ARRAY_SIZE(verdicts));
	for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++) {
		struct json_object *v = json_object_array_get_idx(list, i);
		const struct verdict *w = &verdicts[i];

		assert_string_equal(string(v, "metric"), metrics[i].text);
		assert_string_equal(string(v, "verdict"), verdict_word(w->word));
		assert_true(number(v, "baseline_median") == w->baseline);
		assert_true(number(v, "variant_median") == w->value);
		assert_true(number(v, "change") == w->change);
		if (isfinite(w->low))
			assert_true(number(v, "low") == w->low && number(v, "high") == w->high);
		else
			assert_null(json_object_object_get(v, "low"));
		assert_true(number(v, "p") == w->p && number(v, "alpha") == w->alpha);
		assert_true(number(v, "more_blocks") == w->more_blocks);
		assert_true(number(v, "margin") == metrics[i].margin);
		assert_string_equal(string(v, "scale"), w->scale == VERDICT_SCALE_RATIO ? "ratio"
							: w->scale == VERDICT_SCALE_UNIT
								? "unit"
								: "median");
	}
	list = json_object_object_get(o, "trials");
	assert_int_equal(json_object_array_length(list), 4 * BLOCKS);
	assert_int_equal(json_object_array_length(json_object_object_get(o, "latency")), 4);
	json_object_put(o);
}

/* Sums that the printers may only repeat. */
static void health_is_counted_once(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(buf_release) struct buf out = {};
	struct json_object *o, *health, *totals, *warnings, *latency;
	struct err e = {};

	assert_int_equal(report_json(f->rep, &out, &e), 0);
	o = json_tokener_parse(buf_str(&out));
	health = json_object_object_get(o, "health");
	totals = json_object_object_get(health, "totals");
	assert_int_equal(json_object_array_length(totals), 6);
	/* the trial's total, not the total and the CPUs again */
	assert_near(number(json_object_array_get_idx(totals, 0), "sum"), 17 * 2 * BLOCKS, 0);
	assert_near(number(json_object_array_get_idx(totals, 1), "sum"), 3 * 2 * BLOCKS, 0);
	assert_near(number(json_object_array_get_idx(totals, 5), "max"), 0.014, 1e-12);
	/* kernel lines that irqlab knows, also of a trial that was not used */
	assert_near(number(json_object_array_get_idx(totals, 2), "sum"), 2 * 3, 0);
	assert_near(number(json_object_array_get_idx(totals, 3), "sum"), 2 * 3, 0);
	warnings = json_object_object_get(health, "warnings");
	assert_near(number(json_object_array_get_idx(warnings, 0), "count"), 4 * 3, 0);
	/* two CPUs of 20000 wake-ups; one trial of net/after was vetoed */
	latency = json_object_object_get(o, "latency");
	for (size_t i = 0; i < 4; i++) {
		struct json_object *l = json_object_array_get_idx(latency, i);
		bool lost = (strcmp(string(l, "scenario"), "net") == 0) ==
			    (strcmp(string(l, "variant"), "after") == 0);

		assert_near(number(l, "n"), 40000.0 * (lost ? BLOCKS - 1 : BLOCKS), 0);
	}
	json_object_put(o);
}

/* The entry of health.@list whose text is @text. */
static struct json_object *note_of(struct json_object *report, const char *list, const char *text)
{
	struct json_object *l =
		json_object_object_get(json_object_object_get(report, "health"), list);

	for (size_t i = 0; i < json_object_array_length(l); i++)
		if (strcmp(string(json_object_array_get_idx(l, i), "text"), text) == 0)
			return json_object_array_get_idx(l, i);
	fail_msg("no %s \"%s\" in %s", list, text, json_object_to_json_string(l));
	return NULL;
}

static void assert_note(struct json_object *n, const char *metric, size_t count, size_t trials,
			bool differ)
{
	assert_string_equal(string(n, "metric"), metric);
	assert_near(number(n, "count"), (double)count, 0);
	assert_int_equal(json_object_array_length(json_object_object_get(n, "trials")), trials);
	assert_int_equal(json_object_get_boolean(json_object_object_get(n, "texts_differ")),
			 differ);
}

static void lines_that_differ_in_numbers_are_one_row(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(buf_release) struct buf out = {};
	struct json_object *o, *n;
	struct err e = {};

	assert_int_equal(report_json(f->rep, &out, &e), 0);
	o = json_tokener_parse(buf_str(&out));
	/* the worst of the eight */
	n = note_of(o, "warnings", "17 wake-ups of 2002 were skipped (4 %)");
	assert_note(n, "wakeup", 8, 8, true);
	n = note_of(o, "warnings", "3 wake-ups of 2002 were skipped (1 %)");
	assert_note(n, "wakeup-low", 2, 2, false);
	assert_note(note_of(o, "warnings", "p99 was left out"), "wakeup", 2, 2, false);
	assert_note(note_of(o, "warnings", "p999 was left out"), "wakeup", 2, 2, false);
	n = json_object_object_get(json_object_object_get(o, "health"), "warnings");
	assert_int_equal(json_object_array_length(n), 6);
	n = json_object_object_get(json_object_object_get(o, "health"), "witnesses");
	assert_int_equal(json_object_array_length(n), 1);
	assert_note(json_object_array_get_idx(n, 0), "variant", 2 * BLOCKS, 2 * BLOCKS, true);
	assert_string_equal(string(json_object_array_get_idx(n, 0), "variant"), "after");
	n = note_of(o, "rejected", "peer " HOSTILE " closed the connection");
	assert_string_equal(string(n, "state"), "failed");
	json_object_put(o);
}

/* A page may say "nano"; a number is what follows something else than a letter. */
static void assert_no_nan(const char *text)
{
	static const char *const words[] = { "nan", "inf" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		for (const char *p = text; (p = strcasestr(p, words[i])); p += 3)
			if ((p == text || !isalpha((unsigned char)p[-1])) &&
			    !isalpha((unsigned char)p[3]))
				fail_msg("\"%.20s\"", p);
}

/* No pair of values: no median, change or interval, on any scale and under any word. */
static void what_is_not_known_is_no_number(void **state)
{
	static const enum verdict_scale scales[] = { VERDICT_SCALE_RATIO, VERDICT_SCALE_MEDIAN,
						     VERDICT_SCALE_UNIT };
	const struct fixture *f = *state;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(scales); i++) {
		const struct verdict none = { .variant = 1,
					      .word = i % 2 ? VERDICT_VETOED : VERDICT_UNDECIDED,
					      .scale = scales[i / 2],
					      .lost = BLOCKS,
					      .baseline = (double)NAN,
					      .value = (double)NAN,
					      .change = (double)NAN,
					      .low = (double)-INFINITY,
					      .high = (double)INFINITY,
					      .p = (double)NAN,
					      .alpha = 0.05,
					      .more_blocks = 6 };
		const struct report_basis one = { &plan, &none, 1 };
		_cleanup_(report_freep) struct report *rep = NULL;
		_cleanup_(buf_release) struct buf text = {}, html = {}, json = {};
		struct json_object *o, *v;
		struct err e = {};

		assert_int_equal(report_build(&rep, f->store, f->run, &one, &e), 0);
		assert_int_equal(report_text(rep, &text, &e), 0);
		assert_int_equal(report_html(rep, &html, &e), 0);
		assert_int_equal(report_json(rep, &json, &e), 0);
		assert_no_nan(buf_str(&text));
		assert_no_nan(buf_str(&html));
		assert_null(strstr(buf_str(&text), "spread (sd)"));
		o = json_tokener_parse(buf_str(&json));
		v = json_object_array_get_idx(json_object_object_get(o, "verdicts"), 0);
		assert_null(json_object_object_get(v, "baseline_median"));
		assert_null(json_object_object_get(v, "change"));
		assert_null(json_object_object_get(v, "high"));
		json_object_put(o);
	}
}

static void a_difference_says_of_what(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(buf_release) struct buf text = {}, html = {};
	struct err e = {};

	assert_int_equal(report_text(f->rep, &text, &e), 0);
	unwrap(&text);
	assert_contains(buf_str(&text),
			"wakeup.drift@net is lower than with \"before\" by 120.0% of "
			"the median there (95% interval [-131.0, -112.0]%");
	assert_contains(buf_str(&text),
			"tcp.late@net is higher than with \"before\" by 12.3 us (95% "
			"interval [+9.87, +15.1] us");
	assert_contains(buf_str(&text), "measured +2, 95% interval [-1, +5.50]; it would take more "
					"blocks than is practical.");
	assert_contains(buf_str(&text), "tcp.lost-share@net is the same as with \"before\" (95% "
					"interval [0, 0]% points, 8 blocks).");
	assert_int_equal(report_html(f->rep, &html, &e), 0);
	assert_contains(buf_str(&html), "<td data-name=\"change\">+12.3 us</td>");
	assert_contains(buf_str(&html), "<td data-name=\"interval\">[+9.87, +15.1] us at 95%</td>");
	assert_contains(buf_str(&html), "<td data-name=\"change\">-120.0%*</td>");
	assert_contains(buf_str(&html), "in percent of the median with &quot;before&quot;");
	assert_contains(buf_str(&html), "to which no margin applies");
	assert_contains(buf_str(&html), "<div class=\"big\">vetoed</div>");
	assert_contains(buf_str(&html), "not the ratio of the two medians");
}

/* Every tag is closed in order; void elements and self-closed ones aside. Returns the number. */
static size_t assert_balanced(const char *html)
{
	static const char *const empty[] = { "meta", "br", "hr", "!doctype", "img" };
	char open[64][24];
	size_t depth = 0, seen = 0;

	for (const char *p = strchr(html, '<'); p; p = strchr(p, '<')) {
		bool closing = p[1] == '/', none = false;
		char name[24] = {};
		const char *end = p + 1;

		p += 1 + closing;
		assert_true(sscanf(p, "%23[A-Za-z0-9!]", name) == 1);
		/* quoted attributes may hold a '>' */
		for (bool quoted = false; *end && (quoted || *end != '>'); end++) {
			quoted ^= *end == '"';
			assert_false(!quoted && *end == '<');
		}
		assert_true(*end == '>');
		for (size_t i = 0; i < ARRAY_SIZE(empty); i++)
			none |= strcmp(name, empty[i]) == 0;
		seen++;
		if (closing) {
			if (depth == 0 || strcmp(open[depth - 1], name) != 0)
				fail_msg("</%s> closes <%s>", name, depth ? open[depth - 1] : "");
			depth--;
		} else if (!none && end[-1] != '/') {
			assert_true(depth < ARRAY_SIZE(open));
			memcpy(open[depth++], name, sizeof(name));
		}
	}
	assert_int_equal(depth, 0);
	return seen;
}

static void page_is_whole_and_loads_nothing(void **state)
{
	static const char *const never[] = { "<script", "http://",     "https://", "src=", "url(",
					     "@import", "javascript:", "onload",   "\x1b" };
	static const char *const must[] = { "id=\"ergo\"",
					    "id=\"verdicts\"",
					    "id=\"throughput\"",
					    "id=\"latency\"",
					    "id=\"interrupts\"",
					    "id=\"trials\"",
					    "id=\"environment\"",
					    "id=\"plan\"",
					    "role=\"img\"",
					    "<desc",
					    "prefers-color-scheme",
					    "@media print",
					    "&lt;script&gt;alert(1)&lt;/script&gt;",
					    "no effect: run time of napi/dut0-*",
					    "NOHZ tick-stop",
					    "scope=\"col\"",
					    "scope=\"row\"",
					    "6.1.0-13-amd64" };
	const struct fixture *f = *state;
	_cleanup_(buf_release) struct buf out = {}, again = {};
	struct err e = {};

	assert_int_equal(report_html(f->rep, &out, &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		if (strcasestr(buf_str(&out), never[i]))
			fail_msg("the page contains %s", never[i]);
	for (size_t i = 0; i < ARRAY_SIZE(must); i++)
		assert_contains(buf_str(&out), must[i]);
	assert_true(assert_balanced(buf_str(&out)) > 500);
	assert_int_equal(report_html(f->rep, &again, &e), 0);
	assert_string_equal(buf_str(&out), buf_str(&again));
	/* for looking at it: IRQLAB_REPORT_HTML=/tmp/x.html */
	if (getenv("IRQLAB_REPORT_HTML")) {
		_cleanup_(fclose_filep) FILE *page = fopen(getenv("IRQLAB_REPORT_HTML"), "we");

		assert_non_null(page);
		fwrite(out.data, 1, out.len, page);
	}
}

static void a_hundred_trials_stay_light(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(buf_release) struct buf out = {};
	struct err e = {};

	assert_int_equal(report_html(f->rep, &out, &e), 0);
	assert_true(out.len < 1500000);
	assert_balanced(buf_str(&out));
}

static void an_empty_run_has_a_report(void **state)
{
	_cleanup_(buf_release) struct buf text = {}, html = {}, json = {};
	const struct fixture *f = *state;
	struct json_object *o;
	struct err e = {};

	assert_int_equal(report_text(f->rep, &text, &e), 0);
	assert_int_equal(report_html(f->rep, &html, &e), 0);
	assert_int_equal(report_json(f->rep, &json, &e), 0);
	assert_fits(buf_str(&text));
	assert_balanced(buf_str(&html));
	o = json_tokener_parse(buf_str(&json));
	assert_non_null(o);
	json_object_put(o);
}

static void numbers_have_three_digits_and_their_unit(void **state)
{
	static const struct {
		double v;
		const char *unit, *want;
	} cases[] = {
		{ 12345, "ns", "12.3 us" },   { 1234567, "ns", "1235 us" },
		{ 3, "ns", "0.003 us" },      { 999.6, "ns", "1.00 us" },
		{ 99960, "ns", "100 us" },    { 0, "ns", "0 us" },
		{ 0.0123, "ratio", "1.23%" }, { 17, "count", "17" },
		{ 2.5, "count", "2.50" },     { 23.41e9, "bit/s", "23.4 Gbit/s" },
		{ 80000, "1/s", "80000 /s" }, { (double)NAN, "ns", "-" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(buf_release) struct buf b = {};

		format_value(&b, cases[i].v, cases[i].unit);
		assert_string_equal(buf_str(&b), cases[i].want);
	}
}

static void what_rounds_to_zero_has_no_sign(void **state)
{
	static const struct {
		double ratio, width;
		const char *want;
	} cases[] = {
		{ -0.00001, 0.01, "0.00%" }, { 0.00001, 0.01, "0.00%" },
		{ -0.0001, 0.01, "-0.01%" }, { -0.004, 1, "0%" },
		{ 0.0159, 0.01, "+1.59%" },  { -0.0, 0.01, "0.00%" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(buf_release) struct buf b = {};

		format_change(&b, cases[i].ratio, cases[i].width);
		assert_string_equal(buf_str(&b), cases[i].want);
	}
}

/* However narrow the data are, a labelled tick lies on either side of them. */
static void a_log_axis_has_ticks_around_the_data(void **state)
{
	static const struct svg_axis axes[] = {
		{ 27, 33, true, NULL },	    { 20, 50, true, NULL },   { 10, 10, true, NULL },
		{ 0.003, 0.9, true, NULL }, { 1, 1e7, true, NULL },   { 0.2, 0.2, true, NULL },
		{ 49.9, 50.1, true, NULL }, { 5, 20000, true, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(axes); i++) {
		struct svg_axis a = axes[i];
		double at[32];
		size_t nr;

		svg_nice(&a);
		nr = svg_ticks(&a, at, ARRAY_SIZE(at));
		assert_true(nr >= 2);
		assert_true(at[0] <= axes[i].lo * 1.001 && at[nr - 1] >= axes[i].hi * 0.999);
		for (size_t k = 1; k < nr; k++)
			assert_true(at[k] > at[k - 1] * 1.9 && at[k] < at[k - 1] * 2.6);
		/* not more than the next tick away */
		assert_true(a.lo > axes[i].lo / 2.6 && a.hi < axes[i].hi * 2.6);
	}
}

static struct json_object *trial_of(struct json_object *o, size_t index)
{
	return json_object_array_get_idx(json_object_object_get(o, "trials"), index);
}

/* Every trial has what the verdict saw of it, and nothing of another scenario's metrics. */
static void trials_show_their_values(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(buf_release) struct buf json = {}, html = {};
	struct json_object *o;
	struct err e = {};

	assert_int_equal(report_json(f->rep, &json, &e), 0);
	o = json_tokener_parse(buf_str(&json));
	for (size_t i = 0; i < 4 * BLOCKS; i++) {
		struct json_object *t = trial_of(o, i), *v = json_object_object_get(t, "values");
		bool net = strcmp(string(t, "scenario"), "net") == 0;
		bool after = strcmp(string(t, "variant"), "after") == 0;

		assert_near(number(t, "trial"), (double)i + 1, 0);
		assert_near(number(t, "position"), (double)i, 0);
		assert_int_equal(json_object_object_length(v), net ? 6 : 3);
		if (net)
			assert_near(number(v, "wakeup.p99@net"), after ? 24e3 : 48e3, 2e3);
		else
			assert_near(number(v, "throughput@flat-out"), after ? 21.9e9 : 23.4e9, 1e9);
		/* judged, but no trial has it */
		if (net)
			assert_null(json_object_object_get(v, "tcp.late@net"));
	}
	json_object_put(o);
	assert_int_equal(report_html(f->rep, &html, &e), 0);
	assert_contains(buf_str(&html), "<th scope=\"col\">throughput@flat-out</th>");
}

static void rare_sources_are_one_row(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(buf_release) struct buf html = {};
	struct err e = {};

	assert_int_equal(report_html(f->rep, &html, &e), 0);
	assert_contains(buf_str(&html), "2 sources below 1/s");
	/* among the exploratory numbers it may stand by its name */
	assert_true(strstr(buf_str(&html), "acpi") > strstr(buf_str(&html), "id=\"exploratory\""));
	assert_contains(buf_str(&html), "Rescheduling");
}

/* Block 0 of the fixture begins with another scenario than the plan. */
static void scenarios_come_in_the_plan_s_order(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(buf_release) struct buf json = {};
	struct json_object *o, *l;
	struct err e = {};

	assert_int_equal(report_json(f->rep, &json, &e), 0);
	o = json_tokener_parse(buf_str(&json));
	assert_string_equal(string(trial_of(o, 0), "scenario"), "flat-out");
	l = json_object_object_get(o, "latency");
	for (size_t i = 0; i < json_object_array_length(l); i++)
		assert_string_equal(string(json_object_array_get_idx(l, i), "scenario"),
				    i < 2 ? "net" : "flat-out");
	json_object_put(o);
}

/* A report of the one verdict @v. */
static void with_verdict(const struct fixture *f, const struct verdict *v, struct buf *text,
			 struct buf *html)
{
	const struct report_basis one = { &plan, v, 1 };
	_cleanup_(report_freep) struct report *rep = NULL;
	struct err e = {};

	buf_reset(text);
	buf_reset(html);
	assert_int_equal(report_build(&rep, f->store, f->run, &one, &e), 0);
	assert_int_equal(report_text(rep, text, &e), 0);
	assert_int_equal(report_html(rep, html, &e), 0);
	unwrap(text);
}

static void undecided_says_what_would_decide_it(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(buf_release) struct buf text = {}, html = {};
	struct verdict v = verdicts[2];

	v.more_blocks = 0;
	with_verdict(f, &v, &text, &html);
	assert_contains(buf_str(&text), "; it would take more blocks than is practical.");
	v.blocks = 3;
	v.low = (double)-INFINITY;
	v.high = (double)INFINITY;
	v.alpha = 0.05;
	v.more_blocks = 3;
	with_verdict(f, &v, &text, &html);
	assert_contains(buf_str(&text),
			"measured +24.0%, no interval: 3 pairs are too few for 95%; "
			"about 3 more blocks may decide it.");
	assert_balanced(buf_str(&html));
}

/* Two blocks of eight were run: what is planned comes before any forecast. */
static void a_partial_run_makes_no_forecast(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(buf_release) struct buf text = {}, html = {};
	struct verdict v = verdicts[2];
	struct err e = {};

	assert_int_equal(store_run_end(f->store, f->run, RUN_STOPPED, 1, &e), 0);
	with_verdict(f, &v, &text, &html);
	assert_contains(buf_str(&text),
			"; 8 of 32 planned trials measured; irqlab run --resume goes on.");
	assert_null(strstr(buf_str(&text), "may decide it"));
	assert_int_equal(store_run_end(f->store, f->run, RUN_DONE, 1, &e), 0);
	with_verdict(f, &v, &text, &html);
	assert_contains(buf_str(&text), "about 14 more blocks may decide it");
}

/* The x of every marker in the figure of the intervals, at most @max. */
static size_t forest_marks(const char *html, double *ret, size_t max)
{
	const char *p = strstr(html, "Intervals against the margin");
	const char *end = p ? strstr(p, "</figure>") : NULL;
	size_t n = 0;

	assert_non_null(end);
	while (n < max && (p = strstr(p, "translate(")) && p < end) {
		assert_int_equal(sscanf(p, "translate(%lf", &ret[n++]), 1);
		p++;
	}
	return n;
}

/* +258 % with a margin of 5 % lies farther out than +150 %, and neither at the edge. */
static void nothing_is_clamped_to_the_axis(void **state)
{
	static const double changes[] = { 0.03, 0.2, 1.5, 2.58, 9000 };
	const struct fixture *f = *state;
	struct verdict v[ARRAY_SIZE(changes)];
	_cleanup_(report_freep) struct report *rep = NULL;
	_cleanup_(buf_release) struct buf html = {};
	const struct report_basis all = { &plan, v, ARRAY_SIZE(v) };
	double at[ARRAY_SIZE(changes) + 1];
	struct err e = {};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		v[i] = verdicts[0];
		v[i].change = changes[i];
		v[i].low = changes[i] * 0.9;
		v[i].high = changes[i] * 1.1;
	}
	assert_int_equal(report_build(&rep, f->store, f->run, &all, &e), 0);
	assert_int_equal(report_html(rep, &html, &e), 0);
	assert_int_equal(forest_marks(buf_str(&html), at, ARRAY_SIZE(at)), ARRAY_SIZE(v));
	for (size_t i = 1; i < ARRAY_SIZE(v); i++)
		assert_true(at[i] > at[i - 1] + 5);
	assert_true(at[0] > 280 && at[ARRAY_SIZE(v) - 1] < 538);
	assert_contains(buf_str(&html), "+258% [");
	assert_balanced(buf_str(&html));
}

static void a_stored_plan_that_is_no_plan_is_named(void **state)
{
	static const struct plugin *const none[] = { NULL };
	static const struct plan_registry reg = { none, none, none };
	const struct fixture *f = *state;
	struct report *rep = NULL;
	struct err e = {};

	/* without plug-ins nothing in the plan is known */
	assert_true(report_gather(&rep, f->store, f->run, &reg, &e) < 0);
	assert_null(rep);
	assert_contains(e.msg, "run 1 (stored by irqlab 0.1.0): ");
	assert_int_equal(report_gather(&rep, f->store, 99, &reg, &e), -ENOENT);
}

/* Stands in for the plug-ins that the plan names. */
struct any_cfg {
	char *dev, *threaded, *direction, *rate;
};

#define ANY(name)                                                               \
	{                                                                       \
#name, OPT_STRING, offsetof(struct any_cfg, name), "", "a text" \
	}

static const struct opt any_options[] = { ANY(dev), ANY(threaded), ANY(direction), ANY(rate), {} };
static const struct metric_desc tcp_metrics[] = {
	{ "throughput", "bit/s", BETTER_HIGHER, "rate", true },
	{},
};
static const struct metric_desc wakeup_metrics[] = {
	{ "p99", "ns", BETTER_LOWER, "tail", false },
	{},
};
static const struct plugin netdev = { "netdev", "a netdev", any_options, NULL, false };
static const struct plugin tcp = { "tcp", "a stream", any_options, tcp_metrics, false };
static const struct plugin wakeup = { "wakeup", "wake-ups", any_options, wakeup_metrics, false };
static const struct plugin *const knobs[] = { &netdev, NULL };
static const struct plugin *const loads[] = { &tcp, NULL };
static const struct plugin *const probes[] = { &wakeup, NULL };

static void gathering_judges_the_stored_trials(void **state)
{
	static const struct plan_registry reg = { knobs, loads, probes };
	const struct fixture *f = *state;
	_cleanup_(report_freep) struct report *rep = NULL;
	_cleanup_(buf_release) struct buf html = {};
	const struct verdict *v;
	struct err e = {};
	size_t nr = 0;
	int r = report_gather(&rep, f->store, f->run, &reg, &e);

	if (strstr(e.msg, "in this build")) {
		print_message("%s\n", e.msg);
		skip();
	}
	if (r < 0)
		fail_msg("%s", e.msg);
	v = report_verdicts(rep, &nr);
	assert_int_equal(nr, 2);
	/* 23.4 to 21.9 Gbit/s in every block, one of which failed */
	assert_int_equal(v[0].word, VERDICT_WORSE);
	assert_int_equal(v[0].blocks, BLOCKS - 1);
	assert_int_equal(v[0].lost, 1);
	assert_near(v[0].change, 21.9 / 23.4 - 1, 0.01);
	assert_true(v[0].low < v[0].change && v[0].change < v[0].high);
	/* half as late in every block, but one of them was vetoed */
	assert_int_equal(v[1].word, VERDICT_BETTER);
	assert_int_equal(v[1].blocks, BLOCKS - 1);
	assert_near(v[1].change, -0.5, 0.02);
	assert_int_equal(report_html(rep, &html, &e), 0);
	assert_balanced(buf_str(&html));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_as_agreed),
		cmocka_unit_test(text_fits_a_mail),
		cmocka_unit_test(long_names_wrap_and_never_overflow),
		cmocka_unit_test(json_says_what_the_verdicts_say),
		cmocka_unit_test(health_is_counted_once),
		cmocka_unit_test(page_is_whole_and_loads_nothing),
		cmocka_unit_test(lines_that_differ_in_numbers_are_one_row),
		cmocka_unit_test(what_is_not_known_is_no_number),
		cmocka_unit_test(a_difference_says_of_what),
		cmocka_unit_test_setup_teardown(a_hundred_trials_stay_light, set_up_hundred,
						tear_down),
		cmocka_unit_test_setup_teardown(an_empty_run_has_a_report, set_up_empty, tear_down),
		cmocka_unit_test(numbers_have_three_digits_and_their_unit),
		cmocka_unit_test(what_rounds_to_zero_has_no_sign),
		cmocka_unit_test(a_log_axis_has_ticks_around_the_data),
		cmocka_unit_test(trials_show_their_values),
		cmocka_unit_test(rare_sources_are_one_row),
		cmocka_unit_test_setup_teardown(scenarios_come_in_the_plan_s_order, set_up_two,
						tear_down),
		cmocka_unit_test(undecided_says_what_would_decide_it),
		cmocka_unit_test_setup_teardown(a_partial_run_makes_no_forecast, set_up_two,
						tear_down),
		cmocka_unit_test(nothing_is_clamped_to_the_axis),
		cmocka_unit_test(a_stored_plan_that_is_no_plan_is_named),
		cmocka_unit_test(gathering_judges_the_stored_trials),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
