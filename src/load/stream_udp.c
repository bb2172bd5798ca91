// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/stream_loop.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "load/udp_seq.h"

/*
 * iperf3's datagrams: seconds, microseconds and sequence number, big-endian, the last with 32 or 64
 * bits.  Flat out, a system call moves a batch of messages; with GSO and GRO a message is a train
 * of datagrams that the kernel cuts up and puts together.
 */

#define BATCH 64U
#define BATCH_BYTES (256U << 10) /* of payload: what stays in a core's cache */
#define TRAIN 64U		 /* datagrams: UDP_MAX_SEGMENTS before 6.9 */
#define TRAIN_BYTES 65507U
#define TRAINS 4U /* in a system call */
#define GRO_BYTES 65536U
#define GRO_BATCH 8U
/* What a paced sender is late by at most, to be woken less often: a short queue's worth. */
#define GRAIN_NS (100 * NS_PER_US)
#define CONTROL_BYTES CMSG_SPACE(sizeof(int))
#define FULL_NS (50 * NS_PER_US) /* until a full queue is tried again */

struct header {
	uint32_t sec, usec;
	uint32_t seq[2]; /* the second with 64 bits only */
};

struct tx {
	struct mmsghdr msg[BATCH];
	struct iovec iov[BATCH];
	unsigned int batch; /* messages of a system call */
	unsigned int train; /* datagrams of a message */
	uint64_t seq;	    /* of the last datagram that was sent */
	char payload[];
};

struct rx {
	struct mmsghdr msg[BATCH];
	struct iovec iov[BATCH];
	_Alignas(struct cmsghdr) char control[BATCH][CONTROL_BYTES];
	struct udp_seq seq;
	unsigned int batch;
	size_t room; /* of a message */
	uint64_t bytes, received;
	int64_t transit_ns; /* of the datagram before */
	double jitter_ns;
	char payload[];
};

static size_t header_bytes(const struct stream_cfg *cfg)
{
	return cfg->counters_64bit ? sizeof(struct header) : offsetof(struct header, seq[1]);
}

static size_t length_of(const struct stream_cfg *cfg)
{
	size_t least = header_bytes(cfg);

	return cfg->length_bytes < least ? least : cfg->length_bytes;
}

static unsigned int between_1_and(size_t most, size_t n)
{
	return (unsigned int)(n < 1 ? 1 : n > most ? most : n);
}

static unsigned int train_of(const struct stream_cfg *cfg)
{
	return cfg->gsro ? between_1_and(TRAIN, TRAIN_BYTES / length_of(cfg)) : 1;
}

static unsigned int tx_batch(const struct stream_cfg *cfg)
{
	if (train_of(cfg) > 1)
		return TRAINS;
	return between_1_and(BATCH, BATCH_BYTES / length_of(cfg));
}

static size_t rx_room(const struct stream_cfg *cfg)
{
	if (cfg->gsro)
		return GRO_BYTES;
	return cfg->skip_rx_copy ? sizeof(struct header) : length_of(cfg);
}

static unsigned int rx_batch(const struct stream_cfg *cfg)
{
	return cfg->gsro ? GRO_BATCH : between_1_and(BATCH, BATCH_BYTES / rx_room(cfg));
}

size_t stream_udp_bytes(const struct stream_cfg *cfg)
{
	if (cfg->sender)
		return sizeof(struct tx) + tx_batch(cfg) * train_of(cfg) * length_of(cfg);
	return sizeof(struct rx) + rx_batch(cfg) * rx_room(cfg);
}

static void set_train(struct stream *s, struct tx *tx, unsigned int train)
{
	int segment = train > 1 ? (int)length_of(s->cfg) : 0;

	tx->train = train;
	if (setsockopt(s->fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment)) < 0)
		tx->train = 1;
}

static struct tx *tx_prepare(struct stream *s)
{
	struct tx *tx = (struct tx *)s->block;

	/* what the block was filled with stays as the payload */
	memset(tx, 0, sizeof(*tx));
	tx->batch = tx_batch(s->cfg);
	set_train(s, tx, train_of(s->cfg));
	for (unsigned int i = 0; i < BATCH; i++)
		tx->msg[i].msg_hdr = (struct msghdr){ .msg_iov = &tx->iov[i], .msg_iovlen = 1 };
	return tx;
}

static void stamp(const struct stream *s, char *to, uint64_t seq, uint64_t now)
{
	struct header h = { .sec = htobe32((uint32_t)(now / NS_PER_S)),
			    .usec = htobe32((uint32_t)(now % NS_PER_S / NS_PER_US)) };

	if (s->cfg->counters_64bit) {
		uint64_t wide = htobe64(seq);

		memcpy(h.seq, &wide, sizeof(wide));
		memcpy(to, &h, sizeof(h));
	} else {
		h.seq[0] = htobe32((uint32_t)seq);
		memcpy(to, &h, offsetof(struct header, seq[1]));
	}
}

