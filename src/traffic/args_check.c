// SPDX-License-Identifier: GPL-3.0-or-later
#include "traffic/args_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

#define UDP_RATE_BPS 1000000
#define TCP_LENGTH (128U << 10)
#define SWEEP_RR_PER_S 1000
#define RR_BYTES 64 /* of requests and responses, as in a plan */

static int check_round_trips(const struct traffic_args *a, struct err *e)
{
	const struct wire_params *p = &a->params;
	bool rr = p->mode != WIRE_BULK;

	if ((p->request_bytes || p->response_bytes) && !rr && !a->sweep)
		return err_set(e, -EINVAL, "--request and --response go with --rr or --crr");
	if (p->mode == WIRE_CRR && (p->udp || a->sweep))
		return err_set(e, -EINVAL, "--crr is TCP's, and no part of a sweep: use --rr");
	if (p->udp && rr &&
	    ((p->request_bytes && p->request_bytes < WIRE_RR_UDP_MIN) ||
	     (p->response_bytes && p->response_bytes < WIRE_RR_UDP_MIN)))
		return err_set(
			e, -EINVAL,
			"--request and --response over UDP carry a number: %d bytes at least",
			WIRE_RR_UDP_MIN);
	if (rr && a->beside == BESIDE_NOTHING && !a->sweep &&
	    (p->reverse || p->bidir || p->bytes || p->blocks || a->has_rate))
		return err_set(
			e, -EINVAL,
			"-R, --bidir, -n, -k and -b are a load's: with round trips they need "
			"--beside");
	if (!rr && a->beside != BESIDE_NOTHING && !a->sweep)
		return err_set(e, -EINVAL, "--beside goes with --rr, --crr or --sweep");
	if ((p->bytes || p->blocks) && (a->sweep || a->beside != BESIDE_NOTHING))
		return err_set(e, -EINVAL, "-n and -k end no such test: use -t");
	if (a->sweep && a->has_rate)
		return err_set(e, -EINVAL, "--sweep finds the rates itself: leave -b out");
	if (a->flood && rr && a->beside != BESIDE_FLOOD)
		return err_set(e, -EINVAL, "a flood beside round trips is --rr --beside flood");
	return 0;
}

int args_check_client(const struct traffic_args *a, struct err *e)
{
	const struct wire_params *p = &a->params;
	int ends = a->has_time + (p->bytes > 0) + (p->blocks > 0);

	if (ends > 1)
		return err_set(e, -EINVAL, "only one of -t, -n and -k can end a test");
	if (p->reverse && p->bidir)
		return err_set(e, -EINVAL, "-R and --bidir exclude each other");
	if (a->flood && a->has_rate)
		return err_set(e, -EINVAL, "--flood and -b exclude each other: --flood=RATE paces");
	if ((p->udp || a->flood) && p->length_bytes > WIRE_UDP_LENGTH_MAX)
		return err_set(e, -EINVAL, "-l: a datagram has %d bytes at most",
			       WIRE_UDP_LENGTH_MAX);
	if ((p->udp || a->flood) && p->length_bytes && p->length_bytes < WIRE_UDP_LENGTH_MIN)
		return err_set(e, -EINVAL, "-l: a datagram needs %d bytes for its header",
			       WIRE_UDP_LENGTH_MIN);
	if (a->cport && a->cport + 2 * (uint64_t)p->streams > 65536)
		return err_set(e, -EINVAL, "--cport: too few ports above it for the streams");
	return check_round_trips(a, e);
}

/* "192.0.2.1%eth0" names the device to leave by; "fe80::1%eth0" is an address as it stands. */
static void split_host(struct traffic_args *a)
{
	const char *percent = strchr(a->host, '%');

	if (!percent || strchr(a->host, ':'))
		return;
	snprintf(a->host_text, sizeof(a->host_text), "%.*s", (int)(percent - a->host), a->host);
	a->host = a->host_text;
	if (!a->bind_dev)
		a->bind_dev = percent + 1;
}

/* Where connections leave from, in one text. */
static void join_bind(struct traffic_args *a)
{
	if (!a->bind_dev)
		return;
	snprintf(a->bind_text, sizeof(a->bind_text), "%s%%%s", a->bind ? a->bind : "", a->bind_dev);
	a->bind = a->bind_text;
}

void args_fill_in(struct traffic_args *a)
{
	struct wire_params *p = &a->params;

	if (a->host)
		split_host(a);
	join_bind(a);
	if (p->streams == 0)
		p->streams = 1;
	if (a->title)
		snprintf(p->title, sizeof(p->title), "%s", a->title);
	if (!a->has_time && !p->bytes && !p->blocks)
		p->time_s = 10;
	if (a->sweep) {
		p->mode = WIRE_RR;
		if (!a->has_rr_rate)
			p->rr_per_s = SWEEP_RR_PER_S;
	}
	if (a->sweep && a->beside == BESIDE_NOTHING)
		a->beside = BESIDE_TCP;
	if (p->mode != WIRE_BULK) {
		p->request_bytes = p->request_bytes ? p->request_bytes : RR_BYTES;
		p->response_bytes = p->response_bytes ? p->response_bytes : RR_BYTES;
	}
	if (a->flood && p->mode == WIRE_BULK) {
		p->udp = true;
		if (p->length_bytes == 0)
			p->length_bytes = WIRE_UDP_LENGTH_MIN;
		p->rate_bps = a->flood_per_s * p->length_bytes * 8;
	} else if (p->udp && p->mode == WIRE_BULK && !a->has_rate) {
		p->rate_bps = UDP_RATE_BPS;
	}
	if (!p->udp && p->length_bytes == 0)
		p->length_bytes = TCP_LENGTH;
}

/* Which protocols carry data: the round trips' and, beside them, the load's. */
static void protocols(const struct traffic_args *a, bool *ret_tcp, bool *ret_udp)
{
	bool udp = a->params.udp, load_udp = udp;

	if (a->beside != BESIDE_NOTHING)
		load_udp = a->beside != BESIDE_TCP;
	*ret_tcp = !udp || !load_udp;
	*ret_udp = udp || load_udp;
}

void args_idle(const struct traffic_args *a, struct buf *out)
{
	const struct wire_params *p = &a->params;
	const struct {
		const char *name;
		bool given, for_udp;
	} some[] = {
		{ "--gsro", p->gsro, true },
		{ "--dont-fragment", p->dont_fragment, true },
		{ "--udp-counters-64bit", p->udp_counters_64bit, true },
		{ "-Z", p->zerocopy, false },
		{ "-N", p->nodelay, false },
	};
	bool tcp, udp;

	if (a->server)
		return;
	protocols(a, &tcp, &udp);
	for (size_t i = 0; i < ARRAY_SIZE(some); i++)
		if (some[i].given && !(some[i].for_udp ? udp : tcp))
			buf_printf(out, "irqlab: %s has no effect with %s\n", some[i].name,
				   tcp ? "TCP" : "UDP");
}

int args_check_arrivals(const struct traffic_args *a, struct err *e)
{
	const struct wire_params *p = &a->params;

	if (p->arrivals != WIRE_POISSON || p->rr_per_s || p->rate_bps || a->flood_per_s)
		return 0;
	return err_set(
		e, -EINVAL,
		"--arrivals poisson goes with a rate: --rr=RATE, --crr=RATE, --flood=RATE or "
		"-b RATE");
}
