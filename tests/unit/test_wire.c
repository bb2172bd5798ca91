// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <stdlib.h>

#include "load/wire.h"

/* As iperf 3.12 sent them. */
#define PARAMS_312                                                                       \
	"{\"tcp\":true,\"omit\":0,\"time\":1,\"num\":0,\"blockcount\":0,\"parallel\":1," \
	"\"reverse\":true,\"len\":131072,\"pacing_timer\":1000,\"client_version\":\"3.12\"}"
#define RESULTS_312                                                                        \
	"{\"cpu_util_total\":45.86,\"cpu_util_user\":0.35,\"cpu_util_system\":45.51,"      \
	"\"sender_has_retransmits\":1,\"congestion_used\":\"bbr\",\"streams\":[{\"id\":1," \
	"\"bytes\":2006712320,\"retransmits\":56,\"jitter\":0,\"errors\":0,\"packets\":0," \
	"\"start_time\":0,\"end_time\":1.000168}]}"

static int params(const char *text, struct wire_params *p, struct err *e)
{
	/* a copy without NUL, so that reading past the end is seen by the sanitizer */
	size_t len = strlen(text);
	_cleanup_(freep) char *copy = malloc(len ? len : 1);

	memcpy(copy, text, len);
	return wire_params_decode(copy, len, p, e);
}

static int results(const char *text, struct wire_results *res, struct err *e)
{
	size_t len = strlen(text);
	_cleanup_(freep) char *copy = malloc(len ? len : 1);

	memcpy(copy, text, len);
	return wire_results_decode(copy, len, res, NULL, e);
}

static void params_of_a_stock_client_are_read(void **state)
{
	struct wire_params p = {};
	struct err e = {};

	assert_int_equal(params(PARAMS_312, &p, &e), 0);
	assert_true(p.reverse);
	assert_false(p.udp);
	assert_false(p.bidir);
	assert_int_equal(p.streams, 1);
	assert_int_equal(p.time_s, 1);
	assert_int_equal(p.length_bytes, 131072);
	assert_int_equal(p.rate_bps, 0);
	assert_string_equal(p.version, "3.12");
}

static void results_of_a_stock_client_are_read(void **state)
{
	static struct wire_results res;
	struct err e = {};

	assert_int_equal(results(RESULTS_312, &res, &e), 0);
	assert_int_equal(res.nr, 1);
	assert_int_equal(res.streams[0].id, 1);
	assert_int_equal(res.streams[0].bytes, 2006712320);
	assert_int_equal(res.streams[0].retransmits, 56);
	assert_near(res.streams[0].end_s, 1.000168, 0);
	assert_near(res.cpu_system, 45.51, 0);
	assert_string_equal(res.congestion, "bbr");
}

static void params_survive_the_way_there_and_back(void **state)
{
	struct wire_params p = { .reverse = true,
				 .nodelay = true,
				 .streams = 128,
				 .time_s = 86400,
				 .omit_s = 3,
				 .bytes = UINT64_MAX,
				 .blocks = 1,
				 .rate_bps = 123456789012,
				 .length_bytes = 1 << 20,
				 .window_bytes = 1 << 20,
				 .congestion = "cubic",
				 .version = "irqlab" };
	struct wire_params q = {};
	_cleanup_(buf_release) struct buf b = {};
	struct err e = {};

	assert_int_equal(wire_params_encode(&p, &b, &e), 0);
	assert_true(b.len < WIRE_PARAMS_MAX);
	assert_int_equal(wire_params_decode(b.data, b.len, &q, &e), 0);
	assert_int_equal(q.udp, p.udp);
	assert_int_equal(q.reverse, p.reverse);
	assert_int_equal(q.nodelay, p.nodelay);
	assert_int_equal(q.streams, p.streams);
	assert_int_equal(q.time_s, p.time_s);
	assert_int_equal(q.omit_s, p.omit_s);
	assert_true(q.bytes == p.bytes);
	assert_int_equal(q.blocks, p.blocks);
	assert_true(q.rate_bps == p.rate_bps);
	assert_int_equal(q.length_bytes, p.length_bytes);
	assert_int_equal(q.window_bytes, p.window_bytes);
	assert_string_equal(q.congestion, p.congestion);
	assert_string_equal(q.version, p.version);
}

