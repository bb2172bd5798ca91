// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "collect.h"
#include "plan/instance.h"
#include "probe/probe.h"
#include "probe/procstat.h"
#include "probe/schedstat.h"
#include "tree.h"

extern const struct probe_ops probe_sched;

static void read_fixture(const char *path, struct buf *out)
{
	_cleanup_(close_fdp) int fd = open("tests/fixtures", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err e = {};

	if (kfile_read(fd, path, out, &e) < 0)
		fail_msg("%s", e.msg);
}

static void put_fixture(const struct tree *t, const char *fixture, const char *path)
{
	_cleanup_(buf_release) struct buf text = {};

	read_fixture(fixture, &text);
	tree_write(t, path, text.data);
}

/* Over /proc/stat of one kernel and /proc/schedstat of another; @enabled: the sysctl, or NULL. */
static int run_over(const char *schedstat, const char *enabled, struct collect *out,
		    double *ret_high, struct err *e)
{
	_cleanup_(instance_release) struct instance inst = { .plugin = strdup("sched"),
							     .name = strdup("sched") };
	struct tree t;
	struct probe_env env = { .host = &t.host, .duration_ns = NS_PER_S };
	char path[2][64];
	struct probe *p = NULL;
	uint64_t begin;
	int r;

	tree_make(&t);
	snprintf(path[0], sizeof(path[0]), "schedstat/%s-before", schedstat ? schedstat : "");
	snprintf(path[1], sizeof(path[1]), "schedstat/%s-after", schedstat ? schedstat : "");
	put_fixture(&t, "stat/6.12-before", "proc/stat");
	if (schedstat)
		put_fixture(&t, path[0], "proc/schedstat");
	if (enabled)
		tree_write(&t, "proc/sys/kernel/sched_schedstats", enabled);
	assert_int_equal(probe_sched.usable(&t.host, e), 0);
	assert_int_equal(probe_sched.open(&p, &env, &inst, e), 0);
	begin = clock_mono_ns();
	assert_int_equal(probe_sched.start(p, begin, e), 0);
	put_fixture(&t, "stat/6.12-after", "proc/stat");
	if (schedstat)
		put_fixture(&t, path[1], "proc/schedstat");
	usleep(1000);
	assert_int_equal(probe_sched.stop(p, clock_mono_ns(), e), 0);
	*ret_high = (double)(clock_mono_ns() - begin) * 1e-9;
	r = probe_sched.drain(p, &out->sink, e);
	probe_sched.close(p);
	tree_remove(&t);
	return r;
}

/* The window's length, from a rate and its count; the same whichever row tells it. */
static void same_window(double *seconds, double rate, double count)
{
	if (count == 0) {
		assert_near(rate, 0, 0);
		return;
	}
	if (*seconds == 0)
		*seconds = count / rate;
	assert_near(rate * *seconds, count, 1e-9 * count);
}

static void check_version(const char *version)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	_cleanup_(buf_release) struct buf answers = {}, path = {};
	double high, seconds = 0, all[4] = {}, v[4];
	struct err e = {};
	char *save = NULL;

	if (run_over(version, "1\n", &out, &high, &e) < 0)
		fail_msg("%s", e.msg);
	buf_printf(&path, "schedstat/%s.diff", version);
	read_fixture(buf_str(&path), &answers);
	for (char *line = strtok_r(answers.data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char labels[24];
		unsigned int cpu;

		assert_int_equal(
			sscanf(line, "%u %lf %lf %lf %lf", &cpu, &v[0], &v[1], &v[2], &v[3]), 5);
		snprintf(labels, sizeof(labels), "cpu=%u", cpu);
		same_window(&seconds, collect_scalar(&out, "sched.waiting", labels), v[2] / 1e9);
		same_window(&seconds, collect_scalar(&out, "sched.wakeups", labels), v[0]);
		if (v[3] > 0)
			assert_near(collect_scalar(&out, "sched.wait", labels), v[2] / v[3],
				    1e-9 * v[2]);
		else
			assert_null(collect_find(&out, RECORD_SCALAR, "sched.wait", labels));
		for (int i = 0; i < 4; i++)
			all[i] += v[i];
	}
	assert_true(seconds > 0.001 && seconds <= high);
	assert_near(collect_scalar(&out, "sched.wait", ""), all[2] / all[3], 1e-9 * all[2]);
	same_window(&seconds, collect_scalar(&out, "sched.wakeups", ""), all[0]);
	same_window(&seconds, collect_scalar(&out, "sched.waiting", ""), all[2] / 1e9);
}

static void versions_are_read_as_an_independent_reader_says(void **state)
{
	check_version("15");
	check_version("16");
	check_version("17");
}

static void cpus_that_come_and_go_are_left_out_and_said(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	struct err e = {};
	double high;

	assert_int_equal(run_over("17", NULL, &out, &high, &e), 0);
	assert_non_null(collect_event(&out, "/proc/schedstat: 2 CPUs went on- or offline"));
	assert_null(collect_find(&out, RECORD_SCALAR, "sched.waiting", "cpu=1"));
	assert_null(collect_find(&out, RECORD_SCALAR, "sched.waiting", "cpu=2"));
	/* without the sysctl nothing says that wake-ups were counted */
	assert_null(collect_find(&out, RECORD_SCALAR, "sched.wakeups", ""));
}

static void what_is_absent_is_said_and_has_no_value(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	struct err e = {};
	double high;

	assert_int_equal(run_over(NULL, NULL, &out, &high, &e), 0);
	assert_non_null(collect_event(&out, "waiting and wait are unknown: open "));
	assert_non_null(collect_event(&out, "the kernel lacks CONFIG_SCHEDSTATS"));
	/* no list of online CPUs in this tree */
	assert_non_null(collect_event(&out, "switches by CPU and migrations are unknown"));
	assert_null(collect_find(&out, RECORD_SCALAR, "sched.waiting", ""));
	assert_null(collect_find(&out, RECORD_SCALAR, "sched.migrations", ""));
	assert_true(collect_scalar(&out, "sched.switches", "") > 0);
	assert_near(collect_scalar(&out, "sched.running", ""), 3, 0);
	assert_near(collect_scalar(&out, "sched.blocked", ""), 1, 0);
	assert_near(collect_scalar(&out, "sched.forks", ""), 0, 0);
}

static void every_refused_record_is_an_error(void **state)
{
	_cleanup_(collect_release) struct collect all = collect_new();
	struct err e = {};
	double high;

	assert_int_equal(run_over("17", "1\n", &all, &high, &e), 0);
	for (size_t i = 1; i <= all.list.nr; i++) {
		_cleanup_(collect_release) struct collect out = collect_new();

		out.fail_at = i;
		assert_int_equal(run_over("17", "1\n", &out, &high, &e), -EIO);
	}
}

static int parse(const char *text, struct schedstat *ret)
{
	return schedstat_parse(text, strlen(text), ret, &(struct err){});
}

static void rubbish_is_refused(void **state)
{
	static const struct {
		const char *text;
		int r;
	} bad[] = {
		{ "", -EBADMSG },
		{ "cpu0 1 2 3 4 5 6 7 8 9\n", -EBADMSG },
		{ "version 14\ncpu0 1 2 3 4 5 6 7 8 9 10 11 12\n", -ENOTSUP },
		{ "version x\n", -EBADMSG },
		{ "version 15\ntimestamp 5\n", -EBADMSG },
		{ "version 15\ncpu0 1 2 3 4 5 6 7 8\n", -EBADMSG },
		{ "version 15\ncpu0 1 2 3 4 5 6 7 8 9 10\n", -EBADMSG },
		{ "version 15\ncpu0 1 2 3 4 5 6 7 8 18446744073709551616\n", -EBADMSG },
		{ "version 15\ncpu1 1 2 3 4 5 6 7 8 9\ncpu1 1 2 3 4 5 6 7 8 9\n", -EBADMSG },
		{ "version 15\ncpu99999 1 2 3 4 5 6 7 8 9\n", -EBADMSG },
		{ "version 15\ncpu0 1 2 3 4 5 6 7 8 9", -EBADMSG },
	};
	struct schedstat_thread t;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_(schedstat_release) struct schedstat s = {};

		if (parse(bad[i].text, &s) != bad[i].r)
			fail_msg("%s", bad[i].text);
		assert_null(s.cpus);
	}
	assert_true(schedstat_thread_parse("1 2 3\n", 6, &t));
	assert_true(t.run_ns == 1 && t.wait_ns == 2 && t.slices == 3);
	assert_false(schedstat_thread_parse("1 2 3", 5, &t));
	assert_false(schedstat_thread_parse("1 2\n", 4, &t));
	assert_false(schedstat_thread_parse("1 2 3 4\n", 8, &t));
	assert_false(schedstat_thread_parse("", 0, &t));
}

