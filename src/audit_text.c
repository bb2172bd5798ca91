// SPDX-License-Identifier: GPL-3.0-or-later
#include "audit_text.h"

#include <stdio.h>

#include "audit/audit.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "report/format.h"

static void group_head(enum severity s, size_t nr, struct buf *out)
{
	switch (s) {
	case SEVERITY_VETO:
		buf_printf(out, "veto (%zu): a run would say nothing\n", nr);
		return;
	case SEVERITY_WARN:
		buf_printf(out, "warning (%zu): it is in the numbers\n", nr);
		return;
	case SEVERITY_NOTE:
		break;
	}
	buf_printf(out, "note (%zu): good to know\n", nr);
}

static void print_finding(const struct finding *f, struct buf *out)
{
	_cleanup_(buf_release) struct buf head = {}, why = {}, mend = {};

	buf_printf(&head, "%s: %s [", f->check, f->what);
	audit_affects_words(f->affects, &head);
	buf_putc(&head, ']');
	format_wrap(out, "  ", 4, buf_str(&head));
	buf_printf(&why, "why: %s", f->why ? f->why : "");
	format_wrap(out, "    ", 8, buf_str(&why));
	if (!f->mend)
		return;
	buf_printf(&mend, "mend: %s", f->mend);
	format_wrap(out, "    ", 8, buf_str(&mend));
}

static void print_state(const struct audit *a, enum check_state state, const char *head,
			struct buf *out)
{
	_cleanup_(buf_release) struct buf list = {};
	size_t nr = 0;

	for (size_t i = 0; i < a->nr_checks; i++)
		if (a->checks[i].state == state)
			buf_printf(&list, "%s%s", nr++ ? ", " : "", a->checks[i].name);
	if (nr)
		format_wrap(out, head, 4, buf_str(&list));
}

static void print_unknown(const struct audit *a, struct buf *out)
{
	for (size_t i = 0; i < a->nr_checks; i++) {
		_cleanup_(buf_release) struct buf line = {};

		/* one that found something may have been unable to read the rest */
		if (!a->checks[i].reason || a->checks[i].state == CHECK_ABSENT)
			continue;
		buf_printf(&line, "unknown: %s: %s", a->checks[i].name, a->checks[i].reason);
		format_wrap(out, "", 4, buf_str(&line));
	}
}

void audit_text(const struct audit *a, struct buf *out)
{
	for (int s = SEVERITY_VETO; s >= SEVERITY_NOTE; s--) {
		size_t nr = audit_count(a, (enum severity)s);

		if (!nr)
			continue;
		group_head((enum severity)s, nr, out);
		for (size_t i = 0; i < a->nr_findings; i++)
			if ((int)a->findings[i].severity == s)
				print_finding(&a->findings[i], out);
		buf_putc(out, '\n');
	}
	print_unknown(a, out);
	print_state(a, CHECK_FINE, "fine: ", out);
	print_state(a, CHECK_ABSENT, "does not apply: ", out);
}

void audit_text_knobs(const struct audit *a, struct buf *out)
{
	for (size_t i = 0; i < a->nr_findings; i++) {
		const struct instances *l = &a->findings[i].knobs;

		for (size_t k = 0; k < l->nr && a->findings[i].severity != SEVERITY_NOTE; k++) {
			buf_printf(out, "  %s: {", l->v[k].plugin);
			for (size_t s = 0; s < l->v[k].nr_settings; s++)
				buf_printf(out, "%s %s: %s", s ? "," : "", l->v[k].settings[s].key,
					   l->v[k].settings[s].value);
			buf_puts(out, " }\n");
		}
	}
}
