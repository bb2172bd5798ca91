// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdbool.h>

#include "fixture.h"
#include "import/import.h"
#include "import/json.h"
#include "import/json_parser.h"

#define CAPTURE "tests/fixtures/capture/"

/* ---- the parser */

/* Read @text in pieces of @piece bytes. Return: the last state. */
static enum json_state feed(struct json_parser *p, const char *text, size_t piece)
{
	enum json_state state = JSON_MORE;
	size_t len = strlen(text), at = 0, used;

	json_start(p);
	while (at < len && state != JSON_DONE && state != JSON_BROKEN) {
		size_t n = len - at < piece ? len - at : piece;

		state = json_feed(p, text + at, n, &used);
		at += used;
	}
	return state;
}

static void write_value(const struct json_val *v, struct buf *out)
{
	if (v->key)
		buf_printf(out, "%s:", v->key);
	switch (v->kind) {
	case JSON_NULL:
		buf_puts(out, "null");
		return;
	case JSON_BOOL:
		buf_puts(out, v->number == 1 ? "true" : "false");
		return;
	case JSON_NUMBER:
		buf_printf(out, "%.17g", v->number);
		return;
	case JSON_STRING:
		buf_printf(out, "\"%s\"", v->text);
		return;
	case JSON_ARRAY:
	case JSON_OBJECT:
		break;
	}
	buf_puts(out, v->kind == JSON_ARRAY ? "[" : "{");
	for (const struct json_val *c = v->child; c; c = c->next) {
		write_value(c, out);
		buf_puts(out, c->next ? "," : "");
	}
	buf_puts(out, v->kind == JSON_ARRAY ? "]" : "}");
}

static void a_document_is_read_whatever_its_pieces(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "{}", "{}" },
		{ "{\"a\":1,\"b\":[true,false,null]}", "{a:1,b:[true,false,null]}" },
		{ "{\"a\": -1.5e3 , \"b\" : \"x\\n\\u00e4\\ud83d\\ude00\\\"\"}",
		  "{a:-1500,b:\"x\n\xc3\xa4\xf0\x9f\x98\x80\"\"}" },
		{ "{\"a\":1,\"a\":2}", "{a:1,a:2}" },
		{ "{\"n\":nan,\"m\":-nan,\"i\":inf}", "{n:nan,m:-nan,i:inf}" },
		{ "{\"x\":[[1,2],{\"y\":[]}],}", "{x:[[1,2],{y:[]}]}" },
		{ "{\"u\":18446744073709551615,\"f\":0.1}",
		  "{u:1.8446744073709552e+19,f:0.10000000000000001}" },
		{ "{\"half\":\"\\ud800x\"}", "{half:\"\xef\xbf\xbdx\"}" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (size_t piece = 1; piece < 20; piece += 3) {
			_cleanup_(json_release) struct json_parser p = {};
			_cleanup_(buf_release) struct buf got = {};

			assert_int_equal(feed(&p, cases[i].text, piece), JSON_DONE);
			write_value(p.top, &got);
			assert_string_equal(buf_str(&got), cases[i].want);
		}
}

static void what_is_no_json_breaks_off(void **state)
{
	static const char *const texts[] = { "{a:1}",	    "{\"a\" 1}",    "{\"a\":1 \"b\"",
					     "{\"a\":tru}", "{\"a\":[1,2}", "{\"a\":\"\\q\"}",
					     "{\"a\":1-2}", "{\"a\":0x10}", "{,}",
					     "{\"a\":}",    "{\"a\":+}" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_(json_release) struct json_parser p = {};

		if (feed(&p, texts[i], 100) != JSON_BROKEN)
			fail_msg("%s", texts[i]);
		assert_non_null(p.why);
	}
}

static void nesting_and_memory_have_an_end(void **state)
{
	_cleanup_(json_release) struct json_parser p = {};
	_cleanup_(buf_release) struct buf text = {};

	for (int i = 0; i < 1000; i++)
		buf_puts(&text, "{\"a\":");
	assert_int_equal(feed(&p, buf_str(&text), 100), JSON_BROKEN);
	buf_reset(&text);
	buf_puts(&text, "{\"a\":{\"b\":[");
	while (text.len < JSON_MEMORY)
		buf_puts(&text, "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,");
	assert_int_equal(feed(&p, buf_str(&text), SIZE_MAX), JSON_BROKEN);
	assert_true(p.arena.total <= JSON_MEMORY + 65536);
}

