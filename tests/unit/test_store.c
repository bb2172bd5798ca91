// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "sample/hist.h"
#include "store/inside.h"
#include "store/schema.h"
#include "store/store.h"

static const char *const variants[] = { "before", "after", NULL };
static const char *const scenarios[] = { "quiet", "net", NULL };

/* A folder of the test's own, and the store's path in it. */
struct place {
	char dir[64];
	char path[128];
};

static struct place place_new(void)
{
	struct place p = { .dir = "/tmp/irqlab-store-XXXXXX" };

	assert_non_null(mkdtemp(p.dir));
	snprintf(p.path, sizeof(p.path), "%s/runs/irqlab.db", p.dir);
	return p;
}

static void place_remove(const struct place *p)
{
	static const char *const ends[] = { "/runs/irqlab.db", "/runs/irqlab.db-wal",
					    "/runs/irqlab.db-shm", "/runs/irqlab.db-journal" };
	char name[160];

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		snprintf(name, sizeof(name), "%s%s", p->dir, ends[i]);
		unlink(name);
	}
	snprintf(name, sizeof(name), "%s/runs", p->dir);
	rmdir(name);
	/* also proves that no temporary file stayed */
	assert_int_equal(rmdir(p->dir), 0);
}

static struct store *open_store(const char *path)
{
	struct store *s = NULL;
	struct err e = {};

	if (store_open(&s, path, STORE_WRITE, &e) < 0)
		fail_msg("%s", e.msg);
	return s;
}

static int64_t add_run(struct store *s, const char *name)
{
	const struct run_info run = { .name = (char *)(uintptr_t)name,
				      .plan = (char *)(uintptr_t) "name: x\n",
				      .plan_file = (char *)(uintptr_t) "x.yaml",
				      .version = (char *)(uintptr_t) "0.1.0",
				      .env = (char *)(uintptr_t) "{\"kernel\":\"6.1\"}",
				      .seed = UINT64_MAX - 5,
				      .started_ns = UINT64_C(1700000000000000000) };
	struct err e = {};
	int64_t id = 0;

	if (store_run_add(s, &run, variants, scenarios, &id, &e) < 0)
		fail_msg("%s", e.msg);
	return id;
}

static void take(struct record_list *l, const struct record *rec)
{
	struct err e = {};

	assert_int_equal(record_list_take(l, record_copy(rec), &e), 0);
}

static void random_hist(struct hist *h, uint64_t seed, int n)
{
	while (n--)
		hist_add(h, rng_next(&seed) >> (30 + rng_below(&seed, 20)));
}

/* @n records of every kind and a scalar that says so. */
static void fill(struct record_list *l, unsigned int n)
{
	static struct hist h;
	static struct point points[200];
	uint64_t seed = n + 1;
	struct record rec = {
		.kind = RECORD_SCALAR, .metric = "n", .unit = "count", .labels = "", .value = n
	};

	take(l, &rec);
	memset(&h, 0, sizeof(h));
	random_hist(&h, 7, 2000);
	for (unsigned int i = 0; i < ARRAY_SIZE(points); i++)
		points[i] = (struct point){ .t_ns = (int64_t)i * 1000000,
					    .v = (double)rng_below(&seed, 1000) };
	for (unsigned int i = 0; i < n; i++) {
		char labels[32];

		snprintf(labels, sizeof(labels), "cpu=%u", i);
		rec = (struct record){ .kind = RECORD_SCALAR,
				       .metric = "cpu.busy",
				       .unit = "ratio",
				       .labels = labels,
				       .value = 0.25 * i };
		take(l, &rec);
		rec = (struct record){ .kind = RECORD_SERIES,
				       .metric = "throughput",
				       .unit = "bit/s",
				       .labels = labels,
				       .points = points,
				       .nr_points = ARRAY_SIZE(points) };
		take(l, &rec);
		rec = (struct record){ .kind = RECORD_HIST,
				       .metric = "wakeup.latency",
				       .unit = "ns",
				       .labels = labels,
				       .hist = &h };
		take(l, &rec);
		rec = (struct record){ .kind = RECORD_EVENT,
				       .metric = "kmsg",
				       .unit = "",
				       .labels = labels,
				       .t_ns = -5,
				       .severity = SEVERITY_WARN,
				       .text = "NOHZ tick-stop error" };
		take(l, &rec);
	}
}

