// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/text.h"
#include "cmd.h"
#include "irq_frame.h"
#include "irq_rows.h"
#include "irq_screen.h"
#include "irq_text.h"

/* On a terminal the first table comes soon: nobody looks at an empty screen. */
#define FIRST_NS (NS_PER_S / 4)
#define MIN_DELAY_NS (10 * NS_PER_MS)
#define MAX_DELAY_NS (24 * 3600 * NS_PER_S)

struct irq_cfg {
	bool batch, json, softirqs, time;
	char *cpu_list, *delay;
	int cpu_stat, sort;
	uint64_t iterations, threshold;
};

static const char *const sorts[] = { [IRQ_SORT_DELTA] = "delta",
				     [IRQ_SORT_TOTAL] = "total",
				     [IRQ_SORT_IRQ] = "irq",
				     [IRQ_SORT_NAME] = "name",
				     NULL };
static const char *const cpu_stats[] = {
	[IRQ_CPU_AUTO] = "auto", [IRQ_CPU_NEVER] = "never", [IRQ_CPU_ALWAYS] = "always", NULL
};

#define AT(member) offsetof(struct irq_cfg, member)
static const struct cmdline_opt options[] = {
	{ { "batch", OPT_BOOL, AT(batch), "", "tables one after another, also on a terminal" },
	  'b' },
	{ { "cpu-stat", OPT_ENUM, AT(cpu_stat), "auto",
	    "columns for each CPU: auto (where they fit), never, always", .choices = cpu_stats },
	  'c' },
	{ { "cpu-list", OPT_CPUS, AT(cpu_list), "", "count on these CPUs alone" }, 'C' },
	{ { "delay", OPT_STRING, AT(delay), "1", "seconds between tables, or a time (250ms)" },
	  'd' },
	{ { "iterations", OPT_UINT, AT(iterations), "0", "end after so many tables; 0: never" },
	  'n' },
	{ { "sort", OPT_ENUM, AT(sort), "delta", "by delta, total, irq or name", .choices = sorts },
	  's' },
	{ { "softirq", OPT_BOOL, AT(softirqs), "", "softirqs instead of interrupts" }, 'S' },
	{ { "threshold", OPT_BPS, AT(threshold), "0", "only rows with a total above it (1.2K)" },
	  't' },
	{ { "time", OPT_BOOL, AT(time), "",
	    "time in handlers, softirqs and polls, by BPF (as root)" },
	  'T' },
	{ { "json", OPT_BOOL, AT(json), "",
	    "a JSON document with -n 1, else one a line (docs/schema/irq-1.json)" },
	  'J' },
	{},
};

/* What goes on while the command runs. */
struct live {
	const struct irq_cfg *cfg;
	struct host host;
	struct irqtime *times; /* NULL: not asked for or not to be had */
	struct cpuset cpus;
	uint64_t delay_ns;
	struct irq_screen screen;
	struct irq_choice choice;
	struct irq_look look;
	struct irq_frame before, after;
};

static void live_release(struct live *l)
{
	irq_screen_close(&l->screen);
	irq_frame_release(&l->before);
	irq_frame_release(&l->after);
	irqtime_close(l->times);
	cpuset_release(&l->cpus);
	host_release(&l->host);
}

/* "2", "0.5": seconds as irqtop's; "250ms". */
static int parse_delay(const char *text, uint64_t *ret, struct err *e)
{
	double seconds = 0;
	uint64_t ns = 0;

	if (text_double(text, &seconds) == 0) {
		/* beyond the range below is out of range however far */
		if (!(seconds >= 0 && seconds <= 1e6))
			seconds = 0;
		ns = (uint64_t)llround(seconds * (double)NS_PER_S);
	} else if (text_ns(text, &ns) < 0) {
		return err_set(e, -EINVAL,
			       "option --delay \"%s\": expected seconds (0.5) or a time (250ms)",
			       text);
	}
	if (ns < MIN_DELAY_NS || ns > MAX_DELAY_NS)
		return err_set(e, -ERANGE, "option --delay \"%s\": expected 10ms to 24h", text);
	*ret = ns;
	return 0;
}

