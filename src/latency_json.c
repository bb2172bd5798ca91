// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * cyclictest 2.4's JSON, line by line, so that whatever reads that reads this (the odd keys
 * "cmdline:" and "rt_test_version:" are its own).  What is beyond stands in keys "irqlab", each on
 * a line of its own.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/kfile.h"
#include "base/text.h"
#include "latency.h"

#include <fcntl.h>
#include <unistd.h>

/* The one whose layout this is. */
#define LAYOUT_VERSION "2.40"

static void key_string(struct buf *out, const char *indent, const char *key, const char *value)
{
	buf_printf(out, "%s\"%s\": ", indent, key);
	text_json(out, value);
}

static void key_time(struct buf *out, const char *key, uint64_t wall_ns)
{
	time_t s = (time_t)(wall_ns / NS_PER_S);
	char when[64] = "";
	struct tm tm;

	if (localtime_r(&s, &tm))
		strftime(when, sizeof(when), "%a, %d %b %Y %H:%M:%S %z", &tm);
	key_string(out, "  ", key, when);
	buf_puts(out, ",\n");
}

static uint64_t is_realtime(void)
{
	_cleanup_(close_fdp) int sys = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct err absent = {};
	uint64_t v = 0;

	return sys >= 0 && kfile_read_u64(sys, "kernel/realtime", &v, &absent) >= 0 ? v : 0;
}

static void put_system(struct buf *out)
{
	struct utsname u = {};

	uname(&u);
	buf_puts(out, "  \"sysinfo\": {\n");
	key_string(out, "    ", "sysname", u.sysname);
	buf_puts(out, ",\n");
	key_string(out, "    ", "nodename", u.nodename);
	buf_puts(out, ",\n");
	key_string(out, "    ", "release", u.release);
	buf_puts(out, ",\n");
	key_string(out, "    ", "version", u.version);
	buf_puts(out, ",\n");
	key_string(out, "    ", "machine", u.machine);
	buf_printf(out, ",\n    \"realtime\": %" PRIu64 "\n  },\n", is_realtime());
}

static void put_quantiles(struct buf *out, const char *key, const struct hist *h)
{
	static const struct {
		const char *name;
		double q;
	} quantiles[] = { { "p50", 0.5 },
			  { "p90", 0.9 },
			  { "p99", 0.99 },
			  { "p999", 0.999 },
			  { "p9999", 0.9999 } };

	buf_printf(out, "\"%s\": {\"n\": %" PRIu64, key, h->total);
	for (size_t i = 0; h->total && i < ARRAY_SIZE(quantiles); i++) {
		uint64_t v = 0;

		hist_quantile(h, quantiles[i].q, &v);
		buf_printf(out, ", \"%s\": %" PRIu64, quantiles[i].name, v);
	}
	buf_printf(out, ", \"max\": %" PRIu64 "}", h->total ? h->max : 0);
}

/* Buckets of the whole histogram as [lower edge, count]. */
static void put_hist(struct buf *out, const struct hist *h)
{
	const char *sep = "";

	buf_puts(out, ", \"histogram_ns\": [");
	for (unsigned int i = 0; i < HIST_BUCKETS; i++) {
		if (!h->count[i])
			continue;
		buf_printf(out, "%s[%" PRIu64 ", %" PRIu64 "]", sep, hist_lower(i), h->count[i]);
		sep = ", ";
	}
	buf_puts(out, "]");
}

static void put_series(struct buf *out, const struct latency_series *s)
{
	const char *sep = "";

	buf_printf(out, ", \"maxima\": {\"step_s\": %" PRIu64 ", \"wall_mono_late_ns\": [",
		   s->step_s);
	for (uint64_t i = 0; i < s->nr; i++) {
		const struct latency_point *p = &s->point[i];

		if (!p->wall_ns)
			continue;
		buf_printf(out, "%s[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", sep, p->wall_ns,
			   p->mono_ns, p->late_ns);
		sep = ", ";
	}
	buf_puts(out, "]}");
}

