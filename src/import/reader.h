/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_READER_H
#define IMPORT_READER_H

/*
 * Between the parts of the reader: the text's bytes go through decode.c (lines), clean.c (cleaned
 * lines), documents.c (JSON out of them) and import.c (what the formats make of the rest).
 */

#include "base/buf.h"
#include "import/clean.h"
#include "import/decode.h"
#include "import/frame.h"
#include "import/import_ops.h"
#include "import/json_parser.h"

enum {
#define FORMAT(name) IMPORT_FORMAT_##name,
#include "import/formats.def"
#undef FORMAT
	IMPORT_NR_FORMATS
};

#define IMPORT_PROGRAM_BITS 32 /* the upper half of a line's marks: programs that it may call */

extern const struct import_ops *const import_formats[IMPORT_NR_FORMATS];

/* Lines that are looked at together: a row, the rest of it that a mailer has wrapped. */
#define IMPORT_AHEAD 4

struct slot {
	struct line line;
	uint64_t marks;
	size_t skip; /* bytes of the line that stand in front of what the program has written */
	bool kernel; /* a message of the kernel's */
	bool taken;  /* was the rest of a row */
};

struct held {
	struct import_run run;
	bool finished;
};

struct per_format {
	struct import_feed feed;
	struct buf command;
	bool command_bare;    /* without what stood in front of it */
	size_t command_line;  /* of a command that surely is one; 0: none waits for its rows */
	size_t heading_used;  /* number of the heading that its last run has taken */
	unsigned int foreign; /* lines in a row that a greedy format did not want */
};

/* The document of JSON that is being read. */
struct document {
	struct json_parser parser;
	bool open;
	const struct import_ops *ops; /* whose it is; NULL: not known */
	struct import_feed *feed;     /* of @ops */
	size_t line, last_line;
	struct buf prefix;	/* what stands before it on each line: "JD> " */
	struct frame frame;	/* ... or before the first one, and its like before the others */
	unsigned int odd_lines; /* in a row: others between its own, or of one string */
};

struct import_reader {
	struct import_sink *sink;
	struct per_format f[IMPORT_NR_FORMATS];
	uint64_t greedy; /* a bit a format */
	struct buf heading;
	bool heading_bare;
	size_t heading_nr;  /* counts headings */
	char side;	    /* of a diff: '+' or '-' in front of the last row; else 0 */
	struct frame frame; /* of the lines that were understood last */
	struct slot ahead[IMPORT_AHEAD];
	size_t nr_ahead;
	struct held **held; /* by number */
	size_t nr_held, size_held;
	size_t nr_opened, nr_delivered;
	struct decoder decoder;
	struct cleaner cleaner;
	bool html; /* what the decoder has said last */
	struct document doc;
	struct buf texts;     /* lines that a document's strings hold, until it has ended */
	size_t texts_line;    /* ... where it has ended */
	struct cleaner inner; /* of these lines */
	bool in_texts;
	struct buf reason; /* of import_badf() */
	struct buf
		remarks; /* of import_remark() until they are handed over: number, NUL, text, NUL */
};

/* A cleaned line that is no JSON. */
int reader_text(struct import_reader *r, const char *s, size_t len, const struct line *l,
		struct err *e);
/* The lines ahead are done with. */
int reader_flush(struct import_reader *r, struct err *e);
/* Hand over the runs that are finished, as long as none before them is open. */
int reader_deliver(struct import_reader *r, struct err *e);
/* Hand over what formats have remarked. */
int reader_remarks(struct import_reader *r, struct err *e);
/* Labels for the next run of format @f. */
void reader_label(struct import_reader *r, struct import_feed *f);
/* What @f has called took (0, 1, -EBADMSG, -ENOMEM) since there were @runs: labels that were used
 * are gone; skips are said.  Return: 0 or negative errno with @e. */
int reader_settle(struct import_reader *r, struct import_feed *f, size_t runs, size_t line,
		  int took, struct err *e);

/* The line as the formats see it. */
struct import_line rows_view(const struct slot *s);
/* The first line behind @i that may go on with its row, or NULL: the kernel speaks in between. */
struct slot *rows_following(struct import_reader *r, size_t i);
/* Give the first line ahead, a row, to @f in all ways in which it may be whole.
 * @ret_used: lines behind it that were part of it.  Return: as import_ops.row(). */
int rows_read(struct import_reader *r, struct import_feed *f, size_t *ret_used);

/* A cleaned line: text, JSON, or both. */
int document_line(struct import_reader *r, const struct line *l, struct err *e);
/* The text has ended. */
int document_end(struct import_reader *r, struct err *e);
void document_release(struct document *d);

#endif
