// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <ctype.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "base/json_field.h"
#include "cmd.h"
#include "export/export.h"
#include "report/format.h"
#include "report/model.h"

#include "golden.h"
#include "stored.h"

static struct fixture {
	char dir[64], path[96];
	struct store *store;
	int64_t run;
	struct report *rep;
} fixture;

static int set_up(void **state)
{
	struct fixture *f = &fixture;
	struct err e = {};

	*f = (struct fixture){ .dir = "/tmp/irqlab-export-XXXXXX" };
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/irqlab.db", f->dir);
	assert_int_equal(store_open(&f->store, f->path, STORE_WRITE, &e), 0);
	if (stored_make(f->store, STORED_BLOCKS, &f->run, &e) < 0 ||
	    report_gather(&f->rep, f->store, f->run, &plan_plugins, &e) < 0)
		fail_msg("%s", e.msg);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	report_free(f->rep);
	store_close(f->store);
	unlink(f->path);
	return rmdir(f->dir);
}

/* The form @name of the fixture's run; @trial 0: none is named. */
static void export(const struct fixture *f, const char *name, unsigned int trial, struct buf *out)
{
	const struct export_ops *form = NULL;
	struct export_source src = { .report = f->rep, .store = f->store };
	struct err e = {};

	assert_int_equal(export_find(name, &form, &e), 0);
	if (trial)
		src.trial = export_trial(f->rep, trial);
	if (form->write(&src, out, &e) < 0)
		fail_msg("%s: %s", name, e.msg);
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
		n++;
	return n;
}

static void forms_are_well_described(void **state)
{
	(void)state;
	for (size_t i = 0; export_forms[i]; i++) {
		const struct export_ops *form = export_forms[i], *found = NULL;
		_cleanup_(buf_release) struct buf row = {};
		struct err e = {};

		assert_true(strlen(form->help) <= 60 && form->help[strlen(form->help) - 1] != '.');
		for (const char *p = form->name; *p; p++)
			assert_true(islower((unsigned char)*p) || isdigit((unsigned char)*p) ||
				    *p == '-');
		assert_int_equal(export_find(form->name, &found, &e), 0);
		assert_ptr_equal(found, form);
		/* the command's help is this table */
		buf_printf(&row, "  %-15s  %s\n", form->name, form->help);
		assert_contains(cmd_export.more, buf_str(&row));
	}
}

static void an_unknown_form_names_the_nearest(void **state)
{
	const struct export_ops *form = NULL;
	struct err e = {};

	(void)state;
	assert_int_equal(export_find("junitt", &form, &e), -EINVAL);
	assert_contains(e.msg, "did you mean \"junit\"?");
	e = (struct err){};
	assert_int_equal(export_find("", &form, &e), -EINVAL);
	assert_contains(e.msg, "no --format; there are: json, csv");
	assert_null(form);
}

/* The fixture is good for something only when every word is in it. */
static void the_run_has_every_verdict(void **state)
{
	static const enum verdict_word words[] = { VERDICT_WORSE, VERDICT_UNDECIDED, VERDICT_BETTER,
						   VERDICT_SAME, VERDICT_VETOED };
	const struct fixture *f = *state;
	size_t nr = 0;
	const struct verdict *v = report_verdicts(f->rep, &nr);

	assert_int_equal(nr, ARRAY_SIZE(words));
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(v[i].word, words[i]);
}

static void texts_are_as_agreed(void **state)
{
	static const char *const names[] = { "patch", "markdown", "ktap", "junit", "openmetrics" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_(buf_release) struct buf out = {};
		char path[64];

		export(*state, names[i], 0, &out);
		snprintf(path, sizeof(path), "export/%s.txt", names[i]);
		assert_golden(path, &out);
	}
}

