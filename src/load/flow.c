// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/flow.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"
#include "load/stream.h"
#include "load/tcpinfo.h"
#include "load/wire.h"

/* What is sent must not compress well, or a middle box would change the rate. */
static void fill(char *block, size_t len)
{
	uint64_t state = 1;

	for (size_t i = 0; i < len; i++)
		block[i] = (char)rng_next(&state);
}

static int init_stream(struct flow *f, const struct flow_cfg *cfg, unsigned int i, struct err *e)
{
	struct stream *s = &f->v[i];

	*s = (struct stream){ .fd = -1,
			      .id = wire_stream_id(cfg->first_index + i),
			      .cfg = &f->cfg,
			      .limit = &f->limit,
			      .cpu = -1,
			      .phase = &f->phase };
	f->nr++;
	s->block = malloc(f->cfg.length_bytes);
	if (!s->block)
		return err_nomem(e, "block of a stream");
	fill(s->block, f->cfg.length_bytes);
	return 0;
}

int flow_init(struct flow *f, const struct flow_cfg *cfg, struct err *e)
{
	int r = 0;

	assert(cfg->streams > 0 && cfg->stream.length_bytes > 0);
	*f = (struct flow){ .cfg = cfg->stream };
	f->v = aligned_alloc(STREAM_ALIGN, cfg->streams * sizeof(*f->v));
	f->threads = calloc(cfg->streams, sizeof(*f->threads));
	f->omit = calloc(cfg->streams, sizeof(*f->omit));
	if (!f->v || !f->threads || !f->omit) {
		flow_release(f);
		return err_nomem(e, "streams");
	}
	for (unsigned int i = 0; i < cfg->streams && r >= 0; i++)
		r = init_stream(f, cfg, i, e);
	if (r < 0)
		flow_release(f);
	return r;
}

int flow_take(struct flow *f, int fd, struct err *e)
{
	int flags = fcntl(fd, F_GETFL);
	int r;

	if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
		return err_sys(e, "make a data socket wait");
	r = tcp_bound_waits(fd, STREAM_WAIT_NS, e);
	if (r < 0)
		return r;
	if (f->have == 0)
		tcp_congestion(fd, f->congestion);
	f->v[f->have++].fd = fd;
	return 0;
}

/* Signals are for the thread that conducts. */
static int start_threads(struct flow *f)
{
	sigset_t all, old;
	int r = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (; f->running < f->have && r == 0; f->running += r == 0)
		r = pthread_create(&f->threads[f->running], NULL, stream_run, &f->v[f->running]);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

uint64_t flow_bytes(const struct flow *f, unsigned int i)
{
	return atomic_load_explicit(&f->v[i].bytes, memory_order_relaxed);
}

unsigned int flow_id(const struct flow *f, unsigned int i)
{
	return f->v[i].id;
}

int flow_fd(const struct flow *f, unsigned int i)
{
	return f->v[i].fd;
}

void flow_read_stream(const struct flow *f, unsigned int i, struct flow_count *ret)
{
	struct tcpinfo info = {};

	if (f->cfg.sender)
		tcpinfo_read(f->v[i].fd, &info);
	*ret = (struct flow_count){ .t_ns = clock_mono_ns(),
				    .bytes = flow_bytes(f, i),
				    .acked_bytes = info.acked_bytes,
				    .retransmits = info.retransmits,
				    .cwnd_bytes = info.cwnd_bytes,
				    .rtt_ns = info.rtt_ns,
				    .rttvar_ns = info.rttvar_ns,
				    .pmtu_bytes = info.pmtu_bytes };
}

void flow_read(const struct flow *f, struct flow_count *ret)
{
	struct flow_count sum = {};

	for (unsigned int i = 0; i < f->have; i++) {
		struct flow_count c;

		flow_read_stream(f, i, &c);
		sum.t_ns = c.t_ns;
		sum.bytes += c.bytes;
		sum.acked_bytes += c.acked_bytes;
		sum.retransmits += c.retransmits;
		sum.cwnd_bytes += c.cwnd_bytes;
		sum.rtt_ns += c.rtt_ns;
	}
	if (f->have)
		sum.rtt_ns /= f->have;
	*ret = sum;
}

void flow_omit(struct flow *f)
{
	f->omit_ns = clock_mono_ns();
	for (unsigned int i = 0; i < f->have; i++)
		flow_read_stream(f, i, &f->omit[i]);
}

static bool is_done(const struct flow *f)
{
	for (unsigned int i = 0; i < f->running; i++)
		if (!atomic_load(&f->v[i].done))
			return false;
	return true;
}

/* Let the threads end by themselves until @deadline_ns, then make them. */
static void join_all(struct flow *f, uint64_t deadline_ns)
{
	struct timespec gap = clock_timespec(NS_PER_MS);

	while (!is_done(f) && clock_mono_ns() < deadline_ns)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &gap, NULL);
	atomic_store(&f->phase, STREAM_QUIT);
	for (; f->running > 0; f->running--)
		pthread_join(f->threads[f->running - 1], NULL);
}

