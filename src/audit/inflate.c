// SPDX-License-Identifier: GPL-3.0-or-later
#include "audit/inflate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

/* RFC 1951, 3.2: codes are at most this long; so many literals, lengths and distances there are. */
#define CODE_MAX 15
#define NR_LENGTHS 288
#define NR_DISTANCES 32

struct stream {
	const uint8_t *in, *end;
	uint32_t bits;
	unsigned int nr_bits;
	struct buf *out;
	size_t begin; /* of what comes out */
	size_t limit;
	const char *wrong; /* the first thing that was */
};

/* A canonical code: how many codes of each length, and the symbols by code. */
struct code {
	uint16_t count[CODE_MAX + 1];
	uint16_t symbol[NR_LENGTHS];
};

static void fail(struct stream *s, const char *wrong)
{
	if (!s->wrong)
		s->wrong = wrong;
}

/* The next @n bits, the first read being the lowest; 0 after the end. */
static unsigned int take(struct stream *s, unsigned int n)
{
	unsigned int v;

	while (s->nr_bits < n) {
		if (s->in == s->end) {
			fail(s, "it is cut short");
			return 0;
		}
		s->bits |= (uint32_t)*s->in++ << s->nr_bits;
		s->nr_bits += 8;
	}
	v = s->bits & ((1U << n) - 1);
	s->bits >>= n;
	s->nr_bits -= n;
	return v;
}

static void code_of(struct stream *s, struct code *c, const uint8_t *lengths, unsigned int nr)
{
	uint16_t at[CODE_MAX + 2] = {};
	int left = 1;

	memset(c, 0, sizeof(*c));
	for (unsigned int i = 0; i < nr; i++)
		c->count[lengths[i]]++;
	c->count[0] = 0;
	for (unsigned int len = 1; len <= CODE_MAX; len++) {
		left = 2 * left - c->count[len];
		if (left < 0) {
			fail(s, "a code of it has too many words");
			return;
		}
		at[len + 1] = (uint16_t)(at[len] + c->count[len]);
	}
	for (unsigned int i = 0; i < nr; i++)
		if (lengths[i])
			c->symbol[at[lengths[i]]++] = (uint16_t)i;
}

static unsigned int decode(struct stream *s, const struct code *c)
{
	int word = 0, first = 0, index = 0;

	for (unsigned int len = 1; len <= CODE_MAX && !s->wrong; len++) {
		word |= (int)take(s, 1);
		if (word - first < c->count[len])
			return c->symbol[index + word - first];
		index += c->count[len];
		first = (first + c->count[len]) * 2;
		word *= 2;
	}
	fail(s, "a word of it is in no code");
	return 0;
}

static void put(struct stream *s, uint8_t byte)
{
	if (s->out->len - s->begin >= s->limit)
		fail(s, "it is larger than allowed");
	else if (buf_add(s->out, &byte, 1) < 0)
		fail(s, "there is no memory for it");
}

static void repeat(struct stream *s, size_t distance, unsigned int length)
{
	if (distance > s->out->len - s->begin) {
		fail(s, "it repeats what was before its beginning");
		return;
	}
	while (length-- > 0 && !s->wrong)
		put(s, (uint8_t)s->out->data[s->out->len - distance]);
}

static void coded_block(struct stream *s, const struct code *lengths, const struct code *distances)
{
	static const uint16_t base[] = { 3,  4,	 5,  6,	  7,   8,   9,	 10,  11, 13,
					 15, 17, 19, 23,  27,  31,  35,	 43,  51, 59,
					 67, 83, 99, 115, 131, 163, 195, 227, 258 };
	static const uint8_t extra[] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
					 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0 };

	while (!s->wrong) {
		unsigned int symbol = decode(s, lengths), d, length;

		if (symbol < 256) {
			if (!s->wrong)
				put(s, (uint8_t)symbol);
			continue;
		}
		symbol -= 257;
		if (symbol == UINT32_MAX) /* 256: the end of the block */
			return;
		if (symbol >= ARRAY_SIZE(base)) {
			fail(s, "a length of it does not exist");
			return;
		}
		length = base[symbol] + take(s, extra[symbol]);
		d = decode(s, distances);
		if (d >= 30) {
			fail(s, "a distance of it does not exist");
			return;
		}
		/* 1 2 3 4, then two of each number of extra bits */
		if (d < 4)
			repeat(s, d + 1, length);
		else
			repeat(s, (((size_t)2 + d % 2) << (d / 2 - 1)) + 1 + take(s, d / 2 - 1),
			       length);
	}
}

