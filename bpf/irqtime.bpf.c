// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Exact count and exclusive time of interrupt handlers, softirqs, NAPI polls and threads.
 *
 * One clock read an event, no hashing but for threads.  Interrupts are off in the programs of hard
 * interrupts, of raise and of switch.  Those of softirqs and polls may be hit by a hard interrupt
 * at any instruction; its programs run to their end in between.  Places that must care say so.
 */
#include "kernel.h"

#include "irqtime_maps.h"

char LICENSE[] SEC("license") = "GPL";

/* set before loading */
const volatile __u32 nr_handlers = 1;
const volatile bool want_threads = false;

__u32 next_handler = 1; /* 0 is "none" */

/* indexed by CPU */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct irqtime_cpu);
} cpus SEC(".maps");

/* indexed by interrupt: its first handler */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IRQTIME_NR_IRQS);
	__type(key, __u32);
	__type(value, __u32);
} irqs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct irqtime_handler);
} handlers SEC(".maps");

/* indexed by CPU * nr_handlers + handler */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct irqtime_sum);
} sums SEC(".maps");

/* indexed by CPU * IRQTIME_NAPIS + place */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct irqtime_napi);
} napis SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct irqtime_thread_key);
	__type(value, struct irqtime_thread);
} threads SEC(".maps");

static __always_inline struct irqtime_cpu *this_cpu(__u32 *ret_cpu)
{
	*ret_cpu = bpf_get_smp_processor_id();
	return bpf_map_lookup_elem(&cpus, ret_cpu);
}

static __always_inline void add(struct irqtime_sum *s, __u64 ns)
{
	s->count++;
	s->ns += ns;
	if (ns > s->max_ns)
		s->max_ns = ns;
}

/* ---- hard interrupts ---- */

static __always_inline int hard_enter(__u64 key)
{
	__u32 cpu, depth;
	struct irqtime_cpu *c = this_cpu(&cpu);

	if (!c)
		return 0;
	depth = c->depth++;
	if (depth >= IRQTIME_NESTED) {
		c->lost++;
		return 0;
	}
	c->frame[depth].key = key;
	c->frame[depth].inner = 0;
	c->frame[depth].start = bpf_ktime_get_ns();
	return 0;
}

/*
 * The end of the innermost one: its exclusive time, or false when its start was not seen.  Exits
 * are attached before entries, so that every entry that was seen has its exit.
 */
static __always_inline bool hard_leave(struct irqtime_cpu *c, __u64 key, __u64 *ret_ns)
{
	__u64 now = bpf_ktime_get_ns(), ns;
	__u32 depth = c->depth;

	if (!depth)
		return false;
	depth--;
	if (depth >= IRQTIME_NESTED) { /* its entry was counted as lost */
		c->depth = depth;
		return false;
	}
	if (c->frame[depth].key != key)
		return false;
	ns = now - c->frame[depth].start;
	*ret_ns = ns - c->frame[depth].inner;
	c->depth = depth;
	if (depth)
		c->frame[(depth - 1) & (IRQTIME_NESTED - 1)].inner += ns;
	else
		c->hard_ns += ns;
	return true;
}

/* A new handler in front of its interrupt's chain; 0: no room. */
static __noinline __u32 new_handler(__u32 irq, struct irqaction *action)
{
	__u32 *head = bpf_map_lookup_elem(&irqs, &irq);
	struct irqtime_handler *h;
	__u32 id, next;

	if (!head || READ_ONCE(next_handler) >= nr_handlers)
		return 0;
	id = __sync_fetch_and_add(&next_handler, 1);
	h = bpf_map_lookup_elem(&handlers, &id);
	if (!h)
		return 0;
	h->irq = irq;
	bpf_probe_read_kernel_str(h->name, sizeof(h->name), BPF_CORE_READ(action, name));
	next = READ_ONCE(*head);
	h->next = next;
	h->action = (__u64)action;
	/* another CPU may have been faster: then no way leads to this one, and it is used once */
	__sync_val_compare_and_swap(head, next, id);
	return id;
}

