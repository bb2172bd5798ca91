// SPDX-License-Identifier: GPL-3.0-or-later
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "report/format.h"
#include "report/model.h"
#include "report/page.h"
#include "report/svg.h"
#include "sample/hist.h"

/* Points that all curves of a figure share: what a screen can show and a page can weigh. */
#define FIGURE_POINTS 12000
#define CURVE_POINTS_MAX 400
#define CURVE_POINTS_MIN 24
/* Columns of a histogram per decade: a bin is a fifth wider than the one before. */
#define BINS_PER_DECADE 12

/*
 * All figures have one width, so that the page can give their text one size.  The margins hold the
 * text where the page is narrowest and the text, beside the figure, largest.
 */
static struct svg figure(struct buf *out)
{
	return (struct svg){ .out = out,
			     .width = 560,
			     .height = 340,
			     .left = 66,
			     .right = 18,
			     .top = 38,
			     .bottom = 52 };
}

/* ---- the verdicts against their margins ---- */

#define ROW_HEIGHT 82.0
/* Of the row's strip that holds the interval, from its top. */
#define STRIP_TOP 50.0
#define STRIP_HEIGHT 28.0
/* Up to so many margins the axis is linear; beyond, it is asinh(x): about linear inside the margin
 * and logarithmic outside. */
#define LINEAR_REACH 8.0
/* Between two ticks, so that their texts do not meet where they are largest. */
#define TICK_GAP 44.0
/* Characters of a name beside the longest word where the text is largest (page_style). */
#define NAME_MAX_CHARS 41

/* One verdict's values in multiples of its margin, signed so that more is better. */
struct forest_row {
	double low, mid, high;
	bool shown;   /* has a place on an axis of margins */
	bool bounded; /* has both ends */
};

static struct forest_row forest_row(const struct report *rep, const struct verdict *v)
{
	const struct plan_metric *m = &rep->plan->metrics[v->query];
	double unit = m->margin > 0 ? m->margin : 0.01;
	struct forest_row row = { v->low / unit, v->change / unit, v->high / unit,
				  v->word != VERDICT_VETOED && isfinite(v->change) &&
					  v->scale != VERDICT_SCALE_UNIT,
				  isfinite(v->low) && isfinite(v->high) };

	if (m->better == BETTER_LOWER)
		row = (struct forest_row){ -row.high, -row.mid, -row.low, row.shown, row.bounded };
	return row;
}

/* The end of the axis, beyond every estimate and every interval that has ends. */
static double forest_reach(const struct report *rep)
{
	double reach = 2;

	for (size_t i = 0; i < rep->nr_verdicts; i++) {
		struct forest_row row = forest_row(rep, &rep->verdicts[i]);

		if (row.shown)
			reach = fmax(reach, fabs(row.mid));
		if (row.bounded && row.shown)
			reach = fmax(reach, fmax(fabs(row.low), fabs(row.high)));
	}
	return ceil(reach) <= LINEAR_REACH ? ceil(reach) : fmin(reach * 1.1, DBL_MAX);
}

/* Where @v margins lie between the ends -1 and 1 of an axis that goes to @reach. */
static double forest_place(double reach, double v)
{
	return reach <= LINEAR_REACH ? v / reach : asinh(v) / asinh(reach);
}

/* The end of an interval: a bar, or an arrow where there is none. */
static void whisker(struct svg *s, double px, double py, bool open, int way)
{
	if (open)
		buf_printf(s->out,
			   "<path class=\"whisker\" d=\"M%.1f %.1fl%d -5M%.1f %.1fl%d 5\"/>", px,
			   py, -6 * way, px, py, -6 * way);
	else
		buf_printf(s->out, "<path class=\"whisker\" d=\"M%.1f %.1fv12\"/>", px, py - 6);
}

