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

static void fuzz_params(const char *text, size_t len)
{
	_cleanup_(buf_release) struct buf b = {};
	struct wire_params p = {}, q = {};
	struct err e = {};

	if (wire_params_decode(text, len, &p, &e) < 0)
		return;
	assert(p.streams >= 1 && p.streams <= WIRE_STREAMS_MAX);
	assert(p.length_bytes <= WIRE_LENGTH_MAX);
	assert(wire_params_encode(&p, &b, &e) == 0);
	assert(wire_params_decode(buf_str(&b), b.len, &q, &e) == 0);
	assert(p.streams == q.streams && p.rate_bps == q.rate_bps && p.bytes == q.bytes);
	assert(strcmp(p.congestion, q.congestion) == 0);
}

static void fuzz_results(const char *text, size_t len)
{
	static struct wire_results a, b;
	_cleanup_(buf_release) struct buf out = {};
	struct err e = {};

	if (wire_results_decode(text, len, &a, NULL, &e) < 0)
		return;
	assert(a.nr <= 2 * WIRE_STREAMS_MAX);
	assert(wire_results_encode(&a, NULL, &out, &e) == 0);
	assert(wire_results_decode(buf_str(&out), out.len, &b, NULL, &e) == 0);
	assert(a.nr == b.nr);
	for (unsigned int i = 0; i < a.nr; i++)
		assert(a.streams[i].id == b.streams[i].id &&
		       a.streams[i].bytes == b.streams[i].bytes &&
		       a.streams[i].retransmits == b.streams[i].retransmits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	if (size == 0)
		return 0;
	if (text[0] == 'r')
		fuzz_results(text + 1, size - 1);
	else
		fuzz_params(text + 1, size - 1);
	return 0;
}