static void undecided_never_passes(void **state)
{
	_cleanup_(buf_release) struct buf ktap = {}, junit = {};

	export(*state, "ktap", 0, &ktap);
	assert_contains(buf_str(&ktap), "KTAP version 1\n1..5\n");
	assert_contains(buf_str(&ktap), "\nnot ok 1 throughput@flat-out\n");
	assert_contains(buf_str(&ktap), "\nok 2 tcp.retransmits@flat-out # SKIP undecided\n");
	assert_contains(buf_str(&ktap), "\nok 3 wakeup.p99@net\n");
	assert_contains(buf_str(&ktap), "\nok 5 throughput@broken # SKIP vetoed\n");
	export(*state, "junit", 0, &junit);
	assert_int_equal(count(buf_str(&junit), "<testcase "), 5);
	assert_int_equal(count(buf_str(&junit), "<failure "), 1);
	assert_int_equal(count(buf_str(&junit), "<skipped "), 2);
	assert_contains(buf_str(&junit), "tests=\"5\" failures=\"1\" errors=\"0\" skipped=\"2\"");
}

/* Every line of a form without what could be taken for something else there. */
static void assert_lines(const char *text, size_t most, const char *first)
{
	for (const char *p = text; *p;) {
		size_t len = strcspn(p, "\n");
		_cleanup_(freep) char *line = strndup(p, len);

		if (format_columns(line) > most)
			fail_msg("%zu columns: %s", format_columns(line), line);
		assert_false(len && strchr(first, *p));
		assert_false(len && line[len - 1] == ' ');
		for (size_t i = 0; i < len; i++)
			assert_true((unsigned char)line[i] >= 0x20);
		p += len + (p[len] == '\n');
	}
}

static void patch_text_fits_a_commit(void **state)
{
	_cleanup_(buf_release) struct buf out = {};

	export(*state, "patch", 0, &out);
	assert_lines(buf_str(&out), 75, "#-");
	assert_contains(buf_str(&out), "  after: netdev dev=$dut threaded=1\n");
	assert_contains(buf_str(&out), "6 of 48 trials could not be used");
	assert_contains(buf_str(&out), "$ irqlab run plans/napi.yaml");
}

static void names_cannot_break_out(void **state)
{
	_cleanup_(buf_release) struct buf html = {}, md = {}, om = {};

	export(*state, "junit", 0, &html);
	assert_null(strstr(buf_str(&html), "<script"));
	export(*state, "markdown", 0, &md);
	assert_null(strstr(buf_str(&md), "<script"));
	/* nobody is called, no issue is linked */
	assert_null(strstr(buf_str(&md), "@x"));
	assert_null(strstr(buf_str(&md), " #1"));
	export(*state, "openmetrics", 0, &om);
	assert_contains(buf_str(&om), "plan=\"<script>alert(1)</script> \\\"|`@x` & #1\"");
	assert_string_equal(buf_str(&om) + om.len - strlen("# EOF\n"), "# EOF\n");
}

/* Lines are broken anywhere: as one. */
static void one_line(struct buf *b)
{
	char *to = b->data;

	for (const char *p = b->data; *p;) {
		size_t blanks = strspn(p, " \n");

		if (blanks)
			*to++ = ' ';
		p += blanks;
		if (*p)
			*to++ = *p++;
	}
	*to = '\0';
}

/* A verdict without what it rests on is worth little: looks, the N of a maximum, 3/N of a zero, and
 * what the bench does when nothing is changed. */
static void forms_say_what_a_verdict_rests_on(void **state)
{
	const struct fixture *f = *state;
	struct verdict *v = f->rep->verdicts, saved[5];
	static const char *const texts[] = { "patch", "markdown" };
	static const char *const futile = "not likely to be decided within the plan";

	memcpy(saved, v, sizeof(saved));
	v[1].look = 2;
	v[1].looks = 4;
	v[1].futile = true;
	v[1].baseline = 0;
	v[1].n_baseline = 60000;
	v[2].kind = METRIC_MAXIMUM;
	v[2].n_baseline = 64000;
	v[2].n_value = 63992;
	f->rep->noise[0] =
		(struct noise){ .run = 7, .sd = 0.008, .scale = VERDICT_SCALE_RATIO, .blocks = 12 };
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_(buf_release) struct buf out = {};

		export(f, texts[i], 0, &out);
		if (i == 0)
			assert_lines(buf_str(&out), 75, "#-");
		one_line(&out);
		assert_contains(buf_str(&out), futile);
		assert_contains(buf_str(&out), "None in N = 60000 samples");
		assert_contains(buf_str(&out), "(3/N)");
		assert_contains(buf_str(&out), "N = 8000 (\"after\": 7999) samples a trial");
		assert_contains(buf_str(&out), "0.800% a pair (A/A run 7, 12 blocks)");
	}
	{
		_cleanup_(buf_release) struct buf junit = {}, om = {}, kcidb = {};

		export(f, "junit", 0, &junit);
		assert_contains(buf_str(&junit), "look 2 of 4");
		assert_contains(buf_str(&junit), futile);
		export(f, "openmetrics", 0, &om);
		assert_contains(buf_str(&om), "state=\"futile\"} 1\n");
		assert_contains(buf_str(&om), ",of=\"baseline\"} 64000\n");
		assert_contains(buf_str(&om), "scale=\"ratio\"} 0.0080000000000000002\n");
		export(f, "kcidb", 0, &kcidb);
		assert_contains(buf_str(&kcidb), "\"looks\":4");
		assert_contains(buf_str(&kcidb), "\"test\":\"sign-flip\"");
	}
	memcpy(v, saved, sizeof(saved));
	f->rep->noise[0] = (struct noise){};
}

