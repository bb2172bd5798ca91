// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <json-c/json.h>

#include "compare_files.h"
#include "fixture.h"

#define MAIL "tests/fixtures/mail/"
#define CAPTURE "tests/fixtures/capture/"

/* Two texts through compare_files(); NULL for @b: @a alone. */
static int compare(const char *a, const char *b, const struct compare_opts *opts, struct buf *out,
		   struct err *e)
{
	_cleanup_(buf_release) struct buf ta = {}, tb = {};

	fixture_read(a, &ta);
	if (b)
		fixture_read(b, &tb);
	return compare_files(a, ta.data, ta.len, b, tb.data, tb.len, opts, out, e);
}

static int compare_text(const char *a, const char *b, const struct compare_opts *opts,
			struct buf *out, struct err *e)
{
	return compare_files("a.txt", a, strlen(a), "b.txt", b, b ? strlen(b) : 0, opts, out, e);
}

static void free_json(struct json_object **o)
{
	json_object_put(*o);
}

/* The answer as parsed JSON. */
static struct json_object *answer(const char *a, const char *b, struct compare_opts opts)
{
	_cleanup_(buf_release) struct buf out = {};
	struct json_object *o;
	struct err e = {};

	opts.json = true;
	if (compare(a, b, &opts, &out, &e) != 4)
		fail_msg("%s", e.msg);
	o = json_tokener_parse(buf_str(&out));
	assert_non_null(o);
	return o;
}

/* Follow "pairs.0.directions.0.change". */
static struct json_object *at(struct json_object *o, const char *path)
{
	_cleanup_(freep) char *copy = strdup(path);
	char *save = NULL;

	for (char *s = strtok_r(copy, ".", &save); s; s = strtok_r(NULL, ".", &save)) {
		if (json_object_is_type(o, json_type_array))
			o = json_object_array_get_idx(o, (size_t)strtoul(s, NULL, 10));
		else if (!json_object_object_get_ex(o, s, &o))
			fail_msg("no %s in %s", s, path);
	}
	return o;
}

static double number(struct json_object *o, const char *path)
{
	return json_object_get_double(at(o, path));
}

static const char *string(struct json_object *o, const char *path)
{
	return json_object_get_string(at(o, path));
}

/* What was put out on lines of at most 78 columns, without what wrapping did to it. */
static void unwrap(const struct buf *out, struct buf *ret)
{
	size_t column = 0;

	for (const char *s = buf_str(out); *s; s++) {
		column = *s == '\n' ? 0 : column + ((*s & 0xc0) != 0x80);
		if (column > 78)
			fail_msg("a line is longer than 78 columns: %s", buf_str(out));
		if (*s != '\n' && *s != ' ')
			buf_putc(ret, *s);
		else if (ret->len && ret->data[ret->len - 1] != ' ')
			buf_putc(ret, ' ');
	}
}

static void known_throughput_gives_known_numbers(void **state)
{
	const struct compare_opts opts = { .irq_rate = 80000, .seed = 1 };
	_cleanup_(free_json) struct json_object *o =
		answer(MAIL "throughput-a.txt", MAIL "throughput-b.txt", opts);
	struct json_object *d = at(o, "pairs.0.directions.0");

	assert_string_equal(string(o, "verdict"), "undecided");
	assert_string_equal(string(d, "verdict"), "undecided");
	assert_near(number(d, "a.mean_bps"), 885.5e6, 1);
	assert_near(number(d, "b.mean_bps"), 899.55e6, 1);
	assert_int_equal(number(d, "a.n"), 20);
	assert_int_equal(number(d, "b.n"), 20);
	/* R: sd() of the twenty rows */
	assert_near(number(d, "a.sd_bps"), 3.0175e6, 1e2);
	assert_near(number(d, "b.sd_bps"), 2.3725e6, 1e2);
	assert_near(number(d, "change"), 0.0158667, 1e-6);
	assert_true(number(d, "change_interval.0") > 0.013);
	assert_true(number(d, "change_interval.0") < number(d, "change"));
	assert_true(number(d, "change_interval.1") > number(d, "change"));
	assert_true(number(d, "change_interval.1") < 0.019);
	assert_int_equal(number(d, "a.retransmits"), 25);
	assert_int_equal(number(d, "b.retransmits"), 164);
	assert_int_equal(number(d, "a.loss_episodes"), 4);
	assert_int_equal(number(d, "b.loss_episodes"), 4);
	assert_near(number(d, "loss_episodes_p"), 1, 1e-9);
	assert_near(number(d, "ns_per_irq"), 195.2, 0.05);
	assert_near(number(d, "ns_per_segment"), 204.3, 0.05);
	assert_true(number(d, "ns_per_irq_interval.0") < 195);
	assert_true(number(d, "ns_per_irq_interval.1") > 196);
	assert_near(number(d, "a.rounding_ratio"), 0.5 / 880, 1e-9);
	assert_true(number(d, "a.n_effective") <= 20);
	assert_int_equal(json_object_array_length(at(d, "notes")), 0);
}

