/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

/*
 * A plan: YAML text to a validated struct, and the order of its trials.  Pure: no clock, no
 * machine.  What plug-ins exist and which options and metrics they have comes in as a registry.
 *
 * Errors read "plan.yaml:12: cpus "8-x": expected ..." and name the remedy.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/plugin.h"
#include "plan/instance.h"

struct buf;

/* The plug-ins a plan may name, each list ending with NULL. Borrowed. */
struct plan_registry {
	const struct plugin *const *knobs;
	const struct plugin *const *loads;
	const struct plugin *const *probes;
};

enum peer_kind {
	PEER_NONE,  /* no traffic partner: only loads of this machine */
	PEER_NETNS, /* two namespaces and a veth pair made for the run */
	PEER_HOST,  /* HOST[:PORT] of an iperf3 or irqlab server */
};

/* "after: [{ load.net.tcp.rate: 3.8G }]": an option of a load or probe differs in a variant. */
struct override {
	char *scenario; /* loads: the scenario; NULL: a probe */
	char *instance;
	char *key;
	char *value;
	int line;
};

struct variant {
	char *name;
	struct instances knobs;
	struct instances boot; /* "boot:", at most one; see boot.h */
	struct override *overrides;
	size_t nr_overrides;
	int line;
};

struct scenario {
	char *name;
	struct instances loads;
	int line;
};

/* A metric the verdict is about: "wakeup.p99[cpu=1]@net: { margin: 10% }". */
struct plan_metric {
	char *text;	/* as written, "wakeup.p99@net"; with a limit "wakeup.above@net > 100us" */
	char *metric;	/* "wakeup.p99", "throughput" */
	char *labels;	/* canonical as in sample.h: "cpu=1,prio=98", "" for none */
	char *scenario; /* never NULL: the only scenario when the plan does not say */
	double margin;	/* ratio; changes below it do not matter */
	enum better better;
	const char *unit;		/* of the registry */
	const struct metric_desc *desc; /* of the registry */
	char *owner;			/* the instance that measures it: "wakeup" */
	uint64_t limit_ns;		/* of a metric with desc->hist; else 0 */
	int line;
};

/*
 * "discard: { steal: 25%, missed: off, kernel: off }": what a trial must not exceed.  The rules
 * look at the machine's health, and are declared before anything is measured.
 */
struct discard {
	double steal;  /* share of the window that the hypervisor took; 1: any */
	double missed; /* share of the wake-ups that were skipped, of any wakeup probe; 1: any */
	bool kernel;   /* a line of the kernel that is known to spoil a measurement */
};

#define PLAN_LOOKS_MAX 10

struct plan {
	char *name; /* that of the file when the plan has none */
	enum peer_kind peer;
	char *peer_host;    /* PEER_HOST */
	uint16_t peer_port; /* PEER_HOST: 5201 by default */
	char *dut; /* netdev meant by $dut when peer is not netns; NULL: by route to the peer */
	struct instances setup;
	struct variant *variants; /* the first is the baseline */
	size_t nr_variants;
	struct scenario *scenarios; /* at least one; the default is one called "default" */
	size_t nr_scenarios;
	struct instances probes;
	uint64_t settle_ns, warmup_ns, duration_ns;
	unsigned int boots;  /* of each variant, where variants differ in that; else 0 */
	unsigned int blocks; /* 8, or more when the metrics need more; sequential: at the most */
	/*
	 * Sequential design: after how many blocks the verdict is looked at, ascending, the last
	 * one being @blocks.  A fixed design has none.
	 */
	unsigned int looks[PLAN_LOOKS_MAX];
	size_t nr_looks;
	bool until_decided; /* "until: decided" or a budget */
	uint64_t budget_ns; /* what "budget:" allowed, 0 for none */
	struct discard discard;
	struct plan_metric *metrics;
	size_t nr_metrics;
	double alpha;  /* 0.05 */
	uint64_t seed; /* 1; up to 2^32 - 1, what the generator takes */
};

