// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The accounts' maps to rows.  All but the threads lie in our memory: reading costs the measured
 * CPUs nothing but cache lines.
 */
#define IRQTIME_PARTS
#include "probe/irqtime.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "probe/irqtime_parts.h"

/* A value that another CPU may write at this moment. */
#define LOOK(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)

/* Rows as they are found; without memory @failed. */
struct rows {
	struct irqtime_row *v;
	size_t nr, size;
	bool failed;
};

static struct irqtime_row *new_row(struct rows *rows, enum irqtime_kind kind, unsigned int cpu,
				   uint64_t id)
{
	if (rows->nr == rows->size) {
		size_t size = rows->size ? 2 * rows->size : 256;
		struct irqtime_row *v = realloc(rows->v, size * sizeof(*v));

		if (!v) {
			rows->failed = true;
			return NULL;
		}
		rows->v = v;
		rows->size = size;
	}
	rows->v[rows->nr] = (struct irqtime_row){ .kind = kind, .cpu = cpu, .id = id };
	return &rows->v[rows->nr++];
}

/* @name of a field of @size bytes, perhaps without NUL; the row is zero-filled. */
static void set_name(struct irqtime_row *row, const char *name, size_t size)
{
	size_t room = sizeof(row->name) - 1;

	memcpy(row->name, name, strnlen(name, size < room ? size : room));
}

static struct irqtime_row *add_sum(struct rows *rows, enum irqtime_kind kind, unsigned int cpu,
				   uint64_t id, const struct irqtime_sum *sum)
{
	uint64_t count = LOOK(sum->count);
	struct irqtime_row *row = count ? new_row(rows, kind, cpu, id) : NULL;

	if (row) {
		row->count = count;
		row->ns = LOOK(sum->ns);
		row->max_ns = LOOK(sum->max_ns);
	}
	return row;
}

static const struct irqtime_cpu *cpu_state(const struct irqtime *t, unsigned int cpu)
{
	return (const struct irqtime_cpu *)t->cpus.v + cpu;
}

static void read_handlers(const struct irqtime *t, struct rows *rows)
{
	const struct irqtime_handler *handlers = t->handlers.v;
	const struct irqtime_sum *sums = t->sums.v;
	unsigned int used = LOOK(t->bpf->data->next_handler);

	if (used > t->nr_handlers)
		used = t->nr_handlers;
	for (unsigned int cpu = 0; cpu < t->nr_cpus; cpu++)
		for (unsigned int i = 1; i < used; i++) {
			struct irqtime_row *row = add_sum(rows, IRQTIME_HARDIRQ, cpu,
							  handlers[i].irq,
							  &sums[(size_t)cpu * t->nr_handlers + i]);

			if (row)
				set_name(row, handlers[i].name, sizeof(handlers[i].name));
		}
}

static void read_vectors(const struct irqtime *t, unsigned int cpu, struct rows *rows)
{
#define VECTOR_NAME(name) #name,
	static const char *const names[] = { IRQTIME_VECTORS(VECTOR_NAME) };

	for (unsigned int i = 0; i < NR_VECTORS; i++) {
		const struct irqtime_tick *v = &cpu_state(t, cpu)->vector[i];
		struct irqtime_row *row =
			add_sum(rows, IRQTIME_VECTOR, cpu, LOOK(v->vector), &v->sum);

		if (row)
			set_name(row, names[i], sizeof(row->name));
	}
}

static void read_softirqs(const struct irqtime *t, unsigned int cpu, struct rows *rows)
{
	for (unsigned int i = 0; i < IRQTIME_SOFTIRQS; i++) {
		const struct irqtime_softirq *s = &cpu_state(t, cpu)->softirq[i];
		struct irqtime_row *row = add_sum(rows, IRQTIME_SOFTIRQ, cpu, i, &s->sum);

		if (!row)
			continue;
		set_name(row, irqtime_softirq_name(i), sizeof(row->name));
		row->extra = LOOK(s->wait_ns);
		row->extra2 = LOOK(s->waits);
	}
}

static void read_napis(const struct irqtime *t, unsigned int cpu, struct rows *rows)
{
	const struct irqtime_napi *napis = t->napis.v;

	for (unsigned int i = 0; napis && i < IRQTIME_NAPIS; i++) {
		const struct irqtime_napi *n = &napis[cpu * IRQTIME_NAPIS + i];
		struct irqtime_row *row =
			LOOK(n->napi) ? add_sum(rows, IRQTIME_NAPI, cpu, n->id, &n->sum) : NULL;

		if (!row)
			continue;
		set_name(row, n->name, sizeof(n->name));
		row->extra = LOOK(n->packets);
		row->extra2 = LOOK(n->full);
	}
}

