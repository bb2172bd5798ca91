// SPDX-License-Identifier: GPL-3.0-or-later
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "sample/codec.h"
#include "sample/hist.h"
#include "store/inside.h"

/* The statements of one trial's transaction, prepared once for all its records. */
struct adding {
	struct sql *sql;
	int64_t trial;
	struct stmt find_metric, add_metric, find_label, add_label;
	struct stmt scalar, series, hist, event;
};

static void adding_release(struct adding *a)
{
	stmt_release(&a->find_metric);
	stmt_release(&a->add_metric);
	stmt_release(&a->find_label);
	stmt_release(&a->add_label);
	stmt_release(&a->scalar);
	stmt_release(&a->series);
	stmt_release(&a->hist);
	stmt_release(&a->event);
}

static int adding_prepare(struct adding *a, struct err *e)
{
	const struct {
		struct stmt *q;
		const char *text;
	} all[] = {
		{ &a->find_metric, "SELECT id FROM metric WHERE name = ? AND unit = ?" },
		{ &a->add_metric, "INSERT INTO metric (name, unit) VALUES (?, ?)" },
		{ &a->find_label, "SELECT id FROM label WHERE text = ?" },
		{ &a->add_label, "INSERT INTO label (text) VALUES (?)" },
		{ &a->scalar, "INSERT INTO scalar (trial, metric, label, value) "
			      "VALUES (?, ?, ?, ?)" },
		{ &a->series, "INSERT INTO series (trial, metric, label, points, data) "
			      "VALUES (?, ?, ?, ?, ?)" },
		{ &a->hist, "INSERT INTO hist (trial, metric, label, total, max_ns, data) "
			    "VALUES (?, ?, ?, ?, ?, ?)" },
		{ &a->event, "INSERT INTO event (trial, metric, label, t_ns, severity, text) "
			     "VALUES (?, ?, ?, ?, ?, ?)" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		int r = stmt_prepare(all[i].q, a->sql, all[i].text, e);

		if (r < 0)
			return r;
	}
	return 0;
}

/* The id of an interned text, made when new: @find and @add take the same parameters. */
static int intern(struct stmt *find, struct stmt *add, const char *text, const char *unit,
		  int64_t *ret, struct err *e)
{
	int r;

	stmt_text(find, text);
	if (unit)
		stmt_text(find, unit);
	r = stmt_step(find, e);
	if (r > 0)
		*ret = sqlite3_column_int64(find->st, 0);
	sqlite3_reset(find->st);
	find->next = 1;
	if (r != 0)
		return r < 0 ? r : 0;
	stmt_text(add, text);
	if (unit)
		stmt_text(add, unit);
	r = stmt_run(add, e);
	if (r == 0)
		*ret = sqlite3_last_insert_rowid(add->sql->db);
	return r;
}

static int bind_body(struct stmt *q, const struct record *rec, struct buf *blob, struct err *e)
{
	int r = 0;

	switch (rec->kind) {
	case RECORD_SCALAR:
		stmt_double(q, rec->value);
		break;
	case RECORD_SERIES:
		r = codec_series_encode(rec->points, rec->nr_points, blob);
		stmt_u64(q, rec->nr_points);
		stmt_blob(q, blob->data, blob->len);
		break;
	case RECORD_HIST:
		r = codec_hist_encode(rec->hist, blob);
		stmt_u64(q, rec->hist->total);
		stmt_u64(q, rec->hist->max);
		stmt_blob(q, blob->data, blob->len);
		break;
	case RECORD_EVENT:
		stmt_i64(q, rec->t_ns);
		stmt_i64(q, rec->severity);
		stmt_text(q, rec->text);
		break;
	}
	return r < 0 ? err_nomem(e, "record") : 0;
}

static struct stmt *table_of(struct adding *a, enum record_kind kind)
{
	switch (kind) {
	case RECORD_SCALAR:
		return &a->scalar;
	case RECORD_SERIES:
		return &a->series;
	case RECORD_HIST:
		return &a->hist;
	case RECORD_EVENT:
		return &a->event;
	}
	return NULL;
}

static int insert_record(struct adding *a, const struct record *rec, struct err *e)
{
	_cleanup_(buf_release) struct buf blob = {};
	struct stmt *q = table_of(a, rec->kind);
	int64_t metric = 0, label = 0;
	int r;

	if (!q)
		return err_set(e, -EINVAL, "record of unknown kind %d", (int)rec->kind);
	r = intern(&a->find_metric, &a->add_metric, rec->metric, rec->unit, &metric, e);
	if (r < 0)
		return r;
	r = intern(&a->find_label, &a->add_label, rec->labels, NULL, &label, e);
	if (r < 0)
		return r;
	stmt_i64(q, a->trial);
	stmt_i64(q, metric);
	stmt_i64(q, label);
	r = bind_body(q, rec, &blob, e);
	if (r < 0)
		return r;
	r = stmt_run(q, e);
	if (r == -EINVAL && sqlite3_extended_errcode(a->sql->db) == SQLITE_CONSTRAINT_UNIQUE)
		return err_set(e, -EINVAL,
			       "given twice in one trial; what is measured twice needs labels "
			       "that differ");
	return r;
}

static int insert_trial(struct sql *sql, int64_t run, const struct trial_info *t, struct err *e)
{
	_cleanup_(stmt_release) struct stmt q = {};
	int r = stmt_prepare(&q, sql,
			     "INSERT INTO trial (run, block, scenario, variant, position, seed, "
			     "state, reason, started_ns, window_ns, boot, build) "
			     "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			     e);

	if (r < 0)
		return r;
	stmt_i64(&q, run);
	stmt_i64(&q, t->block);
	stmt_i64(&q, t->scenario);
	stmt_i64(&q, t->variant);
	stmt_i64(&q, t->position);
	stmt_u64(&q, t->seed);
	stmt_i64(&q, t->state);
	stmt_text(&q, t->reason);
	stmt_u64(&q, t->started_ns);
	stmt_u64(&q, t->window_ns);
	stmt_i64(&q, t->boot);
	stmt_i64(&q, t->build);
	r = stmt_step(&q, e);
	if (r == 0)
		return 0;
	if (sqlite3_extended_errcode(sql->db) == SQLITE_CONSTRAINT_UNIQUE)
		return err_set(e, -EEXIST, "store %s: it is already stored", sql->path);
	if (sqlite3_extended_errcode(sql->db) == SQLITE_CONSTRAINT_FOREIGNKEY)
		return err_set(e, -EINVAL, "store %s: there is no such run, scenario or variant",
			       sql->path);
	return r;
}

/* A trial that could not be measured makes room for the one that could, when a run is resumed. */
static int drop_failed(struct sql *sql, int64_t run, const struct trial_info *t, struct err *e)
{
	_cleanup_(stmt_release) struct stmt q = {};
	int r = stmt_prepare(&q, sql,
			     "DELETE FROM trial WHERE run = ? AND block = ? AND scenario = ? "
			     "AND variant = ? AND state = ?",
			     e);

	if (r < 0)
		return r;
	stmt_i64(&q, run);
	stmt_i64(&q, t->block);
	stmt_i64(&q, t->scenario);
	stmt_i64(&q, t->variant);
	stmt_i64(&q, TRIAL_FAILED);
	return stmt_run(&q, e);
}

static int add_all(struct sql *sql, int64_t run, const struct trial_info *t,
		   const struct record_list *records, struct err *e)
{
	_cleanup_(txn_release) struct txn txn = {};
	_cleanup_(adding_release) struct adding a = { .sql = sql };
	int r = txn_begin(&txn, sql, e);

	if (r < 0)
		return r;
	r = drop_failed(sql, run, t, e);
	if (r >= 0)
		r = insert_trial(sql, run, t, e);
	if (r < 0)
		return r;
	a.trial = sqlite3_last_insert_rowid(sql->db);
	r = adding_prepare(&a, e);
	if (r < 0)
		return r;
	for (size_t i = 0; records && i < records->nr; i++) {
		const struct record *rec = records->v[i];

		r = insert_record(&a, rec, e);
		if (r < 0)
			return err_wrap(e, "%s[%s]", rec->metric, rec->labels);
	}
	return txn_commit(&txn, e);
}

int store_trial_add(struct store *s, int64_t run, const struct trial_info *t,
		    const struct record_list *records, struct err *e)
{
	int r = add_all(&s->sql, run, t, records, e);

	if (r < 0)
		return err_wrap(e, "run %" PRId64 ", trial of block %u, scenario %u, variant %u",
				run, t->block, t->scenario, t->variant);
	return 0;
}

static int env_id(struct sql *sql, const char *json, int64_t *ret, struct err *e)
{
	_cleanup_(stmt_release) struct stmt find = {}, add = {};
	int r = stmt_prepare(&find, sql, "SELECT id FROM env WHERE json = ?", e);

	if (r < 0)
		return r;
	r = stmt_prepare(&add, sql, "INSERT INTO env (json) VALUES (?)", e);
	if (r < 0)
		return r;
	return intern(&find, &add, json ? json : "{}", NULL, ret, e);
}

static int insert_run(struct sql *sql, const struct run_info *run, int64_t env, struct err *e)
{
	_cleanup_(stmt_release) struct stmt q = {};
	int r = stmt_prepare(&q, sql,
			     "INSERT INTO run (name, plan, plan_file, version, env, seed, "
			     "started_ns, state, aa) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			     e);

	if (r < 0)
		return r;
	stmt_text(&q, run->name);
	stmt_text(&q, run->plan);
	stmt_text(&q, run->plan_file);
	stmt_text(&q, run->version);
	stmt_i64(&q, env);
	stmt_u64(&q, run->seed);
	stmt_u64(&q, run->started_ns);
	stmt_i64(&q, RUN_OPEN);
	stmt_i64(&q, run->aa);
	return stmt_run(&q, e);
}

static int insert_names(struct sql *sql, const char *text, int64_t run, const char *const *names,
			struct err *e)
{
	_cleanup_(stmt_release) struct stmt q = {};
	int r = stmt_prepare(&q, sql, text, e);

	for (size_t i = 0; r == 0 && names[i]; i++) {
		stmt_i64(&q, run);
		stmt_u64(&q, i);
		stmt_text(&q, names[i]);
		r = stmt_run(&q, e);
		if (r < 0)
			return err_wrap(e, "name \"%s\"", names[i]);
	}
	return r;
}

int store_run_add(struct store *s, const struct run_info *run, const char *const *variants,
		  const char *const *scenarios, int64_t *ret_id, struct err *e)
{
	_cleanup_(txn_release) struct txn txn = {};
	int64_t env = 0, id;
	int r = txn_begin(&txn, &s->sql, e);

	if (r < 0)
		return r;
	r = env_id(&s->sql, run->env, &env, e);
	if (r < 0)
		return r;
	r = insert_run(&s->sql, run, env, e);
	if (r < 0)
		return r;
	id = sqlite3_last_insert_rowid(s->sql.db);
	r = insert_names(&s->sql, "INSERT INTO variant (run, idx, name) VALUES (?, ?, ?)", id,
			 variants, e);
	if (r < 0)
		return r;
	r = insert_names(&s->sql, "INSERT INTO scenario (run, idx, name) VALUES (?, ?, ?)", id,
			 scenarios, e);
	if (r < 0)
		return r;
	r = txn_commit(&txn, e);
	if (r == 0)
		*ret_id = id;
	return r;
}

int store_run_end(struct store *s, int64_t run, enum run_state state, uint64_t ended_ns,
		  struct err *e)
{
	_cleanup_(stmt_release) struct stmt q = {};
	int r = stmt_prepare(&q, &s->sql, "UPDATE run SET state = ?, ended_ns = ? WHERE id = ?", e);

	if (r < 0)
		return r;
	stmt_i64(&q, state);
	stmt_u64(&q, ended_ns);
	stmt_i64(&q, run);
	r = stmt_run(&q, e);
	if (r < 0)
		return r;
	if (sqlite3_changes(s->sql.db) == 0)
		return err_set(e, -ENOENT, "store %s: there is no run %" PRId64, s->sql.path, run);
	return 0;
}