static __always_inline __u32 find_handler(__u32 irq, struct irqaction *action)
{
	__u32 *head = bpf_map_lookup_elem(&irqs, &irq);
	__u32 id = head ? READ_ONCE(*head) : 0;

	for (int i = 0; i < IRQTIME_CHAIN && id; i++) {
		struct irqtime_handler *h = bpf_map_lookup_elem(&handlers, &id);

		if (!h)
			return 0;
		if (h->action == (__u64)action)
			return id;
		id = h->next;
	}
	return head && !id ? new_handler(irq, action) : 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_handler_entry, int irq, struct irqaction *action)
{
	return hard_enter((__u64)action);
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_handler_exit, int irq, struct irqaction *action)
{
	__u32 cpu, index;
	struct irqtime_cpu *c = this_cpu(&cpu);
	struct irqtime_sum *s = NULL;
	__u64 ns;

	if (!c || !hard_leave(c, (__u64)action, &ns))
		return 0;
	index = find_handler(irq, action);
	if (index) {
		index += cpu * nr_handlers;
		s = bpf_map_lookup_elem(&sums, &index);
	}
	if (s)
		add(s, ns);
	else
		c->lost++;
	return 0;
}

static __always_inline int vector_leave(enum irqtime_vector v, int number)
{
	__u32 cpu;
	struct irqtime_cpu *c = this_cpu(&cpu);
	__u64 ns;

	if (!c || !hard_leave(c, v + 1, &ns))
		return 0;
	c->vector[v].vector = number;
	add(&c->vector[v].sum, ns);
	return 0;
}

