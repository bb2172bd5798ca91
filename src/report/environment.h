/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef REPORT_ENVIRONMENT_H
#define REPORT_ENVIRONMENT_H

struct json_object;

/*
 * What differs between the machines of two stored runs (their env, JSON text), so that a governor
 * is not taken for a patch: a new object with "facts", each key with the pair of values (null:
 * that side does not know it), and "only_a" and "only_b", what the audit of one run warned of and
 * that of the other did not.  What passes from one minute to the next ("now") is no difference.
 */
struct json_object *environment_diff(const char *env_a, const char *env_b);

#endif
