// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "latency.h"
#include "probe/wakeup_lanes.h"

#define LONG_BASE 256	 /* getopt values: LONG_BASE + row */
#define MAX_ROWS 1000000 /* cyclictest's own bound */

enum value {
	VALUE_NONE,
	VALUE_NEEDED,
	VALUE_LIST,   /* may be missing; the next word is it when it looks like a CPU list */
	VALUE_NUMBER, /* may be missing; the next word is it when it is a number */
	VALUE_WORD,   /* may be missing; the next word is it unless it is an option */
};

struct row {
	const char *name;
	char letter; /* 0: only --name */
	enum value value;
	int (*take)(struct latency_args *a, const struct row *row, const char *text, struct err *e);
	size_t offset;
	uint64_t min, max;
	const char *arg;  /* in the help */
	const char *help; /* or, with refuse(), the remedy */
};

static int take_flag(struct latency_args *a, const struct row *row, const char *text, struct err *e)
{
	*(bool *)((char *)a + row->offset) = true;
	return 0;
}

static int take_ignored(struct latency_args *a, const struct row *row, const char *text,
			struct err *e)
{
	return 0;
}

static int take_refused(struct latency_args *a, const struct row *row, const char *text,
			struct err *e)
{
	return err_set(e, -EINVAL, "option --%s: %s", row->name, row->help);
}

static int take_number(struct latency_args *a, const struct row *row, const char *text,
		       struct err *e)
{
	uint64_t v = 0;

	if (text_u64(text, &v) < 0 || v < row->min || v > row->max)
		return err_set(e, -EINVAL,
			       "option --%s \"%s\": expected a whole number from %llu to %llu",
			       row->name, text, (unsigned long long)row->min,
			       (unsigned long long)row->max);
	*(uint64_t *)((char *)a + row->offset) = v;
	return 0;
}

static int take_string(struct latency_args *a, const struct row *row, const char *text,
		       struct err *e)
{
	*(const char **)((char *)a + row->offset) = text;
	return 0;
}

static int take_affinity(struct latency_args *a, const struct row *row, const char *text,
			 struct err *e)
{
	a->affinity = text ? text : "all";
	return 0;
}

static int take_threads(struct latency_args *a, const struct row *row, const char *text,
			struct err *e)
{
	a->has_threads = true;
	a->all_threads = !text;
	return text ? take_number(a, row, text, e) : 0;
}

static int take_distance(struct latency_args *a, const struct row *row, const char *text,
			 struct err *e)
{
	a->has_distance = true;
	return take_number(a, row, text, e);
}

static int take_rows_sum(struct latency_args *a, const struct row *row, const char *text,
			 struct err *e)
{
	a->rows_sum = true;
	return take_number(a, row, text, e);
}

/* Seconds, or with s, m, h, d behind. */
static int take_duration(struct latency_args *a, const struct row *row, const char *text,
			 struct err *e)
{
	static const struct {
		char unit;
		uint64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	size_t len = strlen(text);
	uint64_t v = 0, factor = 1;
	char digits[24] = "";

	for (size_t i = 0; i < ARRAY_SIZE(units) && len > 1; i++) {
		if (text[len - 1] != units[i].unit)
			continue;
		factor = units[i].seconds;
		len--;
		break;
	}
	if (len < sizeof(digits))
		memcpy(digits, text, len);
	if (text_u64(digits, &v) < 0 || v == 0 || v > UINT64_C(86400) * 3650 / factor)
		return err_set(
			e, -EINVAL,
			"option --duration \"%s\": expected seconds, or a number with s, m, h "
			"or d such as 10m",
			text);
	a->duration_s = v * factor;
	return 0;
}

static int take_priority(struct latency_args *a, const struct row *row, const char *text,
			 struct err *e)
{
	static const struct opt list = {
		"priority", OPT_UINTS, offsetof(struct latency_args, priority), NULL, "",
		.min = 0,   .max = 99
	};