static void the_mail_with_both_tables_gives_the_same(void **state)
{
	const struct compare_opts opts = { .irq_rate = 80000, .seed = 1 };
	_cleanup_(free_json) struct json_object *two =
		answer(MAIL "throughput-a.txt", MAIL "throughput-b.txt", opts);
	_cleanup_(free_json) struct json_object *one = answer(MAIL "throughput.txt", NULL, opts);

	assert_string_equal(string(one, "pairs.0.directions"), string(two, "pairs.0.directions"));
	assert_string_equal(string(one, "pairs.0.b.heading"), "Variant two, one callback");
	assert_int_equal(number(one, "pairs.0.b.run"), 2);
}

static void throughput_text_says_what_it_cannot_say(void **state)
{
	const struct compare_opts opts = { .irq_rate = 80000, .seed = 1 };
	_cleanup_(buf_release) struct buf out = {}, flat = {};
	struct err e = {};

	assert_int_equal(compare(MAIL "throughput.txt", NULL, &opts, &out, &e), 4);
	unwrap(&out, &flat);
	assert_contains(buf_str(&flat), "885.5 Mbit/s");
	assert_contains(buf_str(&flat), "899.6 Mbit/s");
	assert_contains(buf_str(&flat), "+1.59 %");
	assert_contains(buf_str(&flat), "within-run interval");
	assert_contains(buf_str(&flat), "within +-0.06 %");
	assert_contains(buf_str(&flat), "25 in 4");
	assert_contains(buf_str(&flat), "164 in 4");
	assert_contains(buf_str(&flat), "no evidence of a difference");
	assert_contains(buf_str(&flat), "195 ns (");
	assert_contains(buf_str(&flat), "204 ns (");
	assert_contains(buf_str(&flat), "Assumption: one CPU is the limit");
	assert_contains(buf_str(&flat),
			"Verdict: undecided. One run per side proves no difference");
}

static void without_a_rate_nothing_is_implied(void **state)
{
	const struct compare_opts opts = { .seed = 1 };
	_cleanup_(buf_release) struct buf out = {};
	struct err e = {};

	assert_int_equal(compare(MAIL "throughput.txt", NULL, &opts, &out, &e), 4);
	assert_null(strstr(buf_str(&out), "per interrupt"));
}

static void a_loss_is_more_time_per_interrupt(void **state)
{
	const struct compare_opts opts = { .irq_rate = 80000, .seed = 1, .pick_a = 2, .pick_b = 1 };
	_cleanup_(buf_release) struct buf out = {}, flat = {};
	struct err e = {};

	assert_int_equal(compare(MAIL "throughput.txt", NULL, &opts, &out, &e), 4);
	unwrap(&out, &flat);
	assert_contains(buf_str(&flat), "-1.56 %");
	assert_contains(buf_str(&flat), "more per interrupt in B");
}

