// SPDX-License-Identifier: GPL-3.0-or-later
#include "import_list.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"

#define LABEL_SHOWN 70	/* bytes of a label in a line of the list */
#define FIGURES_SHOWN 8 /* key figures in it */
#define NOTES_SHOWN 12
#define REMARKS_SHOWN 20
#define SEEN_SLOTS (1U << 16) /* half of them are used at most */

/* ---- figures as text */

/* "direction=sent,stream=5" as " sent stream=5": the keys that everybody knows are not said. */
static void put_labels(struct buf *out, const char *s)
{
	static const char *const known[] = { "direction=", "role=", "side=" };

	while (*s) {
		size_t n = strcspn(s, ",");

		for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
			size_t k = strlen(known[i]);

			if (strncmp(s, known[i], k) == 0) {
				s += k;
				n -= k;
			}
		}
		buf_putc(out, ' ');
		text_printable(out, s, n);
		s += n + (s[n] == ',');
	}
}

static void put_figures(struct buf *out, const struct import_run *run)
{
	size_t shown = 0, keys = 0;

	for (size_t i = 0; i < run->nr_figures; i++) {
		const struct import_figure *f = &run->figures[i];

		if (!f->key || keys++ >= FIGURES_SHOWN)
			continue;
		buf_puts(out, shown++ ? ", " : "");
		buf_puts(out, f->metric);
		put_labels(out, f->labels);
		buf_putc(out, ' ');
		import_value_format(out, f->unit, f->value);
	}
	if (keys > shown)
		buf_printf(out, " and %zu more", keys - shown);
}

static void put_label(struct buf *out, const struct import_run *run)
{
	const char *texts[] = { run->heading, run->label };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		size_t n = strlen(texts[i]), cut = n > LABEL_SHOWN ? LABEL_SHOWN : n;

		if (!n || (i && strcmp(texts[0], texts[1]) == 0))
			continue;
		while (cut < n && cut && ((unsigned char)texts[i][cut] & 0xc0) == 0x80)
			cut--;
		buf_puts(out, i && *texts[0] ? " | " : "  \"");
		text_printable(out, texts[i], cut);
		buf_puts(out, cut < n ? "..." : "");
	}
	if (*run->heading || *run->label)
		buf_putc(out, '"');
}

/* ---- one run */

/* The number of the run before that says the same, or 0. */
static size_t find_same(struct import_list *l, const struct import_run *run)
{
	uint64_t h = import_run_hash(run);
	size_t slot = h % SEEN_SLOTS;

	for (; l->seen[slot].hash; slot = (slot + 1) % SEEN_SLOTS)
		if (l->seen[slot].hash == h)
			return l->seen[slot].number;
	if (l->nr_seen < SEEN_SLOTS / 2) {
		l->seen[slot] = (struct import_list_seen){ h, run->number };
		l->nr_seen++;
	}
	return 0;
}

static int list_text(struct import_list *l, const struct import_run *run, size_t same)
{
	_cleanup_(buf_release) struct buf out = {};

	buf_printf(&out, "  #%-3zu %-11s %s %zu", run->number, run->tool,
		   run->line == run->last_line ? "line" : "lines", run->line);
	if (run->last_line != run->line)
		buf_printf(&out, "-%zu", run->last_line);
	buf_printf(&out, ", %zu row%s", run->rows, run->rows == 1 ? "" : "s");
	if (import_figure_find(run, "streams", ""))
		buf_printf(&out, ", %.0f stream(s)", import_figure_find(run, "streams", "")->value);
	buf_puts(&out, "; ");
	put_figures(&out, run);
	put_label(&out, run);
	buf_putc(&out, '\n');
	if (same)
		buf_printf(&out, "       the same numbers as #%zu: quoted again?\n", same);
	if (run->text_line)
		buf_printf(&out,
			   "       line %zu: the rows from here on follow after other text (line "
			   "%zu)\n",
			   run->text_row_line, run->text_line);
	for (size_t i = 0; i < run->nr_notes && i < NOTES_SHOWN; i++) {
		buf_printf(&out, "       line %zu: ", run->notes[i].line);
		text_printable(&out, run->notes[i].text, strlen(run->notes[i].text));
		buf_putc(&out, '\n');
	}
	if (run->nr_notes > NOTES_SHOWN)
		buf_printf(&out, "       and %zu more notes\n", run->nr_notes - NOTES_SHOWN);
	fputs(buf_str(&out), l->out);
	return out.failed ? -ENOMEM : 0;
}

