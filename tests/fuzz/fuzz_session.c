// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A whole session against a peer that does anything: the server's against a client ('s'), the
 * client's against a server ('c').  The rest of the input is a script of the peer:
 *
 *	'w' LENGTH BYTES	write to the control connection; LENGTH is two bytes, big-endian
 *	'd' LENGTH BYTES	write to the latest stream
 *	'o'			open a stream over TCP (the client's), take one (the server's)
 *	'u'			open a stream over UDP
 *	'x'			close the latest stream
 *
 * At its end the peer closes everything.  Whatever happens, both ends are back within their bounds
 * and nothing is left over.
 */
#include <assert.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "load/client.h"
#include "load/session.h"

#define STREAMS_MAX 16
#define GATHER_NS (20 * NS_PER_MS)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int listen_fd = -1;
static struct sockaddr_in at = { .sin_family = AF_INET };
static struct hub hub;

struct script {
	const uint8_t *data;
	size_t size;
	int control;
	int streams[STREAMS_MAX];
	unsigned int nr_streams;
	struct session *session; /* of a server under test */
};

static void init(void)
{
	socklen_t len = sizeof(at);

	signal(SIGPIPE, SIG_IGN);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert(bind(listen_fd, (struct sockaddr *)&at, sizeof(at)) == 0);
	assert(listen(listen_fd, 256) == 0);
	assert(getsockname(listen_fd, (struct sockaddr *)&at, &len) == 0);
	hub.cfg = (struct server_cfg){ .step_ns = 20 * NS_PER_MS,
				       .idle_ns = 20 * NS_PER_MS,
				       .max_duration_ns = 3600 * NS_PER_S,
				       .cpu = -1 };
	hub.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&hub.lock, NULL);
	pthread_mutex_init(&hub.watch_lock, NULL);
}

