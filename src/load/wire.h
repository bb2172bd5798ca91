/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_WIRE_H
#define LOAD_WIRE_H

/*
 * The bytes of iperf3's control connection, without the connection: pure, accepts any input.
 *
 * Checked against iperf 3.12 on the wire.  JSON travels as a 4-byte big-endian length and
 * unformatted text; control bytes are one signed char.  3.12 and 3.13 print -1 as 2^64-1, 3.2 to
 * 3.11 print large counts as 1.23e+15: both are understood.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct err;

enum wire_state {
	WIRE_SERVER_ERROR = -2,
	WIRE_ACCESS_DENIED = -1,
	WIRE_TEST_START = 1,
	WIRE_TEST_RUNNING = 2,
	WIRE_TEST_END = 4,
	WIRE_PARAM_EXCHANGE = 9,
	WIRE_CREATE_STREAMS = 10,
	WIRE_SERVER_TERMINATE = 11,
	WIRE_CLIENT_TERMINATE = 12,
	WIRE_EXCHANGE_RESULTS = 13,
	WIRE_DISPLAY_RESULTS = 14,
	WIRE_DONE = 16,
	/*
	 * Ours: the answer of an irqlab server to the key "irqlab", before CREATE_STREAMS; JSON
	 * follows (struct wire_extended).  A stock server ignores the key and sends CREATE_STREAMS.
	 */
	WIRE_EXTENDED = 100,
};

/* What a server error's first number means to a stock client (iperf_api.h of 3.21). */
enum wire_errno {
	WIRE_EUNIMP = 13,
	WIRE_ETOTALRATE = 27,	/* more than the server's limit */
	WIRE_EMAXDURATION = 37, /* longer than the server allows */
	WIRE_ERECVPARAMS = 114,
	WIRE_EAFFINITY = 132,
	WIRE_ESETCONGESTION = 134,
	WIRE_ESETBUF2 = 141, /* socket buffers smaller than asked for */
	WIRE_ENOMSG = 144,   /* idle too long */
	WIRE_EDURATION_EXPIRED = 160,
	WIRE_ECREATESTREAM = 200,
	WIRE_ESTREAMLISTEN = 202,
	WIRE_ESTREAMACCEPT = 204,
	WIRE_ESTREAMWRITE = 205,
	WIRE_ESTREAMREAD = 206,
};

#define WIRE_IRQLAB "irqlab " /* how the version of our own clients begins */
#define WIRE_COOKIE_SIZE 37   /* 36 printable characters and NUL */
#define WIRE_PARAMS_MAX 8192
#define WIRE_RESULTS_MAX (1U << 20)
#define WIRE_OUTPUT_MAX (16U << 20) /* results with what the server printed */
#define WIRE_STREAMS_MAX 128	    /* in one direction */
#define WIRE_LENGTH_MAX (1U << 20)  /* of a block */
#define WIRE_TIME_MAX_S 86400
#define WIRE_WINDOW_MAX (512U << 20)
#define WIRE_MSS_MAX 32767
#define WIRE_BURST_MAX 1000
#define WIRE_OMIT_MAX_S 600
#define WIRE_FLOWLABEL_MAX 0xfffff
#define WIRE_CPU_MAX 1024
#define WIRE_UDP_LENGTH_MAX 65507
#define WIRE_UDP_LENGTH_MIN 16 /* what a datagram's header takes */
#define WIRE_RR_SIZE_MAX (1U << 20)
#define WIRE_RR_UDP_MIN 8 /* what the number of a request over UDP takes */

/* What is done with the streams. */
enum wire_mode {
	WIRE_BULK, /* iperf3's: one side sends, the other receives */
	WIRE_RR,   /* ours: request and response, over and over */
	WIRE_CRR,  /* ours: connect, request, response, close */
};

/* When paced work is due. */
enum wire_arrivals {
	WIRE_EVEN,
	WIRE_POISSON, /* exponential gaps, seeded */
};

