/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PROBE_KMSG_H
#define PROBE_KMSG_H

/*
 * Records of /dev/kmsg (Documentation/ABI/testing/dev-kmsg) and the kernel lines that matter to an
 * interrupt or latency measurement.  Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Facility of lines the kernel wrote itself; others came from user space. */
#define KMSG_KERN 0
#define KMSG_WARNING 4

struct kmsg_record {
	unsigned int facility, level;
	uint64_t seq;
	uint64_t t_us;	  /* of the kernel's scheduler clock */
	const char *text; /* not NUL-terminated, points into the input */
	size_t len;
};

/*
 * Parse the record at @text ("6,339,5140900,-;NET: Registered ...\n KEY=value\n").  Returns how
 * many bytes it takes with its continuation lines; 0 when no whole record stands there;
 * -EBADMSG when it has not the form: skip to the next line.
 */
long kmsg_parse(const char *text, size_t len, struct kmsg_record *ret);

struct kmsg_known {
	const char *match; /* anywhere in the line */
	const char *says;  /* what it means for the trial */
	bool has_mask;	   /* a mask of softirqs follows @match, in hexadecimal */
};

/* The row of the table of known lines that @text (NUL-terminated) matches, or NULL. */
const struct kmsg_known *kmsg_find(const char *text);
/* How many rows there are and the number of @known among them: for counting. */
size_t kmsg_nr_known(void);
size_t kmsg_index(const struct kmsg_known *known);
/* Append what @known says of @text, with the softirqs' names where a mask is in it. */
int kmsg_explain(const struct kmsg_known *known, const char *text, struct buf *out);
/* Append the vectors in @mask as "NET_RX SCHED"; bits without a name as "bit 12". */
int kmsg_softirqs(uint64_t mask, struct buf *out);

#endif
