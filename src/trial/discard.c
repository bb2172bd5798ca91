// SPDX-License-Identifier: GPL-3.0-or-later
#include "trial/discard.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "plan/plan.h"
#include "sample/sample.h"
#include "trial/trial.h"

/* The largest value of the probes of @plugin for @name over the whole machine; 0 without one. */
static double worst(const struct plan *p, const struct record_list *l, const char *plugin,
		    const char *name)
{
	double most = 0;

	for (size_t i = 0; i < l->nr; i++) {
		const struct record *rec = l->v[i];
		const char *dot = strrchr(rec->metric, '.');
		size_t owner = dot ? (size_t)(dot - rec->metric) : 0;
		/* guards that the plan does not name are called after their plug-in */
		bool ours = strlen(plugin) == owner && memcmp(rec->metric, plugin, owner) == 0;

		if (rec->kind != RECORD_SCALAR || *rec->labels || !dot ||
		    strcmp(dot + 1, name) != 0)
			continue;
		for (size_t k = 0; k < p->probes.nr && !ours; k++)
			ours = strcmp(p->probes.v[k].plugin, plugin) == 0 &&
			       strlen(p->probes.v[k].name) == owner &&
			       memcmp(rec->metric, p->probes.v[k].name, owner) == 0;
		if (ours && rec->value > most)
			most = rec->value;
	}
	return most;
}

void discard_check(const struct plan *p, const struct record_list *records,
		   struct trial_result *result)
{
	const struct discard *d = &p->discard;
	double steal = worst(p, records, "cpu", "steal");
	double missed = worst(p, records, "wakeup", "missed-ratio");
	double lines = d->kernel ? worst(p, records, "kmsg", "warnings") : 0;

	if (result->state != TRIAL_OK)
		return;
	if (steal > d->steal)
		err_set(&result->reason, -EPERM,
			"discarded: the hypervisor took %.1f %% of the CPU time, above the plan's "
			"%.3g %%",
			100 * steal, 100 * d->steal);
	else if (missed > d->missed)
		err_set(&result->reason, -EPERM,
			"discarded: %.1f %% of the wake-ups were skipped, above the plan's %.3g %%",
			100 * missed, 100 * d->missed);
	else if (lines > 0)
		err_set(&result->reason, -EPERM,
			"discarded: the kernel printed %.0f lines that are known to spoil a "
			"measurement",
			lines);
	else
		return;
	result->state = TRIAL_VETOED;
}
