// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "fixture.h"
#include "import/import.h"

#define MAIL "tests/fixtures/mail/"
#define CAPTURE "tests/fixtures/capture/"

/* Not inlined: struct err is large. */
__attribute__((noinline)) static void parse(const struct buf *text, struct import_doc *doc)
{
	struct err e = {};

	if (import_text(text->data, text->len, doc, &e) < 0)
		fail_msg("%s", e.msg);
}

/* Everything but line numbers and labels. */
static void describe(const struct import_doc *doc, struct buf *out)
{
	for (size_t i = 0; i < doc->nr_runs; i++) {
		const struct import_run *run = &doc->runs[i];

		buf_printf(out, "%s %zu rows\n", run->tool, run->rows);
		for (size_t k = 0; k < run->nr_figures; k++)
			buf_printf(out, "%s[%s] %.17g +-%.17g %s\n", run->figures[k].metric,
				   run->figures[k].labels, run->figures[k].value,
				   run->figures[k].half, run->figures[k].unit);
		for (size_t k = 0; k < run->nr_series; k++) {
			const struct import_series *s = &run->series[k];

			buf_printf(out, "%s[%s]", s->metric, s->labels);
			for (size_t j = 0; j < s->nr; j++)
				buf_printf(out, " %" PRId64 ":%.17g", s->points[j].t_ns,
					   s->points[j].v);
			buf_putc(out, '\n');
		}
		for (size_t k = 0; k < run->nr_hists; k++) {
			const struct import_hist *h = &run->hists[k];

			buf_printf(out, "%s[%s] over %" PRIu64, h->metric, h->labels, h->overflow);
			for (size_t j = 0; j < h->nr; j++)
				buf_printf(out, " %.17g:%" PRIu64, h->bars[j].v, h->bars[j].count);
			buf_putc(out, '\n');
		}
	}
	buf_printf(out, "skipped %zu\n", doc->nr_skipped);
}

/* ---- what mailers and editors do to a text */

static void quoted_printable(const struct buf *in, struct buf *out)
{
	size_t column = 0;

	for (size_t i = 0; i < in->len; i++) {
		unsigned char c = (unsigned char)in->data[i];
		bool end = i + 1 == in->len || in->data[i + 1] == '\n';

		if (c == '\n') {
			buf_putc(out, '\n');
			column = 0;
			continue;
		}
		if (column > 72) {
			buf_puts(out, "=\n");
			column = 0;
		}
		if (c == '=' || c >= 0x7f || (c < 0x20 && c != '\t') ||
		    ((c == ' ' || c == '\t') && end)) {
			buf_printf(out, "=%02X", c);
			column += 3;
		} else {
			buf_putc(out, (char)c);
			column++;
		}
	}
}

static void base64(const struct buf *in, struct buf *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < in->len; i += 3) {
		size_t n = in->len - i < 3 ? in->len - i : 3;
		unsigned int v = 0;

		for (size_t k = 0; k < 3; k++)
			v = v << 8 | (k < n ? (unsigned char)in->data[i + k] : 0);
		buf_putc(out, digits[v >> 18]);
		buf_putc(out, digits[v >> 12 & 63]);
		buf_putc(out, n > 1 ? digits[v >> 6 & 63] : '=');
		buf_putc(out, n > 2 ? digits[v & 63] : '=');
		if (i / 3 % 19 == 18)
			buf_putc(out, '\n');
	}
	buf_putc(out, '\n');
}

static void mail_printable(const struct buf *in, struct buf *out)
{
	buf_puts(out, "From: A <a@example.org>\nSubject: tables\nMIME-Version: 1.0\n"
		      "Content-Type: text/plain; charset=utf-8\n"
		      "Content-Transfer-Encoding: quoted-printable\n\n");
	quoted_printable(in, out);
}

static void mail_base64(const struct buf *in, struct buf *out)
{
	buf_puts(out, "Subject: tables\nContent-Type: text/plain;\n\tcharset=\"utf-8\"\n"
		      "Content-Transfer-Encoding: base64\n\n");
	base64(in, out);
}

