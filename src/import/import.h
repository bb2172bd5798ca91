/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_IMPORT_H
#define IMPORT_IMPORT_H

/*
 * Foreign results out of text: whole program outputs, mails that quote them, or both mixed.
 *
 *	_cleanup_(import_release) struct import_doc doc = {};
 *	r = import_text(text, len, &doc, e);
 *
 * or, for text of any length, piece by piece with a sink that gets each run as it ends:
 *
 *	_cleanup_(import_freep) struct import_reader *reader = NULL;
 *	r = import_new(&reader, &sink, e);
 *	while (r == 0 && (n = read(...)) > 0)
 *		r = import_add(reader, piece, n, e);
 *	if (r == 0)
 *		r = import_end(reader, e);
 *
 * Pure.  Time is linear in the text's length (but for one sort of each run's rows); a reader's
 * memory is bounded whatever the text holds: see IMPORT_POINTS_MAX and its like.  Quote marks, mail
 * encodings, line ends, tabs, no-break spaces and terminal control sequences do not change the
 * result.  Nothing is guessed silently: a line that looks like a row and cannot be read is reported
 * with its reason.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct import_ops;

/*
 * What all tools have in common, so that a list, a comparison and the store need not know them.
 *
 * Units are those of sample.h: "ns", "bit/s", "1/s", "count", "ratio", "byte", "byte/s", "Hz";
 * a format converts ("us" to "ns", "%" to "ratio") and converts the half digit with the value.
 * Labels are sample.h's too: "cpu=0,prio=98", keys in alphabetical order, no blanks, "" for none;
 * usual keys: cpu, thread, stream, direction (sent, received), role, q (a quantile: "0.999"),
 * peer, irq, dev.  Metrics are lower case with dots: "throughput", "retransmits", "latency.max".
 * What the text does not hold is absent: no zeros and no -1 in place of it.
 */

/* One number that the program printed for the whole test. */
struct import_figure {
	const char *metric, *unit, *labels;
	double value;
	double half; /* half of the last printed digit, in @unit; 0: exact, or all digits are there
		      */
	int64_t n;   /* samples behind it; -1: not known */
	bool key;    /* one of the few that a line of a list shows */
};

/* Numbers over time: one a row.  t_ns: of the interval's start since the test's start. */
struct import_point {
	int64_t t_ns;
	uint64_t length_ns; /* 0: an instant, or not known */
	double v, half;
	size_t line;
};

struct import_series {
	const char *metric, *unit, *labels;
	struct import_point *points;
	size_t nr, size;
	size_t dropped; /* points beyond IMPORT_POINTS_MAX: not kept, but known by ... */
	double dropped_sum, dropped_min, dropped_max; /* ... as they were added */
};

/* A distribution as printed: @count samples in [v, v + width of a bucket). */
struct import_bar {
	double v;
	uint64_t count;
};

struct import_hist {
	const char *metric, *unit, *labels;
	struct import_bar *bars; /* in the order of the rows */
	size_t nr, size;
	double width;	   /* of a bucket, in @unit; 0: not known */
	uint64_t overflow; /* samples that have no row */
};

/* Something odd about the run that its reader must know, in one sentence. */
struct import_note {
	size_t line;
	char *text;
};

#define IMPORT_POINTS_MAX (1U << 18) /* of one series, bars of one histogram, rows of one run */
#define IMPORT_FIGURES_MAX 65536U    /* and as many series and histograms */
#define IMPORT_NOTES_MAX 64U

/* Finds a figure, series or histogram by its names. */
struct import_index {
	uint32_t *slots; /* 1 + position in the array; 0: free */
	size_t size;	 /* a power of two */
};

/* One test as one program printed it. */
struct import_run {
	const struct import_ops *ops;
	const char *tool; /* "iperf3", "cyclictest": ops->name */
	size_t number;	  /* from 1, in the order of the first rows */
	size_t line;	  /* of the first row, from 1 */
	size_t last_line;
	/* The first other text between two of its rows, and the row behind it; 0: none.  The rows
	 * may be of two tests of which the second goes on in time. */
	size_t text_line, text_row_line;
	char *label;   /* the command line before the rows, else the heading; "" when none */
	char *heading; /* the nearest other text line since the run before; "" when none */
	size_t rows;   /* lines or JSON items that were read as rows of it */
	struct import_figure *figures;
	size_t nr_figures, size_figures;
	struct import_index by_figure;
	struct import_series *series;
	size_t nr_series, size_series;
	struct import_index by_series;
	struct import_hist *hists;
	size_t nr_hists, size_hists;
	struct import_index by_hist;
	struct import_note *notes;
	size_t nr_notes, size_notes;
	void *data; /* what only its format knows: import_iperf3(), import_cyclictest() */
};

/* The figure, series or histogram of that name and labels, or NULL. */
const struct import_figure *import_figure_find(const struct import_run *run, const char *metric,
					       const char *labels);
/* Append "8.50 us", "0.12 %", "25": @v, which is of @unit. */
void import_value_format(struct buf *out, const char *unit, double v);
const struct import_series *import_series_find(const struct import_run *run, const char *metric,
					       const char *labels);
const struct import_hist *import_hist_find(const struct import_run *run, const char *metric,
					   const char *labels);

struct import_skip {
	size_t line;
	const char *tool;
	const char *reason; /* only valid in the sink's call; import_doc has copies */
};

