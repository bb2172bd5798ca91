// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "collect.h"
#include "probe/emit.h"
#include "probe/ticker.h"

#define INTERVAL (10 * NS_PER_MS)

static const char *const one[] = { "counter", NULL };
static const char *const two[] = { "counter", "other", NULL };

static void put(const struct scratch *s, const char *name, const char *text)
{
	scratch_write(s, name, O_TRUNC, text, strlen(text));
}

static size_t add(struct ticker *t, int root_fd, const char *path, size_t room, unsigned int flags)
{
	struct err e = {};
	int id = ticker_add(t, root_fd, path, room, flags, &e);

	if (id < 0)
		fail_msg("%s", e.msg);
	return (size_t)id;
}

static void events_of(const struct ticker *t, struct collect *out)
{
	struct err e = {};
	struct emit m = { .out = &out->sink, .instance = "probe", .e = &e };

	ticker_say(t, &m);
	assert_int_equal(m.r, 0);
}

/* A number of fixed width that only grows, as a counter of the kernel. */
struct counter {
	const struct scratch *s;
	atomic_bool end;
};

static void *count(void *arg)
{
	struct counter *c = arg;
	_cleanup_(close_fdp) int fd = openat(c->s->fd, "counter", O_WRONLY);

	for (unsigned int i = 1; !atomic_load(&c->end); i++) {
		char text[16];

		snprintf(text, sizeof(text), "%08u\n", i);
		assert_int_equal(pwrite(fd, text, 9, 0), 9);
	}
	return NULL;
}

static unsigned long value(const struct ticker *t, size_t id, size_t i)
{
	struct ticker_text text = ticker_text(t, id, i);
	char copy[16] = {};

	assert_int_equal(text.error, 0);
	assert_int_equal(text.len, 9);
	assert_false(text.clipped);
	memcpy(copy, text.text, text.len);
	return strtoul(copy, NULL, 10);
}

/* Whatever the machine does meanwhile: boundaries are multiples, readings go forward. */
static void readings_stand_at_the_boundaries_of_the_window(void **state)
{
	_cleanup_(ticker_freep) struct ticker *t = NULL;
	struct scratch s = scratch_new();
	struct counter c = { .s = &s };
	pthread_t thread;
	struct err e = {};
	uint64_t start;
	size_t id, nr;

	put(&s, "counter", "00000000\n");
	assert_int_equal(ticker_new(&t, INTERVAL, 10 * INTERVAL, &e), 0);
	id = add(t, s.fd, "counter", 8, TICKER_REQUIRED);
	assert_int_equal(ticker_arm(t, &e), 0);
	assert_int_equal(pthread_create(&thread, NULL, count, &c), 0);
	start = clock_mono_ns();
	assert_int_equal(ticker_start(t, start, &e), 0);
	assert_int_equal(ticker_readings(t), 0); /* the window is open */
	usleep(100000);
	assert_int_equal(ticker_stop(t, clock_mono_ns(), &e), 0);
	atomic_store(&c.end, true);
	pthread_join(thread, NULL);

	nr = ticker_readings(t);
	assert_true(nr >= 2 && nr <= 11);
	assert_int_equal(ticker_intervals(t), nr - 1);
	assert_int_equal(ticker_boundary_ns(t, 0), 0);
	for (size_t i = 1; i < nr; i++) {
		int64_t at = ticker_boundary_ns(t, i);
		struct ticker_text text = ticker_text(t, id, i);

		assert_true(at > ticker_boundary_ns(t, i - 1));
		assert_true(value(t, id, i) >= value(t, id, i - 1));
		assert_true(ticker_seconds(t, id, i - 1) > 0);
		if (i == nr - 1)
			break;
		assert_int_equal(at % (int64_t)INTERVAL, 0);
		/* never before its boundary, and not after the next one */
		assert_true((int64_t)(text.at_ns - start) >= at);
	}
	scratch_release(&s, one);
}

static void what_would_not_fit_is_read_less_often_and_said(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	_cleanup_(ticker_freep) struct ticker *t = NULL;
	_cleanup_(freep) char *large = malloc(1 << 20);
	struct scratch s = scratch_new();
	struct err e = {};
	size_t id;

	memset(large, 'x', 1 << 20);
	scratch_write(&s, "counter", O_TRUNC, large, 1 << 20);
	assert_int_equal(ticker_new(&t, NS_PER_S, 1000 * NS_PER_S, &e), 0);
	id = add(t, s.fd, "counter", 0, 0);
	assert_int_equal(ticker_arm(t, &e), 0);
	assert_int_equal(ticker_start(t, clock_mono_ns(), &e), 0);
	assert_int_equal(ticker_stop(t, clock_mono_ns(), &e), 0);
	assert_int_equal(ticker_text(t, id, 1).len, 1 << 20);
	events_of(t, &out);
	/* 64 MiB hold 51 readings of 1.25 MiB, two of them the edges: every 20th of 999 boundaries
	 * is one of 49 */
	assert_non_null(collect_event(&out, "read every 20 s, not every 1 s"));
	scratch_release(&s, one);
}

