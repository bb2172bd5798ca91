// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "export/forms.h"
#include "export/outcome.h"
#include "report/format.h"

/*
 * JUnit XML as Jenkins, GitLab and GitHub read it: a test per primary metric and variant.  Only
 * worse is a failure; what was not decided is skipped, with the reason, and never passes.
 */

/* text_printable() has made it valid UTF-8 without control characters. */
static void escape(struct buf *out, const char *text)
{
	_cleanup_(buf_release) struct buf clean = {};

	text_printable(&clean, text, strlen(text));
	for (const char *p = buf_str(&clean); *p; p++) {
		switch (*p) {
		case '&':
			buf_puts(out, "&amp;");
			break;
		case '<':
			buf_puts(out, "&lt;");
			break;
		case '>':
			buf_puts(out, "&gt;");
			break;
		case '"':
			buf_puts(out, "&quot;");
			break;
		default:
			buf_putc(out, *p);
		}
	}
	out->failed |= clean.failed;
}

static void attribute(struct buf *out, const char *name, const char *value)
{
	buf_printf(out, " %s=\"", name);
	escape(out, value);
	buf_putc(out, '"');
}

static void property(struct buf *out, const char *name, const char *value)
{
	if (!*value)
		return;
	buf_puts(out, "      <property");
	attribute(out, "name", name);
	attribute(out, "value", value);
	buf_puts(out, "/>\n");
}

static void properties(struct buf *out, const struct report *rep)
{
	static const char *const keys[] = { "release", "version", "machine", "cpu_model", "cpus" };
	_cleanup_(buf_release) struct buf b = {};

	buf_puts(out, "    <properties>\n");
	buf_printf(&b, "%" PRId64, rep->run.id);
	property(out, "run", buf_str(&b));
	property(out, "irqlab", rep->run.version);
	buf_reset(&b);
	buf_printf(&b, "%" PRIu64, rep->run.seed);
	property(out, "seed", buf_str(&b));
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		buf_reset(&b);
		outcome_env(&b, rep, keys[i]);
		property(out, keys[i], buf_str(&b));
	}
	buf_reset(&b);
	format_repeat(&b, rep);
	property(out, "repeat", buf_str(&b));
	buf_puts(out, "    </properties>\n");
}

static void test_case(struct buf *out, const struct report *rep, const struct verdict *v)
{
	_cleanup_(buf_release) struct buf class = {}, sentence = {};
	const char *word = verdict_word(v->word);

	buf_printf(&class, "%s.%s", rep->run.name, model_variant(rep, v->variant));
	outcome_sentence(&sentence, rep, v);
	buf_puts(out, "    <testcase");
	attribute(out, "classname", buf_str(&class));
	attribute(out, "name", rep->plan->metrics[v->query].text);
	buf_puts(out, " time=\"0\">\n");
	switch (outcome_of(v)) {
	case OUTCOME_PASS:
		break;
	case OUTCOME_FAIL:
		buf_puts(out, "      <failure");
		attribute(out, "type", word);
		attribute(out, "message", buf_str(&sentence));
		buf_puts(out, "/>\n");
		break;
	case OUTCOME_SKIP:
		buf_puts(out, "      <skipped");
		attribute(out, "type", word);
		attribute(out, "message", buf_str(&sentence));
		buf_puts(out, "/>\n");
		break;
	}
	buf_puts(out, "      <system-out>");
	escape(out, word);
	buf_puts(out, ": ");
	escape(out, buf_str(&sentence));
	buf_puts(out, "</system-out>\n    </testcase>\n");
}

static void counts(struct buf *out, const struct report *rep)
{
	size_t n[OUTCOME_SKIP + 1] = {};

	for (size_t i = 0; i < rep->nr_verdicts; i++)
		n[outcome_of(&rep->verdicts[i])]++;
	buf_printf(out,
		   " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\" time=\"%.3f\"",
		   rep->nr_verdicts, n[OUTCOME_FAIL], n[OUTCOME_SKIP], outcome_seconds(rep));
}

static int write_junit(const struct export_source *src, struct buf *out, struct err *e)
{
	const struct report *rep = src->report;
	_cleanup_(buf_release) struct buf when = {};

	buf_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"irqlab\"");
	counts(out, rep);
	buf_puts(out, ">\n  <testsuite");
	attribute(out, "name", rep->run.name);
	counts(out, rep);
	outcome_time(&when, rep->run.started_ns);
	/* the schema in use wants no zone; it is UTC */
	buf_printf(out, " timestamp=\"%.19s\">\n", buf_str(&when));
	properties(out, rep);
	for (size_t i = 0; i < rep->nr_verdicts; i++)
		test_case(out, rep, &rep->verdicts[i]);
	buf_puts(out, "  </testsuite>\n</testsuites>\n");
	return out->failed ? err_nomem(e, "JUnit XML") : 0;
}

const struct export_ops export_junit = {
	.name = "junit",
	.help = "JUnit XML: a test per metric, undecided is skipped",
	.write = write_junit,
};
