// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include "base/clock.h"
#include "base/rng.h"
#include "collect.h"
#include "probe/emit.h"
#include "probe/tally.h"
#include "probe/ticker.h"

/* A window over nothing, with at least two intervals. */
static struct ticker *window(void)
{
	struct ticker *t = NULL;
	struct err e = {};

	for (int tries = 0; tries < 20; tries++) {
		assert_int_equal(ticker_new(&t, NS_PER_MS, 100 * NS_PER_MS, &e), 0);
		assert_int_equal(ticker_arm(t, &e), 0);
		assert_int_equal(ticker_start(t, clock_mono_ns(), &e), 0);
		usleep(20000);
		assert_int_equal(ticker_stop(t, clock_mono_ns(), &e), 0);
		if (ticker_intervals(t) >= 2)
			return t;
		ticker_free(t);
	}
	return NULL;
}

static void emit_all(struct tally *t, const struct ticker *w, size_t max, struct collect *out)
{
	struct err e = {};
	struct emit m = { .out = &out->sink, .instance = "p", .e = &e };

	tally_emit(t, w, &m, "x", "1/s", max);
	assert_int_equal(m.r, 0);
}

static void rows_are_found_again_among_many(void **state)
{
	_cleanup_(tally_release) struct tally t = { .nr = 3 };
	uint64_t seed = 1, sum[5000] = {}, all = 0;

	for (int i = 0; i < 50000; i++) {
		unsigned int n = (unsigned int)rng_below(&seed, 5000);
		char labels[32];
		double *v;

		snprintf(labels, sizeof(labels), "cpu=%u,irq=%u", n % 128, n / 128);
		v = tally_row(&t, labels);
		assert_non_null(v);
		v[1] = isnan(v[1]) ? 1 : v[1] + 1;
		sum[n]++;
	}
	for (size_t n = 0; n < 5000; n++) {
		char labels[32];

		snprintf(labels, sizeof(labels), "cpu=%u,irq=%u", (unsigned int)n % 128,
			 (unsigned int)n / 128);
		if (sum[n]) {
			assert_true(tally_row(&t, labels)[1] == (double)sum[n]);
			assert_true(isnan(tally_row(&t, labels)[0]));
			all++;
		}
	}
	assert_int_equal(t.nr_rows, all);
}

static void rows_of_nothing_are_no_series(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	_cleanup_(ticker_freep) struct ticker *w = window();
	_cleanup_(tally_release) struct tally t = {};

	if (!w) {
		print_message("the machine was too busy to read at any boundary\n");
		skip();
	}
	t.nr = ticker_intervals(w);
	tally_row(&t, "unknown");
	tally_row(&t, "zero")[0] = 0;
	tally_row(&t, "some")[1] = 5;
	tally_row(&t, "cold")[0] = -5; /* degrees */
	emit_all(&t, w, 100, &out);
	assert_int_equal(out.list.nr, 2);
	assert_int_equal(collect_find(&out, RECORD_SERIES, "p.x", "some")->nr_points, 1);
	assert_true(collect_find(&out, RECORD_SERIES, "p.x", "cold")->points[0].v == -5);
	assert_int_equal(collect_find(&out, RECORD_SERIES, "p.x", "some")->points[0].t_ns,
			 ticker_boundary_ns(w, 2));
}

static void the_largest_rows_are_kept(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	_cleanup_(ticker_freep) struct ticker *w = window();
	_cleanup_(tally_release) struct tally t = {};

	if (!w) {
		print_message("the machine was too busy to read at any boundary\n");
		skip();
	}
	t.nr = ticker_intervals(w);
	for (int i = 0; i < 100; i++) {
		char labels[16];

		snprintf(labels, sizeof(labels), "n=%d", i);
		tally_row(&t, labels)[0] = 1 + i * 37 % 100;
	}
	emit_all(&t, w, 10, &out);
	assert_int_equal(out.list.nr, 11);
	for (int i = 0; i < 10; i++)
		assert_true(out.list.v[i]->points[0].v == 100 - i);
	assert_non_null(collect_event(&out, "x: series of the 10 busiest of 100 rows"));
}

static void one_interval_has_no_series(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	_cleanup_(tally_release) struct tally t = { .nr = 1 };

	tally_row(&t, "")[0] = 5;
	emit_all(&t, NULL, 10, &out);
	assert_int_equal(out.list.nr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_found_again_among_many),
		cmocka_unit_test(rows_of_nothing_are_no_series),
		cmocka_unit_test(the_largest_rows_are_kept),
		cmocka_unit_test(one_interval_has_no_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
