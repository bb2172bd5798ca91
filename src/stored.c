// SPDX-License-Identifier: GPL-3.0-or-later
#include "stored.h"

#include <json-c/json.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "cmd_output.h"

const char *stored_state(enum run_state state)
{
	static const char *const words[] = {
		[RUN_OPEN] = "open", [RUN_DONE] = "done", [RUN_STOPPED] = "stopped"
	};

	return words[state];
}

void stored_when(struct buf *out, uint64_t ns)
{
	time_t t = (time_t)(ns / NS_PER_S);
	char when[32] = "";
	struct tm tm;

	if (ns && localtime_r(&t, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
	buf_puts(out, when);
}

static struct json_object *tags_json(const char *tags)
{
	struct json_object *list = json_object_new_array();

	while (tags && *tags) {
		size_t len = strcspn(tags, " ");

		json_object_array_add(list, json_object_new_string_len(tags, (int)len));
		tags += len + (tags[len] == ' ');
	}
	return list;
}

struct json_object *stored_json(const struct run_info *info)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "run", json_object_new_int64(info->id));
	json_object_object_add(o, "plan", json_object_new_string(info->name));
	json_object_object_add(o, "state", json_object_new_string(stored_state(info->state)));
	json_object_object_add(o, "started_ns", json_object_new_uint64(info->started_ns));
	json_object_object_add(o, "ended_ns", json_object_new_uint64(info->ended_ns));
	json_object_object_add(o, "seed", json_object_new_uint64(info->seed));
	json_object_object_add(o, "aa", json_object_new_boolean(info->aa));
	json_object_object_add(o, "version", json_object_new_string(info->version));
	json_object_object_add(o, "note", json_object_new_string(info->note));
	json_object_object_add(o, "tags", tags_json(info->tags));
	return o;
}

int stored_open(struct store **ret, int64_t *ret_id, const char *db, enum store_mode mode,
		const char *name, struct err *e)
{
	_cleanup_(store_closep) struct store *s = NULL;
	/* a store that is not there is not made by looking for a run in it */
	int r = cmd_store_open(&s, db, STORE_READ, e);

	if (r >= 0)
		r = store_run_find(s, name, ret_id, e);
	if (r >= 0 && mode == STORE_WRITE) {
		store_close(take_ptr(s));
		r = cmd_store_open(&s, db, mode, e);
	}
	if (r >= 0)
		*ret = take_ptr(s);
	return r < 0 ? r : 0;
}
