// SPDX-License-Identifier: GPL-3.0-or-later
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "export/forms.h"
#include "export/outcome.h"
#include "report/format.h"

/* KTAP version 1 (the kernel's Documentation/dev-tools/ktap.rst): a test per primary metric. */

/* In a description '#' would begin the directive. */
static void description(struct buf *out, const struct report *rep, const struct verdict *v)
{
	_cleanup_(buf_release) struct buf name = {};

	outcome_name(&name, rep, v);
	for (char *p = name.data; p && *p; p++)
		if (*p == '#')
			*p = '_';
	buf_puts(out, buf_str(&name));
	out->failed |= name.failed;
}

static void result(struct buf *out, const struct report *rep, size_t index)
{
	const struct verdict *v = &rep->verdicts[index];
	enum outcome is = outcome_of(v);
	_cleanup_(buf_release) struct buf sentence = {};

	outcome_sentence(&sentence, rep, v);
	buf_printf(out, "# %s: %s\n", verdict_word(v->word), buf_str(&sentence));
	buf_printf(out, "%s %zu ", is == OUTCOME_FAIL ? "not ok" : "ok", index + 1);
	description(out, rep, v);
	if (is == OUTCOME_SKIP)
		buf_printf(out, " # SKIP %s", verdict_word(v->word));
	buf_putc(out, '\n');
	out->failed |= sentence.failed;
}

static void one_line(struct buf *out, const char *text)
{
	_cleanup_(buf_release) struct buf clean = {};

	text_printable(&clean, text, strlen(text));
	buf_printf(out, "# %s\n", buf_str(&clean));
	out->failed |= clean.failed;
}

static int write_ktap(const struct export_source *src, struct buf *out, struct err *e)
{
	const struct report *rep = src->report;
	_cleanup_(buf_release) struct buf repeat = {};

	buf_puts(out, "KTAP version 1\n");
	buf_printf(out, "1..%zu\n", rep->nr_verdicts);
	one_line(out, rep->run.name);
	format_repeat(&repeat, rep);
	one_line(out, buf_str(&repeat));
	for (size_t i = 0; i < rep->nr_verdicts; i++)
		result(out, rep, i);
	return out->failed ? err_nomem(e, "KTAP") : 0;
}

const struct export_ops export_ktap = {
	.name = "ktap",
	.help = "KTAP: a test per metric, undecided is skipped",
	.write = write_ktap,
};
