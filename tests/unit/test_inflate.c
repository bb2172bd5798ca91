// SPDX-License-Identifier: GPL-3.0-or-later
/* Against zlib, in every way it can pack; and against files that are broken. */
#include "test.h"

#include <stdlib.h>
#include <zlib.h>

#include "audit/inflate.h"
#include "audit/kconfig.h"

#define LIMIT (1U << 20)

/* The same numbers every time. */
static unsigned int next(unsigned int *seed)
{
	*seed = *seed * 1664525U + 1013904223U;
	return *seed >> 16;
}

/* @len bytes: of few letters, so that there is something to repeat, or of all. */
static char *text_of(size_t len, unsigned int letters, unsigned int seed)
{
	char *p = malloc(len ? len : 1);

	assert_non_null(p);
	for (size_t i = 0; i < len; i++)
		p[i] = (char)(next(&seed) % letters);
	return p;
}

static size_t pack(const char *text, size_t len, int level, int strategy, unsigned char **ret)
{
	z_stream s = {};
	size_t room = len + len / 8 + 256;

	*ret = malloc(room);
	assert_non_null(*ret);
	/* 15 + 16: a window of 32 KiB in a gzip file */
	assert_int_equal(deflateInit2(&s, level, Z_DEFLATED, 15 + 16, 8, strategy), Z_OK);
	s.next_in = (unsigned char *)(uintptr_t)text;
	s.avail_in = (unsigned int)len;
	s.next_out = *ret;
	s.avail_out = (unsigned int)room;
	assert_int_equal(deflate(&s, Z_FINISH), Z_STREAM_END);
	assert_int_equal(deflateEnd(&s), Z_OK);
	return s.total_out;
}

static void whatever_zlib_packs_comes_out_again(void **state)
{
	static const int strategies[] = { Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE,
					  Z_FIXED };
	static const size_t lengths[] = { 0, 1, 2, 257, 258, 259, 4000, 70000 };
	static const unsigned int letters[] = { 1, 26, 256 };

	for (size_t l = 0; l < ARRAY_SIZE(lengths); l++)
		for (size_t k = 0; k < ARRAY_SIZE(letters); k++)
			for (size_t s = 0; s < ARRAY_SIZE(strategies); s++)
				for (int level = 0; level <= 9; level += 3) {
					_cleanup_(freep) char *text = text_of(
						lengths[l], letters[k], 7 + (unsigned int)l);
					_cleanup_(freep) unsigned char *packed = NULL;
					_cleanup_(buf_release) struct buf out = {};
					struct err e = {};
					size_t n = pack(text, lengths[l], level, strategies[s],
							&packed);

					buf_puts(&out, "before:");
					if (gunzip(packed, n, LIMIT, &out, &e) < 0)
						fail_msg("%zu of %u: %s", lengths[l], letters[k],
							 e.msg);
					assert_int_equal(out.len, 7 + lengths[l]);
					assert_memory_equal(out.data, "before:", 7);
					assert_memory_equal(out.data + 7, text, lengths[l]);
				}
}

static void a_file_that_is_cut_short_is_refused(void **state)
{
	_cleanup_(freep) char *text = text_of(3000, 5, 11);
	_cleanup_(freep) unsigned char *packed = NULL;
	size_t n = pack(text, 3000, 9, Z_DEFAULT_STRATEGY, &packed);

	for (size_t cut = 0; cut < n; cut++) {
		_cleanup_(buf_release) struct buf out = {};
		struct err e = {};

		assert_int_equal(gunzip(packed, cut, LIMIT, &out, &e), -EBADMSG);
		assert_int_equal(out.len, 0);
	}
}

static void a_bit_that_flipped_is_noticed_or_means_nothing(void **state)
{
	_cleanup_(freep) char *text = text_of(2000, 9, 13);
	_cleanup_(freep) unsigned char *packed = NULL;
	size_t n = pack(text, 2000, 6, Z_DEFAULT_STRATEGY, &packed), unnoticed = 0;

	/* bytes 3 to 9 of the header (flags aside) say nothing about the contents */
	for (size_t i = 10; i < n; i++) {
		for (int bit = 0; bit < 8; bit++) {
			_cleanup_(buf_release) struct buf out = {};
			struct err e = {};

			packed[i] ^= (unsigned char)(1U << bit);
			if (gunzip(packed, n, LIMIT, &out, &e) >= 0) {
				assert_int_equal(out.len, 2000);
				assert_memory_equal(out.data, text, 2000);
				unnoticed++;
			}
			packed[i] ^= (unsigned char)(1U << bit);
		}
	}
	/* up to seven bits fill the last byte before the checksum */
	assert_true(unnoticed <= 7);
}

static void a_bomb_is_refused(void **state)
{
	_cleanup_(freep) char *text = text_of(500000, 1, 1);
	_cleanup_(freep) unsigned char *packed = NULL;
	_cleanup_(buf_release) struct buf out = {};
	struct err e = {};
	size_t n = pack(text, 500000, 9, Z_DEFAULT_STRATEGY, &packed);

	assert_true(n < 1000);
	assert_int_equal(gunzip(packed, n, 100000, &out, &e), -EBADMSG);
	assert_contains(e.msg, "larger than allowed");
}

static void optional_parts_of_the_header_are_passed_over(void **state)
{
	/* flags: extra field, name, comment, header checksum; a fixed block of "hi" */
	_cleanup_(freep) unsigned char *packed = NULL;
	size_t n = pack("hi", 2, 9, Z_FIXED, &packed);
	unsigned char whole[128] = { 0x1f, 0x8b, 8, 4 | 8 | 16 | 2 };
	static const unsigned char extra[] = { 3, 0, 'x', 0, 'y', 'n', 'a', 0, 'c', 0, 1, 2 };
	_cleanup_(buf_release) struct buf out = {};
	struct err e = {};

	memcpy(whole + 10, extra, sizeof(extra));
	memcpy(whole + 10 + sizeof(extra), packed + 10, n - 10);
	assert_int_equal(gunzip(whole, n + sizeof(extra), LIMIT, &out, &e), 0);
	assert_string_equal(buf_str(&out), "hi");
}

static void options_of_a_configuration_are_found_whole(void **state)
{
	struct kconfig c = {};
	char v[32];

	buf_puts(&c.text, "CONFIG_HZ_250=y\nCONFIG_HZ=250\n# CONFIG_KASAN is not set\n"
			  "CONFIG_NAME=\"a b\"\nXCONFIG_FALSE=y\nCONFIG_LAST=m");
	assert_true(kconfig_value(&c, "HZ", v, sizeof(v)));
	assert_string_equal(v, "250");
	assert_true(kconfig_value(&c, "NAME", v, sizeof(v)));
	assert_string_equal(v, "a b");
	assert_true(kconfig_value(&c, "LAST", v, sizeof(v)));
	assert_string_equal(v, "m");
	assert_false(kconfig_value(&c, "KASAN", v, sizeof(v)));
	assert_false(kconfig_value(&c, "FALSE", v, sizeof(v)));
	assert_false(kconfig_value(&c, "HZ_25", v, sizeof(v)));
	kconfig_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_zlib_packs_comes_out_again),
		cmocka_unit_test(a_file_that_is_cut_short_is_refused),
		cmocka_unit_test(a_bit_that_flipped_is_noticed_or_means_nothing),
		cmocka_unit_test(a_bomb_is_refused),
		cmocka_unit_test(optional_parts_of_the_header_are_passed_over),
		cmocka_unit_test(options_of_a_configuration_are_found_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