static void a_text_that_outgrows_its_room_is_clipped_and_said(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	_cleanup_(ticker_freep) struct ticker *t = NULL;
	struct scratch s = scratch_new();
	struct err e = {};
	size_t id;

	put(&s, "counter", "12345678");
	assert_int_equal(ticker_new(&t, NS_PER_S, NS_PER_S, &e), 0);
	id = add(t, s.fd, "counter", 2, 0);
	assert_int_equal(ticker_arm(t, &e), 0);
	assert_int_equal(ticker_start(t, clock_mono_ns(), &e), 0);
	put(&s, "counter", "12345678901234567890");
	assert_int_equal(ticker_stop(t, clock_mono_ns(), &e), 0);
	assert_false(ticker_text(t, id, 0).clipped);
	assert_true(ticker_text(t, id, 1).clipped);
	assert_memory_equal(ticker_text(t, id, 1).text, "123456789012", 12);
	events_of(t, &out);
	assert_non_null(collect_event(&out, "counter grew by more than a quarter"));
	scratch_release(&s, one);
}

/* Beyond the descriptors that are kept, files are opened each time, and may be gone by then. */
static void a_file_that_vanishes_has_no_text_and_is_said(void **state)
{
	for (int required = 0; required < 2; required++) {
		_cleanup_(collect_release) struct collect out = collect_new();
		_cleanup_(ticker_freep) struct ticker *t = NULL;
		struct scratch s = scratch_new();
		struct err e = {};
		size_t id;

		put(&s, "counter", "1\n");
		put(&s, "other", "2\n");
		assert_int_equal(ticker_new(&t, NS_PER_S, NS_PER_S, &e), 0);
		for (int i = 0; i < TICKER_KEPT; i++)
			id = add(t, s.fd, "counter", 8, 0);
		id = add(t, s.fd, "other", 8, required ? TICKER_REQUIRED : 0);
		assert_int_equal(id, TICKER_KEPT);
		assert_int_equal(ticker_arm(t, &e), 0);
		assert_int_equal(ticker_start(t, clock_mono_ns(), &e), 0);
		unlinkat(s.fd, "other", 0);
		assert_int_equal(ticker_stop(t, clock_mono_ns(), &e), required ? -ENOENT : 0);
		if (required) {
			assert_contains(e.msg, "read other: No such file or directory");
			assert_int_equal(ticker_readings(t), 0);
		} else {
			assert_int_equal(ticker_text(t, id, 0).error, 0);
			assert_int_equal(ticker_text(t, id, 1).error, -ENOENT);
			assert_true(ticker_seconds(t, id, 0) == 0);
			assert_true(ticker_seconds(t, 0, 0) > 0);
			events_of(t, &out);
			assert_non_null(collect_event(&out, "other could not be read 1 times"));
		}
		scratch_release(&s, one);
	}
}

static void files_of_the_edges_are_not_read_between(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	_cleanup_(ticker_freep) struct ticker *t = NULL;
	struct scratch s = scratch_new();
	size_t often, edges, nr;
	struct err e = {};

	put(&s, "counter", "1\n");
	put(&s, "other", "2\n");
	assert_int_equal(ticker_new(&t, INTERVAL, 10 * INTERVAL, &e), 0);
	often = add(t, s.fd, "counter", 8, 0);
	edges = add(t, s.fd, "other", 8, 0);
	ticker_only_edges(t, (int)edges);
	assert_int_equal(ticker_add(t, s.fd, "none", 8, 0, &e), -ENOENT);
	assert_int_equal(ticker_arm(t, &e), 0);
	assert_int_equal(ticker_start(t, clock_mono_ns(), &e), 0);
	usleep(50000);
	assert_int_equal(ticker_stop(t, clock_mono_ns(), &e), 0);
	nr = ticker_readings(t);
	for (size_t i = 0; i < nr; i++) {
		bool edge = i == 0 || i == nr - 1;

		assert_int_equal(ticker_text(t, often, i).error, 0);
		assert_int_equal(ticker_text(t, edges, i).error, edge ? 0 : -ENODATA);
	}
	assert_true(ticker_window_seconds(t, edges) > 0);
	events_of(t, &out);
	assert_null(collect_event(&out, "could not be read"));
	scratch_release(&s, two);
}