static void elements_that_are_dropped_need_no_memory(void **state)
{
	_cleanup_(json_release) struct json_parser p = {};
	size_t items = 0, used, most = 0;

	json_start(&p);
	assert_int_equal(json_feed(&p, "{\"a\":1,\"b\":[", 12, &used), JSON_MORE);
	for (int i = 0; i < 100000; i++) {
		const char *item = i ? ",{\"x\":[1,2,\"three\"]}" : "{\"x\":[1,2,\"three\"]}";

		assert_int_equal(json_feed(&p, item, strlen(item), &used), JSON_ITEM);
		assert_int_equal(json_find(p.item, "x")->child->number, 1);
		json_drop_item(&p);
		most = p.arena.total > most ? p.arena.total : most;
		items++;
	}
	assert_int_equal(json_feed(&p, "],\"c\":2}", 8, &used), JSON_DONE);
	assert_null(json_find(p.top, "b")->child);
	assert_int_equal(json_find(p.top, "c")->number, 2);
	assert_true(most < 4 * 65536);
	assert_int_equal(items, 100000);
}

static void counts_that_are_not_there_are_no_counts(void **state)
{
	static const struct {
		const char *text;
		bool whole;
		int64_t v;
	} cases[] = {
		{ "{\"n\":0}", true, 0 },
		{ "{\"n\":9223372036854775807}", true, INT64_MAX },
		{ "{\"n\":9007199254740993}", true, 9007199254740993 },
		{ "{\"n\":18446744073709551615}", false, 0 },
		{ "{\"n\":1.8446744073709552e+19}", false, 0 },
		{ "{\"n\":-1}", false, 0 },
		{ "{\"n\":1.5}", false, 0 },
		{ "{\"n\":1.23e+5}", true, 123000 },
		{ "{\"n\":nan}", false, 0 },
		{ "{\"n\":\"3\"}", false, 0 },
		{ "{\"m\":3}", false, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(json_release) struct json_parser p = {};
		int64_t v = 0;

		feed(&p, cases[i].text, 100);
		assert_int_equal(json_whole(p.top, "n", &v), cases[i].whole);
		assert_true(v == cases[i].v);
	}
}

/* ---- documents in a text */

__attribute__((noinline)) static void parse(const struct buf *text, struct import_doc *doc)
{
	struct err e = {};

	if (import_text(text->data, text->len, doc, &e) < 0)
		fail_msg("%s", e.msg);
}

static const struct iperf3_run *iperf3(const struct import_doc *doc, size_t i)
{
	assert_true(i < doc->nr_runs);
	assert_non_null(import_iperf3(&doc->runs[i]));
	return import_iperf3(&doc->runs[i]);
}

static double figure(const struct import_run *run, const char *metric, const char *labels)
{
	const struct import_figure *f = import_figure_find(run, metric, labels);

	if (!f)
		fail_msg("no %s[%s]", metric, labels);
	return f->value;
}

/* "end.sum_sent.bytes" by json-c. */
static double by_json_c(struct json_object *o, const char *path)
{
	char copy[128], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *s = strtok_r(copy, ".", &save); s; s = strtok_r(NULL, ".", &save))
		if (!json_object_object_get_ex(o, s, &o))
			fail_msg("no %s", path);
	return json_object_get_double(o);
}

