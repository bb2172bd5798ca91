// SPDX-License-Identifier: GPL-3.0-or-later
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "sample/codec.h"
#include "sample/hist.h"
#include "store/inside.h"

void run_info_release(struct run_info *r)
{
	free(r->name);
	free(r->plan);
	free(r->plan_file);
	free(r->version);
	free(r->env);
	free(r->note);
	free(r->tags);
	*r = (struct run_info){};
}

/* One id by a query with at most one text parameter; -ENOENT without a message. */
static int find_id(struct store *s, const char *query, const char *text, int64_t *ret,
		   struct err *e)
{
	_cleanup_(stmt_release) struct stmt q = {};
	int r = stmt_prepare(&q, &s->sql, query, e);

	if (r < 0)
		return r;
	if (text)
		stmt_text(&q, text);
	r = stmt_step(&q, e);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	*ret = sqlite3_column_int64(q.st, 0);
	return 0;
}

int store_run_find(struct store *s, const char *text, int64_t *ret_id, struct err *e)
{
	static const char by_name[] = "SELECT id FROM run WHERE name = ? ORDER BY id DESC LIMIT 1";
	static const char by_tag[] = "SELECT run FROM tag WHERE name = ? ORDER BY run DESC LIMIT 1";
	int64_t id;
	int r;

	if (strcmp(text, "last") == 0) {
		r = find_id(s, "SELECT id FROM run ORDER BY id DESC LIMIT 1", NULL, ret_id, e);
		if (r == -ENOENT)
			return err_set(e, r, "store %s: no run is stored yet; irqlab run makes one",
				       s->sql.path);
		return r;
	}
	r = text_i64(text, &id) == 0
		    ? find_id(s, "SELECT id FROM run WHERE id = CAST(? AS INTEGER)", text, ret_id,
			      e)
		    : -ENOENT;
	/* a plan may be called "7" */
	if (r == -ENOENT)
		r = find_id(s, by_name, text, ret_id, e);
	if (r == -ENOENT)
		r = find_id(s, by_tag, text, ret_id, e);
	if (r == -ENOENT)
		return err_set(
			e, r,
			"store %s: no run \"%s\" (neither an id, a name nor a tag); irqlab list "
			"shows what is there",
			s->sql.path, text);
	return r;
}

#define RUN_COLUMNS                                                                                \
	"SELECT run.name, plan, plan_file, version, env.json, seed, started_ns, ended_ns, state, " \
	"run.id, run.aa, note, " RUN_TAGS " FROM run JOIN env ON env.id = run.env "

/* One row of RUN_COLUMNS. */
static int take_run(struct stmt *q, struct run_info *ret, struct err *e)
{
	_cleanup_(run_info_release) struct run_info info = {};
	const struct {
		int column;
		char **to;
	} texts[] = { { 0, &info.name },    { 1, &info.plan }, { 2, &info.plan_file },
		      { 3, &info.version }, { 4, &info.env },  { 11, &info.note },
		      { 12, &info.tags } };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		int r = stmt_column_text(q, texts[i].column, texts[i].to, e);

		if (r < 0)
			return r;
	}
	info.seed = (uint64_t)sqlite3_column_int64(q->st, 5);
	info.started_ns = (uint64_t)sqlite3_column_int64(q->st, 6);
	info.ended_ns = (uint64_t)sqlite3_column_int64(q->st, 7);
	info.state = (enum run_state)sqlite3_column_int(q->st, 8);
	info.id = sqlite3_column_int64(q->st, 9);
	info.aa = sqlite3_column_int(q->st, 10);
	*ret = info;
	info = (struct run_info){};
	return 0;
}

int store_run_read(struct store *s, int64_t run, struct run_info *ret, struct err *e)
{
	_cleanup_(stmt_release) struct stmt q = {};
	int r = stmt_prepare(&q, &s->sql, RUN_COLUMNS "WHERE run.id = ?", e);

	if (r < 0)
		return r;
	stmt_i64(&q, run);
	r = stmt_step(&q, e);
	if (r < 0)
		return r;
	if (r == 0)
		return err_set(e, -ENOENT,
			       "store %s: no run %" PRId64 "; irqlab list shows what is there",
			       s->sql.path, run);
	return take_run(&q, ret, e);
}

void runs_free(struct run_info *v, size_t nr)
{
	for (size_t i = 0; v && i < nr; i++)
		run_info_release(&v[i]);
	free(v);
}

int store_runs(struct store *s, struct run_info **ret, size_t *ret_nr, struct err *e)
{
	_cleanup_(stmt_release) struct stmt q = {};
	struct run_info *v = NULL;
	size_t nr = 0;
	int r = stmt_prepare(&q, &s->sql, RUN_COLUMNS "ORDER BY run.id DESC", e);

	while (r >= 0 && (r = stmt_step(&q, e)) > 0) {
		struct run_info *more = realloc(v, (nr + 1) * sizeof(*v));

		if (more)
			v = more;
		r = more ? take_run(&q, &v[nr], e) : err_nomem(e, "runs");
		nr += r >= 0;
	}
	if (r < 0) {
		runs_free(v, nr);
		return r;
	}
	*ret = v;
	*ret_nr = nr;
	return 0;
}

