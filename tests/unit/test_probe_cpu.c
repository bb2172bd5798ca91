// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include "base/clock.h"
#include "base/host.h"
#include "base/kfile.h"
#include "collect.h"
#include "plan/instance.h"
#include "probe/accounting.h"
#include "probe/probe.h"
#include "probe/procstat.h"
#include "tree.h"

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

/* "7/20" of the answers */
static double fraction(const char *text)
{
	char *end;
	double v = strtod(text, &end);

	return *end == '/' ? v / strtod(end + 1, NULL) : v;
}

static void check_shares(const struct collect *out, const char *labels, char v[8][32])
{
	static const char *const names[] = { "cpu.busy", "cpu.user",   "cpu.system", "cpu.softirq",
					     "cpu.irq",	 "cpu.iowait", "cpu.steal",  "cpu.guest" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(v[i], "-") == 0)
			assert_null(collect_find(out, RECORD_SCALAR, names[i], labels));
		else
			assert_near(collect_scalar(out, names[i], labels), fraction(v[i]), 1e-12);
	}
}

static void check_kernel(const char *name)
{
	_cleanup_(buf_release) struct buf path = {};
	struct buf text[3] = {};
	static const char *const suffix[] = { "before", "after" };
	_cleanup_(collect_release) struct collect out = collect_new();
	char *save = NULL;
	struct err e = {};
	int r, rows = 0;

	for (int i = 0; i < 3; i++) {
		buf_reset(&path);
		buf_printf(&path, "stat/%s%c%s", name, i < 2 ? '-' : '.',
			   i < 2 ? suffix[i] : "diff");
		read_fixture(buf_str(&path), &text[i]);
	}
	run_over(text[0].data, text[1].data, &out, &r, &e);
	assert_int_equal(r, 0);
	for (char *line = strtok_r(text[2].data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save), rows++) {
		char cpu[8], labels[24] = "", v[8][32];

		assert_int_equal(sscanf(line, "%7s %31s %31s %31s %31s %31s %31s %31s %31s", cpu,
					v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]),
				 9);
		if (*cpu != '-')
			snprintf(labels, sizeof(labels), "cpu=%s", cpu);
		check_shares(&out, labels, v);
	}
	assert_true(rows >= 2);
	for (int i = 0; i < 3; i++)
		buf_release(&text[i]);
}

static void old_and_new_columns_are_shared_as_an_independent_reader_says(void **state)
{
	check_kernel("2.4");
	check_kernel("2.6.9");
	check_kernel("6.12");
}

static void columns_that_the_kernel_lacks_are_named(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	struct err e = {};
	int r;

	run_over("cpu0 0 0 0 0\n", "cpu0 30 0 0 70\n", &out, &r, &e);
	assert_int_equal(r, 0);
	assert_non_null(collect_event(&out, "steal is unknown: /proc/stat of this kernel has 4"));
	assert_null(collect_find(&out, RECORD_SCALAR, "cpu.steal", ""));
}

static enum accounting ask(const struct tree *t, const char *stat, const char **ret_why)
{
	_cleanup_(procstat_release) struct procstat now = {};
	struct err e = {};

	assert_int_equal(procstat_parse(stat, strlen(stat), &now, &e), 0);
	return accounting_of_irqs(&t->host, &now, ret_why);
}

