// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The accounting probes over a window that a script opens and closes: "start" and "stop" on
 * standard input are answered by "started" and "stopped", then come the scalars, a line each, and
 * the two lengths [s] between which the window's is.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "plan/instance.h"
#include "probe/probe.h"
#include "sample/sample.h"

extern const struct probe_ops probe_interrupts, probe_softnet, probe_sched, probe_cpu;

static const struct probe_ops *const ops[] = { &probe_interrupts, &probe_softnet, &probe_sched,
					       &probe_cpu };

static int print_record(struct sample_sink *sink, const struct record *rec, struct err *e)
{
	if (rec->kind == RECORD_SCALAR)
		printf("%s %s %.17g\n", rec->metric, *rec->labels ? rec->labels : "-", rec->value);
	if (rec->kind == RECORD_EVENT)
		printf("# %s: %s\n", rec->metric, rec->text);
	return 0;
}

static int await(const char *word)
{
	char line[16];

	return fgets(line, sizeof(line), stdin) && strncmp(line, word, strlen(word)) == 0 ? 0
											  : -EIO;
}

static int answer(const char *word)
{
	return puts(word) < 0 || fflush(stdout) ? -EIO : 0;
}

static int window(struct probe *p[], double length[2], struct err *e)
{
	uint64_t t[4];
	int r = await("start");

	t[0] = clock_mono_ns();
	for (size_t i = 0; i < ARRAY_SIZE(ops) && r >= 0; i++)
		r = ops[i]->start(p[i], clock_mono_ns(), e);
	t[1] = clock_mono_ns();
	r = r < 0 ? r : answer("started");
	r = r < 0 ? r : await("stop");
	t[2] = clock_mono_ns();
	for (size_t i = 0; i < ARRAY_SIZE(ops) && r >= 0; i++)
		r = ops[i]->stop(p[i], clock_mono_ns(), e);
	t[3] = clock_mono_ns();
	length[0] = (double)(t[2] - t[1]) * 1e-9;
	length[1] = (double)(t[3] - t[0]) * 1e-9;
	return r < 0 ? r : answer("stopped");
}

int main(void)
{
	_cleanup_(host_release) struct host host = { -1, -1, -1, { -1, -1, "" }, { -1, -1, "" } };
	const struct probe_env env = { .host = &host, .duration_ns = 10 * NS_PER_S };
	struct sample_sink sink = { .emit = print_record };
	struct probe *p[ARRAY_SIZE(ops)] = {};
	double length[2] = {};
	struct err e = {};
	int r = host_open(&host, &e);

	for (size_t i = 0; i < ARRAY_SIZE(ops) && r >= 0; i++) {
		struct instance inst = { .plugin = (char *)(uintptr_t)ops[i]->plugin.name,
					 .name = (char *)(uintptr_t)ops[i]->plugin.name };

		r = ops[i]->open(&p[i], &env, &inst, &e);
	}
	if (r >= 0)
		r = window(p, length, &e);
	for (size_t i = 0; i < ARRAY_SIZE(ops) && r >= 0; i++)
		r = ops[i]->drain(p[i], &sink, &e);
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i]->close(p[i]);
	if (r < 0) {
		fprintf(stderr, "%s\n", e.msg);
		return 1;
	}
	printf("seconds %.9f %.9f\n", length[0], length[1]);
	return 0;
}