void trials_free(struct trial_info *v, size_t nr)
{
	for (size_t i = 0; v && i < nr; i++)
		free(v[i].reason);
	free(v);
}

struct trial_list {
	struct trial_info *v;
	size_t nr, size;
};

static void trial_list_release(struct trial_list *l)
{
	trials_free(l->v, l->nr);
}

static int take_trial(struct trial_list *l, const struct stmt *q, struct err *e)
{
	struct trial_info *t;

	if (l->nr == l->size) {
		size_t size = l->size ? l->size * 2 : 32;
		struct trial_info *v = realloc(l->v, size * sizeof(*v));

		if (!v)
			return err_nomem(e, "trials");
		l->v = v;
		l->size = size;
	}
	t = &l->v[l->nr];
	*t = (struct trial_info){
		.id = sqlite3_column_int64(q->st, 0),
		.block = (unsigned int)sqlite3_column_int64(q->st, 1),
		.scenario = (unsigned int)sqlite3_column_int64(q->st, 2),
		.variant = (unsigned int)sqlite3_column_int64(q->st, 3),
		.position = (unsigned int)sqlite3_column_int64(q->st, 4),
		.seed = (uint64_t)sqlite3_column_int64(q->st, 5),
		.state = (enum trial_state)sqlite3_column_int(q->st, 6),
		.started_ns = (uint64_t)sqlite3_column_int64(q->st, 8),
		.window_ns = (uint64_t)sqlite3_column_int64(q->st, 9),
		.boot = (unsigned int)sqlite3_column_int64(q->st, 10),
		.build = (unsigned int)sqlite3_column_int64(q->st, 11),
	};
	l->nr++;
	return stmt_column_text(q, 7, &t->reason, e);
}

int store_trials(struct store *s, int64_t run, struct trial_info **ret, size_t *ret_nr,
		 struct err *e)
{
	_cleanup_(trial_list_release) struct trial_list l = {};
	_cleanup_(stmt_release) struct stmt q = {};
	int r = stmt_prepare(
		&q, &s->sql,
		"SELECT id, block, scenario, variant, position, seed, state, reason, "
		"started_ns, window_ns, boot, build FROM trial WHERE run = ? ORDER BY position, id",
		e);

	if (r < 0)
		return r;
	stmt_i64(&q, run);
	while ((r = stmt_step(&q, e)) > 0) {
		r = take_trial(&l, &q, e);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	*ret_nr = l.nr;
	*ret = take_ptr(l.v);
	l.nr = 0;
	return 0;
}

/* Every table gives metric, unit, label and then what its kind needs. */
static const char *query_of(enum record_kind kind)
{
#define FROM(columns, table)                                               \
	"SELECT m.name, m.unit, l.text, " columns " FROM " table " x "     \
	"JOIN metric m ON m.id = x.metric JOIN label l ON l.id = x.label " \
	"WHERE x.trial = ?1 AND (?2 IS NULL OR m.name = ?2) ORDER BY x.id"
	switch (kind) {
	case RECORD_SCALAR:
		return FROM("x.value", "scalar");
	case RECORD_SERIES:
		return FROM("x.data", "series");
	case RECORD_HIST:
		return FROM("x.data", "hist");
	case RECORD_EVENT:
		return FROM("x.t_ns, x.severity, x.text", "event");
	}
#undef FROM
	return NULL;
}

static const char *text_at(const struct stmt *q, int column)
{
	const char *text = (const char *)sqlite3_column_text(q->st, column);

	return text ? text : "";
}

static int take_series(const struct stmt *q, struct record *rec, struct record_list *l,
		       struct err *e)
{
	struct point *points = NULL;
	int r = codec_series_decode(sqlite3_column_blob(q->st, 3),
				    (size_t)sqlite3_column_bytes(q->st, 3), &points,
				    &rec->nr_points, e);

	if (r < 0)
		return r;
	rec->points = points;
	r = record_list_take(l, record_copy(rec), e);
	free(points);
	return r;
}

static int take_hist(const struct stmt *q, struct record *rec, struct record_list *l, struct err *e)
{
	_cleanup_(hist_freep) struct hist *h = NULL;
	int r = codec_hist_decode(sqlite3_column_blob(q->st, 3),
				  (size_t)sqlite3_column_bytes(q->st, 3), &h, e);

	if (r < 0)
		return r;
	rec->hist = h;
	return record_list_take(l, record_copy(rec), e);
}

static int take_record(const struct stmt *q, enum record_kind kind, struct record_list *l,
		       struct err *e)
{
	struct record rec = { .kind = kind,
			      .metric = text_at(q, 0),
			      .unit = text_at(q, 1),
			      .labels = text_at(q, 2) };
	int r = 0;

