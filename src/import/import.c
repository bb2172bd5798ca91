// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/import.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "import/label.h"
#include "import/marks.h"
#include "import/reader.h"

#define FORMAT(name) &import_ops_##name,
const struct import_ops *const import_formats[IMPORT_NR_FORMATS] = {
#include "import/formats.def"
};
#undef FORMAT

#define GREEDY_MAX 64 /* lines of others until a format's greed ends */
#define HELD_MAX 64   /* runs that wait for one that has begun before them */

_Static_assert(IMPORT_NR_FORMATS <= IMPORT_PROGRAM_BITS, "a format has two bits in a line's marks");

/* ---- marks */

static struct marks marks;
static pthread_once_t marks_once = PTHREAD_ONCE_INIT;

static const char *program(const struct import_ops *ops)
{
	return ops->program ? ops->program : ops->name;
}

static void make_marks(void)
{
	for (size_t i = 0; i < IMPORT_NR_FORMATS; i++) {
		for (const char *const *s = import_formats[i]->marks; s && *s; s++)
			marks_add(&marks, *s, 1ULL << i);
		marks_add(&marks, program(import_formats[i]), 1ULL << (i + IMPORT_PROGRAM_BITS));
	}
	marks_link(&marks);
}

/* ---- runs */

int import_bad(struct import_feed *f, const char *reason)
{
	f->reason = reason;
	return -EBADMSG;
}

int import_badf(struct import_feed *f, const char *fmt, ...)
{
	_cleanup_(freep) char *text = NULL;
	va_list ap;
	int r;

	va_start(ap, fmt);
	text = text_vprintf(fmt, ap);
	va_end(ap);
	if (!text)
		return -ENOMEM;
	buf_reset(&f->reader->reason);
	r = buf_puts(&f->reader->reason, text);
	return r < 0 ? r : import_bad(f, buf_str(&f->reader->reason));
}

void import_remark(struct import_feed *f, size_t line, const char *fmt, ...)
{
	struct buf *out = &f->reader->remarks;
	_cleanup_(freep) char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = text_vprintf(fmt, ap);
	va_end(ap);
	if (!text) {
		out->failed = true;
		return;
	}
	buf_printf(out, "%zu", line);
	buf_putc(out, '\0');
	buf_add(out, text, strlen(text) + 1);
}

int reader_remarks(struct import_reader *r, struct err *e)
{
	const char *s = buf_str(&r->remarks), *end = s + r->remarks.len;
	int failed = r->remarks.failed ? err_nomem(e, "import") : 0;

	while (s < end && failed == 0) {
		const char *text = s + strlen(s) + 1;

		failed = r->sink->remark(r->sink, strtoul(s, NULL, 10), text, e);
		s = text + strlen(text) + 1;
	}
	buf_reset(&r->remarks);
	return failed;
}

struct import_run *import_run_open(const struct import_feed *f)
{
	assert(f->run);
	return f->run;
}

void import_close_run(struct import_feed *f)
{
	if (!f->run)
		return;
	for (size_t i = f->reader->nr_held; i-- > 0;)
		if (&f->reader->held[i]->run == f->run)
			f->reader->held[i]->finished = true;
	f->run = NULL;
}

static void held_free(struct held *h)
{
	import_run_release(&h->run);
	free(h);
}

int import_open_run(struct import_feed *f, size_t nr)
{
	struct import_reader *r = f->reader;
	struct held *h;

	import_close_run(f);
	if (r->nr_held == r->size_held) {
		size_t size = r->size_held ? r->size_held * 2 : 4;
		struct held **p = reallocarray(r->held, size, sizeof(struct held *));

		if (!p)
			return -ENOMEM;
		r->held = p;
		r->size_held = size;
	}
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->run =
		(struct import_run){ .ops = f->ops,
				     .tool = f->ops->name,
				     .line = nr,
				     .last_line = nr,
				     .label = strdup(*f->command ? f->command : f->heading),
				     .heading = strdup(f->heading),
				     .data = calloc(1, f->ops->data_size ? f->ops->data_size : 1) };
	if (!h->run.label || !h->run.heading || !h->run.data) {
		held_free(h);
		return -ENOMEM;
	}
	r->nr_opened++;
	r->held[r->nr_held++] = h;
	f->run = &h->run;
	return 0;
}