static void files_and_folders_are_for_the_user_alone(void **state)
{
	struct place p = place_new();
	_cleanup_(store_closep) struct store *s = NULL;
	char dir[160];
	struct stat st;
	mode_t old = umask(0);

	s = open_store(p.path);
	umask(old);
	assert_int_equal(stat(p.path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	snprintf(dir, sizeof(dir), "%s/runs", p.dir);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	store_close(take_ptr(s));
	place_remove(&p);
}

static void default_path_follows_the_environment(void **state)
{
	char *path = NULL;
	struct err e = {};

	setenv("IRQLAB_DB", "/x/y.db", 1);
	assert_int_equal(store_default_path(&path, &e), 0);
	assert_string_equal(path, "/x/y.db");
	free(take_ptr(path));
	unsetenv("IRQLAB_DB");
	setenv("XDG_DATA_HOME", "/d", 1);
	assert_int_equal(store_default_path(&path, &e), 0);
	assert_string_equal(path, "/d/irqlab/irqlab.db");
	free(take_ptr(path));
	unsetenv("XDG_DATA_HOME");
	setenv("HOME", "/h", 1);
	assert_int_equal(store_default_path(&path, &e), 0);
	assert_string_equal(path, "/h/.local/share/irqlab/irqlab.db");
	free(path);
}

static void every_kind_of_record_comes_back(void **state)
{
	struct place p = place_new();
	_cleanup_(store_closep) struct store *s = open_store(p.path);
	_cleanup_(hist_freep) struct hist *h = hist_new();
	const struct point points[] = { { -5, 1.5 }, { 7, 1e300 }, { INT64_MAX, -0.0 } };
	const struct record all[] = {
		{ .kind = RECORD_SCALAR,
		  .metric = "a",
		  .unit = "ns",
		  .labels = "",
		  .value = 1e-300 },
		{ .kind = RECORD_SCALAR,
		  .metric = "b",
		  .unit = "ns",
		  .labels = "cpu=1",
		  .value = (double)NAN },
		{ .kind = RECORD_SCALAR,
		  .metric = "c",
		  .unit = "ns",
		  .labels = "",
		  .value = (double)INFINITY },
		{ .kind = RECORD_SERIES,
		  .metric = "d",
		  .unit = "bit/s",
		  .labels = "flow=0",
		  .points = points,
		  .nr_points = 3 },
		{ .kind = RECORD_SERIES, .metric = "empty", .unit = "bit/s", .labels = "" },
		{ .kind = RECORD_HIST,
		  .metric = "a",
		  .unit = "ns",
		  .labels = "cpu=0,prio=98",
		  .hist = h },
		{ .kind = RECORD_EVENT,
		  .metric = "kmsg",
		  .unit = "",
		  .labels = "",
		  .t_ns = -9,
		  .severity = SEVERITY_VETO,
		  .text = "<script>\xff'; DROP TABLE trial; --" },
	};
	const struct trial_info t = { .block = 3,
				      .scenario = 1,
				      .variant = 1,
				      .position = 12,
				      .seed = UINT64_MAX,
				      .state = TRIAL_VETOED,
				      .reason = (char *)(uintptr_t) "no effect",
				      .started_ns = 5,
				      .window_ns = 6 };
	_cleanup_(record_list_release) struct record_list in = {}, out = {}, some = {};
	struct trial_info *trials = NULL;
	struct err e = {};
	size_t nr = 0;
	int64_t run = add_run(s, "kinds");

	random_hist(h, 1, 5000);
	hist_add(h, UINT64_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		take(&in, &all[i]);
	assert_int_equal(store_trial_add(s, run, &t, &in, &e), 0);
	store_close(take_ptr(s));
	assert_int_equal(store_open(&s, p.path, STORE_READ, &e), 0);
	assert_int_equal(store_trials(s, run, &trials, &nr, &e), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(trials[0].block, 3);
	assert_int_equal(trials[0].position, 12);
	assert_true(trials[0].seed == UINT64_MAX);
	assert_int_equal(trials[0].state, TRIAL_VETOED);
	assert_string_equal(trials[0].reason, "no effect");
	assert_int_equal(store_records(s, trials[0].id, 0, NULL, &out, &e), 0);
	assert_int_equal(out.nr, ARRAY_SIZE(all));
	for (size_t i = 0; i < out.nr; i++) {
		const struct record *a = &all[i], *b = out.v[i];

		assert_int_equal(a->kind, b->kind);
		assert_string_equal(a->metric, b->metric);
		assert_string_equal(a->unit, b->unit);
		assert_string_equal(a->labels, b->labels);
		assert_true(a->value == b->value || (isnan(a->value) && isnan(b->value)));
		assert_int_equal(a->nr_points, b->nr_points);
		if (a->nr_points)
			assert_memory_equal(a->points, b->points, sizeof(points));
		if (a->hist)
			assert_memory_equal(a->hist, b->hist, sizeof(*h));
		assert_true(a->t_ns == b->t_ns && a->severity == b->severity);
		if (a->text)
			assert_string_equal(a->text, b->text);
	}
	assert_int_equal(store_records(s, trials[0].id, RECORD_SCALAR, "a", &some, &e), 0);
	assert_int_equal(some.nr, 1);
	trials_free(trials, nr);
	store_close(take_ptr(s));
	place_remove(&p);
}

static void a_cell_is_stored_once(void **state)
{
	struct place p = place_new();
	_cleanup_(store_closep) struct store *s = open_store(p.path);
	_cleanup_(record_list_release) struct record_list in = {}, again = {}, out = {};
	struct trial_info t = { .block = 1 }, *trials = NULL;
	struct err e = {};
	size_t nr = 0;
	int64_t run = add_run(s, "once");

	fill(&in, 1);
	fill(&again, 3);
	assert_int_equal(store_trial_add(s, run, &t, &in, &e), 0);
	t.position = 1;
	assert_int_equal(store_trial_add(s, run, &t, &again, &e), -EEXIST);
	assert_contains(e.msg, "trial of block 1, scenario 0, variant 0");
	assert_int_equal(store_trials(s, run, &trials, &nr, &e), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(store_records(s, trials[0].id, 0, NULL, &out, &e), 0);
	assert_int_equal(out.nr, in.nr);
	/* a failed trial is replaced, records and all */
	t.block = 2;
	t.state = TRIAL_FAILED;
	t.reason = (char *)(uintptr_t) "no peer";
	assert_int_equal(store_trial_add(s, run, &t, &again, &e), 0);
	t.state = TRIAL_OK;
	t.reason = NULL;
	assert_int_equal(store_trial_add(s, run, &t, NULL, &e), 0);
	trials_free(trials, nr);
	assert_int_equal(store_trials(s, run, &trials, &nr, &e), 0);
	assert_int_equal(nr, 2);
	assert_int_equal(trials[1].state, TRIAL_OK);
	record_list_release(&out);
	assert_int_equal(store_records(s, trials[1].id, 0, NULL, &out, &e), 0);
	assert_int_equal(out.nr, 0);
	/* the same cell of another run is another cell */
	run = add_run(s, "once");
	assert_int_equal(store_trial_add(s, run, &t, &again, &e), 0);
	trials_free(trials, nr);
	store_close(take_ptr(s));
	place_remove(&p);
}

static void a_bad_trial_leaves_nothing(void **state)
{
	struct place p = place_new();
	_cleanup_(store_closep) struct store *s = open_store(p.path);
	_cleanup_(record_list_release) struct record_list twice = {};
	const struct record rec = {
		.kind = RECORD_SCALAR, .metric = "throughput", .unit = "bit/s", .labels = ""
	};
	struct trial_info t = { .block = 1, .scenario = 2 }, *trials = NULL;
	struct err e = {};
	size_t nr = 1;
	int64_t run = add_run(s, "bad");

	assert_int_equal(store_trial_add(s, run, &t, NULL, &e), -EINVAL);
	assert_contains(e.msg, "no such run, scenario or variant");
	take(&twice, &rec);
	take(&twice, &rec);
	t.scenario = 1;
	assert_int_equal(store_trial_add(s, run, &t, &twice, &e), -EINVAL);
	assert_contains(e.msg, "throughput[]: given twice in one trial");
	assert_int_equal(store_trials(s, run, &trials, &nr, &e), 0);
	assert_int_equal(nr, 0);
	trials_free(trials, nr);
	/* and the store goes on */
	assert_int_equal(store_trial_add(s, run, &t, NULL, &e), 0);
	store_close(take_ptr(s));
	place_remove(&p);
}

static void runs_are_found_by_id_name_and_last(void **state)
{
	struct place p = place_new();
	_cleanup_(store_closep) struct store *s = open_store(p.path);
	_cleanup_(run_info_release) struct run_info info = {};
	struct run_info *all = NULL;
	int64_t a, b, c, id = 0;
	struct err e = {};
	size_t nr = 0;

	assert_int_equal(store_run_find(s, "last", &id, &e), -ENOENT);
	a = add_run(s, "napi");
	b = add_run(s, "napi");
	c = add_run(s, "1000");
	assert_int_equal(store_run_find(s, "last", &id, &e), 0);
	assert_int_equal(id, c);
	assert_int_equal(store_run_find(s, "napi", &id, &e), 0);
	assert_int_equal(id, b);
	assert_int_equal(store_run_find(s, "1", &id, &e), 0);
	assert_int_equal(id, a);
	assert_int_equal(store_run_find(s, "1000", &id, &e), 0);
	assert_int_equal(id, c);
	assert_int_equal(store_run_find(s, "nap", &id, &e), -ENOENT);
	assert_contains(e.msg, "no run \"nap\"");
	assert_int_equal(store_run_end(s, b, RUN_DONE, 77, &e), 0);
	assert_int_equal(store_run_end(s, 99, RUN_DONE, 77, &e), -ENOENT);
	assert_int_equal(store_run_read(s, b, &info, &e), 0);
	assert_string_equal(info.name, "napi");
	assert_string_equal(info.plan, "name: x\n");
	assert_string_equal(info.env, "{\"kernel\":\"6.1\"}");
	assert_true(info.seed == UINT64_MAX - 5 && info.ended_ns == 77);
	assert_int_equal(info.state, RUN_DONE);
	assert_int_equal(store_runs(s, &all, &nr, &e), 0);
	assert_int_equal(nr, 3);
	assert_true(all[0].id == c && all[1].id == b && all[2].id == a);
	assert_string_equal(all[0].name, "1000");
	runs_free(all, nr);
	store_close(take_ptr(s));
	place_remove(&p);
}

/* What a resumed run asks: which cells are there, in which order, and with what. */
static void a_stopped_run_shows_what_is_left(void **state)
{
	struct place p = place_new();
	_cleanup_(store_closep) struct store *s = open_store(p.path);
	struct trial_info *trials = NULL;
	const struct store_key p99 = { 1, "wakeup.p99", "" }, quiet = { 0, "wakeup.p99", NULL },
			       none = { 1, "nothing", "" };
	struct observation *obs = NULL;
	struct err e = {};
	size_t nr = 0;
	int64_t run = add_run(s, "resume");

	for (unsigned int i = 0; i < 5; i++) {
		_cleanup_(record_list_release) struct record_list l = {};
		struct trial_info t = {
			.block = i / 2, .scenario = 1, .variant = i % 2, .position = 4 - i
		};
		struct record rec = { .kind = RECORD_SCALAR,
				      .metric = "wakeup.p99",
				      .unit = "ns",
				      .labels = "",
				      .value = 100 + i };

		if (i == 3) {
			t.state = TRIAL_FAILED;
			t.reason = (char *)(uintptr_t) "peer is gone";
		} else {
			take(&l, &rec);
		}
		rec.labels = "cpu=1";
		rec.value = -1;
		take(&l, &rec);
		assert_int_equal(store_trial_add(s, run, &t, &l, &e), 0);
	}
	assert_int_equal(store_trials(s, run, &trials, &nr, &e), 0);
	assert_int_equal(nr, 5);
	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(trials[i].position, i);
	trials_free(trials, nr);
	assert_int_equal(store_observations(s, run, &p99, &obs, &nr, &e), 0);
	assert_int_equal(nr, 5);
	assert_near(obs[0].value, 104, 0);
	assert_int_equal(obs[0].block, 2);
	assert_false(obs[1].has_value);
	assert_int_equal(obs[1].state, TRIAL_FAILED);
	assert_string_equal(obs[1].reason, "peer is gone");
	assert_null(obs[2].reason);
	free(take_ptr(obs));
	assert_int_equal(store_observations(s, run, &quiet, &obs, &nr, &e), 0);
	assert_int_equal(nr, 0);
	free(take_ptr(obs));
	assert_int_equal(store_observations(s, run, &none, &obs, &nr, &e), 0);
	assert_int_equal(nr, 5);
	assert_false(obs[0].has_value);
	free(obs);
	store_close(take_ptr(s));
	place_remove(&p);
}

/* Add trials until killed. */
static void write_until_killed(const char *path, int64_t run)
{
	struct store *s = NULL;
	struct err e = {};

	/* a test that fails must not leave a writer behind */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (store_open(&s, path, STORE_WRITE, &e) < 0)
		_exit(1);
	for (unsigned int i = 0;; i++) {
		_cleanup_(record_list_release) struct record_list l = {};
		struct trial_info t = { .block = (unsigned int)getpid() * 4096 + i, .position = i };

		fill(&l, 1 + i % 24);
		if (store_trial_add(s, run, &t, &l, &e) < 0)
			_exit(2);
	}
}

/* Every trial has all its records; returns how many trials there are. */
static size_t assert_complete(const char *path, int64_t run)
{
	_cleanup_(store_closep) struct store *s = open_store(path);
	struct trial_info *trials = NULL;
	struct err e = {};
	size_t nr = 0;

	assert_int_equal(store_trials(s, run, &trials, &nr, &e), 0);
	for (size_t i = 0; i < nr; i++) {
		_cleanup_(record_list_release) struct record_list l = {};

		assert_int_equal(store_records(s, trials[i].id, 0, NULL, &l, &e), 0);
		assert_int_equal(l.nr, 1 + 4 * (size_t)l.v[0]->value);
	}
	trials_free(trials, nr);
	return nr;
}

static void assert_sound(const char *path)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &st, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(st, 0), "ok");
	sqlite3_finalize(st);
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA foreign_key_check", -1, &st, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_DONE);
	sqlite3_finalize(st);
	sqlite3_close(db);
}

static void a_killed_writer_leaves_whole_trials(void **state)
{
	struct place p = place_new();
	uint64_t rng = 11;
	size_t most = 0;
	int64_t run;

	{
		_cleanup_(store_closep) struct store *s = open_store(p.path);

		run = add_run(s, "kill");
	}
	for (int i = 0; i < 40; i++) {
		pid_t pid = fork();
		size_t nr;
		int status;

		if (pid == 0)
			write_until_killed(p.path, run);
		assert_true(pid > 0);
		usleep((useconds_t)(2000 + rng_below(&rng, 60000)));
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		nr = assert_complete(p.path, run);
		assert_true(nr >= most);
		most = nr;
	}
	assert_true(most > 0);
	assert_sound(p.path);
	place_remove(&p);
}

static void a_store_killed_while_born_is_whole_or_absent(void **state)
{
	uint64_t rng = 12;

	for (int i = 0; i < 20; i++) {
		struct place p = place_new();
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			struct err e = {};
			struct store *s = NULL;

			_exit(store_open(&s, p.path, STORE_WRITE, &e) < 0);
		}
		usleep((useconds_t)rng_below(&rng, 20000));
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		{
			_cleanup_(store_closep) struct store *s = open_store(p.path);

			assert_int_equal(add_run(s, "x"), 1);
		}
		/* a half-made file under another name may stay */
		pid = fork();
		if (pid == 0) {
			execlp("rm", "rm", "-r", p.dir, NULL);
			_exit(127);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

static void put_file(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

static void slurp(const char *path, struct buf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	static char part[65536];
	ssize_t n;

	assert_true(fd >= 0);
	while ((n = read(fd, part, sizeof(part))) > 0)
		assert_int_equal(buf_add(out, part, (size_t)n), 0);
	close(fd);
}

/* Opening is refused with @want in the message, and the file keeps every byte. */
static void assert_refused(const char *path, const char *want)
{
	_cleanup_(buf_release) struct buf before = {}, after = {};

	slurp(path, &before);
	for (int mode = STORE_READ; mode <= STORE_WRITE; mode++) {
		struct store *s = NULL;
		struct err e = {};

		assert_true(store_open(&s, path, (enum store_mode)mode, &e) < 0);
		assert_null(s);
		assert_contains(e.msg, want);
		assert_contains(e.msg, path);
	}
	slurp(path, &after);
	assert_int_equal(before.len, after.len);
	if (before.len)
		assert_memory_equal(before.data, after.data, before.len);
}

static void sqlite_do(const char *path, const char *text)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void what_is_not_ours_is_refused_untouched(void **state)
{
	struct place p = place_new();
	_cleanup_(buf_release) struct buf whole = {};
	struct store *s = open_store(p.path);
	struct err e = {};
	char journal[160];

	add_run(s, "x");
	store_close(s);
	slurp(p.path, &whole);
	sqlite_do(p.path, "PRAGMA user_version = 99");
	assert_refused(p.path, "written by a newer irqlab (schema 99");
	put_file(p.path, whole.data, whole.len / 2);
	assert_refused(p.path, "cut off");
	put_file(p.path, whole.data, 60);
	assert_refused(p.path, "not an irqlab store");
	put_file(p.path, "", 0);
	assert_refused(p.path, "the file is empty");
	put_file(p.path,
		 "I am a letter to my mother, not a database. I am longer than a header, "
		 "so that this cannot be the reason for refusing me.",
		 120);
	assert_refused(p.path, "not an irqlab store (no SQLite file)");
	unlink(p.path);
	sqlite_do(p.path, "PRAGMA application_id = 7; CREATE TABLE run (x)");
	/* beside it a journal that SQLite would play back and delete */
	snprintf(journal, sizeof(journal), "%s-journal", p.path);
	put_file(journal, "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
	assert_refused(p.path, "another program (application id 7)");
	assert_int_equal(access(journal, F_OK), 0);
	unlink(p.path);
	assert_int_equal(store_open(&s, p.path, STORE_READ, &e), -ENOENT);
	assert_contains(e.msg, "there is none yet");
	place_remove(&p);
}

static void runs_have_names_notes_and_tags(void **state)
{
	struct place p = place_new();
	struct store *s = open_store(p.path);
	int64_t a = add_run(s, "one"), b = add_run(s, "two"), found = 0;
	_cleanup_(run_info_release) struct run_info info = {};
	struct run_info *v = NULL;
	struct err e = {};
	size_t nr = 0;

	assert_int_equal(store_run_note(s, a, "with the new FIRMWARE", &e), 0);
	assert_int_equal(store_run_tag(s, a, "v6.12-rt", true, &e), 0);
	assert_int_equal(store_run_tag(s, a, "baseline", true, &e), 0);
	assert_int_equal(store_run_tag(s, a, "baseline", true, &e), 0); /* again */
	assert_int_equal(store_run_tag(s, b, "baseline", true, &e), 0);
	assert_int_equal(store_run_read(s, a, &info, &e), 0);
	assert_string_equal(info.tags, "baseline v6.12-rt");
	assert_string_equal(info.note, "with the new FIRMWARE");
	assert_int_equal(store_run_find(s, "baseline", &found, &e), 0);
	assert_int_equal(found, b);
	assert_int_equal(store_run_tag(s, b, "baseline", false, &e), 0);
	assert_int_equal(store_run_find(s, "baseline", &found, &e), 0);
	assert_int_equal(found, a);
	assert_int_equal(store_run_rename(s, b, "baseline", &e), 0); /* a name comes first */
	assert_int_equal(store_run_find(s, "baseline", &found, &e), 0);
	assert_int_equal(found, b);
	assert_int_equal(store_run_tag(s, a, "a b", true, &e), -EINVAL);
	assert_int_equal(store_run_tag(s, a, "", true, &e), -EINVAL);
	assert_int_equal(store_run_rename(s, a, "", &e), -EINVAL);
	assert_int_equal(store_run_rename(s, a, "4711", &e), -EINVAL); /* a run's number */
	assert_int_equal(store_run_tag(s, a, "4711", true, &e), -EINVAL);
	assert_int_equal(store_run_tag(s, a, "4711", false, &e), 0); /* an older irqlab took it */

	assert_int_equal(
		store_runs_list(s, &(struct run_filter){ .search = "firmware" }, &v, &nr, &e), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(v[0].id, a);
	assert_null(v[0].plan);
	runs_free(v, nr);
	assert_int_equal(store_runs_list(s, &(struct run_filter){ .tag = "v6.12-rt" }, &v, &nr, &e),
			 0);
	assert_int_equal(nr, 1);
	runs_free(v, nr);
	assert_int_equal(store_runs_list(s, &(struct run_filter){ .most = 1 }, &v, &nr, &e), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(v[0].id, b);
	assert_null(v[0].tags);
	runs_free(v, nr);
	assert_int_equal(store_runs_list(s, &(struct run_filter){ .tag = "nobody's" }, &v, &nr, &e),
			 0);
	assert_int_equal(nr, 0);
	runs_free(v, nr);

	/* with all that belongs to it */
	assert_int_equal(store_run_remove(s, a, &e), 0);
	assert_int_equal(store_run_remove(s, a, &e), -ENOENT);
	assert_int_equal(store_run_note(s, a, "", &e), -ENOENT);
	assert_int_equal(store_run_tag(s, a, "x", true, &e), -ENOENT);
	assert_int_equal(store_run_find(s, "v6.12-rt", &found, &e), -ENOENT);
	store_close(s);
	place_remove(&p);
}

static void older_stores_are_migrated_in_one_transaction(void **state)
{
	static const char *const good[] = { "ALTER TABLE run ADD COLUMN extra TEXT",
					    "CREATE TABLE later (x)" };
	static const char *const bad[] = { "ALTER TABLE run ADD COLUMN extra TEXT",
					   "CREATE TABLE run (x)" };
	enum { OURS = 3, NEWER = OURS + 2 };
	const char *steps[NEWER];
	const struct schema newer = { steps, NEWER };
	struct place p = place_new();
	struct store *s = open_store(p.path);
	_cleanup_(buf_release) struct buf before = {};
	struct err e = {};
	int64_t id = 0;

	add_run(s, "old");
	store_close(take_ptr(s));
	slurp(p.path, &before);
	assert_int_equal(schema_current.nr, OURS);
	memcpy(steps, schema_current.steps, OURS * sizeof(steps[0]));
	memcpy(&steps[OURS], bad, sizeof(bad));
	assert_int_equal(store_open_schema(&s, p.path, STORE_READ, &newer, &e), -ENOTSUP);
	assert_contains(e.msg, "written by an older irqlab");
	assert_true(store_open_schema(&s, p.path, STORE_WRITE, &newer, &e) < 0);
	assert_contains(e.msg, "schema step 5");
	/* the failed step took the good one back with it */
	s = open_store(p.path);
	store_close(take_ptr(s));
	memcpy(&steps[OURS], good, sizeof(good));
	assert_int_equal(store_open_schema(&s, p.path, STORE_WRITE, &newer, &e), 0);
	assert_int_equal(store_run_find(s, "old", &id, &e), 0);
	store_close(take_ptr(s));
	assert_int_equal(store_open(&s, p.path, STORE_WRITE, &e), -ENOTSUP);
	assert_contains(e.msg, "schema 5, this one knows up to 3");
	place_remove(&p);
}

static void a_reader_sees_whole_trials_while_another_writes(void **state)
{
	struct place p = place_new();
	_cleanup_(store_closep) struct store *s = open_store(p.path);
	struct store *reader = NULL;
	struct trial_info *trials = NULL;
	struct err e = {};
	size_t seen = 0;
	int64_t run = add_run(s, "both");
	int status;
	pid_t pid = fork();

	if (pid == 0)
		write_until_killed(p.path, run);
	assert_int_equal(store_open(&reader, p.path, STORE_READ, &e), 0);
	while (seen < 30) {
		size_t nr = 0;

		/* the writer ends only when killed */
		assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
		assert_int_equal(store_trials(reader, run, &trials, &nr, &e), 0);
		assert_true(nr >= seen);
		for (size_t i = seen; i < nr; i++) {
			_cleanup_(record_list_release) struct record_list l = {};

			assert_int_equal(store_records(reader, trials[i].id, 0, NULL, &l, &e), 0);
			assert_int_equal(l.nr, 1 + 4 * (size_t)l.v[0]->value);
		}
		seen = nr;
		trials_free(take_ptr(trials), nr);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	store_close(reader);
	store_close(take_ptr(s));
	place_remove(&p);
}

/* Fill the store until a write fails; the errno of that. */
static int write_until_full(struct store *s, int64_t run, struct err *e)
{
	for (unsigned int i = 0; i < 100000; i++) {
		_cleanup_(record_list_release) struct record_list l = {};
		struct trial_info t = { .block = i, .position = i };
		int r;

		fill(&l, 20);
		r = store_trial_add(s, run, &t, &l, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static void a_full_disk_is_named_and_loses_nothing(void **state)
{
	struct place p = place_new();
	struct err e = {};
	char path[160];
	int64_t run;

	/* in a namespace of our own: the mount goes with the process, whatever fails */
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", p.dir, "tmpfs", 0, "size=2m,mode=0700") < 0) {
		print_message("no mount here (%s): a full file system is tried by file size only\n",
			      strerrorname_np(errno));
		rmdir(p.dir);
		skip();
	}
	snprintf(path, sizeof(path), "%s/irqlab.db", p.dir);
	{
		_cleanup_(store_closep) struct store *s = open_store(path);

		run = add_run(s, "full");
		assert_int_equal(write_until_full(s, run, &e), -ENOSPC);
		assert_contains(e.msg, path);
		assert_contains(e.msg, "no space left");
		assert_contains(e.msg, "irqlab run --resume");
	}
	assert_true(assert_complete(path, run) > 0);
	assert_sound(path);
	assert_int_equal(umount(p.dir), 0);
	rmdir(p.dir);
}

static void a_file_size_limit_is_named_and_loses_nothing(void **state)
{
	struct place p = place_new();
	int64_t run;
	int status;
	pid_t pid;

	{
		_cleanup_(store_closep) struct store *s = open_store(p.path);

		run = add_run(s, "limit");
	}
	pid = fork();
	if (pid == 0) {
		const struct rlimit limit = { 1 << 20, 1 << 20 };
		struct store *s = NULL;
		struct err e = {};
		bool good;

		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		good = store_open(&s, p.path, STORE_WRITE, &e) == 0 &&
		       write_until_full(s, run, &e) == -ENOSPC && strstr(e.msg, "no space left") &&
		       strstr(e.msg, p.path);
		if (!good)
			fprintf(stderr, "# the error was \"%s\"\n", e.msg);
		store_close(s);
		_exit(good ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(assert_complete(p.path, run) > 0);
	assert_sound(p.path);
	place_remove(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_and_folders_are_for_the_user_alone),
		cmocka_unit_test(default_path_follows_the_environment),
		cmocka_unit_test(every_kind_of_record_comes_back),
		cmocka_unit_test(a_cell_is_stored_once),
		cmocka_unit_test(a_bad_trial_leaves_nothing),
		cmocka_unit_test(runs_are_found_by_id_name_and_last),
		cmocka_unit_test(a_stopped_run_shows_what_is_left),
		cmocka_unit_test(a_killed_writer_leaves_whole_trials),
		cmocka_unit_test(a_store_killed_while_born_is_whole_or_absent),
		cmocka_unit_test(what_is_not_ours_is_refused_untouched),
		cmocka_unit_test(runs_have_names_notes_and_tags),
		cmocka_unit_test(older_stores_are_migrated_in_one_transaction),
		cmocka_unit_test(a_reader_sees_whole_trials_while_another_writes),
		cmocka_unit_test(a_full_disk_is_named_and_loses_nothing),
		cmocka_unit_test(a_file_size_limit_is_named_and_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
