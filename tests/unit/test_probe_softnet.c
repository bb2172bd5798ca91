// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/cpuset.h"
#include "base/rng.h"
#include "collect.h"
#include "plan/instance.h"
#include "probe/probe.h"
#include "probe/softnet.h"
#include "tree.h"

extern const struct probe_ops probe_softnet;

static void read_fixture(const char *name, struct buf *out)
{
	_cleanup_(close_fdp) int fd =
		open("tests/fixtures/softnet", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err e = {};

	if (kfile_read(fd, name, out, &e) < 0)
		fail_msg("%s", e.msg);
}

static void parse_fixture(const char *name, struct softnet *ret)
{
	_cleanup_(buf_release) struct buf text = {};
	struct err e = {};

	read_fixture(name, &text);
	if (softnet_parse(text.data, text.len, ret, &e) < 0)
		fail_msg("%s: %s", name, e.msg);
}

static void put_fixture(const struct tree *t, const char *name)
{
	_cleanup_(buf_release) struct buf text = {};

	read_fixture(name, &text);
	tree_write(t, "proc/net/softnet_stat", text.data);
}

/* From open to drain over two texts; @online of the first and of the second. */
struct window {
	const char *before, *after; /* fixtures */
	const char *online[2];	    /* NULL: no such file */
};

static int run(const struct window *w, struct collect *out, double *ret_seconds, struct err *e)
{
	_cleanup_(instance_release) struct instance inst = { .plugin = strdup("softnet"),
							     .name = strdup("sn") };
	struct tree t;
	struct probe_env env = { .host = &t.host, .duration_ns = NS_PER_S };
	struct probe *p = NULL;
	uint64_t begin;
	int r;

	tree_make(&t);
	put_fixture(&t, w->before);
	if (w->online[0])
		tree_write(&t, "sys/devices/system/cpu/online", w->online[0]);
	assert_int_equal(probe_softnet.usable(&t.host, e), 0);
	assert_int_equal(probe_softnet.open(&p, &env, &inst, e), 0);
	begin = clock_mono_ns();
	assert_int_equal(probe_softnet.start(p, begin, e), 0);
	put_fixture(&t, w->after);
	if (w->online[1])
		tree_write(&t, "sys/devices/system/cpu/online", w->online[1]);
	usleep(1000);
	assert_int_equal(probe_softnet.stop(p, clock_mono_ns(), e), 0);
	*ret_seconds = (double)(clock_mono_ns() - begin) * 1e-9;
	r = probe_softnet.drain(p, &out->sink, e);
	probe_softnet.close(p);
	tree_remove(&t);
	return r;
}

static double scalar_or(const struct collect *c, const char *metric, unsigned int cpu, double none)
{
	char labels[24];
	const struct record *rec;

	snprintf(labels, sizeof(labels), "cpu=%u", cpu);
	rec = collect_find(c, RECORD_SCALAR, metric, labels);
	return rec ? rec->value : none;
}

/* A column of the answers, "-" for none. */
static void check_count(const struct collect *c, const char *metric, unsigned int cpu,
			const char *want)
{
	if (strcmp(want, "-") == 0)
		assert_null(collect_find(c, RECORD_SCALAR, metric, ""));
	else
		assert_near(scalar_or(c, metric, cpu, 0), strtod(want, NULL), 0);
}

static void check_against(const char *name, const struct window *w)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	_cleanup_(buf_release) struct buf answers = {}, path = {};
	double high, sum[3] = {}, processed = 0, seconds = 0;
	struct err e = {};
	char *save = NULL;

	if (run(w, &out, &high, &e) < 0)
		fail_msg("%s", e.msg);
	buf_printf(&path, "%s.diff", name);
	read_fixture(buf_str(&path), &answers);
	for (char *line = strtok_r(answers.data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char v[6][16];
		unsigned int cpu;

		assert_int_equal(sscanf(line, "%u %15s %15s %15s %15s %15s %15s", &cpu, v[0], v[1],
					v[2], v[3], v[4], v[5]),
				 7);
		processed += strtod(v[0], NULL);
		for (int i = 0; i < 2; i++)
			sum[i] += strtod(v[i + 1], NULL);
		/* every rate is its count over the same seconds */
		if (seconds == 0 && strcmp(v[0], "0") != 0)
			seconds = strtod(v[0], NULL) / scalar_or(&out, "sn.processed", cpu, 0);
		assert_near(scalar_or(&out, "sn.processed", cpu, 0) * seconds, strtod(v[0], NULL),
			    1e-3);
		check_count(&out, "sn.dropped", cpu, v[1]);
		check_count(&out, "sn.time-squeeze", cpu, v[2]);
		assert_near(scalar_or(&out, "sn.received-rps", cpu, 0) * seconds,
			    strtod(v[3], NULL), 1e-3);
		check_count(&out, "sn.flow-limit", cpu, v[4]);
	}
	assert_true(seconds > 0.001 && seconds <= high);
	assert_near(collect_scalar(&out, "sn.processed", "") * seconds, processed, 1e-2);
	assert_near(collect_scalar(&out, "sn.dropped", ""), sum[0], 0);
	assert_near(collect_scalar(&out, "sn.time-squeeze", ""), sum[1], 0);
}

static void kernels_of_three_kinds_count_as_an_independent_reader_says(void **state)
{
	check_against("4.19", &(struct window){ "4.19-before",
						"4.19-after",
						{ "0,2-3,16\n", "0,2-3,16\n" } });
	check_against("6.12", &(struct window){ "6.12-before", "6.12-after", { NULL, NULL } });
	check_against("5.10", &(struct window){ "5.10-before", "5.10-after", { NULL, NULL } });
}

static void columns_that_the_kernel_lacks_are_named_and_have_no_value(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	const struct window w = { "4.19-before", "4.19-after", { "0,2-3,16\n", "0,2-3,16\n" } };
	struct err e = {};
	double high;

	assert_int_equal(run(&w, &out, &high, &e), 0);
	assert_non_null(collect_event(&out, "backlog is unknown: /proc/net/softnet_stat of this "
					    "kernel does not have it (Linux 5.10 does)"));
	assert_null(collect_event(&out, "flow-limit is unknown"));
	assert_null(collect_find(&out, RECORD_SCALAR, "sn.backlog", ""));
	assert_non_null(collect_event(&out, "2 packets were dropped because"));
	assert_non_null(collect_event(&out, "7 packets were dropped by the flow limit"));
}

static void backlogs_are_means_of_the_readings(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	const struct window w = { "6.12-before", "6.12-after", { NULL, NULL } };
	struct err e = {};
	double high;

	assert_int_equal(run(&w, &out, &high, &e), 0);
	assert_near(collect_scalar(&out, "sn.backlog", "cpu=0"), 2.5, 1e-12);
	assert_near(collect_scalar(&out, "sn.backlog", "cpu=127"), 8.5, 1e-12);
	assert_near(collect_scalar(&out, "sn.backlog", ""), 11, 1e-12);
}

static void cpus_that_come_and_go_are_said(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	const struct window w = { "5.10-before", "5.10-after", { NULL, NULL } };
	struct err e = {};
	double high;

	assert_int_equal(run(&w, &out, &high, &e), 0);
	/* 1 came: since when is unknown; 3 went */
	assert_non_null(collect_event(&out, "CPUs came online within the window"));
	assert_non_null(collect_event(&out, "1 CPUs went offline within the window"));
	assert_near(scalar_or(&out, "sn.processed", 1, -1), 0, 0);
}

static void rows_without_cpus_are_not_guessed(void **state)
{
	_cleanup_(collect_release) struct collect none = collect_new(), moved = collect_new();
	const struct window unknown = { "4.19-before", "4.19-after", { NULL, NULL } };
	const struct window fewer = { "4.19-before", "4.19-after", { "0,2-3,16", "0,2-3" } };
	struct err e = {};
	double high;

	assert_int_equal(run(&unknown, &none, &high, &e), 0);
	assert_non_null(collect_event(&none, "only sums are known"));
	assert_null(collect_find(&none, RECORD_SCALAR, "sn.processed", "cpu=0"));
	assert_near(collect_scalar(&none, "sn.time-squeeze", ""), 3, 0);
	assert_int_equal(run(&fewer, &moved, &high, &e), 0);
	assert_non_null(collect_event(&moved, "CPUs went on- or offline during 1 readings"));
	assert_null(collect_find(&moved, RECORD_SCALAR, "sn.processed", ""));
}

static void truncated_text_loses_rows_but_never_invents_counts(void **state)
{
	_cleanup_(buf_release) struct buf text = {};
	_cleanup_(softnet_release) struct softnet whole = {};
	size_t header;

	read_fixture("6.12-after", &text);
	parse_fixture("6.12-after", &whole);
	header = strcspn(text.data, "\n") + 1;
	for (size_t len = 0; len < text.len; len++) {
		_cleanup_(softnet_release) struct softnet s = {};
		_cleanup_(freep) char *exact = malloc(len ? len : 1);
		struct err e = {};
		int r;

		memcpy(exact, text.data, len);
		r = softnet_parse(exact, len, &s, &e);
		assert_int_equal(r, len < header ? -EBADMSG : 0);
		if (r < 0)
			continue;
		assert_int_equal(s.truncated, text.data[len - 1] != '\n');
		assert_int_equal(s.nr_rows, len < 2 * header ? 1 : len < 3 * header ? 2 : 3);
		assert_memory_equal(s.rows, whole.rows, s.nr_rows * sizeof(*s.rows));
	}
}

static void rubbish_is_refused_or_left_out(void **state)
{
	static const char *const bad[] = { "",
					   "\n",
					   "1 2 3\n",
					   "0 0 0 0 0 0 0 0 x\n",
					   "100000000 0 0 0 0 0 0 0 0\n",
					   "-1 0 0 0 0 0 0 0 0\n" };
	static const char text[] = "a B 3 0 0 0 0 0 0 5 6\n"
				   "1 2 3\n"
				   "\n"
				   "1 2 3 0 0 0 0 0 0 5 6 7\n"
				   "b C 4 0 0 0 0 0 0 5 7\n";
	/* the kernel writes no CPU twice: which of the two is meant cannot be told */
	static const char twice[] = "1 0 0 0 0 0 0 0 0 0 0 0 5\n2 0 0 0 0 0 0 0 0 0 0 0 5\n"
				    "3 0 0 0 0 0 0 0 0 0 0 0 ffffffff\n";
	_cleanup_(softnet_release) struct softnet s = {}, t = {};
	struct err e = {};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(softnet_parse(bad[i], strlen(bad[i]), &s, &e), -EBADMSG);
		assert_null(s.rows);
	}
	assert_int_equal(softnet_parse(text, strlen(text), &s, &e), 0);
	assert_int_equal(s.nr_rows, 2);
	assert_int_equal(s.nr_bad, 2);
	assert_int_equal(s.rows[1].v[SOFTNET_DROPPED], 12);
	assert_int_equal(s.rows[1].v[SOFTNET_FLOW_LIMIT], 7);
	assert_false(s.has[SOFTNET_BACKLOG]);
	assert_int_equal(softnet_parse(twice, strlen(twice), &t, &e), 0);
	assert_int_equal(t.nr_rows, 1);
	assert_int_equal(t.nr_bad, 2);
	assert_int_equal(softnet_row(&t, 5)->v[SOFTNET_PROCESSED], 1);
	assert_null(softnet_row(&t, 0));
}

