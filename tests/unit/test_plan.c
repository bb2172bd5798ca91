// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <stdio.h>

#include "base/rng.h"
#include "plan/plan.h"

#include "failing_alloc.h"
#include "fake_registry.h"
#include "known/plan_order.h"

static const char good[] = "name: NAPI poll in its own thread\n"
			   "peer: netns\n"
			   "setup:\n"
			   "  - netdev: { dev: [$dut, $far], gro: on, tso: off }\n"
			   "variants:\n"
			   "  before: []\n"
			   "  after:\n"
			   "    - netdev: { dev: $dut, threaded: 1 }\n"
			   "    - thread: { match: \"napi/$dut-*\", policy: other }\n"
			   "    - sysctl: { net.core.busy_poll: 50 }\n"
			   "    - load.net.tcp.rate: 3.8G\n"
			   "    - probe.wakeup.interval: 1ms\n"
			   "scenarios:\n"
			   "  quiet: []\n"
			   "  net:\n"
			   "    - tcp: { direction: to-dut, rate: 4G }\n"
			   "    - tcp: { direction: from-dut, window: 128K, name: back }\n"
			   "  flat-out: [tcp, tcp, command: { cmd: hackbench }]\n"
			   "probes:\n"
			   "  wakeup: { interval: 250us, priority: [98, 40], cpus: 0-3 }\n"
			   "  slow: { plugin: wakeup, interval: 10ms }\n"
			   "  interrupts:\n"
			   "trial: { warmup: 2s, duration: 500ms }\n"
			   "blocks: 8\n"
			   "metrics:\n"
			   "  back.retransmits@net: { margin: 5% }\n"
			   "  wakeup.p99[prio=98,cpu=1]@net: { margin: 0.1 }\n"
			   "  slow.max@quiet: { margin: 0 }\n"
			   "seed: 7\n";

static int parse(const char *text, struct plan *ret, struct err *e)
{
	return plan_parse(text, strlen(text), "plan.yaml", &fake_registry, ret, e);
}

/* Parse what must be right. */
static void parse_good(const char *text, struct plan *ret)
{
	struct err e = {};

	if (parse(text, ret, &e) < 0)
		fail_msg("%s", e.msg);
}

/* @text with its only @from replaced by @to (free()). */
static char *edit(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	struct buf b = {};

	if (!at || strstr(at + 1, from))
		fail_msg("\"%s\" does not stand once in the plan", from);
	buf_add(&b, text, (size_t)(at - text));
	buf_printf(&b, "%s%s", to, at + strlen(from));
	return buf_take(&b);
}

static void dump_instances(struct buf *out, const char *head, const struct instances *l)
{
	for (size_t i = 0; i < l->nr; i++) {
		const struct instance *inst = &l->v[i];

		buf_printf(out, "%s:%d %s=%s", head, inst->line, inst->name, inst->plugin);
		for (size_t k = 0; k < inst->nr_settings; k++)
			buf_printf(out, " %s:%d=%s", inst->settings[k].key, inst->settings[k].line,
				   inst->settings[k].value);
		buf_puts(out, "\n");
	}
}

static void dump(struct buf *out, const struct plan *p)
{
	buf_printf(out, "name %s\npeer %d %s %u\ndut %s\n", p->name, p->peer,
		   p->peer_host ? p->peer_host : "-", p->peer_port, p->dut ? p->dut : "-");
	dump_instances(out, "setup", &p->setup);
	for (size_t i = 0; i < p->nr_variants; i++) {
		const struct variant *v = &p->variants[i];

		buf_printf(out, "variant:%d %s\n", v->line, v->name);
		dump_instances(out, " knob", &v->knobs);
		for (size_t k = 0; k < v->nr_overrides; k++)
			buf_printf(out, " override:%d %s %s %s=%s\n", v->overrides[k].line,
				   v->overrides[k].scenario ? v->overrides[k].scenario : "(probe)",
				   v->overrides[k].instance, v->overrides[k].key,
				   v->overrides[k].value);
	}
	for (size_t i = 0; i < p->nr_scenarios; i++) {
		buf_printf(out, "scenario:%d %s\n", p->scenarios[i].line, p->scenarios[i].name);
		dump_instances(out, " load", &p->scenarios[i].loads);
	}
	dump_instances(out, "probe", &p->probes);
	buf_printf(out, "trial %ju %ju %ju\nblocks %u\n", (uintmax_t)p->settle_ns,
		   (uintmax_t)p->warmup_ns, (uintmax_t)p->duration_ns, p->blocks);
	for (size_t i = 0; i < p->nr_metrics; i++) {
		const struct plan_metric *m = &p->metrics[i];

		buf_printf(out, "metric:%d %s [%s] %s %g %d %s\n", m->line, m->metric, m->labels,
			   m->scenario, m->margin, m->better, m->unit);
	}
	buf_printf(out, "alpha %g\nseed %ju\n", p->alpha, (uintmax_t)p->seed);
}

