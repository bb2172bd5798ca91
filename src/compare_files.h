/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef COMPARE_FILES_H
#define COMPARE_FILES_H

/*
 * The half of "irqlab compare" that takes texts instead of stored runs.  Pure: texts in, text or
 * JSON out.  One run per side never decides: the word is always "undecided", and the output says
 * what such texts can bear and what they cannot.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

struct compare_opts {
	unsigned int pick_a, pick_b; /* number of the run in its text, from 1; 0: not picked */
	double irq_rate;	     /* interrupts per second under the load; 0: not given */
	bool json;
	uint64_t seed; /* of the bootstrap */
};

/**
 * compare_files - what the results in two texts say about B against A
 * @b: NULL: @a alone holds exactly two runs of one tool, or both picks are given
 * @out: the answer is appended; untouched on failure
 *
 * Runs that are not picked are paired by their order when both texts hold the same number.
 *
 * Return: the exit code of the command: 4 (undecided), or 1 with @e when a text holds no result,
 * the runs cannot be paired, or a pair is of different tools.
 */
int compare_files(const char *a_name, const char *a, size_t a_len, const char *b_name,
		  const char *b, size_t b_len, const struct compare_opts *opts, struct buf *out,
		  struct err *e);

#endif