/* Registers and counters behind descriptors: a number at an offset, and one that cannot be sought.
 */
static void descriptors_are_read_at_once(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	_cleanup_(ticker_freep) struct ticker *t = NULL;
	_cleanup_(close_fdp) int fd = -1;
	struct scratch s = scratch_new();
	struct err e = {};
	int ends[2], at, stream;

	put(&s, "counter", "0123456789abcdef");
	fd = openat(s.fd, "counter", O_RDONLY);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "onetwo12", 8), 8);
	assert_int_equal(ticker_new(&t, NS_PER_S, NS_PER_S, &e), 0);
	at = ticker_add_fd(t, fd, "register", 10, 4, &e);
	stream = ticker_add_fd(t, ends[0], "stream", -1, 3, &e);
	assert_int_equal(ticker_arm(t, &e), 0);
	assert_int_equal(ticker_start(t, clock_mono_ns(), &e), 0);
	scratch_write(&s, "counter", O_TRUNC, "0123456789ab", 12);
	assert_int_equal(ticker_stop(t, clock_mono_ns(), &e), 0);
	assert_memory_equal(ticker_text(t, (size_t)at, 0).text, "abcd", 4);
	/* half a number is none */
	assert_int_equal(ticker_text(t, (size_t)at, 1).error, -EBADMSG);
	assert_memory_equal(ticker_text(t, (size_t)stream, 0).text, "one", 3);
	assert_memory_equal(ticker_text(t, (size_t)stream, 1).text, "two", 3);
	events_of(t, &out);
	assert_non_null(collect_event(&out, "register could not be read 1 times"));
	close(ends[0]);
	close(ends[1]);
	scratch_release(&s, one);
}

static void unknown_values_have_no_point(void **state)
{
	_cleanup_(ticker_freep) struct ticker *t = NULL;
	struct scratch s = scratch_new();
	double v[16];
	struct point points[16];
	struct err e = {};
	size_t nr, known = 0;

	put(&s, "counter", "1\n");
	assert_int_equal(ticker_new(&t, INTERVAL, 10 * INTERVAL, &e), 0);
	add(t, s.fd, "counter", 8, 0);
	assert_int_equal(ticker_arm(t, &e), 0);
	assert_int_equal(ticker_start(t, clock_mono_ns(), &e), 0);
	usleep(50000);
	assert_int_equal(ticker_stop(t, clock_mono_ns(), &e), 0);
	for (size_t i = 0; i < ticker_intervals(t); i++) {
		v[i] = (double)NAN;
		if (i % 2) {
			v[i] = (double)i;
			known++;
		}
	}
	nr = ticker_points(t, v, points);
	assert_int_equal(nr, known);
	for (size_t i = 0; i < nr; i++) {
		assert_true(points[i].v == (double)(2 * i + 1));
		assert_int_equal(points[i].t_ns, ticker_boundary_ns(t, 2 * i + 2));
	}
	scratch_release(&s, one);
}

static void it_may_end_at_any_point(void **state)
{
	for (int steps = 0; steps < 4; steps++) {
		_cleanup_(ticker_freep) struct ticker *t = NULL;
		struct scratch s = scratch_new();
		struct err e = {};

		put(&s, "counter", "1\n");
		assert_int_equal(ticker_new(&t, INTERVAL, 100 * INTERVAL, &e), 0);
		if (steps > 0)
			add(t, s.fd, "counter", 8, 0);
		if (steps > 1)
			assert_int_equal(ticker_arm(t, &e), 0);
		if (steps > 2)
			assert_int_equal(ticker_start(t, clock_mono_ns(), &e), 0);
		assert_int_equal(ticker_intervals(t), 0);
		scratch_release(&s, one);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readings_stand_at_the_boundaries_of_the_window),
		cmocka_unit_test(what_would_not_fit_is_read_less_often_and_said),
		cmocka_unit_test(a_text_that_outgrows_its_room_is_clipped_and_said),
		cmocka_unit_test(a_file_that_vanishes_has_no_text_and_is_said),
		cmocka_unit_test(files_of_the_edges_are_not_read_between),
		cmocka_unit_test(descriptors_are_read_at_once),
		cmocka_unit_test(unknown_values_have_no_point),
		cmocka_unit_test(it_may_end_at_any_point),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