/* Both ends of a TCP connection. */
static void connect_pair(int ret[2])
{
	ret[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert(connect(ret[0], (struct sockaddr *)&at, sizeof(at)) == 0);
	ret[1] = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	assert(ret[1] >= 0);
}

static void put(int fd, const uint8_t *data, size_t len)
{
	/* a peer that does not read must not stop the script */
	if (fd >= 0)
		(void)!send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Streams are taken once the session has come that far. */
static bool await_gathering(struct session *s, enum gathering g)
{
	uint64_t until = clock_mono_ns() + GATHER_NS;
	bool there = false;

	while (!there && !atomic_load(&s->ended) && clock_mono_ns() < until) {
		pthread_mutex_lock(&hub.lock);
		there = s->gathering == g;
		pthread_mutex_unlock(&hub.lock);
		usleep(200);
	}
	return there;
}

static void open_tcp(struct script *x)
{
	int pair[2];

	if (x->session && await_gathering(x->session, GATHER_TCP)) {
		bool wanted;

		connect_pair(pair);
		pthread_mutex_lock(&hub.lock);
		wanted = session_offer(x->session, pair[1]);
		pthread_mutex_unlock(&hub.lock);
		if (!wanted)
			close(pair[1]);
		x->streams[x->nr_streams++] = pair[0];
	} else if (!x->session) {
		struct pollfd p = { .fd = listen_fd, .events = POLLIN };

		if (poll(&p, 1, 20) == 1)
			x->streams[x->nr_streams++] = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
	}
}

static void open_udp(struct script *x)
{
	int fd;

	if (!x->session || !await_gathering(x->session, GATHER_UDP))
		return;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert(connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
	put(fd, (const uint8_t *)"9876", 4);
	x->streams[x->nr_streams++] = fd;
	pthread_mutex_lock(&hub.lock);
	for (unsigned int i = 0; i < hub.nr_doors; i++) {
		struct endpoint from = {};

		while (door_read(&hub.doors[i], &from) == 0)
			session_hello(x->session, &hub.doors[i], &from);
	}
	pthread_mutex_unlock(&hub.lock);
}

static void write_piece(struct script *x, int fd)
{
	size_t len = x->size < 2 ? 0 : (size_t)x->data[0] << 8 | x->data[1];

	x->data += x->size < 2 ? x->size : 2;
	x->size -= x->size < 2 ? x->size : 2;
	len = len < x->size ? len : x->size;
	put(fd, x->data, len);
	x->data += len;
	x->size -= len;
}

static void play(struct script *x)
{
	while (x->size > 0) {
		int last = x->nr_streams ? x->streams[x->nr_streams - 1] : -1;
		uint8_t op = *x->data++;

		x->size--;
		if (op == 'w')
			write_piece(x, x->control);
		else if (op == 'd')
			write_piece(x, last);
		else if (op == 'o' && x->nr_streams < STREAMS_MAX)
			open_tcp(x);
		else if (op == 'u' && x->nr_streams < STREAMS_MAX)
			open_udp(x);
		else if (op == 'x' && last >= 0)
			close(x->streams[--x->nr_streams]);
	}
	shutdown(x->control, SHUT_RDWR);
	while (x->nr_streams > 0)
		close(x->streams[--x->nr_streams]);
}

static void fuzz_server(const uint8_t *data, size_t size)
{
	struct greeting g = { .cookie = "abcdefghijklmnopqrstuvwxyz234567abcd",
			      .peer = "a client" };
	struct script x = { .data = data, .size = size };
	struct session *s = NULL;
	struct err e = {};
	int pair[2];

	connect_pair(pair);
	g.fd = pair[1];
	assert(endpoint_of_peer(pair[1], &g.from, &e) == 0);
	assert(session_start(&s, &hub, &g, &e) == 0);
	x.control = pair[0];
	x.session = s;
	play(&x);
	session_free(s);
	close(pair[0]);
	for (unsigned int i = 0; i < hub.nr_doors; i++)
		door_close(&hub.doors[i]);
	hub.nr_doors = 0;
	assert(hub.block_bytes == 0);
}

static void *serve(void *script)
{
	struct script *x = script;
	struct pollfd p = { .fd = listen_fd, .events = POLLIN };

	if (poll(&p, 1, 1000) != 1)
		return NULL;
	x->control = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
	play(x);
	close(x->control);
	return NULL;
}

/* What waits in the queue is not for the next run. */
static void empty_queue(void)
{
	struct pollfd p = { .fd = listen_fd, .events = POLLIN };

	while (poll(&p, 1, 0) == 1)
		close(accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC));
}

static void fuzz_client(const uint8_t *data, size_t size)
{
	struct script x = { .data = data + 1, .size = size - 1 };
	struct client_cfg cfg = { .host = "127.0.0.1",
				  .port = ntohs(at.sin_port),
				  .params = { .reverse = data[0] & 1,
					      .bidir = (data[0] & 3) == 2,
					      .mode = data[0] & 4 ? WIRE_RR : WIRE_BULK,
					      .get_server_output = data[0] & 8,
					      .streams = 1 + (data[0] >> 6),
					      .length_bytes = 1000,
					      .request_bytes = 10,
					      .response_bytes = 10,
					      .time_s = 1,
					      .server_cpu = -1 },
				  .cpu = -1,
				  .sample_ns = NS_PER_MS,
				  .max_samples = 10 };
	struct client *c = NULL;
	struct err e = {};
	pthread_t t;
	bool is_json;

	if (client_open(&c, &cfg, &e) < 0)
		return;
	assert(pthread_create(&t, NULL, serve, &x) == 0);
	if (client_start(c, &e) >= 0 && client_stop(c, &e) >= 0) {
		assert(client_theirs(c)->nr == client_mine(c)->nr);
		client_server_output(c, &is_json);
	}
	client_close(c);
	pthread_join(t, NULL);
	empty_queue();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (listen_fd < 0)
		init();
	if (size > 1 && data[0] == 's')
		fuzz_server(data + 1, size - 1);
	else if (size > 1 && data[0] == 'c')
		fuzz_client(data + 1, size - 1);
	return 0;
}
