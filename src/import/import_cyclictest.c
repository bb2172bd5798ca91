// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "import/cyclictest.h"

/*
 * T: 0 ( 1288) P:98 I:250 C: 960000 Min:      8 Act:    9 Avg:    8 Max:      33
 *
 * Unchanged from 0.39 to 2.10, but for " SMI: n" after it.  A live display prints the same lines
 * again and again, each block after a "policy:" line and with the cursor moved up.
 */

/* What fits the widest machine and 2 h 46 min of latency: more is no output of cyclictest. */
#define DIGITS_THREAD 5
#define DIGITS_PRIO 3
#define DIGITS_LATENCY 10
#define DIGITS_CYCLES 13

struct field {
	const char *name;
	size_t offset;
	unsigned int digits;
};

#define FIELD(name, member, digits)                                               \
	{                                                                         \
		name, offsetof(struct cyclictest_thread, member), DIGITS_##digits \
	}

static const struct field fields[] = {
	FIELD("T:", t, THREAD),	     FIELD("(", tid, LATENCY),
	FIELD(") P:", prio, PRIO),   FIELD("I:", interval_us, LATENCY),
	FIELD("C:", cycles, CYCLES), FIELD("Min:", min, LATENCY),
	FIELD("Act:", act, LATENCY), FIELD("Avg:", avg, LATENCY),
	FIELD("Max:", max, LATENCY),
};

const struct cyclictest_run *import_cyclictest(const struct import_run *run)
{
	return run->ops == &import_ops_cyclictest ? run->data : NULL;
}

/* "T: 0 ( 1288)" wherever it begins, a prompt may stand before it; or NULL. */
static const char *find_row(const char *line)
{
	for (const char *s = scan_find(line, "T:"); s; s = scan_find(s + 2, "T:")) {
		const char *p = s + 2;
		int64_t v;

		if (s > line && isalnum((unsigned char)s[-1]))
			continue;
		scan_space(&p);
		if (!scan_int(&p, DIGITS_THREAD, &v))
			continue;
		scan_space(&p);
		if (!scan_text(&p, "("))
			continue;
		scan_space(&p);
		if (scan_int(&p, DIGITS_LATENCY, &v))
			return s;
	}
	return NULL;
}

/* "T: 0 Spike: 116: TS: 12400790347" (--spike). */
static bool is_spike(const char *line)
{
	const char *s = scan_find(line, "Spike:");

	return s && s - line >= 5 && strstr(s, ": TS:");
}

/* -v: "0: 1: 22", thread, cycle and latency, and the same with a fourth number (--smi). */
static bool scan_sample(const char *p, int64_t ret[3])
{
	for (int i = 0; i < 3; i++) {
		scan_space(&p);
		if (!scan_int(&p, DIGITS_CYCLES, &ret[i]) || (i < 2 && !scan_text(&p, ":")))
			return false;
	}
	if (scan_text(&p, ":")) {
		int64_t smi;

		scan_space(&p);
		if (!scan_int(&p, DIGITS_CYCLES, &smi))
			return false;
	}
	return !*p;
}

static enum import_kind cyclictest_sniff(const struct import_feed *f, const struct import_line *l)
{
	const char *line = l->s;
	static const char *const chatter[] = { "policy:",     "/dev/cpu_dma_latency set to",
					       "Max CPUs = ", "Online CPUs = ",
					       "WARN: ",      "INFO: " };

	int64_t sample[3];

	if (find_row(line) || cyclictest_is_hist(f, line))
		return IMPORT_ROW;
	if (f->mode & CYCLICTEST_VERBOSE && scan_sample(line, sample))
		return IMPORT_ROW;
	if (is_spike(line) || strncmp(line, "spikes = ", 9) == 0)
		return IMPORT_CHATTER;
	if (strncmp(line, "Thread ", 7) == 0 && strstr(line, " Interval: "))
		return IMPORT_CHATTER;
	for (size_t i = 0; i < ARRAY_SIZE(chatter); i++) {
		const char *s = strstr(line, chatter[i]);

		/* "# /dev/cpu_dma_latency set to 0us", "[3Apolicy: fifo: loadavg: ..." */
		if (s && s - line <= 6)
			return IMPORT_CHATTER;
	}
	return IMPORT_FOREIGN;
}

