// SPDX-License-Identifier: GPL-3.0-or-later
#include "probe/wakeup.h"

#include <stdio.h>
#include <unistd.h>

static void note_row(struct wakeup_tap *t, uint64_t late)
{
	uint64_t row = late / t->row_ns;

	if (row < t->nr_rows) {
		t->rows[row]++;
		return;
	}
	if (t->nr_overflow < t->nr_rows)
		t->overflow[t->nr_overflow] = t->cycles;
	t->nr_overflow++;
}

static void note_spike(const struct wakeup_tap *t, uint64_t now, uint64_t late)
{
	uint64_t i = atomic_fetch_add(&t->spikes->nr, 1);

	if (i < t->spikes->max)
		t->spikes->spike[i] = (struct wakeup_spike){ t->lane, late, now };
}

/* The first lane that comes here ends the run; what is slow does not matter any more. */
static void break_run(const struct wakeup_tap *t, uint64_t late)
{
	struct wakeup_break *b = t->brk;
	int none = -1, len;
	char text[80];

	if (!atomic_compare_exchange_strong(&b->lane, &none, (int)t->lane))
		return;
	atomic_store(&b->late_ns, late);
	len = snprintf(text, sizeof(text), "hit latency threshold (%llu ns)",
		       (unsigned long long)late);
	/* a trace that cannot be marked or stopped has been refused before */
	if (b->mark_fd >= 0 && write(b->mark_fd, text, (size_t)len) < 0)
		b->mark_fd = -1;
	if (b->trace_fd >= 0 && write(b->trace_fd, "0", 1) < 0)
		b->trace_fd = -1;
}

bool wakeup_tap(struct wakeup_tap *t, uint64_t now_ns, uint64_t late_ns)
{
	uint64_t sum = atomic_load_explicit(&t->sum_us, memory_order_relaxed);

	atomic_store_explicit(&t->act_ns, late_ns, memory_order_relaxed);
	atomic_store_explicit(&t->sum_us, sum + late_ns / NS_PER_US, memory_order_relaxed);
	if (t->rows)
		note_row(t, late_ns);
	if (t->values) {
		atomic_store_explicit(&t->values[t->cycles & t->mask], late_ns,
				      memory_order_relaxed);
		atomic_store_explicit(&t->nr_values, t->cycles + 1, memory_order_release);
	}
	if (t->spikes && late_ns > t->spike_ns)
		note_spike(t, now_ns, late_ns);
	t->cycles++;
	if (t->brk && late_ns > t->break_ns) {
		break_run(t, late_ns);
		return false;
	}
	return t->cycles != t->max_cycles;
}
