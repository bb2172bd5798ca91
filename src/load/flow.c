// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/flow.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"
#include "load/stream.h"
#include "load/tcpinfo.h"
#include "load/wire.h"
#include "sample/hist.h"

#define PAGE_BYTES 4096U
/* What a transaction under way is waited for when its histogram is taken. */
#define HIST_WAIT_NS (100 * NS_PER_MS)

/* What is sent must not compress well, or a middle box would change the rate; iperf3's pattern. */
static void fill(char *block, size_t len, bool repeating)
{
	uint64_t state = 1;

	for (size_t i = 0; i < len; i++)
		block[i] = (char)(repeating ? '0' + i % 10 : rng_next(&state));
}

/* The block in memory that sendfile() takes its pages from, without a copy. */
static int init_file(struct stream *s, size_t len, struct err *e)
{
	size_t done = 0;

	s->file = memfd_create("irqlab-block", MFD_CLOEXEC);
	if (s->file < 0)
		return err_sys(e, "memory file for zero copy");
	while (done < len) {
		ssize_t n = write(s->file, s->block + done, len - done);

		if (n < 0)
			return err_sys(e, "write %zu bytes to the memory file for zero copy", len);
		done += (size_t)n;
	}
	return 0;
}

/* rr and crr, client. */
static bool has_hist(const struct stream_cfg *c)
{
	return c->sender && c->mode != WIRE_BULK;
}

/* No sockets are taken: the streams connect by themselves. */
static bool is_dialling(const struct stream_cfg *c)
{
	return c->sender && c->mode == WIRE_CRR;
}

static bool has_tcpinfo(const struct stream_cfg *c)
{
	return c->sender && !c->udp && c->mode != WIRE_CRR;
}

static int init_stream(struct flow *f, const struct flow_cfg *cfg, unsigned int i, struct err *e)
{
	struct stream *s = &f->v[i];
	const size_t bytes = stream_block_bytes(&f->cfg);
	uint64_t seed = f->cfg.seed + cfg->first_index + i;

	*s = (struct stream){ .fd = -1,
			      .file = -1,
			      .id = wire_stream_id(cfg->first_index + i),
			      .cfg = &f->cfg,
			      .limit = &f->limit,
			      .seed = rng_next(&seed),
			      .cpu = -1,
			      .phase = &f->phase };
	f->nr++;
	s->block = aligned_alloc(PAGE_BYTES, (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
	if (!s->block)
		return err_nomem(e, "block of a stream");
	if (f->cfg.sender || f->cfg.mode != WIRE_BULK)
		fill(s->block, bytes, f->cfg.repeating_payload);
	if (f->cfg.sender && f->cfg.zerocopy && !f->cfg.udp && f->cfg.mode == WIRE_BULK)
		return init_file(s, bytes, e);
	for (int h = 0; has_hist(&f->cfg) && h < 2; h++) {
		s->hist[h] = hist_new();
		if (!s->hist[h])
			return err_nomem(e, "histogram of a stream");
	}
	return 0;
}

static int init_streams(struct flow *f, const struct flow_cfg *cfg, struct err *e)
{
	int r = 0;

	f->v = aligned_alloc(STREAM_ALIGN, cfg->streams * sizeof(*f->v));
	f->threads = calloc(cfg->streams, sizeof(*f->threads));
	f->omit = calloc(cfg->streams, sizeof(*f->omit));
	if (!f->v || !f->threads || !f->omit)
		return err_nomem(e, "streams");
	for (unsigned int i = 0; i < cfg->streams && r >= 0; i++)
		r = init_stream(f, cfg, i, e);
	return r;
}

int flow_init(struct flow *f, const struct flow_cfg *cfg, struct err *e)
{
	int r;

	assert(cfg->streams > 0 && (cfg->stream.length_bytes > 0 || cfg->stream.mode != WIRE_BULK));
	*f = (struct flow){ .cfg = cfg->stream,
			    .cpu = cfg->cpu,
			    .limit = { .limited = cfg->limit_bytes > 0,
				       .total_bytes = cfg->limit_bytes,
				       .left_bytes = (int64_t)cfg->limit_bytes } };
	r = init_streams(f, cfg, e);
	if (r < 0)
		flow_release(f);
	else if (is_dialling(&f->cfg))
		f->have = f->nr;
	return r;
}

int flow_take(struct flow *f, int fd, struct err *e)
{
	int flags = fcntl(fd, F_GETFL);
	int r;

	assert(f->have < f->nr);
	if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
		return err_sys(e, "make a data socket wait");
	r = tcp_bound_waits(fd, STREAM_WAIT_NS, e);
	if (r >= 0 && f->cfg.mode == WIRE_RR && !f->cfg.udp)
		r = tcp_options_set(fd, &(struct tcp_options){ .nodelay = true, .congestion = "" },
				    e);
	if (r < 0)
		return r;
	if (f->have == 0 && !f->cfg.udp)
		tcp_congestion(fd, f->congestion);
	f->v[f->have++].fd = fd;
	return 0;
}

/* @f's stream @i on the CPU that it shall run on; 0 or an errno. */
static int start_thread(struct flow *f, unsigned int i)
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct stream *s = &f->v[i];
	pthread_attr_t attr;
	cpu_set_t set;
	int r = pthread_attr_init(&attr);

	if (r != 0)
		return r;
	if (f->cpu >= 0) {
		s->cpu = f->cpu < cpus ? (int)((f->cpu + (long)i) % cpus) : f->cpu;
		CPU_ZERO(&set);
		if (s->cpu < CPU_SETSIZE)
			CPU_SET((size_t)s->cpu, &set);
		r = pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	}
	if (r == 0)
		r = pthread_create(&f->threads[i], &attr, stream_run, s);
	pthread_attr_destroy(&attr);
	return r;
}

/* Signals are for the thread that conducts. */
static int start_threads(struct flow *f)
{
	sigset_t all, old;
	int r = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (; f->running < f->have && r == 0; f->running += r == 0)
		r = start_thread(f, f->running);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

uint64_t flow_bytes(const struct flow *f, unsigned int i)
{
	return atomic_load_explicit(&f->v[i].bytes, memory_order_relaxed);
}

uint64_t flow_sum_bytes(const struct flow *f)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < f->have; i++)
		bytes += flow_bytes(f, i);
	return bytes;
}

