// SPDX-License-Identifier: GPL-3.0-or-later
/* The accounts of a build without BPF: there are none, and it says what to do. */
#include "probe/irqtime.h"

#include <errno.h>
#include <stddef.h>

#include "base/err.h"

static int no_bpf(struct err *e)
{
	return err_set(e, -EOPNOTSUPP,
		       "built without BPF: install clang libbpf-dev bpftool and build again");
}

int irqtime_usable(struct err *why)
{
	return no_bpf(why);
}

int irqtime_open(struct irqtime **ret, const struct irqtime_opts *opts, struct err *e)
{
	return no_bpf(e);
}

int irqtime_read(struct irqtime *t, struct irqtime_table *ret, struct err *e)
{
	return no_bpf(e);
}

const char *const *irqtime_lacks(const struct irqtime *t)
{
	static const char *const none[] = { NULL };

	return none;
}

void irqtime_close(struct irqtime *t)
{
}

void irqtime_closep(struct irqtime **t)
{
}
