// SPDX-License-Identifier: GPL-3.0-or-later
#include "store/sql.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static bool is_full_errno(int sys)
{
	return sys == ENOSPC || sys == EDQUOT || sys == EFBIG;
}

/*
 * The write did not fit.  SQLite says so for ENOSPC only; a quota or a limit of the file's size it
 * calls an I/O error, and the errno of that is remembered by the file it happened to.
 */
static bool is_full(const struct sql *s, int rc)
{
	sqlite3_file *log = NULL;
	int sys = 0;

	if ((rc & 0xff) == SQLITE_FULL)
		return true;
	if ((rc & 0xff) != SQLITE_IOERR)
		return false;
	sqlite3_file_control(s->db, "main", SQLITE_FCNTL_LAST_ERRNO, &sys);
	if (is_full_errno(sys) || is_full_errno(sqlite3_system_errno(s->db)))
		return true;
	sqlite3_file_control(s->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
	if (!log || !log->pMethods)
		return false;
	log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &sys);
	return is_full_errno(sys);
}

static int code_of(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_PERM:
	case SQLITE_AUTH:
	case SQLITE_CANTOPEN:
		return -EACCES;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_CONSTRAINT:
	case SQLITE_MISMATCH:
	case SQLITE_RANGE:
		return -EINVAL;
	case SQLITE_TOOBIG:
		return -E2BIG;
	default:
		return -EIO;
	}
}

static const char *remedy(int code)
{
	switch (code) {
	case -EBUSY:
		return "; another irqlab is writing to it: try again when that has ended";
	case -EBADMSG:
		return "; it is damaged: move it away, or recover it with sqlite3's .recover";
	case -EACCES:
	case -EROFS:
		return "; name another file with IRQLAB_DB or --db, or mend its permissions";
	default:
		return "";
	}
}

int sql_error(const struct sql *s, int rc, struct err *e)
{
	int code = code_of(rc);

	if (is_full(s, rc))
		return err_set(
			e, -ENOSPC,
			"store %s: no space left (%s); what was stored before is intact: free "
			"some space on its file system, then go on with irqlab run --resume",
			s->path, sqlite3_errmsg(s->db));
	return err_set(e, code, "store %s: %s%s", s->path, sqlite3_errmsg(s->db), remedy(code));
}

int sql_exec(const struct sql *s, const char *text, struct err *e)
{
	int rc = sqlite3_exec(s->db, text, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : sql_error(s, rc, e);
}

void sql_release(struct sql *s)
{
	/* statements are locals of their functions, so nothing can be pending */
	sqlite3_close(s->db);
	free(s->path);
	*s = (struct sql){};
}

int stmt_prepare(struct stmt *ret, struct sql *s, const char *text, struct err *e)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, text, -1, &st, NULL);

	if (rc != SQLITE_OK)
		return sql_error(s, rc, e);
	*ret = (struct stmt){ .st = st, .sql = s, .next = 1 };
	return 0;
}

static void keep(struct stmt *q, int rc)
{
	q->next++;
	if (q->rc == SQLITE_OK)
		q->rc = rc;
}

void stmt_i64(struct stmt *q, int64_t v)
{
	keep(q, sqlite3_bind_int64(q->st, q->next, v));
}

void stmt_u64(struct stmt *q, uint64_t v)
{
	stmt_i64(q, (int64_t)v);
}

void stmt_double(struct stmt *q, double v)
{
	keep(q,
	     isnan(v) ? sqlite3_bind_null(q->st, q->next) : sqlite3_bind_double(q->st, q->next, v));
}

void stmt_text(struct stmt *q, const char *text)
{
	keep(q, sqlite3_bind_text(q->st, q->next, text, -1, SQLITE_STATIC));
}

void stmt_blob(struct stmt *q, const void *data, size_t len)
{
	keep(q, sqlite3_bind_blob64(q->st, q->next, data, len, SQLITE_STATIC));
}

int stmt_step(struct stmt *q, struct err *e)
{
	int rc = q->rc;

	if (rc == SQLITE_OK)
		rc = sqlite3_step(q->st);
	if (rc == SQLITE_ROW)
		return 1;
	return rc == SQLITE_DONE ? 0 : sql_error(q->sql, rc, e);
}

int stmt_run(struct stmt *q, struct err *e)
{
	int r = stmt_step(q, e);

	assert(r <= 0);
	sqlite3_reset(q->st);
	sqlite3_clear_bindings(q->st);
	q->next = 1;
	q->rc = SQLITE_OK;
	return r;
}

int stmt_column_text(const struct stmt *q, int column, char **ret, struct err *e)
{
	const char *text = (const char *)sqlite3_column_text(q->st, column);
	char *copy = NULL;

	if (text)
		copy = strdup(text);
	if (!copy && sqlite3_column_type(q->st, column) != SQLITE_NULL)
		return err_nomem(e, "text from the store");
	*ret = copy;
	return 0;
}

void stmt_release(struct stmt *q)
{
	sqlite3_finalize(q->st);
	*q = (struct stmt){};
}

int txn_begin(struct txn *t, const struct sql *s, struct err *e)
{
	int r = sql_exec(s, "BEGIN IMMEDIATE", e);

	if (r == 0)
		t->open = s;
	return r;
}

int txn_commit(struct txn *t, struct err *e)
{
	int r = sql_exec(t->open, "COMMIT", e);

	if (r == 0)
		t->open = NULL;
	return r;
}

void txn_release(struct txn *t)
{
	/* SQLite may have rolled back by itself (disk full): then there is nothing left to undo */
	if (t->open && !sqlite3_get_autocommit(t->open->db))
		sqlite3_exec(t->open->db, "ROLLBACK", NULL, NULL, NULL);
	t->open = NULL;
}
