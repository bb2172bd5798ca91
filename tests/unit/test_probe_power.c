// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include "base/clock.h"
#include "collect.h"
#include "plan/instance.h"
#include "probe/probe.h"
#include "tree.h"

extern const struct probe_ops probe_power;

#define CPU0 "sys/devices/system/cpu/cpu0/"
#define CPU2 "sys/devices/system/cpu/cpu2/"

struct file {
	const char *path, *before, *after; /* after NULL: stays; "": goes */
};

/* Two CPUs of a laptop, one of which is number 2. */
static const struct file laptop[] = {
	{ "sys/devices/system/cpu/online", "0,2\n", NULL },
	{ CPU0 "cpuidle/state0/name", "POLL\n", NULL },
	{ CPU0 "cpuidle/state0/time", "1000\n", "1000\n" },
	{ CPU0 "cpuidle/state0/usage", "5\n", "5\n" },
	{ CPU0 "cpuidle/state1/name", "C1 deep, =odd\n", NULL },
	{ CPU0 "cpuidle/state1/time", "7000000\n", "7000600\n" },
	{ CPU0 "cpuidle/state1/usage", "100\n", "130\n" },
	{ CPU2 "cpuidle/state0/name", "POLL\n", NULL },
	{ CPU2 "cpuidle/state0/time", "0\n", "200\n" },
	{ CPU2 "cpuidle/state0/usage", "0\n", "2\n" },
	{ CPU2 "cpuidle/state1/name", "C1 deep, =odd\n", NULL },
	{ CPU2 "cpuidle/state1/time", "18446744073709551\n", "18446744073709951\n" },
	{ CPU2 "cpuidle/state1/usage", "40\n", "50\n" },
	{ CPU0 "cpufreq/scaling_cur_freq", "800000\n", "2400000\n" },
	{ CPU2 "cpufreq/scaling_cur_freq", "1000000\n", "1000000\n" },
	{ CPU0 "thermal_throttle/core_throttle_count", "3\n", "5\n" },
	{ CPU0 "thermal_throttle/package_throttle_count", "10\n", "14\n" },
	{ CPU0 "thermal_throttle/core_throttle_total_time_ms", "0\n", "1\n" },
	{ CPU2 "thermal_throttle/core_throttle_count", "0\n", "0\n" },
	{ CPU2 "thermal_throttle/package_throttle_count", "10\n", "14\n" },
	{ "sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n", NULL },
	{ "sys/class/thermal/thermal_zone0/temp", "45000\n", "55000\n" },
	{ "sys/class/hwmon/hwmon3/name", "coretemp\n", NULL },
	{ "sys/class/hwmon/hwmon3/temp2_input", "-5000\n", "-7000\n" },
	{ "sys/class/hwmon/hwmon3/temp2_label", "Core 0\n", NULL },
	{ "sys/class/hwmon/hwmon3/temp7_input", "60000\n", "50000\n" },
	{},
};

/*
 * Registers lie one byte apart and are read eight bytes wide, so in a file those of MPERF (0xe7)
 * and APERF (0xe8) overlap: APERF is MPERF / 256 here.
 */
static void put_registers(const struct tree *t, uint64_t tsc, uint64_t smi, uint64_t mperf)
{
	char path[128], text[512] = {};
	_cleanup_(fclose_filep) FILE *f = NULL;

	tree_write(t, "dev/cpu/0/msr", "");
	snprintf(path, sizeof(path), "%s/dev/cpu/0/msr", t->root);
	memcpy(text + 0x10, &tsc, sizeof(tsc));
	memcpy(text + 0x34, &smi, sizeof(smi));
	memcpy(text + 0xe7, &mperf, sizeof(mperf));
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, sizeof(text), 1, f), 1);
}

static int run_over(const struct file *files, bool msr, struct collect *out, double *ret_high,
		    struct err *e)
{
	_cleanup_(instance_release) struct instance inst = { .plugin = strdup("power"),
							     .name = strdup("pw") };
	struct tree t;
	struct probe_env env = { .host = &t.host, .duration_ns = NS_PER_S };
	struct probe *p = NULL;
	uint64_t begin;
	int r;

