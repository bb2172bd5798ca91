// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/stream.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "load/stream_loop.h"

/* A paced sender sends at least so often: half of what a second may be off by is a block. */
#define SENDS_PER_S 400

struct stream_cfg stream_cfg_of(const struct wire_params *p, bool sender)
{
	return (struct stream_cfg){ .sender = sender,
				    .udp = p->udp,
				    .mode = p->mode,
				    .rate_bps = p->rate_bps,
				    .rr_per_s = p->rr_per_s,
				    .arrivals = p->arrivals,
				    .seed = p->seed,
				    .burst = p->burst,
				    .length_bytes = p->length_bytes,
				    .request_bytes = p->request_bytes,
				    .response_bytes = p->response_bytes,
				    .counters_64bit = p->udp_counters_64bit,
				    .repeating_payload = p->repeating_payload,
				    .zerocopy = p->zerocopy,
				    .skip_rx_copy = p->skip_rx_copy,
				    .gsro = p->gsro };
}

void stream_break(struct stream *s, int error)
{
	if (stream_runs(s))
		atomic_store(&s->error, error);
}

void stream_sleep(uint64_t now_ns, uint64_t t_ns)
{
	struct timespec until;

	if (t_ns <= now_ns)
		return;
	until = clock_timespec(t_ns - now_ns > STREAM_WAIT_NS ? now_ns + STREAM_WAIT_NS : t_ns);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

void stream_rest(const struct stream *s)
{
	struct timespec gap = clock_timespec(NS_PER_MS);

	while (stream_runs(s))
		clock_nanosleep(CLOCK_MONOTONIC, 0, &gap, NULL);
}

size_t stream_claim(struct stream *s, size_t want)
{
	int64_t left, take;

	if (!s->limit->limited)
		return want;
	left = atomic_load_explicit(&s->limit->left_bytes, memory_order_relaxed);
	do {
		take = left < (int64_t)want ? left : (int64_t)want;
		if (take <= 0)
			return 0;
	} while (!atomic_compare_exchange_weak(&s->limit->left_bytes, &left, left - take));
	return (size_t)take;
}

void stream_give_back(struct stream *s, size_t bytes)
{
	if (s->limit->limited && bytes)
		atomic_fetch_add(&s->limit->left_bytes, (int64_t)bytes);
}

void stream_pace_bytes(struct stream *s, struct pacer *p, size_t unit)
{
	const struct stream_cfg *c = s->cfg;
	double bits = 8.0 * (double)unit * (c->burst ? c->burst : 1);

	pacer_init(p, c->rate_bps ? bits * 1e9 / (double)c->rate_bps : 0, c->arrivals, s->seed);
	p->start_ns = s->start_ns;
}

void stream_pace_requests(struct stream *s, struct pacer *p)
{
	const struct stream_cfg *c = s->cfg;

	pacer_init(p, c->rr_per_s ? 1e9 / (double)c->rr_per_s : 0, c->arrivals, s->seed);
	p->start_ns = s->start_ns;
	p->debt_ns = PACER_ANY_DEBT;
}

size_t stream_unit_bytes(const struct stream_cfg *cfg)
{
	uint64_t often = cfg->rate_bps / 8 / SENDS_PER_S / (cfg->burst ? cfg->burst : 1);

	if (cfg->udp || cfg->rate_bps == 0 || often >= cfg->length_bytes)
		return cfg->length_bytes;
	return often ? (size_t)often : 1;
}

size_t stream_block_bytes(const struct stream_cfg *cfg)
{
	if (cfg->mode != WIRE_BULK)
		return stream_rr_bytes(cfg);
	if (cfg->udp)
		return stream_udp_bytes(cfg);
	return cfg->sender ? cfg->length_bytes : stream_tcp_room(cfg);
}

/* What the thread has used: the process serves other tests at the same time. */
static void note_usage(struct stream *s)
{
	struct rusage u;

	if (getrusage(RUSAGE_THREAD, &u) < 0)
		return;
	stream_set(&s->user_ns, (uint64_t)u.ru_utime.tv_sec * NS_PER_S +
					(uint64_t)u.ru_utime.tv_usec * NS_PER_US);
	stream_set(&s->system_ns, (uint64_t)u.ru_stime.tv_sec * NS_PER_S +
					  (uint64_t)u.ru_stime.tv_usec * NS_PER_US);
}

void *stream_run(void *stream)
{
	static void (*const loops[][2][2])(struct stream *) = {
		[WIRE_BULK] = { { stream_receive_tcp, stream_send_tcp },
				{ stream_receive_udp, stream_send_udp } },
		[WIRE_RR] = { { stream_answer, stream_ask }, { stream_answer, stream_ask } },
		[WIRE_CRR] = { { stream_answer_anew, stream_ask_anew },
			       { stream_answer_anew, stream_ask_anew } },
	};
	struct stream *s = stream;

	/* 50 us of slack would be a fifth of the gap between blocks at 4 Gbit/s */
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	loops[s->cfg->mode][s->cfg->udp][s->cfg->sender](s);
	note_usage(s);
	atomic_store(&s->done, true);
	return NULL;
}
