// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/cpuset.h"
#include "base/kfile.h"
#include "base/opt.h"
#include "base/rng.h"
#include "base/text.h"

static void wrap_puts_context_in_front(void **state)
{
	struct err e = {};

	assert_int_equal(err_set(&e, -EINVAL, "value %d", 7), -EINVAL);
	assert_int_equal(err_wrap(&e, "plan line %d", 3), -EINVAL);
	assert_string_equal(e.msg, "plan line 3: value 7");
}

static void long_context_never_overflows(void **state)
{
	struct err e = {};

	err_set(&e, -EIO, "%0*d", 1500, 1);
	for (int i = 0; i < 200; i++)
		err_wrap(&e, "layer %d", i);
	assert_true(e.len < sizeof(e.msg));
	assert_int_equal(strlen(e.msg), e.len);
	assert_int_equal(e.code, -EIO);
	assert_memory_equal(e.msg, "layer ", 6);
}

static void sys_error_appends_the_reason(void **state)
{
	struct err e = {};

	errno = ENOENT;
	assert_int_equal(err_sys(&e, "open %s", "x"), -ENOENT);
	assert_string_equal(e.msg, "open x: No such file or directory");
}

static void times_need_their_unit(void **state)
{
	uint64_t ns = 1;

	assert_int_equal(text_ns("250us", &ns), 0);
	assert_int_equal(ns, 250000);
	assert_int_equal(text_ns("1.5s", &ns), 0);
	assert_int_equal(ns, 1500000000);
	assert_int_equal(text_ns("10min", &ns), 0);
	assert_int_equal(ns, 600000000000);
	assert_int_equal(text_ns("0", &ns), 0);
	assert_int_equal(ns, 0);
	assert_int_equal(text_ns("5", &ns), -EINVAL);
	assert_int_equal(text_ns("-5s", &ns), -EINVAL);
	assert_int_equal(text_ns("5 parsecs", &ns), -EINVAL);
	assert_int_equal(text_ns("1e30s", &ns), -ERANGE);
	assert_int_equal(text_ns("nan", &ns), -EINVAL);
	assert_int_equal(text_ns("0x10s", &ns), -EINVAL);
	assert_int_equal(ns, 0);
}

static void sizes_are_binary_and_rates_decimal(void **state)
{
	uint64_t v = 0;

	assert_int_equal(text_bytes("128K", &v), 0);
	assert_int_equal(v, 131072);
	assert_int_equal(text_bps("3.8G", &v), 0);
	assert_int_equal(v, 3800000000);
	assert_int_equal(text_bps("950M", &v), 0);
	assert_int_equal(v, 950000000);
}

static void whole_numbers_are_whole(void **state)
{
	uint64_t v = 7;
	int64_t i = 0;

	assert_int_equal(text_u64("18446744073709551615", &v), 0);
	assert_true(v == UINT64_MAX);
	assert_int_equal(text_u64("18446744073709551616", &v), -ERANGE);
	assert_int_equal(text_u64("-1", &v), -EINVAL);
	assert_int_equal(text_u64("", &v), -EINVAL);
	assert_int_equal(text_u64(" 1", &v), -EINVAL);
	assert_int_equal(text_i64("-1", &i), 0);
	assert_int_equal(i, -1);
}

static void shares_are_ratios(void **state)
{
	double v = 0;

	assert_int_equal(text_ratio("5%", &v), 0);
	assert_near(v, 0.05, 1e-15);
	assert_int_equal(text_ratio("0.05", &v), 0);
	assert_near(v, 0.05, 1e-15);
	assert_int_equal(text_ratio("5 percent", &v), -EINVAL);
}

