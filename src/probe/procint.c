// SPDX-License-Identifier: GPL-3.0-or-later
#include "probe/procint.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/err.h"

/* A stretch of the text. */
struct span {
	const char *p, *end;
};

static void skip_blanks(struct span *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t'))
		s->p++;
}

/* The next word of @s, empty at its end. */
static struct span word(struct span *s)
{
	struct span w;

	skip_blanks(s);
	w.p = s->p;
	while (s->p < s->end && *s->p != ' ' && *s->p != '\t')
		s->p++;
	w.end = s->p;
	return w;
}

static bool is_empty(struct span s)
{
	return s.p == s.end;
}

static bool is_word(struct span s, const char *text)
{
	size_t len = (size_t)(s.end - s.p);

	return strlen(text) == len && memcmp(s.p, text, len) == 0;
}

/* The whole of @s as a decimal number. */
static bool number(struct span s, uint64_t *ret)
{
	uint64_t v = 0;

	if (is_empty(s))
		return false;
	for (; s.p < s.end; s.p++) {
		if (!isdigit((unsigned char)*s.p) || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*s.p - '0'), &v))
			return false;
	}
	*ret = v;
	return true;
}

/* "5", "5-edge", "524288-fasteoi": the hardware's number, on x86 with its trigger. */
static bool is_hwirq(struct span w)
{
	struct span digits = w;
	uint64_t v;

	while (digits.p < w.end && isdigit((unsigned char)*digits.p))
		digits.p++;
	digits = (struct span){ w.p, digits.p };
	return number(digits, &v) && (digits.end == w.end || *digits.end == '-');
}

static bool is_trigger(struct span w)
{
	return is_word(w, "Level") || is_word(w, "Edge") || (!is_empty(w) && *w.p == '-');
}

/*
 * The handlers in what follows the counters of a numbered row: "GICv3  27 Level  arch_timer".
 * The chip's name may have blanks ("SiFive PLIC"), so it ends where the hardware's number stands;
 * some chips have neither number nor trigger.
 */
static struct span handlers(struct span rest)
{
	struct span at = rest, w, before;

	word(&at);
	for (before = at, w = word(&at); !is_empty(w); before = at, w = word(&at))
		if (is_hwirq(w) || is_trigger(w))
			break;
	if (is_empty(w)) {
		at = rest;
		word(&at);
		return at;
	}
	if (is_trigger(w))
		at = before;
	for (before = at, w = word(&at); is_trigger(w); before = at, w = word(&at))
		;
	return before;
}

static char *copy_trimmed(struct span s)
{
	skip_blanks(&s);
	while (s.end > s.p && isspace((unsigned char)s.end[-1]))
		s.end--;
	return strndup(s.p, (size_t)(s.end - s.p));
}

static void row_release(struct procint_row *row)
{
	free(row->id);
	free(row->name);
	free(row->count);
	*row = (struct procint_row){};
}

/* Error counters of x86 (ERR, MIS) and arm (Err). */
static bool is_global(struct span id)
{
	return is_word(id, "ERR") || is_word(id, "MIS") || is_word(id, "Err");
}

/* Returns 1 with a row, 0 when the line is not one, -ENOMEM. */
static int parse_row(struct span line, size_t nr_cpus, struct procint_row *ret)
{
	_cleanup_(row_release) struct procint_row row = {};
	struct span id = word(&line), before;
	size_t nr = 0;
	uint64_t v;

	if (id.end - id.p < 2 || id.end[-1] != ':')
		return 0;
	id.end--;
	row.count = calloc(nr_cpus, sizeof(*row.count));
	if (!row.count)
		return -ENOMEM;
	for (before = line; nr < nr_cpus && number(word(&line), &v); before = line)
		row.count[nr++] = v;
	row.global = is_global(id);
	if (row.global ? nr < 1 : nr < nr_cpus)
		return 0;
	row.id = strndup(id.p, (size_t)(id.end - id.p));
	row.name = copy_trimmed(number(id, &v) ? handlers(before) : before);
	if (!row.id || !row.name)
		return -ENOMEM;
	*ret = row;
	row = (struct procint_row){};
	return 1;
}

static int parse_header(struct span line, struct procint *p)
{
	for (struct span w = word(&line); !is_empty(w); w = word(&line)) {
		struct span digits = { w.p + 3, w.end };
		unsigned int *cpus;
		uint64_t cpu;

		if (w.end - w.p < 4 || memcmp(w.p, "CPU", 3) != 0 || !number(digits, &cpu) ||
		    cpu >= CPUSET_MAX)
			return -EBADMSG;
		cpus = realloc(p->cpus, (p->nr_cpus + 1) * sizeof(*cpus));
		if (!cpus)
			return -ENOMEM;
		p->cpus = cpus;
		p->cpus[p->nr_cpus++] = (unsigned int)cpu;
	}
	return p->nr_cpus ? 0 : -EBADMSG;
}

/* The same number with another handler is another interrupt. */
static const struct procint_row *find(const struct procint *p, const struct procint_row *like)
{
	for (size_t i = 0; i < p->nr_rows; i++)
		if (strcmp(p->rows[i].id, like->id) == 0 &&
		    strcmp(p->rows[i].name, like->name) == 0)
			return &p->rows[i];
	return NULL;
}

