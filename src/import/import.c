// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/import.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "import/clean.h"
#include "import/decode.h"
#include "import/import_ops.h"
#include "import/label.h"
#include "import/marks.h"

#define FORMAT(name) &import_ops_##name,
static const struct import_ops *const formats[] = {
#include "import/formats.def"
};
#undef FORMAT

#define NR_FORMATS ARRAY_SIZE(formats)
#define PROGRAM_BITS 32 /* the upper half of a line's marks: programs that it may call */
#define GREEDY_MAX 64	/* lines of others until a format's greed ends */
#define HELD_MAX 64	/* runs that wait for one that has begun before them */

_Static_assert(NR_FORMATS <= PROGRAM_BITS, "a format needs two bits in the marks of a line");

/* Lines that are looked at together: a row, the rest of it that a mailer has wrapped. */
#define AHEAD 4

struct slot {
	struct line line;
	uint64_t marks;
	bool kernel; /* a message of the kernel's */
	bool taken;  /* was the rest of a row */
};

struct held {
	struct import_run run;
	bool finished;
};

struct per_format {
	struct import_feed feed;
	struct buf command;
	size_t heading_used;  /* number of the heading that its last run has taken */
	unsigned int foreign; /* lines in a row that a greedy format did not want */
};

struct import_reader {
	struct import_sink *sink;
	struct per_format f[NR_FORMATS];
	uint64_t greedy; /* a bit a format */
	struct buf heading;
	size_t heading_nr; /* counts headings */
	struct slot ahead[AHEAD];
	size_t nr_ahead;
	struct held **held; /* by number */
	size_t nr_held, size_held;
	size_t nr_opened;
	struct decoder decoder;
	struct cleaner cleaner;
};

/* ---- marks */

static struct marks marks;
static pthread_once_t marks_once = PTHREAD_ONCE_INIT;

static const char *program(const struct import_ops *ops)
{
	return ops->program ? ops->program : ops->name;
}

static void make_marks(void)
{
	for (size_t i = 0; i < NR_FORMATS; i++) {
		for (const char *const *s = formats[i]->marks; s && *s; s++)
			marks_add(&marks, *s, 1ULL << i);
		marks_add(&marks, program(formats[i]), 1ULL << (i + PROGRAM_BITS));
	}
	marks_link(&marks);
}

/* ---- runs */

int import_bad(struct import_feed *f, const char *reason)
{
	f->reason = reason;
	return -EBADMSG;
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
	h->run.number = ++r->nr_opened;
	r->held[r->nr_held++] = h;
	f->run = &h->run;
	return 0;
}

static void close_oldest(struct import_reader *r)
{
	for (size_t i = 0; i < NR_FORMATS; i++)
		if (r->f[i].feed.run == &r->held[0]->run)
			import_close_run(&r->f[i].feed);
}

/* Hand over the runs that are finished, as long as none before them is open. */
static int deliver(struct import_reader *r, struct err *e)
{
	int failed = 0;

	if (r->nr_held > HELD_MAX)
		close_oldest(r);
	while (r->nr_held && r->held[0]->finished && failed == 0) {
		struct held *h = r->held[0];

		memmove(r->held, r->held + 1, --r->nr_held * sizeof(struct held *));
		if (h->run.ops->finish && h->run.ops->finish(&h->run) < 0)
			failed = err_nomem(e, "import");
		if (failed == 0)
			failed = r->sink->run(r->sink, &h->run, e);
		held_free(h);
	}
	return failed;
}

/* ---- labels */

static void take_text(struct import_reader *r, const struct slot *s)
{
	const char *line = buf_str(&s->line.text);
	size_t len = s->line.text.len;
	bool called = false;

	for (size_t i = 0; i < NR_FORMATS; i++) {
		struct import_feed *f = &r->f[i].feed;
		const char *call = NULL;

		f->text_between = true;
		f->text_since = true;
		if (!f->text_line && !s->kernel)
			f->text_line = s->line.nr;
		if (s->marks >> (i + PROGRAM_BITS) & 1)
			call = label_find_call(line, program(formats[i]));
		if (!call)
			continue;
		called = true;
		label_keep(&r->f[i].command, label_after_prompt(line, call), line + len);
	}
	if (called)
		return;
	label_keep(&r->heading, line, line + len);
	r->heading_nr++;
}

/* ---- rows */

