// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/stream.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/clock.h"

static int phase_of(const struct stream *s)
{
	return atomic_load_explicit(s->phase, memory_order_relaxed);
}

/* The only writer is this thread: a plain store, no locked instruction. */
static void count(struct stream *s, uint64_t bytes)
{
	atomic_store_explicit(&s->bytes, bytes, memory_order_relaxed);
}

/* What ends a stream while nobody has ended the test; afterwards anything may. */
static void break_off(struct stream *s, int error)
{
	if (atomic_load(s->phase) == STREAM_RUN)
		atomic_store(&s->error, error);
}

/* Sleep towards the next block's time; true while it has not come. */
static bool is_early(const struct stream *s, uint64_t bytes)
{
	uint64_t due = stream_due_ns(s->start_ns, bytes, s->cfg->rate_bps);
	uint64_t now = clock_mono_ns();
	struct timespec until;

	if (now >= due)
		return false;
	until = clock_timespec(due - now > STREAM_WAIT_NS ? now + STREAM_WAIT_NS : due);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	return true;
}

static void send_blocks(struct stream *s)
{
	uint64_t bytes = 0;

	while (phase_of(s) == STREAM_RUN) {
		ssize_t n;

		if (s->cfg->rate_bps && is_early(s, bytes))
			continue;
		n = send(s->fd, s->block, s->cfg->length_bytes, MSG_NOSIGNAL);
		if (n >= 0) {
			bytes += (uint64_t)n;
			count(s, bytes);
		} else if (errno != EAGAIN && errno != EINTR) {
			break_off(s, errno);
			return;
		}
	}
}

static void receive_blocks(struct stream *s)
{
	uint64_t bytes = 0;
	int idle = 0;

	/* twice idle, since the first wait may have begun before the drain did */
	while (phase_of(s) != STREAM_QUIT && idle < 2) {
		ssize_t n = recv(s->fd, s->block, s->cfg->length_bytes, 0);

		if (n > 0) {
			bytes += (uint64_t)n;
			count(s, bytes);
			if (phase_of(s) != STREAM_RUN)
				atomic_store_explicit(&s->end_ns, clock_mono_ns(),
						      memory_order_relaxed);
			idle = 0;
		} else if (n == 0) {
			break_off(s, ECONNRESET);
			return;
		} else if (errno == EAGAIN) {
			idle += phase_of(s) != STREAM_RUN;
		} else if (errno != EINTR) {
			break_off(s, errno);
			return;
		}
	}
}

void *stream_run(void *stream)
{
	struct stream *s = stream;

	/* 50 us of slack would be a fifth of the gap between blocks at 4 Gbit/s */
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	if (s->cfg->sender)
		send_blocks(s);
	else
		receive_blocks(s);
	atomic_store(&s->done, true);
	return NULL;
}
