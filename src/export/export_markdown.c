// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "export/forms.h"
#include "export/outcome.h"
#include "report/format.h"

/* GitHub's Markdown, for the text of a pull request. */

/* Text that means nothing but itself, in a table too. */
static void plain(struct buf *out, const char *text)
{
	_cleanup_(buf_release) struct buf clean = {};

	text_printable(&clean, text, strlen(text));
	for (const char *p = buf_str(&clean); *p; p++) {
		if (*p == '<')
			buf_puts(out, "&lt;");
		else if (*p == '>')
			buf_puts(out, "&gt;");
		else if (*p == '&')
			buf_puts(out, "&amp;");
		else if (*p == '@' && (p == clean.data || !isalnum((unsigned char)p[-1])))
			buf_puts(out, "&#64;"); /* else somebody is called */
		else if (strchr("\\`*_{}[]#|~!", *p))
			buf_printf(out, "\\%c", *p);
		else
			buf_putc(out, *p);
	}
	out->failed |= clean.failed;
}

/* A name as code, where it can be. */
static void code(struct buf *out, const char *text)
{
	if (strpbrk(text, "`|\\") || !*text) {
		plain(out, text);
		return;
	}
	buf_putc(out, '`');
	text_printable(out, text, strlen(text));
	buf_putc(out, '`');
}

static void table_head(struct buf *out, const struct report *rep, unsigned int variant)
{
	buf_printf(out, "| metric (%s) | ", format_centre(rep, variant));
	plain(out, model_variant(rep, 0));
	buf_puts(out, " | ");
	plain(out, model_variant(rep, variant));
	buf_puts(out, " | change | interval | n | verdict |\n"
		      "|:--|--:|--:|--:|:-:|--:|:--|\n");
}

static void table_row(struct buf *out, const struct report *rep, const struct verdict *v)
{
	const struct plan_metric *m = &rep->plan->metrics[v->query];
	_cleanup_(buf_release) struct buf b = {};

	buf_puts(out, "| ");
	code(out, m->text);
	buf_puts(out, " | ");
	format_value(&b, v->baseline, m->unit);
	plain(out, buf_str(&b));
	buf_puts(out, " | ");
	buf_reset(&b);
	format_value(&b, v->value, m->unit);
	plain(out, buf_str(&b));
	buf_puts(out, " | ");
	buf_reset(&b);
	format_effect(&b, m->unit, v);
	plain(out, buf_str(&b));
	buf_puts(out, " | ");
	buf_reset(&b);
	format_interval(&b, m->unit, v);
	plain(out, v->word == VERDICT_VETOED ? "-" : buf_str(&b));
	buf_printf(out, " | %zu | %s%s%s |\n", v->blocks, v->word == VERDICT_WORSE ? "**" : "",
		   verdict_word(v->word), v->word == VERDICT_WORSE ? "**" : "");
	out->failed |= b.failed;
}

static void scales(struct buf *out, const struct report *rep, unsigned int variant)
{
	for (int scale = VERDICT_SCALE_MEDIAN; scale <= VERDICT_SCALE_UNIT; scale++) {
		_cleanup_(buf_release) struct buf b = {};

		format_scale(&b, rep, (enum verdict_scale)scale, variant);
		if (!b.len)
			continue;
		plain(out, buf_str(&b));
		buf_puts(out, "\n\n");
	}
}

/* What this bench does when nothing is changed. */
static void noise(struct buf *out, const struct report *rep, unsigned int variant)
{
	bool any = false;

	for (size_t i = 0; i < rep->nr_verdicts; i++) {
		const struct verdict *v = &rep->verdicts[i];
		_cleanup_(buf_release) struct buf b = {};

		if (v->variant == variant)
			format_noise(&b, rep, v);
		if (!b.len)
			continue;
		buf_puts(out, any ? "" : "Noise floor of this bench:\n\n");
		any = true;
		buf_puts(out, "- ");
		code(out, rep->plan->metrics[v->query].text);
		buf_puts(out, ": ");
		plain(out, buf_str(&b));
		buf_putc(out, '\n');
		out->failed |= b.failed;
	}
	buf_puts(out, any ? "\n" : "");
}

