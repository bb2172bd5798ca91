// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "import/words.h"

/*
 * Linux 6.18.44 (vm) 	11/30/26 	_x86_64_	(2 CPU)
 *
 * 22:34:22     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal ...	mpstat
 * 22:34:23     all    0.00    0.00    0.00    0.00    0.00    0.00    0.00 ...
 * 22:34:35        IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s ...			sar -n DEV
 * Average:        all    0.00 ...
 *
 * Each heading says what its columns are until the next one comes; a time may be followed by AM or
 * PM, and the point of numbers may be a comma.  Rows of a time become series, the rows of
 * "Average:" figures.  kB are of 2^10.
 */

#define HEADING_MAX 65536 /* bytes: thousands of interrupts have a column each */

enum key_kind {
	KEY_NONE,
	KEY_CPU,
	KEY_NODE,
	KEY_IFACE,
	KEY_DEV,
	KEY_INTR,
};

/* The table whose rows come. */
struct table {
	bool open;
	enum key_kind key;
	int64_t time_s; /* of the heading, of day; -1: Average */
	bool zone;	/* a time zone stands behind the times */
};

struct sysstat_state {
	struct table table;
	/* the heading's columns behind the key, as they stand: the state is freed as it is */
	char heading[HEADING_MAX];
	size_t heading_line;
	bool fresh; /* "Linux ..." has come: the next row begins a run */
};

struct sysstat_data {
	bool has_average;
	int64_t first_s, last_s; /* time of day, days added; -1: none */
	int64_t before_s;	 /* the row's time before @last_s */
	bool boot;		 /* a row of the time of its heading: means since boot */
};

/* " IST" behind a time: capitals that are no key of a table, and another word after them. */
static void skip_zone(const char **p)
{
	static const char *const words[] = { "CPU", "NODE", "IFACE", "DEV", "INTR", "TTY", "BUS" };
	const char *s = *p;
	struct word w;

	if (!word_next(&s, &w) || w.len < 3 || w.len > 5 || *s != ' ')
		return;
	for (size_t i = 0; i < w.len; i++)
		if (w.s[i] < 'A' || w.s[i] > 'Z')
			return;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (word_is(w, words[i]))
			return;
	*p = s;
}

/* "22:34:22", "10:34:22 PM": seconds of the day, or false. "Average:" is -1. */
static bool read_time(const char **p, int64_t *ret)
{
	const char *s = *p;
	int64_t h, m, sec;

	if (scan_text(&s, "Average:") || scan_text(&s, "Summary:")) {
		*ret = -1;
		*p = s;
		return *s == ' ';
	}
	if (!isdigit((unsigned char)*s) || !scan_int(&s, 2, &h) || !scan_text(&s, ":") ||
	    !scan_int(&s, 2, &m) || !scan_text(&s, ":") || !scan_int(&s, 2, &sec))
		return false;
	if (*s != ' ' || h > 23 || m > 59 || sec > 60 || m < 0 || sec < 0)
		return false;
	if (scan_text(&s, " AM"))
		h = h == 12 ? 0 : h;
	else if (scan_text(&s, " PM"))
		h = h == 12 ? 12 : h + 12;
	*ret = h * 3600 + m * 60 + sec;
	*p = s;
	return h < 24;
}

static bool is_banner(const char *line)
{
	return strncmp(line, "Linux ", 6) == 0 && scan_find(line, " CPU)") && scan_find(line, "(");
}

static enum key_kind key_of(struct word w)
{
	static const struct {
		const char *name;
		enum key_kind kind;
	} kinds[] = { { "CPU", KEY_CPU },
		      { "NODE", KEY_NODE },
		      { "IFACE", KEY_IFACE },
		      { "DEV", KEY_DEV },
		      { "INTR", KEY_INTR } };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (word_is(w, kinds[i].name))
			return kinds[i].kind;
	return KEY_NONE;
}

/* A column's name: "%usr", "rxpck/s", "ldavg-1", "kbmemfree", "all" of INTR. */
static bool is_column(struct word w)
{
	bool rate = w.len > 2 && memcmp(w.s + w.len - 2, "/s", 2) == 0;

	if (rate || (w.len > 1 && w.s[0] == '%'))
		return true;
	return isalpha((unsigned char)w.s[0]) &&
	       (memchr(w.s, '-', w.len) || strncmp(w.s, "kb", 2) == 0 || word_is(w, "blocked") ||
		word_is(w, "all"));
}