/* The metric and its margin, cut where it would meet the word at the line's end. */
static void forest_label(const struct report *rep, const struct verdict *v, struct buf *out)
{
	const struct plan_metric *m = &rep->plan->metrics[v->query];
	_cleanup_(buf_release) struct buf name = {}, clean = {};
	char margin[32] = "";
	size_t most;

	if (v->scale != VERDICT_SCALE_UNIT)
		snprintf(margin, sizeof(margin), " \xc2\xb1%.3g%%", 100 * m->margin);
	buf_puts(&name, m->text);
	if (rep->plan->nr_variants > 2)
		buf_printf(&name, ", %s", model_variant(rep, v->variant));
	text_printable(&clean, buf_str(&name), name.len);
	most = NAME_MAX_CHARS - strlen(margin);
	format_cut(out, buf_str(&clean), most);
	buf_puts(out, margin);
	out->failed |= clean.failed;
}

/* Below the name: the change with its own sign, and which way is better. */
static void forest_change(const struct report *rep, struct svg *s, const struct verdict *v,
			  double py)
{
	bool lower = rep->plan->metrics[v->query].better == BETTER_LOWER;
	_cleanup_(buf_release) struct buf b = {};

	if (v->word == VERDICT_VETOED || !isfinite(v->change)) {
		buf_puts(&b, "not judged");
	} else {
		format_effect(&b, rep->plan->metrics[v->query].unit, v);
		buf_puts(&b, " ");
		format_interval(&b, rep->plan->metrics[v->query].unit, v);
	}
	svg_text(s, "tick", "start", 4, py, buf_str(&b));
	svg_text(s, "tick", "end", s->width - 4, py,
		 lower ? "lower is better" : "higher is better");
}

/* The shaded margin of the row and, on it, the estimate with its interval. */
static void forest_strip(struct svg *s, const struct verdict *v, const struct forest_row *row,
			 double reach, double top)
{
	double lo = svg_x(s, forest_place(reach, -1)), hi = svg_x(s, forest_place(reach, 1));
	double x0 = row->bounded ? svg_x(s, forest_place(reach, row->low)) : s->left;
	double x1 = row->bounded ? svg_x(s, forest_place(reach, row->high)) : s->width - s->right;
	double py = top + STRIP_HEIGHT / 2;

	buf_printf(s->out,
		   "<rect class=\"margin\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>"
		   "<path class=\"zero\" d=\"M%.1f %.1fv%.1f\"/>",
		   lo, top, hi - lo, STRIP_HEIGHT, svg_x(s, 0), top, STRIP_HEIGHT);
	buf_printf(s->out, "<path class=\"whisker\" d=\"M%.1f %.1fH%.1f\"/>", x0, py, x1);
	whisker(s, x0, py, !row->bounded, -1);
	whisker(s, x1, py, !row->bounded, 1);
	svg_marker(s, v->variant, svg_x(s, forest_place(reach, row->mid)), py, 6);
}

static void forest_draw(const struct report *rep, struct svg *s, const struct verdict *v,
			double reach, double y)
{
	_cleanup_(buf_release) struct buf label = {};
	struct forest_row row = forest_row(rep, v);

	if (v != rep->verdicts)
		buf_printf(s->out, "<path class=\"grid\" d=\"M4 %.1fH%.1f\"/>", y - 1,
			   s->width - 4);
	forest_label(rep, v, &label);
	svg_text(s, "name", "start", 4, y + 20, buf_str(&label));
	svg_text(s, "name", "end", s->width - 4, y + 20, verdict_word(v->word));
	forest_change(rep, s, v, y + 41);
	if (row.shown)
		forest_strip(s, v, &row, reach, y + STRIP_TOP);
	else if (v->scale == VERDICT_SCALE_UNIT)
		svg_text(s, "tick", "start", 4, y + STRIP_TOP + 19, "no margin applies");
	buf_putc(s->out, '\n');
}

/* The tick @v margins away from zero, to both sides. */
static void forest_tick(struct svg *s, double reach, double v)
{
	double py = s->height - s->bottom;
	char text[32];

	snprintf(text, sizeof(text), "%g\xc3\x97", v);
	for (int way = -1; way <= 1; way += 2) {
		double px = svg_x(s, way * forest_place(reach, v));

		buf_printf(s->out, "<path class=\"axis\" d=\"M%.1f %.1fv5\"/>", px, py);
		svg_text(s, "tick", "middle", px, py + 20, text);
	}
}

