// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "export/forms.h"
#include "export/outcome.h"
#include "report/format.h"

/*
 * The lines that belong into a commit message: configuration, numbers with intervals and N, the
 * command.  Numbers stand indented, so that no line is taken for a trailer, a comment ('#') or the
 * end of the message ("---"); checkpatch.pl wants at most 75 columns.
 */
#define COLUMNS 75
#define CELLS 5

struct grid {
	struct buf text; /* cells with their NULs, row by row */
	size_t width[CELLS];
	size_t rows;
};

static void cell(struct grid *g, size_t column, const char *text)
{
	_cleanup_(buf_release) struct buf clean = {};
	size_t w;

	text_printable(&clean, text, strlen(text));
	w = format_columns(buf_str(&clean));
	g->width[column] = w > g->width[column] ? w : g->width[column];
	buf_add(&g->text, buf_str(&clean), clean.len + 1);
	g->rows += column == 0;
}

static void pad(struct buf *out, size_t n)
{
	buf_printf(out, "%*s", (int)n, "");
}

/* Cells of a row from @at on; returns what follows them. No blanks at the end of a line. */
static const char *grid_row(struct buf *out, const struct grid *g, const char *at, bool wide)
{
	size_t due = 1;

	for (size_t k = 0; k < CELLS; k++, at += strlen(at) + 1) {
		size_t columns = format_columns(at), room = g->width[k] - columns;
		bool left = k == 0 || k + 1 == CELLS;

		if (columns) {
			pad(out, due + (left ? 0 : room));
			buf_puts(out, at);
			due = left ? room : 0;
		} else {
			due += room;
		}
		if (k == 0 && wide) {
			if (columns)
				buf_putc(out, '\n');
			due = 1;
		}
		due += 2;
	}
	buf_putc(out, '\n');
	return at;
}

/* The first and the last column left, the others right; a name that leaves no room for the numbers
 * has a line of its own. */
static void grid_print(struct buf *out, const struct grid *g)
{
	const char *at = buf_str(&g->text);
	size_t total = 1;

	for (size_t k = 0; k < CELLS; k++)
		total += g->width[k] + (k ? 2 : 0);
	for (size_t i = 0; i < g->rows; i++)
		at = grid_row(out, g, at, total > COLUMNS);
}

/* @first and @text in lines of COLUMNS, the further ones indented; words longer than a line stand
 * alone. */
static void wrap(struct buf *out, const char *first, const char *text, size_t indent)
{
	_cleanup_(buf_release) struct buf clean = {};
	size_t at = format_columns(first);
	bool fresh = true;

	buf_puts(out, first);
	text_printable(&clean, text, strlen(text));
	for (const char *p = buf_str(&clean); *p;) {
		size_t len = strcspn(p, " ");
		_cleanup_(freep) char *word = strndup(p, len);
		size_t w = word ? format_columns(word) : 0;

		if (!fresh && at + 1 + w > COLUMNS) {
			buf_putc(out, '\n');
			pad(out, indent);
			at = indent;
		} else if (!fresh) {
			buf_putc(out, ' ');
			at++;
		}
		buf_add(out, p, len);
		fresh = false;
		at += w;
		p += len + strspn(p + len, " ");
	}
	buf_putc(out, '\n');
	out->failed |= clean.failed;
}

static void add_row(struct grid *g, const struct report *rep, const struct verdict *v, bool same)
{
	const struct plan_metric *m = &rep->plan->metrics[v->query];
	_cleanup_(buf_release) struct buf b = {};

	cell(g, 0, m->text);
	format_value(&b, v->baseline, m->unit);
	cell(g, 1, buf_str(&b));
	buf_reset(&b);
	format_value(&b, v->value, m->unit);
	cell(g, 2, buf_str(&b));
	buf_reset(&b);
	format_effect(&b, m->unit, v);
	if (v->word != VERDICT_VETOED) {
		buf_putc(&b, ' ');
		format_interval(&b, m->unit, v);
	}
	cell(g, 3, buf_str(&b));
	buf_reset(&b);
	/* where all have the same number, it heads the column */
	if (!same)
		buf_printf(&b, "n=%zu ", v->blocks);
	buf_puts(&b, verdict_word(v->word));
	cell(g, 4, buf_str(&b));
}

/* Did all metrics use the same number of blocks? */
static bool same_blocks(const struct report *rep)
{
	for (size_t i = 1; i < rep->nr_verdicts; i++)
		if (rep->verdicts[i].blocks != rep->verdicts[0].blocks)
			return false;
	return true;
}

/* Names that are short enough head their columns. */
static const char *short_name(const char *name, const char *otherwise)
{
	return format_columns(name) <= 11 ? name : otherwise;
}

static void numbers(struct buf *out, const struct report *rep, unsigned int variant)
{
	bool same = same_blocks(rep);
	struct grid g = {};
	char n[32];

	cell(&g, 0, "");
	cell(&g, 1, short_name(model_variant(rep, 0), "baseline"));
	cell(&g, 2, short_name(model_variant(rep, variant), "variant"));
	cell(&g, 3, "change");
	snprintf(n, sizeof(n), "n=%zu", rep->verdicts[0].blocks);
	cell(&g, 4, same ? n : "");
	for (size_t i = 0; i < rep->nr_verdicts; i++)
		if (rep->verdicts[i].variant == variant)
			add_row(&g, rep, &rep->verdicts[i], same);
	grid_print(out, &g);
	out->failed |= g.text.failed;
	buf_release(&g.text);
}

