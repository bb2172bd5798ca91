// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "variant/journal.h"
#include "variant/knob.h"
#include "variant/variant.h"

enum outcome {
	OUTCOME_UNDONE,
	OUTCOME_VOID,
	OUTCOME_OTHERS,
	OUTCOME_FAILED,
};

struct restoring {
	const struct host *host;
	struct journal *journal;
	const char *boot;
	const char *netns;
	const struct knob_ops *const *knobs;
	void (*log)(void *arg, const char *line);
	void *arg;
	struct restore_report report;
	struct buf failures;
};

/* Writes the old value and reads it back. */
static enum outcome set_back(const struct restoring *rs, const struct knob_ops *ops,
			     const struct change *c, struct buf *text, struct err *why)
{
	_cleanup_(freep) char *now = NULL;
	int r;

	journal_undoing(rs->journal, c->id);
	r = ops->write(rs->host, c->target, c->old ? c->old : "", why);
	if (r >= 0)
		r = ops->read(rs->host, c->target, &now, why);
	if (r == -ENODATA || (r >= 0 && !c->old)) {
		buf_puts(text, "undone, which nothing can prove");
		return OUTCOME_UNDONE;
	}
	if (r < 0) {
		buf_printf(text, "not undone: %s", why->msg);
		return OUTCOME_FAILED;
	}
	if (!knob_same(ops, now, c->old)) {
		buf_printf(text, "wrote \"%s\", but it reads back \"%s\"", c->old, now);
		return OUTCOME_FAILED;
	}
	buf_printf(text, "set back to \"%s\"", c->old);
	return OUTCOME_UNDONE;
}

/* What somebody else has set each of the changes to, NULL where nobody has. */
struct found {
	char **v;
	size_t nr;
};

static void found_release(struct found *f)
{
	for (size_t i = 0; i < f->nr && f->v; i++)
		free(f->v[i]);
	free(f->v);
}

/* Is undoing @c something that this process, here and now, can try? */
static bool is_ours(const struct restoring *rs, const struct change *c)
{
	return strcmp(c->boot, rs->boot) == 0 && !c->ephemeral &&
	       (!c->netns || !rs->netns || strcmp(c->netns, rs->netns) == 0);
}

static void find_others_of(const struct restoring *rs, const struct changes *l, size_t i,
			   struct found *f)
{
	_cleanup_(freep) char *now = NULL;
	const struct change *c = &l->v[i];
	const struct knob_ops *ops = NULL;
	struct err ignored = {};

	if (!is_ours(rs, c) || knob_find(rs->knobs, c->knob, &ops, &ignored) < 0)
		return;
	/* the last change of the same target decides who has set it, for the earlier ones too */
	for (size_t k = i + 1; k < l->nr; k++)
		if (strcmp(l->v[k].knob, c->knob) == 0 &&
		    knob_same_target(ops, l->v[k].target, c->target)) {
			f->v[i] = f->v[k] ? strdup(f->v[k]) : NULL;
			return;
		}
	/* a change cut short may have left anything */
	if (c->set && !c->blind && ops->read(rs->host, c->target, &now, &ignored) >= 0 &&
	    knob_is_others(ops, now, c->old, c->new_value))
		f->v[i] = take_ptr(now);
}

static enum outcome restore_here(const struct restoring *rs, const struct knob_ops *ops,
				 const struct change *c, const char *others, struct buf *text)
{
	struct err why = {};
	_cleanup_(freep) char *now = NULL;
	int r = ops->read(rs->host, c->target, &now, &why);

	if (knob_is_gone(r)) {
		buf_puts(text, "no longer exists: nothing to undo");
		return OUTCOME_VOID;
	}
	if (r < 0 && r != -ENODATA) {
		buf_printf(text, "cannot be read: %s", why.msg);
		return OUTCOME_FAILED;
	}
	if (now && c->old && knob_same(ops, now, c->old)) {
		buf_printf(text, "is \"%s\" as before", now);
		return OUTCOME_UNDONE;
	}
	if (others) {
		buf_printf(
			text,
			"is \"%s\", neither \"%s\" as before nor \"%s\" as irqlab set it: somebody "
			"else changed it, left alone",
			others, c->old, c->new_value);
		return OUTCOME_OTHERS;
	}
	return set_back(rs, ops, c, text, &why);
}