static void forest_axis(struct svg *s, double reach)
{
	double half = (s->width - s->left - s->right) / 2, py = s->height - s->bottom, drawn = 0;

	svg_text(s, "tick", "start", 4, s->top - 9, "\xe2\x86\x90 worse");
	svg_text(s, "tick", "middle", svg_x(s, 0), s->top - 9, "inside the margin");
	svg_text(s, "tick", "end", s->width - 4, s->top - 9, "better \xe2\x86\x92");
	buf_printf(s->out, "<path class=\"axis\" d=\"M%.1f %.1fH%.1fM%.1f %.1fv5\"/>", s->left, py,
		   s->width - s->right, svg_x(s, 0), py);
	svg_text(s, "tick", "middle", svg_x(s, 0), py + 20, "0");
	/* 1, 2, 3 ... or 1, 3, 10, 30 ... as far as there is room */
	for (unsigned int i = 0;; i++) {
		double v = reach <= LINEAR_REACH ? i + 1.0
						 : (i % 2 ? 3 : 1) * pow(10, floor(i / 2.0));
		double at = half * forest_place(reach, v);

		if (!(v <= reach))
			break;
		if (at - drawn < (drawn > 0 ? TICK_GAP : TICK_GAP / 2))
			continue;
		forest_tick(s, reach, v);
		drawn = at;
	}
	svg_text(s, "label", "middle", s->width / 2, s->height - 7, s->x.label);
}

void figure_forest(const struct report *rep, struct buf *out)
{
	struct svg s = figure(out);
	double reach = forest_reach(rep);

	s.left = s.right = 22;
	s.height = s.top + s.bottom + ROW_HEIGHT * (double)rep->nr_verdicts + 6;
	s.x = (struct svg_axis){ -1, 1, false, "change in multiples of the margin" };
	s.y = (struct svg_axis){ 0, 1, false, NULL };
	svg_open(&s, "Intervals of the verdicts against the margin",
		 "For each metric the estimated change and its interval, in multiples of the "
		 "metric's margin. An interval inside the shaded band means same; one wholly to "
		 "the right of zero better, to the left worse.");
	forest_axis(&s, reach);
	for (size_t i = 0; i < rep->nr_verdicts; i++)
		forest_draw(rep, &s, &rep->verdicts[i], reach, s.top + ROW_HEIGHT * (double)i);
	svg_close(&s);
}

/* ---- over time ---- */

/*
 * At most about @most of the @nr points: in every stretch the smallest and the largest stay, in
 * their order, so that no dip and no peak is lost.
 */
static size_t thin(const struct svg_point *in, size_t nr, size_t most, struct svg_point *out)
{
	size_t stretches = most / 2, n = 0;

	if (nr <= most) {
		memcpy(out, in, nr * sizeof(*in));
		return nr;
	}
	for (size_t k = 0; k < stretches; k++) {
		size_t from = k * nr / stretches, to = (k + 1) * nr / stretches;
		size_t lo = from, hi = from;

		for (size_t i = from; i < to; i++) {
			if (in[i].y < in[lo].y)
				lo = i;
			if (in[i].y > in[hi].y)
				hi = i;
		}
		out[n++] = in[lo < hi ? lo : hi];
		if (lo != hi)
			out[n++] = in[lo < hi ? hi : lo];
	}
	return n;
}

/* What divides a value into what the axis says, and the axis' word for it. */
static double scale_of(const struct over_time *o, double most, char *label, size_t size)
{
	static const struct {
		double factor;
		const char *prefix;
	} prefixes[] = { { 1e9, "G" }, { 1e6, "M" }, { 1e3, "k" }, { 1, "" } };
	size_t i = 0;

	if (strcmp(o->unit, "ns") == 0) {
		snprintf(label, size, "%s [us]", o->metric);
		return (double)NS_PER_US;
	}
	while (most < prefixes[i].factor && i + 1 < ARRAY_SIZE(prefixes))
		i++;
	/* "k/s", not "k1/s" */
	snprintf(label, size, "%s [%s%s]", o->metric, prefixes[i].prefix,
		 o->unit + (*prefixes[i].prefix && strncmp(o->unit, "1/", 2) == 0));
	return prefixes[i].factor;
}

