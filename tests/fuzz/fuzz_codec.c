// SPDX-License-Identifier: GPL-3.0-or-later
/* Records from an agent or a store: what decodes must encode and decode to the same bytes. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "sample/codec.h"
#include "sample/sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(record_freep) struct record *a = NULL, *b = NULL;
	_cleanup_(buf_release) struct buf once = {}, twice = {};
	struct err e = {};

	if (codec_record_decode(data, size, &a, &e) < 0)
		return 0;
	assert(codec_record_encode(a, &once) == 0);
	assert(codec_record_decode(once.data, once.len, &b, &e) == 0);
	assert(codec_record_encode(b, &twice) == 0);
	assert(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
	return 0;
}