/* What is not judged is in none of the forms that have tests. */
static void exploratory_numbers_are_no_tests(void **state)
{
	_cleanup_(buf_release) struct buf csv = {}, junit = {};

	export(*state, "csv-exploratory", 0, &csv);
	assert_int_equal(count(buf_str(&csv), "\n"), 1 + 2);
	assert_contains(buf_str(&csv), "\nwakeup.p99,,flat-out,ns,after,signed-rank,ratio,48192,");
	export(*state, "junit", 0, &junit);
	assert_null(strstr(buf_str(&junit), "wakeup.p99@flat-out"));
}

/* Fields of one line of CSV, in place; returns their number. */
static size_t csv_split(char *line, char **field, size_t most)
{
	size_t nr = 0;

	for (char *p = line; p && nr < most;) {
		char *to = p;
		bool quoted = *p == '"';

		field[nr++] = p;
		p += quoted;
		while (*p && (quoted || *p != ',')) {
			if (quoted && *p == '"' && *++p != '"') {
				quoted = false;
				continue;
			}
			*to++ = *p++;
		}
		p = *p ? p + 1 : NULL;
		*to = '\0';
	}
	return nr;
}

static void csv_has_a_row_per_trial(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(buf_release) struct buf out = {};
	char *field[16], *save = NULL, *line;
	size_t rows = 0;

	export(f, "csv", 0, &out);
	line = strtok_r(out.data, "\n", &save);
	assert_int_equal(csv_split(line, field, 16), 14);
	assert_string_equal(field[11], "wakeup.p99@net (ns)");
	while ((line = strtok_r(NULL, "\n", &save))) {
		const struct trial_info *t = &f->rep->trials[rows++];

		assert_int_equal(csv_split(line, field, 16), 14);
		assert_int_equal(strtoul(field[0], NULL, 10), t->position + 1);
		assert_string_equal(field[3], t->variant ? "after" : "before");
		assert_string_equal(field[5], t->reason ? t->reason : "");
		/* of the other scenarios there is none */
		assert_int_equal(*field[9] != '\0', t->scenario == 0);
		if (t->scenario == 1)
			assert_near(strtod(field[11], NULL), model_value(f->rep, rows - 1, 2), 0);
	}
	assert_int_equal(rows, 48);
}

static void csv_series_has_a_row_per_point(void **state)
{
	_cleanup_(buf_release) struct buf all = {}, one = {}, scalars = {};

	export(*state, "csv-series", 0, &all);
	/* 4 series of 25 points in 16 trials, 1 in 32 */
	assert_int_equal(count(buf_str(&all), "\n"), 1 + 16 * 4 * 25 + 32 * 25);
	export(*state, "csv-series", 2, &one);
	assert_int_equal(count(buf_str(&one), "\n"), 1 + 4 * 25);
	assert_contains(buf_str(&one), "\n2,1,flat-out,after,ok,tcp.rtt,,ns,-400000000,87000\n");
	export(*state, "csv-scalars", 2, &scalars);
	assert_int_equal(count(buf_str(&scalars), "\n"), 1 + 4);
	assert_contains(buf_str(&scalars), ",tcp.retransmits,,count,15\n");
}

