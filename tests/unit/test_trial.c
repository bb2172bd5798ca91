// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * One trial over fake plug-ins: in every way it can fail, and at every point it can be ended, the
 * fake machine is as it was afterwards.
 */
#include "test.h"

#include <json-c/json.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/host.h"
#include "base/json_field.h"
#include "sample/sample.h"
#include "trial/frame.h"
#include "trial/spec.h"
#include "trial/trial.h"

/* The fake machine: one setting, and a countdown to the call that fails. */
static struct {
	char value[16];
	int fail_at;	   /* 1: the next fallible call fails; 0: none */
	int open, started; /* parts that are */
	uint64_t effect;   /* the knob's witness counter */
	bool frozen_witness;
	uint64_t demand;
	bool appears; /* more settings may appear, and once resolved so often, one does */
	int resolved, born_at;
	char calls[512];
} fake;

static int step(const char *name, struct err *e)
{
	size_t used = strlen(fake.calls);

	snprintf(fake.calls + used, sizeof(fake.calls) - used, "%s ", name);
	if (fake.fail_at && --fake.fail_at == 0)
		return err_set(e, -EIO, "injected failure in %s", name);
	return 0;
}

static int knob_resolve(const struct host *h, const struct instance *inst,
			struct knob_settings *ret, struct err *e)
{
	int r = step("resolve", e);

	if (r >= 0)
		r = knob_settings_add(ret, "setting", instance_value(inst, "value"), e);
	if (r >= 0 && ++fake.resolved >= fake.born_at && fake.born_at)
		r = knob_settings_add(ret, "born", instance_value(inst, "value"), e);
	return r;
}

static bool knob_appears(const struct host *h, const struct instance *inst, uint64_t *ret_stamp)
{
	*ret_stamp = 0;
	return fake.appears;
}

static int knob_read(const struct host *h, const char *target, char **ret, struct err *e)
{
	int r = step("read", e);

	if (r >= 0)
		*ret = strdup(fake.value);
	return r;
}

static int knob_write(const struct host *h, const char *target, const char *value, struct err *e)
{
	int r = step("write", e);

	if (r >= 0)
		snprintf(fake.value, sizeof(fake.value), "%s", value);
	return r;
}

static int knob_witness(const struct host *h, const char *target, struct witness *ret,
			struct err *e)
{
	if (!fake.frozen_witness)
		fake.effect += 100;
	*ret = (struct witness){ .what = "fake counter",
				 .effect = fake.effect,
				 .min_effect = 50,
				 .demand = fake.demand += 1000,
				 .min_demand = 500 };
	return 0;
}

static const struct opt knob_options[] = { { "value", OPT_STRING, 0, NULL, "the value" }, {} };
static const struct knob_ops knob_fake = {
	.plugin = { .name = "fake", .help = "a fake setting", .options = knob_options },
	.usable = knob_usable,
	.resolve = knob_resolve,
	.read = knob_read,
	.write = knob_write,
	.witness = knob_witness,
	.appears = knob_appears,
};

struct load {
	bool started;
};

static int load_open(struct load **ret, const struct load_env *env, const struct instance *inst,
		     struct err *e)
{
	int r = step("load-open", e);

	if (r < 0)
		return r;
	*ret = calloc(1, sizeof(**ret));
	fake.open++;
	return 0;
}

static int load_start(struct load *l, struct err *e)
{
	int r = step("load-start", e);

	if (r >= 0) {
		l->started = true;
		fake.started++;
	}
	return r;
}

static int load_begin(struct load *l, uint64_t now_ns, struct err *e)
{
	return step("load-begin", e);
}

static int load_end(struct load *l, uint64_t now_ns, struct err *e)
{
	return step("load-end", e);
}

static int load_stop(struct load *l, struct err *e)
{
	fake.started -= l->started;
	l->started = false;
	return step("load-stop", e);
}