#define VECTOR_PROGRAMS(name)                               \
	SEC("tp_btf/" #name "_entry")                       \
	int BPF_PROG(name##_entry, int vector)              \
	{                                                   \
		return hard_enter(VECTOR_##name + 1);       \
	}                                                   \
	SEC("tp_btf/" #name "_exit")                        \
	int BPF_PROG(name##_exit, int vector)               \
	{                                                   \
		return vector_leave(VECTOR_##name, vector); \
	}
IRQTIME_VECTORS(VECTOR_PROGRAMS)

/* ---- softirqs ---- */

/*
 * The clock of softirqs.  A hard interrupt between the two reads would be taken off without having
 * passed, or the other way round: then it is read again.
 */
static __always_inline __u64 soft_clock(struct irqtime_cpu *c, __u64 *ret_now)
{
	__u64 hard = READ_ONCE(c->hard_ns), now = bpf_ktime_get_ns();

	for (int i = 0; i < 2 && READ_ONCE(c->hard_ns) != hard; i++) {
		hard = READ_ONCE(c->hard_ns);
		now = bpf_ktime_get_ns();
	}
	*ret_now = now;
	return now - hard;
}

/* Interrupts that began before all was attached, or ended while programs could not run. */
static __always_inline void no_hard_interrupt_here(struct irqtime_cpu *c)
{
	if (c->depth) {
		c->depth = 0;
		c->lost++;
	}
}

/* The mask is for the verifier, which forgets a comparison that the compiler made cleverly. */
static __always_inline struct irqtime_softirq *softirq_of(struct irqtime_cpu *c, unsigned int vec)
{
	if (vec >= IRQTIME_SOFTIRQS)
		return NULL;
	barrier_var(vec);
	return &c->softirq[vec & (IRQTIME_SOFTIRQS - 1)];
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(softirq_raise, unsigned int vec)
{
	__u32 cpu;
	struct irqtime_cpu *c = this_cpu(&cpu);
	struct irqtime_softirq *s = c ? softirq_of(c, vec) : NULL;

	/* raised again before it ran: it has waited since the first time */
	if (s && !s->raised)
		s->raised = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_entry, unsigned int vec)
{
	__u32 cpu;
	struct irqtime_cpu *c = this_cpu(&cpu);
	struct irqtime_softirq *s = c ? softirq_of(c, vec) : NULL;
	__u64 raised, now, clock;

	if (!s)
		return 0;
	no_hard_interrupt_here(c);
	/* before the clock: an interrupt that raises it in between may not be later than now */
	raised = READ_ONCE(s->raised);
	clock = soft_clock(c, &now);
	if (raised) {
		WRITE_ONCE(s->raised, 0);
		s->wait_ns += now - raised;
		s->waits++;
	}
	if (c->soft) /* one that was preempted, on a kernel that lets several be under way */
		c->lost++;
	c->soft = vec + 1;
	c->away_since = 0;
	c->soft_before = 0;
	c->soft_start = c->poll_start = clock;
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_exit, unsigned int vec)
{
	__u32 cpu;
	struct irqtime_cpu *c = this_cpu(&cpu);
	struct irqtime_softirq *s = c ? softirq_of(c, vec) : NULL;
	__u64 now, ns;

	if (!s || c->soft != vec + 1)
		return 0;
	ns = soft_clock(c, &now) - c->soft_start;
	c->soft = 0;
	c->soft_ns += ns;
	add(&s->sum, c->soft_before + ns);
	return 0;
}

/* ---- NAPI ---- */

static __always_inline struct irqtime_napi *find_napi(struct irqtime_cpu *c, __u32 cpu,
						      struct napi_struct *napi)
{
	__u32 id = 0;

	/* given out in a row, and 0 for the few that have none: where to look for it */
	if (bpf_core_field_exists(napi->napi_id))
		id = napi->napi_id;
	for (int i = 0; i < IRQTIME_PROBES; i++) {
		__u32 index = cpu * IRQTIME_NAPIS + ((id + i) & (IRQTIME_NAPIS - 1));
		struct irqtime_napi *n = bpf_map_lookup_elem(&napis, &index);

		if (!n)
			return NULL;
		if (n->napi == (__u64)napi && n->id == id)
			return n;
		if (!n->napi) {
			n->id = id;
			bpf_probe_read_kernel_str(n->name, sizeof(n->name), napi->dev->name);
			n->napi = (__u64)napi;
			return n;
		}
	}
	c->lost++;
	return NULL;
}

/*
 * Behind a poll; nothing marks its beginning.  In a softirq it begins where NET_RX or the poll
 * before it did; in a thread of its own where the thread was switched to, or at the poll before.
 * A process that polls (busy polling) has done other things since: its polls have no time.
 */
static __always_inline __u64 poll_time(struct irqtime_cpu *c, struct napi_struct *napi)
{
	__u64 now, clock = soft_clock(c, &now), ns;

	if (c->soft) {
		ns = clock - c->poll_start;
		c->poll_start = clock;
		return ns;
	}
	if (!bpf_core_field_exists(napi->thread) || (__u64)napi->thread != bpf_get_current_task() ||
	    !c->running)
		return 0;
	clock -= c->soft_ns;
	ns = clock - c->thread_poll_start;
	c->thread_poll_start = clock;
	return ns;
}

SEC("tp_btf/napi_poll")
int BPF_PROG(napi_poll, struct napi_struct *napi, int work, int budget)
{
	__u32 cpu;
	struct irqtime_cpu *c = this_cpu(&cpu);
	struct irqtime_napi *n;
	__u64 ns;

	if (!c)
		return 0;
	ns = poll_time(c, napi);
	n = find_napi(c, cpu, napi);
	if (!n)
		return 0;
	add(&n->sum, ns);
	n->packets += work;
	n->full += work >= budget;
	return 0;
}

/* ---- threads ---- */

/*
 * The thread that was running until now, known since it was switched to.  Should a switch in
 * between not have been shown, nobody knows whose time this was.
 */
static __always_inline void thread_ran(struct irqtime_cpu *c, struct task_struct *prev, __u64 ns)
{
	struct irqtime_thread *t;

	if (c->thread.tid != (__u32)prev->pid) {
		c->lost++;
		return;
	}
	t = bpf_map_lookup_elem(&threads, &c->thread);
	if (!t) {
		struct irqtime_thread empty = {};

		bpf_map_update_elem(&threads, &c->thread, &empty, BPF_NOEXIST);
		t = bpf_map_lookup_elem(&threads, &c->thread);
		if (!t) {
			c->lost++;
			return;
		}
	}
	add(&t->sum, ns);
	__builtin_memcpy(t->comm, prev->comm, sizeof(t->comm));
}

/*
 * PREEMPT_RT: softirqs run on top of a thread and are preempted with it.  The first that is
 * switched away from while one is under way is that thread.
 */
static __always_inline void softirq_preempted(struct irqtime_cpu *c, __u64 clock, __u32 prev,
					      __u32 next)
{
	if (c->away_since && next == c->soft_tid) {
		c->poll_start += clock - c->away_since;
		c->soft_start = clock;
		c->away_since = 0;
	} else if (!c->away_since) {
		c->soft_tid = prev;
		c->soft_before += clock - c->soft_start;
		c->soft_ns += clock - c->soft_start;
		c->away_since = clock;
	}
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 cpu, tid;
	struct irqtime_cpu *c = this_cpu(&cpu);
	__u64 clock;

	if (!c)
		return 0;
	no_hard_interrupt_here(c);
	clock = bpf_ktime_get_ns() - c->hard_ns;
	tid = next->pid;
	if (c->soft)
		softirq_preempted(c, clock, prev->pid, tid);
	clock -= c->soft_ns;
	if (want_threads) {
		if (c->running)
			thread_ran(c, prev, clock - c->thread_start);
		c->thread.tid = tid;
		c->thread.cpu = cpu;
		c->thread.started = next->start_time;
		__builtin_memcpy(c->comm, next->comm, sizeof(c->comm));
	}
	c->thread_start = clock;
	c->thread_poll_start = clock;
	c->running = 1;
	return 0;
}
