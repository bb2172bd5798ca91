// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The wakeup probe by itself: wakeup_main SECONDS [KEY=VALUE...] runs it and prints
 * "min p50 max n missed" over all CPUs, in ns and counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/text.h"
#include "plan/instance.h"
#include "probe/probe.h"
#include "sample/sample.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

extern const struct probe_ops probe_wakeup;

static const char *const wanted[] = { "wakeup.min", "wakeup.p50", "wakeup.max", "wakeup.n",
				      "wakeup.missed" };
static double found[ARRAY_SIZE(wanted)];

static int keep(struct sample_sink *sink, const struct record *rec, struct err *e)
{
	if (rec->kind == RECORD_EVENT)
		fprintf(stderr, "# %s\n", rec->text);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (rec->kind == RECORD_SCALAR && !*rec->labels &&
		    strcmp(rec->metric, wanted[i]) == 0)
			found[i] = rec->value;
	return 0;
}

static int measure(struct probe *p, uint64_t length_ns, struct err *e)
{
	const struct timespec company = { .tv_nsec = 10 * NS_PER_MS };
	struct sample_sink sink = { .emit = keep };
	uint64_t begin = clock_mono_ns();
	int r = probe_wakeup.start(p, begin, e);

	/*
	 * cyclictest's main thread looks at its threads every 10 ms, -q or not.  That now and then
	 * finds, and keeps, a CPU out of idle, and its best wake-ups are those: without such
	 * company the minimum of a probe is that of an idle CPU's exit.
	 */
	while (clock_mono_ns() < begin + length_ns)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &company, NULL);
	if (r >= 0)
		r = probe_wakeup.stop(p, clock_mono_ns(), e);
	return r < 0 ? r : probe_wakeup.drain(p, &sink, e);
}

static int settings(struct instance *inst, char **words, struct err *e)
{
	int r = 0;

	for (; *words && r >= 0; words++) {
		char *eq = strchr(*words, '=');

		if (!eq)
			return err_set(e, -1, "%s: not KEY=VALUE", *words);
		*eq = '\0';
		r = instance_set(inst, *words, eq + 1, 0, e);
	}
	return r;
}

static int run(double seconds, char **words, struct err *e)
{
	_cleanup_(instance_release) struct instance inst = { .plugin = strdup("wakeup"),
							     .name = strdup("wakeup") };
	_cleanup_(host_release) struct host host = { .proc_fd = -1,
						     .sys_fd = -1,
						     .dev_fd = -1,
						     .dut = { .netns_fd = -1, .sys_fd = -1 },
						     .far = { .netns_fd = -1, .sys_fd = -1 } };
	struct probe_env env = { .host = &host,
				 .seed = clock_mono_ns(),
				 .duration_ns = (uint64_t)(seconds * (double)NS_PER_S) };
	struct probe *p = NULL;
	int r = host_open(&host, e);

	if (r >= 0)
		r = settings(&inst, words, e);
	if (r >= 0)
		r = probe_wakeup.open(&p, &env, &inst, e);
	if (r >= 0)
		r = measure(p, env.duration_ns, e);
	probe_wakeup.close(p);
	return r;
}

int main(int argc, char **argv)
{
	struct err e = {};
	double seconds = 0;

	if (argc < 2 || text_double(argv[1], &seconds) < 0 || seconds <= 0) {
		fprintf(stderr, "usage: wakeup_main SECONDS [KEY=VALUE...]\n");
		return 2;
	}
	if (SANITIZED) {
		fprintf(stderr, "built with a sanitizer, whose time would be measured\n");
		return 77;
	}
	if (run(seconds, argv + 2, &e) < 0) {
		fprintf(stderr, "%s\n", e.msg);
		return 77;
	}
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		printf("%.0f%s", found[i], i + 1 < ARRAY_SIZE(wanted) ? " " : "\n");
	return 0;
}
