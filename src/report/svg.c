// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"

#define TICKS_MAX 32

void svg_escape(struct buf *out, const char *s)
{
	_cleanup_(buf_release) struct buf clean = {};

	text_printable(&clean, s, strlen(s));
	for (const char *p = buf_str(&clean); *p; p++) {
		if (*p == '<')
			buf_puts(out, "&lt;");
		else if (*p == '>')
			buf_puts(out, "&gt;");
		else if (*p == '&')
			buf_puts(out, "&amp;");
		else if (*p == '"')
			buf_puts(out, "&quot;");
		else if (*p == '\'')
			buf_puts(out, "&#39;");
		else
			buf_putc(out, *p);
	}
	out->failed |= clean.failed;
}

void svg_open(struct svg *s, const char *title, const char *desc)
{
	buf_printf(s->out, "<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"", s->width,
		   s->height);
	svg_escape(s->out, title);
	buf_puts(s->out, "\"><title>");
	svg_escape(s->out, title);
	buf_puts(s->out, "</title><desc>");
	svg_escape(s->out, desc);
	buf_puts(s->out, "</desc>\n");
}

void svg_close(struct svg *s)
{
	buf_puts(s->out, "</svg>\n");
}

/* 1, 2 or 5 times a power of ten, at least @v. */
static double nice_step(double v)
{
	double p = pow(10, floor(log10(v)));
	double m = v / p * (1 - 1e-12); /* 0.2 / 0.1 may be more than 2 */

	if (m <= 1)
		return p;
	if (m <= 2)
		return 2 * p;
	return m <= 5 ? 5 * p : 10 * p;
}

static double linear_step(const struct svg_axis *a)
{
	return nice_step((a->hi - a->lo) / 5);
}

void svg_nice(struct svg_axis *a)
{
	double step;

	if (a->log) {
		if (a->lo <= 0)
			a->lo = a->hi > 0 ? a->hi / 10 : 1;
		a->hi = nice_step(fmax(a->hi, a->lo * 1.001));
		/* the largest step below is the inverse of the smallest above the inverse */
		a->lo = 1 / nice_step(1 / a->lo);
		return;
	}
	if (!(a->hi > a->lo)) {
		double spread = a->lo == 0 ? 1 : fabs(a->lo) * 0.1;

		a->lo -= spread;
		a->hi = a->lo + 2 * spread;
	}
	step = linear_step(a);
	a->lo = floor(a->lo / step) * step;
	a->hi = ceil(a->hi / step) * step;
}

static size_t log_ticks(const struct svg_axis *a, double *ret, size_t max)
{
	bool few = 3 * (log10(a->hi / a->lo) + 1) < (double)max;
	size_t n = 0;

	for (int k = (int)floor(log10(a->lo)); k <= (int)ceil(log10(a->hi)); k++) {
		static const double in_decade[] = { 1, 2, 5 };

		for (size_t i = 0; i < (few ? ARRAY_SIZE(in_decade) : 1); i++) {
			double v = in_decade[i] * pow(10, k);

			if (v >= a->lo * 0.999 && v <= a->hi * 1.001 && n < max)
				ret[n++] = v;
		}
	}
	return n;
}

size_t svg_ticks(const struct svg_axis *a, double *ret, size_t max)
{
	double step = linear_step(a);
	size_t n = 0;

	if (a->log)
		return log_ticks(a, ret, max);
	for (long i = lround(ceil(a->lo / step - 1e-9)); n < max; i++) {
		double v = (double)i * step;

		if (v > a->hi + step * 1e-9)
			break;
		ret[n++] = v;
	}
	return n;
}

static double place(const struct svg_axis *a, double v)
{
	double t = a->log ? log(v / a->lo) / log(a->hi / a->lo) : (v - a->lo) / (a->hi - a->lo);

	if (!(t > 0)) /* NaN too, as of log(0) */
		return 0;
	return t > 1 ? 1 : t;
}

double svg_x(const struct svg *s, double v)
{
	return s->left + place(&s->x, v) * (s->width - s->left - s->right);
}

double svg_y(const struct svg *s, double v)
{
	return s->height - s->bottom - place(&s->y, v) * (s->height - s->top - s->bottom);
}

void svg_text(struct svg *s, const char *class, const char *anchor, double px, double py,
	      const char *text)
{
	buf_printf(s->out, "<text class=\"%s\" text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">", class,
		   anchor, px, py);
	svg_escape(s->out, text);
	buf_puts(s->out, "</text>");
}

/* A tick's text: as short as it is exact; small shares as powers of ten. */
static void tick_text(char *text, size_t size, const struct svg_axis *a, double v)
{
	if (a->log && v < 0.999e-3) {
		int k = (int)floor(log10(v) + 1e-9);

		snprintf(text, size, "%.0fe%d", v / pow(10, k), k);
	} else {
		snprintf(text, size, "%.*g", fabs(v) >= 1e6 ? 3 : 6, v);
	}
}

#define TICK_CHAR_WIDTH 7.5 /* of the style's 13 px, a little generous */
#define TICK_TEXT_HEIGHT 17.0

/* Labels of an axis: where they lie along it, and how long each is. */
struct tick_labels {
	char text[TICKS_MAX][24];
	double at[TICKS_MAX], length[TICKS_MAX];
	bool shown[TICKS_MAX];
	size_t nr;
};

static bool is_free(const struct tick_labels *l, size_t i)
{
	for (size_t k = 0; k < l->nr; k++)
		if (l->shown[k] && fabs(l->at[k] - l->at[i]) < (l->length[k] + l->length[i]) / 2)
			return false;
	return true;
}