	tree_make(&t);
	t.host.dev_fd = tree_root(&t, "dev");
	if (msr)
		put_registers(&t, 1000, 7, 256);
	for (const struct file *f = files; f->path; f++)
		tree_write(&t, f->path, f->before);
	r = probe_power.usable(&t.host, e);
	if (r < 0) {
		tree_remove(&t);
		return r;
	}
	assert_int_equal(probe_power.open(&p, &env, &inst, e), 0);
	begin = clock_mono_ns();
	assert_int_equal(probe_power.start(p, begin, e), 0);
	for (const struct file *f = files; f->path; f++)
		if (f->after)
			tree_write(&t, f->path, f->after);
	if (msr)
		put_registers(&t, 3001000, 9, 256 + 1024 * 256);
	usleep(1000);
	assert_int_equal(probe_power.stop(p, clock_mono_ns(), e), 0);
	*ret_high = (double)(clock_mono_ns() - begin) * 1e-9;
	r = probe_power.drain(p, &out->sink, e);
	probe_power.close(p);
	tree_remove(&t);
	return r;
}

/* A rate is its count over the window: @seconds is somewhat different for each file. */
static void near_window(double rate, double count, double low, double high)
{
	if (!(rate >= count / high && rate <= count / low))
		fail_msg("%g is no rate of %g in %g to %g s", rate, count, low, high);
}

static void idle_states_have_their_shares(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	double high, low = 0.001, deep[2], poll;
	struct err e = {};

	if (run_over(laptop, false, &out, &high, &e) < 0)
		fail_msg("%s", e.msg);
	deep[0] = collect_scalar(&out, "pw.idle", "cpu=0,state=C1_deep___odd");
	deep[1] = collect_scalar(&out, "pw.idle", "cpu=2,state=C1_deep___odd");
	poll = collect_scalar(&out, "pw.idle", "cpu=2,state=POLL");
	near_window(deep[0], 600e-6, low, high);
	near_window(deep[1], 400e-6, low, high);
	near_window(poll, 200e-6, low, high);
	assert_near(collect_scalar(&out, "pw.idle", "cpu=0,state=POLL"), 0, 0);
	assert_near(collect_scalar(&out, "pw.idle", "state=C1_deep___odd"), (deep[0] + deep[1]) / 2,
		    1e-12);
	assert_near(collect_scalar(&out, "pw.idle", ""), (deep[0] + deep[1] + poll) / 2, 1e-12);
	near_window(collect_scalar(&out, "pw.idle-entries", "cpu=0,state=C1_deep___odd"), 30, low,
		    high);
	near_window(collect_scalar(&out, "pw.idle-entries", ""), 42, low, high);
}

static void levels_are_means_of_the_readings(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	struct err e = {};
	double high;

	assert_int_equal(run_over(laptop, false, &out, &high, &e), 0);
	assert_near(collect_scalar(&out, "pw.frequency", "cpu=0"), 1.6e9, 1);
	assert_near(collect_scalar(&out, "pw.frequency", "cpu=2"), 1e9, 1);
	assert_near(collect_scalar(&out, "pw.frequency", ""), 1.3e9, 1);
	assert_near(collect_scalar(&out, "pw.temperature", "sensor=thermal0-x86_pkg_temp"), 50,
		    1e-9);
	assert_near(collect_scalar(&out, "pw.temperature", "sensor=hwmon3-coretemp-Core_0"), -6,
		    1e-9);
	assert_near(collect_scalar(&out, "pw.temperature", "sensor=hwmon3-coretemp-temp7"), 55,
		    1e-9);
	/* the hottest at each reading: 60, then 55 */
	assert_near(collect_scalar(&out, "pw.temperature", ""), 57.5, 1e-9);
}

static void throttling_is_counted_once_for_a_package_and_warned_of(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	struct err e = {};
	double high;

	assert_int_equal(run_over(laptop, false, &out, &high, &e), 0);
	assert_near(collect_scalar(&out, "pw.throttled", ""), 2, 0);
	assert_near(collect_scalar(&out, "pw.throttled", "cpu=0"), 2, 0);
	assert_near(collect_scalar(&out, "pw.throttled-package", ""), 4, 0);
	near_window(collect_scalar(&out, "pw.throttled-time", "cpu=0"), 1e-3, 0.001, high);
	assert_int_equal(
		collect_event(&out, "throttled for its heat (cores 2 times, packages 4)")->severity,
		SEVERITY_WARN);
}

static void registers_tell_of_the_firmware_and_the_mean_frequency(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	struct err e = {};
	double high;

	assert_int_equal(run_over(laptop, true, &out, &high, &e), 0);
	assert_near(collect_scalar(&out, "pw.smi", ""), 2, 0);
	assert_non_null(collect_event(&out, "the firmware interrupted the CPUs 2 times"));
	/* a 256th of the TSC's 3 million ticks */
	near_window(collect_scalar(&out, "pw.frequency-busy", "cpu=0"), 3e6 / 256, 0.001, high);
	assert_null(collect_event(&out, "smi is unknown"));
}

