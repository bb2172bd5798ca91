/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BPF_KERNEL_H
#define BPF_KERNEL_H

/*
 * What the programs read of the kernel's types, and no more: the compiler records which fields are
 * used, libbpf finds where this kernel has them (CO-RE).  A field that not every kernel has is
 * asked for with bpf_core_field_exists() first.  Names and types as in the kernel's headers.
 */

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define KERNEL_TYPE __attribute__((preserve_access_index))

struct task_struct {
	int pid;
	__u64 start_time;
	char comm[16];
} KERNEL_TYPE;

struct irqaction {
	const char *name;
} KERNEL_TYPE;

struct net_device {
	char name[16];
} KERNEL_TYPE;

struct napi_struct {
	struct net_device *dev;
	struct task_struct *thread; /* since 5.12 */
	unsigned int napi_id;
} KERNEL_TYPE;

/* The value in memory now, read or written once: interrupts and other CPUs may change it. */
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))

#endif