struct extent {
	double x0, x1, y0, y1;
};

static struct extent extent_of(const struct report *rep, const struct over_time *o)
{
	struct extent m = { (double)INFINITY, (double)-INFINITY, (double)INFINITY,
			    (double)-INFINITY };

	for (size_t i = 0; i < o->nr; i++) {
		/* the whole window, whenever its first and last point came */
		m.x0 = fmin(m.x0, 0);
		m.x1 = fmax(m.x1, (double)rep->trials[o->v[i].trial].window_ns / (double)NS_PER_S);
		for (size_t k = 0; k < o->v[i].nr; k++) {
			const struct point *p = &o->v[i].points[k];

			m.x0 = fmin(m.x0, (double)p->t_ns / (double)NS_PER_S);
			m.x1 = fmax(m.x1, (double)p->t_ns / (double)NS_PER_S);
			/* the ramp of the warm-up would press the window into a corner */
			if (!isfinite(p->v) || p->t_ns < 0)
				continue;
			m.y0 = fmin(m.y0, p->v);
			m.y1 = fmax(m.y1, p->v);
		}
	}
	return m;
}

static void curve_draw(const struct report *rep, struct svg *s, const struct curve *c, double scale,
		       size_t most)
{
	struct svg_point *all = calloc(c->nr, sizeof(*all)), *few = calloc(c->nr, sizeof(*few));
	const struct trial_info *t = &rep->trials[c->trial];
	char class[24];
	size_t nr = 0;

	if (!all || !few) {
		s->out->failed = true;
		free(all);
		free(few);
		return;
	}
	for (size_t i = 0; i < c->nr; i++) {
		double v = c->points[i].v / scale;

		/* what the axis leaves out of the warm-up is not drawn along its edge */
		if (isfinite(v) && (c->points[i].t_ns >= 0 || (v >= s->y.lo && v <= s->y.hi)))
			all[nr++] =
				(struct svg_point){ (double)c->points[i].t_ns / (double)NS_PER_S,
						    v };
	}
	nr = thin(all, nr, most, few);
	snprintf(class, sizeof(class), "thin v%u%s", t->variant % SVG_STYLES,
		 t->state == TRIAL_OK ? "" : " lost");
	svg_line(s, class, few, nr, false);
	free(all);
	free(few);
}

/* Maxima are single moments: dots, not a line between them. */
static void dots_draw(const struct report *rep, struct svg *s, const struct over_time *o,
		      double scale)
{
	size_t all = 0, drawn = 0, seen = 0;

	for (size_t i = 0; i < o->nr; i++)
		all += o->v[i].nr;
	for (size_t i = 0; i < o->nr; i++) {
		unsigned int style = rep->trials[o->v[i].trial].variant;

		for (size_t k = 0; k < o->v[i].nr; k++, seen++) {
			const struct point *p = &o->v[i].points[k];

			/* every so many-th when there are too many; the largest are in the tail */
			if (!isfinite(p->v) || (all > 2000 && seen * 2000 / all < drawn))
				continue;
			drawn++;
			svg_marker(s, style, svg_x(s, (double)p->t_ns / (double)NS_PER_S),
				   svg_y(s, p->v / scale), 3.2);
		}
	}
}

static void over_time_title(const struct report *rep, const struct over_time *o, struct buf *out)
{
	buf_printf(out, "%s%s%s%s over time, scenario %s", o->metric, *o->labels ? " [" : "",
		   o->labels, *o->labels ? "]" : "", model_scenario(rep, o->scenario));
}

