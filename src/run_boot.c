// SPDX-License-Identifier: GPL-3.0-or-later
#include "run_boot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "plan/boot.h"
#include "plan/plan.h"
#include "sample/sample.h"
#include "store/store.h"

#define METRIC "boot"

static int read_from(const struct host *host, struct run_boot *ret, struct err *e)
{
	_cleanup_(run_boot_release) struct run_boot b = {};
	int r = kfile_read_line(host->proc_fd, "sys/kernel/osrelease", &b.release, e);

	if (r >= 0)
		r = kfile_read_line(host->proc_fd, "sys/kernel/version", &b.version, e);
	if (r >= 0)
		r = kfile_read_line(host->proc_fd, "cmdline", &b.cmdline, e);
	if (r >= 0)
		r = kfile_read_line(host->proc_fd, "sys/kernel/random/boot_id", &b.id, e);
	if (r < 0)
		return r;
	*ret = b;
	b = (struct run_boot){};
	return 0;
}

int run_boot_read(struct run_boot *ret, struct err *e)
{
	struct host host = {};
	int r = host_open(&host, e);

	if (r < 0)
		return r;
	r = read_from(&host, ret, e);
	host_release(&host);
	return r;
}

void run_boot_release(struct run_boot *b)
{
	free(b->release);
	free(b->version);
	free(b->cmdline);
	free(b->id);
	*b = (struct run_boot){};
}

static void put_how(const struct boot_wish *w, const struct run_boot *b, const char *name,
		    struct buf *how)
{
	buf_printf(how, "The next trial is of variant %s, which wants another boot.\n", name);
	if (w->kernel)
		buf_printf(how, "  kernel:   %s (running: %s)\n", w->kernel, b->release);
	if (w->missing.len)
		buf_printf(how, "  to add:   %s\n", buf_str(&w->missing));
	if (w->extra.len)
		buf_printf(how, "  to go:    %s\n", buf_str(&w->extra));
	buf_printf(how,
		   "Boot with this command line:\n  %s\n"
		   "With GRUB: set it in GRUB_CMDLINE_LINUX of /etc/default/grub, run update-grub "
		   "and reboot;\nwith systemd-boot: in the options line of the entry. Then go on "
		   "with: irqlab run --resume\n",
		   buf_str(&w->cmdline));
}

int run_boot_check(const struct run_boot *b, const struct plan *p, size_t variant, struct buf *how,
		   struct err *e)
{
	const struct boot_state now = { b->release, b->version, b->cmdline };
	_cleanup_(boot_wish_release) struct boot_wish w = {};
	const char *name = p->variants[variant].name;
	int r = plan_boot_check(p, variant, &now, &w, e);

	if (r < 0)
		return err_wrap(e, "variant %s", name);
	if (w.met)
		return 0;
	put_how(&w, b, name, how);
	return err_set(e, -EAGAIN, "variant %s wants another boot", name);
}

int run_boot_note(const struct run_boot *b, struct record_list *records, struct err *e)
{
	const struct record rec = { .kind = RECORD_EVENT,
				    .metric = METRIC,
				    .unit = "",
				    .labels = "",
				    .severity = SEVERITY_NOTE,
				    .text = b->id };
	struct record *copy = record_copy(&rec);

	return copy ? record_list_take(records, copy, e) : err_nomem(e, METRIC);
}

/* Does the trial say that it was measured in this boot? */
static int is_of_boot(const struct run_boot *b, struct store *s, int64_t trial, bool *ret,
		      struct err *e)
{
	_cleanup_(record_list_release) struct record_list l = {};
	int r = store_records(s, trial, RECORD_EVENT, METRIC, &l, e);

	*ret = false;
	for (size_t i = 0; i < l.nr && r >= 0; i++)
		*ret |= strcmp(l.v[i]->text, b->id) == 0;
	return r;
}

int run_boot_index(const struct run_boot *b, struct store *s, int64_t run, unsigned int variant,
		   unsigned int *ret, struct err *e)
{
	struct trial_info *trials = NULL;
	unsigned int next = 0;
	size_t nr = 0;
	bool found = false;
	int r = store_trials(s, run, &trials, &nr, e);

	/* the newest first: it is of this boot or none is */
	for (size_t i = nr; i-- > 0 && r >= 0 && !found;) {
		if (trials[i].variant != variant)
			continue;
		if (trials[i].boot >= next)
			next = trials[i].boot + 1;
		r = is_of_boot(b, s, trials[i].id, &found, e);
		if (found)
			next = trials[i].boot;
	}
	trials_free(trials, nr);
	if (r >= 0)
		*ret = next;
	return r;
}
