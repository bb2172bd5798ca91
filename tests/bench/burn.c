// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * burn: on every CPU a SCHED_FIFO 99 thread that is busy for 50 us a hundred times a second, at
 * jittered times.  A disturbance of known size for the proofs of the verdict; runs until killed.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"

#define BUSY_NS (50 * NS_PER_US)
#define PERIOD_NS (10 * NS_PER_MS)

static void *burn(void *arg)
{
	uint64_t rng = clock_mono_ns() + (uintptr_t)arg, next = clock_mono_ns();

	for (;;) {
		struct timespec at;
		uint64_t until;

		/* from half a period to one and a half, a whole one in the mean */
		next += PERIOD_NS / 2 + rng_below(&rng, PERIOD_NS);
		at = (struct timespec){ (time_t)(next / NS_PER_S), (long)(next % NS_PER_S) };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		until = clock_mono_ns() + BUSY_NS;
		while (clock_mono_ns() < until)
			;
	}
	return NULL;
}

static int start(unsigned int cpu)
{
	struct sched_param param = { .sched_priority = 99 };
	pthread_attr_t attr;
	pthread_t t;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &param);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	return pthread_create(&t, &attr, burn, (void *)(uintptr_t)cpu);
}

int main(void)
{
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0) {
		perror("burn");
		return 1;
	}
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && start(cpu) != 0) {
			fprintf(stderr, "burn: SCHED_FIFO 99 on CPU %u was refused\n", cpu);
			return 1;
		}
	for (;;)
		pause();
}