	if (opt_set(&list, text, a, e) < 0)
		return err_wrap(e, "option --priority");
	if (!a->priority.nr)
		return err_set(e, -EINVAL, "option --priority: name one at least, such as 98");
	for (size_t i = 0; i < a->priority.nr; i++)
		for (size_t k = 0; k < i; k++)
			if (a->priority.v[i] == a->priority.v[k])
				return err_set(e, -EINVAL, "option --priority: %llu stands twice",
					       (unsigned long long)a->priority.v[i]);
	a->has_priority = a->priority.nr > 1 || a->priority.v[0] > 0;
	return 0;
}

static int take_policy(struct latency_args *a, const struct row *row, const char *text,
		       struct err *e)
{
	a->has_policy = true;
	if (strcasecmp(text, "normal") == 0) {
		a->policy = WAKEUP_OTHER;
		return 0;
	}
	for (enum wakeup_policy p = WAKEUP_FIFO; p <= WAKEUP_IDLE; p++) {
		if (strcasecmp(text, wakeup_policy_name(p)) == 0) {
			a->policy = p;
			return 0;
		}
	}
	if (strcasecmp(text, "deadline") == 0)
		return err_set(e, -EINVAL,
			       "option --policy deadline: such a thread may not be bound to a CPU "
			       "and is held back when its runtime is used up, so its lateness is "
			       "not that of an interrupt; measure with fifo");
	return err_set(e, -EINVAL,
		       "option --policy \"%s\": expected fifo, rr, other, batch or idle", text);
}

static int take_phase(struct latency_args *a, const struct row *row, const char *text,
		      struct err *e)
{
	if (strcmp(text, "random") == 0)
		a->phase = LATENCY_RANDOM;
	else if (strcmp(text, "aligned") == 0)
		a->phase = LATENCY_ALIGNED;
	else
		return err_set(e, -EINVAL, "option --phase \"%s\": expected random or aligned",
			       text);
	return 0;
}

static int take_aligned(struct latency_args *a, const struct row *row, const char *text,
			struct err *e)
{
	enum latency_phase phase = row->letter ? LATENCY_ALIGNED : LATENCY_SECALIGNED;

