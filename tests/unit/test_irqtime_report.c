// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include "base/clock.h"
#include "base/host.h"
#include "collect.h"
#include "plan/instance.h"
#include "probe/emit.h"
#include "probe/irqtime.h"
#include "probe/irqtime_report.h"
#include "probe/probe.h"

extern const struct probe_ops probe_irqtime;

static const unsigned int cpus[] = { 0, 1 };

static struct irqtime_row row(enum irqtime_kind kind, unsigned int cpu, uint64_t id,
			      const char *name, uint64_t count, uint64_t ns)
{
	struct irqtime_row r = { .kind = kind, .cpu = cpu, .id = id, .count = count, .ns = ns };

	snprintf(r.name, sizeof(r.name), "%s", name);
	return r;
}

/* 2 s of 2 CPUs, one reading in the middle. */
static void report(struct irqtime_row *rows, size_t nr, const struct irqtime_series *series,
		   struct collect *out, struct err *e, int *ret)
{
	struct irqtime_table during = { .v = calloc(nr + 1, sizeof(*rows)), .nr = nr, .lost = 3 };
	struct emit m = { .out = &out->sink, .instance = "irqtime", .e = e };
	const struct irqtime_window w = {
		.begin_ns = 10 * NS_PER_S, .length_ns = 2 * NS_PER_S, .cpus = cpus, .nr_cpus = 2
	};
	const struct irqtime_series none = { .nr_cpus = 2 };

	assert_non_null(during.v);
	memcpy(during.v, rows, nr * sizeof(*rows));
	irqtime_table_sort(&during);
	irqtime_report(&m, &w, &during, series ? series : &none);
	irqtime_table_release(&during);
	*ret = m.r;
}

static void shares_are_of_the_window_and_totals_of_all_cpus(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	struct irqtime_row rows[] = {
		row(IRQTIME_HARDIRQ, 0, 36, "virtio1-req.0", 1000, 20000000),
		row(IRQTIME_VECTOR, 1, 236, "local_timer", 3000, 60000000),
		row(IRQTIME_SOFTIRQ, 0, 3, "NET_RX", 500, 400000000),
		row(IRQTIME_SOFTIRQ, 1, 3, "NET_RX", 100, 40000000),
		row(IRQTIME_SOFTIRQ, 1, 1, "TIMER", 50, 1000000),
	};
	struct err e = {};
	int r;

	rows[2].extra = 1000000; /* waited, over 400 of the 500 */
	rows[2].extra2 = 400;
	report(rows, ARRAY_SIZE(rows), NULL, &out, &e, &r);
	assert_int_equal(r, 0);
	assert_near(collect_scalar(&out, "irqtime.hardirq", "cpu=0,irq=36,name=virtio1-req.0"),
		    0.01, 1e-12);
	assert_near(collect_scalar(&out, "irqtime.irqs", "cpu=0,irq=36,name=virtio1-req.0"), 500,
		    1e-9);
	assert_near(collect_scalar(&out, "irqtime.irq-ns", "cpu=0,irq=36,name=virtio1-req.0"),
		    20000, 1e-9);
	assert_near(collect_scalar(&out, "irqtime.hardirq", "cpu=1,vector=local_timer"), 0.03,
		    1e-12);
	assert_near(collect_scalar(&out, "irqtime.softirq", "cpu=0,vec=NET_RX"), 0.2, 1e-12);
	assert_near(collect_scalar(&out, "irqtime.raise-wait", "cpu=0,vec=NET_RX"), 2500, 1e-9);
	assert_null(collect_find(&out, RECORD_SCALAR, "irqtime.raise-wait", "cpu=1,vec=NET_RX"));
	assert_near(collect_scalar(&out, "irqtime.hardirq", ""), 0.02, 1e-12);
	assert_near(collect_scalar(&out, "irqtime.irqs", ""), 2000, 1e-9);
	assert_near(collect_scalar(&out, "irqtime.irq-ns", ""), 20000, 1e-9);
	assert_near(collect_scalar(&out, "irqtime.softirq", ""), 0.441 / 4, 1e-12);
	assert_near(collect_scalar(&out, "irqtime.net-rx", ""), 0.11, 1e-12);
	assert_near(collect_scalar(&out, "irqtime.net-rx-ns", ""), 440000000.0 / 600, 1e-6);
	assert_near(collect_scalar(&out, "irqtime.net-rx-wait", ""), 2500, 1e-9);
	assert_near(collect_scalar(&out, "irqtime.lost", ""), 3, 0);
	assert_non_null(collect_event(&out, "3 events are in no row"));
	assert_null(collect_find(&out, RECORD_SCALAR, "irqtime.polls", ""));
}

