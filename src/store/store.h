/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STORE_STORE_H
#define STORE_STORE_H

/*
 * The stored runs: one SQLite file (WAL), schema version in PRAGMA user_version, our
 * application_id. Tables: run, env, variant, scenario, trial, metric, label, scalar, series, hist,
 * event. A trial and all its records are one transaction, made when the trial has ended: a killed
 * run loses the trial that was under way and nothing else.  (run, block, scenario, variant) is
 * unique.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample/observation.h"
#include "sample/sample.h"

struct err;
struct store;

enum run_state {
	RUN_OPEN, /* under way, or killed: can be resumed */
	RUN_DONE,
	RUN_STOPPED, /* by the user or an error; can be resumed */
};

struct run_info {
	int64_t id;
	char *name;	 /* of the plan */
	char *plan;	 /* the YAML text, whole */
	char *plan_file; /* as given on the command line */
	char *version;	 /* of irqlab */
	char *env;	 /* JSON: kernel, machine ... as the agent said */
	uint64_t seed;
	uint64_t started_ns, ended_ns; /* wall clock; ended 0 while open */
	enum run_state state;
	bool aa;    /* every variant was the baseline: the noise of this bench */
	char *note; /* what somebody wrote beside it; "" for nothing */
	char *tags; /* in alphabetical order, one blank between them; NULL for none */
};

struct trial_info {
	int64_t id;
	unsigned int block;
	unsigned int scenario; /* indices into the plan's lists */
	unsigned int variant;
	unsigned int position; /* in the run's order, from 0 */
	unsigned int boot;     /* of the variant, from 0; and which build of its kernel */
	unsigned int build;
	uint64_t seed;
	enum trial_state state;
	char *reason;	     /* of veto or failure; NULL when ok */
	uint64_t started_ns; /* wall clock of the window's start */
	uint64_t window_ns;  /* length of the window as it was */
};

enum store_mode {
	STORE_READ,  /* must exist */
	STORE_WRITE, /* created with its folder when absent, migrated when older */
};

/* The file used when the user names none: $IRQLAB_DB, else $XDG_DATA_HOME/irqlab/irqlab.db, else
 * ~/.local/share/... */
int store_default_path(char **ret, struct err *e);
int store_open(struct store **ret, const char *path, enum store_mode mode, struct err *e);
void store_close(struct store *s);
void store_closep(struct store **s);

/* A new run in state RUN_OPEN (@run's id, state and end are not read); variants and scenarios by
 * index, names NULL-terminated lists. */
int store_run_add(struct store *s, const struct run_info *run, const char *const *variants,
		  const char *const *scenarios, int64_t *ret_id, struct err *e);
int store_run_end(struct store *s, int64_t run, enum run_state state, uint64_t ended_ns,
		  struct err *e);
/* @text: an id, a name or a tag (the newest that has it), or "last". -ENOENT when there is none. */
int store_run_find(struct store *s, const char *text, int64_t *ret_id, struct err *e);
int store_run_read(struct store *s, int64_t run, struct run_info *ret, struct err *e);
void run_info_release(struct run_info *r);
/* All runs, newest first; an array (runs_free). */
int store_runs(struct store *s, struct run_info **ret, size_t *ret_nr, struct err *e);
void runs_free(struct run_info *v, size_t nr);

/* Which runs are listed; NULL, "" and 0: all. */
struct run_filter {
	const char *tag;
	const char *search; /* a part of name or note, whatever its case */
	size_t most;
};

/* As store_runs(), without plan, plan file and environment (NULL): 10,000 in some 20 ms. */
int store_runs_list(struct store *s, const struct run_filter *f, struct run_info **ret,
		    size_t *ret_nr, struct err *e);

/* What people do to a run; -ENOENT when there is none, -EINVAL for a name that is a number. */
int store_run_rename(struct store *s, int64_t run, const char *name, struct err *e);
int store_run_note(struct store *s, int64_t run, const char *text, struct err *e);
/* Set @tag, or take it away; as it is already is as wanted.  -EINVAL for what is no tag. */
int store_run_tag(struct store *s, int64_t run, const char *tag, bool on, struct err *e);
/* With all its trials.  The file keeps its size; the space is used again. */
int store_run_remove(struct store *s, int64_t run, struct err *e);

/*
 * One transaction; on any error nothing is written.  A failed trial of the same cell is replaced;
 * -EEXIST when the cell holds any other;
 * -EINVAL when two scalars, series or hists have the same metric and labels; -ENOSPC when the disk
 * is full (what was stored before is intact).
 */
int store_trial_add(struct store *s, int64_t run, const struct trial_info *t,
		    const struct record_list *records, struct err *e);
/* All trials of a run by position; an array (trials_free). */
int store_trials(struct store *s, int64_t run, struct trial_info **ret, size_t *ret_nr,
		 struct err *e);
void trials_free(struct trial_info *v, size_t nr);

/* Records of a trial; @metric NULL: of all metrics, @kind 0: of all kinds. */
int store_records(struct store *s, int64_t trial, enum record_kind kind, const char *metric,
		  struct record_list *ret, struct err *e);
/* One metric of a run as the verdict knows it; borrowed. */
struct store_key {
	unsigned int scenario; /* index */
	const char *metric;    /* "wakeup.p99" */
	const char *labels;    /* "cpu=1"; NULL or "" for none */
};

/*
 * The observations of @key, one per trial of the run under that scenario, in an array (free()).
 * A trial that has no such scalar, or one that is not a number, has no value.  Reasons live in the
 * array's own allocation.  Cost: one indexed query.
 */
int store_observations(struct store *s, int64_t run, const struct store_key *key,
		       struct observation **ret, size_t *ret_nr, struct err *e);

#endif
