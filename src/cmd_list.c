// SPDX-License-Identifier: GPL-3.0-or-later
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "cmd.h"
#include "cmd_output.h"

struct list_cfg {
	bool json;
	char *db;
};

static const struct cmdline_opt options[] = {
	{ { "json", OPT_BOOL, offsetof(struct list_cfg, json), "", "print JSON" }, 0 },
	{ { "db", OPT_STRING, offsetof(struct list_cfg, db), "", "store to use" }, 0 },
	{},
};

static const char *const states[] = {
	[RUN_OPEN] = "open", [RUN_DONE] = "done", [RUN_STOPPED] = "stopped"
};

static void print_text(const struct run_info *runs, size_t nr)
{
	printf("%6s  %-16s  %-7s  %s\n", "run", "started", "state", "plan");
	for (size_t i = 0; i < nr; i++) {
		_cleanup_(buf_release) struct buf name = {};
		time_t t = (time_t)(runs[i].started_ns / NS_PER_S);
		char when[32] = "";
		struct tm tm;

		if (localtime_r(&t, &tm))
			strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
		text_printable(&name, runs[i].name, strlen(runs[i].name));
		printf("%6lld  %-16s  %-7s  %s\n", (long long)runs[i].id, when,
		       states[runs[i].state], buf_str(&name));
	}
}

static void print_json(const struct run_info *runs, size_t nr)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < nr; i++) {
		struct json_object *o = json_object_new_object();

		json_object_object_add(o, "run", json_object_new_int64(runs[i].id));
		json_object_object_add(o, "plan", json_object_new_string(runs[i].name));
		json_object_object_add(o, "state", json_object_new_string(states[runs[i].state]));
		json_object_object_add(o, "started_ns", json_object_new_uint64(runs[i].started_ns));
		json_object_array_add(list, o);
	}
	puts(json_object_to_json_string_ext(list, JSON_C_TO_STRING_PRETTY));
	json_object_put(list);
}

static int run(const void *config, char **args, int nr_args, struct err *e)
{
	const struct list_cfg *cfg = config;
	_cleanup_(store_closep) struct store *s = NULL;
	struct run_info *runs = NULL;
	size_t nr = 0;
	int r = cmd_store_open(&s, cfg->db, STORE_READ, e);

	if (r >= 0)
		r = store_runs(s, &runs, &nr, e);
	if (r < 0)
		return r;
	if (cfg->json)
		print_json(runs, nr);
	else
		print_text(runs, nr);
	runs_free(runs, nr);
	return EXIT_DONE;
}

const struct command cmd_list = {
	.name = "list",
	.help = "the stored runs, newest first",
	.args = "",
	.options = options,
	.run = run,
	.cfg_size = sizeof(struct list_cfg),
	.example = "irqlab list",
	.more = "The store is $IRQLAB_DB, else $XDG_DATA_HOME/irqlab/irqlab.db, else\n"
		"~/.local/share/irqlab/irqlab.db. An open or stopped run goes on with\n"
		"\"irqlab run --resume\".",
};