/*
 * Which ticks get a label: as many as have room, of a logarithmic axis those of whole decades
 * first.
 */
static void tick_labels(const struct svg *s, bool horizontal, struct tick_labels *ret)
{
	const struct svg_axis *a = horizontal ? &s->x : &s->y;
	double v[TICKS_MAX] = {};

	*ret = (struct tick_labels){ .nr = svg_ticks(a, v, TICKS_MAX) };
	for (size_t i = 0; i < ret->nr; i++) {
		tick_text(ret->text[i], sizeof(ret->text[i]), a, v[i]);
		ret->at[i] = horizontal ? svg_x(s, v[i]) : svg_y(s, v[i]);
		ret->length[i] = horizontal ? TICK_CHAR_WIDTH * (double)strlen(ret->text[i]) + 10
					    : TICK_TEXT_HEIGHT;
	}
	for (int pass = a->log ? 0 : 1; pass < 2; pass++)
		for (size_t i = 0; i < ret->nr; i++)
			if (!ret->shown[i] && (pass == 1 || *ret->text[i] == '1' ||
					       strspn(ret->text[i], "0.1") == strlen(ret->text[i])))
				ret->shown[i] = is_free(ret, i);
}

static void grid_line(struct svg *s, double x0, double y0, double x1, double y1)
{
	buf_printf(s->out, "M%.1f %.1fL%.1f %.1f", x0, y0, x1, y1);
}

void svg_axes(struct svg *s)
{
	double x0 = s->left, x1 = s->width - s->right, y0 = s->height - s->bottom, y1 = s->top;
	struct tick_labels x, y;

	tick_labels(s, true, &x);
	tick_labels(s, false, &y);
	buf_puts(s->out, "<path class=\"grid\" d=\"");
	for (size_t i = 0; i < x.nr; i++)
		grid_line(s, x.at[i], y0, x.at[i], y1);
	for (size_t i = 0; i < y.nr; i++)
		if (y.shown[i])
			grid_line(s, x0, y.at[i], x1, y.at[i]);
	buf_puts(s->out, "\"/>");
	for (size_t i = 0; i < y.nr; i++)
		if (y.shown[i])
			svg_text(s, "tick", "end", x0 - 8, y.at[i] + 4.5, y.text[i]);
	for (size_t i = 0; i < x.nr; i++)
		if (x.shown[i])
			/* the last one would leave the figure where it is long */
			svg_text(s, "tick", "middle", fmin(x.at[i], s->width - x.length[i] / 2),
				 y0 + 20, x.text[i]);
	buf_printf(s->out, "<path class=\"axis\" d=\"M%.1f %.1fL%.1f %.1f\"/>", x0, y0, x1, y0);
	if (s->x.label)
		svg_text(s, "label", "middle", (x0 + x1) / 2, s->height - 7, s->x.label);
	/* above the axis rather than beside it: reads without turning the head */
	if (s->y.label)
		svg_text(s, "label", "start", 4, 18, s->y.label);
	buf_putc(s->out, '\n');
}

/* A number with at most one decimal: a tenth of a pixel is invisible and a third of the bytes. */
static void put_number(struct buf *out, double v)
{
	long tenths = lround(v * 10);

	if (tenths % 10)
		buf_printf(out, "%ld.%ld", tenths / 10, tenths % 10);
	else
		buf_printf(out, "%ld", tenths / 10);
}

static void put_point(struct svg *s, char command, double px, double py)
{
	buf_putc(s->out, command);
	put_number(s->out, px);
	buf_putc(s->out, ' ');
	put_number(s->out, py);
}

void svg_line(struct svg *s, const char *class, const struct svg_point *points, size_t nr,
	      bool step)
{
	if (nr == 0)
		return;
	buf_printf(s->out, "<path class=\"line %s\" d=\"", class);
	for (size_t i = 0; i < nr; i++) {
		double px = svg_x(s, points[i].x), py = svg_y(s, points[i].y);

		if (step && i) {
			buf_putc(s->out, 'H');
			put_number(s->out, px);
			buf_putc(s->out, 'V');
			put_number(s->out, py);
		} else {
			put_point(s, i ? 'L' : 'M', px, py);
		}
	}
	buf_puts(s->out, "\"/>\n");
}

void svg_band(struct svg *s, const char *class, double x0, double x1)
{
	double a = svg_x(s, x0), b = svg_x(s, x1);

	buf_printf(s->out,
		   "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
		   class, a, s->top, b - a, s->height - s->top - s->bottom);
}

/* Outlines around the origin, two units wide; one a style. */
static const char *const shapes[SVG_STYLES] = {
	"M-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0z",		       /* circle */
	"M-.9-.9H.9V.9H-.9z",				       /* square */
	"M0-1.25L1.25 0L0 1.25L-1.25 0z",		       /* diamond */
	"M0-1.2L1.15.9H-1.15z",				       /* triangle */
	"M0 1.2L1.15-.9H-1.15z",			       /* triangle on its head */
	"M-1.1-.4H-.4V-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1z", /* cross */
};

void svg_marker(struct svg *s, unsigned int style, double px, double py, double size)
{
	buf_printf(s->out,
		   "<path class=\"mark v%u\" transform=\"translate(%.1f %.1f) scale(%g)\" "
		   "d=\"%s\"/>",
		   style % SVG_STYLES, px, py, size, shapes[style % SVG_STYLES]);
}
