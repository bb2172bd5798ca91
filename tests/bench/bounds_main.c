// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What the machine itself can do, as the bounds of the traffic engine's figures: one line of JSON.
 * Each figure is the best of several short runs: what disturbs only ever adds time.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

#define BLOCK (128U << 10)
#define RUNS 15

/* Bytes a second of memcpy() between two blocks that stay in cache. */
static double copy_bytes_per_s(void)
{
	enum { NR = 2000 };
	char *from = malloc(BLOCK), *to = malloc(BLOCK);
	double best = 0;

	memset(from, 1, BLOCK);
	for (int run = 0; run < RUNS; run++) {
		uint64_t start = clock_mono_ns();
		double rate;

		for (int i = 0; i < NR; i++) {
			memcpy(to, from, BLOCK);
			__asm__ volatile("" : : "r"(to) : "memory");
		}
		rate = 1e9 * NR * BLOCK / (double)(clock_mono_ns() - start);
		best = rate > best ? rate : best;
	}
	free(from);
	free(to);
	return best;
}

static double syscall_ns(void)
{
	enum { NR = 100000 };
	double best = 1e9;

	for (int run = 0; run < RUNS; run++) {
		uint64_t start = clock_mono_ns();
		double ns;

		for (int i = 0; i < NR; i++)
			syscall(SYS_getppid);
		ns = (double)(clock_mono_ns() - start) / NR;
		best = ns < best ? ns : best;
	}
	return best;
}

static void *echo(void *arg)
{
	int fd = *(int *)arg;
	char byte;

	while (read(fd, &byte, 1) == 1 && write(fd, &byte, 1) == 1)
		;
	return NULL;
}

/* A byte to a thread that sleeps and back, through a socket without a network. */
static double wake_round_ns(void)
{
	enum { NR = 5000 };
	double best = 1e9;
	int pair[2] = { -1, -1 };
	pthread_t thread;
	char byte = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ||
	    pthread_create(&thread, NULL, echo, &pair[1]) != 0)
		return 0;
	for (int run = 0; run < RUNS; run++) {
		uint64_t start = clock_mono_ns();
		double ns;

		for (int i = 0; i < NR; i++)
			if (write(pair[0], &byte, 1) != 1 || read(pair[0], &byte, 1) != 1)
				break;
		ns = (double)(clock_mono_ns() - start) / NR;
		best = ns < best ? ns : best;
	}
	shutdown(pair[0], SHUT_RDWR);
	pthread_join(thread, NULL);
	close(pair[0]);
	close(pair[1]);
	return best;
}

int main(void)
{
	printf("{\"copy_bytes_per_s\": %.0f, \"syscall_ns\": %.1f, \"wake_round_ns\": %.0f}\n",
	       copy_bytes_per_s(), syscall_ns(), wake_round_ns());
	return 0;
}
