// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/stream_loop.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"

/*
 * Round trips.  Back to back a request follows the response before it.  At a rate requests are sent
 * at their times whether or not responses have come (open loop), and latency counts from the time a
 * request was to be sent: a stall is seen by all requests that fell into it.
 *
 * Over UDP a request begins with its number, which the response repeats; one that has not come
 * after STREAM_LOST_NS is lost.
 */

#define RING (1U << 16) /* requests under way */

struct rr {
	uint64_t due[RING]; /* of request n at n % RING [ns]; 0: answered or lost */
	uint64_t head;	    /* the oldest request under way */
	uint64_t tail;	    /* the next one */
	uint64_t unsent;    /* bytes of requests that found no room in the socket (TCP) */
	size_t have;	    /* bytes of a response that is not complete (TCP) */
	size_t request, response;
	size_t room; /* in payload */
	char payload[];
};

static size_t size_of(const struct stream_cfg *cfg, unsigned int bytes)
{
	const size_t least = cfg->udp ? WIRE_RR_UDP_MIN : 1;

	return bytes < least ? least : bytes;
}

static size_t room_of(const struct stream_cfg *cfg)
{
	size_t request = size_of(cfg, cfg->request_bytes);
	size_t response = size_of(cfg, cfg->response_bytes);

	return request > response ? request : response;
}

size_t stream_rr_bytes(const struct stream_cfg *cfg)
{
	return sizeof(struct rr) + room_of(cfg);
}

static struct rr *rr_prepare(struct stream *s)
{
	struct rr *rr = (struct rr *)s->block;

	memset(rr, 0, sizeof(*rr));
	rr->request = size_of(s->cfg, s->cfg->request_bytes);
	rr->response = size_of(s->cfg, s->cfg->response_bytes);
	rr->room = room_of(s->cfg);
	return rr;
}

static void count(struct stream *s, const struct rr *rr)
{
	stream_add(&s->bytes, rr->request + rr->response);
}

/* Whether an error of the socket ends the stream; what a UDP peer refuses is lost, not more. */
static bool is_fatal(struct stream *s, int error)
{
	if (error == EAGAIN || error == EINTR || error == ENOBUFS)
		return false;
	stream_break(s, error);
	return true;
}

