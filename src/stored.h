/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STORED_H
#define STORED_H

/* What the commands on stored runs share: lines of a list, and the store opened at a run. */

#include <stdint.h>

#include "store/store.h"

struct buf;
struct err;
struct json_object;

/* "open", "done", "stopped" */
const char *stored_state(enum run_state state);
/* "2026-11-30 19:37", local time, of ns since 1970; "" for 0. */
void stored_when(struct buf *out, uint64_t ns);
/* What every form of a run begins with: run, plan, state, times, seed, version, note, tags. */
struct json_object *stored_json(const struct run_info *info);

/* The store and the run that @name means. */
int stored_open(struct store **ret, int64_t *ret_id, const char *db, enum store_mode mode,
		const char *name, struct err *e);

#endif