/* What the client asks for. */
struct wire_params {
	bool udp;
	bool reverse; /* the server sends */
	bool bidir;   /* both do: the first half of the streams is the client's to send on */
	bool nodelay;
	bool udp_counters_64bit;
	bool repeating_payload;
	bool dont_fragment;
	bool zerocopy;	   /* of the sender */
	bool skip_rx_copy; /* of the receiver */
	bool gsro;	   /* UDP GSO at the sender, GRO at the receiver (3.21) */
	bool get_server_output;
	unsigned int streams; /* of each direction */
	unsigned int time_s;  /* 0: until the client says so */
	unsigned int omit_s;
	uint64_t bytes, blocks; /* other ways to end: of each direction */
	uint64_t rate_bps;	/* of each stream; 0: flat out */
	/* blocks sent at once when paced; 0: one, or what is due in half a millisecond */
	unsigned int burst;
	size_t length_bytes; /* of a block; 0: the default of the protocol */
	unsigned int window_bytes;
	unsigned int mss_bytes;
	unsigned int tos;
	unsigned int flowlabel;
	int server_cpu;	     /* -A n,m: where the server shall run; -1: anywhere */
	char congestion[16]; /* "" leaves the system's */
	char title[128];
	char extra_data[1024];
	char version[32];
	/* what a stock peer does not know; sent only when the server must know */
	enum wire_mode mode;
	enum wire_arrivals arrivals;
	uint64_t seed;				    /* of the arrivals */
	uint64_t rr_per_s;			    /* of each stream; 0: back to back */
	unsigned int request_bytes, response_bytes; /* of rr and crr */
};

#define WIRE_UNKNOWN INT64_C(-1)
#define WIRE_COUNT_MAX (INT64_C(1) << 53) /* of retransmits */

struct wire_stream {
	unsigned int id;
	uint64_t bytes;
	int64_t retransmits; /* WIRE_COUNT_MAX at most; WIRE_UNKNOWN: not available */
	/* of UDP: the sender knows packets, the receiver all of them */
	uint64_t packets; /* sent; at a receiver the highest sequence number seen */
	int64_t errors;	  /* lost: gaps in the sequence less what came late */
	uint64_t omitted_packets;
	int64_t omitted_errors;
	bool has_omitted; /* both were there (3.14) */
	double jitter_s;
	double start_s, end_s;
};

/* What an irqlab server answers to parameters that are extended. */
struct wire_extended {
	char version[32];
	uint16_t port; /* where the connections of crr go; 0 otherwise */
};

/* What the server printed, for a client that asked; no @text: nothing. */
struct wire_output {
	struct buf text;
	bool is_json;
};

/* What each side says after the test. */
struct wire_results {
	double cpu_total, cpu_user, cpu_system; /* percent, as the protocol has it */
	char congestion[16];
	unsigned int nr;
	struct wire_stream streams[2 * WIRE_STREAMS_MAX];
};

/* Stream ids on the wire are 1, 3, 4, 5, ...: the second is skipped. @index from 0. */
static inline unsigned int wire_stream_id(unsigned int index)
{
	return index == 0 ? 1 : index + 2;
}

/* "PARAM_EXCHANGE", or "an unknown state". */
const char *wire_state_name(int state);
/* What the first number of a server's error says, in words; "an error without words here". */
const char *wire_error_text(int code);
void wire_cookie_make(uint64_t seed, char ret[WIRE_COOKIE_SIZE]);
/* 36 printable characters and NUL: what every version sent so far. */
bool wire_cookie_is_valid(const char cookie[WIRE_COOKIE_SIZE]);

/*
 * Whether these need an irqlab server, which then answers WIRE_EXTENDED.  A stock peer never sees
 * the difference: without need the key is not sent and nothing is answered.
 */
bool wire_params_are_extended(const struct wire_params *p);

/* Append the JSON text, without the length. */
int wire_params_encode(const struct wire_params *p, struct buf *out, struct err *e);
int wire_extended_encode(const struct wire_extended *x, struct buf *out, struct err *e);
/* @output may be NULL; said to be JSON but not, it goes as text. */
int wire_results_encode(const struct wire_results *res, const struct wire_output *output,
			struct buf *out, struct err *e);

/*
 * Text of @len bytes (no NUL needed) to a struct.  Refused with -EBADMSG and the reason: text that
 * is not one JSON object, nesting over 8 (16 with output), wrong types, missing mandatory keys,
 * numbers out of range, over WIRE_*_MAX bytes.  Unknown keys are ignored, as all versions do; texts
 * for people (title, extra data, version) are cut to what fits.
 */
int wire_params_decode(const char *text, size_t len, struct wire_params *ret, struct err *e);
int wire_extended_decode(const char *text, size_t len, struct wire_extended *ret, struct err *e);
/* @output: appended to, for a client; NULL: not wanted, and less is read. */
int wire_results_decode(const char *text, size_t len, struct wire_results *ret,
			struct wire_output *output, struct err *e);

#endif