static void polls_have_packets_and_budgets(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	struct irqtime_row rows[] = {
		row(IRQTIME_NAPI, 0, 8193, "eth0", 100, 3000000),
		row(IRQTIME_NAPI, 1, 0, "", 300, 1000000),
	};
	struct err e = {};
	int r;

	rows[0].extra = 6000;
	rows[0].extra2 = 25;
	rows[1].extra = 300;
	report(rows, 2, NULL, &out, &e, &r);
	assert_int_equal(r, 0);
	assert_near(collect_scalar(&out, "irqtime.packets-per-poll", "cpu=0,dev=eth0,napi=8193"),
		    60, 1e-12);
	assert_near(collect_scalar(&out, "irqtime.budget-exhausted", "cpu=0,dev=eth0,napi=8193"),
		    0.25, 1e-12);
	assert_near(collect_scalar(&out, "irqtime.poll-ns", "cpu=0,dev=eth0,napi=8193"), 30000,
		    1e-9);
	/* a CPU's backlog has no netdev */
	assert_near(collect_scalar(&out, "irqtime.packets", "cpu=1,dev=backlog,napi=0"), 150, 1e-9);
	assert_near(collect_scalar(&out, "irqtime.packets", ""), 3150, 1e-9);
	assert_near(collect_scalar(&out, "irqtime.packets-per-poll", ""), 15.75, 1e-12);
	assert_near(collect_scalar(&out, "irqtime.budget-exhausted", ""), 25.0 / 400, 1e-12);
}

static void threads_are_by_name_and_small_ones_together(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	struct irqtime_row rows[] = {
		row(IRQTIME_THREAD, 0, 71, "worker", 1, 100000000),
		row(IRQTIME_THREAD, 0, 99, "worker", 1, 300000000),
		row(IRQTIME_THREAD, 1, 71, "worker", 1, 200000000),
		row(IRQTIME_THREAD, 1, 50, "a", 1, 1000000),
		row(IRQTIME_THREAD, 0, 51, "x,y=z w", 1, 2000000),
		row(IRQTIME_THREAD, 0, 52, "small", 1, 1999999),
	};
	struct err e = {};
	int r;

	report(rows, ARRAY_SIZE(rows), NULL, &out, &e, &r);
	assert_int_equal(r, 0);
	assert_near(collect_scalar(&out, "irqtime.thread", "cpu=0,thread=worker"), 0.2, 1e-12);
	assert_near(collect_scalar(&out, "irqtime.thread", "cpu=1,thread=worker"), 0.1, 1e-12);
	assert_near(collect_scalar(&out, "irqtime.thread", "cpu=0,thread=x_y_z_w"), 0.001, 1e-12);
	assert_near(collect_scalar(&out, "irqtime.thread", "thread=others"), 2999999 / 2e9, 1e-12);
	assert_null(collect_find(&out, RECORD_SCALAR, "irqtime.thread", "cpu=0,thread=small"));
}

/* What the kernel lets a name be must not break the labels' form. */
static void hostile_names_stay_labels(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	struct irqtime_row rows[] = { row(IRQTIME_HARDIRQ, 0, 9, "a,cpu=7 \x01\xff", 1, 1) };
	struct err e = {};
	int r;

	report(rows, 1, NULL, &out, &e, &r);
	assert_int_equal(r, 0);
	collect_scalar(&out, "irqtime.irqs", "cpu=0,irq=9,name=a_cpu_7___");
}

static void series_are_of_the_intervals_between_readings(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	struct irqtime_series s = {};
	struct irqtime_row rows[] = {
		row(IRQTIME_HARDIRQ, 0, 36, "d", 1, 0),
		row(IRQTIME_VECTOR, 1, 236, "t", 1, 0),
		row(IRQTIME_SOFTIRQ, 1, 3, "NET_RX", 1, 0),
		row(IRQTIME_SOFTIRQ, 1, 1, "TIMER", 1, 0),
		row(IRQTIME_NAPI, 1, 5, "eth0", 1, 0),
		row(IRQTIME_THREAD, 0, 5, "t", 1, 77),
		row(IRQTIME_HARDIRQ, 7, 36, "d", 1, 99), /* a CPU that came later */
	};
	struct irqtime_table t = { .v = rows, .nr = ARRAY_SIZE(rows), .at_ns = 10 * NS_PER_S };
	const struct record *rec;
	struct err e = {};
	int r;

	assert_int_equal(irqtime_series_init(&s, 2, 3, &e), 0);
	irqtime_series_add(&s, &t);
	rows[0].ns = 10000000;
	rows[1].ns = 30000000;
	rows[2].ns = 400000000;
	rows[3].ns = 100000000;
	rows[4].extra = 12345;
	t.at_ns = 11 * NS_PER_S;
	irqtime_series_add(&s, &t);
	rows[2].ns = 300000000; /* cannot be: no movement */
	rows[0].ns = 20000000;
	t.at_ns = 11 * NS_PER_S + NS_PER_S / 2;
	irqtime_series_add(&s, &t);
	irqtime_series_add(&s, &t); /* no room */
	assert_int_equal(s.dropped, 1);
	report(rows, 0, &s, &out, &e, &r);
	irqtime_series_release(&s);
	assert_int_equal(r, 0);

	rec = collect_find(&out, RECORD_SERIES, "irqtime.hardirq", "");
	assert_non_null(rec);
	assert_int_equal(rec->nr_points, 2);
	assert_int_equal(rec->points[0].t_ns, NS_PER_S);
	assert_near(rec->points[0].v, 0.04 / 2, 1e-12);
	assert_int_equal(rec->points[1].t_ns, NS_PER_S + NS_PER_S / 2);
	assert_near(rec->points[1].v, 0.01 / 0.5 / 2, 1e-12);
	rec = collect_find(&out, RECORD_SERIES, "irqtime.softirq", "cpu=1");
	assert_near(rec->points[0].v, 0.5, 1e-12);
	assert_near(rec->points[1].v, 0, 0);
	rec = collect_find(&out, RECORD_SERIES, "irqtime.net-rx", "cpu=1");
	assert_near(rec->points[0].v, 0.4, 1e-12);
	rec = collect_find(&out, RECORD_SERIES, "irqtime.packets", "");
	assert_near(rec->points[0].v, 12345, 1e-9);
	assert_non_null(collect_event(&out, "the last 1 intervals are in no series"));
}