#define IMPORT_SKIPS_KEPT 32

/*
 * Who gets what is found.  A callback returns 0, or negative errno with @e to stop the reading.
 */
struct import_sink {
	/* Runs come in the order of their first rows.  @run is the reader's; a sink that keeps it
	 * takes the contents and leaves {} behind. */
	int (*run)(struct import_sink *sink, struct import_run *run, struct err *e);
	/* A line that looked like a row and was not used. */
	int (*skip)(struct import_sink *sink, const struct import_skip *skip, struct err *e);
	/* Something about the text that is no row: where it was cut, a part that was not read. */
	int (*remark)(struct import_sink *sink, size_t line, const char *text, struct err *e);
};

struct import_reader;

int import_new(struct import_reader **ret, struct import_sink *sink, struct err *e);
/* Read the next @len bytes; pieces may end anywhere. */
int import_add(struct import_reader *reader, const char *data, size_t len, struct err *e);
/* The text has ended: what is still open is finished and handed over. */
int import_end(struct import_reader *reader, struct err *e);
void import_freep(struct import_reader **reader);
/* Lines that have been read. */
size_t import_lines(const struct import_reader *reader);

struct import_doc {
	struct import_run *runs; /* in the order of their first rows */
	size_t nr_runs, size;
	struct import_skip *skipped; /* the first IMPORT_SKIPS_KEPT; NULL when none */
	size_t nr_skipped;	     /* all of them */
	struct import_note *remarks; /* the first IMPORT_SKIPS_KEPT; NULL when none */
	size_t nr_remarks;
};

/* Contents of a run that a sink has taken. */
void import_run_release(struct import_run *run);
/* Of all that the run says, but not of where it stood and how it was called: a run that is quoted
 * again has the same. */
uint64_t import_run_hash(const struct import_run *run);

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

/* iperf3: tables of client and server, 3.0 ("Bandwidth") to 3.2x ("Bitrate"), and its JSON; and
 * iperf2, whose tables hold the same. */

enum iperf3_kind {
	IPERF3_INTERVAL,
	IPERF3_ODD,	/* longer than the others: no sample among them; weighed by its length */
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
	double bps_half; /* half of the last printed digit of @bps */
	double bytes_half;
	int64_t retr;	   /* -1: not printed */
	double cwnd_bytes; /* -1: not printed */
	double jitter_s;   /* UDP's receiver; -1: not printed */
	int64_t lost;	   /* -1: not printed */
	int64_t packets;   /* UDP; -1: not printed */
};

/* Interval rows that are not kept: what is made of all rows holds them too. */
struct iperf3_total {
	size_t rows;
	double bytes, bytes_half;
	double seconds;
	double bits, bits_half; /* rate times length */
	int64_t retr;
	bool no_retr; /* some rows have none */
};

struct iperf3_run {
	struct iperf3_row *rows;
	size_t nr, size;
	bool udp;
	bool json;
	bool reverse;	/* said before the rows: the far end sends */
	bool server;	/* said before the rows: this is the server's output */
	size_t dropped; /* rows beyond IMPORT_POINTS_MAX: no samples, but in means and sums */
	struct iperf3_total beyond[IPERF3_ROLES][2]; /* ... of streams; of [SUM] */
	size_t duplicates; /* rows that stood there twice and are kept once */
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
	size_t streams;	     /* distinct ones */
	bool added_up;	     /* several streams without [SUM] rows: added per interval */
	bool streams_differ; /* ... which failed: they do not share their intervals; nr == 0 */
	size_t omitted, tail, odd; /* rows left out of it */
	size_t gaps;		   /* places where the time jumps: rows are missing */
	double half_ratio;	   /* largest bps_half/bps */
	double half_bps; /* mean of bps_half: how far rounding may have moved the mean of @bps */
	double sender_bps, receiver_bps; /* of the summary; -1: not there */
	int64_t sender_retr;		 /* -1: not there */
};

/* NULL when @run is neither of iperf3 nor of iperf2. */
const struct iperf3_run *import_iperf3(const struct import_run *run);
bool iperf3_has_role(const struct iperf3_run *run, enum iperf3_role role);
/* Whose bytes the interval rows of @role count: "sent", "received", "" when it is not said. */
const char *iperf3_direction(const struct iperf3_run *run, enum iperf3_role role);
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

#define CYCLICTEST_COLUMNS 4096 /* of a histogram: more CPUs than any machine has */

/* What the lines around a histogram say of one of its columns; -1: not said. */
struct cyclictest_column {
	int64_t total, min, avg, max, overflow;
	uint64_t rows; /* what its rows add up to */
};

struct cyclictest_run {
	struct cyclictest_thread *threads; /* ascending t */
	size_t nr, size;
	bool ns; /* the command line before it has -N: figures are ns */
	bool has_command;
	bool looks_ns; /* no command line, and the figures can hardly be us */
	bool json;
	/* while reading; figures and threads are made of it */
	struct cyclictest_column *columns;
	size_t nr_columns; /* of the rows */
	size_t nr_said;	   /* of the line "# Min Latencies:": one less with -H */
	size_t hist_line, verbose_rows;
	bool sum_differs; /* the last column is not the sum of the others */
};

const struct cyclictest_run *import_cyclictest(const struct import_run *run);

#endif
