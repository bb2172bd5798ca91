// SPDX-License-Identifier: GPL-3.0-or-later
#include "store/schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "store/sql.h"

/*
 * Times are ns, 64-bit numbers are signed ones of the same bits, states and kinds are the numbers
 * of their enums.  A metric's name and unit and a label's text are stored once and named by id.
 */
static const char step_1[] =
	"CREATE TABLE env (id INTEGER PRIMARY KEY, json TEXT NOT NULL UNIQUE);"
	"CREATE TABLE run ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" name TEXT NOT NULL,"
	" plan TEXT NOT NULL,"
	" plan_file TEXT,"
	" version TEXT NOT NULL,"
	" env INTEGER NOT NULL REFERENCES env(id),"
	" seed INTEGER NOT NULL,"
	" started_ns INTEGER NOT NULL,"
	" ended_ns INTEGER NOT NULL DEFAULT 0,"
	" state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 2));"
	"CREATE INDEX run_by_name ON run(name);"
	"CREATE TABLE variant ("
	" run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
	" idx INTEGER NOT NULL, name TEXT NOT NULL,"
	" PRIMARY KEY (run, idx), UNIQUE (run, name)) WITHOUT ROWID;"
	"CREATE TABLE scenario ("
	" run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
	" idx INTEGER NOT NULL, name TEXT NOT NULL,"
	" PRIMARY KEY (run, idx), UNIQUE (run, name)) WITHOUT ROWID;"
	"CREATE TABLE trial ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
	" block INTEGER NOT NULL,"
	" scenario INTEGER NOT NULL,"
	" variant INTEGER NOT NULL,"
	" position INTEGER NOT NULL,"
	" seed INTEGER NOT NULL,"
	" state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 2),"
	" reason TEXT,"
	" started_ns INTEGER NOT NULL,"
	" window_ns INTEGER NOT NULL,"
	" UNIQUE (run, block, scenario, variant),"
	" FOREIGN KEY (run, scenario) REFERENCES scenario(run, idx) ON DELETE CASCADE,"
	" FOREIGN KEY (run, variant) REFERENCES variant(run, idx) ON DELETE CASCADE);"
	"CREATE TABLE metric ("
	" id INTEGER PRIMARY KEY, name TEXT NOT NULL, unit TEXT NOT NULL, UNIQUE (name, unit));"
	"CREATE TABLE label (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);"
	/* value NULL: measured, but not a number */
	"CREATE TABLE scalar ("
	" id INTEGER PRIMARY KEY,"
	" trial INTEGER NOT NULL REFERENCES trial(id) ON DELETE CASCADE,"
	" metric INTEGER NOT NULL REFERENCES metric(id),"
	" label INTEGER NOT NULL REFERENCES label(id),"
	" value REAL,"
	" UNIQUE (trial, metric, label));"
	"CREATE TABLE series ("
	" id INTEGER PRIMARY KEY,"
	" trial INTEGER NOT NULL REFERENCES trial(id) ON DELETE CASCADE,"
	" metric INTEGER NOT NULL REFERENCES metric(id),"
	" label INTEGER NOT NULL REFERENCES label(id),"
	" points INTEGER NOT NULL,"
	" data BLOB NOT NULL,"
	" UNIQUE (trial, metric, label));"
	"CREATE TABLE hist ("
	" id INTEGER PRIMARY KEY,"
	" trial INTEGER NOT NULL REFERENCES trial(id) ON DELETE CASCADE,"
	" metric INTEGER NOT NULL REFERENCES metric(id),"
	" label INTEGER NOT NULL REFERENCES label(id),"
	" total INTEGER NOT NULL,"
	" max_ns INTEGER NOT NULL,"
	" data BLOB NOT NULL,"
	" UNIQUE (trial, metric, label));"
	"CREATE TABLE event ("
	" id INTEGER PRIMARY KEY,"
	" trial INTEGER NOT NULL REFERENCES trial(id) ON DELETE CASCADE,"
	" metric INTEGER NOT NULL REFERENCES metric(id),"
	" label INTEGER NOT NULL REFERENCES label(id),"
	" t_ns INTEGER NOT NULL,"
	" severity INTEGER NOT NULL CHECK (severity BETWEEN 0 AND 2),"
	" text TEXT NOT NULL);"
	"CREATE INDEX event_by_trial ON event(trial);";

