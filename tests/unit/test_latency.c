// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/rng.h"
#include "latency.h"

#define MAX_WORDS 16

/* Splits @line and parses it; the words live until the next call. */
static int parse(const char *line, struct latency_args *a, struct err *e)
{
	static char copy[256];
	static char *argv[MAX_WORDS + 1];
	int argc = 0;

	snprintf(copy, sizeof(copy), "latency %s", line);
	for (char *p = copy, *word; (word = strsep(&p, " ")) && argc < MAX_WORDS;)
		if (*word)
			argv[argc++] = word;
	argv[argc] = NULL;
	return latency_args_parse(a, argc, argv, e);
}

static void habits_of_cyclictest_are_understood(void **state)
{
	struct latency_args a;
	struct err e = {};

	assert_int_equal(parse("-m -Sp98 -q -D4m -i250 -d0", &a, &e), 0);
	assert_true(a.lock && a.smp && a.quiet);
	assert_int_equal(a.priority.v[0], 98);
	assert_int_equal(a.policy, WAKEUP_FIFO);
	assert_int_equal(a.duration_s, 240);
	assert_int_equal(a.interval_us, 250);
	assert_int_equal(a.distance_us, 0);
	latency_args_release(&a);

	assert_int_equal(parse("-t 5 -a 3-5,0 -n --secaligned 20 -h 400 -N --json out", &a, &e), 0);
	assert_int_equal(a.threads, 5);
	assert_string_equal(a.affinity, "3-5,0");
	assert_int_equal(a.phase, LATENCY_SECALIGNED);
	assert_int_equal(a.offset_us, 20);
	assert_int_equal(a.rows, 400);
	assert_string_equal(a.json_file, "out");
	assert_int_equal(a.policy, WAKEUP_OTHER);
	latency_args_release(&a);

	assert_int_equal(parse("-t -a -A --json -q --policy=RR", &a, &e), 0);
	assert_true(a.all_threads && a.json && !a.json_file);
	assert_string_equal(a.affinity, "all");
	assert_int_equal(a.phase, LATENCY_ALIGNED);
	assert_int_equal(a.policy, WAKEUP_RR);
	latency_args_release(&a);

	assert_int_equal(parse("-p 98,40 -D 2d --policy=other", &a, &e), 0);
	assert_int_equal(a.priority.nr, 2);
	assert_int_equal(a.duration_s, 2 * 86400);
	assert_int_equal(a.policy, WAKEUP_OTHER); /* asked for: not turned into fifo */
	latency_args_release(&a);
}

