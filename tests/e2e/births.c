// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * births NAME PERIOD_MS LIFE_MS LOG: a thread NAMEbase that stays, and every PERIOD_MS another one,
 * NAME0, NAME1 ..., that wakes up every 2 ms and ends after LIFE_MS, every other one after three
 * times that.  Each writes a line into LOG when it ends: its name, its number, and every policy it
 * found itself under, in their order.  Says "base TID" on standard output once the first one is
 * there.  Ends with standard input.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

struct birth {
	char name[16];
	uint64_t life_ns; /* 0: for ever */
	FILE *log;
};

static void put_policy(char *line, size_t size)
{
	struct sched_param param;
	char now[16];
	size_t len = strlen(line);

	sched_getparam(0, &param);
	snprintf(now, sizeof(now), " %d:%d", sched_getscheduler(0), param.sched_priority);
	if (len < strlen(now) || strcmp(line + len - strlen(now), now) != 0)
		snprintf(line + len, size - len, "%s", now);
}

static void *live(void *arg)
{
	struct birth *b = arg;
	struct timespec nap = clock_timespec(2 * NS_PER_MS);
	uint64_t end = clock_mono_ns() + b->life_ns;
	char line[512];

	prctl(PR_SET_NAME, b->name);
	snprintf(line, sizeof(line), "%s %d", b->name, gettid());
	if (b->life_ns == 0) {
		printf("base %d\n", gettid());
		fflush(stdout);
	}
	while (b->life_ns == 0 || clock_mono_ns() < end) {
		put_policy(line, sizeof(line));
		nanosleep(&nap, NULL);
	}
	fprintf(b->log, "%s\n", line);
	fflush(b->log);
	free(b);
	return NULL;
}

static void give_birth(FILE *log, const char *prefix, const char *suffix, uint64_t life_ns)
{
	struct birth *b = calloc(1, sizeof(*b));
	pthread_t thread;

	if (!b)
		exit(1);
	snprintf(b->name, sizeof(b->name), "%s%s", prefix, suffix);
	b->life_ns = life_ns;
	b->log = log;
	if (pthread_create(&thread, NULL, live, b) != 0)
		exit(1);
	pthread_detach(thread);
}

int main(int argc, char **argv)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	FILE *log = argc == 5 ? fopen(argv[4], "a") : NULL;
	char number[16];

	if (!log)
		return 2;
	give_birth(log, argv[1], "base", 0);
	for (unsigned int i = 0; poll(&in, 1, (int)strtol(argv[2], NULL, 10)) == 0; i++) {
		snprintf(number, sizeof(number), "%u", i);
		give_birth(log, argv[1], number,
			   strtoull(argv[3], NULL, 10) * (i % 2 ? 3 : 1) * NS_PER_MS);
	}
	return 0;
}