static void a_good_plan_arrives_whole(void **state)
{
	_cleanup_(plan_release) struct plan p = {};
	_cleanup_(buf_release) struct buf out = {};

	parse_good(good, &p);
	dump(&out, &p);
	assert_string_equal(
		buf_str(&out),
		"name NAPI poll in its own thread\n"
		"peer 1 - 0\n"
		"dut -\n"
		"setup:4 netdev=netdev dev:4=$dut,$far gro:4=on tso:4=off\n"
		"variant:6 before\n"
		"variant:7 after\n"
		" knob:8 netdev=netdev dev:8=$dut threaded:8=1\n"
		" knob:9 thread=thread match:9=napi/$dut-* policy:9=other\n"
		" knob:10 sysctl=sysctl net.core.busy_poll:10=50\n"
		" override:11 net tcp rate=3.8G\n"
		" override:12 (probe) wakeup interval=1ms\n"
		"scenario:14 quiet\n"
		"scenario:15 net\n"
		" load:16 tcp=tcp direction:16=to-dut rate:16=4G\n"
		" load:17 back=tcp direction:17=from-dut window:17=128K\n"
		"scenario:18 flat-out\n"
		" load:18 tcp=tcp\n"
		" load:18 tcp-2=tcp\n"
		" load:18 command=command cmd:18=hackbench\n"
		"probe:20 wakeup=wakeup interval:20=250us priority:20=98,40 cpus:20=0-3\n"
		"probe:21 slow=wakeup interval:21=10ms\n"
		"probe:22 interrupts=interrupts\n"
		"trial 500000000 2000000000 500000000\n"
		"blocks 8\n"
		"metric:26 back.retransmits [] net 0.05 2 count\n"
		"metric:27 wakeup.p99 [cpu=1,prio=98] net 0.1 2 ns\n"
		"metric:28 slow.max [] quiet 0 2 ns\n"
		"alpha 0.05\n"
		"seed 7\n");
}

static void what_is_left_out_has_defaults(void **state)
{
	_cleanup_(plan_release) struct plan p = {};
	_cleanup_(buf_release) struct buf out = {};
	struct err e = {};
	static const char text[] = "variants: { a: , b: [sysctl: { kernel.x: '' }] }\n"
				   "loads: [tcp]\n"
				   "probes: { wakeup: }\n"
				   "metrics: { throughput: { margin: 5% }, "
				   "\"wakeup.p99[cpu=0]\": { margin: 1% } }\n";

	assert_int_equal(
		plan_parse(text, strlen(text), "plans/my.first.yaml", &fake_registry, &p, &e), 0);
	dump(&out, &p);
	assert_string_equal(buf_str(&out), "name my.first\n"
					   "peer 0 - 0\n"
					   "dut -\n"
					   "variant:1 a\n"
					   "variant:1 b\n"
					   " knob:1 sysctl=sysctl kernel.x:1=\n"
					   "scenario:2 default\n"
					   " load:2 tcp=tcp\n"
					   "probe:3 wakeup=wakeup\n"
					   "trial 500000000 1000000000 5000000000\n"
					   "blocks 8\n"
					   "metric:4 throughput [] default 0.05 1 bit/s\n"
					   "metric:4 wakeup.p99 [cpu=0] default 0.01 2 ns\n"
					   "alpha 0.05\n"
					   "seed 1\n");
}