static void maxima_are_undecided_with_the_reason(void **state)
{
	const struct compare_opts opts = {};
	_cleanup_(free_json) struct json_object *o =
		answer(MAIL "latency-before.txt", MAIL "latency-after.txt", opts);
	_cleanup_(buf_release) struct buf out = {}, flat = {};
	struct err e = {};

	assert_int_equal(json_object_array_length(at(o, "pairs.0.threads")), 2);
	assert_int_equal(number(o, "pairs.0.threads.0.a.max"), 83);
	assert_int_equal(number(o, "pairs.0.threads.0.b.max"), 42);
	assert_int_equal(number(o, "pairs.0.threads.1.b.n"), 959743);
	assert_int_equal(number(o, "pairs.0.threads.0.avg_difference"), -4);
	assert_int_equal(number(o, "pairs.0.threads.1.avg_difference"), -2);
	assert_string_equal(string(o, "pairs.0.threads.0.max_verdict"), "undecided");
	assert_string_equal(string(o, "pairs.0.threads.1.max_verdict"), "undecided");
	assert_near(number(o, "pairs.0.threads.1.max_chance_smaller"), 959801.0 / 1919544, 1e-9);
	assert_int_equal(
		compare(MAIL "latency-before.txt", MAIL "latency-after.txt", &opts, &out, &e), 4);
	unwrap(&out, &flat);
	assert_contains(buf_str(&flat), "83 of 960000");
	assert_contains(buf_str(&flat), "36 of 959743");
	assert_contains(buf_str(&flat), "probability 1/2");
	assert_contains(buf_str(&flat), "Six of six blocks");
	assert_contains(buf_str(&flat), "known to within +-1 us");
	assert_contains(buf_str(&flat), "Verdict: undecided.");
}

static void picks_give_what_the_cut_files_give(void **state)
{
	const struct compare_opts opts = { .pick_a = 3, .pick_b = 4 };
	_cleanup_(free_json) struct json_object *cut = answer(
		MAIL "latency-before.txt", MAIL "latency-after.txt", (struct compare_opts){});
	_cleanup_(free_json) struct json_object *two =
		answer(MAIL "latency.txt", MAIL "latency.txt", opts);
	_cleanup_(free_json) struct json_object *one = answer(MAIL "latency.txt", NULL, opts);

	assert_string_equal(string(two, "pairs.0.threads"), string(cut, "pairs.0.threads"));
	assert_string_equal(string(one, "pairs.0.threads"), string(cut, "pairs.0.threads"));
	assert_string_equal(string(two, "pairs.0.a.heading"), "under traffic, old kernel");
}

static void maxima_at_different_n_are_refused(void **state)
{
	const struct compare_opts opts = { .pick_a = 5, .pick_b = 6 };
	_cleanup_(free_json) struct json_object *o = answer(MAIL "latency.txt", NULL, opts);
	_cleanup_(buf_release) struct buf out = {}, flat = {};
	struct err e = {};

	assert_contains(string(o, "pairs.0.threads.0.max_verdict"), "refused");
	assert_contains(string(o, "pairs.0.notes.0"), "I:1000 in A, I:250 in B for T:0; 2 thread");
	assert_int_equal(compare(MAIL "latency.txt", NULL, &opts, &out, &e), 4);
	unwrap(&out, &flat);
	assert_contains(buf_str(&flat), "51 of 240000");
	assert_contains(buf_str(&flat), "refused: N differs");
	assert_contains(buf_str(&flat), "I:1000 in A, I:250 in B");
	assert_null(strstr(buf_str(&flat), "probability 1/2"));
}

#define T_LINE(t, n) "T: " #t " ( 9) P:98 I:250 C: " #n " Min: 8 Act: 9 Avg: 8 Max: 33\n"

