// SPDX-License-Identifier: GPL-3.0-or-later
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_field.h"
#include "base/text.h"
#include "cmd.h"
#include "stored.h"

struct show_cfg {
	bool json, plan;
	char *db;
};

static const struct cmdline_opt options[] = {
	{ { "plan", OPT_BOOL, offsetof(struct show_cfg, plan), "",
	    "print the plan's text and nothing else" },
	  0 },
	{ { "json", OPT_BOOL, offsetof(struct show_cfg, json), "", "print JSON" }, 0 },
	{ { "db", OPT_STRING, offsetof(struct show_cfg, db), "",
	    "store to use (see irqlab list --help)" },
	  0 },
	{},
};

/* Trials of a run by how they ended. */
struct tally {
	size_t in_state[3];
};

static void line(struct buf *out, const char *what, const char *text)
{
	if (!text || !*text)
		return;
	buf_printf(out, "%-10s ", what);
	/* lines of a note stay lines */
	while (*text) {
		size_t len = strcspn(text, "\n");

		text_printable(out, text, len);
		text += len + (text[len] == '\n');
		buf_puts(out, *text ? "\n           " : "");
	}
	buf_putc(out, '\n');
}

static void times(const struct run_info *info, struct buf *out)
{
	_cleanup_(buf_release) struct buf text = {};

	stored_when(&text, info->started_ns);
	line(out, "started", buf_str(&text));
	if (info->ended_ns < info->started_ns)
		return;
	buf_reset(&text);
	buf_printf(&text, "%.1f min", (double)(info->ended_ns - info->started_ns) / 60e9);
	line(out, "lasted", buf_str(&text));
}

/* Every key of the environment that is a word or a number. */
static void environment(const struct run_info *info, struct buf *out)
{
	_cleanup_(json_putp) struct json_object *env = json_tokener_parse(info->env);

	if (!json_object_is_type(env, json_type_object))
		return;
	json_object_object_foreach(env, key,
				   value) if (!json_object_is_type(value, json_type_object) &&
					      !json_object_is_type(value, json_type_array))
		line(out, key, json_object_get_string(value));
}

static void print_text(const struct run_info *info, const struct tally *t, struct buf *out)
{
	_cleanup_(buf_release) struct buf text = {};

	buf_printf(&text, "%lld", (long long)info->id);
	line(out, "run", buf_str(&text));
	line(out, "plan", info->name);
	line(out, "file", info->plan_file);
	line(out, "state", stored_state(info->state));
	line(out, "kind", info->aa ? "A/A: every variant was the baseline" : NULL);
	times(info, out);
	buf_reset(&text);
	buf_printf(&text, "%zu good, %zu vetoed, %zu failed", t->in_state[TRIAL_OK],
		   t->in_state[TRIAL_VETOED], t->in_state[TRIAL_FAILED]);
	line(out, "trials", buf_str(&text));
	line(out, "tags", info->tags);
	line(out, "note", info->note);
	line(out, "irqlab", info->version);
	environment(info, out);
}

static void print_json(const struct run_info *info, const struct tally *t, struct buf *out)
{
	_cleanup_(json_putp) struct json_object *o = stored_json(info);
	struct json_object *trials = json_object_new_object();

	json_object_object_add(o, "plan_file", json_object_new_string(info->plan_file));
	json_object_object_add(o, "plan_text", json_object_new_string(info->plan));
	json_object_object_add(o, "environment", json_tokener_parse(info->env));
	json_object_object_add(trials, "good", json_object_new_uint64(t->in_state[TRIAL_OK]));
	json_object_object_add(trials, "vetoed", json_object_new_uint64(t->in_state[TRIAL_VETOED]));
	json_object_object_add(trials, "failed", json_object_new_uint64(t->in_state[TRIAL_FAILED]));
	json_object_object_add(o, "trials", trials);
	buf_puts(out, json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY));
	buf_putc(out, '\n');
}

static int count_trials(struct store *s, int64_t id, struct tally *ret, struct err *e)
{
	struct trial_info *v = NULL;
	size_t nr = 0;
	int r = store_trials(s, id, &v, &nr, e);

	for (size_t i = 0; r >= 0 && i < nr; i++)
		ret->in_state[v[i].state]++;
	trials_free(v, nr);
	return r;
}

static int run(const void *config, char **args, int nr_args, struct err *e)
{
	const struct show_cfg *cfg = config;
	_cleanup_(store_closep) struct store *s = NULL;
	_cleanup_(run_info_release) struct run_info info = {};
	_cleanup_(buf_release) struct buf out = {};
	struct tally tally = {};
	int64_t id = 0;
	int r = stored_open(&s, &id, cfg->db, STORE_READ, nr_args ? args[0] : "last", e);

	if (r >= 0)
		r = store_run_read(s, id, &info, e);
	if (r >= 0)
		r = count_trials(s, id, &tally, e);
	if (r < 0)
		return r;
	if (cfg->plan)
		buf_puts(&out, info.plan);
	else if (cfg->json)
		print_json(&info, &tally, &out);
	else
		print_text(&info, &tally, &out);
	if (out.failed)
		return err_nomem(e, "run");
	fputs(buf_str(&out), stdout);
	return EXIT_DONE;
}

const struct command cmd_show = {
	.name = "show",
	.help = "a stored run: when, where, with which plan, note and tags",
	.args = "[RUN]",
	.max_args = 1,
	.options = options,
	.run = run,
	.cfg_size = sizeof(struct show_cfg),
	.example = "irqlab show last --plan >again.yaml",
	.more = "RUN is an id, a plan's name or a tag (the newest run that has it) or \"last\", the\n"
		"default. The verdict is in: irqlab report RUN",
};