static void env_after(struct buf *out, const struct report *rep, const char *before,
		      const char *key)
{
	_cleanup_(buf_release) struct buf b = {};

	outcome_env(&b, rep, key);
	if (b.len)
		buf_printf(out, "%s%s", before, buf_str(&b));
}

/* "confidence" is the family's: every interval is at the level that its metric was judged at. */
static void configuration(struct buf *out, const struct report *rep)
{
	_cleanup_(buf_release) struct buf b = {};

	buf_printf(&b, "Measured with irqlab %s", rep->run.version);
	env_after(&b, rep, " on Linux ", "release");
	env_after(&b, rep, ", ", "cpu_model");
	env_after(&b, rep, ", CPUs: ", "cpus");
	buf_printf(&b, ". Trials of %g s in ", (double)rep->plan->duration_ns / (double)NS_PER_S);
	if (plan_is_sequential(rep->plan))
		format_blocks(&b, rep);
	else
		format_count(&b, rep->plan->blocks, "interleaved block");
	buf_printf(&b,
		   "; %s, and the change within blocks with its exact interval (%g%% over all "
		   "metrics%s together).",
		   format_centre(rep, 0), 100 * (1 - rep->plan->alpha),
		   plan_is_sequential(rep->plan) ? " and looks" : "");
	wrap(out, "", buf_str(&b), 0);
	out->failed |= b.failed;
}

static void settings(struct buf *out, const struct report *rep)
{
	for (unsigned int k = 0; k < rep->plan->nr_variants; k++) {
		_cleanup_(buf_release) struct buf b = {}, is = {};

		outcome_settings(&is, rep, k);
		/* the baseline is mostly the machine as it is */
		if (!is.len && k == 0)
			continue;
		buf_printf(&b, "%s: %s", model_variant(rep, k),
			   is.len ? buf_str(&is) : "no settings of its own");
		wrap(out, "  ", buf_str(&b), 4);
		out->failed |= b.failed || is.failed;
	}
}

/* "wakeup.p99@net: ..." in lines of its own; with more than two variants it says of which. */
static void remark(struct buf *out, const struct report *rep, const struct verdict *v,
		   const struct buf *text)
{
	_cleanup_(buf_release) struct buf b = {};

	if (!text->len)
		return;
	outcome_name(&b, rep, v);
	buf_printf(&b, ": %s", buf_str(text));
	wrap(out, "  ", buf_str(&b), 4);
	out->failed |= b.failed || text->failed;
}

/* Of what the percent are. */
static void scales(struct buf *out, const struct report *rep)
{
	for (int scale = VERDICT_SCALE_MEDIAN; scale <= VERDICT_SCALE_UNIT; scale++) {
		_cleanup_(buf_release) struct buf b = {};

		format_scale(&b, rep, (enum verdict_scale)scale, 0);
		if (b.len)
			wrap(out, "  ", buf_str(&b), 4);
	}
}

/* What a number means nothing without: how many samples, whether more blocks would help, and what
 * this bench does when nothing is changed. */
static void remarks(struct buf *out, const struct report *rep)
{
	for (size_t i = 0; i < rep->nr_verdicts; i++) {
		const struct verdict *v = &rep->verdicts[i];
		_cleanup_(buf_release) struct buf futile = {}, samples = {}, noise = {};

		if (v->futile)
			buf_printf(&futile, "not likely to be decided within the plan's %u blocks",
				   rep->plan->blocks);
		remark(out, rep, v, &futile);
		format_samples(&samples, rep, v);
		remark(out, rep, v, &samples);
		if (rep->noise[v->query].run) {
			buf_puts(&noise, "noise floor of this bench ");
			format_noise(&noise, rep, v);
		}
		remark(out, rep, v, &noise);
	}
}

/* What is lost or incomplete must not be missing from a quotation. */
static void caveats(struct buf *out, const struct report *rep)
{
	size_t lost = 0;

	for (size_t i = 0; i < rep->nr_trials; i++)
		lost += rep->trials[i].state != TRIAL_OK;
	if (lost)
		buf_printf(out, "  %zu of %zu trials could not be used.\n", lost, rep->nr_trials);
	if (model_is_partial(rep))
		buf_printf(out, "  The run is not complete: %zu of %zu trials.\n", rep->nr_trials,
			   model_planned(rep));
}

static int write_patch(const struct export_source *src, struct buf *out, struct err *e)
{
	const struct report *rep = src->report;
	_cleanup_(buf_release) struct buf command = {};

	if (!rep->nr_verdicts)
		return err_set(e, -ENODATA, "run %" PRId64 ": its plan names no metric to judge",
			       rep->run.id);
	configuration(out, rep);
	buf_putc(out, '\n');
	for (unsigned int k = 1; k < rep->plan->nr_variants; k++)
		numbers(out, rep, k);
	buf_putc(out, '\n');
	scales(out, rep);
	remarks(out, rep);
	settings(out, rep);
	caveats(out, rep);
	format_repeat(&command, rep);
	wrap(out, "  $ ", buf_str(&command), 4);
	return out->failed ? err_nomem(e, "patch text") : 0;
}

const struct export_ops export_patch = {
	.name = "patch",
	.help = "the ten lines that belong into a commit message",
	.write = write_patch,
};
