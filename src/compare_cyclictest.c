// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "compare_parts.h"

/* Maxima at N that differ by more are not compared. */
#define N_TOLERANCE 0.01

struct threads {
	const struct cyclictest_thread *a, *b;
};

/* The chance that B's maximum is the smaller one if A and B do not differ (no ties). */
static double chance_smaller(const struct threads *t)
{
	return (double)t->a->cycles / ((double)t->a->cycles + (double)t->b->cycles);
}

static bool has_samples(const struct threads *t)
{
	return t->a->cycles > 0 && t->b->cycles > 0 && t->a->max >= 0 && t->b->max >= 0;
}

static bool is_comparable(const struct threads *t)
{
	int64_t a = t->a->cycles, b = t->b->cycles;

	return has_samples(t) && (double)llabs(a - b) <= N_TOLERANCE * (double)(a > b ? a : b);
}

static const char *word_of_maxima(const struct threads *t)
{
	if (!has_samples(t))
		return "no samples";
	return is_comparable(t) ? "undecided" : "refused: N differs";
}

/*
 * Walk the threads that both sides have, in ascending number; both lists are sorted.
 * Return: false at the end.
 */
static bool next_pair(const struct cyclictest_run *a, const struct cyclictest_run *b, size_t *i,
		      size_t *j, struct threads *ret)
{
	while (*i < a->nr && *j < b->nr) {
		int64_t ta = a->threads[*i].t, tb = b->threads[*j].t;

		if (ta == tb) {
			*ret = (struct threads){ &a->threads[(*i)++], &b->threads[(*j)++] };
			return true;
		}
		*(ta < tb ? i : j) += 1;
	}
	return false;
}

struct overview {
	size_t pairs;
	size_t refused; /* maxima at too different N */
	size_t comparable;
	size_t intervals;	  /* pairs whose intervals differ */
	struct threads different; /* the first of those */
	double chance_low, chance_high;
};

static struct overview look(const struct cyclictest_run *a, const struct cyclictest_run *b)
{
	struct overview o = { .chance_low = 1 };
	struct threads t;
	size_t i = 0, j = 0;

	while (next_pair(a, b, &i, &j, &t)) {
		o.pairs++;
		if (t.a->interval_us != t.b->interval_us && o.intervals++ == 0)
			o.different = t;
		if (has_samples(&t) && !is_comparable(&t))
			o.refused++;
		if (!is_comparable(&t))
			continue;
		o.comparable++;
		o.chance_low = fmin(o.chance_low, chance_smaller(&t));
		o.chance_high = fmax(o.chance_high, chance_smaller(&t));
	}
	return o;
}

/* ---- text */

/* "-" for what the text does not hold. */
static void put_number(struct buf *out, int width, int64_t v)
{
	if (v < 0)
		buf_printf(out, " %*s", width, "-");
	else
		buf_printf(out, " %*" PRId64, width, v);
}

static void put_line(struct buf *out, const char *side, const struct cyclictest_thread *t,
		     bool first)
{
	if (first)
		buf_printf(out, "  %4" PRId64, t->t);
	else
		buf_puts(out, "      ");
	buf_printf(out, "  %s  ", side);
	put_number(out, 4, t->prio);
	put_number(out, 7, t->interval_us);
	put_number(out, 7, t->min);
	put_number(out, 7, t->avg);
	put_number(out, 8, t->max);
	buf_printf(out, " of %" PRId64 "\n", t->cycles);
}

static void put_table(const struct cyclictest_run *a, const struct cyclictest_run *b,
		      struct buf *out)
{
	struct threads t;
	size_t i = 0, j = 0;

	buf_printf(out, "  %4s      %4s %7s %7s %7s %8s of N      [%s]\n", "T", "prio", "I [us]",
		   "min", "avg", "max", a->ns ? "ns" : "us");
	while (next_pair(a, b, &i, &j, &t)) {
		put_line(out, "A", t.a, true);
		put_line(out, "B", t.b, false);
		buf_printf(out, "        B-A %20s %+7" PRId64 " %8s %s\n", "", t.b->avg - t.a->avg,
			   "", word_of_maxima(&t));
	}
	buf_putc(out, '\n');
}

