// SPDX-License-Identifier: GPL-3.0-or-later
#include "probe/kmsg.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <pthread.h>
#include <string.h>

#include "base/cleanup.h"

/* linux/interrupt.h, in the order of their bits */
static const char *const vectors[] = { "HI",	   "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
				       "IRQ_POLL", "TASKLET", "SCHED",	"HRTIMER", "RCU" };

#define SAYS_PENDING                                                                  \
	"the tick stopped while softirqs were pending, which then wait for the next " \
	"interrupt, up to a tick"
#define SAYS_LINK "the link changed within the window; what crossed it is not comparable"
#define SAYS_RCU "a CPU did not pass through the scheduler for long; something held it"
#define SAYS_CLOCK "the clock source is in doubt, and with it every time measured here"
#define SAYS_HEAT "the CPU was slowed because of heat; cool it or lower its frequency"
#define SAYS_BUG "the kernel is broken from here on; reboot before measuring again"
#define SAYS_HOTPLUG "a CPU went on- or offline within the window"

/* The first that matches counts: the special ones stand before the general ones. */
static const struct kmsg_known known[] = {
	{ "NOHZ: local_softirq_pending ", SAYS_PENDING, .has_mask = true },
	{ "local softirq work is pending, handler #", SAYS_PENDING, .has_mask = true },
	{ "sched: RT throttling activated",
	  "real-time threads used up their share and were all held until the period's end; see "
	  "kernel.sched_rt_runtime_us" },
	{ "sched: DL replenish lagged",
	  "a deadline thread fell behind by more than a period; the CPU was overcommitted or "
	  "stopped" },
	{ "soft lockup", "a CPU ran kernel code for seconds without scheduling" },
	{ "hard LOCKUP", "a CPU kept interrupts off for seconds" },
	{ "Hard LOCKUP", "a CPU kept interrupts off for seconds" },
	{ "detected stalls on CPUs", SAYS_RCU },
	{ "self-detected stall on CPU", SAYS_RCU },
	{ "detected expedited stalls", SAYS_RCU },
	{ "kthread starved for", "the RCU thread got no CPU; a real-time thread may hog it" },
	{ "kthread timer wakeup didn't happen", SAYS_RCU },
	{ "blocked for more than", "a task hung in the kernel" },
	{ "perf: interrupt took too long",
	  "perf's sampling interrupt ran long: it is active and part of what was measured" },
	{ "hrtimer: interrupt took",
	  "the timer interrupt ran long; interrupts were off meanwhile" },
	{ "INFO: NMI handler", "an NMI ran long; nothing else could run on that CPU" },
	{ "hogged CPU for", "a kernel work item kept a CPU from others" },
	{ "clocksource: Switched to clocksource", SAYS_CLOCK },
	{ "clocksource: timekeeping watchdog", SAYS_CLOCK },
	{ "clocksource: Long readout interval", SAYS_CLOCK },
	{ "clocksource: wd-", SAYS_CLOCK },
	{ "Marking clocksource", SAYS_CLOCK },
	{ "Marking TSC unstable", SAYS_CLOCK },
	{ "sched_clock: Marking unstable", SAYS_CLOCK },
	{ "cpu clock throttled", SAYS_HEAT },
	{ "temperature above threshold", SAYS_HEAT },
	{ "temperature/speed normal", SAYS_HEAT },
	{ "NETDEV WATCHDOG", "a transmit queue of the netdev stood still" },
	{ "SATA link", "the link of a disk changed; its interrupts are part of the trial" },
	{ "Link is Up", SAYS_LINK },
	{ "Link is Down", SAYS_LINK },
	{ "Link Up", SAYS_LINK },
	{ "Link Down", SAYS_LINK },
	{ "Link up", SAYS_LINK },
	{ "Link down", SAYS_LINK },
	{ "link up", SAYS_LINK },
	{ "link down", SAYS_LINK },
	{ "link is not ready", SAYS_LINK },
	{ "link becomes ready", SAYS_LINK },
	{ "nobody cared", "an interrupt that no driver claims was switched off" },
	{ "Disabling IRQ #", "an interrupt that no driver claims was switched off" },
	{ "page allocation failure", "memory ran short within an interrupt or a driver" },
	{ "Out of memory: ", "memory ran out and a process was killed" },
	{ "oom-kill:", "memory ran out and a process was killed" },
	{ "smpboot: CPU ", SAYS_HOTPLUG },
	{ "smpboot: Booting", SAYS_HOTPLUG },
	{ "Booted secondary processor", SAYS_HOTPLUG },
	{ "psci: CPU", SAYS_HOTPLUG },
	{ "[Hardware Error]", "the hardware reported an error" },
	{ "kernel BUG at", SAYS_BUG },
	{ "BUG: ", SAYS_BUG },
	{ "Oops", SAYS_BUG },
	{ "general protection fault", SAYS_BUG },
	{ "WARNING: ", "the kernel met a state it holds impossible; its report took time, too" },
};