/* ---- JSON */

static void json_text_member(struct buf *out, const char *name, const char *s)
{
	buf_printf(out, "\"%s\":", name);
	text_json(out, s);
}

static void json_number(struct buf *out, double v)
{
	if (isfinite(v))
		buf_printf(out, "%.17g", v);
	else
		buf_puts(out, "null");
}

static void json_names(struct buf *out, const char *metric, const char *unit, const char *labels)
{
	json_text_member(out, "metric", metric);
	buf_putc(out, ',');
	json_text_member(out, "unit", unit);
	buf_putc(out, ',');
	json_text_member(out, "labels", labels);
}

static void json_figures(struct buf *out, const struct import_run *run)
{
	buf_puts(out, ",\"figures\":[");
	for (size_t i = 0; i < run->nr_figures; i++) {
		const struct import_figure *f = &run->figures[i];

		buf_puts(out, i ? ",{" : "{");
		json_names(out, f->metric, f->unit, f->labels);
		buf_puts(out, ",\"value\":");
		json_number(out, f->value);
		buf_puts(out, ",\"half\":");
		json_number(out, f->half);
		if (f->n >= 0)
			buf_printf(out, ",\"n\":%lld", (long long)f->n);
		buf_printf(out, ",\"key\":%s}", f->key ? "true" : "false");
	}
	buf_putc(out, ']');
}

/* A series is written out while it goes: it may be long. */
static void json_series(struct import_list *l, struct buf *out, const struct import_series *s)
{
	buf_putc(out, '{');
	json_names(out, s->metric, s->unit, s->labels);
	buf_printf(out, ",\"dropped\":%zu,\"points\":[", s->dropped);
	for (size_t i = 0; i < s->nr; i++) {
		const struct import_point *p = &s->points[i];

		buf_printf(out, "%s[%lld,%llu,", i ? "," : "", (long long)p->t_ns,
			   (unsigned long long)p->length_ns);
		json_number(out, p->v);
		buf_putc(out, ',');
		json_number(out, p->half);
		buf_printf(out, ",%zu]", p->line);
		if (out->len > 65536) {
			fputs(buf_str(out), l->out);
			buf_reset(out);
		}
	}
	buf_puts(out, "]}");
}

static void json_hist(struct import_list *l, struct buf *out, const struct import_hist *h)
{
	buf_putc(out, '{');
	json_names(out, h->metric, h->unit, h->labels);
	buf_puts(out, ",\"width\":");
	json_number(out, h->width);
	buf_printf(out, ",\"overflow\":%llu,\"bars\":[", (unsigned long long)h->overflow);
	for (size_t i = 0; i < h->nr; i++) {
		buf_puts(out, i ? ",[" : "[");
		json_number(out, h->bars[i].v);
		buf_printf(out, ",%llu]", (unsigned long long)h->bars[i].count);
		if (out->len > 65536) {
			fputs(buf_str(out), l->out);
			buf_reset(out);
		}
	}
	buf_puts(out, "]}");
}

