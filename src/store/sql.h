/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STORE_SQL_H
#define STORE_SQL_H

/*
 * Prepared statements with the house's errors.  A statement remembers the first thing that went
 * wrong while binding, so that a row of binds is checked once, when it is stepped.
 *
 *	_cleanup_(stmt_release) struct stmt q = {};
 *	r = stmt_prepare(&q, sql, "SELECT name FROM run WHERE id = ?", e);
 *	...
 *	stmt_i64(&q, run);
 *	r = stmt_step(&q, e);	1: a row, 0: no more
 *
 * Every message is "store PATH: what SQLite says", with the remedy where there is one.
 */

#include <stddef.h>
#include <stdint.h>
#include <sqlite3.h>

struct err;

/* An open database and the name it has for the user. */
struct sql {
	sqlite3 *db;
	char *path;
};

struct stmt {
	sqlite3_stmt *st;
	struct sql *sql;
	int next; /* parameter that the next bind fills, from 1 */
	int rc;	  /* first SQLite error while binding */
};

/* Turn what SQLite last complained about into an error; returns the negative errno. */
int sql_error(const struct sql *s, int rc, struct err *e);
/* Statements without parameters and without rows. */
int sql_exec(const struct sql *s, const char *text, struct err *e);
void sql_release(struct sql *s);

int stmt_prepare(struct stmt *ret, struct sql *s, const char *text, struct err *e);
void stmt_i64(struct stmt *q, int64_t v);
/* All 64 bits, kept as the signed number of the same bits: SQLite has no unsigned type. */
void stmt_u64(struct stmt *q, uint64_t v);
/* NaN becomes NULL, as SQLite has none. */
void stmt_double(struct stmt *q, double v);
/* NULL becomes NULL; @text must live until the statement is stepped. */
void stmt_text(struct stmt *q, const char *text);
void stmt_blob(struct stmt *q, const void *data, size_t len);
/* 1: a row stands ready, 0: done, negative: error. */
int stmt_step(struct stmt *q, struct err *e);
/* Step a statement that has no rows, and make it ready for the next binds. */
int stmt_run(struct stmt *q, struct err *e);
/* A column of the row as a new string (free()); NULL for NULL, and with -ENOMEM. */
int stmt_column_text(const struct stmt *q, int column, char **ret, struct err *e);
void stmt_release(struct stmt *q);

/* A transaction that is rolled back unless committed. BEGIN IMMEDIATE: the lock is taken now. */
struct txn {
	const struct sql *open;
};

int txn_begin(struct txn *t, const struct sql *s, struct err *e);
int txn_commit(struct txn *t, struct err *e);
void txn_release(struct txn *t);

#endif