static void every_refused_record_is_an_error(void **state)
{
	_cleanup_(collect_release) struct collect all = collect_new();
	const struct window w = { "6.12-before", "6.12-after", { NULL, NULL } };
	struct err e = {};
	double high;

	assert_int_equal(run(&w, &all, &high, &e), 0);
	for (size_t i = 1; i <= all.list.nr; i++) {
		_cleanup_(collect_release) struct collect out = collect_new();

		out.fail_at = i;
		assert_int_equal(run(&w, &out, &high, &e), -EIO);
	}
}

/* A thousand datagrams over loopback pass through a backlog. */
static void loopback_traffic_is_processed(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	_cleanup_(instance_release) struct instance inst = { .plugin = strdup("softnet"),
							     .name = strdup("sn") };
	_cleanup_(host_release) struct host host = { -1, -1, -1, { -1, -1, "" }, { -1, -1, "" } };
	_cleanup_(close_fdp) int to = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	_cleanup_(close_fdp) int from = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct probe_env env = { .host = &host, .duration_ns = NS_PER_S };
	socklen_t len = sizeof(a);
	struct probe *p = NULL;
	struct err e = {};
	uint64_t begin;

	assert_int_equal(host_open(&host, &e), 0);
	assert_int_equal(bind(to, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(to, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(probe_softnet.open(&p, &env, &inst, &e), 0);
	begin = clock_mono_ns();
	assert_int_equal(probe_softnet.start(p, begin, &e), 0);
	for (int i = 0; i < 1000; i++) {
		char c = 0;

		assert_int_equal(sendto(from, &c, 1, 0, (struct sockaddr *)&a, sizeof(a)), 1);
		assert_int_equal(recv(to, &c, 1, 0), 1);
	}
	assert_int_equal(probe_softnet.stop(p, clock_mono_ns(), &e), 0);
	begin = clock_mono_ns() - begin;
	assert_int_equal(probe_softnet.drain(p, &out.sink, &e), 0);
	assert_true(collect_scalar(&out, "sn.processed", "") * (double)begin * 1e-9 > 500);
	assert_true(collect_scalar(&out, "sn.dropped", "") >= 0);
	probe_softnet.close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_of_three_kinds_count_as_an_independent_reader_says),
		cmocka_unit_test(columns_that_the_kernel_lacks_are_named_and_have_no_value),
		cmocka_unit_test(backlogs_are_means_of_the_readings),
		cmocka_unit_test(cpus_that_come_and_go_are_said),
		cmocka_unit_test(rows_without_cpus_are_not_guessed),
		cmocka_unit_test(truncated_text_loses_rows_but_never_invents_counts),
		cmocka_unit_test(rubbish_is_refused_or_left_out),
		cmocka_unit_test(every_refused_record_is_an_error),
		cmocka_unit_test(loopback_traffic_is_processed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