static void close_oldest(struct import_reader *r)
{
	for (size_t i = 0; i < IMPORT_NR_FORMATS; i++)
		if (r->f[i].feed.run == &r->held[0]->run)
			import_close_run(&r->f[i].feed);
}

int reader_deliver(struct import_reader *r, struct err *e)
{
	int failed = 0;

	if (r->nr_held > HELD_MAX)
		close_oldest(r);
	while (r->nr_held && r->held[0]->finished && failed == 0) {
		struct held *h = r->held[0];

		memmove(r->held, r->held + 1, --r->nr_held * sizeof(struct held *));
		if (h->run.ops->finish && h->run.ops->finish(&h->run) < 0)
			failed = err_nomem(e, "import");
		/* one of which no row could be read is none: its rows have been skipped */
		if (failed == 0 && (h->run.nr_figures || h->run.nr_series || h->run.nr_hists)) {
			h->run.number = ++r->nr_delivered;
			failed = r->sink->run(r->sink, &h->run, e);
		}
		held_free(h);
	}
	return failed;
}

/* ---- labels */

/* A command was called and nothing that it prints stands behind it. */
static void miss_rows(struct per_format *p)
{
	if (p->command_line)
		import_remark(&p->feed, p->command_line, "no rows follow the command \"%s\"",
			      buf_str(&p->command));
	p->command_line = 0;
}

/* Whether @call in @line is more than a word in a sentence. */
static bool is_sure(const char *line, const char *call)
{
	return call == line || label_after_prompt(line, call) != line ||
	       (call > line + 1 && call[-1] == ' ' && strchr("&|;", call[-2]));
}

static void take_text(struct import_reader *r, const struct slot *s)
{
	uint64_t number;
	size_t skip = frame_match(&r->frame, buf_str(&s->line.text), &number);
	const char *line = buf_str(&s->line.text) + skip;
	size_t len = s->line.text.len - skip;
	bool called = false;

	for (size_t i = 0; i < IMPORT_NR_FORMATS; i++) {
		struct import_feed *f = &r->f[i].feed;
		const char *call = NULL;

		f->text_between = true;
		f->text_since = true;
		if (!f->text_line && !s->kernel)
			f->text_line = s->line.nr;
		if (s->marks >> (i + IMPORT_PROGRAM_BITS) & 1)
			call = label_find_call(line, program(import_formats[i]));
		if (!call)
			continue;
		called = true;
		miss_rows(&r->f[i]);
		r->f[i].command_line = is_sure(line, call) ? s->line.nr : 0;
		label_keep(&r->f[i].command, label_after_prompt(line, call), line + len);
		r->f[i].command_bare = skip > 0;
		if (import_formats[i]->called) {
			import_formats[i]->called(f, call);
			r->greedy |= f->greedy ? 1ULL << i : 0;
		}
	}
	if (called || label_is_markup(line))
		return;
	label_keep(&r->heading, line, line + len);
	r->heading_bare = skip > 0;
	r->heading_nr++;
}

/* ---- rows */

void reader_label(struct import_reader *r, struct import_feed *f)
{
	struct per_format *p = (struct per_format *)f;

	f->command = buf_str(&p->command);
	f->heading = p->heading_used == r->heading_nr ? "" : buf_str(&r->heading);
	/* what stands in front of the lines may have become known behind them only, or not at all
	 */
	if (!p->command_bare)
		f->command += r->frame.nr ? frame_skip(&r->frame, f->command)
					  : frame_skip_stamp(f->command);
	if (!r->heading_bare)
		f->heading += r->frame.nr ? frame_skip(&r->frame, f->heading)
					  : frame_skip_stamp(f->heading);
	f->heading += strspn(f->heading, "=-#*~ ");
}