/* Asked for but not to be had: said once; everything else is shown. */
static void open_times(struct live *l)
{
	struct irqtime_opts opts = { .hardirqs = true, .softirqs = true, .napi = true };
	struct err why = {};

	if (!l->cfg->time)
		return;
	if (irqtime_usable(&why) < 0 || irqtime_open(&l->times, &opts, &why) < 0) {
		l->times = NULL;
		fprintf(stderr, "irqlab: irq: no times: %s\n", why.msg);
		return;
	}
	for (const char *const *s = irqtime_lacks(l->times); s && *s; s++)
		fprintf(stderr, "%s%s%s", s == irqtime_lacks(l->times) ? "irqlab: irq: " : "; ", *s,
			s[1] ? "" : "\n");
}

static bool takes_terminal(const struct irq_cfg *cfg)
{
	const char *term = getenv("TERM"); /* NOLINT(concurrency-mt-unsafe) */

	return !cfg->batch && !cfg->json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term &&
	       *term && strcmp(term, "dumb") != 0;
}

static void start_look(struct live *l, bool terminal)
{
	const char *no_color = getenv("NO_COLOR"); /* NOLINT(concurrency-mt-unsafe) */

	l->choice =
		(struct irq_choice){ .cpus = l->cfg->cpu_list && *l->cfg->cpu_list &&
							     strcmp(l->cfg->cpu_list, "all") != 0
						     ? &l->cpus
						     : NULL,
				     .sort = (enum irq_sort)l->cfg->sort,
				     .threshold = l->cfg->threshold };
	l->look = (struct irq_look){ .colour = terminal && !(no_color && *no_color),
				     .softirqs = l->cfg->softirqs,
				     .napis = !l->cfg->softirqs,
				     .cpu_stat = (enum irq_cpu_stat)l->cfg->cpu_stat };
}

/* The width of a terminal; endless where there is none, so that nothing is cut for a program. */
static void measure(struct live *l)
{
	irq_screen_size(&l->look.width, &l->look.height);
	if (!l->screen.on)
		l->look.height = 0;
	else if (l->look.height > 1)
		l->look.height--; /* the last one would scroll */
	l->look.sort = l->choice.sort;
}

static int show(struct live *l, struct err *e)
{
	_cleanup_(irq_table_release) struct irq_table t = {};
	_cleanup_(buf_release) struct buf out = {};
	int r = irq_table_make(&l->before, &l->after, &l->choice, &t, e);

	if (r < 0)
		return r;
	measure(l);
	if (l->cfg->json)
		r = irq_json(&t, l->cfg->iterations == 1, &out);
	else
		r = irq_text(&t, &l->look, &out);
	if (r >= 0 && (l->cfg->json || (!l->screen.on && l->cfg->iterations != 1)))
		r = buf_putc(&out, '\n');
	if (r < 0)
		return err_nomem(e, "table");
	return irq_screen_draw(&l->screen, &out, e);
}

/* irqtop's keys, and those of what it has not. */
static bool take_key(struct live *l, char key)
{
	switch (key) {
	case 'i':
		l->choice.sort = IRQ_SORT_IRQ;
		return true;
	case 't':
		l->choice.sort = IRQ_SORT_TOTAL;
		return true;
	case 'd':
		l->choice.sort = IRQ_SORT_DELTA;
		return true;
	case 'n':
		l->choice.sort = IRQ_SORT_NAME;
		return true;
	case 's':
		l->look.softirqs = !l->look.softirqs;
		return true;
	case 'p':
		l->look.napis = !l->look.napis;
		return true;
	case 'c':
		l->look.cpu_stat = l->look.cpu_stat == IRQ_CPU_ALWAYS ? IRQ_CPU_NEVER
								      : IRQ_CPU_ALWAYS;
		return true;
	default:
		return false;
	}
}