/* *ret_columns: behind the key. */
static bool is_heading(const char *line, struct table *ret, const char **ret_columns)
{
	const char *p = line, *behind_time;
	struct table t = { .open = true };
	struct word w;
	size_t n = 0;

	if (!read_time(&p, &t.time_s))
		return false;
	behind_time = p;
	skip_zone(&p);
	t.zone = p != behind_time;
	scan_space(&p);
	*ret_columns = p;
	if (!word_next(&p, &w))
		return false;
	t.key = key_of(w);
	if (t.key != KEY_NONE) {
		scan_space(&p);
		*ret_columns = p;
	} else {
		p = *ret_columns;
	}
	for (; word_next(&p, &w); n++)
		if (!is_column(w) && !(n > 0 && isalpha((unsigned char)*w.s)))
			return false;
	*ret = t;
	return n > 0;
}

/* "intr/s", "24/s", "NMI/s", "NET_RX/s"; but "total/s" is sar's of the softnet. */
static bool is_interrupt(const char *column)
{
	return isdigit((unsigned char)*column) || isupper((unsigned char)*column) ||
	       strncmp(column, "intr", 4) == 0;
}

/* mpstat says %soft before %steal, and counts interrupts per CPU; the rest is sar's. */
static bool is_mpstat(const struct table *t, const char *columns)
{
	const char *soft = scan_find(columns, "%soft"), *steal = scan_find(columns, "%steal");

	if (t->key == KEY_NODE)
		return true;
	if (t->key != KEY_CPU)
		return false;
	if (scan_find(columns, "%user"))
		return false;
	if (soft)
		return !steal || soft < steal;
	return is_interrupt(columns);
}

/* "0,50" as well as "0.50". */
static bool read_number(struct word w, struct scan_number *ret)
{
	char text[32];
	char *comma;

	if (word_number(w, "", ret))
		return true;
	if (w.len >= sizeof(text))
		return false;
	memcpy(text, w.s, w.len);
	text[w.len] = '\0';
	comma = strchr(text, ',');
	if (!comma)
		return false;
	*comma = '.';
	return word_number((struct word){ text, w.len }, "", ret);
}

/* The rest of a heading that a mailer has broken: columns and nothing else. */
static bool is_heading_rest(const struct sysstat_state *s, const struct import_line *l)
{
	const char *p = l->s;
	struct word w;

	if (!s->table.open || l->nr != s->heading_line + 1 || !l->len)
		return false;
	while (word_next(&p, &w))
		if (!is_column(w))
			return false;
	return strlen(s->heading) + l->len + 2 < HEADING_MAX;
}

/* Names behind a time where a table is open: another table begins, whose columns nobody knows. */
static bool is_unknown_heading(const struct sysstat_state *s, const char *p)
{
	struct word w;
	size_t n = 0;

	for (; word_next(&p, &w); n++)
		if (!isalpha((unsigned char)*w.s) && *w.s != '%')
			return false;
	return s->table.open && n > 1;
}

static enum import_kind sniff(const struct import_feed *f, const struct import_line *l, bool mpstat)
{
	const char *line = l->s;
	const struct sysstat_state *s = f->state;
	const char *p = line, *columns;
	struct scan_number v;
	struct table t;
	int64_t time;

	if (is_banner(line) || is_heading_rest(s, l))
		return IMPORT_CHATTER;
	if (is_heading(line, &t, &columns))
		return is_mpstat(&t, columns) == mpstat || s->table.open ? IMPORT_CHATTER
									 : IMPORT_FOREIGN;
	if (scan_find(line, "LINUX RESTART"))
		return IMPORT_CHATTER;
	if (!s->table.open || !read_time(&p, &time))
		return IMPORT_FOREIGN;
	if (is_unknown_heading(s, p))
		return IMPORT_CHATTER;
	/* other logs have a time in front too: a row ends in a number, or goes on in the next line
	 */
	return read_number(word_last(p), &v) ? IMPORT_ROW : IMPORT_FOREIGN;
}

