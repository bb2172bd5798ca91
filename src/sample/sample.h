/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SAMPLE_SAMPLE_H
#define SAMPLE_SAMPLE_H

/*
 * Records: what a load, probe or knob says about a trial.  They are the only types that cross
 * folders between measuring and storing.
 *
 * A record belongs to a metric ("wakeup.latency"), has a unit and labels.  Labels are one string in
 * canonical form, "key=value,key=value" with keys in alphabetical order, no blanks
 * ("cpu=0,prio=98"),
 * "" for none; they are interned by the store.  Times are ns since the start of the trial's window
 * on CLOCK_MONOTONIC; negative before it (warm-up).
 */

#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct hist;

enum record_kind {
	RECORD_SCALAR = 1, /* one number of the trial */
	RECORD_SERIES = 2, /* numbers over time */
	RECORD_HIST = 3,   /* a distribution */
	RECORD_EVENT = 4,  /* something that happened, in words */
};

/* What kind of thing an event is; decides where it is shown and whether it vetoes. */
enum severity {
	SEVERITY_NOTE = 0, /* good to know: "queue 0 received the flow" */
	SEVERITY_WARN = 1, /* stands beside the verdict: "NOHZ tick-stop error: NET_RX pending" */
	SEVERITY_VETO = 2, /* the trial cannot be used: "variant after had no effect" */
};

struct point {
	int64_t t_ns;
	double v;
};

struct record {
	enum record_kind kind;
	const char *metric;
	const char *unit; /* "ns", "bit/s", "1/s", "count", "ratio", "byte", "Hz", "degC" */
	const char *labels;
	double value;		    /* SCALAR */
	const struct point *points; /* SERIES, by time */
	size_t nr_points;
	const struct hist *hist; /* HIST */
	int64_t t_ns;		 /* EVENT */
	enum severity severity;	 /* EVENT */
	const char *text;	 /* EVENT: one line of UTF-8 */
};

/* Where records go. emit() borrows the record and returns 0 or negative errno. */
struct sample_sink {
	int (*emit)(struct sample_sink *sink, const struct record *rec, struct err *e);
};

int sample_scalar(struct sample_sink *sink, const char *metric, const char *unit,
		  const char *labels, double value, struct err *e);
int sample_hist(struct sample_sink *sink, const char *metric, const char *labels,
		const struct hist *h, struct err *e);
int sample_event(struct sample_sink *sink, const char *metric, enum severity severity, int64_t t_ns,
		 const char *text, struct err *e);

/*
 * A record that owns what it points to, and lists of them: what the conductor keeps until the
 * trial ends.
 */
struct record *record_copy(const struct record *rec);
void record_free(struct record *rec);
void record_freep(struct record **rec);

struct record_list {
	struct record **v;
	size_t nr, size;
};

/* Takes @rec, also on failure. */
int record_list_take(struct record_list *l, struct record *rec, struct err *e);
void record_list_release(struct record_list *l);

#endif