static struct json_object *export_json_of(const struct fixture *f, const char *name,
					  unsigned int trial)
{
	_cleanup_(buf_release) struct buf out = {};
	struct json_object *o;

	export(f, name, trial, &out);
	o = json_tokener_parse(buf_str(&out));
	assert_non_null(o);
	return o;
}

static double number(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	if (!json_object_object_get_ex(o, key, &v))
		fail_msg("no key %s in %s", key, json_object_to_json_string(o));
	return json_object_get_double(v);
}

static struct json_object *at(struct json_object *o, size_t i)
{
	return json_object_array_get_idx(o, i);
}

static void iperf3_form_has_what_was_measured(void **state)
{
	_cleanup_(json_putp) struct json_object *o = export_json_of(*state, "iperf3-json", 1);
	struct json_object *list = json_field_array(o, "intervals"), *sum, *one;
	struct json_object *end = json_field_object(o, "end");
	size_t omitted = 0;

	assert_int_equal(json_object_array_length(list), 25);
	for (size_t i = 0; i < 25; i++) {
		sum = json_field_object(at(list, i), "sum");
		omitted += json_object_get_boolean(json_object_object_get(sum, "omitted"));
		assert_near(number(sum, "bits_per_second"), 23.4e9, 1);
		assert_near(number(sum, "seconds"), 0.1, 1e-9);
		assert_near(number(sum, "retransmits"), 1, 0);
		one = at(json_field_array(at(list, i), "streams"), 0);
		assert_near(number(one, "rtt"), 87, 0);
		assert_near(number(one, "snd_cwnd"), 2621440, 0);
	}
	/* 500 ms of warm-up; then the time begins anew */
	assert_int_equal(omitted, 5);
	assert_near(number(json_field_object(at(list, 5), "sum"), "start"), 0, 1e-9);
	assert_near(number(json_field_object(at(list, 24), "sum"), "end"), 2, 1e-9);
	assert_near(number(json_field_object(end, "sum_sent"), "bytes"), 23.4e9 / 8 * 2, 1);
	assert_near(number(json_field_object(end, "sum_sent"), "retransmits"), 25, 0);
	sum = json_field_object(json_field_object(o, "start"), "test_start");
	assert_near(number(sum, "reverse"), 0, 0);
}

static void iperf3_form_makes_nothing_up(void **state)
{
	_cleanup_(json_putp) struct json_object *o = export_json_of(*state, "iperf3-json", 3);
	struct json_object *first = at(json_field_array(o, "intervals"), 0);
	struct json_object *test;

	/* four streams, of which only the sum is known; what the peer sent is not */
	test = json_field_object(json_field_object(o, "start"), "test_start");
	assert_near(number(test, "num_streams"), 4, 0);
	assert_near(number(test, "reverse"), 1, 0);
	assert_int_equal(json_object_array_length(json_field_array(first, "streams")), 0);
	assert_false(
		json_object_object_get_ex(json_field_object(first, "sum"), "retransmits", NULL));
	assert_null(json_field_object(json_field_object(o, "end"), "sum_sent"));
	assert_near(number(json_field_object(json_field_object(o, "end"), "sum_received"),
			   "bits_per_second"),
		    4e9, 1);
}

static void cyclictest_form_counts_every_wakeup(void **state)
{
	_cleanup_(json_putp) struct json_object *o = export_json_of(*state, "cyclictest-json", 1);
	struct json_object *threads = json_field_object(o, "thread");

	assert_near(number(o, "num_threads"), 2, 0);
	assert_near(number(o, "resolution_in_ns"), 0, 0);
	assert_contains(json_field_string(o, "cmdline:"), "irqlab run plans/napi.yaml");
	for (int i = 0; i < 2; i++) {
		struct json_object *t = json_field_object(threads, i ? "1" : "0");
		double n = 0;

		json_object_object_foreach(json_field_object(t, "histogram"), key, v)
		{
			uint64_t us = strtoull(key, NULL, 10);

			assert_true(us >= 3 && us <= 1200);
			n += json_object_get_double(v);
		}
		assert_near(n, 4000, 0);
		assert_near(number(t, "cycles"), 4000, 0);
		assert_near(number(t, "min"), 3, 0);
		assert_near(number(t, "max"), 1200, 0);
		assert_near(number(t, "cpu"), i, 0);
	}
}