static int list_json(struct import_list *l, const struct import_run *run, size_t same)
{
	_cleanup_(buf_release) struct buf out = {};

	buf_printf(&out, "%s\n{\"run\":%zu,", l->runs ? "," : "", run->number);
	json_text_member(&out, "tool", run->tool);
	buf_putc(&out, ',');
	json_text_member(&out, "label", run->label);
	buf_putc(&out, ',');
	json_text_member(&out, "heading", run->heading);
	buf_printf(&out, ",\"line\":%zu,\"last_line\":%zu,\"rows\":%zu", run->line, run->last_line,
		   run->rows);
	if (run->text_line)
		buf_printf(&out, ",\"text_between_rows_line\":%zu", run->text_line);
	if (same)
		buf_printf(&out, ",\"same_as\":%zu", same);
	json_figures(&out, run);
	buf_puts(&out, ",\"series\":[");
	for (size_t i = 0; i < run->nr_series; i++) {
		buf_puts(&out, i ? "," : "");
		json_series(l, &out, &run->series[i]);
	}
	buf_puts(&out, "],\"hists\":[");
	for (size_t i = 0; i < run->nr_hists; i++) {
		buf_puts(&out, i ? "," : "");
		json_hist(l, &out, &run->hists[i]);
	}
	buf_puts(&out, "],\"notes\":[");
	for (size_t i = 0; i < run->nr_notes; i++) {
		buf_printf(&out, "%s{\"line\":%zu,", i ? "," : "", run->notes[i].line);
		json_text_member(&out, "text", run->notes[i].text);
		buf_putc(&out, '}');
	}
	buf_puts(&out, "]}");
	fputs(buf_str(&out), l->out);
	return out.failed ? -ENOMEM : 0;
}

/* ---- the sink */

static int take_run(struct import_sink *sink, struct import_run *run, struct err *e)
{
	struct import_list *l = (struct import_list *)sink;
	size_t same = find_same(l, run);
	int r = l->json ? list_json(l, run, same) : list_text(l, run, same);

	l->runs++;
	if (r < 0)
		return err_nomem(e, "import");
	return ferror(l->out) ? err_set(e, -EIO, "the list cannot be written") : 0;
}

static int take_skip(struct import_sink *sink, const struct import_skip *skip, struct err *e)
{
	struct import_list *l = (struct import_list *)sink;
	struct import_list_skip *s;

	for (size_t i = 0; i < l->nr_skips; i++) {
		s = &l->skips[i];
		if (strcmp(s->tool, skip->tool) != 0 || strcmp(s->reason, skip->reason) != 0)
			continue;
		s->last_line = skip->line;
		s->count++;
		return 0;
	}
	if (l->nr_skips == IMPORT_LIST_SKIPS) {
		l->more_skips++;
		return 0;
	}
	s = &l->skips[l->nr_skips];
	*s = (struct import_list_skip){ strdup(skip->tool), strdup(skip->reason), skip->line,
					skip->line, 1 };
	l->nr_skips++;
	return s->tool && s->reason ? 0 : err_nomem(e, "import");
}

static int take_remark(struct import_sink *sink, size_t line, const char *text, struct err *e)
{
	struct import_list *l = (struct import_list *)sink;

	if (l->nr_remarks++ >= REMARKS_SHOWN)
		return 0;
	if (l->json) {
		buf_printf(&l->remarks, "%s{\"line\":%zu,", l->remarks.len ? "," : "", line);
		json_text_member(&l->remarks, "text", text);
		buf_putc(&l->remarks, '}');
	} else {
		buf_printf(&l->remarks, "  line %zu: ", line);
		text_printable(&l->remarks, text, strlen(text));
		buf_putc(&l->remarks, '\n');
	}
	return l->remarks.failed ? err_nomem(e, "import") : 0;
}

/* ---- files */

int import_list_init(struct import_list *l, FILE *out, bool json)
{
	l->sink = (struct import_sink){ take_run, take_skip, take_remark };
	l->out = out;
	l->json = json;
	l->seen = calloc(SEEN_SLOTS, sizeof(*l->seen));
	if (json)
		fputs("{\"files\":[", out);
	return l->seen ? 0 : -ENOMEM;
}

