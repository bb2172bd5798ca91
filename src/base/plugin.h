/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef BASE_PLUGIN_H
#define BASE_PLUGIN_H

/*
 * What every plug-in says of itself, whatever its kind: the head of struct knob_ops, load_ops and
 * probe_ops.  The plan is validated against it; help and documentation are printed from it.
 * How to add one: CONTRIBUTING.md.
 */

#include <stdbool.h>
#include <string.h>

#include "base/opt.h"

enum better {
	BETTER_NONE, /* describes, never decides */
	BETTER_HIGHER,
	BETTER_LOWER,
};

/* How two sets of trials are compared by a number; why: docs/method.md. */
enum metric_kind {
	METRIC_LOCATION, /* a level: paired log ratios, signed-rank test */
	METRIC_QUANTILE, /* the same; refused where a trial has less than 10/(1 - q) samples */
	METRIC_RATE,	/* a count, rate or share that may be 0: sign-flip of the mean difference */
	METRIC_MAXIMUM, /* grows with the number of samples: sign test, at equal number only */
};

/* A number of a trial. Its full name is "<instance>.<name>", or just <name> when @global. */
struct metric_desc {
	const char *name; /* "p99" */
	const char *unit; /* "ns", "bit/s", "1/s", "count", "ratio" */
	enum better better;
	const char *help;
	bool global; /* "throughput" rather than "tcp.throughput" */
	enum metric_kind kind;
	double q;	     /* QUANTILE: 0.99 */
	const char *samples; /* the instance's metric that counts what it is taken from: "n" */
	const char *skipped; /* ... and what was due besides, or NULL: "missed" */
	const char *hist;    /* RATE: share of this histogram above the plan's limit: "latency" */
	const char *needs;   /* the option without which it is not measured, or NULL */
};

/* A count is compared as a rate whatever its row says: zeros are usual there. */
static inline enum metric_kind metric_desc_kind(const struct metric_desc *m)
{
	return m->kind == METRIC_LOCATION && strcmp(m->unit, "count") == 0 ? METRIC_RATE : m->kind;
}

struct plugin {
	const char *name;		   /* ^[a-z][a-z0-9-]*$: what the user types */
	const char *help;		   /* one line, no full stop, <= 60 characters */
	const struct opt *options;	   /* NULL with free_keys */
	const struct metric_desc *metrics; /* ends with {}; NULL when it produces none */
	bool free_keys; /* any key is accepted (sysctl: { net.core.busy_poll: 50 }) */
};

#endif
