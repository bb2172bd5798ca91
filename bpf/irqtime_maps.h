/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BPF_IRQTIME_MAPS_H
#define BPF_IRQTIME_MAPS_H

/*
 * What irqtime.bpf.c and its reader share: the layout of its maps.  All but the threads are arrays
 * that the reader maps into its memory; a CPU writes to its own elements alone.
 */

#include <linux/types.h>

#define IRQTIME_NR_IRQS 65536 /* interrupts with a higher number are lost */
#define IRQTIME_SOFTIRQS 16   /* vectors; kernels have 10 */
#define IRQTIME_NESTED 4      /* hard interrupts inside each other */
#define IRQTIME_NAPIS 128     /* NAPI instances polled on one CPU; a power of two */
#define IRQTIME_PROBES 16     /* places where an instance may be found */
#define IRQTIME_CHAIN 16      /* handlers of one interrupt, those that are gone included */

/* x86's vectors that are no numbered interrupts: tracepoints NAME_entry and NAME_exit. */
#define IRQTIME_VECTORS(V)      \
	V(local_timer)          \
	V(reschedule)           \
	V(call_function)        \
	V(call_function_single) \
	V(irq_work)             \
	V(x86_platform_ipi)     \
	V(thermal_apic)         \
	V(threshold_apic)       \
	V(deferred_error_apic)  \
	V(error_apic)           \
	V(spurious_apic)

#define IRQTIME_VECTOR_INDEX(name) VECTOR_##name,
enum irqtime_vector { IRQTIME_VECTORS(IRQTIME_VECTOR_INDEX) NR_VECTORS };
#undef IRQTIME_VECTOR_INDEX

struct irqtime_sum {
	__u64 count;
	__u64 ns;
	__u64 max_ns;
};

/* A hard interrupt under way. */
struct irqtime_frame {
	__u64 key;   /* its struct irqaction, or a vector's index + 1 */
	__u64 start; /* [ns] */
	__u64 inner; /* of interrupts within it [ns] */
};

struct irqtime_softirq {
	struct irqtime_sum sum;
	__u64 raised; /* when it was raised first since it last ran [ns]; 0: it is not */
	__u64 wait_ns;
	__u64 waits;
};

struct irqtime_tick {
	struct irqtime_sum sum;
	__u64 vector; /* its number */
};

struct irqtime_thread_key {
	__u32 tid;
	__u32 cpu;
	__u64 started; /* tids are used again */
};

struct irqtime_thread {
	struct irqtime_sum sum;
	char comm[16];
};

/* A handler of an interrupt: its rows are at the same index in each CPU's part of "sums". */
struct irqtime_handler {
	__u64 action; /* its struct irqaction */
	__u32 irq;
	__u32 next; /* handler of the same interrupt; 0: none */
	char name[32];
};

struct irqtime_napi {
	__u64 napi; /* its struct napi_struct; 0: free */
	__u64 id;
	struct irqtime_sum sum;
	__u64 packets;
	__u64 full; /* polls that used up their budget */
	char name[16];
};

/*
 * A CPU.  Three clocks tell exclusive time: of hard interrupts (the monotonic one, inner ones taken
 * off by their frames), of softirqs (stands still in hard interrupts) and of threads (stands still
 * in softirqs, too).
 */
struct irqtime_cpu {
	__u64 hard_ns; /* all hard interrupts that ended */
	__u32 depth;   /* of hard interrupts under way */
	__u32 soft;    /* softirq vector + 1 under way; 0: none */
	struct irqtime_frame frame[IRQTIME_NESTED];

	__u64 soft_ns;	  /* all softirqs that ended */
	__u64 soft_start; /* of the one under way [softirq clock] */
	__u64 poll_start; /* where the next poll in it begins [softirq clock] */
	/* PREEMPT_RT: the one under way was preempted with the thread that it runs on top of */
	__u64 soft_before; /* its time until then */
	__u64 away_since;  /* [softirq clock]; 0: it is not preempted now */
	__u32 soft_tid;
	__u32 running; /* the thread below is known */

	struct irqtime_thread_key thread;
	__u64 thread_start;	 /* [thread clock] */
	__u64 thread_poll_start; /* where its next poll begins [thread clock] */
	char comm[16];

	__u64 lost;
	struct irqtime_softirq softirq[IRQTIME_SOFTIRQS];
	struct irqtime_tick vector[NR_VECTORS];
} __attribute__((aligned(64)));

#endif