static void peers_have_hosts_and_ports(void **state)
{
	static const struct {
		const char *text, *host;
		uint16_t port;
	} peers[] = {
		{ "192.0.2.1", "192.0.2.1", 5201 },
		{ "server.example:5300", "server.example", 5300 },
		{ "\"[2001:db8::1]\"", "2001:db8::1", 5201 },
		{ "\"[fe80::1%eth0]:65535\"", "fe80::1%eth0", 65535 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(peers); i++) {
		_cleanup_(buf_release) struct buf line = {};
		_cleanup_(freep) char *text = NULL;
		_cleanup_(plan_release) struct plan p = {};

		buf_printf(&line, "peer: %s\ndut: eth1", peers[i].text);
		text = edit(good, "peer: netns", buf_str(&line));
		parse_good(text, &p);
		assert_int_equal(p.peer, PEER_HOST);
		assert_string_equal(p.peer_host, peers[i].host);
		assert_int_equal(p.peer_port, peers[i].port);
		assert_string_equal(p.dut, "eth1");
	}
}

#include "test_plan_refusals.h"

static void bad_plans_are_refused_with_place_reason_and_remedy(void **state)
{
	size_t wrong = 0;

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		const struct refusal *c = &refusals[i];
		_cleanup_(freep) char *text = c->from ? edit(good, c->from, c->to) : strdup(c->to);
		struct plan untouched = { .blocks = 99 };
		struct err e = {};
		int r = parse(text, &untouched, &e);

		assert_int_equal(untouched.blocks, r < 0 ? 99 : 0);
		assert_int_equal(e.code, r);
		if (strcmp(e.msg, c->message) == 0)
			continue;
		print_message("# %s\n#   is %s\n#   not %s\n", c->to, e.msg, c->message);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

/* Text that cannot stand in the table. */
static void nul_size_and_bombs_are_refused(void **state)
{
	static const char nul[] = "name: a\nblocks: 8\0\n";
	_cleanup_(buf_release) struct buf big = {};
	_cleanup_(buf_release) struct buf bomb = {};
	_cleanup_(buf_release) struct buf deep = {};
	struct plan p = {};
	struct err e = {};

	assert_int_equal(plan_parse(nul, sizeof(nul) - 1, "plan.yaml", &fake_registry, &p, &e),
			 -EINVAL);
	assert_string_equal(e.msg, "plan.yaml:2: a NUL byte; a plan is UTF-8 text");
	for (size_t i = 0; i <= 1 << 15; i++)
		buf_puts(&big, "# 32 bytes of comment each, yes\n");
	assert_int_equal(parse(buf_str(&big), &p, &e), -EFBIG);
	assert_string_equal(e.msg, "plan.yaml:1: 1048608 bytes; a plan has at most 1 MiB");
	buf_puts(&bomb, "a: &a [x, x, x, x, x, x, x, x, x]\n");
	for (char c = 'b'; c <= 'i'; c++) /* 9^9 */
		buf_printf(&bomb, "%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", c, c,
			   c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1);
	assert_int_equal(parse(buf_str(&bomb), &p, &e), -EINVAL);
	assert_contains(e.msg, "the plan is too large with its aliases expanded");
	for (int i = 0; i < 500; i++)
		buf_puts(&deep, "[");
	for (int i = 0; i < 500; i++)
		buf_puts(&deep, "]");
	assert_int_equal(parse(buf_str(&deep), &p, &e), -EINVAL);
	assert_string_equal(e.msg, "plan.yaml:1: nested more than 12 deep; no part of a plan needs "
				   "that");
	assert_int_equal(parse("a: &a [*a]\n", &p, &e), -EINVAL);
	assert_contains(e.msg, "nested more than 12 deep");
	assert_int_equal(plan_parse(NULL, 0, "plan.yaml", &fake_registry, &p, &e), -EINVAL);
	assert_contains(e.msg, "plan.yaml:1: the file is empty");
}

static void an_alias_repeats_what_it_names(void **state)
{
	_cleanup_(freep) char *first = edit(good, "before: []", "before: &same [sysctl: {a: 1}]");
	_cleanup_(freep) char *text = edit(first,
					   "setup:\n  - netdev: { dev: [$dut, $far], "
					   "gro: on, tso: off }\n",
					   "");
	_cleanup_(freep) char *both = edit(text, "scenarios:", "  third: *same\nscenarios:");
	_cleanup_(plan_release) struct plan p = {};

	parse_good(both, &p);
	assert_int_equal(p.nr_variants, 3);
	assert_string_equal(p.variants[2].name, "third");
	assert_string_equal(p.variants[2].knobs.v[0].settings[0].value, "1");
}

static void names_with_dots_are_overridden(void **state)
{
	_cleanup_(freep) char *text = edit(good, "  quiet: []\n",
					   "  quiet: []\n"
					   "  v1.2: [tcp: { name: a.b }]\n");
	_cleanup_(freep) char *both = edit(text, "load.net.tcp.rate", "load.v1.2.a.b.rate");
	_cleanup_(plan_release) struct plan p = {};

	parse_good(both, &p);
	assert_string_equal(p.variants[1].overrides[0].scenario, "v1.2");
	assert_string_equal(p.variants[1].overrides[0].instance, "a.b");
	assert_string_equal(p.variants[1].overrides[0].key, "rate");
}

static void overrides_change_one_variant_one_scenario_one_instance(void **state)
{
	_cleanup_(plan_release) struct plan p = {};
	struct instances l = {};
	struct err e = {};

	parse_good(good, &p);
	assert_int_equal(plan_loads(&p, 0, 1, &l, &e), 0);
	assert_string_equal(instance_value(&l.v[0], "rate"), "4G");
	instances_release(&l);
	assert_int_equal(plan_loads(&p, 1, 1, &l, &e), 0);
	assert_int_equal(l.nr, 2);
	assert_string_equal(instance_value(&l.v[0], "rate"), "3.8G");
	assert_string_equal(instance_value(&l.v[0], "direction"), "to-dut");
	assert_null(instance_value(&l.v[1], "rate"));
	instances_release(&l);
	assert_int_equal(plan_loads(&p, 1, 2, &l, &e), 0);
	assert_null(instance_value(&l.v[0], "rate"));
	instances_release(&l);
	assert_int_equal(plan_probes(&p, 0, &l, &e), 0);
	assert_string_equal(instance_value(&l.v[0], "interval"), "250us");
	instances_release(&l);
	assert_int_equal(plan_probes(&p, 1, &l, &e), 0);
	assert_string_equal(instance_value(&l.v[0], "interval"), "1ms");
	assert_string_equal(instance_value(&l.v[1], "interval"), "10ms");
	instances_release(&l);
	assert_string_equal(instance_value(&p.probes.v[0], "interval"), "250us");
}

static void the_least_number_of_blocks_follows_the_level(void **state)
{
	static const unsigned int least[] = { 6, 6, 7, 7, 8, 8, 8, 9, 9 };

	for (size_t m = 0; m < ARRAY_SIZE(least); m++)
		assert_int_equal(plan_min_blocks(m, 0.05), least[m]);
	assert_int_equal(plan_min_blocks(1, 0.03125), 6); /* exactly 2/2^6 */
	assert_int_equal(plan_min_blocks(1, 0.01), 8);
	assert_int_equal(plan_min_blocks(1, 0.5), 2);
}

static void the_length_counts_every_trial(void **state)
{
	_cleanup_(plan_release) struct plan p = {};

	parse_good(good, &p);
	assert_int_equal(plan_length_ns(&p), UINT64_C(8) * 3 * 2 * 3000000000);
}

/* A plan of which only the numbers matter. */
static struct plan sized(unsigned int blocks, size_t scenarios, size_t variants, uint64_t seed)
{
	return (struct plan){
		.blocks = blocks, .nr_scenarios = scenarios, .nr_variants = variants, .seed = seed
	};
}

static struct slot *order(const struct plan *p, size_t *nr)
{
	struct slot *slots = NULL;
	struct err e = {};

	assert_int_equal(plan_order(p, &slots, nr, &e), 0);
	return slots;
}

static void the_order_is_that_of_an_independent_program(void **state)
{
	struct plan p = sized(3, 2, 3, 42);
	size_t nr = 0;
	struct slot *slots = order(&p, &nr);

	assert_int_equal(nr, ARRAY_SIZE(known_order));
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(slots[i].block, known_order[i].block);
		assert_int_equal(slots[i].scenario, known_order[i].scenario);
		assert_int_equal(slots[i].variant, known_order[i].variant);
		assert_true(slots[i].seed == known_order[i].seed);
	}
	free(slots);
}

static void every_block_has_every_cell_once(void **state)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct plan p = sized(9, 3, 4, seed);
		unsigned int seen[9][3][4] = {};
		size_t nr = 0;
		struct slot *slots = order(&p, &nr);

		assert_int_equal(nr, 9 * 3 * 4);
		for (size_t i = 0; i < nr; i++) {
			assert_int_equal(slots[i].block, i / 12);
			/* trials of one scenario are neighbours */
			assert_int_equal(slots[i].scenario, slots[i / 4 * 4].scenario);
			seen[slots[i].block][slots[i].scenario][slots[i].variant]++;
			for (size_t k = 0; k < i; k++)
				assert_true(slots[k].seed != slots[i].seed);
		}
		for (size_t i = 0; i < 9 * 3 * 4; i++)
			assert_int_equal(seen[i / 12][i / 4 % 3][i % 4], 1);
		free(slots);
	}
}

