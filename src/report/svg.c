// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"

#define TICKS_MAX 16

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
	double m = v / p;

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
		if (a->hi <= a->lo)
			a->hi = a->lo * 10;
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
	bool few = log10(a->hi / a->lo) < 2.6;
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
	if (a->log && v < 1e-3)
		snprintf(text, size, "1e%d", (int)lround(log10(v)));
	else
		snprintf(text, size, "%.*g", fabs(v) >= 1e6 ? 3 : 6, v);
}

static void grid_line(struct svg *s, double x0, double y0, double x1, double y1)
{
	buf_printf(s->out, "M%.1f %.1fL%.1f %.1f", x0, y0, x1, y1);
}

void svg_axes(struct svg *s)
{
	double at[TICKS_MAX];
	double x0 = s->left, x1 = s->width - s->right, y0 = s->height - s->bottom, y1 = s->top;
	size_t nx, ny;
	char text[32];

	buf_puts(s->out, "<path class=\"grid\" d=\"");
	nx = svg_ticks(&s->x, at, TICKS_MAX);
	for (size_t i = 0; i < nx; i++)
		grid_line(s, svg_x(s, at[i]), y0, svg_x(s, at[i]), y1);
	ny = svg_ticks(&s->y, at, TICKS_MAX);
	for (size_t i = 0; i < ny; i++)
		grid_line(s, x0, svg_y(s, at[i]), x1, svg_y(s, at[i]));
	buf_puts(s->out, "\"/>");
	for (size_t i = 0; i < ny; i++) {
		tick_text(text, sizeof(text), &s->y, at[i]);
		svg_text(s, "tick", "end", x0 - 8, svg_y(s, at[i]) + 4.5, text);
	}
	nx = svg_ticks(&s->x, at, TICKS_MAX);
	for (size_t i = 0; i < nx; i++) {
		tick_text(text, sizeof(text), &s->x, at[i]);
		svg_text(s, "tick", "middle", svg_x(s, at[i]), y0 + 20, text);
	}
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