/**
 * plan_parse - YAML text to a validated plan
 * @text: the file's contents, @len bytes; need not end in NUL
 * @file: name for messages
 * @reg: known plug-ins
 * @ret: filled on success; plan_release()
 *
 * Refused among others: unknown keys (with a suggestion), a variant or scenario named twice, a
 * metric that no probe or load of its scenario produces or that has no direction, fewer blocks
 * than plan_min_blocks(), aliases nested into a bomb, over 1 MiB of text.
 */
int plan_parse(const char *text, size_t len, const char *file, const struct plan_registry *reg,
	       struct plan *ret, struct err *e);
void plan_release(struct plan *p);
void variant_release(struct variant *v);

/* Is the verdict looked at before the last block? */
static inline bool plan_is_sequential(const struct plan *p)
{
	return p->nr_looks > 0;
}

/* The first look that can decide anything: smallest n with 2/2^n <= what is spent by then; more
 * than @blocks when there is none. */
unsigned int plan_first_look(size_t nr_metrics, double alpha, unsigned int blocks);

/*
 * Make every variant a copy of the baseline (the names stay): what an A/A run measures.  A plan of
 * one variant gets a second one, "again".
 */
int plan_make_aa(struct plan *p, struct err *e);

/* Who measures @metric ("wakeup.p99", no labels) in scenario @scenario; NULL: nobody. */
const struct metric_desc *plan_find_metric(const struct plan *p, const struct plan_registry *reg,
					   size_t scenario, const char *metric,
					   const char **ret_owner);

/* Smallest n with 2/2^n <= alpha/m: 6 for one metric at 0.05, 7 for two or three, 8 up to six. */
unsigned int plan_min_blocks(size_t nr_metrics, double alpha);

/*
 * A line "variant after, command: set: ethtool ..." for everything that a shell would run as root,
 * and for settings of the kernel that name a program (values that begin with / or |): what a plan
 * from somebody else may do beyond what its knobs say.  Nothing when there is none.
 */
int plan_commands(const struct plan *p, const struct plan_registry *reg, struct buf *out,
		  struct err *e);

/* Loads of @scenario and probes as @variant overrides them; copies. */
int plan_loads(const struct plan *p, size_t variant, size_t scenario, struct instances *ret,
	       struct err *e);
int plan_probes(const struct plan *p, size_t variant, struct instances *ret, struct err *e);

/* One trial of the schedule. */
struct slot {
	unsigned int block;
	unsigned int scenario; /* index */
	unsigned int variant;  /* index */
	uint64_t seed; /* of this trial: probe phases and load arrivals, different in every trial */
};

/**
 * plan_order - the schedule: blocks of every scenario with every variant
 *
 * Where variants differ in what is booted, the blocks are split into as many rounds as there are
 * boots of a variant; in a round each variant has one boot, in random order, and in it all its
 * trials of the round's blocks.  Otherwise:
 *
 * Within a block scenarios come in random order, and within a scenario the variants do, so that
 * paired trials are neighbours in time.  The order depends on @p->seed alone (GSL mt19937, the
 * Fisher-Yates shuffle), and a longer plan with the same seed starts with the same blocks.
 *
 * Return: 0 and an array of blocks * scenarios * variants slots (free()).
 */
int plan_order(const struct plan *p, struct slot **ret, size_t *ret_nr, struct err *e);

/*
 * A line for each quantile of the metrics whose trials are too short for it by the plan's own
 * numbers (rate of round trips or interval of wake-ups, times duration): fewer than 20 samples
 * beyond it, where trials with fewer than 10 have no such value.  Names the duration that suffices.
 */
int plan_short_tails(const struct plan *p, const struct plan_registry *reg, struct buf *out,
		     struct err *e);

/* Time from the first to the last trial as planned [ns], without what set-up takes. */
uint64_t plan_length_ns(const struct plan *p);
/* The same of one block. */
uint64_t plan_block_ns(const struct plan *p);

#endif
