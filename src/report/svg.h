/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef REPORT_SVG_H
#define REPORT_SVG_H

/*
 * Figures as inline SVG: axes with nice ticks, linear or logarithmic, lines, steps, bands, markers,
 * a legend.  Colours, dashes and fonts come from the page's style through classes; what is a
 * variant's carries "v0", "v1" ... which also chooses dash and marker, so that colour is never the
 * only difference.
 *
 * Everything written is escaped here.
 */

#include <stdbool.h>
#include <stddef.h>

struct buf;

/* Variants told apart by style; the next ones begin again. */
#define SVG_STYLES 6

/* Append @s for use in HTML text and attributes; what is not printable shows as \xNN. */
void svg_escape(struct buf *out, const char *s);

struct svg_axis {
	double lo, hi; /* of the data, in what is printed; log: lo > 0 */
	bool log;
	const char *label; /* "latency [us]" */
};

struct svg {
	struct buf *out;
	double width, height;
	double left, right, top, bottom; /* margins around the plot */
	struct svg_axis x, y;
};

struct svg_point {
	double x, y;
};

/* The <svg> with its title and description, both for who cannot see it. */
void svg_open(struct svg *s, const char *title, const char *desc);
void svg_close(struct svg *s);
/* Widen the axis to whole ticks; log: to 1, 2 or 5 of a decade, so that there are two at least. */
void svg_nice(struct svg_axis *a);
/* Grid, ticks and labels of both axes. */
void svg_axes(struct svg *s);
/* Where a value lies on the page; clamped to the plot. */
double svg_x(const struct svg *s, double v);
double svg_y(const struct svg *s, double v);
/* A line through @points; @step: horizontal to the next point's x, then vertical. */
void svg_line(struct svg *s, const char *class, const struct svg_point *points, size_t nr,
	      bool step);
/* A filled stripe from @x0 to @x1 over the plot's whole height. */
void svg_band(struct svg *s, const char *class, double x0, double x1);
/* A marker in page coordinates: circle, square, diamond, triangle ... by @style. */
void svg_marker(struct svg *s, unsigned int style, double px, double py, double size);
/* A text at page coordinates; @anchor: "start", "middle" or "end". */
void svg_text(struct svg *s, const char *class, const char *anchor, double px, double py,
	      const char *text);

/* At most @max positions of ticks of @a; returns how many.  Log: 1, 2 and 5 of
 * each decade, or its 1 alone where that is too many. */
size_t svg_ticks(const struct svg_axis *a, double *ret, size_t max);

#endif