static void html(const struct buf *in, struct buf *out)
{
	buf_puts(out, "<!DOCTYPE html>\n<html><head><style>p { margin: 0 }\n T: 0 {}</style></head>"
		      "<body><p>Hello</p>\n");
	for (const char *s = buf_str(in); *s; s++) {
		if (*s == '\n')
			buf_puts(out, "<br>\n");
		else if (*s == '<')
			buf_puts(out, "&lt;");
		else if (*s == '>')
			buf_puts(out, "&gt;");
		else if (*s == '&')
			buf_puts(out, "&amp;");
		else if (*s == ' ' && s[1] == ' ')
			buf_puts(out, "&nbsp;");
		else if (*s == '[')
			buf_puts(out, "<span style=\"color:\n#00f\">[</span>");
		else
			buf_putc(out, *s);
	}
	buf_puts(out, "</body></html>\n");
}

/* Both forms of one mail, and a picture: the tables stand in it twice. */
static void mail_alternative(const struct buf *in, struct buf *out)
{
	_cleanup_(buf_release) struct buf page = {};

	html(in, &page);
	buf_puts(out, "Content-Type: multipart/mixed; boundary=outer\n\n--outer\n"
		      "Content-Type: multipart/alternative; boundary=\"in=ner\"\n\n--in=ner\n"
		      "Content-Type: text/plain\nContent-Transfer-Encoding: quoted-printable\n\n");
	quoted_printable(in, out);
	buf_puts(out, "\n--in=ner\nContent-Type: multipart/related; boundary=deep\n\n--deep\n"
		      "Content-Type: text/html\nContent-Transfer-Encoding: base64\n\n");
	base64(&page, out);
	buf_puts(out, "--deep--\n--in=ner--\n\n--outer\nContent-Type: image/png\n"
		      "Content-Transfer-Encoding: base64\n\n");
	base64(in, out);
	buf_puts(out, "--outer--\n");
}

static void bare_printable(const struct buf *in, struct buf *out)
{
	_cleanup_(buf_release) struct buf more = {};

	buf_puts(&more, "on that machine x =3D y held, \xc2\xa0 and a long line that a mailer has "
			"to break, says =\xe2\x80\xa6\n\n");
	buf_add(&more, in->data, in->len);
	quoted_printable(&more, out);
}

static void wide(const struct buf *in, struct buf *out, bool big, bool mark)
{
	if (mark)
		buf_add(out, big ? "\xfe\xff" : "\xff\xfe", 2);
	for (size_t i = 0; i < in->len; i++) {
		unsigned int c = (unsigned char)in->data[i];

		if (c >= 0xe0) { /* the fixtures have no longer ones */
			c = (c & 15) << 12 | ((unsigned int)in->data[i + 1] & 63) << 6 |
			    ((unsigned int)in->data[i + 2] & 63);
			i += 2;
		}
		buf_putc(out, (char)(big ? c >> 8 : c));
		buf_putc(out, (char)(big ? c : c >> 8));
	}
}

static void utf16_little(const struct buf *in, struct buf *out)
{
	wide(in, out, false, true);
}

static void utf16_big_unmarked(const struct buf *in, struct buf *out)
{
	wide(in, out, true, false);
}

static void fenced(const struct buf *in, struct buf *out)
{
	buf_puts(out, "```\n");
	buf_add(out, in->data, in->len);
	buf_puts(out, "```\n");
}

/* Lines broken at a blank before column 70, as a mailer does. */
static void wrapped(const struct buf *in, struct buf *out)
{
	const char *line = in->data;

	for (const char *end; (end = strchr(line, '\n')); line = end + 1) {
		const char *s = line;

		while (end - s > 70) {
			const char *cut = s + 70;

			while (cut > s && *cut != ' ')
				cut--;
			buf_add(out, s, (size_t)(cut - s));
			buf_putc(out, '\n');
			s = cut + strspn(cut, " ");
		}
		buf_add(out, s, (size_t)(end - s) + 1);
	}
}

static void (*const dresses[])(const struct buf *in, struct buf *out) = {
	mail_printable, mail_base64,	    html,   mail_alternative, bare_printable,
	utf16_little,	utf16_big_unmarked, fenced, wrapped,
};

