// SPDX-License-Identifier: GPL-3.0-or-later
#include "compare_files.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "compare_parts.h"

#define EXIT_FAILED 1
#define EXIT_UNDECIDED 4
#define ELLIPSIS 3 /* columns of "..." */

static const char reason_one_run[] =
	"One run per side proves no difference between the variants (kernels, patches, settings): "
	"how much a result moves from one run to the next cannot be seen in them. Repeat both "
	"sides in random order (irqlab run), at least six times each.";

/* One side: its text, and which of its runs take part. */
struct side {
	const char *name; /* to show */
	const char *file; /* as it was given */
	const char *letter;
	const char *text;
	size_t len;
	struct import_doc *doc;
	unsigned int pick;
	size_t first, nr;   /* of doc->runs */
	const size_t *runs; /* positions of the pairs in doc->runs; NULL: from @first on */
};

/* Position of the run in pair @i. */
static size_t run_of(const struct side *s, size_t i)
{
	return s->runs ? s->runs[i] : s->first + i;
}

/* ---- pieces of output */

/* Bytes of the UTF-8 character at @s. */
static size_t character(const char *s)
{
	size_t n = 1;

	while (((unsigned char)s[n] & 0xc0) == 0x80)
		n++;
	return n;
}

static size_t characters(const char *s)
{
	size_t total = 0;

	for (; *s; s += character(s))
		total++;
	return total;
}

/* Append at most @columns characters of @s, safe to print. */
static void put_cut(struct buf *out, const char *s, size_t columns)
{
	_cleanup_(buf_release) struct buf safe = {};
	size_t total, shown;
	const char *p, *end;

	text_printable(&safe, s, strlen(s));
	out->failed = out->failed || safe.failed;
	p = buf_str(&safe);
	total = characters(p);
	shown = total > columns ? columns - ELLIPSIS : total;
	for (end = p; shown; shown--)
		end += character(end);
	buf_add(out, p, (size_t)(end - p));
	if (total > columns)
		buf_puts(out, "...");
}

/* Append @s, or its last characters when it has more than @columns: a path's end tells most. */
static void put_tail(struct buf *out, const char *s, size_t columns)
{
	_cleanup_(buf_release) struct buf safe = {};
	size_t total;
	const char *p;

	text_printable(&safe, s, strlen(s));
	out->failed = out->failed || safe.failed;
	p = buf_str(&safe);
	total = characters(p);
	if (total > columns) {
		buf_puts(out, "...");
		for (; total > columns - ELLIPSIS; total--)
			p += character(p);
	}
	buf_puts(out, p);
}

static void wrap(struct buf *out, const char *s)
{
	size_t column = 0;

	while (*s) {
		size_t n = strcspn(s, " ");

		if (column && column + 1 + n > COMPARE_WIDTH) {
			buf_putc(out, '\n');
			column = 0;
		}
		buf_puts(out, column ? " " : "  ");
		buf_add(out, s, n);
		column += n + (column ? 1 : 2);
		s += n;
		s += strspn(s, " ");
	}
	buf_putc(out, '\n');
}

/* A new string, or NULL with @out marked as failed. */
__attribute__((format(printf, 2, 0))) static char *format(struct buf *out, const char *fmt,
							  va_list ap)
{
	char *text = text_vprintf(fmt, ap);

	out->failed |= !text;
	return text;
}

void compare_para(struct buf *out, const char *fmt, ...)
{
	_cleanup_(freep) char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = format(out, fmt, ap);
	va_end(ap);
	if (!text)
		return;
	wrap(out, text);
}

void compare_json_comma(struct buf *out)
{
	if (out->len && !strchr("{[:", out->data[out->len - 1]))
		buf_putc(out, ',');
}

void compare_json_text(struct buf *out, const char *name, const char *s)
{
	compare_json_comma(out);
	buf_printf(out, "\"%s\":", name);
	text_json(out, s);
}

void compare_json_number(struct buf *out, const char *name, double v)
{
	compare_json_comma(out);
	if (isfinite(v))
		buf_printf(out, "\"%s\":%.10g", name, v);
	else
		buf_printf(out, "\"%s\":null", name);
}

void compare_json_note(struct buf *out, const char *fmt, ...)
{
	_cleanup_(freep) char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = format(out, fmt, ap);
	va_end(ap);
	if (!text)
		return;
	compare_json_comma(out);
	text_json(out, text);
}

/* ---- which runs */