static void results_survive_the_way_there_and_back(void **state)
{
	static struct wire_results res, back;
	_cleanup_(buf_release) struct buf b = {};
	struct err e = {};

	res = (struct wire_results){ .cpu_total = 99.5, .nr = WIRE_STREAMS_MAX };
	memcpy(res.congestion, "reno", 5);
	for (unsigned int i = 0; i < res.nr; i++)
		res.streams[i] = (struct wire_stream){ .id = wire_stream_id(i),
						       .bytes = UINT64_MAX - i,
						       .retransmits = i ? (int64_t)i : WIRE_UNKNOWN,
						       .end_s = 1.5 };
	assert_int_equal(wire_results_encode(&res, NULL, &b, &e), 0);
	assert_int_equal(wire_results_decode(b.data, b.len, &back, NULL, &e), 0);
	assert_int_equal(back.nr, res.nr);
	for (unsigned int i = 0; i < res.nr; i++) {
		assert_int_equal(back.streams[i].id, res.streams[i].id);
		assert_true(back.streams[i].bytes == res.streams[i].bytes);
		assert_true(back.streams[i].retransmits == res.streams[i].retransmits);
		assert_near(back.streams[i].end_s, 1.5, 0);
	}
}

static void every_way_to_say_not_available_is_understood(void **state)
{
	static const char *const forms[] = {
		"-1",	"18446744073709551615", "1.8446744073709552e+19",
		"-1.0", "9223372036854775807",	"9007199254740994",
		"1e16"
	};
	static struct wire_results res;

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		_cleanup_(buf_release) struct buf b = {};
		struct err e = {};

		buf_printf(&b,
			   "{\"sender_has_retransmits\":%s,\"streams\":[{\"id\":1,\"bytes\":7,"
			   "\"retransmits\":%s}]}",
			   forms[i], forms[i]);
		assert_int_equal(results(buf_str(&b), &res, &e), 0);
		assert_true(res.streams[0].retransmits == WIRE_UNKNOWN);
		assert_int_equal(res.streams[0].bytes, 7);
	}
}

static void large_counts_of_old_versions_are_understood(void **state)
{
	static struct wire_results res;
	struct err e = {};

	assert_int_equal(
		results("{\"streams\":[{\"id\":1,\"bytes\":1.23e+15,\"retransmits\":1e3}]}", &res,
			&e),
		0);
	assert_true(res.streams[0].bytes == 1230000000000000);
	assert_int_equal(res.streams[0].retransmits, 1000);
	assert_int_equal(results("{\"streams\":[{\"id\":1,\"bytes\":0,"
				 "\"retransmits\":9007199254740992}]}",
				 &res, &e),
			 0);
	assert_true(res.streams[0].retransmits == WIRE_COUNT_MAX);
}

static void stream_ids_skip_two(void **state)
{
	assert_int_equal(wire_stream_id(0), 1);
	assert_int_equal(wire_stream_id(1), 3);
	assert_int_equal(wire_stream_id(2), 4);
	assert_int_equal(wire_stream_id(3), 5);
}

static void cookies_are_told_from_rubbish(void **state)
{
	char a[WIRE_COOKIE_SIZE], b[WIRE_COOKIE_SIZE];

	wire_cookie_make(1, a);
	wire_cookie_make(2, b);
	assert_true(wire_cookie_is_valid(a));
	assert_int_equal(strlen(a), 36);
	assert_int_equal(strspn(a, "abcdefghijklmnopqrstuvwxyz234567"), 36);
	assert_true(memcmp(a, b, sizeof(a)) != 0);
	a[36] = 'x';
	assert_false(wire_cookie_is_valid(a));
	b[5] = '\n';
	assert_false(wire_cookie_is_valid(b));
}