void figure_over_time(const struct report *rep, size_t index, struct buf *out)
{
	const struct over_time *o = &rep->over_time.v[index];
	_cleanup_(buf_release) struct buf title = {};
	struct extent m = extent_of(rep, o);
	struct svg s = figure(out);
	bool dots = strcmp(o->unit, "ns") == 0;
	size_t most = FIGURE_POINTS / o->nr;
	char label[96];
	double scale = scale_of(o, m.y1, label, sizeof(label));

	if (m.y1 < m.y0)
		return;
	most = most > CURVE_POINTS_MAX	 ? CURVE_POINTS_MAX
	       : most < CURVE_POINTS_MIN ? CURVE_POINTS_MIN
					 : most;
	s.x = (struct svg_axis){ m.x0, m.x1 > m.x0 ? m.x1 : m.x0 + 1, false,
				 "time since the window opened [s]" };
	s.y = (struct svg_axis){ m.y0 / scale, m.y1 / scale, dots && m.y0 > 0, label };
	/* heights that can be compared with each other; a marker on the very edge reads badly */
	if (!s.y.log)
		s.y.lo = fmin(s.y.lo, 0);
	else
		s.y = (struct svg_axis){ s.y.lo / 1.3, s.y.hi * 1.3, true, label };
	svg_nice(&s.y);
	over_time_title(rep, o, &title);
	svg_open(&s, buf_str(&title),
		 dots ? "Each marker is the worst value of one second of one trial."
		      : "Each thin line is one trial, in the colour and dash of its variant.");
	if (s.x.lo < 0)
		svg_band(&s, "warmup", s.x.lo, 0);
	svg_axes(&s);
	if (s.x.lo < 0)
		svg_text(&s, "tick", "start", s.left + 4, s.height - s.bottom - 8, "warm-up");
	if (dots)
		dots_draw(rep, &s, o, scale);
	for (size_t i = 0; !dots && i < o->nr; i++)
		curve_draw(rep, &s, &o->v[i], scale, most);
	svg_close(&s);
}

/* ---- latency ---- */

static double us(uint64_t ns)
{
	return (double)ns / (double)NS_PER_US;
}

/* Axis over all variants of @d, and the largest number of samples; 0 when there are none. */
static uint64_t dist_range(const struct report *rep, const struct dist *d, struct svg_axis *x)
{
	uint64_t lo = UINT64_MAX, hi = 0, n = 0;

	for (size_t i = 0; i < rep->plan->nr_variants; i++) {
		const struct hist *h = d->hist[i];

		if (!h->total)
			continue;
		lo = h->min < lo ? h->min : lo;
		hi = h->max > hi ? h->max : hi;
		n = h->total > n ? h->total : n;
	}
	/* 0 has no logarithm */
	x->lo = us(lo ? lo : 1);
	x->hi = us(hi);
	x->log = true;
	x->label = "latency [us]";
	svg_nice(x);
	return n;
}

static size_t bin_of(const struct svg_axis *x, double v, size_t bins)
{
	double t = v > x->lo ? log10(v / x->lo) * BINS_PER_DECADE : 0;

	return t >= (double)bins ? bins - 1 : (size_t)t;
}

static void histogram_line(struct svg *s, const struct hist *h, unsigned int variant, size_t bins)
{
	_cleanup_(buf_release) struct buf mem = {};
	uint64_t *count = calloc(bins, sizeof(*count));
	char class[8];

	if (!count) {
		s->out->failed = true;
		return;
	}
	for (unsigned int i = 0; i < HIST_BUCKETS; i++)
		if (h->count[i])
			count[bin_of(&s->x, us(hist_lower(i)) / 2 + us(hist_upper(i)) / 2, bins)] +=
				h->count[i];
	for (size_t i = 0; i <= bins; i++) {
		struct svg_point p = { s->x.lo * pow(10, (double)i / BINS_PER_DECADE),
				       i < bins ? (double)count[i] / (double)h->total : 0 };

		buf_add(&mem, &p, sizeof(p));
	}
	free(count);
	snprintf(class, sizeof(class), "v%u", variant % SVG_STYLES);
	s->out->failed |= mem.failed;
	/* a step goes to the next point's x first: the bin's value then holds over its width */
	svg_line(s, class, (const struct svg_point *)(const void *)mem.data,
		 mem.len / sizeof(struct svg_point), true);
}

