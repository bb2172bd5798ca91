// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/import.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "import/import_ops.h"

/* One row a format. */
static const struct import_ops *const formats[] = {
	&import_ops_iperf3,
	&import_ops_cyclictest,
};

#define NR_FORMATS ARRAY_SIZE(formats)
#define LABEL_MAX 160 /* bytes kept of a label */

/* ---- from bytes to cleaned lines */

struct lines {
	const unsigned char *at, *end;
	size_t nr;	/* of the line at @at, from 1 */
	bool cr_counts; /* no LF in the whole text: CR ends lines in the count too */
	bool moved;	/* the cursor moved up or down before @at */
};

struct line {
	struct buf text;
	size_t nr;
	bool redrawn; /* the cursor had moved to draw this line */
};

/* Bytes of the UTF-8 sequence announced by its first byte, as far as they are there. */
static size_t sequence_len(const unsigned char *s, const unsigned char *end)
{
	size_t want = *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : *s >= 0xc2 ? 2 : 1;
	size_t n = 1;

	while (n < want && s + n < end && (s[n] & 0xc0) == 0x80)
		n++;
	return n;
}

enum glyph { GLYPH_TEXT, GLYPH_BLANK, GLYPH_NOTHING };

/* No-break and other wide blanks, zero-width marks, control characters. */
static enum glyph classify(const unsigned char *s, size_t n)
{
	if (n == 1) {
		if (*s == ' ' || *s == '\t' || *s == 0xa0) /* 0xa0: no-break space in Latin-1 */
			return GLYPH_BLANK;
		return *s < 0x20 || *s == 0x7f ? GLYPH_NOTHING : GLYPH_TEXT;
	}
	if (n == 2 && s[0] == 0xc2 && s[1] <= 0xa0)
		return s[1] == 0xa0 ? GLYPH_BLANK : GLYPH_NOTHING;
	if (n == 3 && s[0] == 0xe2 && s[1] == 0x80) {
		if (s[2] <= 0x8a || s[2] == 0xaf)
			return GLYPH_BLANK;
		return s[2] <= 0x8f ? GLYPH_NOTHING : GLYPH_TEXT;
	}
	if (n == 3 && memcmp(s, "\xe3\x80\x80", 3) == 0)
		return GLYPH_BLANK;
	return n == 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0 ? GLYPH_NOTHING : GLYPH_TEXT;
}

/*
 * Skip the terminal control sequence at l->at (ECMA-48: CSI, or ESC and one byte; OSC up to BEL),
 * also where a program has written ESC as "^[".  Return: whether it moves the cursor to another
 * line.
 */
static bool skip_control(struct lines *l)
{
	const unsigned char *s = l->at + (*l->at == '^' ? 2 : 1);

	if (s < l->end && *s == ']') {
		const unsigned char *bell = memchr(s, '\a', l->end - s < 256 ? l->end - s : 256);

		l->at = bell ? bell + 1 : s + 1;
		return false;
	}
	if (s == l->end || *s != '[') {
		l->at = s < l->end && *s >= 0x20 ? s + 1 : s;
		return false;
	}
	s++;
	while (s < l->end && *s >= 0x20 && *s < 0x40)
		s++;
	l->at = s < l->end && *s >= 0x40 && *s < 0x7f ? s + 1 : s;
	return l->at > s && *s && strchr("ABEFHJdf", *s);
}

static bool is_control(const struct lines *l)
{
	if (*l->at == '\x1b')
		return true;
	return l->end - l->at >= 3 && memcmp(l->at, "^[[", 3) == 0;
}

/* Whether the bytes at l->at end the line (LF, CR LF, any CRs); they are consumed then. */
static bool line_ends(struct lines *l)
{
	bool cr = false;

	for (; l->at < l->end && *l->at == '\r'; l->at++)
		cr = true;
	if (l->at < l->end && *l->at == '\n') {
		l->at++;
		l->nr++;
		return true;
	}
	l->nr += cr && l->cr_counts;
	return cr;
}

