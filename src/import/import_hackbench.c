// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "import/words.h"

/*
 * Running in process mode with 2 groups using 40 file descriptors each (== 80 tasks)
 * Each sender will pass 100 messages of 100 bytes
 * Time: 0.104
 *
 * of rt-tests; older ones: "Running with 10*40 (== 400) tasks.", without the second line.  People
 * often paste the last line alone, behind the command or under a heading that names hackbench.
 */

struct hackbench_state {
	bool announced; /* "Running ..." has been seen and its time has not */
	struct scan_number tasks, messages, bytes;
	bool has_tasks, has_load;
};

/* "Time: 0.104" and nothing else. */
static bool is_time(const char *line, struct scan_number *ret)
{
	return scan_text(&line, "Time: ") && scan_number(&line, ret) && !*line;
}

/* Other programs print a time too: it needs words that are hackbench's alone before it. */
static bool is_expected(const struct import_feed *f)
{
	const struct hackbench_state *s = f->state;

	if (s->announced || *f->command || scan_find(f->heading, "hackbench"))
		return true;
	return f->run && !f->text_between; /* it was called several times */
}

static bool is_announcement(const char *line)
{
	return strncmp(line, "Running ", 8) == 0 &&
	       (scan_find(line, " groups using ") || scan_find(line, " (== "));
}

/* "each (== 400 tasks)", "400 tasks)", "tasks)": the end of the announcement, where a mailer has
 * broken it; *ret is left when the number stands before. */
static bool read_rest(const char *line, struct scan_number *ret, bool *ret_has)
{
	const char *p = scan_find(line, "tasks)");

	if (!p || p[strlen("tasks)")])
		return false;
	if (word_after(line, "(== ", ret)) {
		*ret_has = true;
		return true;
	}
	p = line;
	if (scan_number(&p, ret))
		*ret_has = true;
	return scan_text(&p, " tasks)") || strcmp(line, "tasks)") == 0;
}

static bool is_load(const char *line)
{
	return strncmp(line, "Each sender will pass ", 22) == 0;
}

static enum import_kind hackbench_sniff(const struct import_feed *f, const struct import_line *raw)
{
	const struct import_line bare = line_bare(raw, true), *l = &bare;
	const struct hackbench_state *s = f->state;
	struct scan_number v;
	bool has;

	if (is_announcement(l->s) || is_load(l->s) || (s->announced && read_rest(l->s, &v, &has)))
		return IMPORT_CHATTER;
	return is_time(l->s, &v) && is_expected(f) ? IMPORT_ROW : IMPORT_FOREIGN;
}

static void hackbench_chatter(struct import_feed *f, const struct import_line *raw)
{
	const struct import_line bare = line_bare(raw, true), *l = &bare;
	struct hackbench_state *s = f->state;

	if (is_load(l->s)) {
		s->has_load = word_after(l->s, "will pass ", &s->messages) &&
			      word_after(l->s, "messages of ", &s->bytes);
		return;
	}
	if (read_rest(l->s, &s->tasks, &s->has_tasks) && !is_announcement(l->s))
		return;
	*s = (struct hackbench_state){ .announced = true };
	s->has_tasks = word_after(l->s, "(== ", &s->tasks);
}

static int hackbench_row(struct import_feed *f, const struct import_line *raw,
			 const struct import_line *next)
{
	const struct import_line bare = line_bare(raw, true), *l = &bare;
	static const struct cell time = { "time", "ns", "", 1e9, .key = true };
	static const struct cell tasks = { "tasks", "count", "", 1, .exact = true };
	static const struct cell messages = { "messages", "count", "", 1, .exact = true };
	static const struct cell bytes = { "message.size", "byte", "", 1, .exact = true };
	struct hackbench_state *s = f->state;
	struct scan_number v;
	int r;

	(void)next;
	if (!is_time(l->s, &v))
		return import_bad(f, "not a time in seconds");
	r = import_open_run(f, l->nr);
	if (r == 0)
		r = cell_add(f, &time, &v);
	if (r == 0 && s->has_tasks)
		r = cell_add(f, &tasks, &s->tasks);
	if (r == 0 && s->has_load)
		r = cell_add(f, &messages, &s->messages);
	if (r == 0 && s->has_load)
		r = cell_add(f, &bytes, &s->bytes);
	s->announced = false;
	return r;
}

static const char *const hackbench_marks[] = { "Time: ", "Running ", "Each sender will", "tasks)",
					       NULL };

const struct import_ops import_ops_hackbench = {
	.name = "hackbench",
	.marks = hackbench_marks,
	.state_size = sizeof(struct hackbench_state),
	.sniffs_labels = true,
	.sniff = hackbench_sniff,
	.chatter = hackbench_chatter,
	.row = hackbench_row,
};
