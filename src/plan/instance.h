/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PLAN_INSTANCE_H
#define PLAN_INSTANCE_H

/*
 * One use of a plug-in in a plan: "tcp: { direction: to-dut, rate: 4G }" or a knob
 * "netdev: { dev: $dut, threaded: 1 }".  Values stay text until the plug-in parses them with its
 * option rows, on the machine where they apply; lists are joined with commas.
 */

#include <stddef.h>

struct err;
struct json_object;
struct opt;
struct plugin;

struct setting {
	char *key;
	char *value;
	int line; /* in the plan file; 0 when it came another way */
};

struct instance {
	char *plugin; /* "tcp" */
	char *name;   /* "tcp"; a second use of the same plug-in is "tcp-2" unless named */
	struct setting *settings;
	size_t nr_settings;
	int line;
};

struct instances {
	struct instance *v;
	size_t nr;
};

/* Value of @key or NULL. */
const char *instance_value(const struct instance *inst, const char *key);
/* Set @key (replaces an earlier value). */
int instance_set(struct instance *inst, const char *key, const char *value, int line,
		 struct err *e);

/*
 * Parse the settings into @cfg (zero-filled by the caller) by @rows: defaults first, then what the
 * plan says; a missing required option, an unknown key (with a suggestion) and a bad value are
 * refused.  On failure @cfg has been released.  The caller ends it with opt_release(@rows, @cfg).
 */
int instance_parse(const struct instance *inst, const struct opt *rows, void *cfg, struct err *e);

int instance_copy(const struct instance *from, struct instance *ret, struct err *e);
void instance_release(struct instance *inst);
/* Appends a copy. */
int instances_add(struct instances *list, const struct instance *inst, struct err *e);
void instances_release(struct instances *list);

/* To and from JSON: [{"plugin":"tcp","name":"tcp","settings":{"rate":"4G"}}]. */
struct json_object *instances_to_json(const struct instances *list);
int instances_from_json(struct json_object *o, struct instances *ret, struct err *e);

#endif
