// SPDX-License-Identifier: GPL-3.0-or-later
#include "run_view.h"

#include <stdio.h>

#include "base/clock.h"

void run_view_clear(const struct run_view *v)
{
	if (v->on)
		fputs("\r\033[K", stderr);
}

void run_view_warn(const char *lines)
{
	fputs(lines, stderr);
}

void run_view_phase(void *view, const char *phase)
{
	const struct run_view *v = view;
	uint64_t each = v->measured ? v->spent_ns / v->measured : v->planned_ns;
	uint64_t left_s = each * (v->total - v->done) / NS_PER_S;

	if (!v->on)
		return;
	fprintf(stderr, "\r\033[K[%zu/%zu] block %u/%u  %s  %s  %s  about %llu:%02llu left",
		v->done + 1, v->total, v->block + 1, v->blocks, v->scenario, v->variant, phase,
		(unsigned long long)(left_s / 60), (unsigned long long)(left_s % 60));
	fflush(stderr);
}
