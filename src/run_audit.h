/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RUN_AUDIT_H
#define RUN_AUDIT_H

/* What a run does about its audit: asks for it, heeds its vetoes, keeps what is personal out. */

struct bench_spec;
struct err;
struct json_object;
struct record_list;
struct run_request;
struct trial_result;

/* Put what the request says of the audit into @spec; a resumed run (@env: its own, else NULL)
 * mends what it mended before. */
int run_audit_spec(const struct run_request *q, const char *env, struct bench_spec *spec,
		   struct err *e);
/* 0, or EXIT_CANNOT with the veto and what mends it. @env as the agent gave it. */
int run_audit_heed(const struct run_request *q, struct json_object *env, struct err *e);
/* Mask addresses, serial numbers and the host name in what a trial said. */
int run_audit_mask(const struct run_request *q, struct record_list *records,
		   struct trial_result *result, struct err *e);

#endif