/* Which of the texts begin with two bytes: 1 + the first one's index, then the next one's. */
static uint8_t by_pair[256], next_of_pair[ARRAY_SIZE(known)];
static pthread_once_t by_pair_once = PTHREAD_ONCE_INIT;

static unsigned int pair_of(const char *s)
{
	return ((unsigned char)s[0] * 31U + (unsigned char)s[1]) % 256;
}

static void make_pairs(void)
{
	_Static_assert(ARRAY_SIZE(known) < 255, "an index and 0 for none fit into a byte");
	for (size_t i = ARRAY_SIZE(known); i-- > 0;) {
		unsigned int pair = pair_of(known[i].match);

		next_of_pair[i] = by_pair[pair];
		by_pair[pair] = (uint8_t)(i + 1);
	}
}

/* One pass: logs are long and hold little that is known. */
const struct kmsg_known *kmsg_find(const char *text)
{
	size_t best = ARRAY_SIZE(known);

	pthread_once(&by_pair_once, make_pairs);
	for (const char *s = text; *s; s++) {
		for (size_t i = by_pair[pair_of(s)]; i && i - 1 < best; i = next_of_pair[i - 1])
			if (strncmp(s, known[i - 1].match, strlen(known[i - 1].match)) == 0)
				best = i - 1;
	}
	return best < ARRAY_SIZE(known) ? &known[best] : NULL;
}

size_t kmsg_nr_known(void)
{
	return ARRAY_SIZE(known);
}

size_t kmsg_index(const struct kmsg_known *k)
{
	return (size_t)(k - known);
}

int kmsg_softirqs(uint64_t mask, struct buf *out)
{
	const char *sep = "";

	for (unsigned int bit = 0; bit < 64; bit++) {
		if (!(mask >> bit & 1))
			continue;
		if (bit < ARRAY_SIZE(vectors))
			buf_printf(out, "%s%s", sep, vectors[bit]);
		else
			buf_printf(out, "%sbit %u", sep, bit);
		sep = " ";
	}
	return out->failed ? -ENOMEM : 0;
}

int kmsg_explain(const struct kmsg_known *k, const char *text, struct buf *out)
{
	const char *at = strstr(text, k->match);

	if (k->has_mask && at) {
		const char *digits = at + strlen(k->match);

		if (isxdigit((unsigned char)*digits)) {
			kmsg_softirqs(strtoull(digits, NULL, 16), out);
			buf_puts(out, " pending: ");
		}
	}
	return buf_puts(out, k->says);
}

/* Digits and the separator behind them. */
static const char *field(const char *p, const char *end, char sep, uint64_t *ret)
{
	uint64_t v = 0;

	if (p == end || !isdigit((unsigned char)*p))
		return NULL;
	for (; p < end && isdigit((unsigned char)*p); p++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return NULL;
	*ret = v;
	return p < end && *p == sep ? p + 1 : NULL;
}

long kmsg_parse(const char *text, size_t len, struct kmsg_record *ret)
{
	const char *end = text + len, *nl = memchr(text, '\n', len), *p = text;
	struct kmsg_record rec = {};
	uint64_t prefix = 0;

	if (!nl)
		return 0;
	p = field(p, nl, ',', &prefix);
	p = p ? field(p, nl, ',', &rec.seq) : NULL;
	p = p ? field(p, nl, ',', &rec.t_us) : NULL;
	p = p ? memchr(p, ';', (size_t)(nl - p)) : NULL;
	if (!p)
		return -EBADMSG;
	rec.level = prefix & 7;
	rec.facility = (unsigned int)(prefix >> 3);
	rec.text = p + 1;
	rec.len = (size_t)(nl - rec.text);
	/* " SUBSYSTEM=net" and the like belong to the record */
	for (nl++; nl < end && *nl == ' '; nl++) {
		nl = memchr(nl, '\n', (size_t)(end - nl));
		if (!nl)
			return 0;
	}
	*ret = rec;
	return nl - text;
}
