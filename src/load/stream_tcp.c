// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/stream_loop.h"

#include <errno.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include "base/clock.h"

/* What a paced sender is late by at most, to be woken less often; evenly paced and no burst asked
 * for: a burst of 1 is one block at a time. */
#define GRAIN_NS (500 * NS_PER_US)
/* A receiver is woken for what comes in so long, */
#define WAKE_NS NS_PER_MS
/* as seen over so long. */
#define LOOK_NS (10 * NS_PER_MS)

static ssize_t put(struct stream *s, size_t from, size_t len)
{
	off_t at = (off_t)from;

	if (s->file >= 0)
		return sendfile(s->fd, s->file, &at, len);
	return send(s->fd, s->block + from, len, MSG_NOSIGNAL);
}

/* One block, or what the limit leaves of it; -1 when the stream is broken. */
static int send_block(struct stream *s, size_t want, uint64_t *bytes)
{
	size_t len = stream_claim(s, want), done = 0;

	if (len == 0)
		stream_rest(s);
	while (done < len && stream_runs(s)) {
		ssize_t n = put(s, done, len - done);

		if (n >= 0) {
			done += (size_t)n;
			*bytes += (uint64_t)n;
			stream_set(&s->bytes, *bytes);
		} else if (errno != EAGAIN && errno != EINTR) {
			stream_break(s, errno);
			return -1;
		}
	}
	stream_give_back(s, len - done);
	return 0;
}

static void send_paced(struct stream *s)
{
	const unsigned int burst = s->cfg->burst ? s->cfg->burst : 1;
	const size_t unit = stream_unit_bytes(s->cfg);
	uint64_t bytes = 0, late;
	struct pacer p;

	stream_pace_bytes(s, &p, unit);
	late = s->cfg->burst ? 0 : pacer_late(&p, GRAIN_NS);
	while (stream_runs(s)) {
		uint64_t now = clock_mono_ns(), due = pacer_due(&p);

		if (now < due) {
			stream_sleep(now, due + late);
			continue;
		}
		for (unsigned int i = 0; i < burst; i++)
			if (send_block(s, unit, &bytes) < 0)
				return;
		pacer_step(&p, now);
	}
}

void stream_send_tcp(struct stream *s)
{
	uint64_t bytes = 0;

	if (s->cfg->rate_bps) {
		send_paced(s);
		return;
	}
	while (stream_runs(s))
		if (send_block(s, s->cfg->length_bytes, &bytes) < 0)
			return;
}

/* What is copied shall stay in a core's cache; 1 MB is no faster when nothing is copied. */
size_t stream_tcp_room(const struct stream_cfg *cfg)
{
	const size_t least = 256U << 10;

	return cfg->length_bytes > least ? cfg->length_bytes : least;
}

/*
 * A receiver that is woken for every segment spends more on waking than on the copy.  Once bytes
 * come fast, it is woken for as many as come in WAKE_NS, or for as many as it reads at once
 * (SO_RCVLOWAT): counters are late by no more than that.
 */
struct wakes {
	uint64_t since_ns, bytes; /* of the look before */
	int at_least;		  /* what the socket waits for */
	int room;
};

static void wake_for(struct stream *s, struct wakes *w, uint64_t bytes)
{
	int want = bytes > (uint64_t)w->room ? w->room : bytes > 0 ? (int)bytes : 1;

	if (want <= w->at_least && want > w->at_least / 2)
		return;
	if (setsockopt(s->fd, SOL_SOCKET, SO_RCVLOWAT, &want, sizeof(want)) == 0)
		w->at_least = want;
}

/* After @got of now @bytes; less than was waited for when the wait was long enough. */
static void look(struct stream *s, struct wakes *w, uint64_t bytes, size_t got)
{
	const uint64_t now = clock_mono_ns(), passed = now - w->since_ns;

	if (passed < LOOK_NS && got >= (size_t)w->at_least)
		return;
	wake_for(s, w, got < (size_t)w->at_least ? 1 : (bytes - w->bytes) * WAKE_NS / passed);
	w->since_ns = now;
	w->bytes = bytes;
}

void stream_receive_tcp(struct stream *s)
{
	const int flags = s->cfg->skip_rx_copy ? MSG_TRUNC : 0;
	const size_t room = stream_block_bytes(s->cfg);
	struct wakes wakes = { .since_ns = clock_mono_ns(), .at_least = 1, .room = (int)room };
	uint64_t bytes = 0;
	int idle = 0;

	/* twice idle, since the first wait may have begun before the peer ended */
	while (stream_phase(s) != STREAM_QUIT && idle < 2) {
		ssize_t n = recv(s->fd, s->block, room, flags);

		if (n > 0) {
			bytes += (uint64_t)n;
			stream_set(&s->bytes, bytes);
			if (!stream_runs(s))
				stream_set(&s->end_ns, clock_mono_ns());
			else
				look(s, &wakes, bytes, (size_t)n);
			idle = 0;
		} else if (n == 0) {
			stream_break(s, ECONNRESET);
			return;
		} else if (errno == EAGAIN) {
			idle += stream_settles(s) && !s->cfg->has_end;
		} else if (errno != EINTR) {
			stream_break(s, errno);
			return;
		}
	}
}
