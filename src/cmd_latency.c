// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "cmd.h"
#include "file.h"
#include "latency.h"

static void print_state(const struct latency_stored *s)
{
	static const char *const words[] = {
		[LATENCY_SOAK_RUNNING] = "running",
		[LATENCY_SOAK_FINISHED] = "finished",
		[LATENCY_SOAK_KILLED] = "ended without finishing (killed?)",
	};
	uint64_t now = clock_wall_ns(), end = s->view.end_wall_ns;

	printf("# %s\n# %s, pid %" PRId32 ", state %" PRIu64 " of %.0f s ago, after %.0f s\n",
	       s->view.command, words[s->state], s->pid, s->seq,
	       now > end ? (double)(now - end) / (double)NS_PER_S : 0.0,
	       (double)(int64_t)(end - s->view.begin_wall_ns) / (double)NS_PER_S);
}

static int show_stored(const struct latency_args *a, struct err *e)
{
	_cleanup_(latency_stored_release) struct latency_stored s = {};
	_cleanup_(buf_release) struct buf json = {};
	int r = latency_soak_read(a->read, &s, e);

	if (r < 0)
		return r;
	s.view.nsecs |= a->nsecs;
	if (a->json) {
		r = latency_json(&json, &s.view, e);
		if (r >= 0 && a->json_file)
			r = file_write(a->json_file, &json, e);
		else if (r >= 0)
			fputs(buf_str(&json), stdout);
		return r < 0 ? r : EXIT_DONE;
	}
	print_state(&s);
	for (size_t i = 0; i < s.view.nr; i++)
		latency_print_line(stdout, i, &s.view.figures[i], s.view.nsecs);
	r = latency_print_full(stdout, &s.view, e);
	return r < 0 ? r : EXIT_DONE;
}

static int run(const struct latency_args *a, int argc, char **argv, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};

	if (a->help) {
		latency_help(&text);
		fputs(buf_str(&text), stdout);
		return EXIT_DONE;
	}
	if (a->read)
		return show_stored(a, e);
	buf_puts(&text, "irqlab");
	for (int i = 0; i < argc; i++)
		buf_printf(&text, " %s", argv[i]);
	if (text.failed)
		return err_nomem(e, "command line");
	return latency_run(a, buf_str(&text), e);
}

static int latency_raw(int argc, char **argv, struct err *e)
{
	struct latency_args a;
	int r = latency_args_parse(&a, argc, argv, e);

	r = r < 0 ? EXIT_USAGE : run(&a, argc, argv, e);
	latency_args_release(&a);
	if (r == -EPERM)
		return EXIT_CANNOT;
	return r;
}

const struct command cmd_latency = {
	.name = "latency",
	.help = "how late threads wake, with cyclictest's options and output",
	.args = "",
	.raw = latency_raw,
	.raw_help = latency_help,
	.example = "irqlab latency -m -S -p98 -q -D10m -i250 -d0",
};