	if (a->phase != LATENCY_RANDOM && a->phase != phase)
		return err_set(e, -EINVAL,
			       "options --aligned and --secaligned exclude each other: name one");
	a->phase = phase;
	return text ? take_number(a, row, text, e) : 0;
}

static int take_json(struct latency_args *a, const struct row *row, const char *text, struct err *e)
{
	a->json = true;
	a->json_file = text;
	return 0;
}

#define AT(member) offsetof(struct latency_args, member)
#define US_MAX UINT64_C(10000000)
#define ANY_MAX INT64_MAX
#define ONLY_ABSOLUTE                                                                             \
	"irqlab measures absolute timers of clock_nanosleep alone, against which a late wake-up " \
	"does not move the next one; leave it away, or run cyclictest for this"

/* Named as cyclictest 2.4 names them, then what is beyond it. */
static const struct row rows[] = {
	{ "affinity", 'a', VALUE_LIST, take_affinity, .arg = "[LIST]",
	  .help = "thread N on the N-th CPU of LIST, or of all (all)" },
	{ "aligned", 'A', VALUE_NUMBER, take_aligned, AT(offset_us), 0, US_MAX, "[US]",
	  "all threads wake at once, or each US after the one before" },
	{ "breaktrace", 'b', VALUE_NEEDED, take_number, AT(break_us), 1, ANY_MAX, "US",
	  "end when a wake-up is later" },
	{ "clock", 'c', VALUE_NEEDED, take_number, AT(clock), 0, 1, "N",
	  "0 CLOCK_MONOTONIC (default), 1 CLOCK_REALTIME" },
	{ "default-system", 0, VALUE_NONE, take_flag, AT(default_system), 0, 0, NULL,
	  "leave power management alone" },
	{ "distance", 'd', VALUE_NEEDED, take_distance, AT(distance_us), 0, US_MAX, "US",
	  "each further thread's interval is longer by this (500)" },
	{ "duration", 'D', VALUE_NEEDED, take_duration, .arg = "TIME",
	  .help = "how long: 30, 30s, 10m, 2h, 1d" },
	{ "fifo", 'F', VALUE_NEEDED, take_refused,
	  .help = "no pipe is served; --soak FILE and irqlab latency --read FILE show a run while it "
		  "lasts" },
	{ "histogram", 'h', VALUE_NEEDED, take_number, AT(rows), 1, MAX_ROWS, "N",
	  "rows for 0 to N - 1 us at the end; all threads get one interval" },
	{ "histofall", 'H', VALUE_NEEDED, take_rows_sum, AT(rows), 1, MAX_ROWS, "N",
	  "the same with a column for the sum" },
	{ "histfile", 0, VALUE_NEEDED, take_string, AT(rows_file), 0, 0, "FILE",
	  "write the rows there" },
	{ "interval", 'i', VALUE_NEEDED, take_number, AT(interval_us), 1, US_MAX, "US",
	  "time between two wake-ups (1000)" },
	{ "json", 0, VALUE_WORD, take_json, .arg = "[FILE]",
	  .help = "results as JSON into FILE, or to standard output in place of all else" },
	{ "laptop", 0, VALUE_NONE, take_flag, AT(laptop), 0, 0, NULL,
	  "save the battery: deep idle states stay on" },
	{ "latency", 0, VALUE_NEEDED, take_number, AT(latency_us), 0, INT32_MAX, "US",
	  "what /dev/cpu_dma_latency is held at (0)" },
	{ "loops", 'l', VALUE_NEEDED, take_number, AT(loops), 0, ANY_MAX, "N",
	  "wake-ups of a thread (0: endless)" },
	{ "mainaffinity", 0, VALUE_NEEDED, take_string, AT(main_affinity), 0, 0, "LIST",
	  "CPUs of the thread that prints" },
	{ "mlockall", 'm', VALUE_NONE, take_flag, AT(lock), 0, 0, NULL, "lock all memory" },
	{ "nanosleep", 'n', VALUE_NONE, take_ignored, .help = "the default; old scripts name it" },
	{ "nsecs", 'N', VALUE_NONE, take_flag, AT(nsecs), 0, 0, NULL, "print ns instead of us" },
	{ "oscope", 'o', VALUE_NEEDED, take_number, AT(oscope), 1, INT32_MAX, "N",
	  "with -v: only the worst of N" },
	{ "priority", 'p', VALUE_NEEDED, take_priority, .arg = "N[,N...]",
	  .help = "real-time priority; with several, all threads once for each" },
	{ "policy", 0, VALUE_NEEDED, take_policy, .arg = "NAME",
	  .help = "fifo, rr, other, batch, idle" },
	{ "priospread", 0, VALUE_NONE, take_flag, AT(priospread), 0, 0, NULL,
	  "each further thread's priority is lower by one" },
	{ "quiet", 'q', VALUE_NONE, take_flag, AT(quiet), 0, 0, NULL, "print at the end only" },
	{ "refresh_on_max", 'M', VALUE_NONE, take_flag, AT(refresh_on_max), 0, 0, NULL,
	  "redraw only when a maximum grew" },
	{ "relative", 'r', VALUE_NONE, take_refused, .help = ONLY_ABSOLUTE },
	{ "resolution", 'R', VALUE_NONE, take_flag, AT(resolution), 0, 0, NULL,
	  "measure the clock's resolution first" },
	{ "secaligned", 0, VALUE_NUMBER, take_aligned, AT(offset_us), 0, US_MAX, "[US]",
	  "all threads wake at full seconds, plus US" },
	{ "smi", 0, VALUE_NONE, take_refused,
	  .help = "SMIs are not counted here; cyclictest --smi does" },
	{ "smp", 'S', VALUE_NONE, take_flag, AT(smp), 0, 0, NULL,
	  "one thread on every CPU that this process may use" },
	{ "spike", 0, VALUE_NEEDED, take_number, AT(spike), 1, ANY_MAX, "N",
	  "list wake-ups later than N (us, or ns with -N)" },
	{ "spike-nodes", 0, VALUE_NEEDED, take_number, AT(spike_nodes), 1, 10000000, "N",
	  "how many of them (1024)" },
	{ "system", 's', VALUE_NONE, take_refused, .help = ONLY_ABSOLUTE },
	{ "threads", 't', VALUE_NUMBER, take_threads, AT(threads), 1, 8192, "[N]",
	  "how many threads (1; without N: one for every CPU)" },
	{ "tracemark", 0, VALUE_NONE, take_flag, AT(tracemark), 0, 0, NULL,
	  "with -b: mark the trace and stop it" },
	{ "unbuffered", 'u', VALUE_NONE, take_flag, AT(unbuffered), 0, 0, NULL,
	  "print without buffering" },
	{ "verbose", 'v', VALUE_NONE, take_flag, AT(verbose), 0, 0, NULL,
	  "print every value: thread, cycle, value" },
	{ "dbg_cyclictest", 0, VALUE_NONE, take_refused,
	  .help = "prints cyclictest's own insides; leave it away" },
	{ "posix_timers", 'x', VALUE_NONE, take_refused, .help = ONLY_ABSOLUTE },
	{ "help", 0, VALUE_NONE, take_flag, AT(help), 0, 0, NULL, "this text" },
	/* beyond */
	{ "full", 0, VALUE_NONE, take_flag, AT(full), 0, 0, NULL,
	  "quantiles as seen and with the skipped cycles, worst seconds" },
	{ "phase", 0, VALUE_NEEDED, take_phase, .arg = "NAME",
	  .help = "random (default): drawn for each thread; aligned: as -A 0" },
	{ "soak", 0, VALUE_NEEDED, take_string, AT(soak), 0, 0, "FILE",
	  "keep the state there, every second, to be read while this runs" },
	{ "read", 0, VALUE_NEEDED, take_string, AT(read), 0, 0, "FILE",
	  "print the state that a --soak keeps or left" },
};

#define NR_ROWS ARRAY_SIZE(rows)

int latency_help(struct buf *out)
{
	buf_puts(out, "usage: irqlab latency [OPTION...]\n\n"
		      "How late threads wake from a timer: cyclictest's options and output, and "
		      "more truth.\n\n");
	for (size_t i = 0; i < NR_ROWS; i++) {
		const struct row *o = &rows[i];
		struct buf name = {};

		if (o->take == take_refused)
			continue;
		if (o->letter)
			buf_printf(&name, "-%c, ", o->letter);
		else
			buf_puts(&name, "    ");
		buf_printf(&name, "--%s%s%s", o->name, o->arg ? "=" : "", o->arg ? o->arg : "");
		buf_printf(out, "  %-28s %s\n", buf_str(&name), o->help);
		buf_release(&name);
	}
	buf_puts(out, "\nExample: irqlab latency -m -S -p98 -q -D10m -i250 -d0 --full\n"
		      "While it lasts: SIGUSR1 prints the lines on standard error. See "
		      "docs/latency.md.\n");
	return out->failed ? -ENOMEM : 0;
}

static bool looks_right(enum value value, const char *word)
{
	if (value == VALUE_WORD)
		return word[0] != '-' && word[0];
	if (value == VALUE_LIST && (word[0] == '!' || strcmp(word, "all") == 0))
		return true;
	return isdigit((unsigned char)word[0]);
}

static int unknown(const char *arg, struct err *e)
{
	const char *words[NR_ROWS + 1] = {};
	const char *near;

	for (size_t i = 0; i < NR_ROWS; i++)
		words[i] = rows[i].name;
	near = strncmp(arg, "--", 2) == 0 ? text_nearest(arg + 2, words) : NULL;
	if (near)
		return err_set(e, -EINVAL, "latency has no option \"%s\"; did you mean --%s?", arg,
			       near);
	return err_set(e, -EINVAL, "latency has no option \"%s\"; see: irqlab latency --help", arg);
}

static int needs_value(int letter, const char *arg, struct err *e)
{
	if (letter == 'h')
		return err_set(e, -EINVAL,
			       "option -h is cyclictest's histogram and needs the number of its "
			       "rows; for help: irqlab latency --help");
	return err_set(e, -EINVAL, "latency: option \"%s\" needs a value", arg);
}

static int has_argument(enum value value)
{
	return value == VALUE_NONE     ? no_argument
	       : value == VALUE_NEEDED ? required_argument
				       : optional_argument;
}

static int take(struct latency_args *a, int c, int argc, char **argv, struct err *e)
{
	const char *arg = argv[optind - 1], *text = optarg;
	const struct row *row = rows;

	if (c == ':')
		return needs_value(optopt, arg, e);
	if (c == '?')
		return unknown(arg, e);
	if (c >= LONG_BASE)
		row = &rows[c - LONG_BASE];
	else
		while (row->letter != c)
			row++;
	if (!text && row->value > VALUE_NEEDED && optind < argc &&
	    looks_right(row->value, argv[optind]))
		text = argv[optind++];
	return row->take(a, row, text, e);
}

/* What options mean together, as cyclictest has it, with its words. */
static int settle(struct latency_args *a, struct err *e)
{
	bool real_time = a->policy == WAKEUP_FIFO || a->policy == WAKEUP_RR;

	if (a->read)
		return 0;
	if (a->smp && a->has_threads)
		fputs("WARN: -t ignored due to smp mode\n", stderr);
	if (a->smp && a->affinity)
		fputs("WARN: -a ignored due to smp mode\n", stderr);
	if (a->rows && a->has_distance)
		fputs("WARN: distance is ignored and set to 0, if histogram enabled\n", stderr);
	if (a->oscope > 1 && !a->verbose)
		return err_set(e, -EINVAL, "option --oscope thins what -v prints: name -v too");
	if (a->tracemark && !a->break_us)
		return err_set(e, -EINVAL, "option --tracemark marks what -b ends: name -b too");
	if (!a->has_policy)
		a->policy = a->has_priority || a->priospread ? WAKEUP_FIFO : WAKEUP_OTHER;
	else if (!real_time && (a->has_priority || a->priospread))
		fprintf(stderr, "irqlab: policy %s has no priorities: -p is ignored\n",
			wakeup_policy_name(a->policy));
	if (a->priospread && a->priority.nr > 1)
		return err_set(e, -EINVAL,
			       "options --priospread and -p with a list exclude each other");
	for (size_t i = 0; a->priority.nr > 1 && i < a->priority.nr; i++)
		if (!a->priority.v[i])
			return err_set(
				e, -EINVAL,
				"option --priority: 0 is no real-time priority; name 1 to 99");
	return 0;
}

int latency_args_parse(struct latency_args *a, int argc, char **argv, struct err *e)
{
	struct option longs[NR_ROWS + 1] = {};
	char letters[3 * NR_ROWS + 2] = ":";
	size_t used = 1;
	int c, r;

	*a = (struct latency_args){ .interval_us = 1000,
				    .distance_us = 500,
				    .threads = 1,
				    .spike_nodes = 1024,
				    .oscope = 1 };
	for (size_t i = 0; i < NR_ROWS; i++) {
		static const char *const colons[] = { "", ":", "::" };
		int has = has_argument(rows[i].value);

		longs[i] = (struct option){ rows[i].name, has, NULL, LONG_BASE + (int)i };
		if (rows[i].letter)
			used += (size_t)snprintf(letters + used, sizeof(letters) - used, "%c%s",
						 rows[i].letter, colons[has]);
	}
	opterr = 0;
	optind = 1;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread */
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		r = take(a, c, argc, argv, e);
		if (r < 0)
			return r;
	}
	if (optind < argc)
		return err_set(e, -EINVAL,
			       "latency takes options only, not \"%s\"; see: irqlab latency --help",
			       argv[optind]);
	return settle(a, e);
}

void latency_args_release(struct latency_args *a)
{
	uint_list_release(&a->priority);
}