static void hostile_text_is_escaped(void **state)
{
	_cleanup_(buf_release) struct buf b = {};

	text_json(&b, "a\"\\\n\x1b\xff\xc3\xa9");
	assert_string_equal(buf_str(&b), "\"a\\\"\\\\\\u000a\\u001b\\udcff\xc3\xa9\"");
	buf_reset(&b);
	text_printable(&b, "\x1b[31m\xc2\x9b\xe2\x82\xac\xff", 11);
	assert_string_equal(buf_str(&b), "\\x1b[31m\\xc2\\x9b\xe2\x82\xac\\xff");
}

static void prefixes_give_three_digits(void **state)
{
	static const struct {
		double v;
		const char *text;
	} cases[] = { { 885.5e6, "886 Mbit/s" },   { 22.13e9, "22.1 Gbit/s" },
		      { 1.0004e9, "1.00 Gbit/s" }, { 999.6e6, "1.00 Gbit/s" },
		      { -4.2e3, "-4.20 kbit/s" },  { 0, "0 bit/s" } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(buf_release) struct buf b = {};

		text_si(&b, cases[i].v, "bit/s");
		assert_string_equal(buf_str(&b), cases[i].text);
	}
}

static void near_words_are_suggested(void **state)
{
	static const char *const words[] = { "wakeup", "interrupts", "cpu", NULL };

	assert_string_equal(text_nearest("wakup", words), "wakeup");
	assert_string_equal(text_nearest("interupts", words), "interrupts");
	assert_null(text_nearest("netdev", words));
}

static void cpu_lists_round_trip(void **state)
{
	static const char *const lists[] = { "0", "0-3,8", "1,3,5-6,8191", "" };
	struct err e = {};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		_cleanup_(cpuset_release) struct cpuset set = {};
		_cleanup_(buf_release) struct buf b = {};

		assert_int_equal(cpuset_parse(lists[i], &set, &e), 0);
		cpuset_format(&set, &b);
		assert_string_equal(buf_str(&b), lists[i]);
	}
}

static void bad_cpu_lists_are_refused(void **state)
{
	static const char *const lists[] = { "8-x", "3-1", "0,,1", "0,",	 "8192",
					     "-1",  "a",   "0-",   "99999999999" };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		_cleanup_(cpuset_release) struct cpuset set = {};
		struct err e = {};

		assert_int_equal(cpuset_parse(lists[i], &set, &e), -EINVAL);
		assert_contains(e.msg, lists[i]);
	}
}

static void cpu_masks_are_the_lists_in_hex(void **state)
{
	static const char *const cases[][2] = {
		{ "3", "0-1" },
		{ "f0", "4-7" },
		{ "1,00000000", "32" },
		{ "80000000,00000000,00000001", "0,95" },
		{ "0", "" },
	};
	static const char *const bad[] = {
		"", "g", "0x3", ",3", "1,000", "3,", "1,,00000000", "-1"
	};
	struct err e = {};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(cpuset_release) struct cpuset set = {}, from_list = {};
		_cleanup_(buf_release) struct buf list = {}, mask = {};

		assert_int_equal(cpuset_parse_mask(cases[i][0], &set, &e), 0);
		cpuset_format(&set, &list);
		assert_string_equal(buf_str(&list), cases[i][1]);
		assert_int_equal(cpuset_parse(cases[i][1], &from_list, &e), 0);
		cpuset_format_mask(&from_list, &mask);
		assert_string_equal(buf_str(&mask), cases[i][0]);
	}
	/* as the kernel writes it: leading zeros, a newline */
	{
		_cleanup_(cpuset_release) struct cpuset set = {};

		assert_int_equal(cpuset_parse_mask("0000,00000003\n", &set, &e), 0);
		assert_int_equal(set.nr, 2);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_(cpuset_release) struct cpuset set = {};

		assert_int_equal(cpuset_parse_mask(bad[i], &set, &e), -EINVAL);
		assert_null(set.cpus);
	}
	assert_true(cpuset_same("0-3", "3,0,1,2"));
	assert_false(cpuset_same("0-3", "0-2"));
	assert_false(cpuset_same("x", "x"));
}