static void chatter(struct import_feed *f, const struct import_line *l, bool mpstat)
{
	const char *line = l->s;
	struct sysstat_state *s = f->state;
	const char *columns;
	struct table t;

	if (is_banner(line) || scan_find(line, "LINUX RESTART")) {
		s->table.open = false;
		s->fresh = true;
		f->greedy = false;
		return;
	}
	if (is_heading_rest(s, l)) {
		size_t n = strlen(s->heading);

		snprintf(s->heading + n, HEADING_MAX - n, " %s", line);
		s->heading_line = l->nr;
		return;
	}
	if (!is_heading(line, &t, &columns)) {
		const char *p = line;
		int64_t time;

		if (f->run && read_time(&p, &time) && time >= 0)
			import_remark(f, l->nr,
				      "the table of these columns is not known and not read:%s", p);
		s->table.open = false;
		f->greedy = false;
		return;
	}
	s->table.open = false;
	f->greedy = false;
	/* the other program's, or more of it than there is room for */
	if (is_mpstat(&t, columns) != mpstat || strlen(columns) >= HEADING_MAX)
		return;
	s->table = t;
	s->heading_line = l->nr;
	memcpy(s->heading, columns, strlen(columns) + 1);
	f->greedy = true;
}

/* What one cell of the table is. */
struct column {
	char metric[64], labels[96];
	const char *unit;
	double factor;
	bool percent;
};

/* As metrics are written: small letters, digits and hyphens. */
static char metric_char(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c | 0x20);
	if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
		return c;
	return '-';
}

static void put_metric(struct column *c, const char *prefix, struct word name)
{
	size_t n = (size_t)snprintf(c->metric, sizeof(c->metric), "%s", prefix);

	for (size_t i = 0; i < name.len && n + 1 < sizeof(c->metric); i++)
		c->metric[n++] = metric_char(name.s[i]);
	c->metric[n] = '\0';
}

/* A CPU's interrupts: "intr/s" all, "24/s" one of them, "NET_RX/s" a softirq. */
static void put_interrupt(struct column *c, struct word name, const char *cpu)
{
	static const char *const softirqs[] = { "HI",	    "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
						"IRQ_POLL", "TASKLET", "SCHED",	 "HRTIMER", "RCU" };
	char id[32];

	word_label(id, sizeof(id), name);
	c->unit = "1/s";
	snprintf(c->metric, sizeof(c->metric), "interrupts");
	if (strcmp(id, "intr") == 0) {
		snprintf(c->labels, sizeof(c->labels), "%s%s", *cpu ? "cpu=" : "", cpu);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(softirqs); i++) {
		if (strcmp(id, softirqs[i]) != 0)
			continue;
		snprintf(c->metric, sizeof(c->metric), "softirqs");
		snprintf(c->labels, sizeof(c->labels), "%s%s%svec=%s", *cpu ? "cpu=" : "", cpu,
			 *cpu ? "," : "", id);
		return;
	}
	snprintf(c->labels, sizeof(c->labels), "%s%s%sirq=%s", *cpu ? "cpu=" : "", cpu,
		 *cpu ? "," : "", id);
}

/* "cpu=0" of the column "CPU0", "" of the others. */
static void put_cpu(char *to, size_t size, struct word column)
{
	if (column.len > 3 && column.len < 12 && memcmp(column.s, "CPU", 3) == 0)
		snprintf(to, size, "cpu=%.*s", (int)column.len - 3, column.s + 3);
}

/* Interrupts of source @id, "sum" for all, on the column's CPU. */
static void put_source(struct column *c, struct word column, const char *id)
{
	size_t n;

	c->unit = "1/s";
	snprintf(c->metric, sizeof(c->metric), "interrupts");
	put_cpu(c->labels, sizeof(c->labels), column);
	n = strlen(c->labels);
	if (strcmp(id, "sum") != 0)
		snprintf(c->labels + n, sizeof(c->labels) - n, "%sirq=%s", n ? "," : "", id);
}