static int load_drain(struct load *l, struct sample_sink *out, struct err *e)
{
	int r = step("load-drain", e);

	return r < 0 ? r : sample_scalar(out, "throughput", "bit/s", "", 1e9, e);
}

static void load_close(struct load *l)
{
	fake.started -= l->started;
	fake.open--;
	free(l);
}

static const struct load_ops load_fake = {
	.plugin = { .name = "fake", .help = "a fake load" },
	.open = load_open,
	.start = load_start,
	.begin = load_begin,
	.end = load_end,
	.stop = load_stop,
	.drain = load_drain,
	.close = load_close,
};

struct probe {
	int unused;
};

static int probe_open(struct probe **ret, const struct probe_env *env, const struct instance *inst,
		      struct err *e)
{
	int r = step("probe-open", e);

	if (r < 0)
		return r;
	*ret = calloc(1, sizeof(**ret));
	fake.open++;
	return 0;
}

static int probe_start(struct probe *p, uint64_t now_ns, struct err *e)
{
	return step("probe-start", e);
}

static int probe_stop(struct probe *p, uint64_t now_ns, struct err *e)
{
	return step("probe-stop", e);
}

static int probe_drain(struct probe *p, struct sample_sink *out, struct err *e)
{
	return step("probe-drain", e);
}

static void probe_close(struct probe *p)
{
	fake.open--;
	free(p);
}

static const struct probe_ops probe_fake = {
	.plugin = { .name = "fake", .help = "a fake probe" },
	.open = probe_open,
	.start = probe_start,
	.stop = probe_stop,
	.drain = probe_drain,
	.close = probe_close,
};

static const struct knob_ops *const knobs[] = { &knob_fake, NULL };
static const struct load_ops *const loads[] = { &load_fake, NULL };
static const struct probe_ops *const probes[] = { &probe_fake, NULL };
static const struct trial_plugins plugins = { knobs, loads, probes };

/* A trial's surroundings that end it at the n-th wait. */
struct surroundings {
	struct trial_host host;
	struct sample_sink sink;
	int cancel_at;
	struct record_list records;
};

static int wait_until(struct trial_host *h, uint64_t deadline_ns, struct err *e)
{
	struct surroundings *s =
		(struct surroundings *)((char *)h - offsetof(struct surroundings, host));

	if (s->cancel_at && --s->cancel_at == 0)
		return err_set(e, -ECANCELED, "ended");
	return 0;
}

static int phase(struct trial_host *h, const char *name, struct err *e)
{
	return 0;
}

static int emit(struct sample_sink *sink, const struct record *rec, struct err *e)
{
	struct surroundings *s =
		(struct surroundings *)((char *)sink - offsetof(struct surroundings, sink));

	return record_list_take(&s->records, record_copy(rec), e);
}

static struct instance one(const char *key, const char *value)
{
	struct instance inst = { .plugin = strdup("fake"), .name = strdup("fake") };
	struct err e = {};

	if (key)
		instance_set(&inst, key, value, 0, &e);
	return inst;
}

static void add(struct instances *list, const char *key, const char *value)
{
	_cleanup_(instance_release) struct instance inst = one(key, value);
	struct err e = {};

	assert_int_equal(instances_add(list, &inst, &e), 0);
}

static struct trial_spec spec_of(void)
{
	struct trial_spec s = { .variant = strdup("after"),
				.scenario = strdup("net"),
				.duration_ns = 1000 };

	add(&s.knobs, "value", "new");
	add(&s.loads, NULL, NULL);
	add(&s.probes, NULL, NULL);
	return s;
}

static struct surroundings surroundings(int cancel_at)
{
	return (struct surroundings){ .host = { .wait_until = wait_until, .phase = phase },
				      .sink = { .emit = emit },
				      .cancel_at = cancel_at };
}

static void reset_machine(void)
{
	memset(&fake, 0, sizeof(fake));
	snprintf(fake.value, sizeof(fake.value), "old");
}

