// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "report/model.h"

/* Three significant digits without an exponent: 0.0123, 1.23, 12.3, 123, 1235. */
static void three_digits(struct buf *out, double v)
{
	double a = fabs(v);
	int decimals = a == 0 || a >= 99.95 ? 0 : a >= 9.995 ? 1 : a >= 0.9995 ? 2 : 3;

	if (a > 0 && a < 0.0995)
		buf_printf(out, "%.3g", v);
	else
		buf_printf(out, "%.*f", decimals, v);
}

void format_value(struct buf *out, double v, const char *unit)
{
	if (!isfinite(v)) {
		buf_puts(out, "-");
	} else if (strcmp(unit, "ns") == 0) {
		three_digits(out, v / (double)NS_PER_US);
		buf_puts(out, " us");
	} else if (strcmp(unit, "ratio") == 0) {
		three_digits(out, 100 * v);
		buf_putc(out, '%');
	} else if (strcmp(unit, "count") == 0) {
		if (v == floor(v) && fabs(v) < 1e15)
			buf_printf(out, "%.0f", v);
		else
			three_digits(out, v);
	} else if (strcmp(unit, "1/s") == 0) {
		three_digits(out, v);
		buf_puts(out, " /s");
	} else {
		text_si(out, v, strcmp(unit, "byte") == 0 ? "B" : unit);
	}
}

static int decimals_for(double width)
{
	double percent = 100 * width;

	if (!isfinite(percent) || percent >= 20)
		return 0;
	return percent >= 2 ? 1 : 2;
}

void format_change(struct buf *out, double ratio, double width)
{
	if (!isfinite(ratio))
		buf_puts(out, "-");
	else
		buf_printf(out, "%+.*f%%", isfinite(width) ? decimals_for(width) : 1, 100 * ratio);
}

void format_interval(struct buf *out, const struct verdict *v)
{
	int d = decimals_for(v->high - v->low);

	if (!isfinite(v->low) || !isfinite(v->high))
		buf_puts(out, "no interval");
	else
		buf_printf(out, "[%+.*f, %+.*f]%%", d, 100 * v->low, d, 100 * v->high);
}

void format_wall(struct buf *out, uint64_t ns)
{
	time_t t = (time_t)(ns / NS_PER_S);
	struct tm tm;
	char text[40];

	if (ns && gmtime_r(&t, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &tm))
		buf_puts(out, text);
	else
		buf_puts(out, "-");
}

void format_count(struct buf *out, uint64_t n, const char *noun)
{
	buf_printf(out, "%" PRIu64 " %s%s", n, noun, n == 1 ? "" : "s");
}

void format_trials(struct buf *out, const struct report *rep, const size_t *trials, size_t nr)
{
	const size_t most = 8;

	buf_puts(out, nr == 1 ? "trial " : "trials ");
	for (size_t i = 0; i < nr && i < most; i++)
		buf_printf(out, "%s%u", i ? ", " : "", rep->trials[trials[i]].position + 1);
	if (nr > most)
		buf_printf(out, " and %zu more", nr - most);
}

static void level(struct buf *out, const struct verdict *v)
{
	buf_printf(out, "%.3g%%", 100 * (1 - v->alpha));
}

static void ergo_change(struct buf *out, const struct report *rep, const struct verdict *v)
{
	const char *base = model_variant(rep, 0);

	format_change(out, fabs(v->change), v->high - v->low);
	/* "+1.6 % higher" says it twice */
	buf_printf(out, " %s than with \"%s\" (", v->change < 0 ? "lower" : "higher", base);
	level(out, v);
	buf_puts(out, " interval ");
	format_interval(out, v);
	buf_puts(out, ", ");
	format_count(out, v->blocks, "block");
	buf_printf(out, "): %s.", verdict_word(v->word));
}

static void ergo_undecided(struct buf *out, const struct verdict *v)
{
	buf_puts(out, "undecided after ");
	format_count(out, v->blocks, "block");
	buf_puts(out, ": measured ");
	format_change(out, v->change, v->high - v->low);
	buf_puts(out, ", ");
	if (isfinite(v->low) && isfinite(v->high)) {
		level(out, v);
		buf_puts(out, " interval ");
	}
	format_interval(out, v);
	if (v->more_blocks) {
		buf_puts(out, "; about ");
		format_count(out, v->more_blocks, "more block");
		buf_puts(out, " may decide it");
	}
	buf_putc(out, '.');
}