/* The column called @name in a row whose key is @key. */
static void describe(struct column *ret, const struct table *t, struct word name, struct word key)
{
	static const char *const prefixes[] = {
		[KEY_NONE] = "system.", [KEY_CPU] = "cpu.",  [KEY_NODE] = "cpu.",
		[KEY_IFACE] = "net.",	[KEY_DEV] = "disk.", [KEY_INTR] = "interrupts."
	};
	static const char *const labels[] = {
		[KEY_NONE] = "",     [KEY_CPU] = "cpu", [KEY_NODE] = "node",
		[KEY_IFACE] = "dev", [KEY_DEV] = "dev", [KEY_INTR] = "irq"
	};
	bool rate = name.len > 2 && memcmp(name.s + name.len - 2, "/s", 2) == 0;
	char id[48];

	*ret = (struct column){ .unit = "count", .factor = 1 };
	word_label(id, sizeof(id), key);
	if ((t->key == KEY_CPU || t->key == KEY_NODE) && strcmp(id, "all") == 0)
		id[0] = '\0';
	name.len -= rate ? 2 : 0;
	if (t->key == KEY_INTR) {
		put_source(ret, name, id);
		return;
	}
	if (t->key == KEY_CPU && rate && is_interrupt(name.s)) {
		put_interrupt(ret, name, id);
		return;
	}
	ret->percent = name.s[0] == '%';
	if (ret->percent) {
		name.s++;
		name.len--;
		ret->unit = "ratio";
		ret->factor = 0.01;
	} else if (rate) {
		bool kib = name.len > 2 && memcmp(name.s + name.len - 2, "kB", 2) == 0;

		ret->unit = kib ? "byte/s" : "1/s";
		ret->factor = kib ? 1024 : 1;
		name.len -= kib ? 2 : 0;
	}
	put_metric(ret, prefixes[t->key], name);
	if (*id && t->key != KEY_NONE)
		snprintf(ret->labels, sizeof(ret->labels), "%s=%s", labels[t->key], id);
}

static bool is_key_metric(const struct column *c, const struct table *t)
{
	static const char *const names[] = { "cpu.idle",   "cpu.soft",	"cpu.irq",
					     "interrupts", "net.rxpck", "net.txpck" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(c->metric, names[i]) == 0)
			return t->key == KEY_IFACE || !*c->labels;
	return false;
}

/* The interval that ends at @time; the heading's time is where the first one begins. */
static void place(struct sysstat_data *d, const struct table *t, int64_t time)
{
	const int64_t day = 86400;
	int64_t at = time, from = t->time_s;

	if (d->first_s < 0) {
		d->first_s = from >= 0 && from <= at ? from : at;
		d->before_s = d->first_s;
		d->last_s = at;
		d->boot = at == d->first_s;
		return;
	}
	/* past midnight */
	if (d->last_s - at > day / 2)
		at += (d->last_s - at + day / 2) / day * day;
	if (at != d->last_s) {
		d->before_s = d->last_s;
		d->last_s = at;
		d->boot = false;
	}
}

/* One cell: of the average a figure, else a point. */
static int add_cell(struct import_feed *f, const struct column *c, const struct scan_number *v,
		    size_t line)
{
	const struct sysstat_state *s = f->state;
	const struct sysstat_data *d = f->run->data;
	const struct cell cell = { c->metric, c->unit, c->labels, c->factor,
				   .key = is_key_metric(c, &s->table) };
	struct import_point p = { .t_ns = (d->before_s - d->first_s) * INT64_C(1000000000),
				  .v = v->value * c->factor,
				  .half = v->half * c->factor,
				  .line = line };

	if (d->has_average || d->boot)
		return cell_add(f, &cell, v);
	if (d->last_s > d->before_s)
		p.length_ns = (uint64_t)(d->last_s - d->before_s) * 1000000000U;
	return import_point_add(f->run, c->metric, c->unit, c->labels, &p);
}

/* Does every cell fit its column?  Nothing is added else. */
static int check_row(struct import_feed *f, const char *p)
{
	const struct sysstat_state *s = f->state;
	const char *h = s->heading;
	struct word name, cell;
	struct scan_number v;

	while (word_next(&h, &name)) {
		if (!word_next(&p, &cell))
			return import_bad(f, "fewer numbers than the heading has columns");
		if (!read_number(cell, &v))
			return import_bad(f, "a cell that is no number");
		if (s->table.key == KEY_CPU && name.s[0] == '%' && v.value > 100.5)
			return import_bad(f, "a share beyond 100 %");
	}
	return word_next(&p, &cell) ? import_bad(f, "more numbers than the heading has columns")
				    : 0;
}

static int add_row(struct import_feed *f, const char *p, struct word key, size_t line)
{
	const struct sysstat_state *s = f->state;
	const char *h = s->heading;
	struct word name, cell;
	int r = 0;

	while (r == 0 && word_next(&h, &name) && word_next(&p, &cell)) {
		struct scan_number v;
		struct column c;

		if (!read_number(cell, &v))
			break;
		describe(&c, &s->table, name, key);
		r = add_cell(f, &c, &v, line);
	}
	return r;
}