static const char *const files[] = {
	MAIL "throughput.txt",
	MAIL "latency.txt",
	CAPTURE "iperf3-parallel-omit-client.txt",
	CAPTURE "iperf3-bidir-client.txt",
	CAPTURE "iperf3-udp-client.txt",
	CAPTURE "iperf2-parallel-client.txt",
	CAPTURE "iperf2-udp-client.txt",
	CAPTURE "iperf2-enhanced-client.txt",
	CAPTURE "iperf2-bounceback-client.txt",
	CAPTURE "cyclictest-quiet.txt",
	CAPTURE "cyclictest-histogram-all.txt",
	CAPTURE "iperf3-bidir-client.json",
	CAPTURE "cyclictest.json",
};

static void what_mailers_do_to_a_text_does_not_matter(void **state)
{
	for (size_t f = 0; f < ARRAY_SIZE(files); f++) {
		_cleanup_(import_release) struct import_doc plain = {};
		_cleanup_(buf_release) struct buf text = {}, want = {};

		fixture_read(files[f], &text);
		parse(&text, &plain);
		assert_true(plain.nr_runs > 0);
		describe(&plain, &want);
		for (size_t i = 0; i < ARRAY_SIZE(dresses); i++) {
			_cleanup_(import_release) struct import_doc doc = {};
			_cleanup_(buf_release) struct buf dressed = {}, got = {};

			dresses[i](&text, &dressed);
			parse(&dressed, &doc);
			describe(&doc, &got);
			if (strcmp(buf_str(&got), buf_str(&want)) != 0)
				fail_msg("%s in dress %zu:\n%s\nwanted:\n%s", files[f], i,
					 buf_str(&got), buf_str(&want));
		}
	}
}

static int collect(struct import_sink *sink, struct import_run *run, struct err *e)
{
	struct import_doc *doc = *(struct import_doc **)(sink + 1);

	doc->runs = realloc(doc->runs, (doc->nr_runs + 1) * sizeof(*run));
	doc->runs[doc->nr_runs++] = *run;
	*run = (struct import_run){};
	return 0;
}

static int count_skip(struct import_sink *sink, const struct import_skip *skip, struct err *e)
{
	(*(struct import_doc **)(sink + 1))->nr_skipped++;
	return 0;
}

static int ignore_remark(struct import_sink *sink, size_t line, const char *text, struct err *e)
{
	return 0;
}

/* Read @text in pieces of @piece bytes. */
__attribute__((noinline)) static void parse_pieces(const struct buf *text, size_t piece,
						   struct import_doc *doc)
{
	_cleanup_(import_freep) struct import_reader *reader = NULL;
	struct {
		struct import_sink sink;
		struct import_doc *doc;
	} s = { { collect, count_skip, ignore_remark }, doc };
	struct err e = {};

	assert_int_equal(import_new(&reader, &s.sink, &e), 0);
	for (size_t at = 0; at < text->len; at += piece)
		assert_int_equal(import_add(reader, text->data + at,
					    text->len - at < piece ? text->len - at : piece, &e),
				 0);
	assert_int_equal(import_end(reader, &e), 0);
}

static void pieces_may_end_anywhere(void **state)
{
	static const size_t pieces[] = { 1, 7, 4096, 65536 };
	for (size_t f = 0; f < ARRAY_SIZE(files); f++) {
		_cleanup_(buf_release) struct buf once = {}, text = {}, want = {};
		_cleanup_(import_release) struct import_doc whole = {};

		/* longer than what is looked at before anything is read */
		fixture_read(files[f], &once);
		while (text.len < 300000)
			buf_add(&text, once.data, once.len);
		parse(&text, &whole);
		describe(&whole, &want);
		for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
			_cleanup_(import_release) struct import_doc doc = {};
			_cleanup_(buf_release) struct buf got = {};

			parse_pieces(&text, pieces[i], &doc);
			describe(&doc, &got);
			assert_string_equal(buf_str(&got), buf_str(&want));
		}
	}
}