static void tables(struct buf *out, const struct report *rep)
{
	for (unsigned int k = 1; k < rep->plan->nr_variants && rep->nr_verdicts; k++) {
		table_head(out, rep, k);
		for (size_t i = 0; i < rep->nr_verdicts; i++)
			if (rep->verdicts[i].variant == k)
				table_row(out, rep, &rep->verdicts[i]);
		buf_putc(out, '\n');
		scales(out, rep, k);
		noise(out, rep, k);
	}
}

static void sentences(struct buf *out, const struct report *rep)
{
	for (size_t i = 0; i < rep->nr_verdicts; i++) {
		_cleanup_(buf_release) struct buf b = {};

		format_ergo(&b, rep, &rep->verdicts[i]);
		buf_puts(out, "- ");
		plain(out, buf_str(&b));
		buf_putc(out, '\n');
		out->failed |= b.failed;
	}
	buf_puts(out, rep->nr_verdicts ? "\n" : "The plan names no metric to judge.\n\n");
}

static void notes(struct buf *out, const struct report *rep, const char *what,
		  const struct note_list *l)
{
	for (size_t i = 0; i < l->nr; i++) {
		const struct note *n = &l->v[i];
		_cleanup_(buf_release) struct buf b = {};

		format_trials(&b, rep, n->trials, n->nr_trials);
		buf_printf(out, "- %s, %s%s: ", what, buf_str(&b),
			   n->texts_differ ? ", such as" : "");
		plain(out, n->text);
		buf_putc(out, '\n');
	}
}

static void beside(struct buf *out, const struct report *rep)
{
	size_t nr = rep->rejected.nr + rep->warnings.nr + rep->witnesses.nr;

	if (!nr)
		return;
	buf_puts(out, "<details><summary>Beside it: ");
	format_count(out, rep->rejected.nr, "reason");
	buf_puts(out, " why trials were not used, ");
	format_count(out, rep->warnings.nr, "warning");
	buf_puts(out, ", ");
	format_count(out, rep->witnesses.nr, "witness line");
	buf_puts(out, "</summary>\n\n");
	notes(out, rep, "not used", &rep->rejected);
	notes(out, rep, "warning", &rep->warnings);
	notes(out, rep, "witness", &rep->witnesses);
	buf_puts(out, "\n</details>\n\n");
}

static void foot(struct buf *out, const struct report *rep)
{
	_cleanup_(buf_release) struct buf b = {};

	for (unsigned int k = 0; k < rep->plan->nr_variants; k++) {
		buf_puts(out, "- ");
		plain(out, model_variant(rep, k));
		buf_puts(out, ": ");
		buf_reset(&b);
		outcome_settings(&b, rep, k);
		if (b.len)
			code(out, buf_str(&b));
		else
			buf_puts(out, "as the machine is");
		buf_putc(out, '\n');
	}
	buf_puts(out, "- machine: ");
	buf_reset(&b);
	outcome_env(&b, rep, "release");
	buf_puts(&b, ", ");
	outcome_env(&b, rep, "cpu_model");
	buf_puts(&b, ", CPUs: ");
	outcome_env(&b, rep, "cpus");
	plain(out, buf_str(&b));
	buf_puts(out, "\n- repeat: ");
	buf_reset(&b);
	format_repeat(&b, rep);
	code(out, buf_str(&b));
	buf_putc(out, '\n');
	out->failed |= b.failed;
}

static int write_markdown(const struct export_source *src, struct buf *out, struct err *e)
{
	const struct report *rep = src->report;

	buf_puts(out, "### ");
	plain(out, rep->run.name);
	buf_puts(out, "\n\n");
	sentences(out, rep);
	tables(out, rep);
	beside(out, rep);
	foot(out, rep);
	return out->failed ? err_nomem(e, "Markdown") : 0;
}

const struct export_ops export_markdown = {
	.name = "markdown",
	.help = "Markdown for the text of a pull request",
	.write = write_markdown,
};
