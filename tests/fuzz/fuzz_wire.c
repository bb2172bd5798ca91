// SPDX-License-Identifier: GPL-3.0-or-later
/* Control messages of iperf3: whatever decodes must encode and decode to the same again. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "load/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A request that a stock server understands carries no extension, whatever the key said. */
static void drop_extension(struct wire_params *p)
{
	if (wire_params_are_extended(p))
		return;
	p->arrivals = WIRE_EVEN;
	p->seed = p->rr_per_s = 0;
	p->request_bytes = p->response_bytes = 0;
}

static void assert_same_flags(const struct wire_params *p, const struct wire_params *q)
{
	assert(p->udp == q->udp && p->reverse == q->reverse && p->bidir == q->bidir);
	assert(p->nodelay == q->nodelay && p->udp_counters_64bit == q->udp_counters_64bit);
	assert(p->repeating_payload == q->repeating_payload);
	assert(p->dont_fragment == q->dont_fragment && p->zerocopy == q->zerocopy);
	assert(p->skip_rx_copy == q->skip_rx_copy && p->gsro == q->gsro);
	assert(p->get_server_output == q->get_server_output);
}

static void assert_same_params(const struct wire_params *p, const struct wire_params *q)
{
	assert_same_flags(p, q);
	assert(p->streams == q->streams && p->time_s == q->time_s && p->omit_s == q->omit_s);
	assert(p->bytes == q->bytes && p->blocks == q->blocks && p->rate_bps == q->rate_bps);
	assert(p->burst == q->burst && p->length_bytes == q->length_bytes);
	assert(p->window_bytes == q->window_bytes && p->mss_bytes == q->mss_bytes);
	assert(p->tos == q->tos && p->flowlabel == q->flowlabel);
	assert(p->server_cpu == q->server_cpu);
	assert(strcmp(p->congestion, q->congestion) == 0 && strcmp(p->title, q->title) == 0);
	assert(strcmp(p->extra_data, q->extra_data) == 0 && strcmp(p->version, q->version) == 0);
	assert(p->mode == q->mode && p->arrivals == q->arrivals && p->seed == q->seed);
	assert(p->rr_per_s == q->rr_per_s && p->request_bytes == q->request_bytes);
	assert(p->response_bytes == q->response_bytes);
}

static void assert_in_range(const struct wire_params *p)
{
	assert(p->streams >= 1 && p->streams <= WIRE_STREAMS_MAX);
	assert(p->length_bytes <= WIRE_LENGTH_MAX && p->time_s <= WIRE_TIME_MAX_S);
	assert(!p->udp || p->length_bytes == 0 ||
	       (p->length_bytes >= WIRE_UDP_LENGTH_MIN && p->length_bytes <= WIRE_UDP_LENGTH_MAX));
	assert(p->server_cpu >= -1 && p->server_cpu <= WIRE_CPU_MAX);
	assert(!(p->reverse && p->bidir));
	assert(p->mode == WIRE_BULK || (p->request_bytes > 0 && p->response_bytes > 0));
}

static void fuzz_params(const char *text, size_t len)
{
	_cleanup_(buf_release) struct buf b = {};
	struct wire_params p = {}, q = {};
	struct err e = {};

	if (wire_params_decode(text, len, &p, &e) < 0)
		return;
	assert_in_range(&p);
	drop_extension(&p);
	assert(wire_params_encode(&p, &b, &e) == 0);
	assert(wire_params_decode(buf_str(&b), b.len, &q, &e) == 0);
	assert_same_params(&p, &q);
}

static void fuzz_extended(const char *text, size_t len)
{
	_cleanup_(buf_release) struct buf b = {};
	struct wire_extended x = {}, y = {};
	struct err e = {};

	if (wire_extended_decode(text, len, &x, &e) < 0)
		return;
	assert(wire_extended_encode(&x, &b, &e) == 0);
	assert(wire_extended_decode(buf_str(&b), b.len, &y, &e) == 0);
	assert(x.port == y.port && strcmp(x.version, y.version) == 0);
}

static void assert_same_stream(const struct wire_stream *a, const struct wire_stream *b)
{
	assert(a->id == b->id && a->bytes == b->bytes && a->retransmits == b->retransmits);
	assert(a->packets == b->packets && a->errors == b->errors);
	assert(a->has_omitted == b->has_omitted);
	assert(a->omitted_packets == b->omitted_packets && a->omitted_errors == b->omitted_errors);
	assert(a->jitter_s == b->jitter_s && a->start_s == b->start_s && a->end_s == b->end_s);
}

static void assert_same_results(const struct wire_results *a, const struct wire_results *b)
{
	assert(a->cpu_total == b->cpu_total && a->cpu_user == b->cpu_user);
	assert(a->cpu_system == b->cpu_system && strcmp(a->congestion, b->congestion) == 0);
	assert(a->nr == b->nr && a->nr <= 2 * WIRE_STREAMS_MAX);
	for (unsigned int i = 0; i < a->nr; i++)
		assert_same_stream(&a->streams[i], &b->streams[i]);
}

static void assert_same_output(const struct wire_output *a, const struct wire_output *b)
{
	assert(a->is_json == b->is_json && a->text.len == b->text.len);
	assert(!a->text.data == !b->text.data);
	assert(a->text.len == 0 || memcmp(a->text.data, b->text.data, a->text.len) == 0);
}

/* As a server reads them; as a client does, with what the server printed. */
static void fuzz_results(const char *text, size_t len, bool with_output)
{
	static struct wire_results a, b;
	struct wire_output first = {}, second = {};
	_cleanup_(buf_release) struct buf out = {};
	struct err e = {};

	if (wire_results_decode(text, len, &a, with_output ? &first : NULL, &e) == 0) {
		assert(wire_results_encode(&a, &first, &out, &e) == 0);
		assert(wire_results_decode(buf_str(&out), out.len, &b, with_output ? &second : NULL,
					   &e) == 0);
		assert_same_results(&a, &b);
		assert_same_output(&first, &second);
	}
	buf_release(&first.text);
	buf_release(&second.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	if (size == 0)
		return 0;
	if (text[0] == 'r' || text[0] == 'o')
		fuzz_results(text + 1, size - 1, text[0] == 'o');
	else if (text[0] == 'x')
		fuzz_extended(text + 1, size - 1);
	else
		fuzz_params(text + 1, size - 1);
	return 0;
}
