// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "variant/journal.h"
#include "variant/variant_parts.h"

/* The last change of the same target decides who has set it, for the earlier ones too. */
static const struct item *later_change(const struct applied *a, size_t item)
{
	const struct item *it = &a->v[item];

	for (size_t i = item + 1; i < a->nr; i++)
		if (a->v[i].change && a->v[i].ops == it->ops &&
		    knob_same_target(it->ops, a->v[i].target, it->target))
			return &a->v[i];
	return NULL;
}

/*
 * Who has set what, before anything is set back: an undo may change other settings as a side
 * effect, and that is not somebody else's doing.
 */
static void find_others(struct applied *a)
{
	for (size_t i = a->nr; i-- > 0;) {
		_cleanup_(freep) char *now = NULL;
		struct item *it = &a->v[i];
		const struct item *later = it->change && a->nr_uses > 1 ? later_change(a, i) : NULL;
		struct err ignored = {};

		if (later && later->found)
			it->found = strdup(later->found);
		if (later || !it->change || !it->settled || it->gone)
			continue;
		if (it->ops->read(a->host, it->target, &now, &ignored) >= 0 &&
		    knob_is_others(it->ops, now, it->old, it->value))
			it->found = take_ptr(now);
	}
}

/* Set back and read back, whatever it is now. */
static int undo_item(const struct applied *a, const struct item *it, struct err *e)
{
	_cleanup_(freep) char *now = NULL, *after = NULL;
	int r = it->ops->read(a->host, it->target, &now, e);

	if (knob_is_gone(r) || (r >= 0 && it->old && knob_same(it->ops, now, it->old)))
		return 0;
	journal_undoing(a->journal, it->change);
	r = it->ops->write(a->host, it->target, it->old ? it->old : "", e);
	if (knob_is_gone(r))
		return 0;
	if (r < 0)
		return r;
	r = it->ops->read(a->host, it->target, &after, e);
	if (r == -ENODATA || knob_is_gone(r))
		return 0;
	if (r < 0)
		return r;
	if (it->old && !knob_same(it->ops, after, it->old))
		return err_set(e, -EIO, "wrote \"%s\", but it reads back \"%s\"", it->old, after);
	return 0;
}

static int undo_all(const struct applied *a, struct buf *others, struct err *e)
{
	_cleanup_(buf_release) struct buf list = {};
	size_t failed = 0;

	for (size_t i = a->nr; i-- > 0;) {
		const struct item *it = &a->v[i];
		struct err why = {};
		int r;

		if (!it->change)
			continue;
		if (it->found && others && !applied_is_superseded(a, i))
			buf_printf(others,
				   "%s %s is \"%s\", neither \"%s\" as before nor \"%s\" as irqlab "
				   "set it: somebody else changed it, left alone\n",
				   it->ops->plugin.name, it->target, it->found, it->old, it->value);
		r = it->found ? 0 : undo_item(a, it, &why);
		if (r >= 0)
			r = journal_done(a->journal, it->change, &why);
		if (r >= 0)
			continue;
		buf_printf(&list, "%s%s %s = \"%s\": %s", failed++ ? "; " : "",
			   it->ops->plugin.name, it->target, it->old ? it->old : "", why.msg);
	}
	if (failed)
		return err_set(e, -EIO,
			       "%zu settings were not set back (irqlab restore tries again): %s",
			       failed, buf_str(&list));
	return 0;
}

int variant_give_back(struct applied *a, struct buf *others, struct err *e)
{
	int r = 0;

	if (a) {
		find_others(a);
		r = undo_all(a, others, e);
	}
	applied_free(a);
	return r;
}

int variant_undo(struct applied *a, struct err *e)
{
	return variant_give_back(a, NULL, e);
}