static int read_threads(const struct irqtime *t, struct rows *rows, struct err *e)
{
	__u32 nr = t->nr_threads, next = 0;
	int r = bpf_map_lookup_batch(bpf_map__fd(t->bpf->maps.threads), NULL, &next, t->keys,
				     t->threads, &nr, NULL);

	if (r < 0 && r != -ENOENT) { /* that is: all of them */
		errno = -r;
		return err_sys(e, "read the accounts of threads");
	}
	for (__u32 i = 0; i < nr; i++) {
		struct irqtime_row *row = add_sum(rows, IRQTIME_THREAD, t->keys[i].cpu,
						  t->keys[i].tid, &t->threads[i].sum);

		if (row)
			set_name(row, t->threads[i].comm, sizeof(t->threads[i].comm));
	}
	return 0;
}

/* What the clock of threads is made of, at a moment. */
struct moment {
	uint64_t hard_ns, hard_start, soft_ns, soft_start, thread_start;
	struct irqtime_thread_key thread;
	uint32_t depth, soft, away, running;
	char comm[16];
};

static struct moment look(const struct irqtime_cpu *c)
{
	struct moment m = {
		.hard_ns = LOOK(c->hard_ns),
		.hard_start = LOOK(c->frame[0].start),
		.soft_ns = LOOK(c->soft_ns),
		.soft_start = LOOK(c->soft_start),
		.thread_start = LOOK(c->thread_start),
		.thread = { LOOK(c->thread.tid), LOOK(c->thread.cpu), LOOK(c->thread.started) },
		.depth = LOOK(c->depth),
		.soft = LOOK(c->soft),
		.away = LOOK(c->away_since) != 0,
		.running = LOOK(c->running),
	};

	memcpy(m.comm, c->comm, sizeof(m.comm));
	return m;
}

/* How long the thread of @m has been running at @now. */
static uint64_t ran_since(const struct moment *m, uint64_t now)
{
	uint64_t clock;

	/* a hard interrupt or softirq under way is not its time */
	if (m->depth && m->hard_start < now)
		now = m->hard_start;
	clock = now - m->hard_ns;
	if (m->soft && !m->away && m->soft_start < clock)
		clock = m->soft_start;
	clock -= m->soft_ns;
	return (int64_t)(clock - m->thread_start) > 0 ? clock - m->thread_start : 0;
}

/*
 * The thread that runs on @cpu now has no row for that yet.  Nothing locks the CPU out: two equal
 * looks around the clock are one moment; a CPU that switches without a break is left for the next
 * time, it has hardly run since.
 */
static void read_running(const struct irqtime *t, unsigned int cpu, struct rows *rows)
{
	const struct irqtime_cpu *c = cpu_state(t, cpu);

	for (int i = 0; i < 100; i++) {
		struct moment before = look(c), after;
		uint64_t now = clock_mono_ns();
		struct irqtime_row *row;

		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		after = look(c);
		if (memcmp(&before, &after, sizeof(before)) != 0)
			continue;
		row = before.running ? new_row(rows, IRQTIME_THREAD, cpu, before.thread.tid) : NULL;
		if (row) {
			row->count = 1;
			row->ns = ran_since(&before, now);
			set_name(row, before.comm, sizeof(before.comm));
		}
		return;
	}
}

/* Runs that a program missed because it was running on that CPU already. */
static uint64_t missed_runs(const struct irqtime *t)
{
	struct bpf_program *prog;
	uint64_t missed = 0;

	bpf_object__for_each_program(prog, t->bpf->obj)
	{
		struct bpf_prog_info info = {};
		__u32 len = sizeof(info);
		int fd = bpf_program__fd(prog);

		if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &len) == 0)
			missed += info.recursion_misses;
	}
	return missed;
}

int irqtime_read(struct irqtime *t, struct irqtime_table *ret, struct err *e)
{
	struct irqtime_table table = { .at_ns = clock_mono_ns(), .lost = missed_runs(t) };
	struct rows rows = {};
	int r = 0;

	read_handlers(t, &rows);
	for (unsigned int cpu = 0; cpu < t->nr_cpus; cpu++) {
		read_vectors(t, cpu, &rows);
		read_softirqs(t, cpu, &rows);
		read_napis(t, cpu, &rows);
		table.lost += LOOK(cpu_state(t, cpu)->lost);
	}
	if (t->opts.threads) {
		r = read_threads(t, &rows, e);
		for (unsigned int cpu = 0; cpu < t->nr_cpus; cpu++)
			read_running(t, cpu, &rows);
	}
	if (r >= 0 && rows.failed)
		r = err_nomem(e, "rows of the accounts");
	if (r < 0) {
		free(rows.v);
		return r;
	}
	table.v = rows.v;
	table.nr = rows.nr;
	irqtime_table_sort(&table);
	irqtime_table_release(ret);
	*ret = table;
	return 0;
}
