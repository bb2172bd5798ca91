// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "export/forms.h"
#include "export/outcome.h"
#include "report/format.h"
#include "report/labels.h"
#include "sample/hist.h"

/*
 * The wake-ups of a trial in the form of "cyclictest -h --json": a thread per CPU and priority,
 * figures in us.  The colons inside two of the keys are cyclictest's own.  What does not fit into
 * its rows there ("overflow") does not exist here: all samples are in the histogram.
 */

/* Counts per whole us; a bucket wider than that counts at its upper end, never below the truth. */
static struct json_object *histogram(const struct hist *h)
{
	struct json_object *o = json_object_new_object();
	uint64_t us = 0, n = 0;
	char key[24];

	for (unsigned int i = 0; i < HIST_BUCKETS; i++) {
		uint64_t upper = hist_upper(i) < h->max ? hist_upper(i) : h->max;

		if (!h->count[i])
			continue;
		if (n && upper / NS_PER_US != us) {
			snprintf(key, sizeof(key), "%" PRIu64, us);
			json_object_object_add(o, key, json_object_new_uint64(n));
			n = 0;
		}
		us = upper / NS_PER_US;
		n += h->count[i];
	}
	if (n) {
		snprintf(key, sizeof(key), "%" PRIu64, us);
		json_object_object_add(o, key, json_object_new_uint64(n));
	}
	return o;
}

static struct json_object *thread(const struct record *rec)
{
	const struct hist *h = rec->hist;
	const char *cpu = labels_value(rec->labels, "cpu");
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "histogram", histogram(h));
	json_object_object_add(o, "cycles", json_object_new_uint64(h->total));
	json_object_object_add(o, "min", json_object_new_uint64(h->min / NS_PER_US));
	json_object_object_add(o, "max", json_object_new_uint64(h->max / NS_PER_US));
	json_put_number(o, "avg", h->sum / (double)h->total / (double)NS_PER_US);
	if (cpu)
		json_object_object_add(o, "cpu", json_object_new_int64(strtol(cpu, NULL, 10)));
	/* which thread it is: not of cyclictest, which has one per CPU */
	json_put_text(o, "labels", rec->labels);
	return o;
}

static void put_time(struct json_object *o, const char *key, uint64_t ns)
{
	time_t t = (time_t)(ns / NS_PER_S);
	struct tm tm;
	char text[64];

	if (gmtime_r(&t, &tm) && strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S +0000", &tm))
		json_put_text(o, key, text);
}

static struct json_object *sysinfo(const struct report *rep)
{
	static const char *const keys[] = { "sysname", "release", "version", "machine" };
	struct json_object *o = json_object_new_object();
	_cleanup_(buf_release) struct buf realtime = {};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		_cleanup_(buf_release) struct buf b = {};

		outcome_env(&b, rep, keys[i]);
		if (b.len)
			json_put_text(o, keys[i], buf_str(&b));
	}
	outcome_env(&realtime, rep, "realtime");
	json_object_object_add(o, "realtime",
			       json_object_new_int(strcmp(buf_str(&realtime), "1") == 0));
	return o;
}

static struct json_object *head(const struct export_source *src)
{
	const struct trial_info *t = src->trial;
	struct json_object *o = json_object_new_object();
	_cleanup_(buf_release) struct buf command = {}, version = {};

	format_repeat(&command, src->report);
	/* rt-tests share this form: whose it is, readers see in the command */
	buf_puts(&command, "  # in the form of cyclictest --json");
	buf_printf(&version, "irqlab %s", src->report->run.version);
	json_object_object_add(o, "file_version", json_object_new_int(1));
	json_put_text(o, "cmdline:", buf_str(&command));
	json_put_text(o, "rt_test_version:", buf_str(&version));
	put_time(o, "start_time", t->started_ns);
	put_time(o, "end_time", t->started_ns + t->window_ns);
	json_object_object_add(o, "return_code", json_object_new_int(0));
	json_object_object_add(o, "sysinfo", sysinfo(src->report));
	return o;
}

static int write_cyclictest(const struct export_source *src, struct buf *out, struct err *e)
{
	_cleanup_(record_list_release) struct record_list l = {};
	struct json_object *o, *threads;
	int nr = 0, r = store_records(src->store, src->trial->id, RECORD_HIST, NULL, &l, e);

	if (r < 0)
		return err_wrap(e, "trial %u", src->trial->position + 1);
	threads = json_object_new_object();
	for (size_t i = 0; i < l.nr; i++) {
		char key[24];

		if (!l.v[i]->hist->total || !labels_value(l.v[i]->labels, "cpu"))
			continue;
		snprintf(key, sizeof(key), "%d", nr++);
		json_object_object_add(threads, key, thread(l.v[i]));
	}
	if (!nr) {
		json_object_put(threads);
		return err_set(e, -ENODATA,
			       "trial %u has no wake-ups: a wakeup probe measures them",
			       src->trial->position + 1);
	}
	o = head(src);
	json_object_object_add(o, "num_threads", json_object_new_int(nr));
	json_object_object_add(o, "resolution_in_ns", json_object_new_int(0));
	json_object_object_add(o, "thread", threads);
	json_print(out, o);
	return out->failed ? err_nomem(e, "cyclictest JSON") : 0;
}

const struct export_ops export_cyclictest_json = {
	.name = "cyclictest-json",
	.help = "the wake-ups of --trial N as cyclictest --json does",
	.one_trial = true,
	.write = write_cyclictest,
};
