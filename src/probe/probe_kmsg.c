// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What the kernel said during the window: /dev/kmsg from its end at start, read at stop.  Known
 * lines become warnings with their meaning, other warnings become notes, the rest is counted.
 */
#include "probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/text.h"
#include "plan/instance.h"
#include "probe/emit.h"
#include "probe/kmsg.h"

/* One read() gives one record of at most this (CONSOLE_EXT_LOG_MAX and PRINTKRB_RECORD_MAX). */
#define RECORD_SIZE 8192
/* A kernel that says more than this in one window has other problems than ours. */
#define TEXT_MAX ((size_t)16 << 20)
/* So many lines are shown one by one: of each known kind, and of the unknown ones. */
#define SHOW_KNOWN 5
#define SHOW_UNKNOWN 20

#define REMEDY "needs root, CAP_SYSLOG or sysctl kernel.dmesg_restrict=0"

struct probe {
	char *name;
	int fd;
	struct buf text; /* records as read */
	uint64_t begin_ns, end_ns;
	uint64_t overruns; /* reads that found their record overwritten */
	bool full;	   /* TEXT_MAX was reached */
};

static const struct opt options[] = { {} };

static const struct metric_desc metrics[] = {
	{ "lines", "count", BETTER_NONE, "lines in the kernel's log during the window" },
	{ "warnings", "count", BETTER_NONE, "those that are known to spoil a measurement" },
	{ "lost", "count", BETTER_NONE, "lines overwritten before they could be read" },
	{},
};

