/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_JSON_HIST_H
#define IMPORT_JSON_HIST_H

/* What rt-tests and jitterdebugger have in common in their JSON: an object per CPU or thread with
 * min, avg, max and a histogram { "us": count }. */

#include "import/import_ops.h"

struct json_val;

/* A decimal number of up to 18 digits and nothing else; of strings, keys and numbers. */
bool json_digits(const char *text, uint64_t *ret);
/* latency.min, .avg and .max of @o, where they are there; @n: samples, -1 when not known.
 * One of their units is @ns.  Return: 0; -ENOMEM. */
int json_latencies(struct import_run *run, const struct json_val *o, const char *labels, double ns,
		   int64_t n);
/* The histogram of @o; rows that cannot be read are noted.  *ret_total: samples in it.
 * Return: 0; -ENOMEM. */
int json_histogram(struct import_run *run, const struct json_val *o, const char *labels, double ns,
		   uint64_t *ret_total);

#endif