static void n_within_one_per_cent_is_equal(void **state)
{
	static const struct {
		const char *b, *word;
	} cases[] = { { T_LINE(0, 990000), "undecided" },
		      { T_LINE(0, 989999), "refused" },
		      { T_LINE(0, 1010101), "undecided" },
		      { T_LINE(0, 1010102), "refused" },
		      { T_LINE(0, 0), "no samples" } };
	const struct compare_opts opts = { .json = true };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(free_json) struct json_object *o = NULL;
		_cleanup_(buf_release) struct buf out = {};
		struct err e = {};

		assert_int_equal(compare_text(T_LINE(0, 1000000), cases[i].b, &opts, &out, &e), 4);
		o = json_tokener_parse(buf_str(&out));
		assert_contains(string(o, "pairs.0.threads.0.max_verdict"), cases[i].word);
	}
}

static void threads_are_paired_by_number(void **state)
{
	const struct compare_opts opts = { .json = true };
	_cleanup_(free_json) struct json_object *o = NULL;
	_cleanup_(buf_release) struct buf out = {};
	struct err e = {};

	assert_int_equal(compare_text(T_LINE(0, 5) T_LINE(2, 5) T_LINE(3, 5),
				      T_LINE(1, 5) T_LINE(2, 5), &opts, &out, &e),
			 4);
	o = json_tokener_parse(buf_str(&out));
	assert_int_equal(json_object_array_length(at(o, "pairs.0.threads")), 1);
	assert_int_equal(number(o, "pairs.0.threads.0.t"), 2);
	assert_contains(string(o, "pairs.0.notes.0"), "2 thread(s) of A and 1 of B");
	assert_int_equal(compare_text(T_LINE(0, 5), T_LINE(1, 5), &opts, &out, &e), 1);
	assert_contains(e.msg, "no thread number in common");
}

static void runs_are_paired_by_order_when_the_numbers_match(void **state)
{
	static const char text[] = "one:\n" T_LINE(0, 5) "two:\n" T_LINE(0, 6);
	static const char other[] = "three:\n" T_LINE(0, 7) "four:\n" T_LINE(0, 8);
	const struct compare_opts opts = { .json = true };
	_cleanup_(free_json) struct json_object *o = NULL;
	_cleanup_(buf_release) struct buf out = {};
	struct err e = {};

	assert_int_equal(compare_text(text, other, &opts, &out, &e), 4);
	o = json_tokener_parse(buf_str(&out));
	assert_int_equal(json_object_array_length(at(o, "pairs")), 2);
	assert_string_equal(string(o, "pairs.0.a.label"), "one");
	assert_string_equal(string(o, "pairs.0.b.label"), "three");
	assert_string_equal(string(o, "pairs.1.a.label"), "two");
	assert_string_equal(string(o, "pairs.1.b.label"), "four");
}

