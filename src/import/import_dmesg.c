// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "import/label.h"
#include "import/words.h"
#include "probe/kmsg.h"

/*
 * [12056.278010] text		dmesg
 * <4>[12056.278010] text	dmesg -r
 * kern :warn : [12056.278010]	dmesg -x
 * [Mon Nov 30 22:11:03 2026]	dmesg -T
 * Nov 30 22:11:03 host kernel: [12056.278010] text
 *
 * A kernel's line or two stand in many a table and are no log: a run begins with the third of lines
 * that follow each other.
 */

#define ENOUGH 3

struct dmesg_state {
	size_t first, last;	     /* numbers of lines that follow each other */
	char early[ENOUGH - 1][256]; /* those that came before it was sure */
};

struct dmesg_data {
	uint64_t lines, warnings;
	uint64_t leveled; /* lines whose level is known */
	double first_s, last_s;
	bool has_time;
	uint64_t known[64]; /* lines, by the row of kmsg's table */
};

/* The text behind time and level; NULL when the line is none of the kernel's. */
static const char *find_text(const char *line, double *ret_s, int *ret_level)
{
	static const char *const levels[] = { "emerg", "alert",	 "crit", "err",
					      "warn",  "notice", "info", "debug" };
	const char *s = label_find_kernel(line), *p = line;
	struct scan_number at;
	int64_t level;

	*ret_level = -1;
	*ret_s = -1;
	if (s) {
		if (scan_text(&p, "<") && scan_int(&p, 3, &level) && level >= 0 && *p == '>')
			*ret_level = (int)(level & 7);
		p = scan_find(line, " :");
		for (int i = 0; i < 8 && p && p < s && *ret_level < 0; i++)
			if (strncmp(p + 2, levels[i], strlen(levels[i])) == 0)
				*ret_level = i;
		p = s + 1;
		scan_space(&p);
		if (scan_number(&p, &at))
			*ret_s = at.value;
		p = strchr(s, ']');
		return p ? p + 1 : NULL;
	}
	/* "[Mon Nov 30 22:11:03 2026] " */
	if (line[0] == '[' && isupper((unsigned char)line[1]) && strlen(line) > 26 &&
	    line[4] == ' ' && line[25] == ']' && line[14] == ':' && line[17] == ':')
		return line + 26;
	s = scan_find(line, " kernel: ");
	return s && isupper((unsigned char)*line) && scan_find(line, ":") < s ? s + 9 : NULL;
}

static enum import_kind dmesg_sniff(const struct import_feed *f, const struct import_line *raw)
{
	const struct import_line bare = line_bare(raw, false), *l = &bare;
	const struct dmesg_state *s = f->state;
	double at;
	int level;

	if (!find_text(l->s, &at, &level))
		return IMPORT_FOREIGN;
	if (l->nr != s->last + 1 || l->nr - s->first + 1 < ENOUGH)
		return f->run && !f->text_between && l->nr == s->last + 1 ? IMPORT_ROW
									  : IMPORT_CHATTER;
	return IMPORT_ROW;
}

static void dmesg_chatter(struct import_feed *f, const struct import_line *raw)
{
	const struct import_line bare = line_bare(raw, false), *l = &bare;
	struct dmesg_state *s = f->state;

	if (l->nr != s->last + 1 || !s->last) {
		s->first = l->nr;
		import_close_run(f);
	}
	s->last = l->nr;
	if (l->nr - s->first < ENOUGH - 1)
		snprintf(s->early[l->nr - s->first], sizeof(s->early[0]), "%s", l->s);
}

static int take_known(struct import_run *run, const char *text, size_t nr)
{
	const struct kmsg_known *known = kmsg_find(text);
	_cleanup_(buf_release) struct buf says = {};
	struct dmesg_data *d = run->data;

	if (!known || kmsg_index(known) >= ARRAY_SIZE(d->known) || d->known[kmsg_index(known)]++)
		return 0;
	if (kmsg_explain(known, text, &says) < 0)
		return -ENOMEM;
	return import_note(run, nr, "%s", buf_str(&says));
}

static int take_line(struct import_run *run, const char *line, size_t nr)
{
	struct dmesg_data *d = run->data;
	double at;
	int level;
	const char *text = find_text(line, &at, &level);

	if (!text)
		return 0;
	d->lines++;
	d->leveled += level >= 0;
	d->warnings += level >= 0 && level <= KMSG_WARNING;
	if (at >= 0) {
		d->first_s = d->has_time ? d->first_s : at;
		d->last_s = at;
		d->has_time = true;
	}
	return take_known(run, text, nr);
}

static int dmesg_row(struct import_feed *f, const struct import_line *raw,
		     const struct import_line *next)
{
	const struct import_line bare = line_bare(raw, false), *l = &bare;
	struct dmesg_state *s = f->state;
	double at;
	int level, r = 0;

	(void)next;
	if (!find_text(l->s, &at, &level))
		return import_bad(f, "not a line of the kernel's log");
	if (!f->run) {
		/* not at the first of them: a run of another tool may have begun since */
		r = import_open_run(f, l->nr);
		for (size_t i = s->first; i < l->nr && i - s->first < ENOUGH - 1 && r == 0; i++)
			r = take_line(f->run, s->early[i - s->first], i);
	}
	if (r < 0)
		return r;
	s->last = l->nr;
	return take_line(f->run, l->s, l->nr);
}

static int dmesg_finish(struct import_run *run)
{
	const struct dmesg_data *d = run->data;
	uint64_t known = 0;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(d->known); i++)
		known += d->known[i];
	r = import_figure_add(run, &(struct import_figure){ "lines", "count", "", (double)d->lines,
							    0, -1, true });
	if (r == 0 && d->leveled)
		r = import_figure_add(run,
				      &(struct import_figure){ "warnings", "count", "",
							       (double)d->warnings, 0, -1, true });
	if (r == 0)
		r = import_figure_add(run, &(struct import_figure){ "known", "count", "",
								    (double)known, 0, -1, true });
	if (r == 0 && d->has_time && d->last_s >= d->first_s)
		r = import_figure_add(run, &(struct import_figure){ "duration", "ns", "",
								    (d->last_s - d->first_s) * 1e9,
								    500, -1, false });
	if (r == 0 && d->has_time && d->last_s < d->first_s)
		r = import_note(run, run->last_line,
				"the times go backwards: logs of several boots");
	return r;
}

static const char *const dmesg_marks[] = { "] ", " kernel: ", NULL };

const struct import_ops import_ops_dmesg = {
	.name = "dmesg",
	.marks = dmesg_marks,
	.data_size = sizeof(struct dmesg_data),
	.state_size = sizeof(struct dmesg_state),
	.sniff = dmesg_sniff,
	.chatter = dmesg_chatter,
	.row = dmesg_row,
	.finish = dmesg_finish,
};