static void hostile_params_are_refused_with_the_reason(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "not JSON" },
		{ "{", "not JSON" },
		{ "{\"tcp\":true", "not JSON" },
		{ "[]", "not an object" },
		{ "\"tcp\"", "not an object" },
		{ "{\"tcp\":true}}", "not JSON" },
		{ "{\"tcp\":1}", "\"tcp\" is not true or false" },
		{ "{\"tcp\":\"yes\"}", "\"tcp\" is not true or false" },
		{ "{}", "neither" },
		{ "{\"tcp\":true,\"udp\":true}", "neither" },
		{ "{\"sctp\":true}", "neither" },
		{ "{\"tcp\":true,\"parallel\":0}", "\"parallel\" is 0" },
		{ "{\"tcp\":true,\"parallel\":129}", "at most 128" },
		{ "{\"tcp\":true,\"parallel\":-1}", "not a count" },
		{ "{\"tcp\":true,\"parallel\":1.5}", "not a whole number" },
		{ "{\"tcp\":true,\"parallel\":\"1\"}", "not a number" },
		{ "{\"tcp\":true,\"parallel\":null}", "not a number" },
		{ "{\"tcp\":true,\"parallel\":[1]}", "not a number" },
		{ "{\"tcp\":true,\"len\":1048577}", "at most 1048576" },
		{ "{\"tcp\":true,\"time\":86401}", "at most 86400" },
		{ "{\"tcp\":true,\"time\":1e400}", "finite" },
		/* the range is ours to name, or json-c's (0.18) to call no number */
		{ "{\"tcp\":true,\"window\":99999999999999999999}", "parameters: " },
		{ "{\"tcp\":true,\"window\":9999999999999999}", "at most" },
		{ "{\"tcp\":true,\"congestion\":\"0123456789abcdef\"}", "short text" },
		{ "{\"tcp\":true,\"congestion\":\"a\\u0000b\"}", "short text" },
		{ "{\"tcp\":true,\"congestion\":7}", "not a string" },
		{ "{\"tcp\":true,\"x\":[[[[[[[[[[[[1]]]]]]]]]]]]}", "not JSON" },
		{ "{\"tcp\":true,\"time\":NaN}", "not a finite" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wire_params p = { .streams = 77 };
		struct err e = {};

		if (params(cases[i].text, &p, &e) != -EBADMSG)
			fail_msg("accepted: %s", cases[i].text);
		assert_contains(e.msg, cases[i].why);
		assert_int_equal(p.streams, 77);
	}
}

static void hostile_results_are_refused_with_the_reason(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "{}", "\"streams\" is not a list" },
		{ "{\"streams\":{}}", "\"streams\" is not a list" },
		{ "{\"streams\":[1]}", "list of objects" },
		{ "{\"streams\":[null]}", "list of objects" },
		{ "{\"streams\":[{\"bytes\":1}]}", "no \"id\"" },
		{ "{\"streams\":[{\"id\":1}]}", "no \"bytes\"" },
		{ "{\"streams\":[{\"id\":1,\"bytes\":-5}]}", "not a count" },
		{ "{\"streams\":[{\"id\":9999,\"bytes\":5}]}", "at most" },
		{ "{\"streams\":[{\"id\":1,\"bytes\":1,\"retransmits\":-2}]}", "not a count" },
		{ "{\"streams\":[{\"id\":1,\"bytes\":1,\"retransmits\":1e30}]}", "not a count" },
		{ "{\"streams\":[{\"id\":1,\"bytes\":1,\"end_time\":\"x\"}]}", "not a number" },
		{ "{\"cpu_util_total\":true,\"streams\":[]}", "not a number" },
	};
	static struct wire_results res;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err e = {};

		res.nr = 77;
		if (results(cases[i].text, &res, &e) != -EBADMSG)
			fail_msg("accepted: %s", cases[i].text);
		assert_contains(e.msg, cases[i].why);
		assert_int_equal(res.nr, 77);
	}
}