/* Messages for @nr datagrams, @bytes in all: the last may be shorter. */
static unsigned int compose(const struct stream *s, struct tx *tx, unsigned int nr, size_t bytes)
{
	const size_t length = length_of(s->cfg), train = length * tx->train;
	const uint64_t now = clock_mono_ns();
	unsigned int messages = 0;

	for (unsigned int i = 0; i < nr; i++)
		stamp(s, tx->payload + i * length, tx->seq + i + 1, now);
	for (size_t at = 0; at < bytes; at += train)
		tx->iov[messages++] =
			(struct iovec){ .iov_base = tx->payload + at,
					.iov_len = bytes - at < train ? bytes - at : train };
	return messages;
}

/* Messages @from and on left with the first @nr of them sent. */
static void count_sent(struct stream *s, struct tx *tx, unsigned int from, unsigned int nr)
{
	const size_t length = length_of(s->cfg);
	size_t bytes = 0, datagrams = 0;

	for (unsigned int i = from; i < from + nr; i++) {
		bytes += tx->iov[i].iov_len;
		datagrams += (tx->iov[i].iov_len + length - 1) / length;
	}
	tx->seq += datagrams;
	stream_set(&s->packets, tx->seq);
	stream_add(&s->bytes, bytes);
}

/*
 * 0 to try again, 1 to compose anew without GSO (a datagram of this length does not fit into the
 * path's MTU, or the kernel or the device cannot), -1 when the stream is broken.
 */
static int send_failed(struct stream *s, struct tx *tx)
{
	const int error = errno;
	uint64_t now;

	if (error == EAGAIN || error == EINTR)
		return 0;
	if (error == ENOBUFS || error == ENOMEM) {
		now = clock_mono_ns();
		stream_sleep(now, now + FULL_NS);
		return 0;
	}
	if (tx->train > 1 &&
	    (error == EINVAL || error == EIO || error == EMSGSIZE || error == EOPNOTSUPP)) {
		set_train(s, tx, 1);
		return 1;
	}
	stream_break(s, error);
	return -1;
}

/* The next @nr datagrams, @bytes in all; what is not sent by the end of the phase is given back. */
static int send_batch(struct stream *s, struct tx *tx, unsigned int nr, size_t bytes)
{
	const uint64_t first = tx->seq, start = atomic_load(&s->bytes);
	unsigned int messages = compose(s, tx, nr, bytes), done = 0;

	while (done < messages && stream_runs(s)) {
		int n = sendmmsg(s->fd, tx->msg + done, messages - done, MSG_NOSIGNAL), r;

		if (n > 0) {
			count_sent(s, tx, done, (unsigned int)n);
			done += (unsigned int)n;
			continue;
		}
		r = send_failed(s, tx);
		if (r < 0)
			return r;
		if (r > 0) {
			stream_give_back(s, bytes - (atomic_load(&s->bytes) - start));
			return 0;
		}
	}
	assert(tx->seq - first <= nr);
	stream_give_back(s, bytes - (atomic_load(&s->bytes) - start));
	return 0;
}

/* At most @nr datagrams, or what the limit leaves: its end is the only datagram that is shorter. */
static int send_some(struct stream *s, struct tx *tx, unsigned int nr)
{
	const size_t length = length_of(s->cfg), least = header_bytes(s->cfg);
	size_t bytes = stream_claim(s, nr * length), rest = bytes % length;

	if (bytes == 0) {
		stream_rest(s);
		return 0;
	}
	if (rest > 0 && rest < least)
		bytes += least - rest;
	return send_batch(s, tx, (unsigned int)((bytes + length - 1) / length), bytes);
}

static void send_paced(struct stream *s, struct tx *tx)
{
	const unsigned int burst = s->cfg->burst ? s->cfg->burst : 1;
	unsigned int owed = 0;
	struct pacer p;
	uint64_t late;

	stream_pace_bytes(s, &p, length_of(s->cfg));
	late = s->cfg->burst ? 0 : pacer_late(&p, GRAIN_NS);
	while (stream_runs(s)) {
		uint64_t now = clock_mono_ns();
		unsigned int most = tx->batch * tx->train, nr;

		for (; owed < most && pacer_due(&p) <= now; pacer_step(&p, now))
			owed += burst;
		if (owed == 0) {
			stream_sleep(now, pacer_due(&p) + late);
			continue;
		}
		nr = owed < most ? owed : most;
		if (send_some(s, tx, nr) < 0)
			return;
		owed -= nr;
	}
}

