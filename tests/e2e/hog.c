// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * hog CPU TIMES MS: holds CPU with SCHED_FIFO 99 for MS milliseconds, TIMES times, 200 ms apart,
 * and prints how long each took, in ns.  Never longer than 150 ms at a time.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

#define MOST_MS 150

int main(int argc, char **argv)
{
	struct sched_param param = { .sched_priority = 99 };
	unsigned long times, ms;
	cpu_set_t set;

	if (argc != 4) {
		fprintf(stderr, "usage: hog CPU TIMES MS\n");
		return 2;
	}
	times = strtoul(argv[2], NULL, 10);
	ms = strtoul(argv[3], NULL, 10);
	CPU_ZERO(&set);
	CPU_SET(strtoul(argv[1], NULL, 10), &set);
	if (ms > MOST_MS || times > 10)
		return 2;
	if (sched_setaffinity(0, sizeof(set), &set) < 0 ||
	    sched_setscheduler(0, SCHED_FIFO, &param) < 0) {
		perror("hog: SCHED_FIFO 99");
		return 77;
	}
	for (unsigned long i = 0; i < times; i++) {
		uint64_t begin = clock_mono_ns();

		while (clock_mono_ns() < begin + ms * NS_PER_MS)
			;
		printf("%llu\n", (unsigned long long)(clock_mono_ns() - begin));
		fflush(stdout);
		usleep(200000);
	}
	return 0;
}
