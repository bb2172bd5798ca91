// SPDX-License-Identifier: GPL-3.0-or-later
#include "complete.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cmd_output.h"
#include "cmdline.h"

#define RUNS_MOST 50

static void offer(struct buf *out, const char *word, size_t len, const char *begin)
{
	size_t n = strlen(begin);

	if (len < n || strncmp(word, begin, n) != 0)
		return;
	buf_add(out, word, len);
	buf_putc(out, '\n');
}

/* Every --option that begins a line of the help, with or without a letter before it. */
static void offer_options(const struct command *cmd, const char *begin, struct buf *out)
{
	_cleanup_(buf_release) struct buf help = {};
	const char *line, *end;

	if (cmdline_help(cmd, &help) < 0)
		return;
	for (line = buf_str(&help); *line; line = *end ? end + 1 : end) {
		const char *at = line;

		end = line + strcspn(line, "\n");
		at += strspn(at, " ");
		if (at == line)
			continue;
		if (at[0] == '-' && at[1] != '-' && strncmp(at + 2, ", ", 2) == 0)
			at += 4;
		if (strncmp(at, "--", 2) == 0)
			offer(out, at, strcspn(at, " =[\n"), begin);
	}
	offer(out, "--help", strlen("--help"), begin);
}

/* Ids, names without blanks, and tags of the newest runs; no store is no reason to complain. */
static void offer_runs(const char *begin, struct buf *out)
{
	_cleanup_(store_closep) struct store *s = NULL;
	const struct run_filter filter = { .most = RUNS_MOST };
	struct run_info *v = NULL;
	struct err ignored = {};
	size_t nr = 0;

	offer(out, "last", strlen("last"), begin);
	if (cmd_store_open(&s, "", STORE_READ, &ignored) < 0 ||
	    store_runs_list(s, &filter, &v, &nr, &ignored) < 0)
		return;
	for (size_t i = 0; i < nr; i++) {
		_cleanup_(buf_release) struct buf id = {};

		buf_printf(&id, "%lld", (long long)v[i].id);
		offer(out, buf_str(&id), id.len, begin);
		for (const char *t = v[i].tags ? v[i].tags : ""; *t; t += strspn(t, " ")) {
			size_t len = strcspn(t, " ");

			offer(out, t, len, begin);
			t += len;
		}
	}
	runs_free(v, nr);
}

static const struct command *find(const struct command *const *commands, const char *name)
{
	for (; *commands; commands++)
		if (strcmp((*commands)->name, name) == 0)
			return *commands;
	return NULL;
}

void complete_words(const struct command *const *commands, int nr, char **words, struct buf *out)
{
	const struct command *cmd;
	const char *last = nr ? words[nr - 1] : "";

	if (nr <= 1) {
		for (size_t i = 0; commands[i]; i++)
			offer(out, commands[i]->name, strlen(commands[i]->name), last);
		return;
	}
	cmd = find(commands, words[0]);
	if (!cmd)
		return;
	if (*last == '-')
		offer_options(cmd, last, out);
	else if (cmd->args && strstr(cmd->args, "RUN"))
		offer_runs(last, out);
}

/* An empty last word must arrive: it asks for everything. */
static const char bash[] = "_irqlab() {\n"
			   "\tlocal IFS=$'\\n'\n"
			   "\tCOMPREPLY=($(irqlab --complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" "
			   "2>/dev/null))\n"
			   "}\n"
			   "complete -o default -F _irqlab irqlab\n";
static const char zsh[] = "#compdef irqlab\n"
			  "local -a words_here\n"
			  "words_here=(${(f)\"$(irqlab --complete \"${(@)words[2,CURRENT]}\" "
			  "2>/dev/null)\"})\n"
			  "if (( ${#words_here} )); then\n"
			  "\tcompadd -a words_here\n"
			  "else\n"
			  "\t_files\n"
			  "fi\n";
static const char fish[] = "function __irqlab_complete\n"
			   "\tset -l before (commandline -opc)\n"
			   "\tirqlab --complete $before[2..-1] (commandline -ct) 2>/dev/null\n"
			   "end\n"
			   "complete -c irqlab -a '(__irqlab_complete)'\n";

int complete_script(const char *shell, struct buf *out, struct err *e)
{
	static const struct {
		const char *shell, *script;
	} all[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (strcmp(all[i].shell, shell) == 0)
			return buf_puts(out, all[i].script);
	return err_set(e, -EINVAL, "no completion for \"%s\"; there is bash, zsh and fish", shell);
}