static void too_many_streams_are_refused(void **state)
{
	_cleanup_(buf_release) struct buf b = {};
	static struct wire_results res;
	struct err e = {};

	buf_puts(&b, "{\"streams\":[");
	for (int i = 0; i <= 2 * WIRE_STREAMS_MAX; i++)
		buf_printf(&b, "%s{\"id\":1,\"bytes\":1}", i ? "," : "");
	buf_puts(&b, "]}");
	assert_int_equal(results(buf_str(&b), &res, &e), -EBADMSG);
	assert_contains(e.msg, "257 streams");
}

static void messages_over_their_size_are_refused(void **state)
{
	_cleanup_(buf_release) struct buf b = {};
	struct wire_params p = {};
	struct err e = {};

	buf_puts(&b, "{\"tcp\":true,\"title\":\"");
	while (b.len < WIRE_PARAMS_MAX)
		buf_putc(&b, 'x');
	buf_puts(&b, "\"}");
	assert_int_equal(params(buf_str(&b), &p, &e), -EBADMSG);
	assert_contains(e.msg, "at most 8192");
}

static void every_truncation_is_refused(void **state)
{
	static const char *const texts[] = { PARAMS_312, RESULTS_312 };
	static struct wire_results res;

	for (size_t t = 0; t < ARRAY_SIZE(texts); t++)
		for (size_t len = 0; len < strlen(texts[t]); len++) {
			_cleanup_(freep) char *cut = strndup(texts[t], len);
			struct wire_params p = {};
			struct err e = {};

			assert_int_equal(params(cut, &p, &e), -EBADMSG);
			assert_int_equal(results(cut, &res, &e), -EBADMSG);
		}
}

static void states_have_names(void **state)
{
	assert_string_equal(wire_state_name(WIRE_ACCESS_DENIED), "ACCESS_DENIED");
	assert_string_equal(wire_state_name(WIRE_TEST_END), "TEST_END");
	assert_string_equal(wire_state_name(3), "an unknown state");
	assert_string_equal(wire_state_name(127), "an unknown state");
	assert_string_equal(wire_state_name(-128), "an unknown state");
}

/* As iperf 3.12 sent them: -u -b 10M -P 2 --bidir -O 1 -S 16 --udp-counters-64bit -T "a title". */
#define PARAMS_UDP_312                                                                       \
	"{\"udp\":true,\"omit\":1,\"time\":1,\"num\":0,\"blockcount\":0,\"parallel\":2,"     \
	"\"bidirectional\":true,\"len\":32768,\"bandwidth\":10000000,\"pacing_timer\":1000," \
	"\"TOS\":16,\"title\":\"a title\",\"udp_counters_64bit\":1,\"client_version\":\"3.12\"}"

static void params_of_a_stock_udp_client_are_read(void **state)
{
	struct wire_params p = {};
	struct err e = {};

	assert_int_equal(params(PARAMS_UDP_312, &p, &e), 0);
	assert_true(p.udp);
	assert_true(p.bidir);
	assert_true(p.udp_counters_64bit);
	assert_int_equal(p.streams, 2);
	assert_int_equal(p.omit_s, 1);
	assert_int_equal(p.tos, 16);
	assert_int_equal(p.length_bytes, 32768);
	assert_int_equal(p.rate_bps, 10000000);
	assert_int_equal(p.server_cpu, -1);
	assert_string_equal(p.title, "a title");
	assert_int_equal(p.mode, WIRE_BULK);
}

