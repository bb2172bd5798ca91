// SPDX-License-Identifier: GPL-3.0-or-later
/* What people do with stored runs: find, name, note, tag and remove them. */
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "store/inside.h"

#define TAG_MAX 64

/* One change of run @run: @query has a text parameter when @text is given, then the run's. */
static int change(struct store *s, int64_t run, const char *query, const char *text, struct err *e)
{
	_cleanup_(stmt_release) struct stmt q = {};
	int r = stmt_prepare(&q, &s->sql, query, e);

	if (r < 0)
		return r;
	if (text)
		stmt_text(&q, text);
	stmt_i64(&q, run);
	r = stmt_run(&q, e);
	if (r < 0)
		return r;
	return sqlite3_changes(s->sql.db) > 0;
}

/* The same of a run that must be there. */
static int change_run(struct store *s, int64_t run, const char *query, const char *text,
		      struct err *e)
{
	int r = change(s, run, query, text, e);

	if (r == 0)
		return err_set(e, -ENOENT,
			       "store %s: no run %" PRId64 "; irqlab list shows what is there",
			       s->sql.path, run);
	return r < 0 ? r : 0;
}

/*
 * "17" is the run of that number as long as there is one.  Were it a name, too, "rm 17" given twice
 * would remove two runs.
 */
static int check_number(const char *what, const char *text, struct err *e)
{
	if (!*text || text[strspn(text, "0123456789")])
		return 0;
	return err_set(e, -EINVAL,
		       "%s \"%s\" would be taken for a run's number; put a letter to it", what,
		       text);
}

int store_run_rename(struct store *s, int64_t run, const char *name, struct err *e)
{
	int r = check_number("name", name, e);

	if (r < 0)
		return r;
	if (!*name)
		return err_set(e, -EINVAL, "a run needs a name that is not empty");
	return change_run(s, run, "UPDATE run SET name = ? WHERE id = ?", name, e);
}

int store_run_note(struct store *s, int64_t run, const char *text, struct err *e)
{
	return change_run(s, run, "UPDATE run SET note = ? WHERE id = ?", text, e);
}

int store_run_remove(struct store *s, int64_t run, struct err *e)
{
	return change_run(s, run, "DELETE FROM run WHERE id = ?", NULL, e);
}

static int check_tag(const char *tag, struct err *e)
{
	static const char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				  "._:+-";
	size_t len = strlen(tag);

	if (len > 0 && len <= TAG_MAX && strspn(tag, all) == len)
		return 0;
	return err_set(e, -EINVAL,
		       "tag \"%s\": it has letters, digits and . _ : + - and at most %d of them",
		       tag, TAG_MAX);
}

int store_run_tag(struct store *s, int64_t run, const char *tag, bool on, struct err *e)
{
	struct run_info info = {};
	int r = check_tag(tag, e);

	if (r >= 0 && on)
		r = check_number("tag", tag, e);
	if (r >= 0)
		r = store_run_read(s, run, &info, e);
	run_info_release(&info);
	if (r < 0)
		return r;
	/* a tag that is there already, or is not, is as wanted */
	r = change(s, run,
		   on ? "INSERT OR IGNORE INTO tag (name, run) VALUES (?, ?)"
		      : "DELETE FROM tag WHERE name = ? AND run = ?",
		   tag, e);
	return r < 0 ? r : 0;
}

/* id, name, started, ended, state, aa, seed, version, note, tags */
static const char list_query[] =
	"SELECT run.id, run.name, started_ns, ended_ns, state, aa, seed, version, note, " RUN_TAGS
	" FROM run WHERE (?1 = '' OR EXISTS (SELECT 1 FROM tag WHERE run = run.id AND name = ?1))"
	" AND (?2 = '' OR instr(lower(run.name || char(10) || note), lower(?2)) > 0)"
	" ORDER BY run.id DESC LIMIT ?3";

static int take_brief(const struct stmt *q, struct run_info *ret, struct err *e)
{
	_cleanup_(run_info_release) struct run_info info = {
		.id = sqlite3_column_int64(q->st, 0),
		.started_ns = (uint64_t)sqlite3_column_int64(q->st, 2),
		.ended_ns = (uint64_t)sqlite3_column_int64(q->st, 3),
		.state = (enum run_state)sqlite3_column_int(q->st, 4),
		.aa = sqlite3_column_int(q->st, 5),
		.seed = (uint64_t)sqlite3_column_int64(q->st, 6),
	};
	int r = stmt_column_text(q, 1, &info.name, e);

	if (r >= 0)
		r = stmt_column_text(q, 7, &info.version, e);
	if (r >= 0)
		r = stmt_column_text(q, 8, &info.note, e);
	if (r >= 0)
		r = stmt_column_text(q, 9, &info.tags, e);
	if (r < 0)
		return r;
	*ret = info;
	info = (struct run_info){};
	return 0;
}

struct run_list {
	struct run_info *v;
	size_t nr, size;
};

static void run_list_release(struct run_list *l)
{
	runs_free(l->v, l->nr);
}

static int run_list_take(struct run_list *l, const struct stmt *q, struct err *e)
{
	int r;

	if (l->nr == l->size) {
		struct run_info *more = realloc(l->v, (2 * l->size + 64) * sizeof(*more));

		if (!more)
			return err_nomem(e, "runs");
		l->v = more;
		l->size = 2 * l->size + 64;
	}
	r = take_brief(q, &l->v[l->nr], e);
	l->nr += r >= 0;
	return r;
}

int store_runs_list(struct store *s, const struct run_filter *f, struct run_info **ret,
		    size_t *ret_nr, struct err *e)
{
	_cleanup_(stmt_release) struct stmt q = {};
	_cleanup_(run_list_release) struct run_list l = {};
	int r = stmt_prepare(&q, &s->sql, list_query, e);

	if (r < 0)
		return r;
	stmt_text(&q, f->tag ? f->tag : "");
	stmt_text(&q, f->search ? f->search : "");
	stmt_i64(&q, f->most ? (int64_t)f->most : -1);
	while ((r = stmt_step(&q, e)) > 0) {
		r = run_list_take(&l, &q, e);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	*ret = l.v;
	*ret_nr = l.nr;
	l = (struct run_list){};
	return 0;
}