static void what_cannot_be_paired_is_refused_with_the_runs(void **state)
{
	static const struct {
		const char *a, *b;
		struct compare_opts opts;
		const char *needles[3];
	} cases[] = {
		{ MAIL "latency.txt",
		  NULL,
		  { .pick_a = 3 },
		  { "#3 picks one run; compare needs two", "latency.txt#3 " MAIL "latency.txt#1;",
		    "holds 6:\n  #1 cyclictest at line " } },
		{ MAIL "latency.txt",
		  NULL,
		  { .pick_a = 7 },
		  { "#7: it holds 6 run(s)", "\n  #6 cyclictest", "" } },
		{ MAIL "latency.txt",
		  MAIL "latency-after.txt",
		  { .pick_a = 7 },
		  { "#7: it holds 6 run(s)", "#6 cyclictest", "line 33" } },
		{ MAIL "throughput-a.txt",
		  MAIL "latency-after.txt",
		  {},
		  { "iperf3", "cyclictest", "different tools" } },
		{ MAIL "throughput-a.txt",
		  MAIL "throughput-a.txt",
		  {},
		  { "the same run", "", "" } },
		{ MAIL "latency.txt",
		  NULL,
		  { .pick_a = 3, .pick_b = 3 },
		  { "the same run", "#3", "" } },
		{ MAIL "throughput-a.txt",
		  "tests/fixtures/capture.sh",
		  {},
		  { "no result found", "capture.sh", "T: lines" } },
		{ CAPTURE "iperf3-bidir-client.txt",
		  CAPTURE "iperf3-plain-client.txt",
		  {},
		  { "no direction in common", "#1", "" } },
		{ MAIL "throughput.txt", NULL, { .irq_rate = -1 }, { "no rate", "-1", "" } },
		{ MAIL "throughput.txt", NULL, { .irq_rate = (double)NAN }, { "no rate", "", "" } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(buf_release) struct buf out = {};
		struct err e = {};

		buf_puts(&out, "before");
		assert_int_equal(compare(cases[i].a, cases[i].b, &cases[i].opts, &out, &e), 1);
		assert_string_equal(buf_str(&out), "before");
		assert_true(e.code < 0);
		for (size_t k = 0; k < 3; k++)
			assert_contains(e.msg, cases[i].needles[k]);
	}
}

static void ends_and_kinds_of_a_test_are_not_mixed(void **state)
{
	const struct compare_opts opts = {};
	_cleanup_(buf_release) struct buf out = {}, flat = {};
	struct err e = {};

	assert_int_equal(compare(CAPTURE "iperf3-plain-client.txt", CAPTURE "iperf3-udp-client.txt",
				 &opts, &out, &e),
			 1);
	assert_contains(e.msg, "one is of TCP, the other of UDP");
	assert_int_equal(compare(CAPTURE "iperf2-bounceback-client.txt",
				 CAPTURE "iperf2-plain-client.txt", &opts, &out, &e),
			 1);
	assert_contains(e.msg, "one is of round trips");
	assert_int_equal(compare(CAPTURE "iperf3-plain-client.txt",
				 CAPTURE "iperf3-plain-server.txt", &opts, &out, &e),
			 4);
	unwrap(&out, &flat);
	assert_contains(buf_str(&flat), "A's rows count what was sent, B's what was received.");
}

static void headings_tell_the_pairs(void **state)
{
	_cleanup_(free_json) struct json_object *o =
		answer(MAIL "latency.txt", NULL, (struct compare_opts){});

	assert_int_equal(json_object_array_length(at(o, "pairs")), 2);
	assert_int_equal(number(o, "pairs.0.a.run"), 1);
	assert_int_equal(number(o, "pairs.0.b.run"), 2);
	assert_string_equal(string(o, "pairs.1.a.heading"), "under traffic, old kernel");
	assert_string_equal(string(o, "pairs.1.b.heading"), "under traffic, new kernel");
	assert_int_equal(json_object_array_length(at(o, "not_paired")), 2);
	assert_int_equal(number(o, "not_paired.0"), 5);
}

/* Headings over one row each, and which pair they make: "12": the first with the second. */
static void opposite_words_are_needed_for_a_pair(void **state)
{
	static const struct {
		const char *headings[3];
		const char *needle;
	} cases[] = {
		{ { "without the patch", "with the patch", "idle" }, "\"not_paired\":[3]" },
		{ { "idle", "threadirqs: off", "threadirqs: on" }, "\"not_paired\":[1]" },
		{ { "Before (4.4):", "something", "AFTER, 4.4" }, "\"not_paired\":[2]" },
		{ { "before", "during", "later" }, NULL },
		{ { "before one", "after two", "between" }, NULL },
	};
	static const char row[] = "T: 0 ( 9) P:98 I:250 C: 9%zu Min: 1 Act: 1 Avg: 2 Max: 3\n";

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(buf_release) struct buf text = {}, out = {};
		const struct compare_opts opts = { .json = true };
		struct err e = {};
		int code;

		for (size_t k = 0; k < 3; k++) {
			buf_printf(&text, "%s\n", cases[i].headings[k]);
			buf_printf(&text, row, k);
			buf_puts(&text, "\n");
		}
		code = compare_text(buf_str(&text), NULL, &opts, &out, &e);
		assert_int_equal(code, cases[i].needle ? 4 : 1);
		if (cases[i].needle)
			assert_contains(buf_str(&out), cases[i].needle);
		else
			assert_contains(e.msg, "headings that tell before from after");
	}
}