static void strip_quotes(struct buf *b)
{
	size_t n = b->data ? strspn(b->data, "> ") : 0;

	if (n == 0)
		return;
	memmove(b->data, b->data + n, b->len - n + 1);
	b->len -= n;
}

/* The next cleaned line into @out, or false at the end of the text. */
static bool lines_next(struct lines *l, struct line *out)
{
	bool blank = false;

	buf_reset(&out->text);
	out->nr = l->nr;
	out->redrawn = l->moved;
	l->moved = false;
	if (l->at == l->end)
		return false;
	while (l->at < l->end && !line_ends(l)) {
		size_t n;
		enum glyph g;

		if (is_control(l)) {
			if (!skip_control(l))
				continue;
			l->moved = true;
			if (out->text.len)
				break;
			out->redrawn = true;
			continue;
		}
		n = sequence_len(l->at, l->end);
		g = classify(l->at, n);
		if (g == GLYPH_TEXT) {
			if (blank && out->text.len)
				buf_putc(&out->text, ' ');
			buf_add(&out->text, l->at, n);
		}
		if (g != GLYPH_NOTHING)
			blank = g == GLYPH_BLANK;
		l->at += n;
	}
	strip_quotes(&out->text);
	return true;
}

static void line_release(struct line *l)
{
	buf_release(&l->text);
}

/* ---- labels */

struct reader {
	struct import_feed feeds[NR_FORMATS];
	struct buf command[NR_FORMATS], heading[NR_FORMATS];
};

static void reader_release(struct reader *r)
{
	for (size_t i = 0; i < NR_FORMATS; i++) {
		buf_release(&r->command[i]);
		buf_release(&r->heading[i]);
	}
}

/* Where in @line the program @name is called with an option, or NULL. */
static const char *find_call(const char *line, const char *name)
{
	size_t n = strlen(name);

	for (const char *s = scan_find(line, name); s; s = scan_find(s + n, name)) {
		const char *option = s + n;

		if (s > line && (isalnum((unsigned char)s[-1]) || s[-1] == '-'))
			continue;
		if (*option == ' ' && option[1] == '-' && option[2] && option[2] != ' ')
			return s;
	}
	return NULL;
}

/* Keep [@s, @end) without decoration, cut at a character's boundary. */
static void keep_label(struct buf *out, const char *s, const char *end)
{
	static const char decoration[] = "=-#*~_ ";

	while (s < end && strchr(decoration, *s))
		s++;
	while (end > s && (strchr(decoration, end[-1]) || end[-1] == ':'))
		end--;
	if (end - s > LABEL_MAX) {
		end = s + LABEL_MAX;
		while (end > s && ((unsigned char)*end & 0xc0) == 0x80)
			end--;
	}
	if (s == end)
		return;
	buf_reset(out);
	buf_add(out, s, (size_t)(end - s));
}

/* The text after the shell's prompt in front of @call, e.g. "root@box:~# ./load & cyclictest -m" */
static const char *after_prompt(const char *line, const char *call)
{
	for (const char *s = call; s > line + 1; s--)
		if (s[-1] == ' ' && (s[-2] == '#' || s[-2] == '$'))
			return s;
	return line;
}

/* "[ 1234.567890] text": the kernel's log has run into the table. */
static bool is_kernel(const char *line)
{
	for (const char *s = strchr(line, '['); s; s = strchr(s + 1, '[')) {
		const char *p = s + 1;
		struct scan_number n;

		scan_space(&p);
		if (scan_number(&p, &n) && n.decimals == 6 && *p == ']')
			return true;
	}
	return false;
}

