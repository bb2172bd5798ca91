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

struct buf;
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
};

/* What a server error's first number means to a stock client. */
enum wire_errno {
	WIRE_EUNIMP = 13,
	WIRE_ERECVPARAMS = 114,
	WIRE_ESETCONGESTION = 134,
	WIRE_ECREATESTREAM = 200,
	WIRE_ESTREAMWRITE = 205,
	WIRE_ESTREAMREAD = 206,
};

#define WIRE_COOKIE_SIZE 37 /* 36 printable characters and NUL */
#define WIRE_PARAMS_MAX 8192
#define WIRE_RESULTS_MAX (1U << 20)
#define WIRE_STREAMS_MAX 128
#define WIRE_LENGTH_MAX (1U << 20) /* of a block */
#define WIRE_TIME_MAX_S 86400
#define WIRE_WINDOW_MAX (512U << 20)

/* What the client asks for. */
struct wire_params {
	bool udp;
	bool reverse; /* the server sends */
	bool bidir;
	bool nodelay;
	unsigned int streams;
	unsigned int time_s; /* 0: until the client says so */
	unsigned int omit_s;
	uint64_t bytes, blocks; /* other ways to end; the client decides when */
	uint64_t rate_bps;	/* of each stream; 0: flat out */
	size_t length_bytes;	/* of a block; 0: the default of the protocol */
	unsigned int window_bytes;
	char congestion[16]; /* "" leaves the system's */
	char version[32];
};

#define WIRE_UNKNOWN INT64_C(-1)
#define WIRE_COUNT_MAX (INT64_C(1) << 53) /* of retransmits */

struct wire_stream {
	unsigned int id;
	uint64_t bytes;
	int64_t retransmits; /* WIRE_COUNT_MAX at most; WIRE_UNKNOWN: not available */
	double start_s, end_s;
};

/* What each side says after the test. */
struct wire_results {
	double cpu_total, cpu_user, cpu_system; /* percent, as the protocol has it */
	char congestion[16];
	unsigned int nr;
	struct wire_stream streams[WIRE_STREAMS_MAX];
};

/* Stream ids on the wire are 1, 3, 4, 5, ...: the second is skipped. @index from 0. */
static inline unsigned int wire_stream_id(unsigned int index)
{
	return index == 0 ? 1 : index + 2;
}

/* "PARAM_EXCHANGE", or "an unknown state". */
const char *wire_state_name(int state);
void wire_cookie_make(uint64_t seed, char ret[WIRE_COOKIE_SIZE]);
/* 36 printable characters and NUL: what every version sent so far. */
bool wire_cookie_is_valid(const char cookie[WIRE_COOKIE_SIZE]);

/* Append the JSON text, without the length. */
int wire_params_encode(const struct wire_params *p, struct buf *out, struct err *e);
int wire_results_encode(const struct wire_results *res, struct buf *out, struct err *e);

/*
 * Text of @len bytes (no NUL needed) to a struct.  Refused with -EBADMSG and the reason: text that
 * is not one JSON object, nesting over 8, wrong types, missing mandatory keys, numbers out of
 * range, over WIRE_*_MAX bytes.  Unknown keys are ignored, as all versions do.
 */
int wire_params_decode(const char *text, size_t len, struct wire_params *ret, struct err *e);
int wire_results_decode(const char *text, size_t len, struct wire_results *ret, struct err *e);

#endif
