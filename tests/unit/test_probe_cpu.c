// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include "base/clock.h"
#include "base/host.h"
#include "base/kfile.h"
#include "collect.h"
#include "plan/instance.h"
#include "probe/probe.h"

extern const struct probe_ops probe_cpu;

static const char *const files[] = { "stat", NULL };

static void run_over(const char *before, const char *after, struct collect *out, int *ret,
		     struct err *e)
{
	struct scratch s = scratch_new();
	_cleanup_(instance_release) struct instance inst = { .plugin = strdup("cpu"),
							     .name = strdup("cpu") };
	const struct host host = { .proc_fd = s.fd };
	const struct probe_env env = { .host = &host };
	struct probe *p = NULL;

	scratch_write(&s, "stat", O_TRUNC, before, strlen(before));
	assert_int_equal(probe_cpu.usable(&host, e), 0);
	assert_int_equal(probe_cpu.open(&p, &env, &inst, e), 0);
	assert_int_equal(probe_cpu.start(p, clock_mono_ns(), e), 0);
	scratch_write(&s, "stat", O_TRUNC, after, strlen(after));
	usleep(10000);
	assert_int_equal(probe_cpu.stop(p, clock_mono_ns(), e), 0);
	*ret = probe_cpu.drain(p, &out->sink, e);
	probe_cpu.close(p);
	scratch_release(&s, files);
}

