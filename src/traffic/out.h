/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TRAFFIC_OUT_H
#define TRAFFIC_OUT_H

/* Lines of text as iperf3 prints them: with the time and the title in front when asked for. */

#include <stdio.h>

struct buf;

struct out {
	FILE *f;
	struct buf *copy; /* what is printed, for a client that asked; NULL: nobody did */
	const char *title, *timestamps; /* NULL: none */
	char session[16]; /* in front of all: which of several tests; "": the only one */
};

/* @fmt is a whole line. */
void out_line(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void out_flush(struct out *o);

/*
 * A number of bytes in iperf3's four places and unit: 'A' adaptive Bytes, 'a' adaptive bits, or one
 * of kmgtKMGT.
 */
const char *out_unit(char ret[32], double bytes, char format);

#endif
