/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TRIAL_FRAME_H
#define TRIAL_FRAME_H

/*
 * What travels between conductor and agent, over a socketpair, a serial line or ssh:
 *
 *	4 bytes  length of what follows, big-endian (type and payload)
 *	1 byte   type: 'J' a JSON object, 'R' a record (sample/codec.h)
 *	...      payload
 *
 * Conductor to agent: {"do":"open"|"trial"|"close"|"restore", ...}, each answered before the next
 * is sent.  Agent to conductor: {"is":"ready"|"phase"|"done"|"closed"|"restored"|"error", ...}, and
 * records between a trial's first phase and its "done".  The specs are in trial/spec.h.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct err;
struct json_object;
struct record;

#define FRAME_MAX (64U << 20)

enum frame_type {
	FRAME_JSON = 'J',
	FRAME_RECORD = 'R',
};

/* Whole frame or error; -EPIPE when the other side is gone (no SIGPIPE on sockets). */
int frame_send(int fd, enum frame_type type, const void *data, size_t len, struct err *e);
int frame_send_json(int fd, struct json_object *o, struct err *e);
int frame_send_record(int fd, const struct record *rec, struct err *e);

/*
 * Blocks until a frame is there; @payload is replaced.  Return: the type; 0 at the end of the
 * stream between two frames; -EBADMSG for a frame cut short or longer than FRAME_MAX.
 */
int frame_receive(int fd, struct buf *payload, struct err *e);
/* The JSON object of a FRAME_JSON payload; json_object_put(). */
int frame_json(const struct buf *payload, struct json_object **ret, struct err *e);

#endif