static void newer_versions_are_taken_while_they_look_alike(void **state)
{
	_cleanup_(schedstat_release) struct schedstat s = {};

	assert_int_equal(parse("version 99\ntimestamp 1\nnew thing\ncpu0 1 2 3 4 5 6 7 8 9\n"
			       "domain0 NEW x y\ncpu7 9 8 7 6 5 4 3 2 1\ncpu8 1",
			       &s),
			 0);
	assert_int_equal(s.version, 99);
	assert_int_equal(s.nr_cpus, 2);
	assert_true(s.truncated);
	assert_true(schedstat_cpu(&s, 7)->v[SCHEDSTAT_WAIT_NS] == 2);
	assert_null(schedstat_cpu(&s, 8));
}

static uint64_t machine_switches(int proc_fd)
{
	_cleanup_(buf_release) struct buf text = {};
	_cleanup_(procstat_release) struct procstat s = {};
	struct err e = {};

	assert_int_equal(kfile_read(proc_fd, "stat", &text, &e), 0);
	assert_int_equal(procstat_parse(text.data, text.len, &s, &e), 0);
	assert_true(s.ctxt.known);
	return s.ctxt.v;
}

/* A byte there and back between two processes, each time a switch or two. */
static void play(int rounds)
{
	int to[2], from[2];
	pid_t pid;
	char c = 0;

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	pid = fork();
	if (pid == 0) {
		close(to[1]);
		while (read(to[0], &c, 1) == 1 && write(from[1], &c, 1) == 1)
			;
		_exit(0);
	}
	assert_true(pid > 0);
	close(to[0]);
	close(from[1]);
	for (int i = 0; i < rounds; i++) {
		assert_int_equal(write(to[1], &c, 1), 1);
		assert_int_equal(read(from[0], &c, 1), 1);
	}
	close(to[1]);
	close(from[0]);
	waitpid(pid, NULL, 0);
}

