/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_WORDS_H
#define IMPORT_WORDS_H

/* A cleaned line as words: for formats that are tables. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/import_ops.h"

struct word {
	const char *s;
	size_t len;
};

/*
 * @l behind what somebody has put in front of it: "| ", "JD> ", "[STDOUT] ", with @stamps also a
 * time as ts(1) writes it ("Nov 30 22:17:01 ", "22:17:01 ").
 */
struct import_line line_bare(const struct import_line *l, bool stamps);

/*
 * Read @l by @row, and where that says -EBADMSG together with @next, which a mailer may have broken
 * off.  @ends_early: it is known to.  Return: as import_ops.row.
 */
int row_joined(struct import_feed *f, const struct import_line *l, const struct import_line *next,
	       bool ends_early, int (*row)(struct import_feed *f, const struct import_line *l));

/* The next word at *@p; false at the end of the line. */
bool word_next(const char **p, struct word *ret);
bool word_is(struct word w, const char *text);
/* The last word of @line; empty when there is none. */
struct word word_last(const char *line);
/* How many words there are. */
size_t word_count(const char *line);
/* Number and nothing else but @suffix ("%", "ms"; "" for none). */
bool word_number(struct word w, const char *suffix, struct scan_number *ret);
/* A whole number of up to 18 digits, and nothing else. */
bool word_whole(struct word w, uint64_t *ret);
/* Are all words of @line numbers (or "-")?  How many: *ret_nr. */
bool word_all_numbers(const char *line, size_t *ret_nr);
/* Nanoseconds of one @unit ("us", "usec", "ms", "s", "sec" ...); 0: unknown. */
double word_time_unit(struct word unit);

/* Whole nanoseconds of @s seconds, at the most what fits; negative times are 0. */
int64_t word_ns(double s);

/* The number after @name anywhere in @line: "RunTime=" of "[Total Run] RunTime=2.001 sec". */
bool word_after(const char *line, const char *name, struct scan_number *ret);

/* A label's value: blanks, commas and equal signs as '_'.  @size > 0. */
void word_label(char *to, size_t size, struct word w);

/*
 * What a table's cell says: metric, unit and labels of a figure, and what one of its units is in
 * ours.  @exact: a count, whose last digit is no rounding.
 */
struct cell {
	const char *metric, *unit, *labels;
	double factor;
	bool exact, key;
	int64_t n; /* samples behind it; 0: not known */
};

/* A figure of the open run. Return: 0; -ENOMEM. */
int cell_add(struct import_feed *f, const struct cell *c, const struct scan_number *v);

/* The last state of a number of such cells: "name value" pairs in a line. */
struct pair {
	const char *name; /* "Min:" */
	struct cell cell;
};

/* The number behind each of @pairs' names in @line, where it is there. Return: how many were; or
 * -ENOMEM. */
int pairs_add(struct import_feed *f, const char *line, const struct pair *pairs, size_t nr);

#endif
