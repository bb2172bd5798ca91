/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TRAFFIC_VIEW_H
#define TRAFFIC_VIEW_H

/*
 * One test as iperf3 shows it, at either end: rows are computed here (view.c) and written as text
 * (text.c) or JSON (json.c).
 *
 *	view_init	what is shown of a test, and how
 *	view_began	connections; the test runs
 *	view_interval	a row for each stream and their sum, every interval
 *	view_ended	totals
 *	view_flush	the JSON document; view_release()
 */

#include <stdbool.h>
#include <stdint.h>

#include "load/flow.h"
#include "load/wire.h"

struct buf;
struct hist;
struct json_object;
struct out;
struct traffic_args;

/* One row: a stream or the sum of a side, of an interval or of the whole test. */
struct view_row {
	double start_s, end_s;
	uint64_t t_ns; /* CLOCK_MONOTONIC, of its end; 0: of a summary */
	uint64_t bytes;
	bool omitted;
	bool sender;	     /* this end sends */
	int64_t retransmits; /* WIRE_UNKNOWN: not this end's to know */
	uint64_t cwnd_bytes, snd_wnd_bytes, rtt_ns, rttvar_ns, pmtu_bytes, reorder, delivery_bps;
	uint64_t loss_episodes;
	uint64_t packets;
	int64_t lost;
	uint64_t out_of_order;
	double jitter_s;
	int cpu; /* that received the stream's packets; -1: unknown */
};

struct view_stream {
	struct flow_count last;
	uint64_t max_cwnd_bytes, max_snd_wnd_bytes;
	uint64_t min_rtt_ns, max_rtt_ns, sum_rtt_ns, nr_rtt;
	uint64_t reorder, loss_episodes;
	bool losing; /* the interval before had retransmits */
};

/* The streams of one direction. */
struct view_side {
	struct flow *flow;
	unsigned int nr;
	bool sender;		   /* this end sends; the client of round trips */
	int fd[WIRE_STREAMS_MAX];  /* as they were: they are closed before the totals are shown */
	int cpu[WIRE_STREAMS_MAX]; /* that received the packets, when last seen; -1: unknown */
	struct view_stream v[WIRE_STREAMS_MAX];
	struct hist *interval, *whole; /* of round trips at the client; NULL otherwise */
};

struct view {
	const struct traffic_args *args;
	struct out *out;  /* NULL: nothing is shown, only kept */
	char who;	  /* 'C' or 'S' */
	const char *peer; /* the client's address at the server; NULL at the client */
	const char *cookie;
	const struct wire_params *params;
	unsigned int nr_sides;
	struct view_side side[2]; /* the client's sending side first, at both ends */
	double interval_s;
	unsigned int nr_intervals;
	bool counts; /* nothing is omitted any more */
	bool ended;
	struct json_object *root, *start, *intervals;
	struct view_row rows[WIRE_STREAMS_MAX]; /* of the interval at work */
	struct wire_results theirs;		/* as the peer said, mended */
	unsigned int nr;			/* of the test at a server; 0: a client */
};

/* Borrows all pointers. */
struct view_cfg {
	const struct traffic_args *args;
	struct out *out; /* NULL: nothing is shown, only kept */
	char who;
	unsigned int nr;
	const char *peer, *cookie;
	const struct wire_params *params;
	struct flow *flow[2]; /* in the order of the wire; NULL: not in this test */
};

/* NULL: no memory. */
struct view *view_new(const struct traffic_args *args, struct out *out, char who);
void view_free(struct view *v);
void view_freep(struct view **v);

void view_began(struct view *v, const struct view_cfg *cfg);
void view_interval(struct view *v);
/* The omitted seconds are over, client_counts(); a server need not call it. */
void view_omitted(struct view *v);
/*
 * The rest that is too short to be a row is none: its rate would be noise.  What it holds is in the
 * totals.
 */
void view_tail(struct view *v);
/* @theirs NULL: the peer did not say. */
void view_ended(struct view *v, const struct wire_results *mine, const struct wire_results *theirs);
/* Print the document; @error NULL: none. */
void view_flush(struct view *v, const char *error);

/* For the writers. */
bool view_is_rr(const struct view *v);
/* A client's load of smallest datagrams; a server sees plain UDP. */
bool view_is_flood(const struct view *v);
double view_bps(const struct view_row *r);
/* Datagrams a second: those sent, or at a receiver those that came. */
double view_pps(const struct view_row *r);
/* Of lost in @r; what came twice or late cannot make it less than 0, nor a peer's words over 100.
 */
double view_lost_percent(const struct view_row *r);
/* Totals of stream @i of side @s as its sender or receiver saw it; false: that end did not say. */
bool view_total(const struct view *v, unsigned int side, unsigned int i,
		const struct wire_results *res, bool of_sender, struct view_row *ret);
bool view_sum(const struct view *v, unsigned int side, const struct wire_results *res,
	      bool of_sender, struct view_row *ret);

/* Distribution, rate and losses of round trips. */
struct json_object *view_rr_json(const struct hist *h, double seconds, int64_t lost);
/* Requests without a response, so far and of all streams. */
int64_t view_rr_lost(const struct view *v);

struct view_end {
	const struct wire_results *mine, *theirs;
};

void text_began(struct view *v);
void text_header(struct view *v);
void text_interval(struct view *v, unsigned int side, const struct view_row *rows,
		   const struct view_row *sum);
void text_ended(struct view *v, const struct view_end *end);

void json_began(struct view *v);
/* Rows of one interval; called once a side, then json_interval_end(). */
struct json_object *json_interval(struct view *v, struct json_object *o, unsigned int side,
				  const struct view_row *rows, const struct view_row *sum);
void json_interval_end(struct view *v, struct json_object *o);
void json_ended(struct view *v, const struct view_end *end);
void json_server_output(struct view *v, const char *text, bool is_json);
void json_event(struct view *v, const char *name, struct json_object *data);

#endif
