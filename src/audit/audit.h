/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef AUDIT_AUDIT_H
#define AUDIT_AUDIT_H

/*
 * What on this machine would spoil a measurement.
 *
 * The audit is a table of checks (checks.def).  Each reads a few files of the machine and says two
 * things: facts, which describe it ("governor" is "powersave") and are stored with every run so
 * that two runs can be told apart, and findings, which say what is wrong with a fact: which
 * metrics it touches, the command that mends it, and where there is a knob for it the knob, so
 * that irqlab itself mends it for the length of a run.  A check that cannot read what it needs is
 * unknown, with the reason; it never guesses.
 *
 *	struct audit_scope scope = { .host = &host, .root_fd = root, .knobs = all_knobs };
 *	_cleanup_(audit_release) struct audit a = {};
 *	r = audit_run(&scope, &a, e);
 *
 * It changes nothing.  Reading is through the roots of struct host, so that tests hand in trees.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/goal.h"
#include "plan/instance.h"
#include "sample/sample.h"

struct buf;
struct err;
struct host;
struct json_object;
struct knob_ops;
struct nic;

struct audit_scope {
	const struct host *host; /* roots that are -1 make their checks unknown */
	int root_fd;		 /* "/": configuration files of kernels; -1: none */
	const struct audit_goal *goal;
	const struct knob_ops *const *knobs; /* NULL-terminated; NULL: no finding names a knob */
	const struct nic *dut, *far;	     /* what nic_read() found; NULL: no such netdev */
	uint64_t look_ns; /* how long the use of CPUs is watched; 0: not at all */
	bool identify;	  /* host name, addresses and serial numbers are facts too */
};

struct finding {
	const char *check;	/* its name */
	enum severity severity; /* VETO: a run would be void; WARN; NOTE */
	unsigned int affects;	/* AFFECTS_* of goal.h */
	char *what;		/* what was found, with its value */
	char *why;		/* what it does to a measurement */
	char *mend;		/* command or advice; NULL: none */
	struct instances knobs; /* the same as knobs; empty: irqlab cannot mend it for a run */
};

struct fact {
	char *key, *value;
	bool passing; /* differs from one minute to the next: no difference between machines */
};

enum check_state {
	CHECK_FINE,
	CHECK_FOUND,
	CHECK_UNKNOWN, /* what it reads is not there or not readable */
	CHECK_ABSENT,  /* this machine has not got what it is about */
};

struct check_result {
	const char *name;
	enum check_state state;
	char *reason; /* of UNKNOWN and ABSENT */
};

struct audit {
	struct finding *findings; /* worst first, else in the order of the checks */
	size_t nr_findings;
	struct fact *facts;
	size_t nr_facts;
	struct check_result *checks;
	size_t nr_checks;
	bool failed; /* out of memory on the way: audit_run() says so */
};

/* Cost: some hundred small reads, one of every thread's stat, and look_ns. Only -ENOMEM fails. */
int audit_run(const struct audit_scope *scope, struct audit *ret, struct err *e);
/* Facts alone of the checks that are cheap to ask again: for changes between two trials. */
int audit_facts(const struct audit_scope *scope, struct audit *ret, struct err *e);
void audit_release(struct audit *a);

/* How many findings have @severity. */
size_t audit_count(const struct audit *a, enum severity severity);
/* The value of fact @key or NULL. */
const char *audit_fact(const struct audit *a, const char *key);

/* "note", "warn", "veto" */
const char *audit_severity_word(enum severity s);
/* "fine", "found", "unknown", "absent" */
const char *audit_state_word(enum check_state s);

/*
 * What a run stores: one object of the facts, the passing ones below "now", and "audit" with
 * "findings" and "checks".
 */
struct json_object *audit_env(const struct audit *a);
/* The facts of such an object (JSON text), the passing ones left out. -EBADMSG: it is none. */
int audit_of_env(const char *env, struct audit *ret, struct err *e);
/* docs/schema/audit-1.json */
struct json_object *audit_json(const struct audit *a);
#define AUDIT_JSON_SCHEMA 1

/* The table of docs/audit.md: name, what is read, what is looked for. */
void audit_list(struct buf *out);

#endif