/* ---- what looks like an encoding and is none */

#define T_ROW "T: 0 ( 1288) P:98 I:250 C: 960000 Min:      8 Act:    9 Avg:    8 Max:      33\n"

static void a_text_that_is_not_encoded_is_not_decoded(void **state)
{
	static const char *const texts[] = {
		"isolcpus=3D nohz_full=3D and a=4 too\nmode=20\nx=3D\n" T_ROW,
		"throughput=34\nlatency=45\nnum_flows=12\n" T_ROW,
		"time=0.045 ms\ntime=0.055 ms\n" T_ROW,
		"if (a < b && c > d) &foo; <idle>-0 <a@b.example> a &amp b\n" T_ROW,
		"Content-Type: what we call it\n" T_ROW,
		"Max: 33\nMin: 4\n\n" T_ROW,
		"--\n" T_ROW,
		"From here on: all is well\n\n" T_ROW,
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_(import_release) struct import_doc doc = {};
		_cleanup_(buf_release) struct buf text = {};

		buf_puts(&text, texts[i]);
		parse(&text, &doc);
		assert_int_equal(doc.nr_runs, 1);
		assert_non_null(import_cyclictest(&doc.runs[0]));
		assert_int_equal(import_cyclictest(&doc.runs[0])->threads[0].max, 33);
	}
}

static void a_label_keeps_its_equal_signs(void **state)
{
	static const char text[] = "isolcpus=1 nohz_full=4D rcu=ab\n" T_ROW;
	_cleanup_(import_release) struct import_doc doc = {};
	struct buf b = { .data = (char *)(uintptr_t)text, .len = strlen(text) };

	parse(&b, &doc);
	assert_string_equal(doc.runs[0].heading, "isolcpus=1 nohz_full=4D rcu=ab");
}

/* ---- rows with something in their middle */

static void what_runs_into_a_row_is_taken_out(void **state)
{
	static const char *const texts[] = {
		"T: 0 ( 1288) P:98 I:250 C: 960000 Min: [   78.348599] NOHZ: local_softirq_pending\n"
		"     8 Act:    9 Avg:    8 Max:      33\n",
		"T: 0 ( 1288) P:98 I:250 C: 960000 Min:\n[   78.348599] NOHZ: local_softirq\n"
		"     8 Act:    9 Avg:    8 Max:      33\n",
		"T: 0 ( 1288) P:98 I:250 root@box:~# C: 960000 Min:   8 Act:  9 Avg:  8 Max:   33\n",
		"T: 0 ( 1288) P:98 I:250\nC: 960000 Min:      8 Act:\n   9 Avg:    8 Max:      33\n",
		"> > T: 0 ( 1288) P:98 I:250 C: 960000 Min:      8 Act:    9 Avg:    8 Max:\n33\n",
		"JD> T: 0 ( 1288) P:98 I:250 C: 960000 Min:      8 Act:    9 Avg:    8 Max:      33\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_(import_release) struct import_doc doc = {};
		_cleanup_(buf_release) struct buf text = {};

		buf_puts(&text, texts[i]);
		parse(&text, &doc);
		if (doc.nr_runs != 1)
			fail_msg("%s", texts[i]);
		assert_int_equal(doc.nr_skipped, 0);
		assert_int_equal(import_cyclictest(&doc.runs[0])->threads[0].min, 8);
		assert_int_equal(import_cyclictest(&doc.runs[0])->threads[0].max, 33);
	}
}

static void text_that_was_left_out_is_reported(void **state)
{
	static const char *const cuts[] = { "...",	 "[...]", "\xe2\x80\xa6",  "<snip>",
					    "[snipped]", "(...)", "[\xe2\x80\xa6]" };
	static const char *const others[] = { "snip is a tool", "... and so on", "-- ", "cut 3" };

	for (size_t i = 0; i < ARRAY_SIZE(cuts) + ARRAY_SIZE(others); i++) {
		_cleanup_(import_release) struct import_doc doc = {};
		_cleanup_(buf_release) struct buf text = {};
		bool cut = i < ARRAY_SIZE(cuts);

		buf_printf(&text, "one\n> %s\n" T_ROW,
			   cut ? cuts[i] : others[i - ARRAY_SIZE(cuts)]);
		parse(&text, &doc);
		assert_int_equal(doc.nr_remarks, cut ? 1 : 0);
		if (cut)
			assert_int_equal(doc.remarks[0].line, 2);
	}
}