int reader_settle(struct import_reader *r, struct import_feed *f, size_t runs, size_t line,
		  int took, struct err *e)
{
	struct per_format *p = (struct per_format *)f;
	const struct import_skip skip = { line, f->ops->name, f->reason };

	if (r->nr_opened > runs) {
		buf_reset(&p->command);
		p->command_line = 0;
		p->heading_used = r->heading_nr;
	}
	if (took == -EBADMSG)
		took = r->sink->skip(r->sink, &skip, e);
	else if (took < 0)
		took = err_nomem(e, "import");
	if (took >= 0 && r->remarks.len)
		took = reader_remarks(r, e);
	return took < 0 ? took : 0;
}

/* Rows of a diff's two sides are of two tests, also where they take turns. */
static void mind_side(struct import_reader *r, struct import_feed *f, const struct slot *s)
{
	char side = *buf_str(&s->line.text);

	if (side != '+' && side != '-')
		side = 0;
	if (f->run && side && r->side && side != r->side)
		import_close_run(f);
	if (side)
		r->side = side;
}

static int take_row(struct import_reader *r, size_t i, struct err *e)
{
	struct import_feed *f = &r->f[i].feed;
	struct slot *cur = &r->ahead[0], *rest = NULL;
	size_t runs = r->nr_opened, used, last_line = cur->line.nr;
	int took, failed;

	mind_side(r, f, cur);
	reader_label(r, f);
	took = rows_read(r, f, &used);
	failed = reader_settle(r, f, runs, cur->line.nr, took, e);
	if (failed < 0 || took < 0)
		return failed;
	for (rest = cur; used > 0; used--) {
		rest = rows_following(r, (size_t)(rest - r->ahead));
		rest->taken = true;
		last_line = rest->line.nr;
	}
	if (f->run) {
		f->run->last_line = last_line;
		f->run->rows++;
	}
	f->text_between = false;
	f->text_line = 0;
	f->redrawn = false;
	return 0;
}

/* Keep the bit of a format's greed, and end it when nothing of its own has come for long. */
static void mind_greed(struct import_reader *r, size_t i, enum import_kind kind)
{
	struct per_format *p = &r->f[i];

	p->foreign = kind == IMPORT_FOREIGN ? p->foreign + 1 : 0;
	if (p->foreign >= GREEDY_MAX) {
		p->feed.greedy = false;
		p->foreign = 0;
	}
	if (p->feed.greedy)
		r->greedy |= 1ULL << i;
	else
		r->greedy &= ~(1ULL << i);
}

/* What the formats say to a line. */
struct answer {
	uint64_t asked, chatter; /* a bit a format */
	size_t row;		 /* whose row it is, or IMPORT_NR_FORMATS */
};

/* Ask the formats.  Return: whether somebody knows the line. */
static bool ask(struct import_reader *r, const struct slot *s, struct answer *ret)
{
	struct import_line l = rows_view(s);

	*ret = (struct answer){ .row = IMPORT_NR_FORMATS };
	for (uint64_t left = (s->marks | r->greedy) & ((1ULL << IMPORT_NR_FORMATS) - 1); left;
	     left &= left - 1) {
		size_t i = (size_t)__builtin_ctzll(left);
		enum import_kind kind;

		if (import_formats[i]->sniffs_labels)
			reader_label(r, &r->f[i].feed);
		kind = import_formats[i]->sniff(&r->f[i].feed, &l);
		ret->asked |= 1ULL << i;
		if (kind == IMPORT_CHATTER)
			ret->chatter |= 1ULL << i;
		if (kind != IMPORT_ROW)
			continue;
		ret->row = i;
		return true;
	}
	return ret->chatter != 0;
}

