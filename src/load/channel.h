/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef LOAD_CHANNEL_H
#define LOAD_CHANNEL_H

/*
 * The control connection: whole messages over a non-blocking socket, every wait bounded.  Who has
 * more to watch than this socket puts its own wait in.
 */

#include <stddef.h>
#include <stdint.h>

#include "load/wire.h"

struct buf;
struct err;

struct channel {
	int fd;		  /* non-blocking; borrowed */
	uint64_t step_ns; /* bound of one message */
	const char *peer; /* for messages: "server 198.18.0.2:5201" */
	/*
	 * Wait until poll() would report @events; 0 when it does, -ETIMEDOUT at @deadline_ns.
	 * NULL: plain poll().
	 */
	int (*wait)(struct channel *ch, short events, uint64_t deadline_ns, struct err *e);
	void *ctx; /* of @wait */
};

int channel_wait(struct channel *ch, short events, uint64_t deadline_ns, struct err *e);
/* Exactly @len bytes; -ECONNRESET when the peer closes before. */
int channel_read(struct channel *ch, void *data, size_t len, struct err *e);
int channel_write(struct channel *ch, const void *data, size_t len, struct err *e);
int channel_read_state(struct channel *ch, int *ret, struct err *e);
int channel_write_state(struct channel *ch, int state, struct err *e);
/* Length and text; more than @max bytes are refused before any is read. */
int channel_read_json(struct channel *ch, size_t max, struct buf *out, struct err *e);
int channel_write_json(struct channel *ch, const struct buf *text, struct err *e);
/* Results both ways; the client speaks first. */
int channel_read_results(struct channel *ch, struct wire_results *ret, struct wire_output *output,
			 struct err *e);
int channel_write_results(struct channel *ch, const struct wire_results *res,
			  const struct wire_output *output, struct err *e);

#endif
