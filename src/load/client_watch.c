// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/client_parts.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/clock.h"

#define REASON_MS 300 /* for the reason of a broken stream to arrive */

static void fail(struct client *c)
{
	atomic_store_explicit(&c->failed, true, memory_order_release);
}

/* Nothing may come from the server while the test runs. */
static void judge_control(struct client *c)
{
	signed char state = 0;
	ssize_t n = recv(c->fd, &state, 1, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0)
		err_sys(&c->why, "read from %s", c->peer);
	else if (n == 0)
		err_set(&c->why, -ECONNRESET, "%s closed the connection during the test", c->peer);
	else if (state < 0 || state == WIRE_SERVER_TERMINATE)
		client_unexpected(c, state, WIRE_EXCHANGE_RESULTS, &c->why);
	else
		err_set(&c->why, -EPROTO, "%s sent %d (%s) during the test", c->peer, state,
			wire_state_name(state));
	fail(c);
}

static void take_sample(struct side *s, size_t max)
{
	size_t nr = atomic_load_explicit(&s->nr_samples, memory_order_relaxed);

	if (nr >= max) {
		atomic_fetch_add_explicit(&s->lost, 1, memory_order_relaxed);
		return;
	}
	flow_read(&s->flow, &s->samples[nr]);
	atomic_store_explicit(&s->nr_samples, nr + 1, memory_order_release);
}

/* The first stream that broke. */
int client_check_flows(struct client *c, struct err *e)
{
	int r = 0;

	for (enum client_side i = 0; i < CLIENT_SIDES && r >= 0; i++)
		if (c->side[i].is_used)
			r = flow_check(&c->side[i].flow, e);
	return r;
}

void client_judge_streams(struct client *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	struct err why = {};

	if (atomic_load_explicit(&c->failed, memory_order_relaxed) ||
	    client_check_flows(c, &why) == 0)
		return;
	/* a server that ends a test says why on the control connection */
	if (poll(&p, 1, REASON_MS) > 0)
		judge_control(c);
	if (atomic_load_explicit(&c->failed, memory_order_relaxed))
		return;
	c->why = why;
	err_wrap(&c->why, "%s", c->peer);
	fail(c);
}

/* Who only receives would wait for a server that has gone without a word. */
static void judge_silence(struct client *c)
{
	uint64_t now = clock_mono_ns(), bytes;

	if (!c->cfg.params.reverse || atomic_load_explicit(&c->failed, memory_order_relaxed))
		return;
	bytes = flow_sum_bytes(&c->side[CLIENT_RX].flow);
	if (bytes != c->received)
		c->received_ns = now;
	c->received = bytes;
	if (now - c->received_ns < c->cfg.receive_timeout_ns)
		return;
	err_set(&c->why, -ETIMEDOUT, "%s sent nothing for %.1f s", c->peer,
		(double)c->cfg.receive_timeout_ns / 1e9);
	fail(c);
}

void client_omit_when_due(struct client *c)
{
	if (c->omit_due_ns == 0 || clock_mono_ns() < c->omit_due_ns)
		return;
	c->omit_due_ns = 0;
	for (enum client_side i = 0; i < CLIENT_SIDES; i++)
		if (c->side[i].is_used)
			flow_omit(&c->side[i].flow);
	atomic_store_explicit(&c->counts, true, memory_order_release);
}

/* What is due at every point of the grid. */
static void look(struct client *c)
{
	for (enum client_side i = 0; c->cfg.sample_ns && i < CLIENT_SIDES; i++)
		if (c->side[i].is_used)
			take_sample(&c->side[i], c->cfg.max_samples);
	client_judge_streams(c);
	judge_silence(c);
}

void client_align_samples(struct client *c, uint64_t grid_ns)
{
	atomic_store_explicit(&c->grid_ns, grid_ns, memory_order_relaxed);
}

/*
 * The next point of the grid.  A late sample is not made up for: its own time stands in it.
 * @grid: where it began so far
 */
static uint64_t next_point(const struct client *c, uint64_t next, uint64_t period, uint64_t *grid)
{
	uint64_t anew = atomic_load_explicit(&c->grid_ns, memory_order_relaxed);
	uint64_t now = clock_mono_ns();

	if (anew && anew != *grid)
		*grid = next = anew;
	return next <= now ? next + ((now - next) / period + 1) * period : next;
}

/* The watching thread: samples on an absolute grid, control connection, broken streams. */
static void *watch_run(void *client)
{
	struct client *c = client;
	uint64_t period = c->cfg.sample_ns ? c->cfg.sample_ns : 100 * NS_PER_MS;
	uint64_t next = c->start_ns, grid = next;

	while (!atomic_load_explicit(&c->failed, memory_order_relaxed)) {
		struct pollfd p[] = { { .fd = c->fd, .events = POLLIN },
				      { .fd = c->wake_fd, .events = POLLIN } };
		uint64_t due = c->omit_due_ns && c->omit_due_ns < next ? c->omit_due_ns : next;
		uint64_t now = clock_mono_ns();
		struct timespec left = clock_timespec(due > now ? due - now : 0);
		int r = ppoll(p, 2, &left, NULL);

		if (r > 0 && p[1].revents)
			break;
		if (r > 0 && p[0].revents)
			judge_control(c);
		client_omit_when_due(c);
		if (clock_mono_ns() < next)
			continue;
		look(c);
		next = next_point(c, next, period, &grid);
	}
	return NULL;
}

int client_start_watch(struct client *c, struct err *e)
{
	int r = pthread_create(&c->watch, NULL, watch_run, c);

	if (r != 0)
		return err_set(e, -r, "thread that watches a test: %s", strerrordesc_np(r));
	c->watching = true;
	return 0;
}

void client_end_watch(struct client *c)
{
	if (!c->watching)
		return;
	eventfd_write(c->wake_fd, 1);
	pthread_join(c->watch, NULL);
	c->watching = false;
}