int flow_start(struct flow *f, struct err *e)
{
	int r;

	getrusage(RUSAGE_SELF, &f->usage_start);
	atomic_store(&f->phase, STREAM_RUN);
	f->start_ns = f->omit_ns = clock_mono_ns();
	for (unsigned int i = 0; i < f->have; i++)
		f->v[i].start_ns = f->start_ns;
	r = start_threads(f);
	if (r != 0) {
		unsigned int made = f->running;

		join_all(f, 0);
		f->start_ns = f->omit_ns = 0;
		errno = r;
		return err_sys(e, "thread for stream %u of %u", made + 1, f->nr);
	}
	return 0;
}

void flow_quiet(struct flow *f)
{
	int run = STREAM_RUN;

	if (f->end_ns == 0 && f->start_ns > 0) {
		f->end_ns = clock_mono_ns();
		getrusage(RUSAGE_SELF, &f->usage_end);
	}
	if (f->cfg.sender) {
		atomic_store(&f->phase, STREAM_QUIT);
		join_all(f, 0);
	} else {
		atomic_compare_exchange_strong(&f->phase, &run, STREAM_DRAIN);
	}
}

void flow_finish(struct flow *f, uint64_t bound_ns)
{
	flow_quiet(f);
	for (unsigned int i = 0; f->cfg.sender && i < f->have; i++)
		shutdown(f->v[i].fd, SHUT_WR);
	join_all(f, clock_mono_ns() + bound_ns);
	for (unsigned int i = 0; i < f->have; i++) {
		uint64_t last = atomic_load(&f->v[i].end_ns);

		f->end_ns = last > f->end_ns ? last : f->end_ns;
	}
}

int flow_check(const struct flow *f, struct err *e)
{
	unsigned int i = 0;
	int error = 0;

	for (; i < f->have && error == 0; i++)
		error = atomic_load(&f->v[i].error);
	if (error == 0)
		return 0;
	if (error == ECONNRESET || error == EPIPE)
		return err_set(e, -ECONNRESET,
			       "stream %u of %u was closed by the peer before the end of the test",
			       i, f->nr);
	errno = error;
	return err_sys(e, "stream %u of %u broke", i, f->nr);
}

static double seconds(struct timeval to, struct timeval from)
{
	return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_usec - from.tv_usec) / 1e6;
}

void flow_results(const struct flow *f, struct wire_results *ret)
{
	double all = (double)(f->end_ns - f->start_ns) / 1e9;
	double counted = f->end_ns > f->omit_ns ? (double)(f->end_ns - f->omit_ns) / 1e9 : 0;
	double percent = all > 0 ? 100 / all : 0;

	ret->cpu_user = percent * seconds(f->usage_end.ru_utime, f->usage_start.ru_utime);
	ret->cpu_system = percent * seconds(f->usage_end.ru_stime, f->usage_start.ru_stime);
	ret->cpu_total = ret->cpu_user + ret->cpu_system;
	memcpy(ret->congestion, f->congestion, sizeof(ret->congestion));
	for (unsigned int i = 0; i < f->have; i++) {
		struct flow_count c;

		flow_read_stream(f, i, &c);
		ret->streams[ret->nr++] = (struct wire_stream){
			.id = f->v[i].id,
			.bytes = c.bytes - f->omit[i].bytes,
			.retransmits = f->cfg.sender
					       ? (int64_t)(c.retransmits - f->omit[i].retransmits)
					       : WIRE_UNKNOWN,
			.end_s = counted,
		};
	}
}

void flow_release(struct flow *f)
{
	atomic_store(&f->phase, STREAM_QUIT);
	join_all(f, 0);
	for (unsigned int i = 0; i < f->nr; i++) {
		close_fdp(&f->v[i].fd);
		free(f->v[i].block);
	}
	free(f->v);
	free(f->threads);
	free(f->omit);
	*f = (struct flow){};
}
