// SPDX-License-Identifier: GPL-3.0-or-later
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "cmd.h"
#include "cmd_output.h"
#include "report/format.h"
#include "stored.h"

#define TEXT_COLUMNS 60 /* of name, tags and note together */

struct list_cfg {
	bool json;
	char *db, *tag, *search;
	uint64_t most;
};

static const struct cmdline_opt options[] = {
	{ { "tag", OPT_STRING, offsetof(struct list_cfg, tag), "", "only runs with this tag" },
	  't' },
	{ { "search", OPT_STRING, offsetof(struct list_cfg, search), "",
	    "only runs with this in their name or note" },
	  's' },
	{ { "number", OPT_UINT, offsetof(struct list_cfg, most), "0",
	    "the newest so many; 0: all" },
	  'n' },
	{ { "json", OPT_BOOL, offsetof(struct list_cfg, json), "", "print JSON" }, 0 },
	{ { "db", OPT_STRING, offsetof(struct list_cfg, db), "", "store to use" }, 0 },
	{},
};

/* "NAPI in threads [v6.12 rt] with the new firmware", on one line */
static void put_words(const struct run_info *info, struct buf *out)
{
	_cleanup_(buf_release) struct buf all = {}, clean = {};

	buf_puts(&all, info->name);
	if (info->aa)
		buf_puts(&all, " (A/A)");
	if (info->tags)
		buf_printf(&all, " [%s]", info->tags);
	if (*info->note)
		buf_printf(&all, " - %s", info->note);
	for (size_t i = 0; i < all.len; i++)
		if (all.data[i] == '\n' || all.data[i] == '\t')
			all.data[i] = ' ';
	text_printable(&clean, buf_str(&all), all.len);
	format_cut(out, buf_str(&clean), TEXT_COLUMNS);
	out->failed |= all.failed || clean.failed;
}

static void print_text(const struct run_info *runs, size_t nr, struct buf *out)
{
	buf_printf(out, "%6s  %-16s  %-7s  %s\n", "run", "started", "state", "plan [tags] - note");
	for (size_t i = 0; i < nr; i++) {
		_cleanup_(buf_release) struct buf when = {};

		stored_when(&when, runs[i].started_ns);
		buf_printf(out, "%6lld  %-16s  %-7s  ", (long long)runs[i].id, buf_str(&when),
			   stored_state(runs[i].state));
		put_words(&runs[i], out);
		buf_putc(out, '\n');
	}
}

static void print_json(const struct run_info *runs, size_t nr, struct buf *out)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < nr; i++)
		json_object_array_add(list, stored_json(&runs[i]));
	buf_puts(out, json_object_to_json_string_ext(list, JSON_C_TO_STRING_PRETTY));
	buf_putc(out, '\n');
	json_object_put(list);
}

static int run(const void *config, char **args, int nr_args, struct err *e)
{
	const struct list_cfg *cfg = config;
	const struct run_filter filter = { cfg->tag, cfg->search, (size_t)cfg->most };
	_cleanup_(store_closep) struct store *s = NULL;
	_cleanup_(buf_release) struct buf out = {};
	struct run_info *runs = NULL;
	size_t nr = 0;
	int r = cmd_store_open(&s, cfg->db, STORE_READ, e);

	(void)args;
	(void)nr_args;
	if (r >= 0)
		r = store_runs_list(s, &filter, &runs, &nr, e);
	if (r < 0)
		return r;
	if (cfg->json)
		print_json(runs, nr, &out);
	else
		print_text(runs, nr, &out);
	runs_free(runs, nr);
	if (out.failed)
		return err_nomem(e, "list");
	fputs(buf_str(&out), stdout);
	return EXIT_DONE;
}

const struct command cmd_list = {
	.name = "list",
	.help = "the stored runs, newest first",
	.args = "",
	.options = options,
	.run = run,
	.cfg_size = sizeof(struct list_cfg),
	.example = "irqlab list --tag baseline",
	.more = "The store is $IRQLAB_DB, else $XDG_DATA_HOME/irqlab/irqlab.db, else\n"
		"~/.local/share/irqlab/irqlab.db. An open or stopped run goes on with\n"
		"\"irqlab run --resume\".",
};