static void what_makes_no_sense_is_refused_with_the_remedy(void **state)
{
	static const struct {
		const char *line, *says;
	} cases[] = {
		{ "-i 0", "--interval \"0\": expected a whole number from 1" },
		{ "-i 2x", "--interval \"2x\"" },
		{ "-D 5x", "s, m, h or d such as 10m" },
		{ "-D s", "s, m, h or d such as 10m" },
		{ "-D 99999999999999999999d", "--duration" },
		{ "-h", "cyclictest's histogram and needs the number of its rows" },
		{ "-h 1000001", "from 1 to 1000000" },
		{ "-p 100", "0 to 99" },
		{ "-p 98,98", "98 stands twice" },
		{ "-p 98,0", "0 is no real-time priority" },
		{ "-p 98,40 --priospread", "exclude each other" },
		{ "--policy=deadline", "may not be bound to a CPU" },
		{ "--policy=best", "fifo, rr, other, batch or idle" },
		{ "-r", "absolute timers" },
		{ "-x", "absolute timers" },
		{ "-s", "absolute timers" },
		{ "-F pipe", "--soak FILE" },
		{ "--smi", "cyclictest --smi does" },
		{ "-A --secaligned", "exclude each other" },
		{ "-o 3", "name -v too" },
		{ "--tracemark", "name -b too" },
		{ "--intervall 5", "did you mean --interval?" },
		{ "-Z", "has no option \"-Z\"" },
		{ "-i", "\"-i\" needs a value" },
		{ "word", "takes options only, not \"word\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct latency_args a;
		struct err e = {};

		if (parse(cases[i].line, &a, &e) >= 0)
			fail_msg("\"%s\" was taken", cases[i].line);
		assert_contains(e.msg, cases[i].says);
		latency_args_release(&a);
	}
}

/* What @print writes, as a string. */
struct page {
	char *text;
	size_t len;
	FILE *f;
};

static struct page *page_open(struct page *p)
{
	*p = (struct page){};
	p->f = open_memstream(&p->text, &p->len);
	assert_non_null(p->f);
	return p;
}

static const char *page_text(struct page *p)
{
	fflush(p->f);
	return p->text;
}

static void page_close(struct page *p)
{
	fclose(p->f);
	free(p->text);
}

/* The line of a mail, and cyclictest's minimum when nothing was measured. */
static void lines_are_cyclictests(void **state)
{
	const struct latency_figures f = { .tid = 11147,
					   .priority = 98,
					   .interval_ns = 250000,
					   .cycles = 7999,
					   .min_ns = 7999,
					   .act_ns = 12001,
					   .sum_us = 7999 * 11 + 7998,
					   .sum_ns = 7999 * 11500.0,
					   .max_ns = 369456 };
	const struct latency_figures none = { .tid = 5, .interval_ns = 1000000 };
	struct page p;

	latency_print_line(page_open(&p)->f, 0, &f, false);
	assert_string_equal(page_text(&p), "T: 0 (11147) P:98 I:250 C:   7999 Min:      7 Act:   "
					   "12 Avg:   11 Max:     369\n");
	page_close(&p);
	latency_print_line(page_open(&p)->f, 12, &f, true);
	assert_string_equal(page_text(&p), "T:12 (11147) P:98 I:250 C:   7999 Min:   7999 Act:   "
					   "12001 Avg:   11500 Max:  369456\n");
	page_close(&p);
	latency_print_line(page_open(&p)->f, 1, &none, false);
	assert_string_equal(page_text(&p), "T: 1 (    5) P: 0 I:1000 C:      0 Min:1000000 Act:    "
					   "0 Avg:    0 Max:       0\n");
	page_close(&p);
}

/* Two threads; the samples of the first are those of test_probe_wakeup's stall. */
struct sample_view {
	struct latency_figures figures[2];
	struct hist *hist[2];
	struct latency_series *series[2];
	uint64_t count[2][3], overflow[2][3];
	struct latency_rows rows[2];
	struct latency_view view;
};

static void fill(struct sample_view *s, uint64_t unit)
{
	static const uint64_t late[] = { 3, 35, 7, 10, 9 };

	memset(s, 0, sizeof(*s));
	for (size_t i = 0; i < 2; i++) {
		struct latency_figures *f = &s->figures[i];

		s->hist[i] = hist_new();
		s->series[i] = calloc(1, sizeof(**s->series));
		for (size_t k = 0; k < ARRAY_SIZE(late); k++) {
			hist_add(s->hist[i], late[k] * unit);
			f->sum_us += late[k] * unit / NS_PER_US;
		}
		*f = (struct latency_figures){ .tid = (int32_t)(100 + i),
					       .cpu = (uint32_t)i,
					       .node = -1,
					       .priority = 98,
					       .interval_ns = 10 * unit,
					       .cycles = 5,
					       .min_ns = s->hist[i]->min,
					       .max_ns = s->hist[i]->max,
					       .sum_ns = s->hist[i]->sum,
					       .sum_us = f->sum_us,
					       .skipped = 4 };
		s->count[i][1] = 2;
		s->count[i][2] = 1;
		s->overflow[i][0] = 1;
		s->overflow[i][1] = 3;
		s->rows[i] = (struct latency_rows){ s->count[i], s->overflow[i], 2 };
	}
	s->view = (struct latency_view){ .nr = 2,
					 .figures = s->figures,
					 .hist = (const struct hist *const *)s->hist,
					 .series = (const struct latency_series *const *)s->series,
					 .rows = s->rows,
					 .nr_rows = 3,
					 .rows_sum = true,
					 .begin_wall_ns = 1000 * NS_PER_S,
					 .end_wall_ns = 1001 * NS_PER_S,
					 .command = "irqlab latency \"x\"" };
}

static void empty(struct sample_view *s)
{
	for (size_t i = 0; i < 2; i++) {
		hist_free(s->hist[i]);
		free(s->series[i]);
	}
}

static void rows_are_cyclictests(void **state)
{
	struct sample_view s;
	struct page p;

	fill(&s, 1000);
	latency_print_rows(page_open(&p)->f, &s.view);
	assert_string_equal(page_text(&p), "# Histogram\n"
					   "000000 000000\t000000\t000000\n"
					   "000001 000002\t000002\t000004\n"
					   "000002 000001\t000001\t000002\n"
					   "# Total: 000000003 000000003 000000006\n"
					   "# Min Latencies: 00003 00003\n"
					   "# Avg Latencies: 00012 00012\n"
					   "# Max Latencies: 00035 00035 00035\n"
					   "# Histogram Overflows: 00002 00002 00004\n"
					   "# Histogram Overflow at cycle number:\n"
					   "# Thread 0: 00001 00003\n"
					   "# Thread 1: 00001 00003\n"
					   "\n");
	page_close(&p);
	empty(&s);
}

/* 35 us late at 10 us: 25, 15 and 5 were skipped; 10 at 10: 0.  5 seen, 9 due. */
static void the_full_table_shows_both(void **state)
{
	struct sample_view s;
	struct err e = {};
	struct page p;

	fill(&s, 1000);
	latency_series_add(s.series[1], 3,
			   &(struct latency_point){ .wall_ns = UINT64_C(1796077867123456789),
						    .mono_ns = 11709375491000,
						    .late_ns = 35000 });
	assert_int_equal(latency_print_full(page_open(&p)->f, &s.view, &e), 0);
	assert_contains(page_text(&p), "T: 0 CPU 0 P:98: 9 due, 4 skipped (44 %)\n"
				       "  as seen             5 ");
	assert_contains(page_text(&p), "\n  corrected           9 ");
	assert_contains(page_text(&p), "worst at 2026-11-30 22:31:07.123456 UTC, monotonic "
				       "11709.375491:      35.0\n");
	page_close(&p);
	assert_int_equal(latency_print_skipped(page_open(&p)->f, &s.view, &e), 0);
	assert_string_equal(page_text(&p),
			    "irqlab: 8 of 18 wake-ups were skipped in stalls (--full)\n");
	page_close(&p);
	s.figures[0].skipped = s.figures[1].skipped = 0;
	assert_int_equal(latency_print_skipped(page_open(&p)->f, &s.view, &e), 0);
	assert_string_equal(page_text(&p), "");
	page_close(&p);
	empty(&s);
}

static void json_is_json_and_says_more(void **state)
{
	_cleanup_(buf_release) struct buf out = {};
	struct json_object *o, *t, *beyond, *v;
	struct sample_view s;
	struct err e = {};

	fill(&s, 1000);
	assert_int_equal(latency_json(&out, &s.view, &e), 0);
	o = json_tokener_parse(buf_str(&out));
	assert_non_null(o);
	assert_true(json_object_object_get_ex(o, "cmdline:", &v));
	assert_string_equal(json_object_get_string(v), "irqlab latency \"x\"");
	assert_true(json_object_object_get_ex(o, "thread", &t));
	assert_true(json_object_object_get_ex(t, "1", &t));
	assert_true(json_object_object_get_ex(t, "avg", &v));
	assert_near(json_object_get_double(v), 12.8, 1e-9);
	assert_true(json_object_object_get_ex(t, "irqlab", &beyond));
	assert_true(json_object_object_get_ex(beyond, "due", &v));
	assert_int_equal(json_object_get_int(v), 9);
	assert_true(json_object_object_get_ex(beyond, "corrected_ns", &v));
	assert_true(json_object_object_get_ex(v, "n", &v));
	assert_int_equal(json_object_get_int(v), 9);
	json_object_put(o);
	empty(&s);
}

/* Against a plain list of all seconds: each point is the worst of its step, nothing is lost. */
static void maxima_stay_in_constant_memory(void **state)
{
	_cleanup_(freep) char *memory = calloc(1, sizeof(struct latency_series));
	struct latency_series *s = (struct latency_series *)memory;
	enum { SECONDS = 20000 };
	static uint64_t late[SECONDS];
	uint64_t seed = 5;

	for (uint64_t i = 0; i < SECONDS; i++) {
		struct latency_point p = { 1 + i, 100 + i, 1 + rng_below(&seed, 1000000) };

		late[i] = i % 97 == 13 ? 0 : p.late_ns;
		if (late[i]) /* seconds without a wake-up */
			latency_series_add(s, i, &p);
	}
	assert_int_equal(s->step_s, 32);
	assert_int_equal(s->nr, (SECONDS + 31) / 32);
	for (uint64_t i = 0; i < s->nr; i++) {
		uint64_t worst = 0, at = 0;

		for (uint64_t k = i * 32; k < (i + 1) * 32 && k < SECONDS; k++) {
			at = late[k] >= worst ? k : at;
			worst = late[k] >= worst ? late[k] : worst;
		}
		assert_int_equal(s->point[i].late_ns, worst);
		assert_int_equal(late[s->point[i].wall_ns - 1], worst);
		assert_int_equal(s->point[i].mono_ns, s->point[i].wall_ns + 99);
	}
	assert_true(latency_series_worst(s)->late_ns > 990000);
}

/* ---- soak files ---- */

static char folder[64];

static const char *path_in(const char *name)
{
	static char path[96];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void a_soak_file_gives_back_what_was_written(void **state)
{
	_cleanup_(latency_stored_release) struct latency_stored r = {};
	struct latency_soak *soak = NULL;
	struct sample_view s;
	struct err e = {};

	fill(&s, 1000);
	assert_int_equal(latency_soak_open(&soak, path_in("a"), &s.view, &e), 0);
	assert_int_equal(latency_soak_read(path_in("a"), &r, &e), -EAGAIN);
	latency_soak_write(soak, &s.view, false);
	assert_int_equal(latency_soak_read(path_in("a"), &r, &e), 0);
	assert_int_equal(r.state, LATENCY_SOAK_RUNNING);
	latency_stored_release(&r);

	s.figures[1].cycles = 77;
	latency_soak_write(soak, &s.view, true);
	latency_soak_close(soak);
	assert_int_equal(latency_soak_read(path_in("a"), &r, &e), 0);
	assert_int_equal(r.state, LATENCY_SOAK_FINISHED);
	assert_int_equal(r.seq, 2);
	assert_int_equal(r.view.nr, 2);
	assert_int_equal(r.view.figures[1].cycles, 77);
	assert_memory_equal(r.view.hist[0], s.hist[0], sizeof(struct hist));
	assert_string_equal(r.view.command, "irqlab latency \"x\"");
	assert_int_equal(r.view.end_wall_ns, 1001 * NS_PER_S);
	empty(&s);
}

static void only_a_dead_soak_file_is_overwritten(void **state)
{
	struct latency_soak *soak = NULL, *other = NULL;
	_cleanup_(close_fdp) int fd = open(path_in("notes"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct sample_view s;
	struct err e = {};

	fill(&s, 1000);
	assert_int_equal(write(fd, "dear diary", 10), 10);
	assert_int_equal(latency_soak_open(&soak, path_in("notes"), &s.view, &e), -EEXIST);
	assert_contains(e.msg, "is no soak file of this irqlab: name another");
	assert_int_equal(latency_soak_open(&soak, path_in("b"), &s.view, &e), 0);
	assert_int_equal(latency_soak_open(&other, path_in("b"), &s.view, &e), -EBUSY);
	assert_contains(e.msg, "another run (pid ");
	latency_soak_close(soak);
	assert_int_equal(latency_soak_open(&soak, path_in("b"), &s.view, &e), 0);
	latency_soak_close(soak);
	empty(&s);
}

/* State k: every number of both threads is k. */
static void write_state(struct latency_soak *soak, struct sample_view *s, uint64_t k)
{
	for (size_t i = 0; i < 2; i++) {
		s->figures[i].cycles = s->figures[i].max_ns = k;
		memset(s->hist[i], 0, sizeof(struct hist));
		hist_add_many(s->hist[i], 5, k);
	}
	latency_soak_write(soak, &s->view, false);
}

static void assert_whole(const struct latency_stored *r)
{
	uint64_t k = r->view.figures[0].cycles;

	assert_true(k > 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(r->view.figures[i].cycles, k);
		assert_int_equal(r->view.figures[i].max_ns, k);
		assert_int_equal(r->view.hist[i]->total, k);
		assert_int_equal(r->view.hist[i]->count[5], k);
	}
}

/* A writer that does nothing else is killed at some moment: what is in the file is one state. */
static void a_killed_writer_leaves_a_whole_state(void **state)
{
	uint64_t seed = 3;

	for (int round = 0; round < 20; round++) {
		_cleanup_(latency_stored_release) struct latency_stored r = {};
		struct timespec pause = { .tv_nsec = (long)rng_below(&seed, 5000000) };
		struct latency_soak *soak = NULL;
		struct sample_view s;
		struct err e = {};
		pid_t pid;

		fill(&s, 1000);
		assert_int_equal(latency_soak_open(&soak, path_in("k"), &s.view, &e), 0);
		write_state(soak, &s, 1);
		pid = fork();
		if (pid == 0)
			for (uint64_t k = 2;; k++)
				write_state(soak, &s, k);
		/* the lock is the writer's alone from here on */
		latency_soak_close(soak);
		nanosleep(&pause, NULL);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		if (latency_soak_read(path_in("k"), &r, &e) < 0)
			fail_msg("%s", e.msg);
		assert_int_equal(r.state, LATENCY_SOAK_KILLED);
		assert_whole(&r);
		empty(&s);
	}
}

static atomic_bool enough;

static void *write_slowly(void *arg)
{
	struct latency_soak *soak = arg;
	const struct timespec pause = { .tv_nsec = 300000 };
	struct sample_view s;

	fill(&s, 1000);
	for (uint64_t k = 2; !atomic_load(&enough); k++) {
		write_state(soak, &s, k);
		nanosleep(&pause, NULL);
	}
	empty(&s);
	return NULL;
}

static void a_reader_never_sees_half_a_state(void **state)
{
	struct latency_soak *soak = NULL;
	struct sample_view s;
	struct err e = {};
	pthread_t t;
	uint64_t last = 0;

	fill(&s, 1000);
	assert_int_equal(latency_soak_open(&soak, path_in("r"), &s.view, &e), 0);
	write_state(soak, &s, 1);
	assert_int_equal(pthread_create(&t, NULL, write_slowly, soak), 0);
	for (int i = 0; i < 300; i++) {
		_cleanup_(latency_stored_release) struct latency_stored r = {};

		if (latency_soak_read(path_in("r"), &r, &e) < 0)
			fail_msg("%s", e.msg);
		assert_whole(&r);
		assert_true(r.view.figures[0].cycles >= last);
		last = r.view.figures[0].cycles;
	}
	atomic_store(&enough, true);
	pthread_join(t, NULL);
	latency_soak_close(soak);
	empty(&s);
}

/* Bytes changed and ends cut off: an error or a state, and what is shown of it comes to an end. */
static void damaged_files_are_refused_or_shown(void **state)
{
	struct latency_soak *soak = NULL;
	struct sample_view s;
	struct err e = {};
	struct stat st;
	uint64_t seed = 9, refused = 0;

	fill(&s, 1000);
	assert_int_equal(latency_soak_open(&soak, path_in("d"), &s.view, &e), 0);
	latency_soak_write(soak, &s.view, true);
	latency_soak_close(soak);
	assert_int_equal(stat(path_in("d"), &st), 0);
	for (int round = 0; round < 150; round++) {
		_cleanup_(latency_stored_release) struct latency_stored r = {};
		_cleanup_(close_fdp) int fd = open(path_in("d"), O_RDWR | O_CLOEXEC);
		/* the header is most of what can go wrong */
		off_t at = (off_t)rng_below(&seed, round % 3 ? 80 : (uint64_t)st.st_size);
		unsigned char was = 0, byte = (unsigned char)rng_next(&seed);
		struct page p;

		assert_int_equal(pread(fd, &was, 1, at), 1);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		if (latency_soak_read(path_in("d"), &r, &e) < 0) {
			refused++;
		} else {
			assert_true(latency_print_full(page_open(&p)->f, &r.view, &e) <= 0);
			page_close(&p);
		}
		assert_int_equal(pwrite(fd, &was, 1, at), 1);
	}
	assert_true(refused > 50);
	assert_int_equal(truncate(path_in("d"), st.st_size / 2), 0);
	{
		struct latency_stored r = {};

		assert_int_equal(latency_soak_read(path_in("d"), &r, &e), -EBADMSG);
		assert_contains(e.msg, "is damaged: its size does not fit");
	}
	empty(&s);
}

static int make_folder(void **state)
{
	snprintf(folder, sizeof(folder), "/tmp/irqlab-test-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	static const char *const names[] = { "a", "b", "notes", "k", "r", "d" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unlink(path_in(names[i]));
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(habits_of_cyclictest_are_understood),
		cmocka_unit_test(what_makes_no_sense_is_refused_with_the_remedy),
		cmocka_unit_test(lines_are_cyclictests),
		cmocka_unit_test(rows_are_cyclictests),
		cmocka_unit_test(the_full_table_shows_both),
		cmocka_unit_test(json_is_json_and_says_more),
		cmocka_unit_test(maxima_stay_in_constant_memory),
		cmocka_unit_test(a_soak_file_gives_back_what_was_written),
		cmocka_unit_test(only_a_dead_soak_file_is_overwritten),
		cmocka_unit_test(a_killed_writer_leaves_a_whole_state),
		cmocka_unit_test(a_reader_never_sees_half_a_state),
		cmocka_unit_test(damaged_files_are_refused_or_shown),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