static enum outcome restore_one(const struct restoring *rs, const struct change *c,
				const char *others, struct buf *text)
{
	const struct knob_ops *ops = NULL;
	struct err why = {};

	if (strcmp(c->boot, rs->boot) != 0) {
		buf_puts(text, "changed before a reboot: not undone");
		return OUTCOME_VOID;
	}
	if (c->ephemeral) {
		buf_puts(text, "ended with the run's network namespace: nothing to undo");
		return OUTCOME_VOID;
	}
	if (c->netns && rs->netns && strcmp(c->netns, rs->netns) != 0) {
		buf_printf(
			text,
			"was changed in the network namespace %s, this is %s: run irqlab restore "
			"there (nsenter, ip netns exec), or with --forget if it is gone",
			c->netns, rs->netns);
		return OUTCOME_FAILED;
	}
	if (knob_find(rs->knobs, c->knob, &ops, &why) < 0) {
		buf_puts(text, why.msg);
		return OUTCOME_FAILED;
	}
	return restore_here(rs, ops, c, others, text);
}

static void count(struct restoring *rs, enum outcome outcome, const char *line)
{
	switch (outcome) {
	case OUTCOME_UNDONE:
		rs->report.undone++;
		break;
	case OUTCOME_VOID:
		rs->report.void_++;
		break;
	case OUTCOME_OTHERS:
		rs->report.changed_by_others++;
		break;
	case OUTCOME_FAILED:
		rs->report.failed++;
		buf_printf(&rs->failures, "%s%s", rs->failures.len ? "; " : "", line);
		break;
	}
	if (rs->log)
		rs->log(rs->arg, line);
}

static int restore_all(struct restoring *rs, struct journal *j, const struct changes *l,
		       struct err *e)
{
	_cleanup_(found_release) struct found others = { .v = calloc(l->nr + 1, sizeof(char *)),
							 .nr = l->nr };
	int r;

	if (!others.v)
		return err_nomem(e, "journal");
	/* before anything is set back: that may change other settings as a side effect */
	rs->journal = j;
	for (size_t i = l->nr; i-- > 0;)
		find_others_of(rs, l, i, &others);
	for (size_t i = l->nr; i-- > 0;) {
		_cleanup_(buf_release) struct buf line = {};
		const struct change *c = &l->v[i];
		enum outcome outcome;

		buf_printf(&line, "%s %s: ", c->knob, c->target);
		outcome = restore_one(rs, c, others.v[i], &line);
		r = outcome == OUTCOME_FAILED ? 0 : journal_done(j, c->id, e);
		if (r < 0)
			return r;
		count(rs, outcome, buf_str(&line));
	}
	return 0;
}

/* A damaged line in a file that is otherwise of an earlier boot is of an earlier boot too. */
static int judge_damage(struct restoring *rs, struct journal *j, const struct changes *l,
			const char *dir, struct err *e)
{
	_cleanup_(buf_release) struct buf line = {};

	if (l->nr_damaged == 0)
		return 0;
	buf_printf(&line, "%s/journal: %zu damaged lines, the first is line %zu", dir,
		   l->nr_damaged, l->first_damaged);
	if (l->all_of_other_boots && rs->report.failed == 0) {
		buf_puts(&line, "; of an earlier boot: nothing to undo");
		count(rs, OUTCOME_VOID, buf_str(&line));
		return journal_remove(j, e);
	}
	buf_puts(&line, ": what they changed is not known; look at the file, then "
			"irqlab restore --forget");
	count(rs, OUTCOME_FAILED, buf_str(&line));
	return 0;
}

static void restoring_release(struct restoring *rs)
{
	buf_release(&rs->failures);
}

/* NOLINTNEXTLINE(readability-function-size): callback and its argument count as two */
int variant_restore(const struct host *host, const char *dir, const struct knob_ops *const *knobs,
		    void (*log)(void *arg, const char *line), void *arg, struct restore_report *ret,
		    struct err *e)
{
	_cleanup_(restoring_release) struct restoring rs = {
		.host = host, .knobs = knobs, .log = log, .arg = arg
	};
	_cleanup_(journal_closep) struct journal *j = NULL;
	_cleanup_(changes_release) struct changes l = {};
	_cleanup_(freep) char *boot = NULL, *netns = journal_netns(host->proc_fd);
	int r = journal_boot_id(host->proc_fd, &boot, e);

	if (r >= 0)
		r = journal_load(&j, dir, false, boot, &l, e);
	if (!j)
		return r;
	rs.boot = boot;
	rs.netns = netns;
	r = restore_all(&rs, j, &l, e);
	if (r >= 0)
		r = judge_damage(&rs, j, &l, dir, e);
	if (r >= 0 && l.nr == 0 && l.nr_damaged == 0)
		r = journal_remove(j, e);
	*ret = rs.report;
	if (r < 0)
		return r;
	if (rs.report.failed)
		return err_set(e, -EIO, "%zu changes of an earlier run were not undone: %s",
			       rs.report.failed, buf_str(&rs.failures));
	return 0;
}

int variant_forget(const char *dir, struct err *e)
{
	_cleanup_(journal_closep) struct journal *j = NULL;
	_cleanup_(changes_release) struct changes l = {};
	int r = journal_load(&j, dir, false, "", &l, e);

	return j ? journal_remove(j, e) : r;
}