static void ergo_vetoed(struct buf *out, const struct verdict *v)
{
	buf_printf(out, "not judged, %zu of ", v->lost);
	format_count(out, v->lost + v->blocks, "block");
	buf_printf(out, " lost: %s.", v->reason ? v->reason : "its trials were vetoed");
}

void format_ergo(struct buf *out, const struct report *rep, const struct verdict *v)
{
	_cleanup_(buf_release) struct buf change = {};
	const struct plan_metric *m = &rep->plan->metrics[v->query];

	buf_printf(out, "with \"%s\", %s is ", model_variant(rep, v->variant), m->text);
	switch (v->word) {
	case VERDICT_BETTER:
	case VERDICT_WORSE:
		ergo_change(&change, rep, v);
		buf_puts(out, buf_str(&change) + (*buf_str(&change) == '+'));
		break;
	case VERDICT_SAME:
		buf_printf(out, "the same as with \"%s\" within the margin of %.3g%% (",
			   model_variant(rep, 0), 100 * m->margin);
		level(out, v);
		buf_puts(out, " interval ");
		format_interval(out, v);
		buf_puts(out, ", ");
		format_count(out, v->blocks, "block");
		buf_puts(out, ").");
		break;
	case VERDICT_UNDECIDED:
		ergo_undecided(out, v);
		break;
	case VERDICT_VETOED:
		ergo_vetoed(out, v);
		break;
	}
}

void format_repeat(struct buf *out, const struct report *rep)
{
	buf_printf(out, "irqlab run %s   (seed %" PRIu64 ", %u blocks, irqlab %s)",
		   rep->run.plan_file && *rep->run.plan_file ? rep->run.plan_file : "PLAN",
		   rep->run.seed, rep->plan->blocks, rep->run.version);
}

/* Bytes of the character at @s (well-formed, as text_printable() leaves it), and its columns. */
static size_t character(const char *s, size_t *columns)
{
	unsigned char c = (unsigned char)*s;
	size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	size_t len = strnlen(s, n);

	/* from U+1100 on, too wide is the safe guess */
	*columns = n >= 3 && (c > 0xe1 || (c == 0xe1 && (unsigned char)s[1] >= 0x84)) ? 2 : 1;
	return len;
}

size_t format_columns(const char *text)
{
	size_t total = 0;

	while (*text) {
		size_t columns;

		text += character(text, &columns);
		total += columns;
	}
	return total;
}

/* Bytes of @text that fit into @room columns, at least one character; *@columns of them. */
static size_t fitting(const char *text, size_t len, size_t room, size_t *columns)
{
	size_t used = 0, at = 0;

	while (at < len) {
		size_t c;
		size_t n = character(text + at, &c);

		if (at && used + c > room)
			break;
		used += c;
		at += n;
	}
	*columns = used;
	return at;
}

static void new_line(struct buf *out, size_t indent, size_t *at)
{
	buf_printf(out, "\n%*s", (int)indent, "");
	*at = indent;
}

void format_wrap(struct buf *out, const char *first, size_t indent, const char *text)
{
	_cleanup_(buf_release) struct buf clean = {};
	size_t at = format_columns(first);
	bool fresh = true;
	const char *p;

	text_printable(&clean, text, strlen(text));
	buf_puts(out, first);
	for (p = buf_str(&clean); *p; p += strspn(p, " ")) {
		size_t len = strcspn(p, " ");
		size_t columns, take = fitting(p, len, SIZE_MAX, &columns);

		if (!fresh && at + 1 + columns > FORMAT_COLUMNS) {
			new_line(out, indent, &at);
			fresh = true;
		}
		if (!fresh) {
			buf_putc(out, ' ');
			at++;
		}
		/* a word longer than a line */
		while ((take = fitting(p, len, FORMAT_COLUMNS - at, &columns)) < len) {
			buf_add(out, p, take);
			new_line(out, indent, &at);
			p += take;
			len -= take;
		}
		buf_add(out, p, len);
		p += len;
		at += columns;
		fresh = false;
	}
	buf_putc(out, '\n');
}