static void the_oddities_of_rows_are_named(void **state)
{
	_cleanup_(free_json) struct json_object *o =
		answer(CAPTURE "iperf3-parallel-omit-client.txt",
		       CAPTURE "iperf3-parallel-omit-server.txt", (struct compare_opts){});
	const char *notes = string(o, "pairs.0.directions.0.notes");

	assert_contains(notes, "A: 1 omitted row(s)");
	assert_contains(notes, "B: 1 short row(s)");
	assert_contains(notes, "[SUM] of 2 streams");
	assert_int_equal(number(o, "pairs.0.directions.0.b.rows_short"), 1);
	assert_true(
		json_object_is_type(at(o, "pairs.0.directions.0.b.retransmits"), json_type_null));
}

static void both_directions_are_compared_apart(void **state)
{
	_cleanup_(buf_release) struct buf text = {}, out = {};
	_cleanup_(free_json) struct json_object *o = NULL;
	const struct compare_opts opts = { .json = true };
	struct err e = {};

	fixture_read(CAPTURE "iperf3-bidir-client.txt", &text);
	buf_puts(&text, "\n");
	assert_int_equal(compare_files("a", text.data, text.len, "b", text.data, text.len - 1,
				       &opts, &out, &e),
			 4);
	o = json_tokener_parse(buf_str(&out));
	assert_int_equal(json_object_array_length(at(o, "pairs.0.directions")), 2);
	assert_string_equal(string(o, "pairs.0.directions.0.direction"), "TX-C");
	assert_string_equal(string(o, "pairs.0.directions.1.direction"), "RX-C");
	assert_near(number(o, "pairs.0.directions.1.change"), 0, 0);
}

static void summaries_alone_bear_no_interval(void **state)
{
	static const char a[] =
		"[  4]   0.00-20.00  sec  2.06 GBytes   885 Mbits/sec   25   sender\n";
	static const char b[] =
		"[  4]   0.00-20.00  sec  2.09 GBytes   900 Mbits/sec  164   sender\n";
	_cleanup_(buf_release) struct buf out = {}, flat = {};
	const struct compare_opts opts = { .irq_rate = 80000 };
	struct err e = {};

	assert_int_equal(compare_text(a, b, &opts, &out, &e), 4);
	unwrap(&out, &flat);
	assert_contains(buf_str(&flat), "+1.69 %");
	assert_contains(buf_str(&flat), "no within-run interval");
	assert_contains(buf_str(&flat), "208 ns less per interrupt");
	assert_null(strstr(buf_str(&flat), "episodes (")); /* nothing to count them in */
}

static void idle_links_have_no_ratio(void **state)
{
	static const char a[] = "[  4]   0.00-1.00  sec  0.00 Bytes  0.00 bits/sec\n"
				"[  4]   1.00-2.00  sec  0.00 Bytes  0.00 bits/sec\n";
	_cleanup_(buf_release) struct buf out = {};
	const struct compare_opts opts = {};
	struct err e = {};

	assert_int_equal(compare_text(a, T_LINE(0, 5), &opts, &out, &e), 1);
	assert_int_equal(compare_text(a, &a[0], &opts, &out, &e), 1);
	assert_int_equal(compare_text(a, "[  4]   0.00-1.00  sec  1.00 Bytes  8.00 bits/sec\n",
				      &opts, &out, &e),
			 1);
	assert_contains(e.msg, "a mean rate of 0");
}

static void unread_rows_are_counted_in_the_answer(void **state)
{
	static const char a[] = T_LINE(0, 5) "T: 1 ( 9) P:98 I:250 C: lost\n" T_LINE(2, 5);
	_cleanup_(buf_release) struct buf out = {}, json = {}, flat = {};
	_cleanup_(free_json) struct json_object *o = NULL;
	struct compare_opts opts = {};
	struct err e = {};

	assert_int_equal(compare_text(a, T_LINE(0, 6), &opts, &out, &e), 4);
	unwrap(&out, &flat);
	assert_contains(buf_str(&flat), "a.txt: 1 row(s) not used:");
	assert_contains(buf_str(&flat), "line 2 (cyclictest): not the fields");
	opts.json = true;
	assert_int_equal(compare_text(a, T_LINE(0, 6), &opts, &json, &e), 4);
	o = json_tokener_parse(buf_str(&json));
	assert_int_equal(number(o, "nr_skipped"), 1);
	assert_int_equal(number(o, "skipped.0.line"), 2);
}

