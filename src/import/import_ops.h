/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_IMPORT_OPS_H
#define IMPORT_IMPORT_OPS_H

/*
 * What a format must provide.  Adding one: a file import_<name>.c that ends in
 * "const struct import_ops import_ops_<name>", a line in formats.def and one in meson.build.
 *
 * The text is read once, from front to back, in constant memory; a format sees one line after
 * another and keeps no text.  A line is cleaned: mail encodings, quote marks, tags, control
 * sequences and outer blanks are gone, every run of blanks (tabs, no-break spaces) is one space,
 * the rest is valid UTF-8.  Anything may stand in front of a row (a time, a title, a quoter's
 * initials "JD> ", "| "), and a mailer may have broken it in two.
 *
 * Per line:  marks --> sniff() --> chatter() or row(); the first format that says IMPORT_ROW gets
 * the line.  JSON documents are found in the text wherever a line begins with "{" and go to
 * json_sniff(), json_item(), json_doc() instead; text formats do not see their lines.
 *
 * A row puts what it reads into the open run: import_open_run() where a test begins, then
 * import_figure_add(), import_point_add() ... on import_run_open(), or into run->data to be
 * worked out by finish().  Rows may say the same thing several times (a live display): the
 * figure that is added last replaces one of the same metric and labels.
 */

#include "import/import.h"

struct json_val;

enum import_kind {
	IMPORT_FOREIGN, /* somebody's text: may become a label */
	IMPORT_CHATTER, /* the program's own words around its rows */
	IMPORT_ROW,	/* looks like a row, readable or not */
};

struct import_line {
	const char *s; /* cleaned, NUL-terminated; never NULL, "" at the end of the text */
	size_t len;
	size_t nr;    /* of the text's line that it begins in, from 1 */
	bool redrawn; /* the cursor had moved to draw this line */
};

/* State of one format while a text is read. */
struct import_feed {
	const struct import_ops *ops;
	struct import_reader *reader;
	struct import_run *run; /* the open one, or NULL */
	size_t text_line;	/* of the first one but for the kernel's; 0: none */
	bool text_between;	/* foreign text came after the last row */
	bool text_since;	/* ... or after what the format has cleared it at */
	bool redrawn;		/* the screen was redrawn after the last row */
	unsigned int mode;	/* the format's own flags */
	void *state;		/* ops->state_size bytes, zero-filled when the text begins */
	/*
	 * Set by the format: it wants to sniff every line, not only those with its marks (inside
	 * a table of bare numbers).  Cleared by the format, or after 64 lines in a row that were
	 * foreign to it.
	 */
	bool greedy;
	const char *command, *heading; /* labels for the next run; "" when none */
	/* In json_item() and json_doc(): what is there of the document, where it begins and ends.
	 */
	const struct json_val *document;
	size_t document_line, document_last_line;
	const char *reason; /* set by row() with -EBADMSG */
};

struct import_ops {
	const char *name; /* of the tool, as a list shows it */
	/* The command whose line is the run's label ("rtla" for "rtla timerlat"); NULL: @name. */
	const char *program;
	/*
	 * Literal texts, NULL-terminated, 2 to 30 bytes: only lines that hold one of them are
	 * sniffed (all are looked for at once, so their number costs nothing; short and frequent
	 * ones such as ": " cost a sniff() each).  NULL: a format of JSON alone.
	 */
	const char *const *marks;
	size_t data_size;   /* of import_run.data, zero-filled */
	size_t state_size;  /* of import_feed.state */
	bool sniffs_labels; /* sniff() looks at feed.command and feed.heading */
	enum import_kind (*sniff)(const struct import_feed *f, const struct import_line *l);
	/* NULL: its chatter means nothing */
	void (*chatter)(struct import_feed *f, const struct import_line *l);
	/* The program is called as @call says; what follows may have no heading.  NULL: nothing to
	 * do. */
	void (*called)(struct import_feed *f, const char *call);
	/**
	 * Read row @l; @next is the line after it (that is no kernel message): mailers wrap.
	 * Must leave everything as it was when it returns -EBADMSG: it is called again with the
	 * line mended (a prompt taken out, two lines joined as @next).
	 * Return: 0; 1 when @next was part of the row; -EBADMSG with f->reason (import_bad());
	 * -ENOMEM.
	 */
	int (*row)(struct import_feed *f, const struct import_line *l,
		   const struct import_line *next);
	/*
	 * Is @doc, an object of which the first members are there already, this tool's?  NULL: the
	 * tool has no JSON.
	 */
	bool (*json_sniff)(const struct json_val *doc);
	/**
	 * One element of array @key of the document's top object, handed over as soon as it ends
	 * and forgotten afterwards, so that long arrays need no memory (the array is empty in
	 * json_doc()).  NULL: the document comes whole.
	 * Return: 0; -EBADMSG with f->reason; -ENOMEM.
	 */
	int (*json_item)(struct import_feed *f, const char *key, const struct json_val *item,
			 size_t nr);
	/**
	 * The document that began at line @nr has ended, or broke off (@truncated: what is open
	 * has been closed).  The run must be opened here or in json_item(), and is usually closed
	 * here (import_close_run()).  Return: as above.
	 */
	int (*json_doc)(struct import_feed *f, const struct json_val *doc, size_t nr,
			bool truncated);
	/* NULL: nothing to do when the whole run is there. Return: 0; -ENOMEM. */
	int (*finish)(struct import_run *run);
	void (*release)(void *data); /* NULL: nothing in it but bytes */
};

#define FORMAT(name) extern const struct import_ops import_ops_##name;
#include "import/formats.def"
#undef FORMAT

/* Start a run at line @nr and make it the open one; the one before is finished.
 * Return: 0; -ENOMEM. */
int import_open_run(struct import_feed *f, size_t nr);
/* The open run; there must be one. */
struct import_run *import_run_open(const struct import_feed *f);
/* The test is over: the next row must open another run.  No-op when none is open. */
void import_close_run(struct import_feed *f);
/* Say why a row cannot be read; returns -EBADMSG.  @reason: static text. */
int import_bad(struct import_feed *f, const char *reason);
/* The same in words that depend on the row. */
int import_badf(struct import_feed *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Something about the text that is not about a row or a run: the tool's own error message, a part
 * that is not read.  From row(), json_item(), json_doc() and chatter(). */
void import_remark(struct import_feed *f, size_t line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The strings of @fig are copied.  Replaces a figure of the same metric and labels.  Return: 0
 * (also beyond IMPORT_FIGURES_MAX, which is noted); -ENOMEM. */
int import_figure_add(struct import_run *run, const struct import_figure *fig);
/* A point of the series with these names, which is made when there is none. */
int import_point_add(struct import_run *run, const char *metric, const char *unit,
		     const char *labels, const struct import_point *p);
/* @ret: the histogram with these names, made when there is none; valid until the next call. */
int import_hist_of(struct import_run *run, const char *metric, const char *unit, const char *labels,
		   struct import_hist **ret);
/* Forget the histogram that was made last. Return: 0; -ENOMEM. */
int import_hist_drop(struct import_run *run);
int import_bar_add(struct import_hist *h, double v, uint64_t count);
/* Remember an oddity; the first IMPORT_NOTES_MAX are kept. */
int import_note(struct import_run *run, size_t line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

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