static int open_if_new(struct import_feed *f, size_t nr, int64_t time)
{
	struct sysstat_state *s = f->state;
	const struct sysstat_data *d = f->run ? f->run->data : NULL;
	int r;

	/* behind its averages a row of another time is another run's */
	if (d && !s->fresh && !*f->command && !(d->has_average && time >= 0))
		return 0;
	r = import_open_run(f, nr);
	if (r < 0)
		return r;
	s->fresh = false;
	((struct sysstat_data *)f->run->data)->first_s = -1;
	return 0;
}

static int sysstat_row(struct import_feed *f, const struct import_line *raw,
		       const struct import_line *next)
{
	const struct import_line bare = line_bare(raw, false), *l = &bare;
	const struct sysstat_state *s = f->state;
	_cleanup_(buf_release) struct buf joined = {};
	const char *p = l->s;
	struct word key = { "", 0 };
	struct sysstat_data *d;
	int64_t time;
	int r, took = 0;

	if (!s->table.open)
		return import_bad(f, "a row without the heading of its columns");
	if (!read_time(&p, &time))
		return import_bad(f, "a row without its time");
	if (s->table.zone)
		skip_zone(&p);
	if (s->table.key != KEY_NONE && !word_next(&p, &key))
		return import_bad(f, "a row without its key");
	r = check_row(f, p);
	if (r == -EBADMSG && next->len && !isalpha((unsigned char)next->s[0])) {
		const char *reason = f->reason;

		if (buf_printf(&joined, "%s %s", p, next->s) < 0)
			return -ENOMEM;
		r = check_row(f, buf_str(&joined));
		took = r == 0;
		p = r == 0 ? buf_str(&joined) : p;
		f->reason = reason;
	}
	if (r < 0)
		return r;
	r = open_if_new(f, l->nr, time);
	if (r < 0)
		return r;
	d = f->run->data;
	d->has_average = time < 0;
	if (time >= 0)
		place(d, &s->table, time);
	r = add_row(f, p, key, l->nr);
	return r < 0 ? r : took;
}

static int sysstat_finish(struct import_run *run)
{
	const struct sysstat_data *d = run->data;

	if (d->boot)
		return import_note(run, run->line,
				   "the row has its heading's time: it is the mean since boot");
	if (!d->has_average)
		return import_note(
			run, run->last_line,
			"no \"Average:\" row: the program was interrupted, or the rest is "
			"missing");
	return 0;
}

static enum import_kind mpstat_sniff(const struct import_feed *f, const struct import_line *raw)
{
	const struct import_line bare = line_bare(raw, false), *l = &bare;
	return sniff(f, l, true);
}

static void mpstat_chatter(struct import_feed *f, const struct import_line *raw)
{
	const struct import_line bare = line_bare(raw, false), *l = &bare;
	chatter(f, l, true);
}

static enum import_kind sar_sniff(const struct import_feed *f, const struct import_line *raw)
{
	const struct import_line bare = line_bare(raw, false), *l = &bare;
	return sniff(f, l, false);
}

static void sar_chatter(struct import_feed *f, const struct import_line *raw)
{
	const struct import_line bare = line_bare(raw, false), *l = &bare;
	chatter(f, l, false);
}

static const char *const sysstat_marks[] = {
	"Linux ", " CPU ", "/s", " %", "Average:", " ldavg-", "LINUX RESTART", " kb", " INTR ", NULL
};

const struct import_ops import_ops_mpstat = {
	.name = "mpstat",
	.marks = sysstat_marks,
	.data_size = sizeof(struct sysstat_data),
	.state_size = sizeof(struct sysstat_state),
	.sniff = mpstat_sniff,
	.chatter = mpstat_chatter,
	.row = sysstat_row,
	.finish = sysstat_finish,
};

const struct import_ops import_ops_sar = {
	.name = "sar",
	.marks = sysstat_marks,
	.data_size = sizeof(struct sysstat_data),
	.state_size = sizeof(struct sysstat_state),
	.sniff = sar_sniff,
	.chatter = sar_chatter,
	.row = sysstat_row,
	.finish = sysstat_finish,
};
