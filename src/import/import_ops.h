/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_IMPORT_OPS_H
#define IMPORT_IMPORT_OPS_H

/*
 * What a format must provide.  Adding one: a file import_<name>.c with its struct import_ops, and
 * a line in the table of import.c.
 *
 * A format sees cleaned lines: quote marks, control sequences and outer blanks are gone, every run
 * of blanks is one space.
 */

#include "import/import.h"

enum import_kind {
	IMPORT_FOREIGN, /* somebody's text: may become a label */
	IMPORT_CHATTER, /* the program's own words around its rows */
	IMPORT_ROW,	/* looks like a row, readable or not */
};

/* State of one format while a text is read. */
struct import_feed {
	struct import_doc *doc;
	const struct import_ops *ops;
	size_t run;		       /* index of the open run + 1; 0: none */
	size_t text_line;	       /* of the first one but for the kernel's; 0: none */
	bool text_between;	       /* foreign text came after the last row */
	bool text_since;	       /* ... or after what the format has cleared it at */
	bool redrawn;		       /* the screen was redrawn after the last row */
	unsigned int mode;	       /* the format's own flags */
	const char *command, *heading; /* labels for the next run; "" when none */
	const char *reason;	       /* set by row() with -EBADMSG; static */
};

struct import_ops {
	const char *name;
	size_t data_size; /* of import_run.data, zero-filled */
	enum import_kind (*sniff)(const char *line);
	/* NULL: its chatter means nothing */
	void (*chatter)(struct import_feed *f, const char *line);
	/**
	 * Read row @line (number @nr); @next is the line after it, "" at the end: mailers wrap.
	 * Return: 0; 1 when @next was part of the row; -EBADMSG with f->reason; -ENOMEM.
	 */
	int (*row)(struct import_feed *f, const char *line, const char *next, size_t nr);
	/* NULL: nothing to do when the whole run is there. Return: 0; -ENOMEM. */
	int (*finish)(struct import_run *run);
	void (*release)(void *data);
};

extern const struct import_ops import_ops_iperf3;
extern const struct import_ops import_ops_cyclictest;

/* Start a run at line @nr and make it the open one. Return: 0; -ENOMEM. */
int import_open_run(struct import_feed *f, size_t nr);
/* The open run; there must be one. */
struct import_run *import_run_open(const struct import_feed *f);
/* Say why a row cannot be read. */
int import_bad(struct import_feed *f, const char *reason);

/* Scanners over cleaned lines: they advance @p and return true, or leave it and return false. */
struct scan_number {
	double value;
	double half; /* of the last printed digit */
	unsigned int decimals;
};

void scan_space(const char **p);
bool scan_text(const char **p, const char *text);
/* strstr() for being called again and again on one line: reads no farther than its result. */
const char *scan_find(const char *s, const char *needle);
/* Up to 15 digits with an optional fraction, no sign. */
bool scan_number(const char **p, struct scan_number *ret);
/* A whole number of at most @digits digits, with an optional sign. */
bool scan_int(const char **p, unsigned int digits, int64_t *ret);

#endif