static void dist_title(const struct report *rep, const struct dist *d, const char *what,
		       struct buf *out)
{
	buf_printf(out, "%s of %s%s%s%s, scenario %s", what, d->metric, *d->labels ? " [" : "",
		   d->labels, *d->labels ? "]" : "", model_scenario(rep, d->scenario));
}

void figure_histogram(const struct report *rep, size_t index, struct buf *out)
{
	const struct dist *d = &rep->dists.v[index];
	_cleanup_(buf_release) struct buf title = {};
	struct svg s = figure(out);
	uint64_t n = dist_range(rep, d, &s.x);
	size_t bins;

	if (n == 0)
		return;
	bins = (size_t)ceil(log10(s.x.hi / s.x.lo) * BINS_PER_DECADE + 1e-9);
	s.x.hi = s.x.lo * pow(10, (double)bins / BINS_PER_DECADE);
	s.y = (struct svg_axis){ 0.5 / (double)n, 1, true, "share of samples per bin" };
	dist_title(rep, d, "Histogram", &title);
	svg_open(&s, buf_str(&title),
		 "Share of all samples in each of twelve bins per decade, both axes logarithmic, "
		 "one outline per variant.");
	svg_axes(&s);
	for (unsigned int i = 0; i < rep->plan->nr_variants; i++)
		if (d->hist[i]->total)
			histogram_line(&s, d->hist[i], i, bins);
	svg_close(&s);
}

/* The fraction at or above each bucket's lower edge; steps too small to see are joined. */
static void tail_line(struct svg *s, const struct hist *h, unsigned int variant)
{
	_cleanup_(buf_release) struct buf mem = {};
	uint64_t left = h->total;
	double drawn_x = -10, drawn_y = -10;
	struct svg_point last = { us(h->max ? h->max : 1), 1 / (double)h->total };
	char class[8];

	for (unsigned int i = 0; i < HIST_BUCKETS && left; i++) {
		uint64_t at = hist_lower(i) < h->min ? h->min : hist_lower(i);
		struct svg_point p = { us(at ? at : 1), (double)left / (double)h->total };
		double px = svg_x(s, p.x), py = svg_y(s, p.y);

		if (!h->count[i])
			continue;
		left -= h->count[i];
		if (fabs(px - drawn_x) < 1 && fabs(py - drawn_y) < 1)
			continue;
		drawn_x = px;
		drawn_y = py;
		buf_add(&mem, &p, sizeof(p));
	}
	buf_add(&mem, &last, sizeof(last));
	snprintf(class, sizeof(class), "v%u", variant % SVG_STYLES);
	s->out->failed |= mem.failed;
	svg_line(s, class, (const struct svg_point *)(const void *)mem.data,
		 mem.len / sizeof(struct svg_point), false);
	svg_marker(s, variant, svg_x(s, last.x), svg_y(s, last.y), 4);
}

void figure_tail(const struct report *rep, size_t index, struct buf *out)
{
	const struct dist *d = &rep->dists.v[index];
	_cleanup_(buf_release) struct buf title = {};
	struct svg s = figure(out);
	uint64_t n = dist_range(rep, d, &s.x);

	if (n == 0)
		return;
	s.x.label = "x: latency [us]";
	s.y = (struct svg_axis){ 0.7 / (double)n, 1, true, "fraction at or above x" };
	dist_title(rep, d, "Tail", &title);
	svg_open(&s, buf_str(&title),
		 "Fraction of samples at or above each latency, both axes logarithmic, one curve "
		 "per variant; the marker at its end is the maximum.");
	svg_axes(&s);
	for (unsigned int i = 0; i < rep->plan->nr_variants; i++)
		if (d->hist[i]->total)
			tail_line(&s, d->hist[i], i);
	svg_close(&s);
}
