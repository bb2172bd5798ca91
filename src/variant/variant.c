// SPDX-License-Identifier: GPL-3.0-or-later
#include "variant/variant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "variant/journal.h"
#include "variant/variant_parts.h"

static void item_release(struct item *it)
{
	free(it->target);
	free(it->value);
	free(it->old);
	free(it->found);
	*it = (struct item){};
}

void applied_free(struct applied *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->nr; i++)
		item_release(&a->v[i]);
	for (size_t i = 0; i < a->nr_uses; i++) {
		instance_release(&a->uses[i].inst);
		free(a->uses[i].note);
	}
	free(a->v);
	free(a->uses);
	free(a->boot);
	free(a->netns);
	free(a);
}

static void applied_freep(struct applied **a)
{
	applied_free(*a);
}

/* Appends a copy of @s; the pointer is valid until the next call. */
static struct item *add_item(struct applied *a, size_t use, const struct knob_setting *s)
{
	struct item it = { .ops = a->uses[use].ops,
			   .use = use,
			   .target = strdup(s->target),
			   .value = strdup(s->value),
			   .blind = s->blind };
	struct item *v = realloc(a->v, (a->nr + 1) * sizeof(*v));

	if (v)
		a->v = v;
	if (!v || !it.target || !it.value) {
		item_release(&it);
		return NULL;
	}
	a->v[a->nr] = it;
	return &a->v[a->nr++];
}

/*
 * After the write: does it read back as wanted, or where that cannot be foretold otherwise than
 * @before?  Keeps in @it what must read back from now on.
 */
static int check_written(const struct applied *a, struct item *it, const char *before,
			 struct err *e)
{
	_cleanup_(freep) char *now = NULL;
	int r = it->ops->read(a->host, it->target, &now, e);

	if (r == -ENODATA) {
		free(it->value);
		it->value = NULL;
		return 0;
	}
	if (r < 0)
		return r;
	if (it->blind && before && knob_same(it->ops, now, before))
		return err_set(e, -EIO, "still reads \"%s\" as before", now);
	if (!it->blind && !knob_same(it->ops, now, it->value))
		return err_set(e, -EIO, "wrote \"%s\", but it reads back \"%s\"", it->value, now);
	if (it->blind) {
		free(it->value);
		it->value = take_ptr(now);
	}
	return 0;
}

/*
 * Does the target belong to a network namespace, so that elsewhere the same name is another thing?
 * That is what would end with a namespace of the run's own: asked of a host that has one.
 */
static bool is_of_netns(const struct applied *a, const struct item *it)
{
	struct host host = *a->host;

	if (host.dut.netns_fd < 0)
		host.dut.netns_fd = 0; /* only looked at, never used */
	return it->ops->ephemeral && it->ops->ephemeral(&host, it->target);
}

/* Journal, write, read back.  On failure @it->change tells undo whether there is work. */
static int change(struct applied *a, struct item *it, const char *before, struct err *e)
{
	struct change c = { .knob = it->ops->plugin.name,
			    .target = it->target,
			    .old = it->old,
			    .new_value = it->value,
			    .boot = a->boot,
			    .netns = is_of_netns(a, it) ? a->netns : NULL,
			    .ephemeral = it->ops->ephemeral &&
					 it->ops->ephemeral(a->host, it->target),
			    .blind = it->blind,
			    .pid = getpid() };
	int r = journal_begin(a->journal, &c, e);

	if (r < 0)
		return r;
	it->change = c.id;
	r = it->ops->write(a->host, it->target, it->value, e);
	if (r < 0)
		return r;
	r = check_written(a, it, before, e);
	if (r < 0)
		return r;
	journal_set(a->journal, c.id);
	return 0;
}

/*
 * To what @it is to be set back: where we have changed the target before, to what it was before
 * that.  So every change of the journal can be undone by itself, whatever became of the others.
 */
static int keep_old(const struct applied *a, struct item *it, const char *now, struct err *e)
{
	const char *old = now;

	for (size_t i = 0; i + 1 < a->nr && a->nr_uses > 1; i++)
		if (a->v[i].change && a->v[i].ops == it->ops &&
		    knob_same_target(it->ops, a->v[i].target, it->target)) {
			old = a->v[i].old;
			break;
		}
	it->old = old ? strdup(old) : NULL;
	return old && !it->old ? err_nomem(e, it->target) : 0;
}

int applied_set(struct applied *a, size_t use, const struct knob_setting *s, struct err *e)
{
	bool may_go = a->uses[use].appears;
	struct item *it = add_item(a, use, s);
	_cleanup_(freep) char *now = NULL;
	int r;

	if (!it)
		return err_nomem(e, s->target);
	r = it->ops->read(a->host, it->target, &now, e);
	if (may_go && knob_is_gone(r)) {
		item_release(&a->v[--a->nr]);
		return 0;
	}
	if (r < 0 && r != -ENODATA)
		return r;
	if (now && !it->blind && knob_same(it->ops, now, it->value))
		return 1;
	r = keep_old(a, it, now, e);
	if (r >= 0)
		r = change(a, it, now, e);
	it->gone = may_go && knob_is_gone(r);
	if (it->gone)
		return 0;
	return r < 0 ? r : 1;
}