static void take_text(struct reader *r, const struct line *l)
{
	const char *line = buf_str(&l->text), *call = NULL;
	size_t len = l->text.len;
	bool kernel = is_kernel(line);

	for (size_t i = 0; i < NR_FORMATS; i++) {
		const char *s = find_call(line, formats[i]->name);

		r->feeds[i].text_between = true;
		if (!r->feeds[i].text_line && !kernel)
			r->feeds[i].text_line = l->nr;
		r->feeds[i].text_since = true;
		if (!s)
			continue;
		call = s;
		keep_label(&r->command[i], after_prompt(line, s), line + len);
	}
	for (size_t i = 0; i < NR_FORMATS && !call; i++)
		keep_label(&r->heading[i], line, line + len);
}

/* ---- runs */

static bool has_word(const char *s)
{
	for (; *s; s++)
		if (isalnum((unsigned char)*s) || (unsigned char)*s >= 0x80)
			return true;
	return false;
}

int import_bad(struct import_feed *f, const char *reason)
{
	f->reason = reason;
	return -EBADMSG;
}

struct import_run *import_run_open(const struct import_feed *f)
{
	return &f->doc->runs[f->run - 1];
}

static void run_release(struct import_run *run)
{
	if (run->ops && run->data)
		run->ops->release(run->data);
	free(run->data);
	free(run->label);
	free(run->heading);
	*run = (struct import_run){};
}

int import_open_run(struct import_feed *f, size_t nr)
{
	struct import_doc *doc = f->doc;
	struct import_run run = { .ops = f->ops, .tool = f->ops->name, .line = nr };

	if (doc->nr_runs == doc->size) {
		size_t size = doc->size ? doc->size * 2 : 4;
		struct import_run *p = reallocarray(doc->runs, size, sizeof(*p));

		if (!p)
			return -ENOMEM;
		doc->runs = p;
		doc->size = size;
	}
	run.label = strdup(*f->command ? f->command : f->heading);
	run.heading = strdup(f->heading);
	run.data = calloc(1, f->ops->data_size);
	if (!run.label || !run.heading || !run.data) {
		run_release(&run);
		return -ENOMEM;
	}
	doc->runs[doc->nr_runs++] = run;
	f->run = doc->nr_runs;
	return 0;
}

static int note_skip(struct import_doc *doc, size_t nr, const struct import_feed *f)
{
	if (!doc->skipped)
		doc->skipped = calloc(IMPORT_SKIPS_KEPT, sizeof(*doc->skipped));
	if (!doc->skipped)
		return -ENOMEM;
	if (doc->nr_skipped < IMPORT_SKIPS_KEPT)
		doc->skipped[doc->nr_skipped] = (struct import_skip){ nr, f->ops->name, f->reason };
	doc->nr_skipped++;
	return 0;
}

/* Give row @cur to format @i. Return: 1 when @next was part of it; 0; -ENOMEM. */
static int take_row(struct reader *r, size_t i, const struct line *cur, const struct line *next)
{
	struct import_feed *f = &r->feeds[i];
	size_t runs = f->doc->nr_runs;
	int took;

	f->command = buf_str(&r->command[i]);
	f->heading = buf_str(&r->heading[i]);
	took = f->ops->row(f, buf_str(&cur->text), buf_str(&next->text), cur->nr);
	if (f->doc->nr_runs > runs) {
		buf_reset(&r->command[i]);
		buf_reset(&r->heading[i]);
	}
	if (took == -EBADMSG)
		return note_skip(f->doc, cur->nr, f);
	if (took < 0)
		return took;
	import_run_open(f)->last_line = took ? next->nr : cur->nr;
	f->text_between = false;
	f->text_line = 0;
	f->redrawn = false;
	return took;
}

/* One cleaned line. Return: 1 when @next was part of it; 0; -ENOMEM. */
static int take_line(struct reader *r, const struct line *cur, const struct line *next)
{
	const char *s = buf_str(&cur->text);
	bool foreign = true;

	for (size_t i = 0; i < NR_FORMATS && cur->redrawn; i++)
		r->feeds[i].redrawn = true;
	if (!has_word(s))
		return 0;
	for (size_t i = 0; i < NR_FORMATS; i++) {
		enum import_kind kind = formats[i]->sniff(s);

		if (kind == IMPORT_ROW)
			return take_row(r, i, cur, next);
		if (kind == IMPORT_CHATTER) {
			foreign = false;
			if (formats[i]->chatter)
				formats[i]->chatter(&r->feeds[i], s);
		}
	}
	if (foreign)
		take_text(r, cur);
	return 0;
}