unsigned int flow_id(const struct flow *f, unsigned int i)
{
	return f->v[i].id;
}

int flow_fd(const struct flow *f, unsigned int i)
{
	return f->v[i].fd;
}

int flow_incoming_cpu(const struct flow *f, unsigned int i)
{
	socklen_t len = sizeof(int);
	int cpu = -1;

	if (f->v[i].fd < 0 || getsockopt(f->v[i].fd, SOL_SOCKET, SO_INCOMING_CPU, &cpu, &len) < 0)
		return -1;
	return cpu;
}

void flow_read_stream(const struct flow *f, unsigned int i, struct flow_count *ret)
{
	const struct stream *s = &f->v[i];
	struct tcpinfo info = {};

	if (has_tcpinfo(&f->cfg))
		tcpinfo_read(s->fd, &info);
	*ret = (struct flow_count){
		.t_ns = clock_mono_ns(),
		.bytes = flow_bytes(f, i),
		.packets = atomic_load_explicit(&s->packets, memory_order_relaxed),
		.lost = atomic_load_explicit(&s->lost, memory_order_relaxed),
		.out_of_order = atomic_load_explicit(&s->out_of_order, memory_order_relaxed),
		.received = atomic_load_explicit(&s->received, memory_order_relaxed),
		.jitter_ns = atomic_load_explicit(&s->jitter_ns, memory_order_relaxed),
		.acked_bytes = info.acked_bytes,
		.retransmits = info.retransmits,
		.cwnd_bytes = info.cwnd_bytes,
		.snd_wnd_bytes = info.snd_wnd_bytes,
		.rtt_ns = info.rtt_ns,
		.rttvar_ns = info.rttvar_ns,
		.pmtu_bytes = info.pmtu_bytes,
		.reorder = info.reorder,
		.delivery_bps = info.delivery_bps,
	};
}

static void add_count(struct flow_count *sum, const struct flow_count *c)
{
	sum->t_ns = c->t_ns;
	sum->bytes += c->bytes;
	sum->packets += c->packets;
	sum->lost += c->lost;
	sum->out_of_order += c->out_of_order;
	sum->received += c->received;
	sum->jitter_ns += c->jitter_ns;
	sum->acked_bytes += c->acked_bytes;
	sum->retransmits += c->retransmits;
	sum->cwnd_bytes += c->cwnd_bytes;
	sum->snd_wnd_bytes += c->snd_wnd_bytes;
	sum->rtt_ns += c->rtt_ns;
	sum->rttvar_ns += c->rttvar_ns;
	sum->pmtu_bytes = c->pmtu_bytes > sum->pmtu_bytes ? c->pmtu_bytes : sum->pmtu_bytes;
	sum->reorder += c->reorder;
	sum->delivery_bps += c->delivery_bps;
}

void flow_read(const struct flow *f, struct flow_count *ret)
{
	struct flow_count sum = {};

	for (unsigned int i = 0; i < f->have; i++) {
		struct flow_count c;

		flow_read_stream(f, i, &c);
		add_count(&sum, &c);
	}
	if (f->have) {
		sum.jitter_ns /= f->have;
		sum.rtt_ns /= f->have;
		sum.rttvar_ns /= f->have;
	}
	*ret = sum;
}

/* Until the stream records into the other histogram; false when it does not within the bound. */
static bool has_changed(struct stream *s, unsigned int want)
{
	const uint64_t until = clock_mono_ns() + HIST_WAIT_NS;
	const struct timespec gap = clock_timespec(50 * NS_PER_US);

	while (atomic_load_explicit(&s->used, memory_order_acquire) != want) {
		if (atomic_load(&s->done) || clock_mono_ns() >= until)
			return false;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &gap, NULL);
	}
	return true;
}

static void take_hist(struct hist *h, struct hist *into)
{
	hist_merge(into, h);
	memset(h, 0, sizeof(*h));
}