/* Until the deadline: 1; 0 to end; negative. */
static int wait_for(struct live *l, uint64_t deadline_ns, struct err *e)
{
	for (;;) {
		char key = 0;
		int r = 0;

		switch (irq_screen_wait(&l->screen, deadline_ns, &key)) {
		case IRQ_EVENT_TIME:
			return 1;
		case IRQ_EVENT_KEY:
			if (key == 'q' || key == 'Q')
				return 0;
			if (take_key(l, key) && l->before.at_ns)
				r = show(l, e);
			break;
		case IRQ_EVENT_RESIZE:
			if (l->before.at_ns)
				r = show(l, e);
			break;
		case IRQ_EVENT_END:
		default:
			return 0;
		}
		if (r < 0)
			return r;
	}
}

/* One more frame; the one before it is kept to be shown again. */
static int advance(struct live *l, struct err *e)
{
	struct irq_frame next = {};
	int r = irq_frame_read(&l->host, l->times, &next, e);

	if (r < 0)
		return r;
	irq_frame_release(&l->before);
	l->before = l->after;
	l->after = next;
	return show(l, e);
}

static int loop(struct live *l, struct err *e)
{
	uint64_t first = l->screen.on && FIRST_NS < l->delay_ns ? FIRST_NS : l->delay_ns, due;
	int r = irq_frame_read(&l->host, l->times, &l->after, e);

	if (r < 0)
		return r;
	due = l->after.at_ns + first;
	for (uint64_t i = 0; l->cfg->iterations == 0 || i < l->cfg->iterations; i++) {
		r = wait_for(l, due, e);
		if (r <= 0)
			return r;
		r = advance(l, e);
		if (r < 0)
			return r;
		due += l->delay_ns;
		if (due < l->after.at_ns) /* held up: the rhythm begins anew */
			due = l->after.at_ns + l->delay_ns;
	}
	return 0;
}

static int open_live(struct live *l, struct err *e)
{
	bool terminal = takes_terminal(l->cfg);
	int r = host_open(&l->host, e);

	if (r < 0)
		return r;
	open_times(l);
	start_look(l, terminal);
	return irq_screen_open(&l->screen, terminal, e);
}

static int run(const void *config, char **args, int nr_args, struct err *e)
{
	_cleanup_(live_release) struct live l = {
		.cfg = config,
		.host = { .proc_fd = -1,
			  .sys_fd = -1,
			  .dev_fd = -1,
			  .dut = { .netns_fd = -1, .sys_fd = -1 },
			  .far = { .netns_fd = -1, .sys_fd = -1 } },
		.screen = { .signal_fd = -1, .resize_fd = -1 },
	};
	const char *list = l.cfg->cpu_list;
	int r;

	if (parse_delay(l.cfg->delay, &l.delay_ns, e) < 0)
		return EXIT_USAGE;
	if (list && *list && strcmp(list, "all") != 0 && cpuset_parse(list, &l.cpus, e) < 0)
		return EXIT_USAGE;
	/* a reader that has had enough (head) is no failure */
	signal(SIGPIPE, SIG_IGN);
	r = open_live(&l, e);
	if (r >= 0)
		r = loop(&l, e);
	if (r == -EPIPE) {
		*e = (struct err){};
		return EXIT_DONE;
	}
	return r < 0 ? r : EXIT_DONE;
}

const struct command cmd_irq = {
	.name = "irq",
	.help = "interrupts live: rates, owners, threads, where they fire",
	.args = "",
	.options = options,
	.run = run,
	.cfg_size = sizeof(struct irq_cfg),
	.example = "irqlab irq -d 5 -s total",
	.more = "Options are irqtop's. Keys on a terminal: q quit; sort by i irq, t total, d delta,\n"
		"n name; s softirqs or interrupts, p NAPI instances, c columns for each CPU.\n"
		"A netdev with a \"?\" is guessed from names. Without root what may be read is\n"
		"shown, and what not is said.",
};