static char state_dir[] = "/tmp/irqlab-trial-XXXXXX";

static int make_state_dir(void **state)
{
	if (!mkdtemp(state_dir))
		return -1;
	return setenv("IRQLAB_STATE_DIR", state_dir, 1);
}

static int drop_state_dir(void **state)
{
	char path[sizeof(state_dir) + 16];

	snprintf(path, sizeof(path), "%s/lock", state_dir);
	unlink(path);
	return rmdir(state_dir); /* fails, and so does the test, when a journal is left */
}

static struct bench *open_bench(void)
{
	const struct bench_spec spec = { .peer = PEER_NONE };
	struct bench *b = NULL;
	struct err e = {};

	if (bench_open(&b, &spec, &plugins, &e) < 0)
		fail_msg("bench_open: %s", e.msg);
	return b;
}

static void a_metric_of_the_trial_is_of_all_its_loads(void **state)
{
	_cleanup_(trial_spec_release) struct trial_spec spec = spec_of();
	struct surroundings s = surroundings(0);
	struct trial_result result = {};
	struct bench *b = open_bench();
	struct err e = {};
	unsigned int found = 0;

	reset_machine();
	add(&spec.loads, NULL, NULL);
	assert_int_equal(trial_run(b, &spec, &s.host, &s.sink, &result, &e), 0);
	for (size_t i = 0; i < s.records.nr; i++) {
		if (strcmp(s.records.v[i]->metric, "throughput") != 0)
			continue;
		found++;
		assert_true(s.records.v[i]->value == 2e9);
	}
	assert_int_equal(found, 1);
	record_list_release(&s.records);
	assert_int_equal(bench_close(b, &e), 0);
}

static void a_good_trial_measures_and_gives_back(void **state)
{
	_cleanup_(trial_spec_release) struct trial_spec spec = spec_of();
	struct surroundings s = surroundings(0);
	struct trial_result result = {};
	struct bench *b = open_bench();
	struct err e = {};
	bool witnessed = false;

	reset_machine();
	assert_int_equal(trial_run(b, &spec, &s.host, &s.sink, &result, &e), 0);
	assert_int_equal(result.state, TRIAL_OK);
	assert_string_equal(fake.value, "old");
	assert_int_equal(fake.open, 0);
	for (size_t i = 0; i < s.records.nr; i++)
		witnessed |= strncmp(s.records.v[i]->metric, "witness", 7) == 0 &&
			     s.records.v[i]->severity == SEVERITY_NOTE;
	assert_true(witnessed);
	/* the window is opened around the probe, and the load spans it */
	assert_contains(fake.calls,
			"load-start load-begin probe-start probe-stop load-end load-stop");
	record_list_release(&s.records);
	assert_int_equal(bench_close(b, &e), 0);
}

static void a_still_witness_vetoes(void **state)
{
	_cleanup_(trial_spec_release) struct trial_spec spec = spec_of();
	struct surroundings s = surroundings(0);
	struct trial_result result = {};
	struct bench *b = open_bench();
	struct err e = {};

	reset_machine();
	fake.frozen_witness = true;
	assert_int_equal(trial_run(b, &spec, &s.host, &s.sink, &result, &e), 0);
	assert_int_equal(result.state, TRIAL_VETOED);
	assert_contains(result.reason.msg, "no effect");
	assert_string_equal(fake.value, "old");
	record_list_release(&s.records);
	assert_int_equal(bench_close(b, &e), 0);
}