static void a_longer_plan_starts_with_the_same_blocks(void **state)
{
	struct plan shorter = sized(6, 2, 2, 5), longer = sized(40, 2, 2, 5);
	size_t nr = 0, more = 0;
	struct slot *a = order(&shorter, &nr), *b = order(&longer, &more);

	assert_int_equal(nr, 24);
	assert_int_equal(more, 160);
	assert_memory_equal(a, b, nr * sizeof(*a));
	free(a);
	free(b);
}

static void different_seeds_give_different_orders(void **state)
{
	struct plan first = sized(10, 2, 2, 1);
	size_t nr = 0;
	struct slot *a = order(&first, &nr);

	for (uint64_t seed = 2; seed <= 200; seed++) {
		struct plan other = sized(10, 2, 2, seed);
		struct slot *b = order(&other, &nr);
		size_t same = 0;

		for (size_t i = 0; i < nr; i++)
			same += a[i].scenario == b[i].scenario && a[i].variant == b[i].variant;
		assert_true(same < nr);
		assert_true(a[0].seed != b[0].seed);
		free(b);
	}
	free(a);
}

/*
 * How often each variant comes at each place of its scenario over many seeds.  Chi-square with
 * (3-1)^2 = 4 degrees of freedom per table; the seeds are fixed, so this passes always or never.
 * Its 0.999 quantile is 18.47.
 */