static void iperf3s_numbers_are_those_that_json_c_reads(void **state)
{
	static const struct {
		const char *file, *path, *metric, *labels;
	} cases[] = {
		{ "plain-client", "end.sum_sent.bits_per_second", "throughput", "direction=sent" },
		{ "plain-client", "end.sum_received.bytes", "transfer", "direction=received" },
		{ "plain-client", "end.sum_sent.retransmits", "retransmits", "direction=sent" },
		{ "plain-server", "end.sum_received.bits_per_second", "throughput",
		  "direction=received" },
		{ "parallel-client", "end.sum_sent.bytes", "transfer", "direction=sent" },
		{ "reverse-client", "end.sum_sent.retransmits", "retransmits", "direction=sent" },
		{ "bidir-client", "end.sum_sent.bytes", "transfer", "direction=sent,role=TX-C" },
		{ "bidir-client", "end.sum_received_bidir_reverse.bytes", "transfer",
		  "direction=received,role=RX-C" },
		{ "bidir-server", "end.sum_sent_bidir_reverse.retransmits", "retransmits",
		  "direction=sent,role=TX-S" },
		{ "udp-client", "end.sum_received.packets", "datagrams", "direction=received" },
		{ "udp-client", "end.sum_sent.bytes", "transfer", "direction=sent" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(import_release) struct import_doc doc = {};
		_cleanup_(buf_release) struct buf text = {};
		struct json_object *o, *intervals;
		char path[128];

		snprintf(path, sizeof(path), CAPTURE "iperf3-%s.json", cases[i].file);
		fixture_read(path, &text);
		o = json_tokener_parse(buf_str(&text));
		assert_non_null(o);
		parse(&text, &doc);
		assert_int_equal(doc.nr_runs, 1);
		assert_int_equal(doc.nr_skipped, 0);
		assert_near(figure(&doc.runs[0], cases[i].metric, cases[i].labels),
			    by_json_c(o, cases[i].path), 0);
		assert_true(json_object_object_get_ex(o, "intervals", &intervals));
		assert_true(iperf3(&doc, 0)->seen.intervals >= json_object_array_length(intervals));
		json_object_put(o);
	}
}

static void udps_sender_has_no_losses(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(buf_release) struct buf text = {};

	fixture_read(CAPTURE "iperf3-udp-client.json", &text);
	parse(&text, &doc);
	assert_true(iperf3(&doc, 0)->udp);
	assert_null(import_figure_find(&doc.runs[0], "loss", "direction=sent"));
	assert_non_null(import_figure_find(&doc.runs[0], "loss", "direction=received"));
}

static void a_document_may_break_off_anywhere(void **state)
{
	_cleanup_(import_release) struct import_doc whole = {};
	_cleanup_(buf_release) struct buf text = {};
	size_t most = 0;

	fixture_read(CAPTURE "iperf3-parallel-client.json", &text);
	parse(&text, &whole);
	for (size_t len = 0; len < text.len - 1; len += 13) {
		_cleanup_(import_release) struct import_doc doc = {};
		struct buf cut = { .data = text.data, .len = len };
		bool told = false;

		parse(&cut, &doc);
		assert_true(doc.nr_runs <= 1);
		if (!doc.nr_runs)
			continue;
		/* what is there is right, and it is said that there should be more */
		assert_true(iperf3(&doc, 0)->nr <= iperf3(&whole, 0)->nr);
		for (size_t i = 0; i < iperf3(&doc, 0)->nr; i++)
			assert_near(iperf3(&doc, 0)->rows[i].bytes,
				    iperf3(&whole, 0)->rows[i].bytes, 0);
		for (size_t i = 0; i < doc.runs[0].nr_notes; i++)
			told = told || strstr(doc.runs[0].notes[i].text, "breaks off");
		assert_true(told);
		most = iperf3(&doc, 0)->nr > most ? iperf3(&doc, 0)->nr : most;
	}
	assert_true(most >= 9);
}

static void put_file(struct buf *out, const char *path)
{
	_cleanup_(buf_release) struct buf text = {};

	fixture_read(path, &text);
	buf_add(out, text.data, text.len);
}

static void documents_stand_one_behind_another_and_between_text(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(buf_release) struct buf text = {};

	buf_puts(&text, "first, the old kernel:\n");
	put_file(&text, CAPTURE "iperf3-plain-client.json");
	text.len--; /* the next one follows on the same line */
	put_file(&text, CAPTURE "iperf3-reverse-client.json");
	put_file(&text, CAPTURE "iperf3-plain-client.txt");
	buf_puts(&text, "int main(void)\n{\n\treturn { \"no\", \"json\" };\n}\n{\n");
	put_file(&text, CAPTURE "cyclictest.json");
	put_file(&text, CAPTURE "iperf3-refused.json");
	parse(&text, &doc);
	assert_int_equal(doc.nr_runs, 4);
	assert_string_equal(doc.runs[0].heading, "first, the old kernel");
	assert_true(iperf3(&doc, 0)->json);
	assert_true(iperf3(&doc, 1)->json);
	assert_false(iperf3(&doc, 2)->json);
	assert_int_equal(iperf3(&doc, 2)->nr, 5);
	assert_non_null(import_cyclictest(&doc.runs[3]));
	assert_int_equal(doc.nr_skipped, 1);
	assert_contains(doc.skipped[0].reason, "Connection refused");
}

static void other_lines_between_do_not_end_a_document(void **state)
{
	static const char *const prefixes[] = { "", "> ", "JD> ", "| " };

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		_cleanup_(import_release) struct import_doc plain = {}, doc = {};
		_cleanup_(buf_release) struct buf file = {}, text = {};
		char *save = NULL;
		size_t nr = 0;

		fixture_read(CAPTURE "iperf3-plain-client.json", &file);
		parse(&file, &plain);
		buf_printf(&text, "%siperf3: error - a warning before it\n", prefixes[i]);
		for (char *s = strtok_r(file.data, "\n", &save); s;
		     s = strtok_r(NULL, "\n", &save)) {
			buf_printf(&text, "%s%s\n", prefixes[i], s);
			if (++nr % 40 == 0)
				buf_puts(&text, "[   78.348599] NOHZ: local_softirq_pending 80\n");
		}
		parse(&text, &doc);
		assert_int_equal(doc.nr_runs, 1);
		assert_int_equal(iperf3(&doc, 0)->nr, iperf3(&plain, 0)->nr);
		assert_near(figure(&doc.runs[0], "throughput", "direction=sent"),
			    figure(&plain.runs[0], "throughput", "direction=sent"), 0);
	}
}