/* The formats that know the line are told; those that want each line and do not know it tire. */
static void tell(struct import_reader *r, const struct slot *s, const struct answer *a)
{
	struct import_line l = rows_view(s);

	for (uint64_t left = a->asked; left; left &= left - 1) {
		size_t i = (size_t)__builtin_ctzll(left);
		bool chatter = a->chatter >> i & 1;

		if (chatter && import_formats[i]->chatter)
			import_formats[i]->chatter(&r->f[i].feed, &l);
		mind_greed(r, i,
			   chatter	 ? IMPORT_CHATTER
			   : i == a->row ? IMPORT_ROW
					 : IMPORT_FOREIGN);
	}
}

/* ---- what stands in front of rows */

static bool has_stamps(const struct answer *a)
{
	const uint64_t stamped = 1ULL << IMPORT_FORMAT_mpstat | 1ULL << IMPORT_FORMAT_sar;

	return (a->chatter & stamped) != 0;
}

/* Whether @bare, to less of the line, is no worse an answer than @a. */
static bool is_as_good(const struct answer *a, const struct answer *bare)
{
	if (a->row == IMPORT_NR_FORMATS && bare->row == IMPORT_NR_FORMATS)
		return (a->chatter & bare->chatter) != 0;
	return a->row == IMPORT_NR_FORMATS || a->row == bare->row;
}

static bool has_letter(const char *s)
{
	while (*s && !isalpha((unsigned char)*s))
		s++;
	return *s;
}

/*
 * A line that is understood as it is may still stand in a frame, the table's bare numbers behind
 * it as well: its heading says it, when the next line has the same in front; or a row that has
 * the program's mark, when lines are numbered.
 */
static void find_known_frame(struct import_reader *r, struct slot *s, struct answer *a)
{
	struct slot *next = rows_following(r, 0);
	const char *text = buf_str(&s->line.text);
	bool row = a->row != IMPORT_NR_FORMATS;
	struct frame frame = {};
	uint64_t number;
	size_t n;

	if (!next || (row && !(s->marks >> a->row & 1)))
		return;
	/* a row of numbers alone has none in front */
	if (row && (!isdigit((unsigned char)*text) || !has_letter(text)))
		return;
	while ((n = frame_more(&frame, text)) != 0) {
		struct answer bare;
		size_t skip = s->skip;

		/* tables of the system's own tools have times of their own */
		if (frame.nr == 1 && *frame.kinds == FRAME_STAMP && has_stamps(a))
			continue;
		if (row && !frame_has(&frame, FRAME_NUMBER))
			continue;
		if (!frame_match(&frame, buf_str(&next->line.text), &number))
			continue;
		s->skip = n;
		if (ask(r, s, &bare) && is_as_good(a, &bare)) {
			r->frame = frame;
			*a = bare;
		} else {
			s->skip = skip;
		}
	}
}

/* Whether somebody knows @s behind one or more prefixes. */
static bool find_frame(struct import_reader *r, struct slot *s, struct answer *a)
{
	const char *text = buf_str(&s->line.text);
	struct frame frame = {};
	size_t n;

	while ((n = frame_more(&frame, text)) != 0) {
		s->skip = n;
		if (ask(r, s, a)) {
			r->frame = frame;
			return true;
		}
	}
	s->skip = 0;
	return false;
}

/* Whether somebody knows @s without what a reader has written behind it, which is dropped then. */
static bool find_noted(struct import_reader *r, struct slot *s, struct answer *a)
{
	struct buf *text = &s->line.text;
	const char *note = frame_find_note(buf_str(text));
	size_t len = text->len;

	if (!note)
		return false;
	text->len = (size_t)(note - buf_str(text));
	text->data[text->len] = '\0';
	if (ask(r, s, a) || ((s->marks & ((1ULL << IMPORT_NR_FORMATS) - 1)) && find_frame(r, s, a)))
		return true;
	text->data[text->len] = ' ';
	text->len = len;
	return false;
}