static void kernel_files_are_read_and_written_below_their_root(void **state)
{
	char dir[] = "/tmp/irqlab-kfile-XXXXXX";
	_cleanup_(close_fdp) int root = -1, fd = -1;
	_cleanup_(freep) char *line = NULL;
	struct err e = {};
	uint64_t v = 0;

	assert_non_null(mkdtemp(dir));
	root = open(dir, O_PATH | O_DIRECTORY);
	assert_true(root >= 0);
	fd = openat(root, "value", O_CREAT | O_WRONLY, 0644);
	assert_true(fd >= 0);
	assert_int_equal(kfile_write(root, "value", "42\n\n", &e), 0);
	assert_int_equal(kfile_read_line(root, "/value", &line, &e), 0);
	assert_string_equal(line, "42");
	assert_int_equal(kfile_read_u64(root, "value", &v, &e), 0);
	assert_int_equal(v, 42);
	assert_int_equal(kfile_write(root, "value", "x", &e), 0);
	assert_int_equal(kfile_read_u64(root, "absent", &v, &e), -ENOENT);
	/* the whole path, not the one below the root */
	assert_contains(e.msg, "open /tmp/irqlab-kfile-");
	assert_contains(e.msg, "/absent: No such file");
	assert_contains(e.msg, "absent");
	assert_int_equal(kfile_write(root, "../x", "1", &e), -EINVAL);
	assert_int_equal(kfile_write(root, "a/../../x", "1", &e), -EINVAL);
	unlinkat(root, "value", 0);
	rmdir(dir);
}

struct cfg {
	bool flag;
	uint64_t n, ns;
	double share;
	char *text, *cpus;
	int which;
	struct uint_list uints;
	struct str_list strings;
};

static const char *const choices[] = { "other", "fifo", NULL };
static const struct opt rows[] = {
	{ "flag", OPT_BOOL, offsetof(struct cfg, flag), "on", "a flag" },
	{ "n", OPT_UINT, offsetof(struct cfg, n), "5", "a number", .min = 1, .max = 99 },
	{ "ns", OPT_NS, offsetof(struct cfg, ns), "250us", "a time", .min = 10000 },
	{ "share", OPT_RATIO, offsetof(struct cfg, share), "5%", "a share" },
	{ "text", OPT_STRING, offsetof(struct cfg, text), "", "a text" },
	{ "cpus", OPT_CPUS, offsetof(struct cfg, cpus), "all", "CPUs" },
	{ "which", OPT_ENUM, offsetof(struct cfg, which), "fifo", "a choice", .choices = choices },
	{ "uints", OPT_UINTS, offsetof(struct cfg, uints), "98,40", "numbers", .min = 1,
	  .max = 99 },
	{ "strings", OPT_STRINGS, offsetof(struct cfg, strings), "a,b", "texts" },
	{},
};

static void defaults_fill_every_type(void **state)
{
	struct cfg c = {};
	struct err e = {};

	assert_int_equal(opt_defaults(rows, &c, &e), 0);
	assert_true(c.flag);
	assert_int_equal(c.n, 5);
	assert_int_equal(c.ns, 250000);
	assert_near(c.share, 0.05, 1e-15);
	assert_string_equal(c.text, "");
	assert_string_equal(c.cpus, "all");
	assert_int_equal(c.which, 1);
	assert_int_equal(c.uints.nr, 2);
	assert_int_equal(c.uints.v[1], 40);
	assert_int_equal(c.strings.nr, 2);
	assert_string_equal(c.strings.v[1], "b");
	opt_release(rows, &c);
	assert_null(c.text);
	assert_null(c.uints.v);
}