#define STREAM "\"socket\":5,\"start\":0,\"end\":1,\"bytes\":125000000,\"bits_per_second\":1e9"

static void the_json_stream_is_a_run(void **state)
{
	static const char text[] =
		"{\"event\":\"start\",\"data\":{\"connecting_to\":{\"host\":\"box\",\"port\":5201},"
		"\"test_start\":{\"protocol\":\"TCP\",\"num_streams\":1,\"reverse\":0}}}\n"
		"{\"event\":\"interval\",\"data\":{\"streams\":[{" STREAM
		",\"retransmits\":7,\"omitted\":false}],\"sum\":{" STREAM "}}}\n"
		"{\"event\":\"interval\",\"data\":{\"streams\":[{\"socket\":5,\"start\":1,\"end\":2,"
		"\"bytes\":250000000,\"bits_per_second\":2e9,\"retransmits\":18446744073709551615}]}}\n"
		"{\"event\":\"end\",\"data\":{\"sum_sent\":{\"start\":0,\"end\":2,\"bytes\":375000000,"
		"\"bits_per_second\":1.5e9,\"retransmits\":7}}}\n"
		"{\"event\":\"error\",\"data\":\"the server has terminated\"}\n";
	_cleanup_(import_release) struct import_doc doc = {};
	struct buf b = { .data = (char *)(uintptr_t)text, .len = strlen(text) };

	parse(&b, &doc);
	assert_int_equal(doc.nr_runs, 1);
	assert_string_equal(doc.runs[0].label, "TCP to box");
	assert_int_equal(iperf3(&doc, 0)->nr, 3);
	assert_int_equal(iperf3(&doc, 0)->rows[0].retr, 7);
	assert_int_equal(iperf3(&doc, 0)->rows[1].retr, -1); /* 2^64-1 is 3.12's -1 */
	assert_near(figure(&doc.runs[0], "throughput", "direction=sent"), 1.5e9, 0);
	assert_int_equal(doc.nr_remarks, 1);
	assert_contains(doc.remarks[0].text, "the server has terminated");
}

static void both_directions_under_one_key_are_told_apart(void **state)
{
	static const char text[] =
		"{\"start\":{\"version\":\"iperf 3.9\",\"connecting_to\":{\"host\":\"b\"}},"
		"\"intervals\":[{\"streams\":[{" STREAM ",\"sender\":true},{" STREAM
		",\"sender\":true},"
		"{" STREAM ",\"sender\":false},{" STREAM ",\"sender\":false}],"
		"\"sum\":{\"start\":0,\"end\":1,\"bytes\":11,\"bits_per_second\":88},"
		"\"sum\":{\"start\":0,\"end\":1,\"bytes\":22,\"bits_per_second\":176}}],\"end\":{}}\n";
	_cleanup_(import_release) struct import_doc doc = {};
	struct buf b = { .data = (char *)(uintptr_t)text, .len = strlen(text) };
	const struct iperf3_run *run;

	parse(&b, &doc);
	run = iperf3(&doc, 0);
	assert_true(iperf3_has_role(run, IPERF3_ROLE_TX_C));
	assert_true(iperf3_has_role(run, IPERF3_ROLE_RX_C));
	assert_false(iperf3_has_role(run, IPERF3_ROLE_NONE));
	for (size_t i = 0; i < run->nr; i++)
		if (run->rows[i].stream == IPERF3_SUM)
			assert_near(run->rows[i].bytes,
				    run->rows[i].role == IPERF3_ROLE_TX_C ? 11 : 22, 0);
}