/*
 * aa: every variant was the baseline.  boot, build: which boot of the trial's variant and which
 * build of its kernel, from 0; variants that one boot measures have 0.
 */
static const char step_2[] = "ALTER TABLE run ADD COLUMN aa INTEGER NOT NULL DEFAULT 0;"
			     "ALTER TABLE trial ADD COLUMN boot INTEGER NOT NULL DEFAULT 0;"
			     "ALTER TABLE trial ADD COLUMN build INTEGER NOT NULL DEFAULT 0;";

/* What people write beside a run. */
static const char step_3[] = "ALTER TABLE run ADD COLUMN note TEXT NOT NULL DEFAULT '';"
			     "CREATE TABLE tag ("
			     " run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
			     " name TEXT NOT NULL,"
			     " PRIMARY KEY (run, name)) WITHOUT ROWID;"
			     "CREATE INDEX tag_by_name ON tag(name, run);";

static const char *const steps[] = { step_1, step_2, step_3 };

const struct schema schema_current = { .steps = steps, .nr = ARRAY_SIZE(steps) };

int schema_version(struct sql *s, int64_t *ret, struct err *e)
{
	_cleanup_(stmt_release) struct stmt q = {};
	int r = stmt_prepare(&q, s, "PRAGMA user_version", e);

	if (r < 0)
		return r;
	r = stmt_step(&q, e);
	if (r < 0)
		return r;
	*ret = sqlite3_column_int64(q.st, 0);
	return 0;
}

static int refuse_newer(const struct sql *s, int64_t version, const struct schema *schema,
			struct err *e)
{
	return err_set(e, -ENOTSUP,
		       "store %s: written by a newer irqlab (schema %" PRId64
		       ", this one knows up to %zu): use that irqlab, or name another file with "
		       "IRQLAB_DB or --db",
		       s->path, version, schema->nr);
}

static int run_steps(struct sql *s, const struct schema *schema, int64_t from, struct err *e)
{
	char pragma[96];

	for (size_t i = (size_t)from; i < schema->nr; i++) {
		int r = sql_exec(s, schema->steps[i], e);

		if (r < 0)
			return err_wrap(e, "schema step %zu", i + 1);
	}
	snprintf(pragma, sizeof(pragma), "PRAGMA application_id = %d; PRAGMA user_version = %zu",
		 SCHEMA_APPLICATION_ID, schema->nr);
	return sql_exec(s, pragma, e);
}

int schema_migrate(struct sql *s, const struct schema *schema, int may_write, struct err *e)
{
	_cleanup_(txn_release) struct txn txn = {};
	int64_t version = 0;
	int r = schema_version(s, &version, e);

	if (r < 0)
		return r;
	if (version == (int64_t)schema->nr)
		return 0;
	if (version < 0 || version > (int64_t)schema->nr)
		return refuse_newer(s, version, schema, e);
	if (!may_write)
		return err_set(e, -ENOTSUP,
			       "store %s: written by an older irqlab (schema %" PRId64
			       ", this one reads %zu): any command that writes to it brings it up "
			       "to date",
			       s->path, version, schema->nr);
	r = txn_begin(&txn, s, e);
	if (r < 0)
		return r;
	/* under the lock: another process may have done it meanwhile */
	r = schema_version(s, &version, e);
	if (r < 0)
		return r;
	if (version > (int64_t)schema->nr)
		return refuse_newer(s, version, schema, e);
	r = run_steps(s, schema, version, e);
	if (r < 0)
		return r;
	return txn_commit(&txn, e);
}
