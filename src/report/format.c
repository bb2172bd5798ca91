// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "report/model.h"
#include "report/queries.h"

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

/* "+1.3"; what rounds to zero has no sign. */
static void signed_fixed(struct buf *out, int decimals, double v)
{
	char text[400];

	snprintf(text, sizeof(text), "%+.*f", decimals, v);
	buf_puts(out, text + (strpbrk(text, "123456789") ? 0 : 1));
}

void format_change(struct buf *out, double ratio, double width)
{
	if (!isfinite(ratio)) {
		buf_puts(out, "-");
		return;
	}
	signed_fixed(out, isfinite(width) ? decimals_for(width) : 1, 100 * ratio);
	buf_putc(out, '%');
}

/* How differences in a metric's unit are printed: divided, and what follows them. */
struct measure {
	double divisor;
	char suffix[48];
};

static struct measure measure_of(const char *unit, double most)
{
	static const struct {
		double factor;
		const char *prefix;
	} prefixes[] = { { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 1e3, "k" }, { 1, "" } };
	struct measure m = { .divisor = 1 };
	size_t i = 0;

	if (strcmp(unit, "ns") == 0)
		return (struct measure){ (double)NS_PER_US, " us" };
	/* "%" alone would read as relative */
	if (strcmp(unit, "ratio") == 0)
		return (struct measure){ 0.01, "% points" };
	if (strcmp(unit, "count") == 0)
		return m;
	if (strcmp(unit, "1/s") == 0)
		return (struct measure){ 1, " /s" };
	while (fabs(most) < prefixes[i].factor && i + 1 < ARRAY_SIZE(prefixes))
		i++;
	m.divisor = prefixes[i].factor;
	snprintf(m.suffix, sizeof(m.suffix), " %s%s", prefixes[i].prefix,
		 strcmp(unit, "byte") == 0 ? "B" : unit);
	return m;
}

/* A difference with its sign; whole counts without decimals. */
static void signed_digits(struct buf *out, double v)
{
	if (v > 0)
		buf_putc(out, '+');
	if (v == floor(v) && fabs(v) < 1000)
		buf_printf(out, "%.0f", v + 0.0);
	else
		three_digits(out, v);
}

/* Without a mark on what the percent are of. */
static void plain_effect(struct buf *out, const char *unit, const struct verdict *v, double change)
{
	struct measure m;

	if (v->scale != VERDICT_SCALE_UNIT || !isfinite(change)) {
		format_change(out, change, v->high - v->low);
		return;
	}
	m = measure_of(unit, change);
	signed_digits(out, change / m.divisor);
	buf_puts(out, m.suffix);
}

void format_effect(struct buf *out, const char *unit, const struct verdict *v)
{
	if (v->word == VERDICT_VETOED || !isfinite(v->change)) {
		buf_putc(out, '-');
		return;
	}
	plain_effect(out, unit, v, v->change);
	if (v->scale == VERDICT_SCALE_MEDIAN || v->scale == VERDICT_SCALE_MEAN)
		buf_putc(out, '*');
}

void format_interval(struct buf *out, const char *unit, const struct verdict *v)
{
	int d = decimals_for(v->high - v->low);
	struct measure m;

	if (!isfinite(v->low) || !isfinite(v->high)) {
		buf_puts(out, "no interval");
		return;
	}
	if (v->scale != VERDICT_SCALE_UNIT) {
		buf_putc(out, '[');
		signed_fixed(out, d, 100 * v->low);
		buf_puts(out, ", ");
		signed_fixed(out, d, 100 * v->high);
		buf_puts(out, "]%");
		return;
	}
	m = measure_of(unit, fmax(fabs(v->low), fabs(v->high)));
	buf_putc(out, '[');
	signed_digits(out, v->low / m.divisor);
	buf_puts(out, ", ");
	signed_digits(out, v->high / m.divisor);
	buf_printf(out, "]%s", m.suffix);
}

static bool is_on_scale(const struct verdict *v, enum verdict_scale scale, unsigned int variant)
{
	return v->scale == scale && v->word != VERDICT_VETOED && isfinite(v->change) &&
	       (variant == 0 || v->variant == variant);
}

/* The metrics on @scale, each once; returns how many. */
static size_t scale_metrics(struct buf *out, const struct report *rep, enum verdict_scale scale,
			    unsigned int variant)
{
	size_t n = 0;

	for (size_t i = 0; i < rep->nr_verdicts; i++) {
		const struct verdict *v = &rep->verdicts[i];
		bool again = false;

		for (size_t k = 0; k < i && !again; k++)
			again = rep->verdicts[k].query == v->query &&
				is_on_scale(&rep->verdicts[k], scale, variant);
		if (again || !is_on_scale(v, scale, variant))
			continue;
		buf_printf(out, "%s%s", n++ ? ", " : "", rep->plan->metrics[v->query].text);
	}
	return n;
}