static int say_skip(struct import_reader *r, size_t line, const struct import_feed *f,
		    struct err *e)
{
	const struct import_skip skip = { line, f->ops->name, f->reason };

	return r->sink->skip(r->sink, &skip, e);
}

static struct import_line view(const struct line *l)
{
	return (struct import_line){ buf_str(&l->text), l->text.len, l->nr, l->redrawn };
}

/* The first line behind @i that may go on with its row, or NULL: the kernel speaks in between. */
static struct slot *following(struct import_reader *r, size_t i)
{
	while (++i < r->nr_ahead)
		if (!r->ahead[i].kernel)
			return &r->ahead[i];
	return NULL;
}

/* The same row without the prompt that a shell has printed into it. */
static int try_without_prompt(struct import_feed *f, const struct import_line *l,
			      const struct import_line *next)
{
	_cleanup_(buf_release) struct buf mended = {};
	struct import_line line = *l;
	const char *at;
	size_t n = label_find_prompt(l->s, &at);

	if (!n)
		return -EBADMSG;
	buf_add(&mended, l->s, (size_t)(at - l->s));
	buf_puts(&mended, at + n);
	if (mended.failed)
		return -ENOMEM;
	line.s = buf_str(&mended);
	line.len = mended.len;
	return f->ops->row(f, &line, next);
}

/* The same row with two lines behind it. */
static int try_two_more(struct import_feed *f, const struct import_line *l,
			const struct import_line *next, const struct import_line *last)
{
	_cleanup_(buf_release) struct buf joined = {};
	struct import_line both = *next;

	if (!next->len || !last->len)
		return -EBADMSG;
	if (buf_printf(&joined, "%s %s", next->s, last->s) < 0)
		return -ENOMEM;
	both.s = buf_str(&joined);
	both.len = joined.len;
	return f->ops->row(f, l, &both);
}

/* Give the row to @f in all ways in which it may be whole. *ret_used: lines behind it. */
static int read_row(struct import_reader *r, struct import_feed *f, size_t *ret_used)
{
	static const struct import_line none = { .s = "" };
	struct slot *second = following(r, 0);
	struct slot *third = second ? following(r, (size_t)(second - r->ahead)) : NULL;
	struct import_line l = view(&r->ahead[0].line);
	struct import_line next = second ? view(&second->line) : none;
	struct import_line last = third ? view(&third->line) : none;
	const char *reason;
	int took = f->ops->row(f, &l, &next);

	*ret_used = took == 1;
	if (took != -EBADMSG)
		return took;
	reason = f->reason;
	took = try_without_prompt(f, &l, &next);
	*ret_used = took == 1;
	if (took == -EBADMSG) {
		took = try_two_more(f, &l, &next, &last);
		*ret_used = took == 1 ? 2 : 0;
		if (took == 0) /* it was whole before: cannot be */
			took = -EBADMSG;
	}
	if (took == -EBADMSG)
		f->reason = reason;
	return took;
}