static void what_is_absent_is_said_and_has_no_value(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	static const struct file little[] = {
		{ "sys/devices/system/cpu/online", "0\n", NULL },
		{ CPU0 "cpufreq/scaling_cur_freq", "800000\n", "rubbish\n" },
		{},
	};
	struct err e = {};
	double high;

	assert_int_equal(run_over(little, false, &out, &high, &e), 0);
	assert_non_null(collect_event(&out, "idle and idle-entries are unknown: open "));
	assert_non_null(collect_event(&out, "temperature is unknown: no sensor in"));
	assert_non_null(collect_event(&out, "throttled and throttled-time are unknown: open "));
	assert_non_null(collect_event(&out, "smi is unknown: open /dev/cpu/0/msr"));
	assert_null(collect_event(&out, "frequency is unknown"));
	/* what is no number is no reading */
	assert_near(collect_scalar(&out, "pw.frequency", ""), 8e8, 0);
	for (size_t i = 0; i < out.list.nr; i++)
		if (out.list.v[i]->kind == RECORD_SCALAR)
			assert_string_equal(out.list.v[i]->metric, "pw.frequency");
}

static void a_machine_that_tells_nothing_cannot_be_used(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	static const struct file nothing[] = { { "sys/devices/system/cpu/online", "0-3\n", NULL },
					       {} };
	struct err e = {};
	double high;

	assert_int_equal(run_over(nothing, false, &out, &high, &e), -ENOENT);
	assert_contains(e.msg, "this machine tells neither idle states nor frequency");
}

static void every_refused_record_is_an_error(void **state)
{
	_cleanup_(collect_release) struct collect all = collect_new();
	static const struct file some[] = {
		{ "sys/devices/system/cpu/online", "0\n", NULL },
		{ CPU0 "cpuidle/state0/name", "C1\n", NULL },
		{ CPU0 "cpuidle/state0/time", "1000\n", "2000\n" },
		{ CPU0 "cpuidle/state0/usage", "5\n", "6\n" },
		{ CPU0 "cpufreq/scaling_cur_freq", "1000000\n", NULL },
		{ CPU0 "thermal_throttle/core_throttle_count", "0\n", "1\n" },
		{ "sys/class/thermal/thermal_zone0/type", "x\n", NULL },
		{ "sys/class/thermal/thermal_zone0/temp", "45000\n", NULL },
		{},
	};
	struct err e = {};
	double high;

	assert_int_equal(run_over(some, true, &all, &high, &e), 0);
	for (size_t i = 1; i <= all.list.nr; i++) {
		_cleanup_(collect_release) struct collect out = collect_new();

		out.fail_at = i;
		assert_int_equal(run_over(some, true, &out, &high, &e), -EIO);
	}
}

/* On the machine itself: what is told is possible. */
static void this_machine_is_read(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	_cleanup_(instance_release) struct instance inst = { .plugin = strdup("power"),
							     .name = strdup("pw") };
	_cleanup_(host_release) struct host host = { -1, -1, -1, { -1, -1, "" }, { -1, -1, "" } };
	struct probe_env env = { .host = &host, .duration_ns = NS_PER_S };
	struct probe *p = NULL;
	struct err e = {};

	assert_int_equal(host_open(&host, &e), 0);
	if (probe_power.usable(&host, &e) < 0) {
		print_message("%s\n", e.msg);
		skip();
	}
	assert_int_equal(probe_power.open(&p, &env, &inst, &e), 0);
	assert_int_equal(probe_power.start(p, clock_mono_ns(), &e), 0);
	usleep(100000);
	assert_int_equal(probe_power.stop(p, clock_mono_ns(), &e), 0);
	assert_int_equal(probe_power.drain(p, &out.sink, &e), 0);
	probe_power.close(p);
	assert_true(out.list.nr > 0);
	for (size_t i = 0; i < out.list.nr; i++) {
		const struct record *rec = out.list.v[i];

		if (rec->kind != RECORD_SCALAR)
			continue;
		assert_true(isfinite(rec->value));
		/* below -100 degrees or above 100 GHz nothing runs */
		assert_true(rec->value > -100 && rec->value < 1e11);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_states_have_their_shares),
		cmocka_unit_test(levels_are_means_of_the_readings),
		cmocka_unit_test(throttling_is_counted_once_for_a_package_and_warned_of),
		cmocka_unit_test(registers_tell_of_the_firmware_and_the_mean_frequency),
		cmocka_unit_test(what_is_absent_is_said_and_has_no_value),
		cmocka_unit_test(a_machine_that_tells_nothing_cannot_be_used),
		cmocka_unit_test(every_refused_record_is_an_error),
		cmocka_unit_test(this_machine_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