static void counts_that_cannot_be_are_refused(void **state)
{
	static const struct {
		const char *counts, *reason;
	} cases[] = {
		{ "\"start\":0,\"end\":1,\"bytes\":-5,\"bits_per_second\":1", "negative transfer" },
		{ "\"start\":2,\"end\":1,\"bytes\":5,\"bits_per_second\":1", "before it begins" },
		{ "\"start\":0,\"end\":1,\"bytes\":5", "no bytes" },
		{ "\"start\":0,\"end\":1,\"bytes\":5,\"bits_per_second\":1,\"lost_packets\":9,"
		  "\"packets\":8",
		  "more datagrams lost" },
		{ "\"start\":0,\"end\":1,\"bytes\":5,\"bits_per_second\":1,\"lost_packets\":-1,"
		  "\"packets\":8",
		  "went backwards" },
		{ "\"start\":0,\"end\":1,\"bytes\":5,\"bits_per_second\":1,\"lost_percent\":101,"
		  "\"packets\":8",
		  "more than 100 %" },
		{ "\"start\":0,\"end\":1,\"bytes\":nan,\"bits_per_second\":-nan", "no bytes" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(import_release) struct import_doc doc = {};
		_cleanup_(buf_release) struct buf text = {};

		buf_printf(&text,
			   "{\"start\":{\"version\":\"iperf 3.12\"},\n\"intervals\":[\n"
			   "{\"streams\":[{\"socket\":5,%s}]}],\"end\":{}}\n",
			   cases[i].counts);
		parse(&text, &doc);
		assert_int_equal(doc.nr_skipped, 1);
		assert_int_equal(doc.skipped[0].line, 3);
		assert_contains(doc.skipped[0].reason, cases[i].reason);
	}
}

/* ---- cyclictest */

static void cyclictests_json_is_what_json_c_reads(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(buf_release) struct buf text = {};
	struct json_object *o;

	fixture_read(CAPTURE "cyclictest.json", &text);
	o = json_tokener_parse(buf_str(&text));
	parse(&text, &doc);
	assert_int_equal(doc.nr_runs, 1);
	assert_contains(doc.runs[0].label, "cyclictest -m -t2 -p98 -q -D1");
	for (int i = 0; i < 2; i++) {
		const struct import_hist *h;
		char path[64], labels[16];
		double total = 0;

		snprintf(labels, sizeof(labels), "thread=%d", i);
		snprintf(path, sizeof(path), "thread.%d.max", i);
		assert_near(figure(&doc.runs[0], "latency.max", labels), by_json_c(o, path) * 1e3,
			    0);
		snprintf(path, sizeof(path), "thread.%d.cycles", i);
		assert_near(figure(&doc.runs[0], "cycles", labels), by_json_c(o, path), 0);
		h = import_hist_find(&doc.runs[0], "latency", labels);
		assert_non_null(h);
		for (size_t k = 0; k < h->nr; k++)
			total += (double)h->bars[k].count;
		assert_near(total + (double)h->overflow, by_json_c(o, path), 0);
	}
	json_object_put(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_document_is_read_whatever_its_pieces),
		cmocka_unit_test(what_is_no_json_breaks_off),
		cmocka_unit_test(nesting_and_memory_have_an_end),
		cmocka_unit_test(elements_that_are_dropped_need_no_memory),
		cmocka_unit_test(counts_that_are_not_there_are_no_counts),
		cmocka_unit_test(iperf3s_numbers_are_those_that_json_c_reads),
		cmocka_unit_test(udps_sender_has_no_losses),
		cmocka_unit_test(a_document_may_break_off_anywhere),
		cmocka_unit_test(documents_stand_one_behind_another_and_between_text),
		cmocka_unit_test(other_lines_between_do_not_end_a_document),
		cmocka_unit_test(the_json_stream_is_a_run),
		cmocka_unit_test(both_directions_under_one_key_are_told_apart),
		cmocka_unit_test(counts_that_cannot_be_are_refused),
		cmocka_unit_test(cyclictests_json_is_what_json_c_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