/* Lines as headers have them, and rows that are indented below them. */
static void indented_rows_below_a_named_value_are_rows(void **state)
{
	static const char *const texts[] = {
		"duration: 60 s\n  " T_ROW,
		"kernel: 6.1\n\t" T_ROW,
		"\nduration: 60 s\nprio: 98\n    " T_ROW,
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_(import_release) struct import_doc doc = {};
		_cleanup_(buf_release) struct buf text = {};

		buf_puts(&text, texts[i]);
		parse(&text, &doc);
		assert_int_equal(doc.nr_runs, 1);
		assert_int_equal(import_cyclictest(&doc.runs[0])->nr, 1);
	}
}

/* A terminal has broken the rows inside a number. */
static void a_number_in_two_lines_is_one(void **state)
{
	static const char *const texts[] = {
		"T: 0 (  812) P:99 I:1000 C: 600000 Min:  4 Act:  9 Avg:  8 Max:  6\n2 SMI:  0\n",
		"T: 0 (  812) P:99 I:1000 C: 600000 Min:  4 Act:  9 Avg:  8 Max:  6\n2\n",
		"T: 0 (  812) P:99 I:1000 C: 600000 Min:  4 Act:  1\n9 Avg:  8 Max:  62\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_(import_release) struct import_doc doc = {};
		_cleanup_(buf_release) struct buf text = {};

		buf_puts(&text, texts[i]);
		parse(&text, &doc);
		assert_int_equal(doc.nr_runs, 1);
		assert_int_equal(doc.nr_skipped, 0);
		assert_int_equal(import_cyclictest(&doc.runs[0])->threads[0].max, 62);
		assert_int_equal(import_cyclictest(&doc.runs[0])->threads[0].act, i == 2 ? 19 : 9);
	}
}

#define WHOLE "[  5]   0.00-10.00  sec  1.09 GBytes   940 Mbits/sec    0             sender"

