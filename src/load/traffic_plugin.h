/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_TRAFFIC_PLUGIN_H
#define LOAD_TRAFFIC_PLUGIN_H

/*
 * What the loads of the traffic engine share: tcp, udp, flood, rr and crr are a table of options
 * and metrics each, and a struct traffic_kind; everything else is here.
 */

#include <stdint.h>

#include "load/load.h"
#include "load/wire.h"

enum traffic_direction {
	TO_DUT,
	FROM_DUT,
	BOTH_WAYS,
};

/* All options; each load has rows for those that are its own, the others stay zero. */
struct traffic_cfg {
	int direction;
	uint64_t rate_bps; /* of all streams of a direction together */
	uint64_t streams;
	uint64_t length_bytes;
	uint64_t window_bytes;
	char *congestion;
	bool nodelay, zerocopy, skip_rx_copy, gso;
	int arrivals; /* enum wire_arrivals */
	uint64_t burst;
	uint64_t port, local_port;
	char *cpu;
	uint64_t per_s; /* of flood: datagrams; of rr and crr: round trips; of all streams */
	int protocol;	/* rr: 0 TCP, 1 UDP */
	uint64_t request_bytes, response_bytes;
};

struct traffic_kind {
	const struct opt *options;
	bool udp, flood;
	enum wire_mode mode;
};

extern const char *const traffic_directions[];
extern const char *const traffic_arrivals[];

/* The ports of the machine under test: below the range that the kernel hands out. */
#define TRAFFIC_LOCAL_PORT "20000"

/* Rows that several loads have. */
#define TRAFFIC_STREAMS                                                          \
	{                                                                        \
		"streams", OPT_UINT, offsetof(struct traffic_cfg, streams), "1", \
			.min = 1, .max = WIRE_STREAMS_MAX,                       \
			.help = "parallel connections of each direction"         \
	}
#define TRAFFIC_PORT                                                                 \
	{                                                                            \
		"port", OPT_UINT, offsetof(struct traffic_cfg, port), "0",           \
			.max = 65535, .help = "port of the server, 0 for the peer's" \
	}
#define TRAFFIC_LOCAL_PORT_ROW                                                               \
	{                                                                                    \
		"local-port", OPT_UINT, offsetof(struct traffic_cfg, local_port),            \
			TRAFFIC_LOCAL_PORT,                                                  \
			.max = 65000,                                                        \
			.help = "first local port: the same queue in every trial; 0 for any" \
	}
#define TRAFFIC_SIZES                                                                      \
	{ "request",                                                                       \
	  OPT_BYTES,                                                                       \
	  offsetof(struct traffic_cfg, request_bytes),                                     \
	  "64",                                                                            \
	  .min = 1,                                                                        \
	  .max = WIRE_RR_SIZE_MAX,                                                         \
	  .help = "bytes of a request" },                                                  \
	{                                                                                  \
		"response", OPT_BYTES, offsetof(struct traffic_cfg, response_bytes), "64", \
			.min = 1, .max = WIRE_RR_SIZE_MAX, .help = "bytes of a response"   \
	}
#define TRAFFIC_CPU                                                                                          \
	{                                                                                                    \
		"cpu", OPT_STRING, offsetof(struct traffic_cfg, cpu), "",                                    \
			.help = "CPU of the first stream's thread, the next one on the next CPU; empty: any" \
	}
#define TRAFFIC_ARRIVALS                                                                            \
	{                                                                                           \
		"arrivals", OPT_ENUM, offsetof(struct traffic_cfg, arrivals), "even",               \
			.choices = traffic_arrivals,                                                \
			.help = "of paced work: even, or poisson: gaps drawn from the trial's seed" \
	}
#define TRAFFIC_DIRECTION                                                                 \
	{                                                                                 \
		"direction", OPT_ENUM, offsetof(struct traffic_cfg, direction), "to-dut", \
			.choices = traffic_directions, .help = "which way the bytes flow" \
	}

int traffic_usable(const struct host *host, struct err *why);
int traffic_open(struct load **ret, const struct load_env *env, const struct instance *inst,
		 const struct traffic_kind *kind, struct err *e);
int traffic_start(struct load *l, struct err *e);
int traffic_begin(struct load *l, uint64_t now_ns, struct err *e);
int traffic_end(struct load *l, uint64_t now_ns, struct err *e);
int traffic_stop(struct load *l, struct err *e);
int traffic_drain(struct load *l, struct sample_sink *out, struct err *e);
void traffic_close(struct load *l);

/* The rows of struct load_ops that all of them have. */
#define TRAFFIC_OPS                                                               \
	.usable = traffic_usable, .start = traffic_start, .begin = traffic_begin, \
	.end = traffic_end, .stop = traffic_stop, .drain = traffic_drain, .close = traffic_close

#endif