/* "\n  #1 iperf3 at line 9 (separate mask and ack)\n  #2 ...": the end of a message. */
static void list_runs(const struct import_doc *doc, struct buf *out)
{
	for (size_t i = 0; i < doc->nr_runs; i++) {
		const struct import_run *run = &doc->runs[i];

		if (i == 12) {
			buf_printf(out, "\n  and %zu more", doc->nr_runs - i);
			return;
		}
		buf_printf(out, "\n  #%zu %s at line %zu", i + 1, run->tool, run->line);
		if (*run->heading || *run->label)
			buf_puts(out, " (");
		put_cut(out, *run->heading ? run->heading : run->label, 40);
		if (*run->heading || *run->label)
			buf_putc(out, ')');
		if (run->text_line)
			buf_printf(out, ", with other text between its rows (line %zu)",
				   run->text_line);
	}
}

static int refuse_empty(const struct side *s, struct err *e)
{
	const struct import_doc *doc = s->doc;

	if (doc->nr_skipped)
		return err_set(e, -ENODATA,
			       "%s: no result found; %zu line(s) looked like rows, the first at "
			       "line %zu: %s: %s",
			       s->name, doc->nr_skipped, doc->skipped[0].line, doc->skipped[0].tool,
			       doc->skipped[0].reason);
	return err_set(
		e, -ENODATA,
		"%s: no result found: no line in it reads as one that a known program prints, "
		"such as iperf3's table or cyclictest's T: lines",
		s->name);
}

static int apply_pick(struct side *s, struct err *e)
{
	_cleanup_(buf_release) struct buf runs = {};

	s->first = 0;
	s->nr = s->doc->nr_runs;
	if (s->nr == 0)
		return refuse_empty(s, e);
	if (!s->pick)
		return 0;
	if (s->pick > s->nr) {
		list_runs(s->doc, &runs);
		return err_set(e, -EINVAL, "%s#%u: it holds %zu run(s):%s", s->name, s->pick, s->nr,
			       buf_str(&runs));
	}
	s->first = s->pick - 1;
	s->nr = 1;
	return 0;
}

static int refuse_single(const struct side *s, unsigned int pick, struct err *e)
{
	_cleanup_(buf_release) struct buf runs = {};

	list_runs(s->doc, &runs);
	if (pick)
		return err_set(e, -EINVAL,
			       "%s#%u picks one run; compare needs two: %s#%u and another, as in: "
			       "compare %s#%u %s#%u; %s holds %zu:%s",
			       s->name, pick, s->name, pick, s->file, pick, s->file,
			       pick == 1 ? 2 : 1, s->name, s->doc->nr_runs, buf_str(&runs));
	return err_set(e, -EINVAL,
		       "%s alone: expected exactly two runs of one tool in it, or headings that "
		       "tell before from after; pick two, as in: "
		       "compare %s#1 %s#2; it holds %zu:%s",
		       s->name, s->file, s->file, s->doc->nr_runs, buf_str(&runs));
}

static int refuse_numbers(const struct side *a, const struct side *b, struct err *e)
{
	_cleanup_(buf_release) struct buf runs = {};
	const struct side *more = a->nr > b->nr ? a : b;

	list_runs(more->doc, &runs);
	return err_set(e, -EINVAL,
		       "%zu run(s) of %s cannot be paired with %zu of %s: pick one, as in %s#1; "
		       "%s holds:%s",
		       a->nr, a->name, b->nr, b->name, more->file, more->name, buf_str(&runs));
}

/* Split a text that was given alone into its pairs. */
static int split_single(struct side *a, struct side *b, struct compare_pairs *pairs, struct err *e)
{
	struct import_doc *doc = a->doc;

	if (a->pick && b->pick)
		return 0;
	if (doc->nr_runs == 0)
		return refuse_empty(a, e);
	if (a->pick > doc->nr_runs)
		return apply_pick(a, e);
	if (a->pick || b->pick)
		return refuse_single(a, a->pick ? a->pick : b->pick, e);
	if (compare_pairs_within(doc, pairs) < 0)
		return err_nomem(e, "compare");
	return pairs->nr ? 0 : refuse_single(a, 0, e);
}