static void bounds_of_times_have_the_unit_that_fits(void **state)
{
	static const struct {
		uint64_t min, max;
		const char *want;
	} cases[] = {
		{ 10000000, 3600000000000, "within 10ms to 1h" },
		{ 10000, 1000000000, "within 10us to 1s" },
		{ 1, 1500, "within 1ns to 1500ns" },
		{ 0, 5400000000000, "within 0 to 90min" },
		{ 60000000000, 0, "at least 1min" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct opt row = {
			.name = "t", .type = OPT_NS, .min = cases[i].min, .max = cases[i].max
		};
		struct err e = {};

		assert_int_equal(opt_check(&row, cases[i].max ? "100h" : "1s", &e), -ERANGE);
		assert_contains(e.msg, cases[i].want);
	}
}

static void refusals_quote_the_text_and_say_what_is_allowed(void **state)
{
	static const struct {
		const char *row, *text, *want;
	} cases[] = {
		{ "n", "100", "n \"100\": must be within 1 to 99" },
		{ "ns", "5us", "ns \"5us\": must be at least 10us" },
		{ "ns", "5", "expected a time with its unit" },
		{ "which", "rr", "which \"rr\": expected one of other, fifo" },
		{ "cpus", "8-x", "cpus \"8-x\": expected all or a CPU list" },
		{ "uints", "98,0", "must be within 1 to 99" },
		{ "flag", "maybe", "expected on or off" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err e = {};

		assert_true(opt_check(opt_find(rows, cases[i].row), cases[i].text, &e) < 0);
		assert_contains(e.msg, cases[i].want);
	}
}

static void draws_are_uniform_and_repeatable(void **state)
{
	uint64_t a = 1, b = 1, seen[10] = {};

	for (int i = 0; i < 100000; i++) {
		uint64_t v = rng_below(&a, 10);

		assert_int_equal(v, rng_below(&b, 10));
		assert_true(v < 10);
		seen[v]++;
	}
	for (int i = 0; i < 10; i++)
		assert_near((double)seen[i], 10000, 500);
}

static void the_next_number_of_a_table_is_taken_or_nothing_moves(void **state)
{
	static const char row[] = "  12 0 18446744073709551615 18446744073709551616 7x";
	const char *p = row, *end = row + strlen(row);
	uint64_t v = 0;

	assert_true(text_next_u64(&p, end, &v) && v == 12);
	assert_true(text_next_u64(&p, end, &v) && v == 0);
	assert_true(text_next_u64(&p, end, &v) && v == UINT64_MAX);
	assert_false(text_next_u64(&p, end, &v)); /* one more than fits */
	assert_string_equal(p, " 18446744073709551616 7x");
	p = end - 2;
	assert_false(text_next_u64(&p, end, &v));
	assert_true(text_next_u64(&p, end - 1, &v) && v == 7 && p == end - 1);
	assert_false(text_next_u64(&p, end - 1, &v));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_number_of_a_table_is_taken_or_nothing_moves),
		cmocka_unit_test(cpu_masks_are_the_lists_in_hex),
		cmocka_unit_test(wrap_puts_context_in_front),
		cmocka_unit_test(long_context_never_overflows),
		cmocka_unit_test(sys_error_appends_the_reason),
		cmocka_unit_test(times_need_their_unit),
		cmocka_unit_test(sizes_are_binary_and_rates_decimal),
		cmocka_unit_test(whole_numbers_are_whole),
		cmocka_unit_test(shares_are_ratios),
		cmocka_unit_test(hostile_text_is_escaped),
		cmocka_unit_test(prefixes_give_three_digits),
		cmocka_unit_test(near_words_are_suggested),
		cmocka_unit_test(cpu_lists_round_trip),
		cmocka_unit_test(bad_cpu_lists_are_refused),
		cmocka_unit_test(kernel_files_are_read_and_written_below_their_root),
		cmocka_unit_test(defaults_fill_every_type),
		cmocka_unit_test(bounds_of_times_have_the_unit_that_fits),
		cmocka_unit_test(refusals_quote_the_text_and_say_what_is_allowed),
		cmocka_unit_test(draws_are_uniform_and_repeatable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