/* All of @len bytes; false when the phase changed or the stream broke. */
static bool send_all(struct stream *s, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(s->fd, data, len, MSG_NOSIGNAL);

		if (n < 0 && (is_fatal(s, errno) || !stream_runs(s)))
			return false;
		data += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* 1 when it has come, 0 when not before the request counts as lost, -1 at the end. */
static int await_tcp(struct stream *s, struct rr *rr)
{
	for (size_t have = 0; have < rr->response;) {
		ssize_t n = recv(s->fd, rr->payload, rr->response - have, 0);

		if (n == 0)
			stream_break(s, ECONNRESET);
		if (n == 0 || (n < 0 && is_fatal(s, errno)))
			return -1;
		have += n > 0 ? (size_t)n : 0;
		if (n > 0)
			continue;
		stream_change_hist(s);
		if (!stream_runs(s))
			return -1;
	}
	return 1;
}

static int await_udp(struct stream *s, struct rr *rr, uint64_t nr, uint64_t until_ns)
{
	while (stream_runs(s)) {
		ssize_t n = recv(s->fd, rr->payload, rr->room, 0);
		uint64_t got;

		if (n < 0 && is_fatal(s, errno))
			return -1;
		memcpy(&got, rr->payload, sizeof(got));
		if (n >= (ssize_t)sizeof(got) && be64toh(got) == nr)
			return 1;
		stream_change_hist(s);
		if (clock_mono_ns() >= until_ns)
			return 0;
	}
	return -1;
}

static void ask_back_to_back(struct stream *s, struct rr *rr)
{
	uint64_t start = clock_mono_ns();

	for (uint64_t nr = 1; stream_runs(s); nr++) {
		uint64_t wire = htobe64(nr), now;
		int r;

		if (s->cfg->udp)
			memcpy(rr->payload, &wire, sizeof(wire));
		if (!send_all(s, rr->payload, rr->request))
			return;
		r = s->cfg->udp ? await_udp(s, rr, nr, start + STREAM_LOST_NS) : await_tcp(s, rr);
		if (r < 0)
			return;
		now = clock_mono_ns();
		if (r > 0) {
			stream_record(s, now - start);
			count(s, rr);
		} else {
			stream_lose(s, 1);
		}
		stream_change_hist(s);
		start = now;
	}
}

static void answered(struct stream *s, struct rr *rr, uint64_t nr, uint64_t now)
{
	uint64_t *due = &rr->due[nr % RING];

	/* late: lost already; twice; or another's */
	if (nr < rr->head || nr >= rr->tail || *due == 0)
		return;
	stream_record(s, now - *due);
	count(s, rr);
	*due = 0;
}

/* Requests no longer under way make room. */
static void settle(struct stream *s, struct rr *rr, uint64_t now)
{
	for (; rr->head < rr->tail; rr->head++) {
		uint64_t *due = &rr->due[rr->head % RING];

		if (*due && (!s->cfg->udp || *due + STREAM_LOST_NS > now))
			return;
		if (*due)
			stream_lose(s, 1);
		*due = 0;
	}
}

/* Whatever of the requests the socket takes now (TCP); false when the stream is broken. */
static bool flush(struct stream *s, struct rr *rr)
{
	while (rr->unsent > 0) {
		size_t len = rr->unsent < rr->room ? (size_t)rr->unsent : rr->room;
		ssize_t n = send(s->fd, rr->payload, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return !is_fatal(s, errno);
		rr->unsent -= (uint64_t)n;
	}
	return true;
}

/* One request that was due at @due; false when the stream is broken. */
static bool ask(struct stream *s, struct rr *rr, uint64_t due)
{
	uint64_t wire = htobe64(rr->tail);

	if (rr->tail - rr->head == RING) {
		stream_lose(s, 1); /* too many under way: not sent */
		return true;
	}
	rr->due[rr->tail++ % RING] = due;
	if (!s->cfg->udp) {
		rr->unsent += rr->request;
		return true;
	}
	memcpy(rr->payload, &wire, sizeof(wire));
	/* what finds no room is lost as if the network had dropped it */
	return send(s->fd, rr->payload, rr->request, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 ||
	       !is_fatal(s, errno);
}

/* Responses that have come; false when the stream is broken. */
static bool take(struct stream *s, struct rr *rr)
{
	for (;;) {
		ssize_t n = recv(s->fd, rr->payload, rr->room, MSG_DONTWAIT);
		uint64_t now, nr = 0;

		if (n < 0)
			return !is_fatal(s, errno);
		now = clock_mono_ns();
		if (s->cfg->udp) {
			memcpy(&nr, rr->payload, sizeof(nr));
			if (n >= (ssize_t)sizeof(nr))
				answered(s, rr, be64toh(nr), now);
			continue;
		}
		if (n == 0) {
			stream_break(s, ECONNRESET);
			return false;
		}
		for (rr->have += (size_t)n; rr->have >= rr->response; rr->have -= rr->response) {
			answered(s, rr, rr->head, now);
			rr->head += rr->head < rr->tail;
		}
	}
}

static void ask_at_times(struct stream *s, struct rr *rr)
{
	struct pollfd p = { .fd = s->fd };
	struct pacer pace;
	bool fine = true;

	stream_pace_requests(s, &pace);
	while (fine && stream_runs(s)) {
		uint64_t now = clock_mono_ns(), due = pacer_due(&pace), wait;
		struct timespec ts;

		for (; fine && due <= now; due = pacer_due(&pace)) {
			fine = ask(s, rr, due);
			pacer_step(&pace, now);
		}
		fine = fine && flush(s, rr);
		wait = due - now < STREAM_WAIT_NS ? due - now : STREAM_WAIT_NS;
		ts = clock_timespec(wait);
		p.events = (short)(POLLIN | (rr->unsent ? POLLOUT : 0));
		if (fine && ppoll(&p, 1, &ts, NULL) > 0 && p.revents & ~POLLOUT)
			fine = take(s, rr);
		settle(s, rr, clock_mono_ns());
		stream_change_hist(s);
	}
}

void stream_ask(struct stream *s)
{
	struct rr *rr = rr_prepare(s);

	rr->head = rr->tail = 1;
	if (s->cfg->rr_per_s)
		ask_at_times(s, rr);
	else
		ask_back_to_back(s, rr);
}

/* TCP: a response for every whole request; UDP: each is one.  False when the stream is broken. */
static bool respond(struct stream *s, struct rr *rr, size_t got)
{
	if (s->cfg->udp) {
		if (got < sizeof(uint64_t))
			return true;
		/* the request's number stays in front */
		if (send(s->fd, rr->payload, rr->response, MSG_NOSIGNAL) < 0)
			return errno == ECONNREFUSED || !is_fatal(s, errno);
		got = rr->request;
	}
	for (rr->have += got; rr->have >= rr->request; rr->have -= rr->request) {
		if (!s->cfg->udp && !send_all(s, rr->payload, rr->response))
			return false;
		stream_add(&s->packets, 1);
		count(s, rr);
	}
	return true;
}

void stream_answer(struct stream *s)
{
	struct rr *rr = rr_prepare(s);
	int idle = 0;

	/* twice idle, since the first wait may have begun before the peer ended */
	while (stream_phase(s) != STREAM_QUIT && idle < 2) {
		ssize_t n = recv(s->fd, rr->payload, rr->room, 0);

		if (n > 0) {
			if (!respond(s, rr, (size_t)n))
				return;
			idle = 0;
		} else if (n == 0 && !s->cfg->udp) {
			stream_break(s, ECONNRESET);
			return;
		} else if (n < 0 && errno == EAGAIN) {
			idle += stream_settles(s);
		} else if (n < 0 && errno != EINTR && errno != ECONNREFUSED) {
			stream_break(s, errno);
			return;
		}
	}
}