static void every_variant_comes_at_every_place_alike(void **state)
{
	unsigned int variant_at[3][3] = {}, scenario_at[3][3] = {};
	const double expected = 3000 * 3 / 3.0;
	double chi_variant = 0, chi_scenario = 0;

	for (uint64_t seed = 1; seed <= 3000; seed++) {
		struct plan p = sized(1, 3, 3, seed);
		size_t nr = 0;
		struct slot *slots = order(&p, &nr);

		for (size_t i = 0; i < nr; i++) {
			variant_at[i % 3][slots[i].variant]++;
			scenario_at[i / 3][slots[i].scenario]++;
		}
		free(slots);
	}
	for (size_t i = 0; i < 9; i++) {
		double v = variant_at[i / 3][i % 3] - expected;
		double s = (scenario_at[i / 3][i % 3] - expected) / 3; /* counted thrice each */

		chi_variant += v * v / expected;
		chi_scenario += s * s / (expected / 3);
	}
	assert_true(chi_variant < 18.47);
	assert_true(chi_scenario < 18.47);
}

/* Damage a good plan in all ways that bytes allow: no crash, no leak, and a message if refused. */
static void damaged_plans_never_crash(void **state)
{
	static const char tokens[] = "{}[]:,-#&*!|>'\"%@` \n\t$\\0123456789aZ\xc3\xff\x01";
	uint64_t rng = 1;
	size_t refused = 0;

	for (size_t i = 0; i < 20000; i++) {
		_cleanup_(plan_release) struct plan p = {};
		char text[sizeof(good)];
		size_t len = sizeof(good) - 1;
		struct err e = {};
		int r;

		memcpy(text, good, sizeof(good));
		for (uint64_t n = rng_below(&rng, 4) + 1; n; n--)
			text[rng_below(&rng, len)] =
				rng_below(&rng, 2) ? tokens[rng_below(&rng, sizeof(tokens))]
						   : (char)rng_below(&rng, 256);
		if (rng_below(&rng, 4) == 0)
			len = rng_below(&rng, len);
		r = plan_parse(text, len, "plan.yaml", &fake_registry, &p, &e);
		refused += r < 0;
		assert_true(r < 0 ? strncmp(e.msg, "plan.yaml:", 10) == 0 : p.nr_variants >= 2);
	}
	assert_true(refused > 1000);
	for (size_t len = 0; len < sizeof(good); len++) {
		_cleanup_(plan_release) struct plan p = {};
		struct err e = {};
		int r = plan_parse(good, len, "plan.yaml", &fake_registry, &p, &e);

		assert_true(r == 0 || strncmp(e.msg, "plan.yaml:", 10) == 0);
	}
}