static void put_reasons(const struct overview *o, const char *unit, struct buf *out)
{
	if (o->comparable)
		compare_para(
			out,
			"Maxima: undecided. A maximum is one extreme of one run: if A and B did "
			"not differ, B's would still be the smaller one with probability 1/2 "
			"(%.4f to %.4f at these N, which are equal within 1 %%), so a single "
			"pair of maxima is no evidence. Six of six blocks would have to agree "
			"for a level of 5 %%.",
			o->chance_low, o->chance_high);
	if (o->refused)
		compare_para(
			out,
			"Maxima at N that differ by more than 1 %% are not compared: the larger "
			"N has more chances for an extreme. That is so for %zu of %zu "
			"thread(s).",
			o->refused, o->pairs);
	compare_para(out,
		     "Averages: the difference B-A is that of two figures which cyclictest cuts to "
		     "whole %s, so it is known to within +-1 %s; no verdict from one run per side.",
		     unit, unit);
	if (o->pairs > 1)
		compare_para(out,
			     "The threads of one run share its disturbances: %zu threads are "
			     "not %zu independent comparisons.",
			     o->pairs, o->pairs);
}

static void note_all(const struct cyclictest_run *a, const struct cyclictest_run *b,
		     const struct overview *o, struct buf *out,
		     void (*say)(struct buf *out, const char *fmt, ...))
{
	if (o->intervals)
		say(out,
		    "The interval differs (I:%" PRId64 " in A, I:%" PRId64 " in B for T:%" PRId64
		    "; %zu thread(s)): the wake-ups are not the same load.",
		    o->different.a->interval_us, o->different.b->interval_us, o->different.a->t,
		    o->intervals);
	if (a->nr > o->pairs || b->nr > o->pairs)
		say(out, "%zu thread(s) of A and %zu of B have no counterpart.", a->nr - o->pairs,
		    b->nr - o->pairs);
	for (int i = 0; i < 2; i++)
		if ((i ? b : a)->looks_ns)
			say(out,
			    "%s: values look like nanoseconds (cyclictest -N); the unit is not in "
			    "the text.",
			    i ? "B" : "A");
}

/* ---- JSON */

static void json_side(struct buf *out, const char *name, const struct cyclictest_thread *t)
{
	compare_json_comma(out);
	buf_printf(out, "\"%s\":{", name);
	compare_json_number(out, "n", (double)t->cycles);
	compare_json_number(out, "prio", (double)t->prio);
	compare_json_number(out, "interval_us", (double)t->interval_us);
	compare_json_number(out, "min", (double)t->min);
	compare_json_number(out, "avg", (double)t->avg);
	compare_json_number(out, "max", (double)t->max);
	buf_putc(out, '}');
}

static void put_json(const struct cyclictest_run *a, const struct cyclictest_run *b,
		     const struct overview *o, struct buf *out)
{
	struct threads t;
	size_t i = 0, j = 0;

	compare_json_text(out, "unit", a->ns ? "ns" : "us");
	buf_puts(out, ",\"threads\":[");
	while (next_pair(a, b, &i, &j, &t)) {
		compare_json_comma(out);
		buf_putc(out, '{');
		compare_json_number(out, "t", (double)t.a->t);
		json_side(out, "a", t.a);
		json_side(out, "b", t.b);
		compare_json_number(out, "avg_difference", (double)(t.b->avg - t.a->avg));
		compare_json_number(out, "avg_uncertainty", 1);
		compare_json_text(out, "max_verdict", word_of_maxima(&t));
		compare_json_number(out, "max_chance_smaller",
				    has_samples(&t) ? chance_smaller(&t) : (double)NAN);
		buf_putc(out, '}');
	}
	buf_puts(out, "],\"notes\":[");
	note_all(a, b, o, out, compare_json_note);
	buf_putc(out, ']');
}

int compare_cyclictest(const struct compare_pair *p, const struct compare_opts *opts,
		       struct buf *out, struct err *e)
{
	const struct cyclictest_run *a = import_cyclictest(p->a), *b = import_cyclictest(p->b);
	struct overview o = look(a, b);

	if (a->ns != b->ns)
		return err_set(e, -EINVAL, "one was run with -N (ns), the other without (us)");
	if (o.pairs == 0)
		return err_set(e, -EINVAL, "no thread number in common");
	if (opts->json) {
		put_json(a, b, &o, out);
		return 0;
	}
	put_table(a, b, out);
	put_reasons(&o, a->ns ? "ns" : "us", out);
	note_all(a, b, &o, out, compare_para);
	return 0;
}
