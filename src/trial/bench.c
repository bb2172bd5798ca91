// SPDX-License-Identifier: GPL-3.0-or-later
#include "trial/bench.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "load/peer.h"
#include "trial/privilege.h"
#include "trial/spec.h"
#include "variant/lock.h"
#include "variant/variant.h"

const char *bench_state_dir(void)
{
	const char *dir = getenv("IRQLAB_STATE_DIR"); /* NOLINT(concurrency-mt-unsafe): never set */

	return dir && *dir ? dir : "/var/lib/irqlab";
}

int bench_apply(struct bench *b, const struct instances *knobs, struct applied **ret, struct err *e)
{
	_cleanup_(instances_release) struct instances list = {};

	for (size_t i = 0; i < knobs->nr; i++) {
		_cleanup_(instance_release) struct instance inst = {};
		int r = trial_expand(&b->host, &knobs->v[i], &inst, e);

		if (r >= 0)
			r = instances_add(&list, &inst, e);
		if (r < 0)
			return r;
	}
	return variant_apply(ret, &b->host, b->journal, b->plugins->knobs, &list, e);
}

/* What a killed run left behind is undone before anything new is changed. */
static int replay(struct bench *b, struct err *e)
{
	struct restore_report report = {};
	int r = variant_restore(&b->host, bench_state_dir(), b->plugins->knobs, NULL, NULL, &report,
				e);

	if (r >= 0)
		return 0;
	err_wrap(e, "undo what an earlier run left");
	return e->code = -ENOTRECOVERABLE;
}

static int take_back(struct bench *b, struct err *e)
{
	int r = host_open(&b->host, e);

	if (r >= 0)
		r = lock_acquire(&b->lock, bench_state_dir(), e);
	return r < 0 ? r : replay(b, e);
}

static int take_machine(struct bench *b, const struct bench_spec *spec, struct err *e)
{
	int r = take_back(b, e);

	/* before any thread is made; what an earlier run left may have needed more */
	if (r >= 0)
		r = privilege_reduce(spec->commands, e);
	if (r >= 0)
		r = journal_open(&b->journal, bench_state_dir(), e);
	if (r >= 0)
		r = peer_open(&b->link, spec->peer, spec->addr, spec->port, spec->dut, &b->host, e);
	if (r < 0)
		return r;
	r = bench_apply(b, &spec->setup, &b->setup, e);
	return r < 0 ? err_wrap(e, "setup") : 0;
}

static int look_around(struct bench *b, const struct bench_spec *spec, struct err *e)
{
	int r = audit_goal_copy(&spec->goal, &b->goal, e);

	b->identify = spec->identify;
	/* what differs from the machine the run was begun on is said with the first trial */
	if (r >= 0 && spec->before)
		r = audit_of_env(spec->before, &b->facts, e);
	if (r >= 0)
		r = bench_audit(b, e);
	if (r >= 0 && spec->fix)
		r = bench_mend(b, e);
	return r < 0 ? err_wrap(e, "audit") : 0;
}

static struct bench *bench_new(const struct trial_plugins *plugins)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->plugins = plugins;
	b->host = (struct host){ .proc_fd = -1,
				 .sys_fd = -1,
				 .dev_fd = -1,
				 .dut = { .netns_fd = -1, .sys_fd = -1 },
				 .far = { .netns_fd = -1, .sys_fd = -1 } };
	return b;
}

int bench_restore(const struct trial_plugins *plugins, struct err *e)
{
	struct bench *b = bench_new(plugins);
	struct err ignored = {};
	int r = b ? take_back(b, e) : err_nomem(e, "bench");

	bench_close(b, &ignored);
	return r;
}

int bench_open(struct bench **ret, const struct bench_spec *spec,
	       const struct trial_plugins *plugins, struct err *e)
{
	struct bench *b = bench_new(plugins);
	struct err ignored = {};
	int r;

	if (!b)
		return err_nomem(e, "bench");
	r = take_machine(b, spec, e);
	if (r >= 0)
		r = look_around(b, spec, e);
	if (r < 0) {
		bench_close(b, &ignored);
		return r;
	}
	*ret = b;
	return 0;
}

int bench_close(struct bench *b, struct err *e)
{
	return bench_close_telling(b, NULL, e);
}

int bench_close_telling(struct bench *b, struct buf *others, struct err *e)
{
	struct err first = {};
	int r = 0;

	if (!b)
		return 0;
	r = bench_unmend(b, &first);
	if (b->setup && variant_give_back(b->setup, others, e) < 0)
		r = e->code;
	else if (r < 0)
		*e = first;
	bench_audit_release(b);
	peer_close(b->link);
	journal_close(b->journal);
	lock_release(b->lock);
	host_release(&b->host);
	free(b);
	if (r >= 0)
		return 0;
	err_wrap(e, "undo setup");
	return e->code = -ENOTRECOVERABLE;
}