static int read_lines(struct reader *r, struct lines *l)
{
	_cleanup_(line_release) struct line a = {}, b = {};
	struct line *cur = &a, *next = &b;
	bool more = lines_next(l, cur);

	while (more) {
		struct line *swap = cur;
		int took;

		more = lines_next(l, next);
		if (cur->text.failed || next->text.failed)
			return -ENOMEM;
		took = take_line(r, cur, next);
		if (took < 0)
			return took;
		if (took)
			more = lines_next(l, next);
		cur = next;
		next = swap;
	}
	return 0;
}

static int finish(struct import_doc *doc)
{
	for (size_t i = 0; i < doc->nr_runs; i++) {
		struct import_run *run = &doc->runs[i];
		int r = run->ops->finish ? run->ops->finish(run) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

int import_text(const char *text, size_t len, struct import_doc *ret, struct err *e)
{
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(reader_release) struct reader reader = {};
	const unsigned char *start = (const unsigned char *)(text ? text : "");
	struct lines l = { .at = start, .end = start + len, .nr = 1 };
	int r;

	l.cr_counts = len && !memchr(start, '\n', len);
	for (size_t i = 0; i < NR_FORMATS; i++)
		reader.feeds[i] = (struct import_feed){ .doc = &doc, .ops = formats[i] };
	r = read_lines(&reader, &l);
	for (size_t i = 0; i < NR_FORMATS && r == 0; i++)
		if (reader.command[i].failed || reader.heading[i].failed)
			r = -ENOMEM;
	if (r == 0)
		r = finish(&doc);
	if (r < 0)
		return err_nomem(e, "import");
	*ret = doc;
	doc = (struct import_doc){};
	return 0;
}

void import_release(struct import_doc *doc)
{
	for (size_t i = 0; i < doc->nr_runs; i++)
		run_release(&doc->runs[i]);
	free(doc->runs);
	free(doc->skipped);
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

/* ---- scanners */

void scan_space(const char **p)
{
	while (**p == ' ')
		(*p)++;
}

bool scan_text(const char **p, const char *text)
{
	size_t n = strlen(text);

	if (strncmp(*p, text, n) != 0)
		return false;
	*p += n;
	return true;
}

const char *scan_find(const char *s, const char *needle)
{
	size_t n = strlen(needle);

	for (s = strchr(s, *needle); s; s = strchr(s + 1, *needle))
		if (strncmp(s, needle, n) == 0)
			return s;
	return NULL;
}

bool scan_number(const char **p, struct scan_number *ret)
{
	const char *s = *p;
	uint64_t mantissa = 0;
	unsigned int digits = 0, decimals = 0;
	bool point = false;
	double scale = 1;

	for (; isdigit((unsigned char)*s) || (*s == '.' && digits && !point); s++) {
		if (*s == '.') {
			point = true;
			continue;
		}
		if (++digits > 15)
			return false;
		mantissa = mantissa * 10 + (uint64_t)(*s - '0');
		decimals += point;
		scale *= point ? 10 : 1;
	}
	if (digits == 0 || s[-1] == '.')
		return false;
	*ret = (struct scan_number){ (double)mantissa / scale, 0.5 / scale, decimals };
	*p = s;
	return true;
}

bool scan_int(const char **p, unsigned int digits, int64_t *ret)
{
	const char *s = *p;
	bool minus = *s == '-';
	int64_t v = 0;
	unsigned int n = 0;

	for (s += minus; isdigit((unsigned char)*s); s++, n++) {
		if (n == digits)
			return false;
		v = v * 10 + (*s - '0');
	}
	if (n == 0)
		return false;
	*ret = minus ? -v : v;
	*p = s;
	return true;
}