static int take_row(struct import_reader *r, size_t i, struct err *e)
{
	struct per_format *p = &r->f[i];
	struct import_feed *f = &p->feed;
	struct slot *cur = &r->ahead[0], *rest = NULL;
	size_t runs = r->nr_opened, used, last_line = cur->line.nr;
	int took;

	f->command = buf_str(&p->command);
	f->heading = p->heading_used == r->heading_nr ? "" : buf_str(&r->heading);
	took = read_row(r, f, &used);
	if (r->nr_opened > runs) {
		buf_reset(&p->command);
		p->heading_used = r->heading_nr;
	}
	if (took == -EBADMSG)
		return say_skip(r, cur->line.nr, f, e);
	if (took < 0)
		return err_nomem(e, "import");
	for (rest = cur; used > 0; used--) {
		rest = following(r, (size_t)(rest - r->ahead));
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

/* Ask the formats. *ret: the format of which it is a row, or NR_FORMATS. Return: whether somebody
 * knows the line. */
static bool ask(struct import_reader *r, const struct slot *s, size_t *ret)
{
	struct import_line l = view(&s->line);
	bool known = false;

	*ret = NR_FORMATS;
	for (uint64_t left = (s->marks | r->greedy) & ((1ULL << NR_FORMATS) - 1); left;
	     left &= left - 1) {
		size_t i = (size_t)__builtin_ctzll(left);
		enum import_kind kind = formats[i]->sniff(&r->f[i].feed, &l);

		known = known || kind != IMPORT_FOREIGN;
		if (kind == IMPORT_CHATTER && formats[i]->chatter)
			formats[i]->chatter(&r->f[i].feed, &l);
		mind_greed(r, i, kind);
		if (kind == IMPORT_ROW) {
			*ret = i;
			return true;
		}
	}
	return known;
}

static int take_line(struct import_reader *r, struct err *e)
{
	struct slot *s = &r->ahead[0];
	const char *text = buf_str(&s->line.text);
	size_t i;
	int failed;

	for (i = 0; i < NR_FORMATS && s->line.redrawn; i++)
		r->f[i].feed.redrawn = true;
	if (label_is_cut(text))
		return r->sink->remark(r->sink, s->line.nr, "text was left out here", e);
	if (!label_has_word(text))
		return 0;
	if (!ask(r, s, &i)) {
		take_text(r, s);
		return 0;
	}
	if (i == NR_FORMATS)
		return 0;
	failed = take_row(r, i, e);
	if (failed == 0) /* row() may have changed its mind about what it wants */
		mind_greed(r, i, IMPORT_ROW);
	return failed < 0 ? failed : deliver(r, e);
}

/* The first line of those ahead is done with. */
static int advance(struct import_reader *r, struct err *e)
{
	struct slot first = r->ahead[0];
	int failed = first.taken ? 0 : take_line(r, e);

	memmove(r->ahead, r->ahead + 1, (AHEAD - 1) * sizeof(*r->ahead));
	r->ahead[AHEAD - 1] = first;
	r->nr_ahead--;
	return failed;
}

/* ---- lines as they come from the cleaner */

static int push(struct import_reader *r, const char *s, size_t len, const struct line *l,
		struct err *e)
{
	struct slot *slot;
	int failed = r->nr_ahead == AHEAD ? advance(r, e) : 0;

	if (failed < 0)
		return failed;
	slot = &r->ahead[r->nr_ahead++];
	buf_reset(&slot->line.text);
	buf_add(&slot->line.text, s, len);
	if (slot->line.text.failed)
		return err_nomem(e, "import");
	slot->line.nr = l->nr;
	slot->line.redrawn = l->redrawn;
	slot->marks = marks_find(&marks, s, len);
	slot->kernel = label_find_kernel(buf_str(&slot->line.text)) != NULL;
	slot->taken = false;
	return 0;
}

/* A line; where the kernel has written into the middle of a row, the row's part and the kernel's
 * are two. */
static int take_clean(struct cleaner *c, const struct line *l, struct err *e)
{
	struct import_reader *r = c->arg;
	const char *s = buf_str(&l->text), *kernel = strchr(s, '[') ? label_find_kernel(s) : NULL;
	size_t head = kernel ? (size_t)(kernel - s) : 0;
	int failed;

	if (!head || !(marks_find(&marks, s, head) & ((1ULL << NR_FORMATS) - 1)))
		return push(r, s, l->text.len, l, e);
	failed = push(r, s, s[head - 1] == ' ' ? head - 1 : head, l, e);
	return failed < 0 ? failed : push(r, kernel, l->text.len - head, l, e);
}

static int take_raw(struct decoder *d, const char *s, size_t len, size_t nr, bool more,
		    struct err *e)
{
	struct import_reader *r = d->arg;

	r->cleaner.cr_counts = d->cr_counts;
	return cleaner_line(&r->cleaner, s, len, nr, more, e);
}

/* ---- the reader */

int import_new(struct import_reader **ret, struct import_sink *sink, struct err *e)
{
	struct import_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return err_nomem(e, "import");
	pthread_once(&marks_once, make_marks);
	r->sink = sink;
	r->decoder = (struct decoder){ .emit = take_raw, .arg = r };
	r->cleaner = (struct cleaner){ .emit = take_clean, .arg = r };
	for (size_t i = 0; i < NR_FORMATS; i++) {
		r->f[i].feed.reader = r;
		r->f[i].feed.ops = formats[i];
		if (formats[i]->state_size)
			r->f[i].feed.state = calloc(1, formats[i]->state_size);
		if (formats[i]->state_size && !r->f[i].feed.state) {
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

	while (failed == 0 && r->nr_ahead)
		failed = advance(r, e);
	for (size_t i = 0; i < NR_FORMATS; i++)
		import_close_run(&r->f[i].feed);
	return failed < 0 ? failed : deliver(r, e);
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
	for (size_t i = 0; i < NR_FORMATS; i++) {
		free(r->f[i].feed.state);
		buf_release(&r->f[i].command);
	}
	for (size_t i = 0; i < AHEAD; i++)
		buf_release(&r->ahead[i].line.text);
	for (size_t i = 0; i < r->nr_held; i++)
		held_free(r->held[i]);
	free(r->held);
	buf_release(&r->heading);
	decoder_release(&r->decoder);
	cleaner_release(&r->cleaner);
	free(r);
	*reader = NULL;
}

/* ---- a whole text */

struct collector {
	struct import_sink sink;
	struct import_doc *doc;
};

static int collect_run(struct import_sink *sink, struct import_run *run, struct err *e)
{
	struct import_doc *doc = ((struct collector *)sink)->doc;

	if (doc->nr_runs == doc->size) {
		size_t size = doc->size ? doc->size * 2 : 4;
		struct import_run *p = reallocarray(doc->runs, size, sizeof(*p));

		if (!p)
			return err_nomem(e, "import");
		doc->runs = p;
		doc->size = size;
	}
	doc->runs[doc->nr_runs++] = *run;
	*run = (struct import_run){};
	return 0;
}

static int collect_skip(struct import_sink *sink, const struct import_skip *skip, struct err *e)
{
	struct import_doc *doc = ((struct collector *)sink)->doc;

	if (!doc->skipped)
		doc->skipped = calloc(IMPORT_SKIPS_KEPT, sizeof(*doc->skipped));
	if (!doc->skipped)
		return err_nomem(e, "import");
	if (doc->nr_skipped < IMPORT_SKIPS_KEPT)
		doc->skipped[doc->nr_skipped] = *skip;
	doc->nr_skipped++;
	return 0;
}

static int collect_remark(struct import_sink *sink, size_t line, const char *text, struct err *e)
{
	struct import_doc *doc = ((struct collector *)sink)->doc;
	char *copy;

	if (!doc->remarks)
		doc->remarks = calloc(IMPORT_SKIPS_KEPT, sizeof(*doc->remarks));
	if (!doc->remarks)
		return err_nomem(e, "import");
	if (doc->nr_remarks++ >= IMPORT_SKIPS_KEPT)
		return 0;
	copy = strdup(text);
	doc->remarks[doc->nr_remarks - 1] = (struct import_note){ line, copy };
	return copy ? 0 : err_nomem(e, "import");
}

int import_text(const char *text, size_t len, struct import_doc *ret, struct err *e)
{
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(import_freep) struct import_reader *reader = NULL;
	struct collector c = { { collect_run, collect_skip, collect_remark }, &doc };
	int r = import_new(&reader, &c.sink, e);

	if (r == 0 && len)
		r = import_add(reader, text, len, e);
	if (r == 0)
		r = import_end(reader, e);
	if (r < 0)
		return r;
	*ret = doc;
	doc = (struct import_doc){};
	return 0;
}

void import_release(struct import_doc *doc)
{
	for (size_t i = 0; i < doc->nr_runs; i++)
		import_run_release(&doc->runs[i]);
	for (size_t i = 0; i < doc->nr_remarks && i < IMPORT_SKIPS_KEPT; i++)
		free(doc->remarks[i].text);
	free(doc->runs);
	free(doc->skipped);
	free(doc->remarks);
	*doc = (struct import_doc){};
}

int import_pick(const char *arg, char **ret_path, unsigned int *ret_nr, struct err *e)
{
	const char *hash = strrchr(arg, '#');
	size_t len = strlen(arg);
	uint64_t nr = 0;
	char *path;

	if (hash && hash[1] && strspn(hash + 1, "0123456789") == strlen(hash + 1)) {
		len = (size_t)(hash - arg);
		if (text_u64(hash + 1, &nr) < 0 || nr == 0 || nr > UINT32_MAX)
			return err_set(
				e, -EINVAL,
				"\"%s\": the run after # is numbered from 1, as in mail.txt#2",
				arg);
	}
	if (len == 0)
		return err_set(e, -EINVAL, "\"%s\": the name of a file is missing", arg);
	path = strndup(arg, len);
	if (!path)
		return err_nomem(e, "import");
	*ret_path = path;
	*ret_nr = (unsigned int)nr;
	return 0;
}