	switch (kind) {
	case RECORD_SCALAR:
		rec.value = sqlite3_column_type(q->st, 3) == SQLITE_NULL
				    ? (double)NAN
				    : sqlite3_column_double(q->st, 3);
		return record_list_take(l, record_copy(&rec), e);
	case RECORD_EVENT:
		rec.t_ns = sqlite3_column_int64(q->st, 3);
		rec.severity = (enum severity)sqlite3_column_int(q->st, 4);
		rec.text = text_at(q, 5);
		return record_list_take(l, record_copy(&rec), e);
	case RECORD_SERIES:
		r = take_series(q, &rec, l, e);
		break;
	case RECORD_HIST:
		r = take_hist(q, &rec, l, e);
		break;
	}
	if (r < 0)
		return err_wrap(e, "store %s: %s[%s]", q->sql->path, rec.metric, rec.labels);
	return 0;
}

static int records_of_kind(struct store *s, int64_t trial, enum record_kind kind,
			   const char *metric, struct record_list *l, struct err *e)
{
	_cleanup_(stmt_release) struct stmt q = {};
	int r = stmt_prepare(&q, &s->sql, query_of(kind), e);

	if (r < 0)
		return r;
	stmt_i64(&q, trial);
	stmt_text(&q, metric);
	while ((r = stmt_step(&q, e)) > 0) {
		r = take_record(&q, kind, l, e);
		if (r < 0)
			return r;
	}
	return r;
}

int store_records(struct store *s, int64_t trial, enum record_kind kind, const char *metric,
		  struct record_list *ret, struct err *e)
{
	_cleanup_(record_list_release) struct record_list l = {};
	int r;

	for (int k = RECORD_SCALAR; k <= RECORD_EVENT; k++) {
		if (kind != 0 && (int)kind != k)
			continue;
		r = records_of_kind(s, trial, (enum record_kind)k, metric, &l, e);
		if (r < 0)
			return r;
	}
	*ret = l;
	l = (struct record_list){};
	return 0;
}

/* Observations while they are read: reasons as offsets + 1 into one text, since it moves. */
struct gathered {
	struct buf obs;
	struct buf reasons;
};

static void gathered_release(struct gathered *g)
{
	buf_release(&g->obs);
	buf_release(&g->reasons);
}

static void take_observation(struct gathered *g, const struct stmt *q)
{
	const char *reason = (const char *)sqlite3_column_text(q->st, 3);
	bool has = sqlite3_column_type(q->st, 4) != SQLITE_NULL;
	struct observation o = {
		.block = (unsigned int)sqlite3_column_int64(q->st, 0),
		.variant = (unsigned int)sqlite3_column_int64(q->st, 1),
		.state = (enum trial_state)sqlite3_column_int(q->st, 2),
		.reason = reason ? (const char *)(uintptr_t)(g->reasons.len + 1) : NULL,
		.has_value = has,
		.value = has ? sqlite3_column_double(q->st, 4) : 0,
	};

	if (reason)
		buf_add(&g->reasons, reason, strlen(reason) + 1);
	buf_add(&g->obs, &o, sizeof(o));
}

/* One allocation: the array and behind it the reasons it points to. */
static int pack(const struct gathered *g, struct observation **ret, size_t *ret_nr, struct err *e)
{
	size_t nr = g->obs.len / sizeof(struct observation);
	struct observation *v = malloc(g->obs.len + g->reasons.len + 1);
	char *reasons;

	if (!v || g->obs.failed || g->reasons.failed) {
		free(v);
		return err_nomem(e, "observations");
	}
	reasons = (char *)(v + nr);
	if (nr)
		memcpy(v, g->obs.data, g->obs.len);
	if (g->reasons.len)
		memcpy(reasons, g->reasons.data, g->reasons.len);
	for (size_t i = 0; i < nr; i++)
		if (v[i].reason)
			v[i].reason = reasons + (uintptr_t)v[i].reason - 1;
	*ret = v;
	*ret_nr = nr;
	return 0;
}

int store_observations(struct store *s, int64_t run, const struct store_key *key,
		       struct observation **ret, size_t *ret_nr, struct err *e)
{
	_cleanup_(gathered_release) struct gathered g = {};
	_cleanup_(stmt_release) struct stmt q = {};
	int r = stmt_prepare(&q, &s->sql,
			     "SELECT t.block, t.variant, t.state, t.reason, x.value FROM trial t "
			     "LEFT JOIN scalar x ON x.trial = t.id "
			     "AND x.metric IN (SELECT id FROM metric WHERE name = ?3) "
			     "AND x.label = (SELECT id FROM label WHERE text = ?4) "
			     "WHERE t.run = ?1 AND t.scenario = ?2 ORDER BY t.position, t.id",
			     e);

	if (r < 0)
		return r;
	stmt_i64(&q, run);
	stmt_i64(&q, key->scenario);
	stmt_text(&q, key->metric);
	stmt_text(&q, key->labels ? key->labels : "");
	while ((r = stmt_step(&q, e)) > 0)
		take_observation(&g, &q);
	return r < 0 ? r : pack(&g, ret, ret_nr, e);
}