static int add_row(struct procint *p, struct span line)
{
	struct procint_row *rows = realloc(p->rows, (p->nr_rows + 1) * sizeof(*rows));
	int r;

	if (!rows)
		return -ENOMEM;
	p->rows = rows;
	r = parse_row(line, p->nr_cpus, &p->rows[p->nr_rows]);
	if (r < 0)
		return r;
	if (r == 1 && find(p, &p->rows[p->nr_rows])) {
		/* the kernel writes none twice: which of the two is meant cannot be told */
		row_release(&p->rows[p->nr_rows]);
		p->nr_bad++;
		return 0;
	}
	p->nr_rows += r == 1;
	p->nr_bad += r == 0 && !is_empty(word(&line));
	return 0;
}

int procint_parse(const char *text, size_t len, struct procint *ret, struct err *e)
{
	_cleanup_(procint_release) struct procint p = {};
	const char *end = text + len;
	int r = -EBADMSG;

	for (const char *at = text; at < end;) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		struct span line = { at, nl };

		if (!nl) {
			/* its last number may lack digits */
			p.truncated = true;
			break;
		}
		r = at == text ? parse_header(line, &p) : add_row(&p, line);
		if (r == -ENOMEM)
			return err_nomem(e, "interrupt counters");
		if (r < 0)
			break;
		at = nl + 1;
	}
	if (r < 0)
		return err_set(e, r, "interrupt counters: the first line is not a row of CPUs");
	*ret = p;
	p = (struct procint){};
	return 0;
}

void procint_release(struct procint *p)
{
	for (size_t i = 0; i < p->nr_rows; i++)
		row_release(&p->rows[i]);
	free(p->rows);
	free(p->cpus);
	*p = (struct procint){};
}

static uint64_t subtract(uint64_t before, uint64_t after, unsigned int *changes)
{
	uint32_t wrapped = (uint32_t)after - (uint32_t)before;

	if (after >= before)
		return after - before;
	/* what wraps moves on by less than half of the range in a trial */
	if (before <= UINT32_MAX && wrapped < UINT32_C(1) << 31) {
		*changes |= PROCINT_WRAPPED;
		return wrapped;
	}
	*changes |= PROCINT_RESET;
	return after;
}

static size_t column(const struct procint *p, unsigned int cpu)
{
	size_t i = 0;

	while (i < p->nr_cpus && p->cpus[i] != cpu)
		i++;
	return i;
}

static int common_cpus(const struct procint *before, const struct procint *after,
		       struct procint_diff *d)
{
	d->cpus = calloc(after->nr_cpus, sizeof(*d->cpus));
	if (!d->cpus)
		return -ENOMEM;
	for (size_t i = 0; i < after->nr_cpus; i++)
		if (column(before, after->cpus[i]) < before->nr_cpus)
			d->cpus[d->nr_cpus++] = after->cpus[i];
	d->nr_cpus_changed = before->nr_cpus + after->nr_cpus - 2 * d->nr_cpus;
	return 0;
}

static int subtract_row(const struct procint *before, const struct procint *after,
			const struct procint_diff *d, struct procint_delta *ret)
{
	const struct procint_row *row = ret->row, *old = find(before, row);
	size_t nr = row->global ? 1 : d->nr_cpus;

	ret->count = calloc(nr ? nr : 1, sizeof(*ret->count));
	if (!ret->count)
		return -ENOMEM;
	if (!old)
		ret->changes |= PROCINT_APPEARED;
	for (size_t i = 0; i < nr; i++) {
		size_t was = row->global ? 0 : column(before, d->cpus[i]);
		size_t is = row->global ? 0 : column(after, d->cpus[i]);

		ret->count[i] = subtract(old ? old->count[was] : 0, row->count[is], &ret->changes);
		ret->total += ret->count[i];
	}
	return 0;
}

static int list_vanished(const struct procint *before, const struct procint *after,
			 struct procint_diff *d)
{
	d->vanished = calloc(before->nr_rows + 1, sizeof(const struct procint_row *));
	if (!d->vanished)
		return -ENOMEM;
	for (size_t i = 0; i < before->nr_rows; i++)
		if (!find(after, &before->rows[i]))
			d->vanished[d->nr_vanished++] = &before->rows[i];
	return 0;
}

int procint_subtract(const struct procint *before, const struct procint *after,
		     struct procint_diff *ret, struct err *e)
{
	_cleanup_(procint_diff_release) struct procint_diff d = {};
	int r = common_cpus(before, after, &d);

	if (r == 0)
		r = list_vanished(before, after, &d);
	d.rows = calloc(after->nr_rows ? after->nr_rows : 1, sizeof(*d.rows));
	if (!d.rows)
		r = -ENOMEM;
	for (; r == 0 && d.nr_rows < after->nr_rows; d.nr_rows++) {
		d.rows[d.nr_rows].row = &after->rows[d.nr_rows];
		r = subtract_row(before, after, &d, &d.rows[d.nr_rows]);
	}
	if (r < 0)
		return err_nomem(e, "interrupt counters");
	*ret = d;
	d = (struct procint_diff){};
	return 0;
}

void procint_diff_release(struct procint_diff *d)
{
	for (size_t i = 0; i < d->nr_rows; i++)
		free(d->rows[i].count);
	free(d->rows);
	free(d->cpus);
	free((void *)d->vanished);
	*d = (struct procint_diff){};
}
