// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tree.h"
#include "variant/journal.h"
#include "variant/lock.h"

static struct tree tree;

static int setup(void **state)
{
	tree_make(&tree);
	return 0;
}

static int teardown(void **state)
{
	tree_remove(&tree);
	return 0;
}

static struct change example(void)
{
	return (struct change){ .knob = "sysctl",
				.target = "kernel.x",
				.old = "0",
				.new_value = "1",
				.boot = BOOT,
				.pid = 42 };
}

static void must(int r, const struct err *e)
{
	if (r < 0)
		fail_msg("%s", e->msg);
}

static struct journal *load(struct changes *l)
{
	struct journal *j = NULL;
	struct err e = {};

	must(journal_load(&j, tree.state, true, BOOT, l, &e), &e);
	return j;
}

static void changes_come_back_exactly(void **state)
{
	_cleanup_(changes_release) struct changes l = {};
	struct change c = example();
	struct err e = {};
	struct journal *j = load(&l);

	c.target = "a \"b\" \\ \x01\x7f\xff\xc3\xa9\n{\"done\":1}\n";
	c.old = "4096\t131072\t6291456";
	c.new_value = "";
	c.ephemeral = true;
	must(journal_begin(j, &c, &e), &e);
	c.old = NULL;
	c.blind = true;
	c.ephemeral = false;
	must(journal_begin(j, &c, &e), &e);
	journal_set(j, c.id);
	journal_close(j);
	j = load(&l);
	assert_int_equal(l.nr, 2);
	assert_int_equal(l.nr_damaged, 0);
	assert_false(l.all_of_other_boots);
	assert_string_equal(l.v[0].target, c.target);
	assert_string_equal(l.v[0].old, "4096\t131072\t6291456");
	assert_string_equal(l.v[0].new_value, "");
	assert_string_equal(l.v[0].boot, BOOT);
	assert_true(l.v[0].ephemeral && !l.v[0].blind && !l.v[0].set);
	assert_null(l.v[1].old);
	assert_true(!l.v[1].ephemeral && l.v[1].blind && l.v[1].set);
	assert_int_equal(l.v[1].pid, 42);
	journal_close(j);
}

static void file_goes_when_nothing_is_open(void **state)
{
	_cleanup_(changes_release) struct changes l = {};
	_cleanup_(journal_closep) struct journal *j = load(&l);
	struct change a = example(), b = example();
	struct err e = {};

	assert_false(tree_has(&tree, "state/journal"));
	must(journal_begin(j, &a, &e), &e);
	must(journal_begin(j, &b, &e), &e);
	must(journal_done(j, a.id, &e), &e);
	assert_true(tree_has(&tree, "state/journal"));
	must(journal_done(j, b.id, &e), &e);
	assert_false(tree_has(&tree, "state/journal"));
	must(journal_begin(j, &a, &e), &e);
	assert_true(tree_has(&tree, "state/journal"));
	assert_int_not_equal(a.id, b.id);
}

/* The journal of two changes and one done, as text. */
static void text_of(struct buf *out)
{
	_cleanup_(changes_release) struct changes l = {};
	_cleanup_(journal_closep) struct journal *j = load(&l);
	struct change a = example(), b = example();
	struct err e = {};

	must(journal_begin(j, &a, &e), &e);
	must(journal_begin(j, &b, &e), &e);
	must(journal_done(j, a.id, &e), &e);
	must(kfile_read(open(tree.state, O_RDONLY | O_CLOEXEC), "journal", out, &e), &e);
}

static void a_torn_last_line_is_as_if_never_written(void **state)
{
	_cleanup_(buf_release) struct buf text = {};
	size_t first, second;

	text_of(&text);
	first = (size_t)(strchr(text.data, '\n') + 1 - text.data);
	second = (size_t)(strchr(text.data + first, '\n') + 1 - text.data);
	for (size_t len = 0; len <= text.len; len++) {
		_cleanup_(changes_release) struct changes l = {}, again = {};
		_cleanup_(buf_release) struct buf part = {};
		struct change c = example();
		struct journal *j;
		struct err e = {};
		size_t open = len < first ? 0 : len < second || len == text.len ? 1 : 2;

		buf_add(&part, text.data, len);
		tree_write(&tree, "state/journal", buf_str(&part));
		j = load(&l);
		assert_int_equal(l.nr, open);
		assert_int_equal(l.nr_damaged, 0);
		if (len == text.len)
			assert_int_equal(l.v[0].id, 2);
		/* the next line must not be glued to the torn one */
		must(journal_begin(j, &c, &e), &e);
		journal_close(j);
		j = load(&again);
		assert_int_equal(again.nr, open + 1);
		assert_int_equal(again.nr_damaged, 0);
		journal_close(j);
	}
}

