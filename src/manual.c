// SPDX-License-Identifier: GPL-3.0-or-later
#include "manual.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "cmdline.h"
#include "registry.h"

/* @len bytes of @s as roff takes them: no control lines, no escapes, hyphens that can be copied. */
static void put_len(struct buf *out, const char *s, size_t len)
{
	bool line_begins = out->len == 0 || out->data[out->len - 1] == '\n';

	for (size_t i = 0; i < len; i++) {
		if (line_begins && (s[i] == '.' || s[i] == '\''))
			buf_puts(out, "\\&");
		if (s[i] == '\\')
			buf_puts(out, "\\e");
		else if (s[i] == '-')
			buf_puts(out, "\\-");
		else
			buf_putc(out, s[i]);
		line_begins = s[i] == '\n';
	}
}

static void put(struct buf *out, const char *s)
{
	put_len(out, s, strlen(s));
}

/* Lines stay lines: what is written for a terminal is no running text. */
static void put_lines(struct buf *out, const char *s)
{
	while (*s) {
		size_t len = strcspn(s, "\n");

		put_len(out, s, len);
		buf_puts(out, "\n.br\n");
		s += len + (s[len] == '\n');
	}
}

static void put_upper(struct buf *out, const char *s)
{
	for (; *s; s++)
		buf_putc(out, (char)toupper((unsigned char)*s));
}

/* A macro's only argument, in quotes. */
static void macro(struct buf *out, const char *name, const char *text)
{
	buf_printf(out, ".%s \"", name);
	put(out, text);
	buf_puts(out, "\"\n");
}

static void head(struct buf *out, const char *name, const char *help)
{
	buf_puts(out, ".TH \"IRQLAB");
	if (*name) {
		buf_puts(out, "\\-");
		put_upper(out, name);
	}
	buf_puts(out, "\" \"1\" \"\" \"irqlab " IRQLAB_VERSION "\" \"irqlab\"\n.SH NAME\nirqlab");
	if (*name) {
		buf_puts(out, "\\-");
		put(out, name);
	}
	buf_puts(out, " \\- ");
	put(out, help);
	buf_puts(out, "\n.SH SYNOPSIS\n");
}

static void exit_codes(struct buf *out)
{
	static const struct {
		enum exit_code code;
		const char *means;
	} all[] = {
		{ EXIT_DONE, "Done; a variant is better or the same." },
		{ EXIT_FAILED, "Failed." },
		{ EXIT_USAGE, "The command line or the plan is wrong." },
		{ EXIT_NOT_RESTORED, "The machine could not be given back as it was." },
		{ EXIT_UNDECIDED, "Undecided." },
		{ EXIT_WORSE, "A variant is worse." },
		{ EXIT_CANNOT, "It cannot run here." },
	};

	buf_puts(out, ".SH EXIT STATUS\n");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		buf_printf(out, ".TP\n.B %d\n", all[i].code);
		put(out, all[i].means);
		buf_putc(out, '\n');
	}
}

int manual_main(const struct command *const *commands, struct buf *out)
{
	head(out, "", "an A/B laboratory for the Linux interrupt and network path");
	buf_puts(out, ".B irqlab\n.I COMMAND\n[\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n"
		      ".SH DESCRIPTION\n");
	put(out,
	    "A plan names variants of the machine, loads, probes and the metrics that matter. irqlab\n"
	    "measures all variants interleaved in random blocks, gives the machine back as it was,\n"
	    "and says of each metric: better, worse, same or undecided.\n");
	buf_puts(out, ".SH COMMANDS\n");
	for (; *commands; commands++) {
		buf_puts(out, ".TP\n.BR irqlab\\-");
		put(out, (*commands)->name);
		buf_puts(out, " (1)\n");
		put(out, (*commands)->help);
		buf_puts(out, ".\n");
	}
	exit_codes(out);
	buf_puts(out, ".SH FILES\n.TP\n.I ~/.local/share/irqlab/irqlab.db\n");
	put(out, "The stored runs, unless $IRQLAB_DB or --db names another file.\n");
	buf_puts(out, ".TP\n.I /var/lib/irqlab/journal\n");
	put(out, "What is changed on this machine and not yet undone ($IRQLAB_STATE_DIR).\n");
	buf_puts(out, ".SH SEE ALSO\n.BR irqlab\\-plan (5)\n");
	return out->failed ? -ENOMEM : 0;
}