static void put_beyond(struct buf *out, const struct latency_view *v, size_t i,
		       struct hist *corrected)
{
	const struct latency_figures *f = &v->figures[i];

	memset(corrected, 0, sizeof(*corrected));
	wakeup_correct(v->hist[i], f->interval_ns, corrected);
	buf_printf(out,
		   "      \"irqlab\": {\"priority\": %" PRIu32 ", \"interval_ns\": %" PRIu64
		   ", \"due\": %" PRIu64 ", \"skipped\": %" PRIu64 ", \"elsewhere\": %" PRIu64 ", ",
		   f->priority, f->interval_ns, v->hist[i]->total + f->skipped + f->elsewhere,
		   f->skipped, f->elsewhere);
	put_quantiles(out, "seen_ns", v->hist[i]);
	buf_puts(out, ", ");
	put_quantiles(out, "corrected_ns", corrected);
	put_hist(out, v->hist[i]);
	if (v->series)
		put_series(out, v->series[i]);
	buf_puts(out, "},\n");
}

static void put_rows(struct buf *out, const struct latency_view *v, size_t i)
{
	const char *sep = "";

	buf_puts(out, "      \"histogram\": {");
	for (uint64_t row = 0; v->rows && row < v->nr_rows; row++) {
		uint64_t n = v->rows[i].count[row];

		if (!n)
			continue;
		buf_printf(out, "%s\n        \"%" PRIu64 "\": %" PRIu64, sep, row, n);
		sep = ",";
	}
	buf_printf(out, "%s      },\n", *sep ? "\n" : "");
}

static void put_thread(struct buf *out, const struct latency_view *v, size_t i)
{
	const struct latency_figures *f = &v->figures[i];
	uint64_t unit = v->nsecs ? 1 : NS_PER_US;
	double sum = v->nsecs ? f->sum_ns : (double)f->sum_us;

	put_rows(out, v, i);
	buf_printf(out, "      \"cycles\": %" PRIu64 ",\n", f->cycles);
	buf_printf(out, "      \"min\": %" PRIu64 ",\n", f->cycles ? f->min_ns / unit : 1000000);
	buf_printf(out, "      \"max\": %" PRIu64 ",\n", f->max_ns / unit);
	/* cyclictest prints nan here, which is no JSON */
	buf_printf(out, "      \"avg\": %.2f,\n", f->cycles ? sum / (double)f->cycles : 0.0);
	buf_printf(out, "      \"cpu\": %" PRIu32 ",\n", f->cpu);
	buf_printf(out, "      \"node\": %" PRId32 "\n", f->node);
	buf_printf(out, "    }%s\n", i + 1 == v->nr ? "" : ",");
}

int latency_json(struct buf *out, const struct latency_view *v, struct err *e)
{
	_cleanup_(hist_freep) struct hist *corrected = hist_new();

	if (!corrected)
		return err_nomem(e, "corrected histogram");
	buf_puts(out, "{\n  \"file_version\": 1,\n");
	key_string(out, "  ", "cmdline:", v->command);
	buf_puts(out, ",\n");
	key_string(out, "  ", "rt_test_version:", LAYOUT_VERSION);
	buf_puts(out, ",\n");
	buf_puts(out, "  \"irqlab\": {\"version\": \"" IRQLAB_VERSION "\"},\n");
	key_time(out, "start_time", v->begin_wall_ns);
	key_time(out, "end_time", v->end_wall_ns);
	buf_puts(out, "  \"return_code\": 0,\n");
	put_system(out);
	buf_printf(out, "  \"num_threads\": %zu,\n  \"resolution_in_ns\": %d,\n  \"thread\": {\n",
		   v->nr, v->nsecs);
	for (size_t i = 0; i < v->nr; i++) {
		buf_printf(out, "    \"%zu\": {\n", i);
		put_beyond(out, v, i, corrected);
		put_thread(out, v, i);
	}
	buf_puts(out, "  }\n}\n");
	return out->failed ? err_nomem(e, "JSON") : 0;
}
