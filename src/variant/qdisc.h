/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef VARIANT_QDISC_H
#define VARIANT_QDISC_H

/*
 * Queueing disciplines as text: what tc has, but complete and in units that come back exactly.
 *
 *	default pfifo_fast			what the kernel gave the device by itself
 *	fq handle 8001: limit 10000 ...		what somebody set, with all its parameters
 *	default mq of fq_codel			... whose queues got fq_codel from default_qdisc
 *	fq quantum 3000				what a plan asks for: kind, and what it names of it
 *
 * Times are microseconds ("4999us"), rates bits a second or "unlimited", binary ones hexadecimal.
 * Kinds are rows; one that is not among them can be neither set nor given back.  (Kernel:
 * net/sched/sch_*.c and include/uapi/linux/pkt_sched.h, read at 6.18.)  Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct nl_msg;
struct nlattr;

#define QDISC_MAX_PARAMS 20
#define QDISC_VALUE_SIZE 20

enum qdisc_type {
	QDISC_NUMBER,  /* 32 bits */
	QDISC_BYTE,    /* 8 bits */
	QDISC_US,      /* 32 bits, microseconds */
	QDISC_CODEL,   /* the same, but the kernel keeps it in units of 1024 ns */
	QDISC_RATE,    /* 32 bits, bytes a second; all ones: no limit */
	QDISC_PRIOMAP, /* struct tc_prio_qopt */
	QDISC_WEIGHTS, /* three numbers of 32 bits */
};

struct qdisc_param {
	const char *name; /* as tc has it */
	uint16_t attr;
	enum qdisc_type type;
};

struct qdisc_kind {
	const char *name;
	const char *config; /* the kernel's option that has it: "NET_SCH_FQ" */
	bool is_fifo;	    /* its options are a struct with the limit instead of attributes */
	bool is_fixed;	    /* what it tells of itself cannot be set */
	const struct qdisc_param *params; /* ends with {} */
};

struct qdisc {
	const struct qdisc_kind *kind; /* NULL: "default" alone */
	bool is_default;
	uint32_t handle; /* 0: not known, or the default one */
	char leaf[16];	 /* mq: the kind that its queues got by themselves; "": not known */
	uint32_t has;	 /* bit i: parameter i of the kind */
	unsigned char v[QDISC_MAX_PARAMS][QDISC_VALUE_SIZE]; /* as the kernel has it */
};

const struct qdisc_kind *qdisc_kind_find(const char *name);
/* The error lists what there is. */
int qdisc_parse(const char *text, struct qdisc *ret, struct err *e);
int qdisc_format(const struct qdisc *q, char **ret, struct err *e);
/*
 * The options of a dump.  -EINVAL: the kernel tells a parameter that is not in the table, so
 * that it could not be given back.
 */
int qdisc_options(struct qdisc *q, const struct nlattr *options, struct err *e);
/* Appends TCA_OPTIONS where the kind and its parameters want them. */
int qdisc_put_options(struct nl_msg *m, const struct qdisc *q);
/* Do both mean the same?  What only one of them names does not count, unless both are complete. */
bool qdisc_same(const char *a, const char *b);

#endif
