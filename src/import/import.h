/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_IMPORT_H
#define IMPORT_IMPORT_H

/*
 * Foreign results out of text: whole program outputs, mails that quote them, or both mixed.
 *
 *	_cleanup_(import_release) struct import_doc doc = {};
 *	r = import_text(text, len, &doc, e);
 *
 * Pure.  Time is linear in @len (but for one sort of each run's rows), memory is bounded by a
 * constant times @len, whatever the text holds.  Quote marks, line ends, tabs, no-break spaces and
 * terminal control sequences do not change the result.  Nothing is guessed silently: a line that
 * looks like a row and cannot be read is in @skipped with its reason.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct import_ops;

/* One test as one program printed it. */
struct import_run {
	const struct import_ops *ops;
	const char *tool; /* "iperf3", "cyclictest": ops->name */
	size_t line;	  /* of the first row, from 1 */
	size_t last_line;
	/* The first other text between two of its rows, and the row behind it; 0: none.  The rows
	 * may be of two tests of which the second goes on in time. */
	size_t text_line, text_row_line;
	char *label;   /* the command line before the rows, else the heading; "" when none */
	char *heading; /* the nearest other text line since the run before; "" when none */
	void *data;    /* through import_iperf3(), import_cyclictest() */
};

struct import_skip {
	size_t line;
	const char *tool;
	const char *reason; /* static text */
};

#define IMPORT_SKIPS_KEPT 32

struct import_doc {
	struct import_run *runs; /* in the order of their first rows */
	size_t nr_runs, size;
	struct import_skip *skipped; /* the first IMPORT_SKIPS_KEPT; NULL when none */
	size_t nr_skipped;	     /* all of them */
};

/* Return: 0, also when the text holds no run at all; -ENOMEM. */
int import_text(const char *text, size_t len, struct import_doc *ret, struct err *e);
void import_release(struct import_doc *doc);

/**
 * import_pick - split "FILE#N" into the file and the number of the run in it
 * @ret_path: new string; the whole of @arg when it does not end in '#' and digits
 * @ret_nr: from 1; 0 when none is picked
 *
 * Return: 0; -EINVAL for #0, a number that does not fit or an empty path; -ENOMEM.
 */
int import_pick(const char *arg, char **ret_path, unsigned int *ret_nr, struct err *e);

/* iperf3: TCP tables of client and server, 3.0 ("Bandwidth") to 3.2x ("Bitrate"). */

enum iperf3_kind {
	IPERF3_INTERVAL,
	IPERF3_TAIL,	/* much shorter than the others: what was left at the end; never averaged */
	IPERF3_SUMMARY, /* spans the whole test, but neither "sender" nor "receiver" is left on it
			 */
	IPERF3_SENDER,
	IPERF3_RECEIVER,
};

/* "[TX-C]": column of --bidir. */
enum iperf3_role {
	IPERF3_ROLE_NONE,
	IPERF3_ROLE_TX_C,
	IPERF3_ROLE_RX_C,
	IPERF3_ROLE_TX_S,
	IPERF3_ROLE_RX_S,
	IPERF3_ROLES,
};

#define IPERF3_SUM (-1)

struct iperf3_row {
	size_t line;
	int64_t stream; /* the number in brackets or IPERF3_SUM */
	enum iperf3_kind kind;
	enum iperf3_role role;
	bool omitted;
	uint64_t start_ns, end_ns;
	double bytes;
	double bps;
	double bps_half;   /* half of the last printed digit of @bps */
	int64_t retr;	   /* -1: not printed */
	double cwnd_bytes; /* -1: not printed */
};

struct iperf3_run {
	struct iperf3_row *rows;
	size_t nr, size;
	/* while reading */
	struct {
		size_t intervals, summaries;
		uint64_t first_start_ns, last_end_ns;
		struct iperf3_row prev, first_summary;
	} seen;
};

/* What a comparison may use of one run and direction. */
struct iperf3_series {
	double *bps; /* full, not omitted intervals in time order */
	int64_t *retr;
	size_t nr;
	double seconds; /* of all @nr */
	bool has_retr;
	size_t streams;	      /* distinct ones */
	bool added_up;	      /* several streams without [SUM] rows: added per interval */
	bool streams_differ;  /* ... which failed: they do not share their intervals; nr == 0 */
	size_t omitted, tail; /* rows left out of it */
	size_t gaps;	      /* places where the time jumps: rows are missing */
	double half_ratio;    /* largest bps_half/bps */
	double half_bps; /* mean of bps_half: how far rounding may have moved the mean of @bps */
	double sender_bps, receiver_bps; /* of the summary; -1: not there */
	int64_t sender_retr;		 /* -1: not there */
};

/* NULL when @run is of another tool. */
const struct iperf3_run *import_iperf3(const struct import_run *run);
bool iperf3_has_role(const struct iperf3_run *run, enum iperf3_role role);
/* "TX-C", "" for none. */
const char *iperf3_role_name(enum iperf3_role role);
/* Return: 0 (also with nr == 0: only a summary); -ENOMEM. Cost: O(n log n). */
int iperf3_series(const struct iperf3_run *run, enum iperf3_role role, struct iperf3_series *ret);
void iperf3_series_release(struct iperf3_series *s);

/* cyclictest: "T:" lines, of -q or the last state of a live display. */

struct cyclictest_thread {
	size_t line;
	int64_t t, tid, prio;
	int64_t interval_us;
	int64_t cycles;		    /* N */
	int64_t min, act, avg, max; /* [us], or [ns] when the run says so */
};

struct cyclictest_run {
	struct cyclictest_thread *threads; /* ascending t */
	size_t nr, size;
	bool ns; /* the command line before it has -N: figures are ns */
	bool has_command;
	bool looks_ns; /* no command line, and the figures can hardly be us */
};

const struct cyclictest_run *import_cyclictest(const struct import_run *run);

#endif