static int open_kmsg(const struct host *host, struct err *e)
{
	int fd = openat(host->dev_fd, "kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 && (errno == EPERM || errno == EACCES))
		return err_sys(e, "open /dev/kmsg (" REMEDY ")");
	return fd < 0 ? err_sys(e, "open /dev/kmsg") : fd;
}

static int kmsg_usable(const struct host *host, struct err *why)
{
	_cleanup_(close_fdp) int fd = open_kmsg(host, why);

	return fd < 0 ? fd : 0;
}

static void kmsg_close(struct probe *p)
{
	if (!p)
		return;
	close_fdp(&p->fd);
	buf_release(&p->text);
	free(p->name);
	free(p);
}

static void kmsg_closep(struct probe **p)
{
	kmsg_close(*p);
}

static int kmsg_open(struct probe **ret, const struct probe_env *env, const struct instance *inst,
		     struct err *e)
{
	_cleanup_(kmsg_closep) struct probe *p = calloc(1, sizeof(*p));
	char none;
	int r;

	if (!p)
		return err_nomem(e, inst->name);
	p->fd = -1;
	p->name = strdup(inst->name);
	if (!p->name)
		return err_nomem(e, inst->name);
	r = instance_parse(inst, options, &none, e);
	if (r >= 0)
		r = p->fd = open_kmsg(env->host, e);
	if (r < 0)
		return r;
	*ret = take_ptr(p);
	return 0;
}

static int kmsg_start(struct probe *p, uint64_t now_ns, struct err *e)
{
	p->begin_ns = now_ns;
	if (lseek(p->fd, 0, SEEK_END) < 0)
		return err_sys(e, "probe %s: go to the end of /dev/kmsg", p->name);
	return 0;
}

/* 1: there may be more, 0: the end, negative: failed. */
static int read_record(struct probe *p, struct err *e)
{
	ssize_t n;

	if (p->text.len >= TEXT_MAX) {
		p->full = true;
		return 0;
	}
	if (buf_reserve(&p->text, RECORD_SIZE) < 0)
		return err_nomem(e, "kernel lines");
	n = read(p->fd, p->text.data + p->text.len, RECORD_SIZE);
	if (n > 0) {
		p->text.len += (size_t)n;
		p->text.data[p->text.len] = '\0';
		return 1;
	}
	if (n == 0 || errno == EAGAIN)
		return 0;
	if (errno == EPIPE)
		p->overruns++;
	else if (errno != EINTR)
		return err_sys(e, "read /dev/kmsg");
	return 1;
}

static int kmsg_stop(struct probe *p, uint64_t now_ns, struct err *e)
{
	int r;

	p->end_ns = now_ns;
	do {
		r = read_record(p, e);
	} while (r > 0);
	return r;
}

/* What is counted while the records are gone through. */
struct tally {
	uint64_t *known; /* lines of each known kind */
	uint64_t lines, warnings, unknown, lost, bad;
	uint64_t next_seq; /* expected; 0: not known yet */
};

/*
 * The kernel stamps lines by its scheduler clock, which drifts from CLOCK_MONOTONIC by some parts
 * per million since boot: the time is approximate, but the line was written within the window.
 */
static int64_t when(const struct probe *p, const struct kmsg_record *rec)
{
	int64_t t = (int64_t)(rec->t_us * NS_PER_US - p->begin_ns);
	int64_t length = (int64_t)(p->end_ns - p->begin_ns);

	if (t < 0)
		return 0;
	return t < length ? t : length;
}

static void say_known(struct emit *m, struct tally *t, const struct kmsg_known *known,
		      const char *line, int64_t t_ns)
{
	_cleanup_(buf_release) struct buf text = {};

	t->warnings++;
	if (++t->known[kmsg_index(known)] > SHOW_KNOWN)
		return;
	text_printable(&text, line, strlen(line));
	buf_puts(&text, ": ");
	if (kmsg_explain(known, line, &text) < 0 || text.failed) {
		m->r = err_nomem(m->e, "kernel line");
		return;
	}
	emit_event(m, SEVERITY_WARN, t_ns, "kernel: %s", buf_str(&text));
}

static void say_unknown(struct emit *m, struct tally *t, const char *line, int64_t t_ns)
{
	_cleanup_(buf_release) struct buf text = {};

	if (++t->unknown > SHOW_UNKNOWN)
		return;
	if (text_printable(&text, line, strlen(line)) < 0) {
		m->r = err_nomem(m->e, "kernel line");
		return;
	}
	emit_event(m, SEVERITY_NOTE, t_ns, "kernel: %s", buf_str(&text));
}

static void report_record(struct emit *m, const struct probe *p, struct tally *t,
			  const struct kmsg_record *rec)
{
	_cleanup_(freep) char *line = strndup(rec->text, rec->len);
	const struct kmsg_known *known;

	if (!line) {
		m->r = err_nomem(m->e, "kernel line");
		return;
	}
	t->lines++;
	if (t->next_seq && rec->seq > t->next_seq)
		t->lost += rec->seq - t->next_seq;
	t->next_seq = rec->seq + 1;
	/* what a process wrote into the log is not the kernel's word */
	if (rec->facility != KMSG_KERN)
		return;
	known = kmsg_find(line);
	if (known)
		say_known(m, t, known, line, when(p, rec));
	else if (rec->level <= KMSG_WARNING)
		say_unknown(m, t, line, when(p, rec));
}

static void report_records(struct emit *m, const struct probe *p, struct tally *t)
{
	const char *at = buf_str(&p->text), *end = at + p->text.len;

	while (at < end && m->r >= 0) {
		struct kmsg_record rec = {};
		long n = kmsg_parse(at, (size_t)(end - at), &rec);
		const char *nl = memchr(at, '\n', (size_t)(end - at));

		if (n > 0) {
			report_record(m, p, t, &rec);
			at += n;
			continue;
		}
		t->bad++;
		at = n < 0 && nl ? nl + 1 : end;
	}
}

static void say_rest(struct emit *m, const struct probe *p, const struct tally *t)
{
	int64_t end = (int64_t)(p->end_ns - p->begin_ns);
	uint64_t hidden = 0;

	for (size_t i = 0; i < kmsg_nr_known(); i++)
		hidden += t->known[i] > SHOW_KNOWN ? t->known[i] - SHOW_KNOWN : 0;
	if (hidden)
		emit_event(m, SEVERITY_WARN, end, "kernel: %" PRIu64 " more lines like those shown",
			   hidden);
	if (t->unknown > SHOW_UNKNOWN)
		emit_event(m, SEVERITY_NOTE, end,
			   "kernel: %" PRIu64 " more lines of warning level are not shown",
			   t->unknown - SHOW_UNKNOWN);
	if (t->lost || p->overruns || p->full)
		emit_event(m, SEVERITY_WARN, end, "kernel: %s%" PRIu64 " lines were lost%s",
			   p->overruns ? "at least " : "",
			   t->lost > p->overruns ? t->lost : p->overruns,
			   p->full ? " and reading stopped at 16 MB: the kernel says too much"
				   : ": its log is too small (boot with log_buf_len=4M)");
	if (t->bad)
		emit_event(m, SEVERITY_NOTE, end,
			   "kernel: %" PRIu64 " lines of /dev/kmsg were not understood", t->bad);
}

static int kmsg_drain(struct probe *p, struct sample_sink *out, struct err *e)
{
	struct emit m = { .out = out, .instance = p->name, .e = e };
	_cleanup_(freep) uint64_t *known = calloc(kmsg_nr_known(), sizeof(*known));
	struct tally t = { .known = known };

	if (!known)
		return err_nomem(e, "kernel lines");
	report_records(&m, p, &t);
	say_rest(&m, p, &t);
	emit_scalar(&m, "lines", "count", "", (double)t.lines);
	emit_scalar(&m, "warnings", "count", "", (double)t.warnings);
	emit_scalar(&m, "lost", "count", "", (double)(t.lost > p->overruns ? t.lost : p->overruns));
	return m.r;
}

const struct probe_ops probe_kmsg = {
	.plugin = { .name = "kmsg",
		    .help = "what the kernel said during the window",
		    .options = options,
		    .metrics = metrics },
	.usable = kmsg_usable,
	.open = kmsg_open,
	.start = kmsg_start,
	.stop = kmsg_stop,
	.drain = kmsg_drain,
	.close = kmsg_close,
};