/* Asked four times a second, in every phase; the waits of this test take no time. */
static void what_appears_is_looked_for_while_waiting(void **state)
{
	_cleanup_(trial_spec_release) struct trial_spec spec = spec_of();
	struct surroundings s = surroundings(0);
	struct trial_result result = {};
	struct bench *b = open_bench();
	struct err e = {};
	unsigned int told = 0;

	spec.settle_ns = spec.warmup_ns = 600 * NS_PER_MS;
	spec.duration_ns = 1100 * NS_PER_MS;
	reset_machine();
	assert_int_equal(trial_run(b, &spec, &s.host, &s.sink, &result, &e), 0);
	assert_int_equal(fake.resolved, 2); /* nothing can appear: not asked */
	record_list_release(&s.records);
	reset_machine();
	fake.appears = true;
	fake.born_at = 2 + 2 + 2 + 3; /* apply, settle, warm-up, then the third in the window */
	assert_int_equal(trial_run(b, &spec, &s.host, &s.sink, &result, &e), 0);
	assert_int_equal(fake.resolved, 2 + 2 + 2 + 4);
	for (size_t i = 0; i < s.records.nr; i++) {
		if (strcmp(s.records.v[i]->metric, "variant") != 0)
			continue;
		told++;
		assert_contains(s.records.v[i]->text, "into the window: born = \"new\"");
	}
	assert_int_equal(told, 1);
	assert_string_equal(fake.value, "old");
	record_list_release(&s.records);
	/* and the trial ends at once when it is told to */
	reset_machine();
	fake.appears = true;
	s = surroundings(8);
	assert_int_equal(trial_run(b, &spec, &s.host, &s.sink, &result, &e), -ECANCELED);
	assert_int_equal(fake.resolved, 2 + 2 + 2 + 1);
	assert_string_equal(fake.value, "old");
	record_list_release(&s.records);
	assert_int_equal(bench_close(b, &e), 0);
}

static void every_failure_gives_the_machine_back(void **state)
{
	struct bench *b = open_bench();
	bool reached_the_end = false;
	int failures = 0;

	for (int fail_at = 1; !reached_the_end; fail_at++) {
		_cleanup_(trial_spec_release) struct trial_spec spec = spec_of();
		struct surroundings s = surroundings(0);
		struct trial_result result = {};
		struct err e = {};
		int r;

		reset_machine();
		fake.fail_at = fail_at;
		r = trial_run(b, &spec, &s.host, &s.sink, &result, &e);
		reached_the_end = fake.fail_at > 0;
		if (r == 0) {
			/* a failure is a result, with its reason; undo may get over one by itself
			 */
			if (result.state != TRIAL_OK)
				assert_contains(result.reason.msg, "injected failure");
			if (reached_the_end)
				assert_int_equal(result.state, TRIAL_OK);
			failures += result.state != TRIAL_OK;
			assert_string_equal(fake.value, "old");
		} else {
			/* only undo's own calls may fail the run, and then it says so */
			assert_int_equal(r, -ENOTRECOVERABLE);
			assert_contains(e.msg, "injected failure");
			snprintf(fake.value, sizeof(fake.value), "old");
		}
		assert_int_equal(fake.open, 0);
		assert_int_equal(fake.started, 0);
		record_list_release(&s.records);
		if (r !=
		    0) { /* what could not be undone stays in the journal: a new bench replays it */
			bench_close(b, &e);
			b = open_bench();
		}
		assert_true(fail_at < 100);
	}
	assert_true(failures >= 15); /* every call up to the undo */
	assert_int_equal(bench_close(b, &(struct err){}), 0);
}

static void ending_at_any_wait_gives_the_machine_back(void **state)
{
	struct bench *b = open_bench();

	for (int at = 1; at <= 3; at++) {
		_cleanup_(trial_spec_release) struct trial_spec spec = spec_of();
		struct surroundings s = surroundings(at);
		struct trial_result result = {};
		struct err e = {};

		reset_machine();
		assert_int_equal(trial_run(b, &spec, &s.host, &s.sink, &result, &e), -ECANCELED);
		assert_string_equal(fake.value, "old");
		assert_int_equal(fake.open, 0);
		assert_int_equal(fake.started, 0);
		record_list_release(&s.records);
	}
	assert_int_equal(bench_close(b, &(struct err){}), 0);
}