#define ROW_AT(from, to, rate) "[  5]   " from "-" to "   sec   106 MBytes   " rate " Mbits/sec\n"

static void text_between_rows_is_reported(void **state)
{
	static const char a[] = ROW_AT("0.00", "1.00", "800")
		ROW_AT("1.00", "2.00", "801") "[...] after (new kernel)\n" ROW_AT("2.00", "3.00",
										  "900")
			ROW_AT("3.00", "4.00", "901");
	static const char b[] = ROW_AT("0.00", "1.00", "800") ROW_AT("1.00", "2.00", "802");
	_cleanup_(buf_release) struct buf out = {}, flat = {}, json = {};
	_cleanup_(free_json) struct json_object *o = NULL;
	struct compare_opts opts = {};
	struct err e = {};

	assert_int_equal(compare_text(a, b, &opts, &out, &e), 4);
	unwrap(&out, &flat);
	assert_contains(buf_str(&flat),
			"A: the rows from line 4 on follow after other text (line 3).");
	assert_null(strstr(buf_str(&flat), "B: the rows"));
	opts.json = true;
	assert_int_equal(compare_text(a, b, &opts, &json, &e), 4);
	o = json_tokener_parse(buf_str(&json));
	assert_int_equal(number(o, "pairs.0.a.text_between_rows_line"), 3);
	assert_int_equal(number(o, "pairs.0.a.text_before_row_line"), 4);
	assert_int_equal(compare_text(a, NULL, &opts, &json, &e), 1);
	assert_contains(e.msg, "with other text between its rows (line 3)");
}

#define COARSE_ROW(from, to, rate) \
	"[  5]   " from "-" to "   sec   1.06 MBytes   " rate " Gbits/sec\n"

static void digits_too_coarse_for_the_interval_are_said(void **state)
{
	static const char a[] = COARSE_ROW("0.00", "1.00", "0.01")
		COARSE_ROW("1.00", "2.00", "0.01") COARSE_ROW("2.00", "3.00", "0.01");
	static const char half[] = COARSE_ROW("0.00", "1.00", "0.01")
		COARSE_ROW("1.00", "2.00", "0.00") COARSE_ROW("2.00", "3.00", "0.00");
	_cleanup_(free_json) struct json_object *o = NULL, *fine = NULL;
	_cleanup_(buf_release) struct buf out = {}, flat = {}, json = {};
	struct compare_opts opts = { .seed = 1 };
	struct err e = {};

	assert_int_equal(compare_text(a, &a[0], &opts, &out, &e), 1);
	assert_int_equal(compare_text(a,
				      COARSE_ROW("0.00", "1.00", "0.01")
					      COARSE_ROW("1.00", "2.00", "0.01"),
				      &opts, &out, &e),
			 4);
	unwrap(&out, &flat);
	/* 0.015 / 0.005 */
	assert_contains(buf_str(&flat), "The printed digits are too coarse: the change is only "
					"known to within +-200.00 %");
	opts.json = true;
	assert_int_equal(compare_text(half, a, &opts, &json, &e), 4);
	o = json_tokener_parse(buf_str(&json));
	assert_true(
		json_object_is_type(at(o, "pairs.0.directions.0.change_rounding"), json_type_null));
	fine = answer(MAIL "throughput-a.txt", MAIL "throughput-b.txt", opts);
	assert_false(json_object_get_boolean(at(fine, "pairs.0.directions.0.too_coarse")));
	/* 900.05 / 885 - 899.55 / 885.5 */
	assert_near(number(fine, "pairs.0.directions.0.change_rounding"),
		    900.05 / 885 - 899.55 / 885.5, 1e-9);
}