static void damage_elsewhere_is_reported(void **state)
{
	static const char *const rubbish[] = { "\n",
					       "{}\n",
					       "{\"id\":1}\n",
					       "rubbish\n",
					       "{\"done\":99}\n",
					       "[1]\n",
					       "{\"done\":1} x\n" };
	_cleanup_(buf_release) struct buf text = {};

	text_of(&text);
	for (size_t i = 0; i < ARRAY_SIZE(rubbish); i++) {
		_cleanup_(changes_release) struct changes l = {};
		_cleanup_(journal_closep) struct journal *j = NULL;
		_cleanup_(buf_release) struct buf b = {};
		struct err e = {};

		buf_puts(&b, text.data);
		buf_puts(&b, rubbish[i]);
		tree_write(&tree, "state/journal", buf_str(&b));
		j = load(&l);
		assert_int_equal(l.nr, 1);
		assert_int_equal(l.nr_damaged, 1);
		assert_int_equal(l.first_damaged, 4);
		must(journal_done(j, l.v[0].id, &e), &e);
		assert_true(
			tree_has(&tree, "state/journal")); /* the damage stays to be looked at */
	}
}

static void another_runs_journal_is_refused(void **state)
{
	_cleanup_(changes_release) struct changes l = {};
	struct journal *j = load(&l);
	struct change c = example();
	struct err e = {};

	must(journal_begin(j, &c, &e), &e);
	journal_close(j);
	j = NULL;
	assert_int_equal(journal_open(&j, tree.state, &e), -EUCLEAN);
	assert_contains(e.msg, "irqlab restore");
	assert_null(j);
	must(variant_forget(tree.state, &e), &e);
	must(journal_open(&j, tree.state, &e), &e);
	journal_close(j);
}

static void the_directory_is_ours_alone(void **state)
{
	_cleanup_(journal_closep) struct journal *j = NULL;
	struct err e = {};
	struct stat st;
	char deep[128];

	snprintf(deep, sizeof(deep), "%s/a/b", tree.state);
	must(journal_open(&j, deep, &e), &e);
	assert_int_equal(stat(deep, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	chmod(deep, 0777);
	assert_int_equal(journal_open(&j, deep, &e), -EPERM);
	assert_contains(e.msg, "chmod");
}

static void limit_file_size(rlim_t bytes)
{
	struct rlimit l;

	getrlimit(RLIMIT_FSIZE, &l);
	l.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static void a_full_disk_leaves_the_journal_whole(void **state)
{
	_cleanup_(changes_release) struct changes l = {};
	_cleanup_(journal_closep) struct journal *j = load(&l);
	struct change c = example();
	struct err e = {};
	struct stat st;
	char path[128];
	rlim_t failures = 0;
	int r = -1;

	signal(SIGXFSZ, SIG_IGN);
	must(journal_begin(j, &c, &e), &e);
	snprintf(path, sizeof(path), "%s/journal", tree.state);
	stat(path, &st);
	for (rlim_t room = 0; r < 0; room++) {
		limit_file_size((rlim_t)st.st_size + room);
		r = journal_begin(j, &c, &e);
		limit_file_size(RLIM_INFINITY);
		if (r < 0) {
			_cleanup_(changes_release) struct changes now = {};

			assert_int_equal(r, -EFBIG);
			journal_close(load(&now));
			assert_int_equal(now.nr, 1);
			failures++;
		}
	}
	assert_true(failures > 100);
	assert_int_equal(c.id, 2);
	limit_file_size(1);
	must(journal_done(j, 1, &e), &e); /* no room to say so, but the change is undone */
	must(journal_done(j, 2, &e), &e);
	limit_file_size(RLIM_INFINITY);
	assert_false(tree_has(&tree, "state/journal"));
}

static void the_lock_names_its_owner(void **state)
{
	struct lock *mine = NULL, *theirs = NULL;
	struct err e = {};
	char pid[32];

	must(lock_acquire(&mine, tree.state, &e), &e);
	assert_int_equal(lock_acquire(&theirs, tree.state, &e), -EBUSY);
	snprintf(pid, sizeof(pid), "process %d ", getpid());
	assert_contains(e.msg, pid);
	assert_contains(e.msg, "test_journal");
	assert_contains(e.msg, "since 0 min");
	assert_null(theirs);
	lock_release(mine);
	must(lock_acquire(&theirs, tree.state, &e), &e);
	lock_release(theirs);
}

static void the_lock_ends_with_its_owner(void **state)
{
	struct lock *l = NULL;
	struct err e = {};
	int ready[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		c = lock_acquire(&l, tree.state, &e) < 0 ? 'n' : 'y';
		if (write(ready[1], &c, 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(c, 'y');
	assert_int_equal(lock_acquire(&l, tree.state, &e), -EBUSY);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	must(lock_acquire(&l, tree.state, &e), &e);
	lock_release(l);
	close(ready[0]);
	close(ready[1]);
}

#define with_tree(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(changes_come_back_exactly),
		with_tree(file_goes_when_nothing_is_open),
		with_tree(a_torn_last_line_is_as_if_never_written),
		with_tree(damage_elsewhere_is_reported),
		with_tree(another_runs_journal_is_refused),
		with_tree(the_directory_is_ours_alone),
		with_tree(a_full_disk_leaves_the_journal_whole),
		with_tree(the_lock_names_its_owner),
		with_tree(the_lock_ends_with_its_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