int import_list_begin(struct import_list *l, const char *file, struct err *e)
{
	_cleanup_(buf_release) struct buf out = {};
	const char *name = strcmp(file, "-") == 0 ? "standard input" : file;

	l->file = file;
	l->runs = l->nr_seen = 0;
	memset(l->seen, 0, SEEN_SLOTS * sizeof(*l->seen));
	if (l->json) {
		buf_puts(&out, l->files ? ",{" : "{");
		json_text_member(&out, "file", file);
		buf_puts(&out, ",\"runs\":[");
	} else {
		text_printable(&out, name, strlen(name));
		buf_puts(&out, ":\n");
	}
	l->files++;
	fputs(buf_str(&out), l->out);
	return out.failed ? err_nomem(e, "import") : 0;
}

static void put_skips(struct import_list *l, struct buf *out)
{
	if (l->nr_skips || l->nr_remarks)
		buf_puts(out, "  not used:\n");
	for (size_t i = 0; i < l->nr_skips; i++) {
		const struct import_list_skip *s = &l->skips[i];

		buf_printf(out, "  line %zu", s->line);
		if (s->count > 1)
			buf_printf(out, " to %zu, %zu lines", s->last_line, s->count);
		buf_printf(out, " (%s): ", s->tool);
		text_printable(out, s->reason, strlen(s->reason));
		buf_putc(out, '\n');
	}
	if (l->more_skips)
		buf_printf(out, "  and %zu more lines\n", l->more_skips);
	buf_puts(out, buf_str(&l->remarks));
	if (l->nr_remarks > REMARKS_SHOWN)
		buf_printf(out, "  and %zu more remarks\n", l->nr_remarks - REMARKS_SHOWN);
}

static void put_skips_json(struct import_list *l, size_t lines, struct buf *out)
{
	buf_puts(out, "],\"skipped\":[");
	for (size_t i = 0; i < l->nr_skips; i++) {
		const struct import_list_skip *s = &l->skips[i];

		buf_puts(out, i ? ",{" : "{");
		json_text_member(out, "tool", s->tool);
		buf_printf(out, ",\"line\":%zu,\"last_line\":%zu,\"lines\":%zu,", s->line,
			   s->last_line, s->count);
		json_text_member(out, "reason", s->reason);
		buf_putc(out, '}');
	}
	buf_printf(out, "],\"skipped_more\":%zu,\"remarks\":[%s],\"lines\":%zu}", l->more_skips,
		   buf_str(&l->remarks), lines);
}

static void forget_file(struct import_list *l)
{
	for (size_t i = 0; i < l->nr_skips; i++) {
		free(l->skips[i].tool);
		free(l->skips[i].reason);
	}
	l->nr_skips = l->more_skips = l->nr_remarks = 0;
	buf_reset(&l->remarks);
}

int import_list_end(struct import_list *l, size_t lines, struct err *e)
{
	_cleanup_(buf_release) struct buf out = {};

	if (l->json)
		put_skips_json(l, lines, &out);
	else
		put_skips(l, &out);
	if (!l->json && !l->runs)
		buf_printf(&out, "  no result in %zu line(s)\n", lines);
	if (!l->runs && !l->empty) {
		l->empty = strdup(l->file);
		out.failed = out.failed || !l->empty;
	}
	l->total_runs += l->runs;
	fputs(buf_str(&out), l->out);
	forget_file(l);
	return out.failed ? err_nomem(e, "import") : 0;
}

int import_list_finish(struct import_list *l, struct err *e)
{
	if (l->json)
		fputs("]}\n", l->out);
	if (fflush(l->out) != 0)
		return err_sys(e, "write the list");
	if (!l->empty)
		return 0;
	return err_set(
		e, -ENODATA,
		"%s: no result found: no line in it reads as one that a known program prints "
		"(irqlab import --help names them)",
		strcmp(l->empty, "-") == 0 ? "standard input" : l->empty);
}

void import_list_release(struct import_list *l)
{
	forget_file(l);
	buf_release(&l->remarks);
	free(l->seen);
	free(l->empty);
}