/* The same of -A 0,1 -M 1000 -N -L 5 -Z --repeating-payload --dont-fragment and more. */
#define PARAMS_MANY_312                                                                           \
	"{\"tcp\":true,\"omit\":0,\"server_affinity\":1,\"time\":0,\"num\":5242880,"              \
	"\"blockcount\":0,\"MSS\":1000,\"nodelay\":true,\"parallel\":1,\"window\":102400,"        \
	"\"len\":131072,\"pacing_timer\":1000,\"flowlabel\":5,\"extra_data\":\"x\","              \
	"\"congestion\":\"reno\",\"get_server_output\":1,\"repeating_payload\":1,\"zerocopy\":1," \
	"\"dont_fragment\":1,\"client_version\":\"3.12\"}"

static void the_rarer_parameters_of_a_stock_client_are_read(void **state)
{
	struct wire_params p = {};
	struct err e = {};

	assert_int_equal(params(PARAMS_MANY_312, &p, &e), 0);
	assert_int_equal(p.server_cpu, 1);
	assert_true(p.bytes == 5242880);
	assert_int_equal(p.mss_bytes, 1000);
	assert_int_equal(p.window_bytes, 102400);
	assert_int_equal(p.flowlabel, 5);
	assert_true(p.nodelay && p.get_server_output && p.repeating_payload);
	assert_true(p.zerocopy && p.dont_fragment);
	assert_string_equal(p.extra_data, "x");
	assert_string_equal(p.congestion, "reno");
}

static void every_parameter_survives_the_way_there_and_back(void **state)
{
	struct wire_params p = { .udp = true,
				 .bidir = true,
				 .udp_counters_64bit = true,
				 .repeating_payload = true,
				 .dont_fragment = true,
				 .zerocopy = true,
				 .skip_rx_copy = true,
				 .gsro = true,
				 .get_server_output = true,
				 .streams = 3,
				 .burst = 1000,
				 .length_bytes = 1400,
				 .mss_bytes = 32767,
				 .tos = 255,
				 .flowlabel = 0xfffff,
				 .server_cpu = 0,
				 .title = "a \"title\"\n",
				 .extra_data = "{}",
				 .version = "irqlab",
				 .arrivals = WIRE_POISSON,
				 .seed = UINT64_MAX };
	_cleanup_(buf_release) struct buf b = {};
	struct wire_params q;
	struct err e = {};

	memset(&q, 0xff, sizeof(q));
	assert_int_equal(wire_params_encode(&p, &b, &e), 0);
	assert_int_equal(wire_params_decode(b.data, b.len, &q, &e), 0);
	assert_true(q.udp && q.bidir && q.udp_counters_64bit && q.repeating_payload);
	assert_true(q.dont_fragment && q.zerocopy && q.skip_rx_copy && q.gsro);
	assert_true(q.get_server_output && !q.reverse && !q.nodelay);
	assert_int_equal(q.burst, 1000);
	assert_int_equal(q.mss_bytes, 32767);
	assert_int_equal(q.tos, 255);
	assert_int_equal(q.flowlabel, 0xfffff);
	assert_int_equal(q.server_cpu, 0);
	assert_string_equal(q.title, p.title);
	assert_string_equal(q.extra_data, p.extra_data);
	assert_int_equal(q.arrivals, WIRE_POISSON);
	assert_true(q.seed == UINT64_MAX);
}

static void the_extension_is_sent_only_to_who_must_know(void **state)
{
	struct wire_params p = { .streams = 1, .server_cpu = -1, .arrivals = WIRE_POISSON };
	struct wire_params rr = { .mode = WIRE_RR,
				  .streams = 1,
				  .request_bytes = 1,
				  .response_bytes = 1 << 20,
				  .rr_per_s = 5,
				  .server_cpu = -1 };
	_cleanup_(buf_release) struct buf b = {};
	struct wire_params q = {};
	struct err e = {};

	/* the client's own arrivals are its own affair */
	assert_false(wire_params_are_extended(&p));
	assert_int_equal(wire_params_encode(&p, &b, &e), 0);
	assert_null(strstr(buf_str(&b), "irqlab"));
	p.reverse = true;
	assert_true(wire_params_are_extended(&p));
	assert_true(wire_params_are_extended(&rr));
	buf_reset(&b);
	assert_int_equal(wire_params_encode(&rr, &b, &e), 0);
	assert_int_equal(wire_params_decode(b.data, b.len, &q, &e), 0);
	assert_int_equal(q.mode, WIRE_RR);
	assert_int_equal(q.request_bytes, 1);
	assert_int_equal(q.response_bytes, 1 << 20);
	assert_int_equal(q.rr_per_s, 5);
}