static void names_are_put_for_dut_and_far(void **state)
{
	struct host host = { .dut = { .ifname = "dut0" } };
	_cleanup_(instance_release) struct instance inst = one("dev", "a-$dut,$dutch,$dut"),
						    out = {};
	struct err e = {};

	assert_int_equal(trial_expand(&host, &inst, &out, &e), 0);
	assert_string_equal(instance_value(&out, "dev"), "a-dut0,$dutch,dut0");
	instance_set(&inst, "dev", "$far", 0, &e);
	assert_int_equal(trial_expand(&host, &inst, &out, &e), -ENODEV);
	assert_contains(e.msg, "this run has no $far; it needs \"peer: netns\"");
}

static void specs_survive_the_wire(void **state)
{
	_cleanup_(trial_spec_release) struct trial_spec spec = spec_of(), back = {};
	struct bench_spec bench = { .peer = PEER_HOST, .addr = strdup("::1"), .port = 5201 },
			  bench_back = {};
	_cleanup_(json_putp) struct json_object *o = NULL;
	struct err e = {};

	spec.seed = UINT64_MAX;
	o = trial_spec_to_json(&spec);
	assert_int_equal(trial_spec_from_json(o, &back, &e), 0);
	assert_true(back.seed == UINT64_MAX);
	assert_string_equal(back.variant, "after");
	assert_string_equal(instance_value(&back.knobs.v[0], "value"), "new");
	json_object_put(o);
	o = bench_spec_to_json(&bench);
	assert_int_equal(bench_spec_from_json(o, &bench_back, &e), 0);
	assert_int_equal(bench_back.peer, PEER_HOST);
	assert_string_equal(bench_back.addr, "::1");
	assert_null(bench_back.dut);
	json_object_object_del(o, "port");
	assert_int_equal(bench_spec_from_json(o, &bench_back, &e), -EBADMSG);
	bench_spec_release(&bench);
	bench_spec_release(&bench_back);
}

static void frames_survive_and_damage_is_refused(void **state)
{
	_cleanup_(buf_release) struct buf payload = {};
	_cleanup_(json_putp) struct json_object *o = NULL;
	struct err e = {};
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(frame_send(pair[0], FRAME_JSON, "{\"do\":\"x\"}", 10, &e), 0);
	assert_int_equal(frame_receive(pair[1], &payload, &e), FRAME_JSON);
	assert_int_equal(frame_json(&payload, &o, &e), 0);
	assert_string_equal(json_field_string(o, "do"), "x");
	assert_int_equal(write(pair[0], "\xff\xff\xff\xffJ", 5), 5);
	assert_int_equal(frame_receive(pair[1], &payload, &e), -EBADMSG);
	assert_int_equal(write(pair[0], "\0\0\0\x09Jabc", 8), 8);
	close(pair[0]);
	assert_int_equal(frame_receive(pair[1], &payload, &e), -EBADMSG);
	assert_contains(e.msg, "mid-message");
	assert_int_equal(frame_receive(pair[1], &payload, &e), 0);
	assert_true(frame_send(pair[1], FRAME_JSON, "{}", 2, &e) == -EPIPE);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_trial_measures_and_gives_back),
		cmocka_unit_test(a_metric_of_the_trial_is_of_all_its_loads),
		cmocka_unit_test(a_still_witness_vetoes),
		cmocka_unit_test(what_appears_is_looked_for_while_waiting),
		cmocka_unit_test(every_failure_gives_the_machine_back),
		cmocka_unit_test(ending_at_any_wait_gives_the_machine_back),
		cmocka_unit_test(names_are_put_for_dut_and_far),
		cmocka_unit_test(specs_survive_the_wire),
		cmocka_unit_test(frames_survive_and_damage_is_refused),
	};

	return cmocka_run_group_tests(tests, make_state_dir, drop_state_dir);
}