static void cyclictest_chatter(struct import_feed *f, const struct import_line *l)
{
	if (strstr(l->s, "policy:"))
		f->redrawn = true;
	if (strncmp(l->s, "Thread ", 7) != 0)
		return;
	if (strstr(l->s, " 0 Interval: ")) /* a new -v */
		import_close_run(f);
	f->mode = CYCLICTEST_VERBOSE;
	f->greedy = true;
}

/*
 * Return: how many of the fields are there in their order; a line that stops early may go on in
 * the next one. @ret_ended: the text ended there, or something else stood there.
 */
static size_t read_fields(const char *p, struct cyclictest_thread *ret, bool *ret_ended)
{
	size_t n = 0;

	for (; n < ARRAY_SIZE(fields); n++) {
		int64_t v;

		scan_space(&p);
		if (!scan_text(&p, fields[n].name))
			break;
		scan_space(&p);
		if (!scan_int(&p, fields[n].digits, &v))
			break;
		memcpy((char *)ret + fields[n].offset, &v, sizeof(v));
	}
	if (n == ARRAY_SIZE(fields) && *p && *p != ' ')
		n--; /* "Max: 33us": whatever it is, it is not what cyclictest prints */
	if (n == ARRAY_SIZE(fields) && *p == ' ' && strspn(p + 1, "0123456789") == 3 &&
	    (!p[4] || p[4] == ' '))
		n--; /* "Max: 1 024": somebody's thousands */
	*ret_ended = *p == '\0';
	return n;
}

/* A terminal of 80 columns breaks a row inside its last number: "Max:      6", "2" or "2 SMI: 0".
 */
static bool is_rest_of_number(const char *next)
{
	size_t n = strspn(next, "0123456789");

	return n && (!next[n] || strncmp(next + n, " SMI:", 5) == 0);
}

/* The whole row from @line, or from it and @next. Return: 0, 1 or -EBADMSG. */
static int read_row(struct import_feed *f, const char *line, const char *next,
		    struct cyclictest_thread *ret)
{
	_cleanup_(buf_release) struct buf joined = {};
	const char *s = find_row(line);
	bool ended;

	if (read_fields(s, ret, &ended) == ARRAY_SIZE(fields)) {
		if (!ended || !is_rest_of_number(next))
			return 0;
		if (buf_printf(&joined, "%s%s", s, next) < 0)
			return -ENOMEM;
		if (read_fields(buf_str(&joined), ret, &ended) != ARRAY_SIZE(fields))
			return import_bad(f, "a number is broken into two lines and too large");
		return 1;
	}
	if (!ended || !*next || find_row(next))
		return import_bad(f, ended ? "the row ends early" : "not the fields of a T: line");
	if (buf_printf(&joined, "%s %s", s, next) < 0)
		return -ENOMEM;
	if (read_fields(buf_str(&joined), ret, &ended) == ARRAY_SIZE(fields))
		return 1;
	buf_reset(&joined); /* inside a number, as terminals do */
	if (buf_printf(&joined, "%s%s", s, next) < 0)
		return -ENOMEM;
	if (read_fields(buf_str(&joined), ret, &ended) == ARRAY_SIZE(fields))
		return 1;
	return import_bad(f, "the row ends early and the next line does not continue it");
}

/* The thread @t of @run or where it belongs. */
static struct cyclictest_thread *find_thread(const struct cyclictest_run *run, int64_t t)
{
	size_t lo = 0, hi = run->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (run->threads[mid].t < t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < run->nr && run->threads[lo].t == t ? &run->threads[lo] : NULL;
}

/*
 * Whether @now is a later state of @old in the same display rather than the same thread of another
 * run.  The first state of a live display has thread id 0 and no cycles.
 */
static bool is_redraw(const struct import_feed *f, const struct cyclictest_thread *old,
		      const struct cyclictest_thread *now)
{
	if (f->text_between && !f->redrawn)
		return false;
	if (now->cycles < old->cycles || now->interval_us != old->interval_us)
		return false;
	/* extremes only grow */
	if (now->max < old->max || now->min > old->min)
		return false;
	return now->tid == old->tid || (old->tid == 0 && old->cycles == 0);
}

int cyclictest_add_thread(struct cyclictest_run *run, const struct cyclictest_thread *t)
{
	if (run->nr == run->size) {
		size_t size = run->size ? run->size * 2 : 2;
		struct cyclictest_thread *p = reallocarray(run->threads, size, sizeof(*p));

		if (!p)
			return -ENOMEM;
		run->threads = p;
		run->size = size;
	}
	run->threads[run->nr++] = *t;
	return 0;
}

/* The run that @t belongs to is open afterwards; *ret_old is the state that it replaces. */
static int place(struct import_feed *f, const struct cyclictest_thread *t,
		 struct cyclictest_thread **ret_old)
{
	struct cyclictest_run *run = f->run ? import_run_open(f)->data : NULL;
	struct cyclictest_thread *old = run ? find_thread(run, t->t) : NULL;
	int r;