/* On the machine itself: between what the kernel counted inside and outside of the window. */
static void switches_lie_between_two_windows_of_another_counter(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	_cleanup_(instance_release) struct instance inst = { .plugin = strdup("sched"),
							     .name = strdup("sched") };
	_cleanup_(host_release) struct host host = { -1, -1, -1, { -1, -1, "" }, { -1, -1, "" } };
	struct probe_env env = { .host = &host, .duration_ns = NS_PER_S };
	uint64_t outer[2], inner[2], t[4];
	double rate, sum = 0;
	struct probe *p = NULL;
	struct err e = {};
	size_t cpus = 0;

	prctl(PR_SET_NAME, "sched-test");
	assert_int_equal(host_open(&host, &e), 0);
	assert_int_equal(instance_set(&inst, "threads", "sched-te*", 0, &e), 0);
	assert_int_equal(probe_sched.open(&p, &env, &inst, &e), 0);
	outer[0] = machine_switches(host.proc_fd);
	t[0] = clock_mono_ns();
	assert_int_equal(probe_sched.start(p, clock_mono_ns(), &e), 0);
	t[1] = clock_mono_ns();
	inner[0] = machine_switches(host.proc_fd);
	play(2000);
	inner[1] = machine_switches(host.proc_fd);
	t[2] = clock_mono_ns();
	assert_int_equal(probe_sched.stop(p, clock_mono_ns(), &e), 0);
	t[3] = clock_mono_ns();
	outer[1] = machine_switches(host.proc_fd);
	if (probe_sched.drain(p, &out.sink, &e) < 0)
		fail_msg("%s", e.msg);
	probe_sched.close(p);

	/* the count is the rate times a length between the two windows' */
	rate = collect_scalar(&out, "sched.switches", "");
	assert_true(rate * (double)(t[3] - t[0]) * 1e-9 >= (double)(inner[1] - inner[0]));
	assert_true(rate * (double)(t[2] - t[1]) * 1e-9 <= (double)(outer[1] - outer[0]));
	if (!collect_event(&out, "running and waiting of threads is unknown")) {
		assert_true(collect_scalar(&out, "sched.thread-run", "thread=sched-test") > 0);
		assert_true(collect_scalar(&out, "sched.thread-slices", "thread=sched-test") > 0);
	}
	if (collect_event(&out, "switches by CPU and migrations are unknown")) {
		print_message("no counters of CPUs here\n");
		skip();
	}
	for (size_t i = 0; i < out.list.nr; i++) {
		const struct record *rec = out.list.v[i];

		if (rec->kind == RECORD_SCALAR && *rec->labels &&
		    strcmp(rec->metric, "sched.switches") == 0) {
			sum += rec->value;
			cpus++;
		}
	}
	assert_true(cpus > 0);
	assert_true(sum * (double)(t[3] - t[0]) * 1e-9 >= (double)(inner[1] - inner[0]));
	assert_true(sum * (double)(t[2] - t[1]) * 1e-9 <= (double)(outer[1] - outer[0]));
	assert_true(collect_scalar(&out, "sched.migrations", "") >= 0);
	assert_true(collect_scalar(&out, "sched.migrations", "") <= rate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_are_read_as_an_independent_reader_says),
		cmocka_unit_test(cpus_that_come_and_go_are_left_out_and_said),
		cmocka_unit_test(what_is_absent_is_said_and_has_no_value),
		cmocka_unit_test(every_refused_record_is_an_error),
		cmocka_unit_test(rubbish_is_refused),
		cmocka_unit_test(newer_versions_are_taken_while_they_look_alike),
		cmocka_unit_test(switches_lie_between_two_windows_of_another_counter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