static void option(const struct cmdline_opt *o, struct buf *out)
{
	buf_puts(out, ".TP\n");
	if (o->letter)
		buf_printf(out, "\\fB\\-%c\\fR, ", o->letter);
	buf_puts(out, "\\fB\\-\\-");
	put(out, o->opt.name);
	buf_puts(out, "\\fR");
	if (o->opt.type != OPT_BOOL)
		buf_puts(out, "=\\fIVALUE\\fR");
	buf_putc(out, '\n');
	put(out, o->opt.help);
	if (o->opt.def && *o->opt.def && o->opt.type != OPT_BOOL) {
		buf_puts(out, " (");
		put(out, o->opt.def);
		buf_putc(out, ')');
	}
	buf_puts(out, ".\n");
}

/* A command with its own parser prints its own help: it is taken as it is. */
static int raw(const struct command *cmd, struct buf *out)
{
	struct buf help = {};
	int r = cmdline_help(cmd, &help);

	buf_puts(out, ".SH DESCRIPTION\n.nf\n");
	put(out, buf_str(&help));
	buf_puts(out, ".fi\n");
	buf_release(&help);
	return r;
}

int manual_command(const struct command *cmd, struct buf *out)
{
	int r = 0;

	head(out, cmd->name, cmd->help);
	buf_puts(out, ".B irqlab ");
	put(out, cmd->name);
	buf_puts(out, "\n[\\fIOPTION\\fR...]");
	if (cmd->args && *cmd->args) {
		buf_puts(out, " \\fI");
		put(out, cmd->args);
		buf_puts(out, "\\fR");
	}
	buf_putc(out, '\n');
	if (cmd->raw) {
		r = raw(cmd, out);
	} else {
		if (cmd->more) {
			buf_puts(out, ".SH DESCRIPTION\n");
			put_lines(out, cmd->more);
		}
		buf_puts(out, ".SH OPTIONS\n");
		for (const struct cmdline_opt *o = cmd->options; o && o->opt.type != OPT_END; o++)
			option(o, out);
	}
	exit_codes(out);
	if (cmd->example) {
		buf_puts(out, ".SH EXAMPLE\n.nf\n");
		put(out, cmd->example);
		buf_puts(out, "\n.fi\n");
	}
	buf_puts(out, ".SH SEE ALSO\n.BR irqlab (1),\n.BR irqlab\\-plan (5)\n");
	return out->failed ? -ENOMEM : r;
}

static void plugin_options(const struct plugin *p, struct buf *out)
{
	if (p->free_keys)
		buf_puts(out, ".TP\n\\fINAME\\fR: \\fIVALUE\\fR\nAny name.\n");
	for (const struct opt *o = p->options; o && o->type != OPT_END; o++) {
		buf_puts(out, ".TP\n\\fB");
		put(out, o->name);
		buf_puts(out, "\\fR");
		if (!o->def) {
			buf_puts(out, " (required)");
		} else if (*o->def) {
			buf_puts(out, " (");
			put(out, o->def);
			buf_putc(out, ')');
		}
		buf_putc(out, '\n');
		put(out, o->help);
		for (const char *const *c = o->choices; c && *c; c++) {
			buf_puts(out, c == o->choices ? "; one of " : ", ");
			put(out, *c);
		}
		buf_puts(out, ".\n");
		if (o->fixed) {
			buf_puts(out, "No variant may override it: ");
			put(out, o->fixed);
			buf_puts(out, ".\n");
		}
	}
}

static void plugin_metrics(const struct plugin *p, struct buf *out)
{
	static const char *const better[] = { [BETTER_NONE] = "describes",
					      [BETTER_HIGHER] = "higher is better",
					      [BETTER_LOWER] = "lower is better" };

	for (const struct metric_desc *m = p->metrics; m && m->name; m++) {
		buf_puts(out, ".TP\n\\fB");
		if (!m->global) {
			put(out, p->name);
			buf_putc(out, '.');
		}
		put(out, m->name);
		buf_printf(out, "\\fR [");
		put(out, m->unit);
		buf_printf(out, "], %s\n", better[m->better]);
		put(out, m->help);
		if (m->needs) {
			buf_puts(out, "; needs the option ");
			put(out, m->needs);
		}
		buf_puts(out, ".\n");
	}
}

static void kind(const char *title, const struct plugin *const *list, struct buf *out)
{
	macro(out, "SH", title);
	for (; *list; list++) {
		macro(out, "SS", (*list)->name);
		put(out, (*list)->help);
		buf_puts(out, ".\n");
		plugin_options(*list, out);
		if ((*list)->metrics && (*list)->metrics->name)
			buf_puts(out, ".PP\nMetrics:\n");
		plugin_metrics(*list, out);
	}
}

int manual_plugins(struct buf *out)
{
	kind("KNOBS", plan_plugins.knobs, out);
	kind("LOADS", plan_plugins.loads, out);
	kind("PROBES", plan_plugins.probes, out);
	return out->failed ? -ENOMEM : 0;
}