static void read_fixture(const char *path, struct buf *out)
{
	_cleanup_(close_fdp) int fd = open("tests/fixtures", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err e = {};

	if (kfile_read(fd, path, out, &e) < 0)
		fail_msg("%s", e.msg);
}

static void run_over_fixtures(struct collect *out)
{
	_cleanup_(buf_release) struct buf before = {}, after = {};
	struct err e = {};
	int r;

	read_fixture("proc-wrap-before/stat", &before);
	read_fixture("proc-wrap-after/stat", &after);
	run_over(before.data, after.data, out, &r, &e);
	assert_int_equal(r, 0);
}

/*
 * CPU 0 moved by 400 ticks: user 100 (40 of them guest), system 60, idle 180, iowait 10, irq 10,
 * softirq 40.  CPU 1 by 400, too: user 20, nice 4, system 16, idle 320, softirq 20, steal 20; its
 * iowait stepped back by 2.
 */
static void shares_are_of_the_ticks_that_passed(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();

	run_over_fixtures(&out);
	assert_near(collect_scalar(&out, "cpu.busy", "cpu=0"), 210.0 / 400, 1e-12);
	assert_near(collect_scalar(&out, "cpu.softirq", "cpu=0"), 0.1, 1e-12);
	assert_near(collect_scalar(&out, "cpu.irq", "cpu=0"), 0.025, 1e-12);
	assert_near(collect_scalar(&out, "cpu.steal", "cpu=0"), 0, 0);
	assert_near(collect_scalar(&out, "cpu.busy", "cpu=1"), 60.0 / 400, 1e-12);
	assert_near(collect_scalar(&out, "cpu.steal", "cpu=1"), 0.05, 1e-12);
	assert_near(collect_scalar(&out, "cpu.busy", ""), 270.0 / 800, 1e-12);
	assert_near(collect_scalar(&out, "cpu.softirq", ""), 60.0 / 800, 1e-12);
	assert_near(collect_scalar(&out, "cpu.irq", ""), 10.0 / 800, 1e-12);
	assert_near(collect_scalar(&out, "cpu.steal", ""), 20.0 / 800, 1e-12);
	/* 250000 switches in at least 10 ms */
	assert_true(collect_scalar(&out, "cpu.ctxt", "") > 0);
	assert_true(collect_scalar(&out, "cpu.ctxt", "") <= 250000 / 0.01);
}

static void stolen_time_is_a_warning_with_its_worst_cpu(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	const struct record *rec;

	run_over_fixtures(&out);
	rec = collect_event(&out, "stolen");
	assert_non_null(rec);
	assert_int_equal(rec->severity, SEVERITY_WARN);
	assert_string_equal(rec->text,
			    "stolen CPU time 2.5 % (CPU 1: 5.0 %): the hypervisor ran something "
			    "else; latency and throughput are suspect");
}

static void one_per_cent_of_steal_is_no_warning(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	struct err e = {};
	int r;

	run_over("cpu0 0 0 0 0 0 0 0 0\n", "cpu0 99 0 0 99 0 0 0 2\n", &out, &r, &e);
	assert_int_equal(r, 0);
	assert_null(collect_event(&out, "stolen"));
	collect_release(&out);
	run_over("cpu0 0 0 0 0 0 0 0 0\n", "cpu0 98 0 0 99 0 0 0 3\n", &out, &r, &e);
	assert_non_null(collect_event(&out, "stolen CPU time 1.5 %"));
}

static void a_window_without_a_tick_has_no_shares(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	struct err e = {};
	int r;

	run_over("cpu0 1 2 3 4 5 6 7 8\nctxt 5\n", "cpu0 1 2 3 4 5 6 7 8\nctxt 5\n", &out, &r, &e);
	assert_int_equal(r, 0);
	assert_null(collect_find(&out, RECORD_SCALAR, "cpu.busy", ""));
	assert_non_null(collect_event(&out, "did not move"));
	assert_near(collect_scalar(&out, "cpu.ctxt", ""), 0, 0);
}

static void cpus_that_come_and_go_are_left_out_and_said(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	struct err e = {};
	int r;

	run_over("cpu0 0 0 0 0\ncpu1 0 0 0 0\n", "cpu0 30 0 0 70\ncpu5 900 0 0 0\n", &out, &r, &e);
	assert_int_equal(r, 0);
	assert_near(collect_scalar(&out, "cpu.busy", ""), 0.3, 1e-12);
	assert_null(collect_find(&out, RECORD_SCALAR, "cpu.busy", "cpu=5"));
	assert_non_null(collect_event(&out, "2 CPUs went on- or offline"));
}

static void rubbish_is_an_error_that_quotes_it(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	struct err e = {};
	int r;

	run_over("cpu0 0 0 x 0\n", "cpu0 0 0 0 0\n", &out, &r, &e);
	assert_int_equal(r, -EBADMSG);
	assert_string_equal(e.msg, "/proc/stat: \"cpu0 0 0 x 0\" is not a row of a CPU");
	run_over("intr 5\n", "intr 6\n", &out, &r, &e);
	assert_int_equal(r, -EBADMSG);
	assert_contains(e.msg, "no row of a CPU");
}

/* A thread that spins must be seen on the machine itself. */
static void spinning_shows_as_busy(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	_cleanup_(instance_release) struct instance inst = { .plugin = strdup("cpu"),
							     .name = strdup("cpu") };
	_cleanup_(host_release) struct host host = { -1, -1, -1, { -1, -1, "" }, { -1, -1, "" } };
	struct probe_env env = { .host = &host };
	struct timespec used = {}, begin;
	struct probe *p = NULL;
	struct err e = {};
	double busy = 0;

	assert_int_equal(host_open(&host, &e), 0);
	assert_int_equal(probe_cpu.open(&p, &env, &inst, &e), 0);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	assert_int_equal(probe_cpu.start(p, clock_mono_ns(), &e), 0);
	do /* 0.3 s of the CPU, however long that takes */
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	while ((double)(used.tv_sec - begin.tv_sec) +
		       (double)(used.tv_nsec - begin.tv_nsec) * 1e-9 <
	       0.3);
	assert_int_equal(probe_cpu.stop(p, clock_mono_ns(), &e), 0);
	assert_int_equal(probe_cpu.drain(p, &out.sink, &e), 0);
	busy = collect_scalar(&out, "cpu.busy", "");
	assert_true(busy > 0 && busy <= 1);
	assert_true(busy + collect_scalar(&out, "cpu.steal", "") <= 1);
	assert_true(collect_scalar(&out, "cpu.ctxt", "") >= 0);
	probe_cpu.close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_of_the_ticks_that_passed),
		cmocka_unit_test(stolen_time_is_a_warning_with_its_worst_cpu),
		cmocka_unit_test(one_per_cent_of_steal_is_no_warning),
		cmocka_unit_test(a_window_without_a_tick_has_no_shares),
		cmocka_unit_test(cpus_that_come_and_go_are_left_out_and_said),
		cmocka_unit_test(rubbish_is_an_error_that_quotes_it),
		cmocka_unit_test(spinning_shows_as_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
