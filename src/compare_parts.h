/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef COMPARE_PARTS_H
#define COMPARE_PARTS_H

/* Between compare_files.c and its parts, one per tool. */

#include "base/buf.h"
#include "compare_files.h"
#include "import/import.h"

#define COMPARE_WIDTH 78

struct compare_pair {
	const struct import_run *a, *b;
};

/* Append one pair. Return: 0; -EINVAL when there is nothing to compare; -ENOMEM. */
int compare_iperf3(const struct compare_pair *p, const struct compare_opts *opts, struct buf *out,
		   struct err *e);
int compare_cyclictest(const struct compare_pair *p, const struct compare_opts *opts,
		       struct buf *out, struct err *e);

/* Any tool: the figures that both have. */
int compare_figures(const struct compare_pair *p, const struct compare_opts *opts, struct buf *out,
		    struct err *e);

/* Which runs are compared with which: positions in the docs' arrays. */
struct compare_pairs {
	size_t *a, *b;
	size_t nr;
	size_t *left; /* of the first doc: in no pair */
	size_t nr_left;
	const char *how; /* in words, NULL: nothing to say */
};

void compare_pairs_release(struct compare_pairs *p);
/* Runs of one text by what their headings say: before and after, without and with. */
int compare_pairs_within(const struct import_doc *doc, struct compare_pairs *ret);
/* Runs of two texts by equal headings. */
int compare_pairs_across(const struct import_doc *a, const struct import_doc *b,
			 struct compare_pairs *ret);

/* Append a paragraph, wrapped at COMPARE_WIDTH, every line indented by two. */
void compare_para(struct buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Append "name":value with a comma in front when needed; null when @v is not finite. */
void compare_json_number(struct buf *out, const char *name, double v);
/* Append a text as an element of an array. */
void compare_json_note(struct buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void compare_json_text(struct buf *out, const char *name, const char *s);
/* A comma unless an object or array has just been opened. */
void compare_json_comma(struct buf *out);

#endif
