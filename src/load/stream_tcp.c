// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/stream_loop.h"

#include <errno.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include "base/clock.h"

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
	uint64_t bytes = 0;
	struct pacer p;

	stream_pace_bytes(s, &p, unit);
	while (stream_runs(s)) {
		uint64_t now = clock_mono_ns(), due = pacer_due(&p);

		if (now < due) {
			stream_sleep(now, due);
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

void stream_receive_tcp(struct stream *s)
{
	const int flags = s->cfg->skip_rx_copy ? MSG_TRUNC : 0;
	uint64_t bytes = 0;
	int idle = 0;

	/* twice idle, since the first wait may have begun before the drain did */
	while (stream_phase(s) != STREAM_QUIT && idle < 2) {
		ssize_t n = recv(s->fd, s->block, s->cfg->length_bytes, flags);

		if (n > 0) {
			bytes += (uint64_t)n;
			stream_set(&s->bytes, bytes);
			if (!stream_runs(s))
				stream_set(&s->end_ns, clock_mono_ns());
			idle = 0;
		} else if (n == 0) {
			stream_break(s, ECONNRESET);
			return;
		} else if (errno == EAGAIN) {
			idle += !stream_runs(s);
		} else if (errno != EINTR) {
			stream_break(s, errno);
			return;
		}
	}
}