static void a_trial_without_the_thing_says_so(void **state)
{
	const struct fixture *f = *state;
	const struct trial_info none = { .id = 4711, .position = 98 };
	struct export_source src = { .report = f->rep, .store = f->store, .trial = &none };
	static const char *const names[] = { "iperf3-json", "cyclictest-json", "hdr" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_(buf_release) struct buf out = {};
		const struct export_ops *form = NULL;
		struct err e = {};

		assert_int_equal(export_find(names[i], &form, &e), 0);
		assert_int_equal(form->write(&src, &out, &e), -ENODATA);
		assert_true(e.len > 0);
	}
	assert_null(export_trial(f->rep, 0));
	assert_null(export_trial(f->rep, 49));
	assert_int_equal(export_trial(f->rep, 48)->position, 47);
}

static int digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *p = c ? strchr(digits, c) : NULL;

	return p ? (int)(p - digits) : -1;
}

static size_t from_base64(const char *text, unsigned char *to)
{
	size_t nr = 0;
	uint32_t v = 0;

	for (int bits = 0; digit(*text) >= 0; text++) {
		v = v << 6 | (uint32_t)digit(*text);
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			to[nr++] = (unsigned char)(v >> bits);
		}
	}
	return nr;
}

static uint64_t big_endian(const unsigned char *p, int bytes)
{
	uint64_t v = 0;

	while (bytes-- > 0)
		v = v << 8 | *p++;
	return v;
}

