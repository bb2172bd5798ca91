/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef KNOB_FAULTS_H
#define KNOB_FAULTS_H

/*
 * For every knob: whatever operation fails, alone or with all that follow, and wherever SIGKILL
 * hits, undo or a later restore leaves the machine as it was.  After test.h and tree.h:
 *
 *	expect_faults_repaired(&tree, NULL, knobs, &list, NULL);
 *
 * Files of a fixture tree take a write as it is and are not cut: give them old and new values of
 * the same length.  What lies outside the tree (a thread's policy) is compared by @check.
 */

#include <dirent.h>
#include <sys/wait.h>

#include "io_faults.h"
#include "plan/instance.h"
#include "variant/knob.h"
#include "variant/variant.h"

static inline void snapshot_dir(const char *path, struct buf *out)
{
	struct dirent **names;
	int nr = scandir(path, &names, NULL, alphasort);

	assert_true(nr >= 0);
	for (int i = 0; i < nr; i++) {
		const char *name = names[i]->d_name;
		char full[512], text[512];
		struct stat st;

		snprintf(full, sizeof(full), "%s/%s", path, name);
		if (name[0] != '.' && lstat(full, &st) == 0 && S_ISDIR(st.st_mode)) {
			snapshot_dir(full, out);
		} else if (name[0] != '.' && S_ISREG(st.st_mode)) {
			_cleanup_(fclose_filep) FILE *f = fopen(full, "r");
			size_t n = f ? fread(text, 1, sizeof(text), f) : 0;

			buf_printf(out, "%s: ", full);
			buf_add(out, text, n);
		}
		free(names[i]);
	}
	free(names);
}

/* All files below proc and sys with their contents. */
static inline void tree_snapshot(const struct tree *t, struct buf *out)
{
	static const char *const roots[] = { "proc", "sys" };
	char path[128];

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		snprintf(path, sizeof(path), "%s/%s", t->root, roots[i]);
		snapshot_dir(path, out);
	}
}

struct faulty {
	const struct tree *tree;
	const struct host *host;
	const struct knob_ops *const *knobs;
	const struct instances *list;
	void (*check)(void);
	struct buf before;
	int nr; /* faults that hit */
};

/* Apply and undo once. */
static inline int faulty_run(const struct faulty *f, struct err *e)
{
	struct applied *a = NULL;
	struct journal *j = NULL;
	int r = journal_open(&j, f->tree->state, e);

	if (r >= 0)
		r = variant_apply(&a, f->host, j, f->knobs, f->list, e);
	if (r >= 0)
		r = variant_verify(a, e);
	if (a) {
		struct err why = {};
		int undone = variant_undo(a, &why);

		r = r < 0 ? r : undone;
	}
	journal_close(j);
	return r;
}

static inline void faulty_log(void *arg, const char *line)
{
	buf_printf(arg, "%s\n", line);
}

/* With the fault gone, restore sets right what undo could not. */
static inline void faulty_expect_repaired(struct faulty *f, int n, enum io_how how)
{
	_cleanup_(buf_release) struct buf now = {}, log = {};
	struct restore_report report;
	struct err e = {};

	if (variant_restore(f->host, f->tree->state, f->knobs, faulty_log, &log, &report, &e) < 0)
		fail_msg("operation %d, way %d: %s", n, (int)how, e.msg);
	if (report.changed_by_others)
		fail_msg("operation %d, way %d: %s", n, (int)how, buf_str(&log));
	tree_snapshot(f->tree, &now);
	assert_string_equal(buf_str(&now), buf_str(&f->before));
	assert_false(tree_has(f->tree, "state/journal"));
	if (f->check)
		f->check();
}

static inline void faulty_failures(struct faulty *f, enum io_how how)
{
	for (int n = 1;; n++) {
		struct err e = {};
		int r, nr;

		io_faults(n, how);
		r = faulty_run(f, &e);
		nr = io_faults_end();
		faulty_expect_repaired(f, n, how);
		if (nr < n && r < 0)
			fail_msg("without a fault: %s", e.msg);
		if (nr < n)
			return;
		f->nr++;
	}
}

/* In a child: its counting starts at 0, and nothing of it is left but the tree. */
static inline bool faulty_child_dies(const struct faulty *f, int n, enum io_how how)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct err e = {};

		io_faults(n, how);
		if (faulty_run(f, &e) >= 0)
			_exit(0);
		print_message("# without a fault: %s\n", e.msg);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status))
		assert_int_equal(WEXITSTATUS(status), 0);
	return WIFSIGNALED(status);
}

static inline void faulty_kills(struct faulty *f, enum io_how how)
{
	for (int n = 1;; n++) {
		bool died = faulty_child_dies(f, n, how);

		faulty_expect_repaired(f, n, how);
		if (!died)
			return;
		f->nr++;
	}
}

/* Apply all, and die before anything is undone. */
static inline void faulty_crash(const struct faulty *f)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct applied *a = NULL;
		struct journal *j = NULL;
		struct err e = {};

		if (journal_open(&j, f->tree->state, &e) < 0 ||
		    variant_apply(&a, f->host, j, f->knobs, f->list, &e) < 0)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

/* Restores that fail: the next one ends the work. */
static inline void faulty_restores(struct faulty *f, enum io_how how)
{
	for (int n = 1;; n++) {
		struct restore_report report;
		struct err e = {};
		int nr;

		faulty_crash(f);
		io_faults(n, how);
		variant_restore(f->host, f->tree->state, f->knobs, NULL, NULL, &report, &e);
		nr = io_faults_end();
		faulty_expect_repaired(f, n, how);
		if (nr < n)
			return;
		f->nr++;
	}
}

/* @host: &tree->host when NULL; @check: asserts what the tree does not show, or NULL. */
static inline void expect_faults_repaired(const struct tree *tree, const struct host *host,
					  const struct knob_ops *const *knobs,
					  const struct instances *list, void (*check)(void))
{
	struct faulty f = { .tree = tree,
			    .host = host ? host : &tree->host,
			    .knobs = knobs,
			    .list = list,
			    .check = check };

	tree_snapshot(tree, &f.before);
	faulty_failures(&f, IO_FAIL_ONCE);
	faulty_failures(&f, IO_FAIL_FROM);
	faulty_kills(&f, IO_KILL_BEFORE);
	faulty_kills(&f, IO_KILL_AFTER);
	faulty_restores(&f, IO_FAIL_ONCE);
	faulty_restores(&f, IO_FAIL_FROM);
	/* each setting takes some operations of its own, in each of the ways */
	assert_true(f.nr > 6 * 10 * (int)list->nr);
	print_message("# %d faults were repaired\n", f.nr);
	buf_release(&f.before);
}

#endif