static void accounting_is_told_from_counters_configuration_and_symbols(void **state)
{
	static const char none[] = "cpu0 90000 0 9000 5 5 0 4000 0 0 0\n";
	static const char some[] = "cpu0 90000 0 9000 5 5 70 4000 0 0 0\n";
	static const char young[] = "cpu0 90 0 9 5 5 0 4 0 0 0\n";
	const char *why = "";
	struct tree t;

	tree_make(&t);
	assert_int_equal(ask(&t, none, &why), ACCOUNTING_SAMPLED);
	assert_string_equal(why, "no time in interrupts since the boot");
	assert_int_equal(ask(&t, some, &why), ACCOUNTING_UNKNOWN);
	assert_int_equal(ask(&t, young, &why), ACCOUNTING_UNKNOWN);

	tree_write(&t, "proc/kallsyms", "0 T nothing_known\n");
	assert_int_equal(ask(&t, some, &why), ACCOUNTING_UNKNOWN);
	tree_write(&t, "proc/kallsyms", "0 T account_process_tick\n");
	assert_int_equal(ask(&t, some, &why), ACCOUNTING_SAMPLED);
	tree_write(&t, "proc/kallsyms", "0 T account_process_tick\n0 T irqtime_account_irq\n");
	assert_int_equal(ask(&t, some, &why), ACCOUNTING_MEASURED);
	/* compiled in, but switched off: the counter says so */
	assert_int_equal(ask(&t, none, &why), ACCOUNTING_SAMPLED);

	tree_write(&t, "proc/sys/kernel/osrelease", "6.1.0-test\n");
	tree_write(&t, "proc/self/root/boot/config-6.1.0-test",
		   "CONFIG_TICK_CPU_ACCOUNTING=y\n# CONFIG_IRQ_TIME_ACCOUNTING is not set\n");
	assert_int_equal(ask(&t, some, &why), ACCOUNTING_SAMPLED);
	tree_write(&t, "proc/self/root/boot/config-6.1.0-test",
		   "# CONFIG_X is not set\nCONFIG_IRQ_TIME_ACCOUNTING=y\n");
	assert_int_equal(ask(&t, young, &why), ACCOUNTING_MEASURED);
	assert_string_equal(why, "its configuration has IRQ_TIME_ACCOUNTING");
	tree_write(&t, "proc/self/root/boot/config-6.1.0-test",
		   "#CONFIG_IRQ_TIME_ACCOUNTING=y\nCONFIG_VIRT_CPU_ACCOUNTING_NATIVE=y\n");
	assert_int_equal(ask(&t, young, &why), ACCOUNTING_MEASURED);
	assert_string_equal(why, "its configuration has VIRT_CPU_ACCOUNTING_NATIVE");
	tree_remove(&t);
}

static void sampled_times_are_said_and_an_idle_column_is_no_zero(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	struct err e = {};
	int r;

	run_over("cpu0 90000 0 9000 5 5 0 4000 0 0 0\n", "cpu0 90050 0 9030 5 5 0 4020 0 0 0\n",
		 &out, &r, &e);
	assert_int_equal(r, 0);
	assert_non_null(collect_event(&out, "are samples of the tick (no time in interrupts since "
					    "the boot)"));
	assert_non_null(collect_event(&out, "irq is unknown"));
	assert_null(collect_find(&out, RECORD_SCALAR, "cpu.irq", ""));
	assert_near(collect_scalar(&out, "cpu.softirq", ""), 0.2, 1e-12);
}

static void truncated_text_loses_rows_but_never_invents_ticks(void **state)
{
	_cleanup_(buf_release) struct buf text = {};
	_cleanup_(procstat_release) struct procstat whole = {};
	struct err e = {};

	read_fixture("stat/6.12-after", &text);
	assert_int_equal(procstat_parse(text.data, text.len, &whole, &e), 0);
	assert_true(whole.running.v == 3 && whole.blocked.v == 1 && whole.softirq.v == 600);
	for (size_t len = 0; len < text.len; len++) {
		_cleanup_(procstat_release) struct procstat s = {};
		_cleanup_(freep) char *exact = malloc(len ? len : 1);

		memcpy(exact, text.data, len);
		if (procstat_parse(exact, len, &s, &e) < 0) {
			assert_int_equal(s.nr_cpus, 0);
			continue;
		}
		assert_true(s.nr_cpus >= 1 && s.nr_cpus <= 3);
		assert_memory_equal(s.cpus, whole.cpus, s.nr_cpus * sizeof(*s.cpus));
		assert_true(!s.ctxt.known || s.ctxt.v == whole.ctxt.v);
	}
}

static void rows_that_cannot_be_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"cpu0 1 2 3\n",
		"cpu99999 1 2 3 4\n",
		"cpu0 1 2 3 99999999999999999999\n",
		"cpu1 1 2 3 4\ncpu0 1 2 3 4\n",
		"cpu0 1 2 3 4\ncpu1 1 2 3 4 5\n",
		"cpu0 1 2 3 4",
		"cpu0x 1 2 3 4\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_(procstat_release) struct procstat s = {};
		struct err e = {};

		assert_int_equal(procstat_parse(bad[i], strlen(bad[i]), &s, &e), -EBADMSG);
	}
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
		cmocka_unit_test(old_and_new_columns_are_shared_as_an_independent_reader_says),
		cmocka_unit_test(columns_that_the_kernel_lacks_are_named),
		cmocka_unit_test(accounting_is_told_from_counters_configuration_and_symbols),
		cmocka_unit_test(sampled_times_are_said_and_an_idle_column_is_no_zero),
		cmocka_unit_test(truncated_text_loses_rows_but_never_invents_ticks),
		cmocka_unit_test(rows_that_cannot_be_are_refused),
		cmocka_unit_test(spinning_shows_as_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