static int64_t zigzag(const unsigned char **p)
{
	uint64_t v = 0;

	for (int shift = 0;; shift += 7) {
		unsigned char c = *(*p)++;

		v |= (uint64_t)(shift < 56 ? c & 0x7f : c) << shift;
		if (shift == 56 || !(c & 0x80))
			break;
	}
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* Decode a line's payload into counts by the log's own description; the real reader is in the
 * end-to-end test. */
static void read_payload(const char *text, struct hist *ret)
{
	static unsigned char packed[65536], plain[65536];
	uLongf len = sizeof(plain);
	const unsigned char *p = plain + 40;
	size_t nr = from_base64(text, packed), index = 0;

	assert_int_equal(big_endian(packed, 4), 0x1c849314);
	assert_int_equal(big_endian(packed + 4, 4), nr - 8);
	assert_int_equal(uncompress(plain, &len, packed + 8, nr - 8), Z_OK);
	assert_int_equal(big_endian(plain, 4), 0x1c849313);
	assert_int_equal(big_endian(plain + 4, 4), len - 40);
	assert_int_equal(big_endian(plain + 12, 4), 2);
	assert_int_equal(big_endian(plain + 16, 8), 1);
	assert_int_equal(big_endian(plain + 32, 8), 0x3ff0000000000000);
	while (p < plain + len) {
		int64_t v = zigzag(&p);

		assert_true(index < HIST_BUCKETS);
		if (v <= 0)
			index += v ? (size_t)-v : 1;
		else
			ret->count[index++] = (uint64_t)v;
	}
	assert_true(big_endian(plain + 24, 8) >= ret->max);
}

static void hdr_log_loses_nothing(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(buf_release) struct buf out = {};
	_cleanup_(record_list_release) struct record_list l = {};
	_cleanup_(hist_freep) struct hist *back = hist_new();
	const char *line;
	struct err e = {};

	export(f, "hdr", 0, &out);
	/* 42 trials that can be used, two CPUs */
	assert_int_equal(count(buf_str(&out), "\nTag="), 84);
	assert_contains(buf_str(&out), "\nTag=flat-out/before/wakeup.latency/cpu=0;prio=98,0.000,"
				       "2.000,1.200000,HISTFA");
	assert_int_equal(store_records(f->store, f->rep->trials[0].id, RECORD_HIST, NULL, &l, &e),
			 0);
	line = strstr(buf_str(&out), "cpu=0;prio=98,");
	read_payload(strstr(line, "HISTFA"), back);
	assert_memory_equal(back->count, l.v[0]->hist->count, sizeof(back->count));
}

static void kcidb_ids_hang_together(void **state)
{
	_cleanup_(json_putp) struct json_object *o = export_json_of(*state, "kcidb", 0);
	static const char *const status[] = { "FAIL", "DONE", "PASS", "PASS", "ERROR" };
	struct json_object *build = at(json_field_array(o, "builds"), 0);
	struct json_object *checkout = at(json_field_array(o, "checkouts"), 0);
	struct json_object *tests = json_field_array(o, "tests"), *t;

	assert_string_equal(json_field_string(build, "checkout_id"),
			    json_field_string(checkout, "id"));
	assert_int_equal(json_object_array_length(tests), 5);
	for (size_t i = 0; i < 5; i++) {
		t = at(tests, i);
		assert_string_equal(json_field_string(t, "build_id"),
				    json_field_string(build, "id"));
		assert_string_equal(json_field_string(t, "status"), status[i]);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(json_field_string(t, "id"),
						json_field_string(at(tests, k), "id"));
	}
	t = json_field_object(at(tests, 2), "number");
	assert_string_equal(json_field_string(t, "unit"), "s");
	assert_near(number(t, "value"), 24e-6, 1e-6);
	assert_string_equal(json_field_string(at(tests, 2), "path"), "irqlab.after.net.wakeup.p99");
}

static void the_same_run_gives_the_same_bytes(void **state)
{
	for (size_t i = 0; export_forms[i]; i++) {
		_cleanup_(buf_release) struct buf a = {}, b = {};

		export(*state, export_forms[i]->name, export_forms[i]->one_trial, &a);
		export(*state, export_forms[i]->name, export_forms[i]->one_trial, &b);
		assert_string_equal(buf_str(&a), buf_str(&b));
		assert_true(a.len > 0);
	}
}

/* A run that was just begun: no number is made up, nothing passes. */
static void a_run_without_trials_passes_nothing(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(report_freep) struct report *rep = NULL;
	struct fixture empty = { .store = f->store };
	struct err e = {};

	assert_int_equal(stored_make(f->store, 0, &empty.run, &e), 0);
	assert_int_equal(report_gather(&rep, f->store, empty.run, &plan_plugins, &e), 0);
	empty.rep = rep;
	for (size_t i = 0; export_forms[i]; i++) {
		_cleanup_(buf_release) struct buf out = {};

		if (export_forms[i]->one_trial || strcmp(export_forms[i]->name, "hdr") == 0)
			continue;
		export(&empty, export_forms[i]->name, 0, &out);
		assert_null(strcasestr(buf_str(&out), "nan"));
		assert_null(strstr(buf_str(&out), "PASS"));
		if (strcmp(export_forms[i]->name, "ktap") == 0)
			assert_int_equal(count(buf_str(&out), "# SKIP undecided"), 5);
		if (strcmp(export_forms[i]->name, "patch") == 0)
			assert_contains(buf_str(&out), "not complete: 0 of 48 trials");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms_are_well_described),
		cmocka_unit_test(an_unknown_form_names_the_nearest),
		cmocka_unit_test(the_run_has_every_verdict),
		cmocka_unit_test(texts_are_as_agreed),
		cmocka_unit_test(undecided_never_passes),
		cmocka_unit_test(patch_text_fits_a_commit),
		cmocka_unit_test(names_cannot_break_out),
		cmocka_unit_test(forms_say_what_a_verdict_rests_on),
		cmocka_unit_test(exploratory_numbers_are_no_tests),
		cmocka_unit_test(csv_has_a_row_per_trial),
		cmocka_unit_test(csv_series_has_a_row_per_point),
		cmocka_unit_test(iperf3_form_has_what_was_measured),
		cmocka_unit_test(iperf3_form_makes_nothing_up),
		cmocka_unit_test(cyclictest_form_counts_every_wakeup),
		cmocka_unit_test(a_trial_without_the_thing_says_so),
		cmocka_unit_test(hdr_log_loses_nothing),
		cmocka_unit_test(kcidb_ids_hang_together),
		cmocka_unit_test(the_same_run_gives_the_same_bytes),
		cmocka_unit_test(a_run_without_trials_passes_nothing),
	};

	return cmocka_run_group_tests_name("export", tests, set_up, tear_down);
}