/* Whether both sides are the same run of the same text. */
static bool is_same(const struct side *a, const struct side *b)
{
	return a->first == b->first && a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

static int check_tools(const struct side *a, const struct side *b, struct err *e)
{
	for (size_t i = 0; i < a->nr; i++) {
		const struct import_run *x = &a->doc->runs[run_of(a, i)];
		const struct import_run *y = &b->doc->runs[run_of(b, i)];

		if (x->ops != y->ops)
			return err_set(e, -EINVAL,
				       "%s#%zu is a run of %s, %s#%zu one of %s: different tools "
				       "measure different things; pick two of one tool",
				       a->name, run_of(a, i) + 1, x->tool, b->name,
				       run_of(b, i) + 1, y->tool);
	}
	return 0;
}

static void use_pairs(struct side *a, struct side *b, const struct compare_pairs *pairs)
{
	a->runs = pairs->a;
	b->runs = pairs->b;
	a->nr = b->nr = pairs->nr;
}

static int pair_runs(struct side *a, struct side *b, struct compare_pairs *pairs, struct err *e)
{
	int r = a->doc == b->doc ? split_single(a, b, pairs, e) : 0;

	if (r < 0)
		return r;
	if (pairs->nr) {
		use_pairs(a, b, pairs);
		return 0;
	}
	r = apply_pick(a, e);
	if (r == 0)
		r = apply_pick(b, e);
	if (r < 0)
		return r;
	if (a->nr != b->nr && !a->pick && !b->pick) {
		if (compare_pairs_across(a->doc, b->doc, pairs) < 0)
			return err_nomem(e, "compare");
		if (!pairs->nr)
			return refuse_numbers(a, b, e);
		use_pairs(a, b, pairs);
		return 0;
	}
	if (a->nr != b->nr)
		return refuse_numbers(a, b, e);
	if (is_same(a, b))
		return err_set(e, -EINVAL,
			       "%s#%zu and %s#%zu are the same run: name two different ones",
			       a->name, a->first + 1, b->name, b->first + 1);
	return check_tools(a, b, e);
}

/* ---- output */

static void put_side(const struct side *s, size_t i, struct buf *out)
{
	const struct import_run *run = &s->doc->runs[i];

	buf_printf(out, "  %s  ", s->letter);
	put_tail(out, s->name, 40);
	buf_printf(out, "#%zu, line %zu\n", i + 1, run->line);
	if (*run->heading) {
		buf_puts(out, "     ");
		put_cut(out, run->heading, COMPARE_WIDTH - 5);
		buf_putc(out, '\n');
	}
	if (*run->label && strcmp(run->label, run->heading) != 0) {
		buf_puts(out, "     ");
		put_cut(out, run->label, COMPARE_WIDTH - 5);
		buf_putc(out, '\n');
	}
}

static void put_side_json(const struct side *s, const char *key, size_t i, struct buf *out)
{
	const struct import_run *run = &s->doc->runs[i];

	compare_json_comma(out);
	buf_printf(out, "\"%s\":{", key);
	compare_json_text(out, "file", s->file);
	compare_json_number(out, "run", (double)(i + 1));
	compare_json_number(out, "line", (double)run->line);
	compare_json_text(out, "label", run->label);
	compare_json_text(out, "heading", run->heading);
	if (run->text_line) {
		compare_json_number(out, "text_between_rows_line", (double)run->text_line);
		compare_json_number(out, "text_before_row_line", (double)run->text_row_line);
	}
	buf_putc(out, '}');
}

/* Rows that may be those of two tests. */
static void put_text_inside(const struct side *s, size_t i, struct buf *out)
{
	const struct import_run *run = &s->doc->runs[i];

	if (run->text_line)
		compare_para(
			out,
			"%s: the rows from line %zu on follow after other text (line %zu). They "
			"are taken for more rows of the same test; if they are of another one, "
			"give each test a file of its own.",
			s->letter, run->text_row_line, run->text_line);
}

/* iperf2 --bounceback: its rate is that of the questions, not of the path. */
static bool bounces(const struct import_run *run)
{
	return import_iperf3(run) && import_figure_find(run, "rtt.avg", "");
}

static const char *title(const struct import_run *run)
{
	if (bounces(run))
		return "round trips (iperf2)";
	if (import_iperf3(run) && strcmp(run->tool, "iperf2") == 0)
		return import_iperf3(run)->udp ? "UDP throughput (iperf2)"
					       : "TCP throughput (iperf2)";
	if (import_iperf3(run))
		return import_iperf3(run)->udp ? "UDP throughput (iperf3)"
					       : "TCP throughput (iperf3)";
	return import_cyclictest(run) ? "wake-up latency (cyclictest)" : run->tool;
}

/* What is compared depends on the tool. */
static int put_answer(const struct compare_pair *p, const struct compare_opts *opts,
		      struct buf *out, struct err *e)
{
	const struct iperf3_run *a = import_iperf3(p->a), *b = import_iperf3(p->b);
	int r;

	if (import_cyclictest(p->a) && import_cyclictest(p->a)->nr && import_cyclictest(p->b)->nr)
		return compare_cyclictest(p, opts, out, e);
	if (!a)
		return compare_figures(p, opts, out, e);
	if (a->udp != b->udp)
		return err_set(e, -EINVAL, "one is of TCP, the other of UDP");
	if (bounces(p->a) != bounces(p->b))
		return err_set(e, -EINVAL, "one is of round trips, the other of throughput");
	if (bounces(p->a))
		return compare_figures(p, opts, out, e);
	r = compare_iperf3(p, opts, out, e);
	if (r < 0 || !a->udp)
		return r;
	if (!opts->json)
		buf_putc(out, '\n');
	return compare_figures(p, opts, out, e);
}

static void put_notes(const struct side *s, const struct import_run *run, struct buf *out)
{
	for (size_t i = 0; i < run->nr_notes && i < 8; i++)
		compare_para(out, "%s, line %zu: %s.", s->letter, run->notes[i].line,
			     run->notes[i].text);
}

static int put_pair(const struct side *a, const struct side *b, size_t i,
		    const struct compare_opts *opts, struct buf *out, struct err *e)
{
	struct compare_pair p = { &a->doc->runs[run_of(a, i)], &b->doc->runs[run_of(b, i)] };
	bool figures = bounces(p.a) || (!import_iperf3(p.a) && !import_cyclictest(p.a));
	int r;

	if (opts->json) {
		compare_json_comma(out);
		buf_putc(out, '{');
		compare_json_text(out, "tool", p.a->tool);
		put_side_json(a, "a", run_of(a, i), out);
		put_side_json(b, "b", run_of(b, i), out);
	} else {
		buf_printf(out, "%s%s\n", i ? "\n" : "", title(p.a));
		put_side(a, run_of(a, i), out);
		put_side(b, run_of(b, i), out);
		buf_putc(out, '\n');
	}
	r = put_answer(&p, opts, out, e);
	if (r < 0)
		return err_wrap(e, "%s#%zu against %s#%zu", a->name, run_of(a, i) + 1, b->name,
				run_of(b, i) + 1);
	if (opts->json) {
		buf_putc(out, '}');
		return 0;
	}
	if (figures) {
		put_notes(a, p.a, out);
		put_notes(b, p.b, out);
	}
	put_text_inside(a, run_of(a, i), out);
	put_text_inside(b, run_of(b, i), out);
	return 0;
}

/* Runs that are in no pair, and where the text was cut. */
static void put_left(const struct side *s, const struct compare_pairs *pairs, struct buf *out)
{
	for (size_t i = 0; i < pairs->nr_left && i < 12; i++) {
		const struct import_run *run = &s->doc->runs[pairs->left[i]];

		compare_para(out, "Not paired: #%zu, %s at line %zu%s%s%s.", pairs->left[i] + 1,
			     run->tool, run->line, *run->heading ? " (" : "",
			     *run->heading ? run->heading : "", *run->heading ? ")" : "");
	}
	if (pairs->nr_left > 12)
		compare_para(out, "Not paired: %zu more.", pairs->nr_left - 12);
}

static void put_remarks(const struct side *s, struct buf *out)
{
	for (size_t i = 0; i < s->doc->nr_remarks && i < 6; i++)
		compare_para(out, "%s, line %zu: %s.", s->letter, s->doc->remarks[i].line,
			     s->doc->remarks[i].text);
}

static void put_skipped(const struct side *s, struct buf *out)
{
	const struct import_doc *doc = s->doc;
	size_t shown = doc->nr_skipped < 3 ? doc->nr_skipped : 3;

	if (!doc->nr_skipped)
		return;
	buf_puts(out, "\n  ");
	put_tail(out, s->name, 30);
	buf_printf(out, ": %zu row(s) not used:\n", doc->nr_skipped);
	for (size_t i = 0; i < shown; i++)
		compare_para(out, "line %zu (%s): %s", doc->skipped[i].line, doc->skipped[i].tool,
			     doc->skipped[i].reason);
	if (doc->nr_skipped > shown)
		buf_printf(out, "  ... and %zu more\n", doc->nr_skipped - shown);
}

static void put_skipped_json(const struct side *s, struct buf *out)
{
	const struct import_doc *doc = s->doc;

	for (size_t i = 0; i < doc->nr_skipped && i < IMPORT_SKIPS_KEPT; i++) {
		compare_json_comma(out);
		buf_putc(out, '{');
		compare_json_text(out, "file", s->file);
		compare_json_number(out, "line", (double)doc->skipped[i].line);
		compare_json_text(out, "tool", doc->skipped[i].tool);
		compare_json_text(out, "reason", doc->skipped[i].reason);
		buf_putc(out, '}');
	}
}

/* What was not compared, and what the whole is worth. */
static void put_end(const struct side *a, const struct side *b, const struct compare_pairs *pairs,
		    struct buf *out)
{
	bool alone = a->doc == b->doc;

	if (pairs->nr_left)
		buf_putc(out, '\n');
	put_left(a, pairs, out);
	put_skipped(a, out);
	if (!alone)
		put_skipped(b, out);
	if (a->doc->nr_remarks || (!alone && b->doc->nr_remarks))
		buf_putc(out, '\n');
	put_remarks(a, out);
	if (!alone)
		put_remarks(b, out);
	buf_putc(out, '\n');
	compare_para(out, "Verdict: undecided. %s", reason_one_run);
}

static void put_end_json(const struct side *a, const struct side *b,
			 const struct compare_pairs *pairs, struct buf *out)
{
	bool alone = a->doc == b->doc;

	buf_putc(out, ']');
	compare_json_text(out, "reason", reason_one_run);
	compare_json_number(out, "nr_skipped",
			    (double)(a->doc->nr_skipped + (alone ? 0 : b->doc->nr_skipped)));
	buf_puts(out, ",\"not_paired\":[");
	for (size_t i = 0; i < pairs->nr_left; i++)
		buf_printf(out, "%s%zu", i ? "," : "", pairs->left[i] + 1);
	buf_puts(out, "],\"skipped\":[");
	put_skipped_json(a, out);
	if (!alone)
		put_skipped_json(b, out);
	buf_puts(out, "]}\n");
}

static int put_all(const struct side *a, const struct side *b, const struct compare_pairs *pairs,
		   const struct compare_opts *opts, struct buf *out, struct err *e)
{
	if (opts->json)
		buf_puts(out, "{\"verdict\":\"undecided\",\"pairs\":[");
	for (size_t i = 0; i < a->nr; i++) {
		int r = put_pair(a, b, i, opts, out, e);

		if (r < 0)
			return r;
	}
	if (opts->json)
		put_end_json(a, b, pairs, out);
	else
		put_end(a, b, pairs, out);
	return out->failed ? err_nomem(e, "compare") : 0;
}

static const char *shown(const char *file)
{
	return strcmp(file, "-") == 0 ? "standard input" : file;
}

/* NOLINTNEXTLINE(readability-function-size): two texts are three parameters each */
int compare_files(const char *a_name, const char *a, size_t a_len, const char *b_name,
		  const char *b, size_t b_len, const struct compare_opts *opts, struct buf *out,
		  struct err *e)
{
	_cleanup_(import_release) struct import_doc doc_a = {}, doc_b = {};
	_cleanup_(compare_pairs_release) struct compare_pairs pairs = {};
	_cleanup_(buf_release) struct buf text = {};
	struct side sa = { shown(a_name), a_name, "A", a, a_len, &doc_a, opts->pick_a };
	struct side sb = { shown(a_name), a_name, "B", a, a_len, &doc_a, opts->pick_b };
	int r;

	if (b)
		sb = (struct side){ shown(b_name), b_name, "B", b, b_len, &doc_b, opts->pick_b };
	if (!(opts->irq_rate >= 0 && isfinite(opts->irq_rate)))
		r = err_set(e, -EINVAL, "interrupts per second: %g is no rate", opts->irq_rate);
	else
		r = import_text(a, a_len, &doc_a, e);
	if (r == 0 && b)
		r = import_text(b, b_len, &doc_b, e);
	if (r == 0)
		r = pair_runs(&sa, &sb, &pairs, e);
	if (r == 0)
		r = put_all(&sa, &sb, &pairs, opts, &text, e);
	if (r == 0 && buf_add(out, buf_str(&text), text.len) < 0)
		r = err_nomem(e, "compare");
	return r < 0 ? EXIT_FAILED : EXIT_UNDECIDED;
}