/*
 * The first allocation fails, then the second ...: each time an error and no leak; or, if it was
 * for the words of a message that nobody needed, the plan as it should be.
 */
static void failed_allocations_are_errors(void **state)
{
	_cleanup_(plan_release) struct plan right = {};
	_cleanup_(buf_release) struct buf expected = {};
	size_t nr_errors = 0;
	bool failed = true;

	parse_good(good, &right);
	dump(&expected, &right);
	for (size_t n = 1; failed; n++) {
		_cleanup_(plan_release) struct plan p = {};
		_cleanup_(instances_release) struct instances loads = {};
		_cleanup_(buf_release) struct buf got = {};
		struct slot *slots = NULL;
		size_t nr_slots = 0;
		struct err e = {};
		int r;

		alloc_fails_at = n;
		r = parse(good, &p, &e);
		if (r >= 0)
			r = plan_loads(&p, 1, 1, &loads, &e);
		if (r >= 0)
			r = plan_order(&p, &slots, &nr_slots, &e);
		failed = alloc_fails_at == 0;
		alloc_fails_at = 0;
		free(slots);
		nr_errors += r < 0;
		if (r >= 0) {
			dump(&got, &p);
			assert_string_equal(buf_str(&got), buf_str(&expected));
			continue;
		}
		assert_int_equal(r, -ENOMEM);
		assert_contains(e.msg, "out of memory");
	}
	assert_true(nr_errors > 200);
}

/* As above with a plan that is refused: the message may lose its hint, nothing else. */
static void a_refusal_survives_failed_allocations(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		const struct refusal *c = &refusals[i];
		_cleanup_(freep) char *text = c->from ? edit(good, c->from, c->to) : strdup(c->to);

		for (size_t n = 1;; n += n < 50 ? 1 : 17) {
			_cleanup_(plan_release) struct plan p = {};
			struct err e = {};

			alloc_fails_at = n;
			assert_true(parse(text, &p, &e) < 0);
			if (alloc_fails_at)
				break;
			assert_true(e.code < 0 && e.len > 0);
		}
		alloc_fails_at = 0;
	}
}

static void read_file(const char *path, struct buf *out)
{
	_cleanup_(fclose_filep) FILE *f = fopen(path, "re");
	char chunk[1024];
	size_t n;

	if (!f)
		fail_msg("%s: %m", path);
	while ((n = fread(chunk, 1, sizeof(chunk), f)))
		buf_add(out, chunk, n);
}

static void the_inputs_that_fuzzing_starts_from_are_good(void **state)
{
	static const char *const files[] = { "demo", "full", "least" };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_(buf_release) struct buf path = {}, text = {};
		_cleanup_(plan_release) struct plan p = {};

		buf_printf(&path, "tests/fuzz/corpus/plan/%s.yaml", files[i]);
		read_file(buf_str(&path), &text);
		parse_good(buf_str(&text), &p);
	}
}