static void figures_that_look_like_ns_are_noted(void **state)
{
	static const char b[] =
		"T: 0 ( 9) P:98 I:250 C: 99 Min: 1500 Act: 1 Avg: 2000 Max: 33000\n";
	_cleanup_(buf_release) struct buf out = {}, flat = {};
	const struct compare_opts opts = {};
	struct err e = {};

	assert_int_equal(compare_text(T_LINE(0, 99), b, &opts, &out, &e), 4);
	unwrap(&out, &flat);
	assert_contains(buf_str(&flat), "B: values look like nanoseconds (cyclictest -N); the unit "
					"is not in the text.");
	assert_null(strstr(buf_str(&flat), "A: values"));
}

static void hostile_names_and_figures_keep_the_width(void **state)
{
	static const char a[] =
		"\x1b[31m heading \xff\xfe with \"quotes\" and a very long text that goes on and on and "
		"on beyond what a line of a mail can hold\n"
		"T:99999 ( 9999999999) P:99 I:9999999999 C: 9999999999999 Min: 9999999999 "
		"Act: 9999999999 Avg: 9999999999 Max: 9999999999\n";
	static const char b[] = "T:99999 ( 9) P:99 I:1 C: 1 Min: 0 Act: 1 Avg: 0 Max: 1\n";
	static const char name[] =
		"/a/rather/long/path/with\ncontrol\x1b[31m/characters/and/\xc3\xa9.txt";
	_cleanup_(buf_release) struct buf out = {}, flat = {}, json = {};
	_cleanup_(free_json) struct json_object *o = NULL;
	struct compare_opts opts = {};
	struct err e = {};

	assert_int_equal(
		compare_files(name, a, sizeof(a) - 1, name, b, sizeof(b) - 1, &opts, &out, &e), 4);
	unwrap(&out, &flat);
	assert_null(strchr(buf_str(&out), '\x1b'));
	opts.json = true;
	assert_int_equal(
		compare_files(name, a, sizeof(a) - 1, name, b, sizeof(b) - 1, &opts, &json, &e), 4);
	o = json_tokener_parse(buf_str(&json));
	assert_non_null(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_throughput_gives_known_numbers),
		cmocka_unit_test(the_mail_with_both_tables_gives_the_same),
		cmocka_unit_test(throughput_text_says_what_it_cannot_say),
		cmocka_unit_test(without_a_rate_nothing_is_implied),
		cmocka_unit_test(a_loss_is_more_time_per_interrupt),
		cmocka_unit_test(maxima_are_undecided_with_the_reason),
		cmocka_unit_test(picks_give_what_the_cut_files_give),
		cmocka_unit_test(maxima_at_different_n_are_refused),
		cmocka_unit_test(n_within_one_per_cent_is_equal),
		cmocka_unit_test(threads_are_paired_by_number),
		cmocka_unit_test(runs_are_paired_by_order_when_the_numbers_match),
		cmocka_unit_test(what_cannot_be_paired_is_refused_with_the_runs),
		cmocka_unit_test(ends_and_kinds_of_a_test_are_not_mixed),
		cmocka_unit_test(headings_tell_the_pairs),
		cmocka_unit_test(opposite_words_are_needed_for_a_pair),
		cmocka_unit_test(the_oddities_of_rows_are_named),
		cmocka_unit_test(both_directions_are_compared_apart),
		cmocka_unit_test(summaries_alone_bear_no_interval),
		cmocka_unit_test(idle_links_have_no_ratio),
		cmocka_unit_test(unread_rows_are_counted_in_the_answer),
		cmocka_unit_test(text_between_rows_is_reported),
		cmocka_unit_test(digits_too_coarse_for_the_interval_are_said),
		cmocka_unit_test(figures_that_look_like_ns_are_noted),
		cmocka_unit_test(hostile_names_and_figures_keep_the_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
