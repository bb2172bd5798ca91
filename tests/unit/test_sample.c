// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <pthread.h>

#include "base/rng.h"
#include "sample/codec.h"
#include "sample/hist.h"
#include "sample/sample.h"

static void buckets_tile_the_whole_range(void **state)
{
	for (unsigned int i = 0; i + 1 < HIST_BUCKETS; i++) {
		assert_true(hist_upper(i) + 1 == hist_lower(i + 1));
		assert_int_equal(hist_index(hist_lower(i)), i);
		assert_int_equal(hist_index(hist_upper(i)), i);
	}
	assert_true(hist_lower(0) == 0);
	assert_true(hist_upper(HIST_BUCKETS - 1) == UINT64_MAX);
}

static void a_bucket_is_never_wider_than_promised(void **state)
{
	for (unsigned int i = 2 * HIST_SUB; i < HIST_BUCKETS; i++) {
		double width = (double)(hist_upper(i) - hist_lower(i));

		assert_true(width / (double)hist_lower(i) <= 1.0 / HIST_SUB);
	}
}

static void quantiles_bracket_the_true_ones(void **state)
{
	_cleanup_(hist_freep) struct hist *h = hist_new();
	uint64_t v = 0;

	assert_int_equal(hist_quantile(h, 0.5, &v), -ENODATA);
	for (uint64_t i = 1; i <= 100000; i++)
		hist_add(h, i * 37);
	for (double q = 0.001; q < 1; q += 0.001) {
		double want = ceil(q * 100000) * 37;

		assert_int_equal(hist_quantile(h, q, &v), 0);
		assert_true((double)v >= want && (double)v <= want * (1 + 1.0 / HIST_SUB));
	}
	assert_int_equal(hist_quantile(h, 1, &v), 0);
	assert_int_equal(v, 3700000);
	assert_int_equal(hist_quantile(h, 1.1, &v), -EDOM);
	assert_int_equal(hist_quantile(h, (double)NAN, &v), -EDOM);
}

static void random_fill(struct hist *h, uint64_t seed, int n)
{
	while (n--)
		hist_add(h, rng_next(&seed) >> rng_below(&seed, 64));
}

static void merging_commutes(void **state)
{
	_cleanup_(hist_freep) struct hist *a = hist_new(), *b = hist_new();
	_cleanup_(hist_freep) struct hist *ab = hist_new(), *ba = hist_new();

	random_fill(a, 1, 1000);
	random_fill(b, 2, 500);
	hist_merge(ab, a);
	hist_merge(ab, b);
	hist_merge(ba, b);
	hist_merge(ba, a);
	assert_int_equal(ab->total, 1500);
	assert_true(ab->min == ba->min && ab->max == ba->max);
	assert_memory_equal(ab->count, ba->count, sizeof(ab->count));
}

static void hist_survives_its_blob(void **state)
{
	for (int n = 0; n <= 1000; n += 500) {
		_cleanup_(hist_freep) struct hist *a = hist_new(), *b = NULL;
		_cleanup_(buf_release) struct buf blob = {};
		struct err e = {};

		random_fill(a, 3, n);
		assert_int_equal(codec_hist_encode(a, &blob), 0);
		assert_int_equal(codec_hist_decode(blob.data, blob.len, &b, &e), 0);
		assert_memory_equal(a, b, sizeof(*a));
	}
}

static void series_survives_its_blob(void **state)
{
	const struct point points[] = {
		{ -5000000000, 1.5 }, { 0, -0.0 }, { 7, 1e300 }, { INT64_MAX, 3 }
	};
	_cleanup_(buf_release) struct buf blob = {};
	struct point *back = NULL;
	struct err e = {};
	size_t nr = 0;

	assert_int_equal(codec_series_encode(points, 4, &blob), 0);
	assert_int_equal(codec_series_decode(blob.data, blob.len, &back, &nr, &e), 0);
	assert_int_equal(nr, 4);
	assert_memory_equal(points, back, sizeof(points));
	free(back);
}

