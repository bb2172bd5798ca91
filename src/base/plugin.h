/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef BASE_PLUGIN_H
#define BASE_PLUGIN_H

/*
 * What every plug-in says of itself, whatever its kind: the head of struct knob_ops, load_ops and
 * probe_ops.  The plan is validated against it; help and documentation are printed from it.
 * How to add one: CONTRIBUTING.md.
 */

#include <stdbool.h>

#include "base/opt.h"

enum better {
	BETTER_NONE, /* describes, never decides */
	BETTER_HIGHER,
	BETTER_LOWER,
};

/* A number of a trial. Its full name is "<instance>.<name>", or just <name> when @global. */
struct metric_desc {
	const char *name; /* "p99" */
	const char *unit; /* "ns", "bit/s", "1/s", "count", "ratio" */
	enum better better;
	const char *help;
	bool global; /* "throughput" rather than "tcp.throughput" */
};

struct plugin {
	const char *name;		   /* ^[a-z][a-z0-9-]*$: what the user types */
	const char *help;		   /* one line, no full stop, <= 60 characters */
	const struct opt *options;	   /* NULL with free_keys */
	const struct metric_desc *metrics; /* ends with {}; NULL when it produces none */
	bool free_keys; /* any key is accepted (sysctl: { net.core.busy_poll: 50 }) */
};

#endif