void stream_send_udp(struct stream *s)
{
	struct tx *tx = tx_prepare(s);

	if (s->cfg->rate_bps) {
		send_paced(s, tx);
		return;
	}
	while (stream_runs(s))
		if (send_some(s, tx, tx->batch * tx->train) < 0)
			return;
}

static struct rx *rx_prepare(struct stream *s)
{
	struct rx *rx = (struct rx *)s->block;
	int one = 1;

	memset(rx, 0, sizeof(*rx));
	rx->batch = rx_batch(s->cfg);
	rx->room = rx_room(s->cfg);
	if (s->cfg->gsro)
		setsockopt(s->fd, IPPROTO_UDP, UDP_GRO, &one, sizeof(one));
	for (unsigned int i = 0; i < rx->batch; i++) {
		rx->iov[i] = (struct iovec){ .iov_base = rx->payload + i * rx->room,
					     .iov_len = rx->room };
		rx->msg[i].msg_hdr = (struct msghdr){ .msg_iov = &rx->iov[i], .msg_iovlen = 1 };
	}
	return rx;
}

/* RFC 1889, 6.3.1 and A.8. */
static void note_transit(struct rx *rx, int64_t transit_ns)
{
	int64_t d = transit_ns - rx->transit_ns;

	if (rx->received > 0)
		rx->jitter_ns += ((double)(d < 0 ? -d : d) - rx->jitter_ns) / 16;
	rx->transit_ns = transit_ns;
}

static void note_datagram(const struct stream *s, struct rx *rx, const char *data, uint64_t now)
{
	struct header h = {};
	uint64_t wide = 0;
	int64_t sent;

	memcpy(&h, data, header_bytes(s->cfg));
	memcpy(&wide, h.seq, sizeof(wide));
	sent = (int64_t)be32toh(h.sec) * (int64_t)NS_PER_S +
	       (int64_t)be32toh(h.usec) * (int64_t)NS_PER_US;
	note_transit(rx, (int64_t)now - sent);
	udp_seq_note(&rx->seq, s->cfg->counters_64bit ? be64toh(wide)
						      : udp_seq_widen(&rx->seq, be32toh(h.seq[0])));
	rx->received++;
}

/* Length of the datagrams that GRO put together; the message's own without. */
static size_t segment_of(struct msghdr *h, size_t len)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		int segment = 0;

		if (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_GRO)
			continue;
		memcpy(&segment, CMSG_DATA(c), sizeof(segment));
		return segment > 0 ? (size_t)segment : len;
	}
	return len;
}

static void note_message(const struct stream *s, struct rx *rx, unsigned int i, uint64_t now)
{
	const size_t len = rx->msg[i].msg_len, least = header_bytes(s->cfg);
	const size_t segment = segment_of(&rx->msg[i].msg_hdr, len);

	for (size_t at = 0; at < len; at += segment) {
		/* what is too short is none of ours: the message that opens a stream, again */
		if (len - at < least || segment < least || at + least > rx->room)
			break;
		note_datagram(s, rx, rx->payload + i * rx->room + at, now);
		rx->bytes += len - at < segment ? len - at : segment;
	}
}

static void note_batch(struct stream *s, struct rx *rx, unsigned int nr)
{
	uint64_t now = clock_mono_ns(), before = rx->received;

	for (unsigned int i = 0; i < nr; i++)
		note_message(s, rx, i, now);
	stream_set(&s->bytes, rx->bytes);
	stream_set(&s->packets, rx->seq.highest);
	atomic_store_explicit(&s->lost, (int64_t)rx->seq.lost, memory_order_relaxed);
	stream_set(&s->out_of_order, rx->seq.late);
	stream_set(&s->received, rx->received);
	stream_set(&s->jitter_ns, (uint64_t)rx->jitter_ns);
	if (rx->received > before && !stream_runs(s))
		stream_set(&s->end_ns, now);
}

void stream_receive_udp(struct stream *s)
{
	struct rx *rx = rx_prepare(s);
	int idle = 0;

	/* twice idle, since the first wait may have begun before the peer ended */
	while (stream_phase(s) != STREAM_QUIT && idle < 2) {
		int n;

		for (unsigned int i = 0; s->cfg->gsro && i < rx->batch; i++) {
			rx->msg[i].msg_hdr.msg_control = rx->control[i];
			rx->msg[i].msg_hdr.msg_controllen = CONTROL_BYTES;
		}
		n = recvmmsg(s->fd, rx->msg, rx->batch, MSG_WAITFORONE | MSG_TRUNC, NULL);
		if (n > 0) {
			note_batch(s, rx, (unsigned int)n);
			idle = 0;
		} else if (errno == EAGAIN) {
			idle += stream_settles(s);
		} else if (errno != EINTR && errno != ECONNREFUSED) {
			stream_break(s, errno);
			return;
		}
	}
}
