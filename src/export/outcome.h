/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef EXPORT_OUTCOME_H
#define EXPORT_OUTCOME_H

/* What several forms say of a verdict and a run.  Internal to this folder. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/model.h"

struct buf;
struct json_object;

/* A verdict as a test: only what was decided passes or fails. */
enum outcome {
	OUTCOME_PASS, /* better, same */
	OUTCOME_FAIL, /* worse */
	OUTCOME_SKIP, /* undecided, vetoed */
};

enum outcome outcome_of(const struct verdict *v);
/* "throughput@flat-out", with more than two variants "after: throughput@flat-out"; printable. */
void outcome_name(struct buf *out, const struct report *rep, const struct verdict *v);
/* The finding in one printable sentence. */
void outcome_sentence(struct buf *out, const struct report *rep, const struct verdict *v);

/* "2026-11-30T22:20:04+00:00" of ns since 1970. */
void outcome_time(struct buf *out, uint64_t ns);
/* From the first to the last moment of the run [s]; 0 when it has not ended. */
double outcome_seconds(const struct report *rep);
/* A string or number of the environment as text, "" when it is not there. */
void outcome_env(struct buf *out, const struct report *rep, const char *key);
/* "netdev dev=$dut threaded=1; thread match=napi/ policy=other" of a variant; "" for none. */
void outcome_settings(struct buf *out, const struct report *rep, unsigned int variant);

/* A member that is always valid UTF-8: bytes that are not show as \xNN. */
void json_put_text(struct json_object *o, const char *key, const char *text);
/* Left out when it is not finite: JSON has no such number. */
void json_put_number(struct json_object *o, const char *key, double v);
/* Append @o, indented, and free it. */
void json_print(struct buf *out, struct json_object *o);

#endif
