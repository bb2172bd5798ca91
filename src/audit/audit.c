// SPDX-License-Identifier: GPL-3.0-or-later
#include "audit/audit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/cache.h"
#include "audit/check.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

#define CHECK(name) extern const struct check check_##name;
#include "audit/checks.def"
#undef CHECK

static const struct check *const checks[] = {
#define CHECK(name) &check_##name,
#include "audit/checks.def"
#undef CHECK
};

const char *audit_severity_word(enum severity s)
{
	switch (s) {
	case SEVERITY_VETO:
		return "veto";
	case SEVERITY_WARN:
		return "warn";
	case SEVERITY_NOTE:
		break;
	}
	return "note";
}

const char *audit_state_word(enum check_state s)
{
	switch (s) {
	case CHECK_FOUND:
		return "found";
	case CHECK_UNKNOWN:
		return "unknown";
	case CHECK_ABSENT:
		return "absent";
	case CHECK_FINE:
		break;
	}
	return "fine";
}

static void cache_release(struct look_cache *c)
{
	kconfig_release(&c->config);
	rt_threads_release(&c->threads);
}

static void one(struct look *l, const struct check *c)
{
	struct audit *a = l->out;
	struct check_result *res = &a->checks[a->nr_checks++];
	size_t before = a->nr_findings;
	struct err why = {};
	int r;

	l->check = c;
	l->last = NULL;
	r = c->look(l, &why);
	*res = (struct check_result){ .name = c->name };
	if (r < 0) {
		res->state = r == -ENODEV ? CHECK_ABSENT : CHECK_UNKNOWN;
		res->reason = strdup(why.msg);
		a->failed |= !res->reason || r == -ENOMEM;
	}
	/* part of it may have been readable */
	if (a->nr_findings > before)
		res->state = CHECK_FOUND;
}

/* Worst first; the order of the checks stays within a severity. */
static int sort(struct audit *a)
{
	struct finding *sorted = calloc(a->nr_findings ? a->nr_findings : 1, sizeof(*sorted));
	size_t nr = 0;

	if (!sorted)
		return -ENOMEM;
	for (int s = SEVERITY_VETO; s >= SEVERITY_NOTE; s--)
		for (size_t i = 0; i < a->nr_findings; i++)
			if ((int)a->findings[i].severity == s)
				sorted[nr++] = a->findings[i];
	free(a->findings);
	a->findings = sorted;
	return 0;
}

static int run(const struct audit_scope *scope, bool facts_only, struct audit *ret, struct err *e)
{
	_cleanup_(cache_release) struct look_cache cache = {};
	_cleanup_(audit_release) struct audit a = {};
	struct look l = { .scope = scope, .out = &a, .cache = &cache, .facts_only = facts_only };

	a.checks = calloc(ARRAY_SIZE(checks), sizeof(*a.checks));
	if (!a.checks)
		return err_nomem(e, "audit");
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		if (!facts_only || checks[i]->again)
			one(&l, checks[i]);
	if (a.failed || sort(&a) < 0)
		return err_nomem(e, "audit");
	*ret = a;
	a = (struct audit){};
	return 0;
}

int audit_run(const struct audit_scope *scope, struct audit *ret, struct err *e)
{
	return run(scope, false, ret, e);
}

int audit_facts(const struct audit_scope *scope, struct audit *ret, struct err *e)
{
	return run(scope, true, ret, e);
}

void audit_release(struct audit *a)
{
	for (size_t i = 0; i < a->nr_findings; i++) {
		free(a->findings[i].what);
		free(a->findings[i].why);
		free(a->findings[i].mend);
		instances_release(&a->findings[i].knobs);
	}
	for (size_t i = 0; i < a->nr_facts; i++) {
		free(a->facts[i].key);
		free(a->facts[i].value);
	}
	for (size_t i = 0; i < a->nr_checks; i++)
		free(a->checks[i].reason);
	free(a->findings);
	free(a->facts);
	free(a->checks);
	*a = (struct audit){};
}

size_t audit_count(const struct audit *a, enum severity severity)
{
	size_t nr = 0;

	for (size_t i = 0; i < a->nr_findings; i++)
		nr += a->findings[i].severity == severity;
	return nr;
}

const char *audit_fact(const struct audit *a, const char *key)
{
	for (size_t i = 0; i < a->nr_facts; i++)
		if (strcmp(a->facts[i].key, key) == 0)
			return a->facts[i].value;
	return NULL;
}

void audit_list(struct buf *out)
{
	buf_puts(out, "| check | looks for | reads |\n|---|---|---|\n");
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		buf_printf(out, "| %s | %s | %s |\n", checks[i]->name, checks[i]->help,
			   checks[i]->reads);
}
