// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "report/format.h"
#include "report/model.h"
#include "report/page.h"
#include "report/svg.h"

void page_variant(const struct report *rep, unsigned int variant, struct buf *out)
{
	struct svg s = { .out = out };

	buf_printf(out,
		   "<span><svg class=\"key\" viewBox=\"0 0 34 12\" aria-hidden=\"true\">"
		   "<path class=\"line v%u\" d=\"M0 6H34\"/>",
		   variant % SVG_STYLES);
	svg_marker(&s, variant, 17, 6, 4);
	buf_puts(out, "</svg>");
	svg_escape(out, model_variant(rep, variant));
	buf_puts(out, "</span>");
}

static void head(const struct report *rep, struct buf *out)
{
	/* nothing may be loaded or run, whatever a kernel line managed to smuggle in */
	buf_puts(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
		      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		      "style-src 'unsafe-inline'\"><meta name=\"generator\" content=\"irqlab ");
	svg_escape(out, rep->run.version);
	buf_puts(out, "\"><title>");
	svg_escape(out, rep->run.name);
	buf_puts(out, " - irqlab</title><style>");
	buf_puts(out, page_style);
	buf_puts(out, "</style></head><body>\n");
}

static void banner(const struct report *rep, struct buf *out)
{
	static const char *const links[][2] = {
		{ "ergo", "Ergo" },
		{ "verdicts", "Verdicts" },
		{ "beside", "Beside the verdict" },
		{ "throughput", "Throughput" },
		{ "latency", "Latency" },
		{ "interrupts", "Interrupts" },
		{ "exploratory", "Exploratory" },
		{ "trials", "Trials" },
		{ "environment", "Environment" },
		{ "plan", "Plan" },
	};

	buf_puts(out, "<header><h1>");
	svg_escape(out, rep->run.name);
	buf_printf(out, "</h1><p class=\"meta\">irqlab run %" PRId64 ", ", rep->run.id);
	format_wall(out, rep->run.started_ns);
	buf_printf(out, ", %zu trials in ", rep->nr_trials);
	format_blocks(out, rep);
	buf_printf(out, ", seed %" PRIu64, rep->run.seed);
	if (rep->run.aa)
		buf_puts(out, ", <strong>A/A: every variant was the baseline</strong>");
	if (rep->run.state != RUN_DONE)
		buf_puts(out, ", <strong>not complete</strong>");
	buf_puts(out, "</p><nav aria-label=\"Sections\">");
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		buf_printf(out, "<a href=\"#%s\">%s</a>", links[i][0], links[i][1]);
	buf_puts(out, "</nav></header>\n<main>\n");
}

static void foot(const struct report *rep, struct buf *out)
{
	_cleanup_(buf_release) struct buf repeat = {};

	format_repeat(&repeat, rep);
	buf_puts(out, "</main>\n<footer><p>To repeat: <code>");
	svg_escape(out, buf_str(&repeat));
	buf_puts(out, "</code></p><p>A trial is the unit of replication; variants are compared "
		      "within their block. One exact test a metric (signed-rank on log ratios; "
		      "sign-flip for counts and rates; sign test for maxima) gives its interval by "
		      "inversion, at the level that Holm's procedure, or the look of a sequential "
		      "design, gives the metric; the word is read off that interval.</p></footer>\n"
		      "</body></html>\n");
}

int report_html(const struct report *rep, struct buf *out, struct err *e)
{
	head(rep, out);
	banner(rep, out);
	section_ergo(rep, out);
	section_verdicts(rep, out);
	section_beside(rep, out);
	section_throughput(rep, out);
	section_latency(rep, out);
	section_interrupts(rep, out);
	section_explore(rep, out);
	section_trials(rep, out);
	section_environment(rep, out);
	section_plan(rep, out);
	foot(rep, out);
	return out->failed ? err_nomem(e, "report") : 0;
}