static void a_sink_that_refuses_is_an_error(void **state)
{
	struct irqtime_row rows[] = { row(IRQTIME_NAPI, 0, 1, "e", 1, 1),
				      row(IRQTIME_THREAD, 0, 1, "t", 1, 1000000000) };

	for (size_t at = 1; at < 100; at++) {
		_cleanup_(collect_release) struct collect out = collect_new();
		struct err e = {};
		int r;

		out.fail_at = at;
		report(rows, 2, NULL, &out, &e, &r);
		if (r == 0) {
			assert_true(at > 10); /* all records came through */
			return;
		}
		assert_int_equal(r, -EIO);
	}
	fail_msg("it never ends");
}

/* The whole probe on this machine. */
static void a_window_on_this_machine_has_ticks_and_a_series(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	_cleanup_(instance_release) struct instance inst = { .plugin = strdup("irqtime"),
							     .name = strdup("irqtime") };
	struct host host = {};
	struct probe_env env = { .host = &host, .duration_ns = NS_PER_S / 10 };
	struct probe *p = NULL;
	struct err e = {};
	double softirq;

	if (probe_irqtime.usable(&host, &e) < 0) {
		print_message("%s\n", e.msg);
		skip();
	}
	assert_int_equal(host_open(&host, &e), 0);
	assert_int_equal(instance_set(&inst, "interval", "20ms", 0, &e), 0);
	assert_int_equal(instance_set(&inst, "threads", "on", 0, &e), 0);
	assert_int_equal(instance_set(&inst, "wait", "on", 0, &e), 0);
	if (probe_irqtime.open(&p, &env, &inst, &e) < 0)
		fail_msg("%s", e.msg);
	if (probe_irqtime.drain(p, &out.sink, &e) != -ENODATA)
		fail_msg("drained before its window");
	assert_int_equal(probe_irqtime.start(p, clock_mono_ns(), &e), 0);
	usleep(150000);
	assert_int_equal(probe_irqtime.stop(p, clock_mono_ns(), &e), 0);
	assert_int_equal(probe_irqtime.drain(p, &out.sink, &e), 0);
	softirq = collect_scalar(&out, "irqtime.softirq", "");
	assert_true(softirq > 0 && softirq < 1);
	assert_true(collect_scalar(&out, "irqtime.softirqs", "") > 0);
	assert_non_null(collect_find(&out, RECORD_SERIES, "irqtime.softirq", ""));
	probe_irqtime.close(p);
	/* closed in the middle of a window */
	assert_int_equal(probe_irqtime.open(&p, &env, &inst, &e), 0);
	assert_int_equal(probe_irqtime.start(p, clock_mono_ns(), &e), 0);
	probe_irqtime.close(p);
	host_release(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_of_the_window_and_totals_of_all_cpus),
		cmocka_unit_test(polls_have_packets_and_budgets),
		cmocka_unit_test(threads_are_by_name_and_small_ones_together),
		cmocka_unit_test(hostile_names_stay_labels),
		cmocka_unit_test(series_are_of_the_intervals_between_readings),
		cmocka_unit_test(a_sink_that_refuses_is_an_error),
		cmocka_unit_test(a_window_on_this_machine_has_ticks_and_a_series),
	};

	return cmocka_run_group_tests_name("irqtime_report", tests, NULL, NULL);
}