static void the_ready_plans_are_good_and_differ_by_their_setup(void **state)
{
	_cleanup_(buf_release) struct buf demo_text = {}, no_effect_text = {};
	_cleanup_(plan_release) struct plan demo = {}, no_effect = {};
	const struct instance *a, *b;

	read_file("plans/demo.yaml", &demo_text);
	read_file("plans/demo-no-effect.yaml", &no_effect_text);
	parse_good(buf_str(&demo_text), &demo);
	parse_good(buf_str(&no_effect_text), &no_effect);
	assert_int_equal(demo.peer, PEER_NETNS);
	assert_int_equal(demo.setup.nr, 1);
	assert_int_equal(no_effect.setup.nr, 0);
	assert_int_equal(plan_length_ns(&demo), plan_length_ns(&no_effect));
	assert_int_equal(demo.variants[1].knobs.nr, 1);
	a = &demo.variants[1].knobs.v[0];
	b = &no_effect.variants[1].knobs.v[0];
	assert_string_equal(a->plugin, b->plugin);
	assert_int_equal(a->nr_settings, b->nr_settings);
	for (size_t i = 0; i < a->nr_settings; i++)
		assert_string_equal(instance_value(b, a->settings[i].key), a->settings[i].value);
}

/* In loads and their overrides, and what the kernel would run for a setting; nothing else. */
static void what_a_shell_would_run_is_listed(void **state)
{
	static const char text[] =
		"peer: netns\n"
		"setup:\n  - sysctl: { kernel.core_pattern: \"|/tmp/x %p\", net.core.busy_poll: 50 }\n"
		"variants:\n  a: []\n  b: [ load.busy.command.cmd: \"hackbench -l 2\" ]\n"
		"scenarios:\n  busy: [ tcp, command: { cmd: hackbench -l 1 } ]\n  quiet: [ tcp ]\n"
		"metrics: { throughput@busy: { margin: 1% } }\n";
	_cleanup_(plan_release) struct plan p = {}, demo = {};
	_cleanup_(buf_release) struct buf out = {}, none = {}, demo_text = {};
	struct err e = {};

	parse_good(text, &p);
	assert_int_equal(plan_commands(&p, &fake_registry, &out, &e), 0);
	assert_string_equal(buf_str(&out), "setup, sysctl: kernel.core_pattern: |/tmp/x %p\n"
					   "variant b, command: cmd: hackbench -l 2\n"
					   "scenario busy, command: cmd: hackbench -l 1\n");
	read_file("plans/demo.yaml", &demo_text);
	parse_good(buf_str(&demo_text), &demo);
	assert_int_equal(plan_commands(&demo, &fake_registry, &none, &e), 0);
	assert_int_equal(none.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_plan_arrives_whole),
		cmocka_unit_test(what_a_shell_would_run_is_listed),
		cmocka_unit_test(what_is_left_out_has_defaults),
		cmocka_unit_test(peers_have_hosts_and_ports),
		cmocka_unit_test(bad_plans_are_refused_with_place_reason_and_remedy),
		cmocka_unit_test(nul_size_and_bombs_are_refused),
		cmocka_unit_test(an_alias_repeats_what_it_names),
		cmocka_unit_test(names_with_dots_are_overridden),
		cmocka_unit_test(overrides_change_one_variant_one_scenario_one_instance),
		cmocka_unit_test(the_least_number_of_blocks_follows_the_level),
		cmocka_unit_test(the_length_counts_every_trial),
		cmocka_unit_test(the_order_is_that_of_an_independent_program),
		cmocka_unit_test(every_block_has_every_cell_once),
		cmocka_unit_test(a_longer_plan_starts_with_the_same_blocks),
		cmocka_unit_test(different_seeds_give_different_orders),
		cmocka_unit_test(every_variant_comes_at_every_place_alike),
		cmocka_unit_test(damaged_plans_never_crash),
		cmocka_unit_test(failed_allocations_are_errors),
		cmocka_unit_test(a_refusal_survives_failed_allocations),
		cmocka_unit_test(the_inputs_that_fuzzing_starts_from_are_good),
		cmocka_unit_test(the_ready_plans_are_good_and_differ_by_their_setup),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