static void fixed_block(struct stream *s)
{
	struct code lengths = {}, distances = {};
	uint8_t l[NR_LENGTHS];

	for (unsigned int i = 0; i < NR_LENGTHS; i++)
		l[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
	code_of(s, &lengths, l, NR_LENGTHS);
	memset(l, 5, NR_DISTANCES);
	code_of(s, &distances, l, NR_DISTANCES);
	coded_block(s, &lengths, &distances);
}

/* RFC 1951, 3.2.7: the lengths of both codes, themselves coded. */
static unsigned int run_of(struct stream *s, unsigned int symbol, uint8_t *value)
{
	if (symbol == 16)
		return 3 + take(s, 2);
	*value = 0;
	return symbol == 17 ? 3 + take(s, 3) : 11 + take(s, 7);
}

static void read_lengths(struct stream *s, const struct code *c, uint8_t *l, unsigned int nr)
{
	for (unsigned int i = 0; i < nr && !s->wrong;) {
		unsigned int symbol = decode(s, c), n = 1;
		uint8_t value = (uint8_t)symbol;

		if (symbol >= 16) {
			if (symbol == 16 && i == 0)
				fail(s, "it repeats a length before the first");
			value = i ? l[i - 1] : 0;
			n = run_of(s, symbol, &value);
		}
		if (n > nr - i) {
			fail(s, "it has more lengths than it says");
			return;
		}
		memset(l + i, value, n);
		i += n;
	}
}

static void dynamic_block(struct stream *s)
{
	static const uint8_t order[] = { 16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
					 11, 4,	 12, 3, 13, 2, 14, 1, 15 };
	struct code lengths = {}, distances = {};
	uint8_t l[NR_LENGTHS + NR_DISTANCES] = {};
	unsigned int nr_lengths = 257 + take(s, 5), nr_distances = 1 + take(s, 5);
	unsigned int nr = 4 + take(s, 4);

	if (nr_lengths > 286 || nr_distances > 30) {
		fail(s, "it has more symbols than there are");
		return;
	}
	for (unsigned int i = 0; i < nr; i++)
		l[order[i]] = (uint8_t)take(s, 3);
	code_of(s, &lengths, l, ARRAY_SIZE(order));
	memset(l, 0, sizeof(l));
	read_lengths(s, &lengths, l, nr_lengths + nr_distances);
	if (s->wrong)
		return;
	code_of(s, &lengths, l, nr_lengths);
	code_of(s, &distances, l + nr_lengths, nr_distances);
	coded_block(s, &lengths, &distances);
}

static void stored_block(struct stream *s)
{
	unsigned int len, inverse;

	take(s, s->nr_bits % 8);
	len = take(s, 16);
	inverse = take(s, 16);
	if ((len ^ inverse) != 0xffff)
		fail(s, "a length of it is not what it says");
	while (len-- > 0 && !s->wrong) {
		uint8_t byte = (uint8_t)take(s, 8);

		if (!s->wrong)
			put(s, byte);
	}
}

static void inflate(struct stream *s)
{
	bool last = false;

	while (!last && !s->wrong) {
		unsigned int kind;

		last = take(s, 1);
		kind = take(s, 2);
		if (s->wrong)
			return;
		if (kind == 0)
			stored_block(s);
		else if (kind == 1)
			fixed_block(s);
		else if (kind == 2)
			dynamic_block(s);
		else
			fail(s, "a block of it is of no kind");
	}
}

/* Over the header's optional parts: RFC 1952, 2.3. */
static void skip_header(struct stream *s)
{
	unsigned int flags;

	if (s->end - s->in < 18 || s->in[0] != 0x1f || s->in[1] != 0x8b || s->in[2] != 8) {
		fail(s, "it is no gzip file");
		return;
	}
	flags = s->in[3];
	s->in += 10;
	if (flags & 4) {
		unsigned int n = take(s, 16);

		while (n-- > 0 && !s->wrong)
			take(s, 8);
	}
	for (unsigned int i = 0; i < ((flags >> 3) & 1) + ((flags >> 4) & 1); i++)
		while (!s->wrong && take(s, 8))
			;
	if (flags & 2)
		take(s, 16);
}

static uint32_t crc32_of(const char *data, size_t len)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < len; i++) {
		crc ^= (uint8_t)data[i];
		for (int k = 0; k < 8; k++)
			crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
	}
	return ~crc;
}

static void check_trailer(struct stream *s)
{
	uint32_t crc, size;

	take(s, s->nr_bits % 8);
	crc = take(s, 16);
	crc |= take(s, 16) << 16;
	size = take(s, 16);
	size |= take(s, 16) << 16;
	if (s->wrong)
		return;
	if (size != (uint32_t)(s->out->len - s->begin) ||
	    crc != crc32_of(s->out->data + s->begin, s->out->len - s->begin))
		fail(s, "its checksum is of other contents");
}

int gunzip(const void *data, size_t len, size_t limit, struct buf *out, struct err *e)
{
	struct stream s = { .in = data,
			    .end = (const uint8_t *)data + len,
			    .out = out,
			    .begin = out->len,
			    .limit = limit };

	if (buf_reserve(out, 1) < 0)
		return err_nomem(e, "gzip");
	skip_header(&s);
	if (!s.wrong)
		inflate(&s);
	if (!s.wrong)
		check_trailer(&s);
	if (!s.wrong)
		return 0;
	out->len = s.begin;
	out->data[s.begin] = '\0';
	return err_set(e, out->failed ? -ENOMEM : -EBADMSG, "gzip: %s", s.wrong);
}