/* Whether somebody knows @s, in its frame or without it. */
static bool ask_framed(struct import_reader *r, struct slot *s, struct answer *a)
{
	const uint64_t formats = (1ULL << IMPORT_NR_FORMATS) - 1;
	uint64_t number;

	s->skip = frame_match(&r->frame, buf_str(&s->line.text), &number);
	if (s->skip) {
		bool known = ask(r, s, a);

		if (known)
			r->frame.number = number;
		if (known || s->skip == s->line.text.len)
			return known;
		s->skip = 0;
	}
	if (!ask(r, s, a)) {
		bool marked = s->marks & formats;

		return (marked && find_frame(r, s, a)) ||
		       ((marked || r->greedy) && find_noted(r, s, a));
	}
	r->frame = (struct frame){};
	find_known_frame(r, s, a);
	return true;
}

static void drop_arrow(struct slot *s)
{
	const char *text = buf_str(&s->line.text), *at = frame_find_arrow(text);

	if (!at)
		return;
	s->line.text.len = (size_t)(at - text);
	s->line.text.data[s->line.text.len] = '\0';
}

static int take_line(struct import_reader *r, struct err *e)
{
	struct slot *s = &r->ahead[0];
	const char *text = buf_str(&s->line.text);
	struct answer a;
	int failed;

	for (size_t i = 0; i < IMPORT_NR_FORMATS && s->line.redrawn; i++)
		r->f[i].feed.redrawn = true;
	if (label_is_cut(text, s->line.text.len))
		return r->sink->remark(r->sink, s->line.nr, "text was left out here", e);
	if (!label_has_word(text))
		return 0;
	if (s->marks & ((1ULL << IMPORT_NR_FORMATS) - 1) || r->greedy)
		drop_arrow(s);
	if (!ask_framed(r, s, &a)) {
		if (*text != '+' && *text != '-')
			r->side = 0;
		tell(r, s, &a);
		take_text(r, s);
		return r->remarks.len ? reader_remarks(r, e) : 0;
	}
	tell(r, s, &a);
	if (a.row == IMPORT_NR_FORMATS)
		return r->remarks.len ? reader_remarks(r, e) : 0;
	failed = take_row(r, a.row, e);
	if (failed == 0) /* row() may have changed its mind about what it wants */
		mind_greed(r, a.row, IMPORT_ROW);
	return failed < 0 ? failed : reader_deliver(r, e);
}

/* The first line of those ahead is done with. */
static int advance(struct import_reader *r, struct err *e)
{
	struct slot first = r->ahead[0];
	int failed = first.taken ? 0 : take_line(r, e);

	memmove(r->ahead, r->ahead + 1, (IMPORT_AHEAD - 1) * sizeof(*r->ahead));
	r->ahead[IMPORT_AHEAD - 1] = first;
	r->nr_ahead--;
	return failed;
}

/* ---- lines as they come from the cleaner */

/* @kernel: it is a message of the kernel's. */
static int push(struct import_reader *r, const char *s, size_t len, const struct line *l,
		bool kernel, struct err *e)
{
	struct slot *slot;
	int failed = r->nr_ahead == IMPORT_AHEAD ? advance(r, e) : 0;

	if (failed < 0)
		return failed;
	if (len > 4 && *s == '|' && s[len - 1] == '|') /* a table of one column */
		len -= s[len - 2] == ' ' ? 2 : 1;
	slot = &r->ahead[r->nr_ahead++];
	buf_reset(&slot->line.text);
	buf_add(&slot->line.text, s, len);
	if (slot->line.text.failed)
		return err_nomem(e, "import");
	slot->line.nr = l->nr;
	slot->line.redrawn = l->redrawn;
	slot->marks = marks_find(&marks, s, len);
	slot->kernel = kernel;
	slot->taken = false;
	slot->skip = 0;
	return 0;
}

/* Where the kernel has written into the middle of a row, the row's part and the kernel's are two
 * lines. */
int reader_text(struct import_reader *r, const char *s, size_t len, const struct line *l,
		struct err *e)
{
	const char *kernel = memchr(s, '[', len) ? label_find_kernel(s) : NULL;
	size_t head = kernel ? (size_t)(kernel - s) : 0;
	int failed;