static void rows_in_cells_and_broken_words_are_rows(void **state)
{
	static const char *const texts[] = {
		"| run | output |\n| 1 | `" WHOLE "` |\n",
		"before\n[code]\n" WHOLE "\n[/code]\n",
		"before\n```text\n" WHOLE "\n```\n",
		("before\n"
		 "[  5]   0.00-10.00  sec  1.09 GBytes   940 Mbits/sec    0             sen\nder\n"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_(import_release) struct import_doc doc = {};
		_cleanup_(buf_release) struct buf text = {};
		const struct import_figure *f;

		buf_puts(&text, texts[i]);
		parse(&text, &doc);
		assert_int_equal(doc.nr_runs, 1);
		f = import_figure_find(&doc.runs[0], "throughput", "direction=sent");
		assert_non_null(f);
		assert_true(f->value == 940e6);
		if (i)
			assert_string_equal(doc.runs[0].label, "before");
	}
}

/* Thousands with a blank, and rows beside each other: not half of them without a word. */
static void what_is_half_read_is_said(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(buf_release) struct buf text = {};

	buf_puts(&text, "T: 0 (  900) P:80 I:1000 C: 10000 Min: 5 Act: 9 Avg: 8 Max: 1 024\n"
			"\n"
			"T: 0 ( 1201) P:95 I:1000 C: 60000 Min: 3 Act: 7 Avg: 6 Max: 81 | "
			"T: 0 ( 1301) P:95 I:1000 C: 60000 Min: 2 Act: 5 Avg: 5 Max: 33\n");
	parse(&text, &doc);
	assert_int_equal(doc.nr_runs, 1);
	assert_int_equal(doc.nr_skipped, 1);
	assert_int_equal(doc.skipped[0].line, 1);
	assert_int_equal(doc.nr_remarks, 1);
	assert_int_equal(doc.remarks[0].line, 3);
	assert_int_equal(import_cyclictest(&doc.runs[0])->threads[0].max, 81);
}

/* A receiver's total is no sum of what was sent. */
static void lost_datagrams_are_no_missing_rows(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(buf_release) struct buf text = {};

	buf_puts(&text,
		 "[ ID] Interval           Transfer     Bitrate         Total Datagrams\n"
		 "[  5]   0.00-1.00   sec   119 MBytes   998 Mbits/sec  86186\n"
		 "[  5]   1.00-2.00   sec   119 MBytes   998 Mbits/sec  86190\n"
		 "[  5]   0.00-2.00   sec   238 MBytes   998 Mbits/sec  0.000 ms  0/172376 (0%)  "
		 "sender\n"
		 "[  5]   0.00-2.00   sec   230 MBytes   965 Mbits/sec  0.014 ms  5766/172376 "
		 "(3.3%)  receiver\n");
	parse(&text, &doc);
	assert_int_equal(doc.nr_runs, 1);
	assert_int_equal(doc.runs[0].nr_notes, 0);
}

/* Averages without a heading of their own. */
static void averages_of_several_interfaces_are_one_run(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(buf_release) struct buf text = {};

	buf_puts(&text, "09:10:01 AM     IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s\n"
			"09:10:02 AM        lo      2.00      2.00      0.20      0.20\n"
			"09:10:02 AM      eth0   8123.00   4021.00    119.12     26.40\n"
			"Average:           lo      2.00      2.00      0.20      0.20\n"
			"Average:         eth0   8123.00   4021.00    119.12     26.40\n");
	parse(&text, &doc);
	assert_int_equal(doc.nr_runs, 1);
	assert_true(import_figure_find(&doc.runs[0], "net.rxpck", "dev=eth0")->value == 8123);
}

/* Twice as many rows as are kept, those of the second half ten times as fast. */
static void means_are_of_all_rows(void **state)
{
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(buf_release) struct buf text = {};
	const struct import_figure *mean, *retr;
	const unsigned int n = 2 * IMPORT_POINTS_MAX;

	buf_puts(&text, "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n");
	for (unsigned int i = 0; i < n; i++)
		buf_printf(&text, "[  5] %u.00-%u.00 sec %u MBytes %u Mbits/sec 1 2.50 MBytes\n", i,
			   i + 1, i < n / 2 ? 125 : 1250, i < n / 2 ? 1049 : 10486);
	parse(&text, &doc);
	assert_int_equal(doc.nr_runs, 1);
	mean = import_figure_find(&doc.runs[0], "throughput.rows", "direction=sent");
	retr = import_figure_find(&doc.runs[0], "retransmits.rows", "direction=sent");
	assert_non_null(mean);
	assert_non_null(retr);
	assert_int_equal(mean->n, n);
	assert_true(mean->value > 5767.49e6 && mean->value < 5767.51e6);
	assert_true(retr->value == n);
	assert_int_equal(import_iperf3(&doc.runs[0])->nr, n / 2);
	assert_int_equal(import_iperf3(&doc.runs[0])->dropped, n / 2);
	assert_non_null(strstr(doc.runs[0].notes[0].text, "in the means"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_mailers_do_to_a_text_does_not_matter),
		cmocka_unit_test(pieces_may_end_anywhere),
		cmocka_unit_test(a_text_that_is_not_encoded_is_not_decoded),
		cmocka_unit_test(a_label_keeps_its_equal_signs),
		cmocka_unit_test(what_runs_into_a_row_is_taken_out),
		cmocka_unit_test(text_that_was_left_out_is_reported),
		cmocka_unit_test(indented_rows_below_a_named_value_are_rows),
		cmocka_unit_test(a_number_in_two_lines_is_one),
		cmocka_unit_test(rows_in_cells_and_broken_words_are_rows),
		cmocka_unit_test(what_is_half_read_is_said),
		cmocka_unit_test(lost_datagrams_are_no_missing_rows),
		cmocka_unit_test(averages_of_several_interfaces_are_one_run),
		cmocka_unit_test(means_are_of_all_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