static int add_use(struct applied *a, const struct knob_ops *ops, const struct instance *inst,
		   struct err *e)
{
	struct use u = { .ops = ops };
	int r = 0;

	u.appears = ops->appears && ops->appears(a->host, inst, &u.stamp);
	/* what came between this stamp and the list of the settings is found the next time */
	u.again = u.appears;
	if (u.appears)
		r = instance_copy(inst, &u.inst, e);
	if (r >= 0)
		a->uses[a->nr_uses++] = u;
	return r;
}

static int apply_instance(struct applied *a, const struct knob_ops *const *knobs,
			  const struct instance *inst, struct err *e)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};
	const struct knob_ops *ops = NULL;
	int r = knob_find(knobs, inst->plugin, &ops, e);

	if (r >= 0)
		r = add_use(a, ops, inst, e);
	if (r >= 0)
		r = ops->resolve(a->host, inst, &l, e);
	if (r < 0)
		return err_wrap(e, "knob %s", inst->plugin);
	a->uses[a->nr_uses - 1].note = take_ptr(l.note);
	for (size_t i = 0; i < l.nr; i++) {
		r = applied_set(a, a->nr_uses - 1, &l.v[i], e);
		if (r < 0)
			return err_wrap(e, "knob %s: %s = \"%s\"", inst->plugin, l.v[i].target,
					l.v[i].value);
	}
	return 0;
}

/* Find mistakes before anything is changed. */
static int resolve_all(const struct host *host, const struct knob_ops *const *knobs,
		       const struct instances *list, struct err *e)
{
	for (size_t i = 0; i < list->nr; i++) {
		_cleanup_(knob_settings_release) struct knob_settings l = {};
		const struct knob_ops *ops = NULL;
		int r = knob_find(knobs, list->v[i].plugin, &ops, e);

		if (r < 0)
			return r;
		r = ops->usable(host, e);
		if (r >= 0)
			r = ops->resolve(host, &list->v[i], &l, e);
		if (r < 0 && !(r == -ENOENT && i > 0))
			return err_wrap(e, "knob %s", list->v[i].plugin);
	}
	return 0;
}

static int undo_after_failure(struct applied *a, int r, struct err *e)
{
	struct err undo = {};

	if (variant_undo(a, &undo) >= 0)
		return r;
	err_wrap(e, "%s; this came after", undo.msg);
	e->code = -ENOTRECOVERABLE;
	return e->code;
}

/*
 * One setting may change another as a side effect.  What reads back as set now that all is done
 * was somebody else's doing when it changes later; anything else is ours to set back in any case.
 */
static void settle(struct applied *a)
{
	for (size_t i = 0; i < a->nr; i++) {
		_cleanup_(freep) char *now = NULL;
		struct item *it = &a->v[i];
		struct err ignored = {};

		if (it->change && it->value && !it->gone)
			it->settled = it->ops->read(a->host, it->target, &now, &ignored) >= 0 &&
				      knob_same(it->ops, now, it->value);
	}
}

int variant_apply(struct applied **ret, const struct host *host, struct journal *j,
		  const struct knob_ops *const *knobs, const struct instances *list, struct err *e)
{
	_cleanup_(applied_freep) struct applied *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return err_nomem(e, "variant");
	a->host = host;
	a->journal = j;
	a->netns = journal_netns(host->proc_fd);
	a->uses = calloc(list->nr + 1, sizeof(*a->uses));
	if (!a->uses)
		return err_nomem(e, "variant");
	r = journal_boot_id(host->proc_fd, &a->boot, e);
	if (r >= 0)
		r = resolve_all(host, knobs, list, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < list->nr; i++) {
		r = apply_instance(a, knobs, &list->v[i], e);
		if (r < 0)
			return undo_after_failure(take_ptr(a), r, e);
	}
	settle(a);
	*ret = take_ptr(a);
	return 0;
}

bool applied_is_superseded(const struct applied *a, size_t item)
{
	const struct item *it = &a->v[item];

	for (size_t i = item + 1; i < a->nr && a->nr_uses > 1; i++)
		if (a->v[i].ops == it->ops && knob_same_target(it->ops, a->v[i].target, it->target))
			return true;
	return false;
}

int variant_verify(const struct applied *a, struct err *e)
{
	for (size_t i = 0; i < a->nr; i++) {
		_cleanup_(freep) char *now = NULL;
		const struct item *it = &a->v[i];
		int r;

		if (!it->value || it->gone || it->refused || applied_is_superseded(a, i))
			continue;
		r = it->ops->read(a->host, it->target, &now, e);
		if (r == -ENODATA || (a->uses[it->use].appears && knob_is_gone(r)))
			continue;
		if (r < 0)
			return err_wrap(e, "knob %s: %s", it->ops->plugin.name, it->target);
		if (!knob_same(it->ops, now, it->value))
			return err_set(e, -EIO,
				       "knob %s: %s was set to \"%s\" and is \"%s\" now: something "
				       "else on this machine changes it",
				       it->ops->plugin.name, it->target, it->value, now);
	}
	return 0;
}
