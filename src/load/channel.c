// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/channel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"

static int plain_wait(struct channel *ch, short events, uint64_t deadline_ns, struct err *e)
{
	for (;;) {
		struct pollfd p = { .fd = ch->fd, .events = events };
		uint64_t now = clock_mono_ns();
		struct timespec left = clock_timespec(deadline_ns > now ? deadline_ns - now : 0);
		int r = ppoll(&p, 1, &left, NULL);

		if (r > 0)
			return 0;
		if (r < 0 && errno != EINTR)
			return err_sys(e, "wait for %s", ch->peer);
		if (now >= deadline_ns)
			return err_set(e, -ETIMEDOUT, "%s is silent", ch->peer);
	}
}

int channel_wait(struct channel *ch, short events, uint64_t deadline_ns, struct err *e)
{
	return ch->wait ? ch->wait(ch, events, deadline_ns, e)
			: plain_wait(ch, events, deadline_ns, e);
}

int channel_read(struct channel *ch, void *data, size_t len, struct err *e)
{
	uint64_t deadline = clock_mono_ns() + ch->step_ns;
	char *p = data;

	while (len > 0) {
		ssize_t n = recv(ch->fd, p, len, MSG_DONTWAIT);
		int r = 0;

		if (n == 0)
			return err_set(e, -ECONNRESET, "%s closed the connection", ch->peer);
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			r = channel_wait(ch, POLLIN, deadline, e);
		} else if (errno != EINTR) {
			return err_sys(e, "read from %s", ch->peer);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

int channel_write(struct channel *ch, const void *data, size_t len, struct err *e)
{
	uint64_t deadline = clock_mono_ns() + ch->step_ns;
	const char *p = data;

	while (len > 0) {
		ssize_t n = send(ch->fd, p, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		int r = 0;

		if (n >= 0) {
			p += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			r = channel_wait(ch, POLLOUT, deadline, e);
		} else if (errno != EINTR) {
			return err_sys(e, "write to %s", ch->peer);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

int channel_read_state(struct channel *ch, int *ret, struct err *e)
{
	unsigned char c = 0;
	int r = channel_read(ch, &c, 1, e);

	if (r >= 0)
		*ret = (c ^ 0x80) - 0x80; /* one signed byte */
	return r;
}

int channel_write_state(struct channel *ch, int state, struct err *e)
{
	signed char c = (signed char)state;

	return channel_write(ch, &c, 1, e);
}

int channel_read_json(struct channel *ch, size_t max, struct buf *out, struct err *e)
{
	uint32_t be = 0, len;
	int r = channel_read(ch, &be, sizeof(be), e);

	if (r < 0)
		return r;
	len = ntohl(be);
	if (len > max)
		return err_set(e, -EBADMSG,
			       "%s announces a message of %u bytes, at most %zu allowed", ch->peer,
			       len, max);
	if (buf_reserve(out, len) < 0)
		return err_nomem(e, "control message");
	r = channel_read(ch, out->data + out->len, len, e);
	if (r < 0)
		return r;
	out->len += len;
	out->data[out->len] = '\0';
	return 0;
}

int channel_write_json(struct channel *ch, const struct buf *text, struct err *e)
{
	uint32_t be = htonl((uint32_t)text->len);
	int r = channel_write(ch, &be, sizeof(be), e);

	return r < 0 ? r : channel_write(ch, buf_str(text), text->len, e);
}

int channel_read_results(struct channel *ch, struct wire_results *ret, struct wire_output *output,
			 struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	int r = channel_read_json(ch, output ? WIRE_OUTPUT_MAX : WIRE_RESULTS_MAX, &text, e);

	if (r >= 0)
		r = wire_results_decode(buf_str(&text), text.len, ret, output, e);
	return r < 0 ? err_wrap(e, "results of %s", ch->peer) : 0;
}

int channel_write_results(struct channel *ch, const struct wire_results *res,
			  const struct wire_output *output, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	int r = wire_results_encode(res, output, &text, e);

	return r < 0 ? r : channel_write_json(ch, &text, e);
}