	*ret_old = NULL;
	if (old && is_redraw(f, old, t)) {
		*ret_old = old;
		return 0;
	}
	/* a remark between the threads of one run does not end it, a new command does */
	if (run && !old && (!run->nr || run->threads[run->nr - 1].t < t->t) && !*f->command)
		return 0;
	r = import_open_run(f, t->line);
	if (r < 0)
		return r;
	cyclictest_take_command(f->run->data, f->command);
	f->mode = 0;
	f->greedy = false;
	return 0;
}

/* -v: one sample. */
static int sample_row(struct import_feed *f, const struct import_line *l)
{
	struct import_point p = { .line = l->nr };
	struct cyclictest_run *run;
	int64_t v[3];
	char labels[32];
	int r = 0;

	scan_sample(l->s, v);
	if (v[0] < 0 || v[0] > 99999 || v[1] < 0)
		return import_bad(f, "a sample of a thread or a cycle that cannot be");
	if (v[2] < 0)
		return import_bad(f, "a negative latency: the clock was set");
	if (!f->run)
		r = import_open_run(f, l->nr);
	if (r < 0)
		return r;
	run = f->run->data;
	if (run->verbose_rows++ == 0)
		cyclictest_take_command(run, f->command);
	snprintf(labels, sizeof(labels), "thread=%d", (int)v[0]);
	p.t_ns = v[1]; /* the cycle, until finish() knows the interval */
	p.v = (double)v[2];
	return import_point_add(f->run, "latency", "ns", labels, &p);
}

static int cyclictest_row(struct import_feed *f, const struct import_line *l,
			  const struct import_line *next)
{
	struct cyclictest_thread t = {}, *old;
	int took, r;

	if (!find_row(l->s))
		return cyclictest_is_hist(f, l->s) ? cyclictest_hist_row(f, l) : sample_row(f, l);
	took = read_row(f, l->s, next->s, &t);
	if (took < 0)
		return took;
	if (t.t < 0 || t.tid < 0 || t.prio < 0 || t.interval_us < 0 || t.cycles < 0)
		return import_bad(f, "a negative number where none can be");
	if (t.min < 0 || t.avg < 0 || t.max < 0)
		return import_bad(f, "a negative latency: the counter has overflowed or the clock "
				     "was set");
	t.line = l->nr;
	r = place(f, &t, &old);
	if (r < 0)
		return r;
	if (old)
		*old = t;
	else
		r = cyclictest_add_thread(import_run_open(f)->data, &t);
	if (r == 0 && find_row(find_row(l->s) + 2))
		import_remark(f, l->nr,
			      "several T: rows stand beside each other: only the first is used");
	return r < 0 ? r : took;
}

static void cyclictest_release(void *data)
{
	struct cyclictest_run *run = data;

	free(run->threads);
	free(run->columns);
	*run = (struct cyclictest_run){};
}

static const char *const cyclictest_marks[] = {
	"T:",	     "Spike:",		"# Histogram", "# Total:",   "# Min Latencies:",
	"# Max Lat", "# Avg Latencies", "# Thread ",   "policy:",    "dma_latency",
	"CPUs = ",   "WARN: ",		"INFO: ",      "Interval: ", "spikes = ",
	"00000",     "# SMIs:",		NULL
};

const struct import_ops import_ops_cyclictest = {
	.name = "cyclictest",
	.marks = cyclictest_marks,
	.data_size = sizeof(struct cyclictest_run),
	.sniff = cyclictest_sniff,
	.chatter = cyclictest_chatter,
	.row = cyclictest_row,
	.json_sniff = cyclictest_json_sniff,
	.json_doc = cyclictest_json_doc,
	.finish = cyclictest_finish,
	.release = cyclictest_release,
};