static struct record every_kind(enum record_kind kind, const struct hist *h, const struct point *p)
{
	return (struct record){ .kind = kind,
				.metric = "wakeup.latency",
				.unit = "ns",
				.labels = "cpu=0,prio=98",
				.value = kind == RECORD_SCALAR ? 2.5 : 0,
				.hist = kind == RECORD_HIST ? h : NULL,
				.points = kind == RECORD_SERIES ? p : NULL,
				.nr_points = kind == RECORD_SERIES ? 1 : 0,
				.t_ns = kind == RECORD_EVENT ? -3 : 0,
				.severity = kind == RECORD_EVENT ? SEVERITY_WARN : 0,
				.text = kind == RECORD_EVENT ? "NOHZ" : NULL };
}

static void records_survive_the_wire_and_no_damage_is_read(void **state)
{
	_cleanup_(hist_freep) struct hist *h = hist_new();
	const struct point p = { 1, 2 };

	random_fill(h, 4, 50);
	for (enum record_kind kind = RECORD_SCALAR; kind <= RECORD_EVENT; kind++) {
		struct record rec = every_kind(kind, h, &p);
		_cleanup_(record_freep) struct record *back = NULL, *copy = NULL;
		_cleanup_(buf_release) struct buf wire = {};
		struct err e = {};

		assert_int_equal(codec_record_encode(&rec, &wire), 0);
		assert_int_equal(codec_record_decode(wire.data, wire.len, &back, &e), 0);
		copy = record_copy(back);
		assert_non_null(copy);
		assert_string_equal(copy->metric, rec.metric);
		assert_string_equal(copy->labels, rec.labels);
		assert_true(copy->value == rec.value && copy->t_ns == rec.t_ns);
		if (rec.text)
			assert_string_equal(copy->text, rec.text);
		/* every shorter prefix must be refused, from memory of exactly that size */
		for (size_t len = 0; len < wire.len; len++) {
			_cleanup_(freep) char *part = malloc(len ? len : 1);
			struct record *none = NULL;

			memcpy(part, wire.data, len);
			assert_true(codec_record_decode(part, len, &none, &e) < 0);
			assert_null(none);
		}
	}
}

static void random_bytes_never_crash_the_decoder(void **state)
{
	uint64_t seed = 5;

	for (int i = 0; i < 20000; i++) {
		unsigned char bytes[64];
		size_t len = rng_below(&seed, sizeof(bytes));
		_cleanup_(record_freep) struct record *rec = NULL;
		struct err e = {};

		for (size_t k = 0; k < len; k++)
			bytes[k] = (unsigned char)(rng_next(&seed) & (k < 5 ? 3 : 255));
		codec_record_decode(bytes, len, &rec, &e);
	}
}

static void *add_many(void *arg)
{
	for (uint64_t i = 0; i < 200000; i++)
		hist_add_shared(arg, i % 1000 ? 10 + i % 300 : 500000);
	return NULL;
}

/* While one thread adds, copies never go back, and the last one is what hist_add() makes. */
static void a_snapshot_of_a_growing_histogram_is_whole(void **state)
{
	_cleanup_(hist_freep) struct hist *h = hist_new(), *copy = hist_new(), *want = hist_new();
	uint64_t last = 0;
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, add_many, h), 0);
	while (last < 200000) {
		uint64_t sum = 0;

		hist_snapshot(h, copy);
		for (unsigned int i = 0; i < HIST_BUCKETS; i++)
			sum += copy->count[i];
		assert_int_equal(copy->total, sum);
		assert_true(copy->total >= last);
		last = copy->total;
	}
	pthread_join(t, NULL);
	hist_snapshot(h, copy);
	for (uint64_t i = 0; i < 200000; i++)
		hist_add(want, i % 1000 ? 10 + i % 300 : 500000);
	assert_memory_equal(copy, want, sizeof(*want));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_tile_the_whole_range),
		cmocka_unit_test(a_bucket_is_never_wider_than_promised),
		cmocka_unit_test(quantiles_bracket_the_true_ones),
		cmocka_unit_test(merging_commutes),
		cmocka_unit_test(hist_survives_its_blob),
		cmocka_unit_test(series_survives_its_blob),
		cmocka_unit_test(records_survive_the_wire_and_no_damage_is_read),
		cmocka_unit_test(random_bytes_never_crash_the_decoder),
		cmocka_unit_test(a_snapshot_of_a_growing_histogram_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