void flow_take_hist(struct flow *f, unsigned int i, struct hist *into)
{
	struct stream *s = &f->v[i];
	unsigned int want = atomic_load_explicit(&s->want, memory_order_relaxed);

	if (!s->hist[0])
		return;
	/* a change that did not come in time last time is still awaited */
	if (!atomic_load(&s->done) &&
	    want == atomic_load_explicit(&s->used, memory_order_relaxed)) {
		want ^= 1;
		atomic_store_explicit(&s->want, want, memory_order_release);
	}
	if (has_changed(s, want) && !atomic_load(&s->done)) {
		take_hist(s->hist[want ^ 1], into);
	} else if (atomic_load(&s->done)) {
		take_hist(s->hist[0], into);
		take_hist(s->hist[1], into);
	}
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

bool flow_is_spent(const struct flow *f)
{
	return f->limit.limited && flow_sum_bytes(f) >= f->limit.total_bytes;
}

int flow_start(struct flow *f, struct err *e)
{
	unsigned int made;
	int r;

	atomic_store(&f->phase, STREAM_RUN);
	f->start_ns = f->omit_ns = clock_mono_ns();
	for (unsigned int i = 0; i < f->have; i++)
		f->v[i].start_ns = f->start_ns;
	r = start_threads(f);
	if (r == 0)
		return 0;
	made = f->running;
	join_all(f, 0);
	f->start_ns = f->omit_ns = 0;
	errno = r;
	if (f->cpu >= 0 && r == EINVAL)
		return err_sys(e,
			       "thread for stream %u of %u on CPU %d (this machine has 0-%ld, "
			       "and a cpuset may allow fewer)",
			       made + 1, f->nr, f->v[made].cpu, sysconf(_SC_NPROCESSORS_CONF) - 1);
	return err_sys(e, "thread for stream %u of %u", made + 1, f->nr);
}

void flow_quiet(struct flow *f)
{
	int run = STREAM_RUN;

	if (f->cfg.sender)
		atomic_store(&f->phase, STREAM_QUIT);
	else
		atomic_compare_exchange_strong(&f->phase, &run, STREAM_DRAIN);
	/* not before: what is sent between the two would be of no time */
	if (f->end_ns == 0 && f->start_ns > 0)
		f->end_ns = clock_mono_ns();
	if (f->cfg.sender)
		join_all(f, 0);
}

void flow_finish(struct flow *f, uint64_t bound_ns)
{
	int drain = STREAM_DRAIN;

	flow_quiet(f);
	atomic_compare_exchange_strong(&f->phase, &drain, STREAM_SETTLE);
	for (unsigned int i = 0; has_tcpinfo(&f->cfg) && i < f->have; i++)
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

static void stream_results(const struct flow *f, unsigned int i, struct wire_stream *ret)
{
	const struct flow_count *omit = &f->omit[i];
	struct flow_count c;

	flow_read_stream(f, i, &c);
	*ret = (struct wire_stream){
		.id = f->v[i].id,
		.bytes = c.bytes - omit->bytes,
		.retransmits = has_tcpinfo(&f->cfg) ? (int64_t)(c.retransmits - omit->retransmits)
						    : WIRE_UNKNOWN,
		.packets = c.packets,
		.errors = c.lost,
		.omitted_packets = omit->packets,
		.omitted_errors = omit->lost,
		.has_omitted = true,
		.jitter_s = (double)c.jitter_ns / 1e9,
		.end_s = f->end_ns > f->omit_ns ? (double)(f->end_ns - f->omit_ns) / 1e9 : 0,
	};
}

void flow_results(const struct flow *f, struct wire_results *ret)
{
	const double all = (double)(f->end_ns - f->start_ns);
	double user = 0, kernel = 0;

	for (unsigned int i = 0; i < f->have; i++) {
		user += (double)atomic_load(&f->v[i].user_ns);
		kernel += (double)atomic_load(&f->v[i].system_ns);
		stream_results(f, i, &ret->streams[ret->nr++]);
	}
	ret->cpu_user += all > 0 ? 100 * user / all : 0;
	ret->cpu_system += all > 0 ? 100 * kernel / all : 0;
	ret->cpu_total = ret->cpu_user + ret->cpu_system;
	if (f->congestion[0])
		memcpy(ret->congestion, f->congestion, sizeof(ret->congestion));
}

void flow_reset(struct flow *f)
{
	const struct linger now = { .l_onoff = 1 };

	assert(f->running == 0);
	for (unsigned int i = 0; i < f->have; i++) {
		if (f->v[i].fd < 0)
			continue;
		setsockopt(f->v[i].fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		close_fdp(&f->v[i].fd);
		f->v[i].fd = -1;
	}
}

void flow_release(struct flow *f)
{
	atomic_store(&f->phase, STREAM_QUIT);
	join_all(f, 0);
	for (unsigned int i = 0; i < f->nr; i++) {
		struct stream *s = &f->v[i];

		close_fdp(&s->fd);
		close_fdp(&s->file);
		free(s->block);
		hist_free(s->hist[0]);
		hist_free(s->hist[1]);
	}
	free(f->v);
	free(f->threads);
	free(f->omit);
	*f = (struct flow){};
}