static void hostile_extensions_are_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "7", "\"irqlab\" is not an object" },
		{ "{\"mode\":\"bulky\"}", "\"mode\" is not something" },
		{ "{\"mode\":1}", "\"mode\" is not something" },
		{ "{\"arrivals\":\"often\"}", "\"arrivals\" is not something" },
		{ "{\"mode\":\"rr\"}", "0 bytes" },
		{ "{\"mode\":\"rr\",\"request_bytes\":1048577,\"response_bytes\":1}", "at most" },
		{ "{\"seed\":-1}", "not a count" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(buf_release) struct buf b = {};
		struct wire_params p = {};
		struct err e = {};

		buf_printf(&b, "{\"tcp\":true,\"irqlab\":%s}", cases[i].text);
		assert_int_equal(params(buf_str(&b), &p, &e), -EBADMSG);
		assert_contains(e.msg, cases[i].why);
	}
}

static void long_texts_break_no_test(void **state)
{
	_cleanup_(buf_release) struct buf b = {};
	struct wire_params p = {};
	struct err e = {};

	buf_puts(&b, "{\"tcp\":true,\"title\":\"x");
	for (int i = 0; i < 1000; i++)
		buf_puts(&b, "\xc3\xa4");
	buf_puts(&b, "\",\"extra_data\":\"");
	for (int i = 0; i < 3000; i++)
		buf_putc(&b, 'y');
	buf_puts(&b, "\",\"client_version\":\"3.99.0-with-a-very-long-suffix-of-somebody\"}");
	assert_int_equal(params(buf_str(&b), &p, &e), 0);
	/* cut where a character ends */
	assert_int_equal(strlen(p.title), sizeof(p.title) - 1);
	assert_int_equal(strlen(p.extra_data), sizeof(p.extra_data) - 1);
	assert_int_equal(strlen(p.version), sizeof(p.version) - 1);
	buf_reset(&b);
	assert_int_equal(wire_params_encode(&p, &b, &e), 0);
	assert_true(b.len < WIRE_PARAMS_MAX);
	assert_int_equal(params(buf_str(&b), &p, &e), 0);
}

static void datagrams_in_results_are_read(void **state)
{
	static struct wire_results res;
	struct err e = {};

	assert_int_equal(results("{\"streams\":[{\"id\":1,\"bytes\":10,\"jitter\":0.00125,"
				 "\"errors\":3,\"packets\":100,\"omitted_errors\":1,"
				 "\"omitted_packets\":20}]}",
				 &res, &e),
			 0);
	assert_near(res.streams[0].jitter_s, 0.00125, 0);
	assert_int_equal(res.streams[0].errors, 3);
	assert_int_equal(res.streams[0].packets, 100);
	assert_true(res.streams[0].has_omitted);
	assert_int_equal(res.streams[0].omitted_errors, 1);
	assert_int_equal(res.streams[0].omitted_packets, 20);
	/* both or neither */
	assert_int_equal(results("{\"streams\":[{\"id\":1,\"bytes\":1,\"omitted_errors\":1}]}",
				 &res, &e),
			 -EBADMSG);
	assert_contains(e.msg, "only come together");
}

static int decode_with_output(const char *text, struct wire_output *o, struct err *e)
{
	static struct wire_results res;

	return wire_results_decode(text, strlen(text), &res, o, e);
}