	if (!head || !(marks_find(&marks, s, head) & ((1ULL << IMPORT_NR_FORMATS) - 1)))
		return push(r, s, len, l, kernel != NULL, e);
	failed = push(r, s, s[head - 1] == ' ' ? head - 1 : head, l, false, e);
	return failed < 0 ? failed : push(r, kernel, len - head, l, true, e);
}

int reader_flush(struct import_reader *r, struct err *e)
{
	int failed = 0;

	while (failed == 0 && r->nr_ahead)
		failed = advance(r, e);
	return failed;
}

static int take_clean(struct cleaner *c, const struct line *l, struct err *e)
{
	return document_line(c->arg, l, e);
}

/* Of a document's strings. */
static int take_inner(struct cleaner *c, const struct line *l, struct err *e)
{
	return document_line(c->arg, l, e);
}

static int take_raw(struct decoder *d, const char *s, size_t len, size_t nr, bool more,
		    struct err *e)
{
	struct import_reader *r = d->arg;

	r->cleaner.cr_counts = d->cr_counts;
	if (d->html != r->html) {
		r->cleaner.html = d->html;
		r->cleaner.hidden = false;
		r->cleaner.tag_lines = 0;
		r->html = d->html;
	}
	return cleaner_line(&r->cleaner, s, len, nr, more, e);
}

static int take_remark(struct decoder *d, size_t nr, const char *text, struct err *e)
{
	struct import_reader *r = d->arg;

	return r->sink->remark(r->sink, nr, text, e);
}

/* ---- the reader */

int import_new(struct import_reader **ret, struct import_sink *sink, struct err *e)
{
	struct import_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return err_nomem(e, "import");
	pthread_once(&marks_once, make_marks);
	r->sink = sink;
	r->decoder = (struct decoder){ .emit = take_raw, .remark = take_remark, .arg = r };
	r->cleaner = (struct cleaner){ .emit = take_clean, .arg = r };
	r->inner = (struct cleaner){ .emit = take_inner, .arg = r };
	for (size_t i = 0; i < IMPORT_NR_FORMATS; i++) {
		r->f[i].feed.reader = r;
		r->f[i].feed.ops = import_formats[i];
		if (import_formats[i]->state_size)
			r->f[i].feed.state = calloc(1, import_formats[i]->state_size);
		if (import_formats[i]->state_size && !r->f[i].feed.state) {
			import_freep(&r);
			return err_nomem(e, "import");
		}
	}
	*ret = r;
	return 0;
}

int import_add(struct import_reader *reader, const char *data, size_t len, struct err *e)
{
	return decoder_add(&reader->decoder, data, len, e);
}

int import_end(struct import_reader *r, struct err *e)
{
	int failed = decoder_end(&r->decoder, e);

	if (failed == 0)
		failed = document_end(r, e);
	if (failed == 0)
		failed = reader_flush(r, e);
	for (size_t i = 0; i < IMPORT_NR_FORMATS; i++) {
		import_close_run(&r->f[i].feed);
		miss_rows(&r->f[i]);
	}
	if (failed == 0)
		failed = reader_remarks(r, e);
	return failed < 0 ? failed : reader_deliver(r, e);
}

size_t import_lines(const struct import_reader *reader)
{
	return reader->decoder.nr;
}

void import_freep(struct import_reader **reader)
{
	struct import_reader *r = *reader;

	if (!r)
		return;
	for (size_t i = 0; i < IMPORT_NR_FORMATS; i++) {
		free(r->f[i].feed.state);
		buf_release(&r->f[i].command);
	}
	for (size_t i = 0; i < IMPORT_AHEAD; i++)
		buf_release(&r->ahead[i].line.text);
	for (size_t i = 0; i < r->nr_held; i++)
		held_free(r->held[i]);
	free(r->held);
	buf_release(&r->heading);
	buf_release(&r->reason);
	buf_release(&r->remarks);
	document_release(&r->doc);
	decoder_release(&r->decoder);
	cleaner_release(&r->cleaner);
	cleaner_release(&r->inner);
	buf_release(&r->texts);
	free(r);
	*reader = NULL;
}
