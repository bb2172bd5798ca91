// SPDX-License-Identifier: GPL-3.0-or-later
/* The machine a run was measured on: what its audit found, what was mended, the facts. */
#include <json-c/json.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_field.h"
#include "report/format.h"
#include "report/model.h"
#include "report/page.h"
#include "report/svg.h"
#include "report/text_parts.h"

/* Lines longer than this list go on in the JSON. */
#define LINES_MAX 8

static struct json_object *env_of(const struct report *rep)
{
	struct json_object *o = rep->run.env ? json_tokener_parse(rep->run.env) : NULL;

	if (json_object_is_type(o, json_type_object))
		return o;
	json_object_put(o);
	return NULL;
}

static struct json_object *audit_list(struct json_object *env, const char *name)
{
	return json_field_array(json_field_object(env, "audit"), name);
}

static size_t length(struct json_object *list)
{
	return list ? json_object_array_length(list) : 0;
}

static bool is_of(struct json_object *finding, const char *severity)
{
	const char *s = json_field_string(finding, "severity");

	return s && strcmp(s, severity) == 0;
}

static const char *word(struct json_object *o, const char *key)
{
	const char *s = json_field_string(o, key);

	return s ? s : "";
}

/* "wakeup, rr": the metrics a finding touches. */
static void affects(struct json_object *finding, struct buf *out)
{
	struct json_object *list = json_field_array(finding, "affects");
	size_t nr = length(list);

	if (nr == 5)
		buf_puts(out, "all metrics");
	for (size_t i = 0; i < nr && nr < 5; i++)
		buf_printf(out, "%s%s", i ? ", " : "",
			   json_object_get_string(json_object_array_get_idx(list, i)));
}

/* "sysctl kernel.nmi_watchdog: 0" of a knob as instances_to_json() writes it. */
static void knob_words(struct json_object *knob, struct buf *out)
{
	struct json_object *settings = json_field_object(knob, "settings");

	buf_puts(out, word(knob, "plugin"));
	if (!settings)
		return;
	json_object_object_foreach(settings, key, v)
	{
		buf_printf(out, " %s: %s", key, v ? json_object_get_string(v) : "");
	}
}

static void text_findings(struct json_object *list, const char *severity, const char *head,
			  size_t *lines, struct buf *out)
{
	for (size_t i = 0; i < length(list); i++) {
		struct json_object *f = json_object_array_get_idx(list, i);
		_cleanup_(buf_release) struct buf b = {};

		if (!is_of(f, severity) || (*lines)++ >= LINES_MAX)
			continue;
		buf_printf(&b, "%s%s [", head, word(f, "what"));
		affects(f, &b);
		buf_putc(&b, ']');
		format_wrap(out, "  ", 4, buf_str(&b));
	}
}

static void text_mended(struct json_object *list, struct buf *out)
{
	for (size_t i = 0; i < length(list); i++) {
		struct json_object *m = json_object_array_get_idx(list, i);
		const char *refused = json_field_string(m, "refused");
		_cleanup_(buf_release) struct buf b = {};

		buf_puts(&b, refused ? "audit: not mended: " : "audit: mended for the run: ");
		knob_words(json_field_object(m, "knob"), &b);
		if (refused)
			buf_printf(&b, " (%s)", refused);
		format_wrap(out, "  ", 4, buf_str(&b));
	}
}

void text_environment(const struct report *rep, struct buf *out)
{
	_cleanup_(json_putp) struct json_object *env = env_of(rep);
	struct json_object *list = audit_list(env, "findings");
	size_t lines = 0;

	text_mended(audit_list(env, "mended"), out);
	text_findings(list, "veto", "audit, veto that was overruled: ", &lines, out);
	text_findings(list, "warn", "audit: ", &lines, out);
	if (lines > LINES_MAX)
		buf_printf(out, "  and %zu more of the audit: irqlab report --json has them all\n",
			   lines - LINES_MAX);
}

static void env_row(const char *prefix, const char *name, struct json_object *v, struct buf *out)
{
	buf_puts(out, "<tr><th scope=\"row\">");
	svg_escape(out, prefix);
	buf_puts(out, *prefix ? "." : "");
	svg_escape(out, name);
	buf_puts(out, "</th><td class=\"text\">");
	svg_escape(out, v ? json_object_get_string(v) : "");
	buf_puts(out, "</td></tr>\n");
}

/* Objects become rows "kernel.release"; what is nested deeper stays JSON. */
static void env_rows(struct json_object *o, struct buf *out)
{
	json_object_object_foreach(o, name, v)
	{
		if (strcmp(name, "audit") == 0)
			continue;
		if (!json_object_is_type(v, json_type_object)) {
			env_row("", name, v, out);
			continue;
		}
		json_object_object_foreach(v, inner, w)
		{
			env_row(name, inner, w, out);
		}
	}
}

static void cell(const char *text, struct buf *out)
{
	buf_puts(out, "<td class=\"text\">");
	svg_escape(out, text);
	buf_puts(out, "</td>");
}

static void html_findings(struct json_object *list, struct buf *out)
{
	if (!length(list))
		return;
	buf_puts(out, "<div class=\"scroll\"><table><caption>What the audit found before the first "
		      "trial.</caption><thead><tr><th scope=\"col\" class=\"left\">check</th>"
		      "<th scope=\"col\" class=\"left\">severity</th>"
		      "<th scope=\"col\" class=\"text\">found</th>"
		      "<th scope=\"col\" class=\"text\">why it matters</th>"
		      "<th scope=\"col\" class=\"text\">for</th>"
		      "<th scope=\"col\" class=\"text\">mend</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < length(list); i++) {
		struct json_object *f = json_object_array_get_idx(list, i);
		_cleanup_(buf_release) struct buf metrics = {};

		affects(f, &metrics);
		buf_puts(out, "<tr><th scope=\"row\">");
		svg_escape(out, word(f, "check"));
		buf_puts(out, "</th><td class=\"left\">");
		svg_escape(out, word(f, "severity"));
		buf_puts(out, "</td>");
		cell(word(f, "what"), out);
		cell(word(f, "why"), out);
		cell(buf_str(&metrics), out);
		cell(word(f, "mend"), out);
		buf_puts(out, "</tr>\n");
	}
	buf_puts(out, "</tbody></table></div>\n");
}

static void html_mended(struct json_object *list, struct buf *out)
{
	for (size_t i = 0; i < length(list); i++) {
		struct json_object *m = json_object_array_get_idx(list, i);
		const char *refused = json_field_string(m, "refused");
		_cleanup_(buf_release) struct buf b = {};

		knob_words(json_field_object(m, "knob"), &b);
		buf_puts(out, refused ? "<p>Not mended: " : "<p>Mended for the run: ");
		svg_escape(out, buf_str(&b));
		if (refused) {
			buf_puts(out, " (");
			svg_escape(out, refused);
			buf_putc(out, ')');
		}
		buf_puts(out, "</p>\n");
	}
}

void section_environment(const struct report *rep, struct buf *out)
{
	_cleanup_(json_putp) struct json_object *env = env_of(rep);

	buf_puts(out, "<section id=\"environment\"><h2>Environment</h2>\n");
	if (env) {
		html_mended(audit_list(env, "mended"), out);
		html_findings(audit_list(env, "findings"), out);
		buf_puts(out, "<div class=\"scroll\"><table><tbody>\n");
		env_rows(env, out);
		buf_puts(out, "</tbody></table></div>\n");
	} else {
		buf_puts(out, "<p class=\"hint\">Nothing was stored about the machine.</p>\n");
	}
	buf_puts(out, "</section>\n");
}