static void what_a_server_printed_comes_with_its_results(void **state)
{
	_cleanup_(buf_release) struct buf b = {};
	struct wire_output o = {}, back = {};
	static struct wire_results res;
	struct err e = {};

	assert_int_equal(
		decode_with_output("{\"streams\":[],\"server_output_text\":\"a\\nb\"}", &o, &e), 0);
	assert_string_equal(buf_str(&o.text), "a\nb");
	assert_false(o.is_json);
	buf_reset(&o.text);
	assert_int_equal(decode_with_output("{\"streams\":[],\"server_output_json\":"
					    "{\"end\":{\"streams\":[{\"udp\":{\"x\":[1]}}]}}}",
					    &o, &e),
			 0);
	assert_true(o.is_json);
	assert_string_equal(buf_str(&o.text), "{\"end\":{\"streams\":[{\"udp\":{\"x\":[1]}}]}}");
	assert_int_equal(wire_results_encode(&res, &o, &b, &e), 0);
	assert_int_equal(decode_with_output(buf_str(&b), &back, &e), 0);
	assert_true(back.is_json);
	assert_string_equal(buf_str(&back.text), buf_str(&o.text));
	/* said to be JSON, but not */
	buf_reset(&b);
	buf_puts(&o.text, "}");
	assert_int_equal(wire_results_encode(&res, &o, &b, &e), 0);
	buf_release(&back.text);
	assert_int_equal(decode_with_output(buf_str(&b), &back, &e), 0);
	assert_int_equal(decode_with_output("{\"streams\":[],\"server_output_text\":7}", &back, &e),
			 -EBADMSG);
	buf_release(&o.text);
	buf_release(&back.text);
}

static void flags_are_ones_or_true(void **state)
{
	struct wire_params p = {};
	struct err e = {};

	assert_int_equal(params("{\"tcp\":true,\"zerocopy\":0,\"repeating_payload\":true,"
				"\"get_server_output\":1}",
				&p, &e),
			 0);
	assert_false(p.zerocopy);
	assert_true(p.repeating_payload);
	assert_true(p.get_server_output);
	assert_int_equal(params("{\"tcp\":true,\"zerocopy\":\"yes\"}", &p, &e), -EBADMSG);
	assert_int_equal(params("{\"tcp\":true,\"reverse\":1}", &p, &e), -EBADMSG);
	assert_int_equal(params("{\"tcp\":true,\"reverse\":true,\"bidirectional\":true}", &p, &e),
			 -EBADMSG);
	assert_int_equal(params("{\"udp\":true,\"len\":15}", &p, &e), -EBADMSG);
	assert_int_equal(params("{\"udp\":true,\"len\":65508}", &p, &e), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(params_of_a_stock_client_are_read),
		cmocka_unit_test(results_of_a_stock_client_are_read),
		cmocka_unit_test(params_survive_the_way_there_and_back),
		cmocka_unit_test(results_survive_the_way_there_and_back),
		cmocka_unit_test(every_way_to_say_not_available_is_understood),
		cmocka_unit_test(large_counts_of_old_versions_are_understood),
		cmocka_unit_test(stream_ids_skip_two),
		cmocka_unit_test(cookies_are_told_from_rubbish),
		cmocka_unit_test(hostile_params_are_refused_with_the_reason),
		cmocka_unit_test(hostile_results_are_refused_with_the_reason),
		cmocka_unit_test(too_many_streams_are_refused),
		cmocka_unit_test(messages_over_their_size_are_refused),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(states_have_names),
		cmocka_unit_test(params_of_a_stock_udp_client_are_read),
		cmocka_unit_test(the_rarer_parameters_of_a_stock_client_are_read),
		cmocka_unit_test(every_parameter_survives_the_way_there_and_back),
		cmocka_unit_test(the_extension_is_sent_only_to_who_must_know),
		cmocka_unit_test(hostile_extensions_are_refused),
		cmocka_unit_test(long_texts_break_no_test),
		cmocka_unit_test(datagrams_in_results_are_read),
		cmocka_unit_test(what_a_server_printed_comes_with_its_results),
		cmocka_unit_test(flags_are_ones_or_true),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