void format_scale(struct buf *out, const struct report *rep, enum verdict_scale scale,
		  unsigned int variant)
{
	_cleanup_(buf_release) struct buf names = {};
	const char *base = model_variant(rep, 0);

	if (scale_metrics(&names, rep, scale, variant) == 0)
		return;
	if (scale == VERDICT_SCALE_MEAN)
		buf_printf(
			out,
			"* %s: rates and counts, which may be 0: means of the trials, and the change "
			"is the difference in percent of the mean with \"%s\".",
			buf_str(&names), base);
	else if (scale == VERDICT_SCALE_RATIO)
		buf_puts(out, "change: Hodges-Lehmann estimate of the ratios within blocks, not "
			      "the ratio of the two medians.");
	else if (scale == VERDICT_SCALE_MEDIAN)
		buf_printf(
			out,
			"* %s: some values are zero or negative, so the change is the difference in "
			"percent of the median with \"%s\".",
			buf_str(&names), base);
	else
		buf_printf(
			out,
			"%s: with \"%s\" it is 0, so the change is a plain difference, to which no "
			"margin applies.",
			buf_str(&names), base);
	out->failed |= names.failed;
}

const char *format_centre(const struct report *rep, unsigned int variant)
{
	size_t rates = 0, others = 0;

	for (size_t i = 0; i < rep->nr_verdicts; i++) {
		const struct verdict *v = &rep->verdicts[i];

		if (variant && v->variant != variant)
			continue;
		rates += v->kind == METRIC_RATE;
		others += v->kind != METRIC_RATE;
	}
	if (!rates)
		return "medians";
	return others ? "medians, of rates and counts means" : "means";
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

void format_blocks(struct buf *out, const struct report *rep)
{
	const struct plan *p = rep->plan;

	if (!plan_is_sequential(p)) {
		format_count(out, p->blocks, "block");
		return;
	}
	buf_printf(out, "%u of at most %u blocks (looks after ",
		   queries_blocks(p, rep->trials, rep->nr_trials), p->blocks);
	for (size_t i = 0; i < p->nr_looks; i++)
		buf_printf(out, "%s%u", i ? ", " : "", p->looks[i]);
	buf_putc(out, ')');
}

void format_trials(struct buf *out, const struct report *rep, const size_t *trials, size_t nr)
{
	const size_t most = 8;
	size_t i = 0;

	buf_puts(out, nr == 1 ? "trial " : "trials ");
	for (size_t shown = 0; i < nr && shown < most; shown++) {
		unsigned int first = rep->trials[trials[i]].position + 1, last = first;

		while (++i < nr && rep->trials[trials[i]].position == last)
			last++;
		buf_printf(out, "%s%u", shown ? ", " : "", first);
		if (last > first)
			buf_printf(out, "%s%u", last == first + 1 ? ", " : "-", last);
	}
	if (i < nr)
		buf_printf(out, " and %zu more", nr - i);
}

static void level(struct buf *out, const struct verdict *v)
{
	buf_printf(out, "%.3g%%", 100 * (1 - v->alpha));
}

/* "95% interval [+1.30, +1.88]%" */
static void level_interval(struct buf *out, const struct report *rep, const struct verdict *v)
{
	const char *unit = rep->plan->metrics[v->query].unit;

	if (isfinite(v->low) && isfinite(v->high)) {
		level(out, v);
		buf_puts(out, v->looks ? " repeated interval " : " interval ");
	}
	format_interval(out, unit, v);
	if (isfinite(v->low) && isfinite(v->high))
		return;
	buf_puts(out, ": ");
	format_count(out, v->blocks, "pair");
	buf_puts(out, v->blocks == 1 ? " is too few for " : " are too few for ");
	level(out, v);
}

/* "12 blocks", "12 blocks, look 2 of 4" */
static void count_blocks(struct buf *out, const struct verdict *v)
{
	format_count(out, v->blocks, "block");
	if (v->looks && v->look)
		buf_printf(out, ", look %zu of %zu", v->look, v->looks);
}

/* " of the median there" */
static const char *of_what(enum verdict_scale scale)
{
	if (scale == VERDICT_SCALE_MEDIAN)
		return " of the median there";
	return scale == VERDICT_SCALE_MEAN ? " of the mean there" : "";
}

static void ergo_change(struct buf *out, const struct report *rep, const struct verdict *v)
{
	_cleanup_(buf_release) struct buf change = {};
	const char *way = v->change < 0 ? "lower" : "higher";
	const char *base = model_variant(rep, 0), *size;

	plain_effect(&change, rep->plan->metrics[v->query].unit, v, fabs(v->change));
	/* "+1.6 % higher" says it twice */
	size = buf_str(&change) + (*buf_str(&change) == '+');
	if (v->scale == VERDICT_SCALE_RATIO)
		buf_printf(out, "%s %s than with \"%s\" (", size, way, base);
	else
		buf_printf(out, "%s than with \"%s\" by %s%s (", way, base, size,
			   of_what(v->scale));
	level_interval(out, rep, v);
	buf_puts(out, ", ");
	count_blocks(out, v);
	buf_printf(out, "): %s.", verdict_word(v->word));
	out->failed |= change.failed;
}

static void ergo_same(struct buf *out, const struct report *rep, const struct verdict *v)
{
	buf_printf(out, "the same as with \"%s\"", model_variant(rep, 0));
	if (v->scale != VERDICT_SCALE_UNIT)
		buf_printf(out, " within the margin of %.3g%%%s",
			   100 * rep->plan->metrics[v->query].margin, of_what(v->scale));
	buf_puts(out, " (");
	level_interval(out, rep, v);
	buf_puts(out, ", ");
	count_blocks(out, v);
	buf_puts(out, ").");
}

/* What would decide it: first of all the trials that the plan has still to come. */
static void ergo_more(struct buf *out, const struct report *rep, const struct verdict *v)
{
	if (model_is_partial(rep)) {
		buf_printf(out, "; %zu of %zu planned trials measured; irqlab run --resume goes on",
			   rep->nr_trials, model_planned(rep));
	} else if (v->futile) {
		buf_printf(out, "; not likely to be decided within the plan's %u blocks",
			   rep->plan->blocks);
	} else if (v->more_blocks) {
		buf_puts(out, "; about ");
		format_count(out, v->more_blocks, "more block");
		buf_puts(out, " may decide it");
	} else {
		buf_puts(out, "; it would take more blocks than is practical");
	}
}

static void ergo_undecided(struct buf *out, const struct report *rep, const struct verdict *v)
{
	buf_puts(out, "undecided after ");
	count_blocks(out, v);
	if (isfinite(v->change)) {
		buf_puts(out, ": measured ");
		plain_effect(out, rep->plan->metrics[v->query].unit, v, v->change);
		if (v->scale == VERDICT_SCALE_MEDIAN || v->scale == VERDICT_SCALE_MEAN)
			buf_printf(out, " of the %s with \"%s\"",
				   v->scale == VERDICT_SCALE_MEAN ? "mean" : "median",
				   model_variant(rep, 0));
		buf_puts(out, ", ");
		level_interval(out, rep, v);
	} else {
		buf_puts(out, ": no block gave a pair of values");
	}
	ergo_more(out, rep, v);
	buf_putc(out, '.');
}

static void ergo_vetoed(struct buf *out, const struct verdict *v)
{
	buf_printf(out, "not judged, %zu of ", v->lost);
	format_count(out, v->lost + v->blocks, "block");
	buf_printf(out, " lost: %s.", v->reason ? v->reason : "its trials were vetoed");
}

/* None in N samples still leaves room for 3/N; a maximum means nothing without its N. */
void format_samples(struct buf *out, const struct report *rep, const struct verdict *v)
{
	const double value[] = { v->baseline, v->value }, n[] = { v->n_baseline, v->n_value };
	const unsigned int variant[] = { 0, v->variant };

	if (v->kind == METRIC_MAXIMUM && n[0] > 0 && n[1] > 0 && v->blocks)
		buf_printf(out, " Each maximum is of N = %.0f (\"%s\": %.0f) samples a trial.",
			   n[0] / (double)v->blocks, model_variant(rep, v->variant),
			   n[1] / (double)v->blocks);
	for (int i = 0; i < 2 && v->kind == METRIC_RATE; i++) {
		if (!(value[i] == 0) || !(n[i] > 0))
			continue;
		buf_printf(out, " None in N = %.0f samples with \"%s\": at most ", n[i],
			   model_variant(rep, variant[i]));
		format_value(out, 3 / n[i], "ratio");
		buf_puts(out, " (3/N).");
	}
}

void format_ergo(struct buf *out, const struct report *rep, const struct verdict *v)
{
	const struct plan_metric *m = &rep->plan->metrics[v->query];

	buf_printf(out, "with \"%s\", %s is ", model_variant(rep, v->variant), m->text);
	switch (v->word) {
	case VERDICT_BETTER:
	case VERDICT_WORSE:
		ergo_change(out, rep, v);
		break;
	case VERDICT_SAME:
		ergo_same(out, rep, v);
		break;
	case VERDICT_UNDECIDED:
		ergo_undecided(out, rep, v);
		break;
	case VERDICT_VETOED:
		ergo_vetoed(out, v);
		break;
	}
	format_samples(out, rep, v);
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

void format_cut(struct buf *out, const char *text, size_t most)
{
	size_t columns;

	if (format_columns(text) <= most) {
		buf_puts(out, text);
		return;
	}
	buf_add(out, text, fitting(text, strlen(text), most > 3 ? most - 3 : 0, &columns));
	buf_puts(out, "...");
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
