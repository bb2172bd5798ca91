// SPDX-License-Identifier: GPL-3.0-or-later
/* The sections of the page in the order of the page. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "report/format.h"
#include "report/labels.h"
#include "report/model.h"
#include "report/page.h"
#include "report/svg.h"
#include "sample/hist.h"

/* Sources of interrupts shown for a scenario: what matters is among the most frequent. */
#define SOURCES_MAX 40
/* What fires less often in every variant [1/s] is only counted. */
#define SOURCE_RATE_MIN 1.0
/* CPUs shown below a source. */
#define CPUS_MAX 16

static void section(struct buf *out, const char *id, const char *heading)
{
	buf_printf(out, "<section id=\"%s\"><h2>%s</h2>\n", id, heading);
}

static void section_end(struct buf *out)
{
	buf_puts(out, "</section>\n");
}

static void hint(struct buf *out, const char *text)
{
	buf_printf(out, "<p class=\"hint\">%s</p>\n", text);
}

/* A sign before the word: read without colour. */
static const char *sign_of(enum verdict_word w)
{
	switch (w) {
	case VERDICT_BETTER:
		return "\xe2\x96\xb2";
	case VERDICT_WORSE:
		return "\xe2\x96\xbc";
	case VERDICT_SAME:
		return "=";
	case VERDICT_UNDECIDED:
		return "?";
	case VERDICT_VETOED:
		return "\xe2\x9c\x95";
	}
	return "";
}

static void badge(struct buf *out, enum verdict_word w)
{
	buf_printf(out, "<span class=\"word %s\">%s %s</span>", verdict_word(w), sign_of(w),
		   verdict_word(w));
}

static void put_effect(const struct report *rep, const struct verdict *v, struct buf *out)
{
	_cleanup_(buf_release) struct buf b = {};

	format_effect(&b, rep->plan->metrics[v->query].unit, v);
	/* a unit is whatever a load says */
	svg_escape(out, buf_str(&b));
}

static void th_variants(const struct report *rep, struct buf *out, const char *suffix)
{
	for (unsigned int k = 0; k < rep->plan->nr_variants; k++) {
		buf_puts(out, "<th scope=\"col\">");
		page_variant(rep, k, out);
		buf_printf(out, "%s</th>", suffix);
	}
}

/* ---- ergo ---- */

static void ergo_card(const struct report *rep, const struct verdict *v, struct buf *out)
{
	_cleanup_(buf_release) struct buf text = {};

	buf_printf(out, "<article class=\"card %s\"><div class=\"row\"><h3>",
		   verdict_word(v->word));
	svg_escape(out, rep->plan->metrics[v->query].text);
	buf_puts(out, "</h3>");
	badge(out, v->word);
	buf_puts(out, "</div><div class=\"big\">");
	if (v->word == VERDICT_VETOED)
		buf_puts(out, verdict_word(v->word));
	else
		put_effect(rep, v, out);
	buf_puts(out, "</div><p>");
	format_ergo(&text, rep, v);
	if (text.len)
		text.data[0] = (char)toupper((unsigned char)text.data[0]);
	svg_escape(out, buf_str(&text));
	buf_puts(out, "</p></article>\n");
}

void section_ergo(const struct report *rep, struct buf *out)
{
	section(out, "ergo", "Ergo");
	buf_puts(out, "<div class=\"cards\">\n");
	for (size_t i = 0; i < rep->nr_verdicts; i++)
		ergo_card(rep, &rep->verdicts[i], out);
	buf_puts(out, "</div>\n");
	if (rep->nr_verdicts == 0)
		hint(out, "The plan names no metric to judge.");
	section_end(out);
}

/* ---- verdicts ---- */

/* A cell that names its column itself where a narrow page stacks the row. */
static void td_named(struct buf *out, const char *name, const char *text)
{
	buf_printf(out, "<td data-name=\"%s\">", name);
	svg_escape(out, text);
	buf_puts(out, "</td>");
}

static void td_centre(const struct report *rep, const struct verdict *v, unsigned int variant,
		      struct buf *out)
{
	_cleanup_(buf_release) struct buf b = {};

	format_value(&b, variant ? v->value : v->baseline, rep->plan->metrics[v->query].unit);
	buf_printf(out, "<td data-name=\"%s with ", v->kind == METRIC_RATE ? "mean" : "median");
	svg_escape(out, model_variant(rep, variant));
	buf_puts(out, "\">");
	svg_escape(out, buf_str(&b));
	buf_puts(out, "</td>");
}

static bool is_judged(const struct verdict *v)
{
	return v->word != VERDICT_VETOED && isfinite(v->change);
}

/* Change, interval with its level, margin, blocks and p. */
static void verdict_numbers(const struct report *rep, const struct verdict *v, struct buf *out)
{
	_cleanup_(buf_release) struct buf effect = {}, interval = {};
	char text[48];

	format_effect(&effect, rep->plan->metrics[v->query].unit, v);
	td_named(out, "change", buf_str(&effect));
	if (is_judged(v))
		format_interval(&interval, rep->plan->metrics[v->query].unit, v);
	if (is_judged(v) && isfinite(v->low) && isfinite(v->high))
		buf_printf(&interval, " at %.3g%%", 100 * (1 - v->alpha));
	td_named(out, "interval", interval.len ? buf_str(&interval) : "-");
	snprintf(text, sizeof(text), "%.3g%%", 100 * rep->plan->metrics[v->query].margin);
	td_named(out, "margin", v->scale == VERDICT_SCALE_UNIT ? "-" : text);
	snprintf(text, sizeof(text), "%zu", v->blocks);
	td_named(out, "blocks", text);
	snprintf(text, sizeof(text), "%.3g", v->p);
	td_named(out, "p", is_judged(v) && isfinite(v->p) ? text : "-");
}

static void verdict_row(const struct report *rep, const struct verdict *v, struct buf *out)
{
	const struct plan_metric *m = &rep->plan->metrics[v->query];

	buf_puts(out, "<tr><td class=\"left\">");
	badge(out, v->word);
	buf_puts(out, "</td><th scope=\"row\" class=\"text\">");
	svg_escape(out, m->text);
	buf_puts(out, "</th>");
	if (rep->plan->nr_variants > 2) {
		buf_puts(out, "<td class=\"left\" data-name=\"variant\">");
		page_variant(rep, v->variant, out);
		buf_puts(out, "</td>");
	}
	td_centre(rep, v, 0, out);
	td_centre(rep, v, v->variant, out);
	verdict_numbers(rep, v, out);
	buf_puts(out, "</tr>\n");
}

/* Over a column there is room for one word more. */
static const char *heading(const struct report *rep)
{
	const char *centre = format_centre(rep, 0);

	if (strcmp(centre, "medians") == 0)
		return "median";
	return strcmp(centre, "means") == 0 ? "mean" : "median (rates, counts: mean)";
}

static void verdict_head(const struct report *rep, struct buf *out)
{
	bool two = rep->plan->nr_variants == 2;

	buf_puts(out, "<thead><tr><th scope=\"col\" class=\"left\">verdict</th>"
		      "<th scope=\"col\" class=\"left\">metric</th>");
	if (!two)
		buf_puts(out, "<th scope=\"col\" class=\"left\">variant</th>");
	buf_printf(out, "<th scope=\"col\">%s with ", heading(rep));
	page_variant(rep, 0, out);
	buf_puts(out, "</th><th scope=\"col\">with ");
	if (two)
		page_variant(rep, 1, out);
	else
		buf_puts(out, "variant");
	buf_puts(out, "</th><th scope=\"col\">change</th><th scope=\"col\">interval</th>"
		      "<th scope=\"col\">margin</th><th scope=\"col\">blocks</th>"
		      "<th scope=\"col\">p</th></tr></thead>");
}

static void verdict_scales(const struct report *rep, struct buf *out)
{
	for (int scale = VERDICT_SCALE_RATIO; scale <= VERDICT_SCALE_UNIT; scale++) {
		_cleanup_(buf_release) struct buf b = {};

		format_scale(&b, rep, (enum verdict_scale)scale, 0);
		if (!b.len)
			continue;
		buf_puts(out, "<p class=\"hint after\">");
		svg_escape(out, buf_str(&b));
		buf_puts(out, "</p>\n");
	}
}

static void after_table(const char *what, const struct buf *text, struct buf *out)
{
	if (text->len == 0)
		return;
	buf_printf(out, "<p class=\"hint after\">%s: ", what);
	svg_escape(out, buf_str(text));
	buf_puts(out, "</p>\n");
}

/* What a verdict would mean under an assumption, and what one metric pays for another. */
static void implied(const struct report *rep, struct buf *out)
{
	for (size_t i = 0; i < rep->nr_verdicts; i++) {
		_cleanup_(buf_release) struct buf cost = {};

		format_cost(&cost, rep, &rep->verdicts[i]);
		after_table("Implied", &cost, out);
		for (size_t k = 0; k < rep->nr_verdicts; k++) {
			_cleanup_(buf_release) struct buf rate = {};

			format_exchange(&rate, rep, i, k);
			after_table("Exchange", &rate, out);
		}
	}
}

void section_verdicts(const struct report *rep, struct buf *out)
{
	section(out, "verdicts", "Verdicts");
	if (rep->nr_verdicts) {
		buf_puts(out, "<div class=\"scroll\"><table class=\"stack\">");
		verdict_head(rep, out);
		buf_puts(out, "<tbody>\n");
		for (size_t i = 0; i < rep->nr_verdicts; i++)
			verdict_row(rep, &rep->verdicts[i], out);
		buf_puts(out, "</tbody></table></div>\n");
		verdict_scales(rep, out);
		implied(rep, out);
		section_noise(rep, out);
		buf_puts(out, "<div class=\"figures\"><figure>\n"
			      "<h4>Intervals against the margin</h4>\n");
		figure_forest(rep, out);
		buf_puts(out, "<figcaption>In multiples of each metric's margin; where lower is "
			      "better, a fall points to the right.</figcaption>\n");
		buf_puts(out, "</figure></div>\n");
	}
	section_end(out);
}

/* ---- beside ---- */

static void total_cells(const struct report *rep, const struct total *t, struct buf *out)
{
	bool ratio = strcmp(t->unit, "ratio") == 0;

	for (unsigned int k = 0; k < rep->plan->nr_variants; k++) {
		const struct total_cell *c = &t->cell[k];

		buf_puts(out, "<td data-name=\"");
		svg_escape(out, model_variant(rep, k));
		if (!c->trials) {
			buf_puts(out, "\">not measured</td>");
			continue;
		}
		buf_puts(out, "\"><span>");
		format_value(out, ratio ? c->sum / (double)c->trials : c->sum, t->unit);
		buf_puts(out, " <span class=\"meta\">(at most ");
		format_value(out, c->max, t->unit);
		buf_puts(out, " in a trial)</span></span></td>");
	}
}

static void totals_table(const struct report *rep, struct buf *out)
{
	if (rep->totals.nr == 0)
		return;
	buf_puts(out, "<div class=\"scroll\"><table class=\"stack\"><thead><tr>"
		      "<th scope=\"col\" class=\"left\">over all trials</th>");
	th_variants(rep, out, "");
	buf_puts(out, "</tr></thead><tbody>\n");
	for (size_t i = 0; i < rep->totals.nr; i++) {
		const struct total *t = &rep->totals.v[i];

		buf_puts(out, "<tr><th scope=\"row\">");
		buf_printf(out, "%s, %s <span class=\"meta\">", model_health(t->metric),
			   strcmp(t->unit, "ratio") == 0 ? "mean" : "sum");
		svg_escape(out, t->metric);
		buf_puts(out, "</span></th>");
		total_cells(rep, t, out);
		buf_puts(out, "</tr>\n");
	}
	buf_puts(out, "</tbody></table></div>\n");
}

/* "after: 6 of 6 trials" of a witness, else "12 times in trials 1-12". */
static void note_where(const struct report *rep, const struct note_list *l, const struct note *n,
		       struct buf *out)
{
	if (!l->any_variant) {
		page_variant(rep, n->variant, out);
		buf_printf(out, ": %zu of ", n->nr_trials);
		format_count(out, model_trials(rep, n->variant), "trial");
	} else {
		if (n->count != n->nr_trials)
			buf_printf(out, "%zu times in ", n->count);
		format_trials(out, rep, n->trials, n->nr_trials);
	}
	if (n->texts_differ)
		buf_printf(out, "; numbers of trial %u", rep->trials[n->example].position + 1);
}

static void note_item(const struct report *rep, const struct note_list *l, const struct note *n,
		      const char *word, struct buf *out)
{
	buf_printf(out, "<li>%s <div><code>", word);
	svg_escape(out, n->text);
	buf_puts(out, "</code> <span class=\"meta\">");
	note_where(rep, l, n, out);
	buf_puts(out, "</span></div></li>\n");
}

static void notes(const struct report *rep, const struct note_list *l, const char *heading,
		  struct buf *out)
{
	const size_t most = 50;

	if (l->nr == 0)
		return;
	buf_printf(out, "<h3>%s</h3><ul class=\"notes\">\n", heading);
	for (size_t i = 0; i < l->nr && i < most; i++) {
		const struct note *n = &l->v[i];
		const char *word = "";

		if (n->state == TRIAL_VETOED || n->severity == SEVERITY_VETO)
			word = "<span class=\"word vetoed\">\xe2\x9c\x95 vetoed</span>";
		else if (n->state == TRIAL_FAILED)
			word = "<span class=\"word failed\">\xe2\x9c\x95 failed</span>";
		else if (n->severity == SEVERITY_WARN)
			word = "<span class=\"word undecided\">! warning</span>";
		else
			word = "<span class=\"word ok\">witness</span>";
		note_item(rep, l, n, word, out);
	}
	if (l->nr > most)
		buf_printf(out, "<li>and %zu more</li>\n", l->nr - most);
	buf_puts(out, "</ul>\n");
}

static void said(const char *word, const char *text, struct buf *out)
{
	buf_printf(out, "<li><span class=\"word undecided\">%s</span> <div>", word);
	svg_escape(out, text);
	buf_puts(out, "</div></li>\n");
}

/* Drift, shifts of level, and where the spread comes from. */
static void bench_itself(const struct report *rep, struct buf *out)
{
	_cleanup_(buf_release) struct buf list = {};

	for (size_t i = 0; i < rep->drift.nr; i++)
		said("! note", rep->drift.v[i].text, &list);
	for (size_t i = 0; i < rep->plan->nr_metrics; i++) {
		_cleanup_(buf_release) struct buf b = {};

		format_levels(&b, rep, i);
		if (b.len)
			said("spread", buf_str(&b), &list);
	}
	if (list.len)
		buf_printf(out,
			   "<h3>What the run did by itself</h3><ul class=\"notes\">\n%s</ul>\n",
			   buf_str(&list));
	out->failed |= list.failed;
}

void section_beside(const struct report *rep, struct buf *out)
{
	section(out, "beside", "Beside the verdict");
	totals_table(rep, out);
	notes(rep, &rep->rejected, "Trials that could not be used", out);
	bench_itself(rep, out);
	notes(rep, &rep->witnesses, "Witnesses: did the setting have an effect?", out);
	notes(rep, &rep->warnings, "Warnings during trials", out);
	if (!rep->totals.nr && !rep->rejected.nr && !rep->drift.nr && !rep->warnings.nr &&
	    !rep->witnesses.nr)
		hint(out, "Nothing: no missed wake-ups or steal were measured, no warnings.");
	section_end(out);
}

/* ---- figures ---- */

static void legend(const struct report *rep, struct buf *out)
{
	buf_puts(out, "<div class=\"legend\">");
	for (unsigned int k = 0; k < rep->plan->nr_variants; k++)
		page_variant(rep, k, out);
	buf_puts(out, "</div>\n");
}

static void figure_open(const struct report *rep, const char *metric, const char *labels,
			unsigned int scenario, struct buf *out)
{
	buf_puts(out, "<figure><h4>");
	svg_escape(out, metric);
	if (*labels) {
		buf_puts(out, " [");
		svg_escape(out, labels);
		buf_putc(out, ']');
	}
	buf_puts(out, " @ ");
	svg_escape(out, model_scenario(rep, scenario));
	buf_puts(out, "</h4>\n");
	legend(rep, out);
}

enum series_kind { SERIES_THROUGHPUT, SERIES_LATENCY, SERIES_COUNTER, NR_SERIES_KINDS };

/* Of counters the sums over CPUs and rows: each with its label would be a hundred figures. */
static bool is_of_kind(const struct over_time *o, enum series_kind kind)
{
	bool latency = strcmp(o->unit, "ns") == 0, throughput = strcmp(o->unit, "bit/s") == 0;

	if (kind == SERIES_COUNTER)
		return !latency && !throughput && !*o->labels;
	return kind == SERIES_LATENCY ? latency : throughput;
}

/* The figures of one kind; how many. @heading: above the first, or NULL. */
static size_t figures_over_time(const struct report *rep, enum series_kind kind,
				const char *heading, struct buf *out)
{
	static const size_t most[NR_SERIES_KINDS] = {
		[SERIES_THROUGHPUT] = 12, [SERIES_LATENCY] = 12, [SERIES_COUNTER] = 36
	};
	size_t n = 0;

	for (size_t i = 0; i < rep->over_time.nr; i++) {
		const struct over_time *o = &rep->over_time.v[i];

		if (!is_of_kind(o, kind) || n == most[kind])
			continue;
		if (n++ == 0)
			buf_printf(out, "%s<div class=\"figures\">\n", heading ? heading : "");
		figure_open(rep, o->metric, o->labels, o->scenario, out);
		figure_over_time(rep, i, out);
		buf_puts(out, "</figure>\n");
	}
	if (n)
		buf_puts(out, "</div>\n");
	return n;
}

void section_throughput(const struct report *rep, struct buf *out)
{
	section(out, "throughput", "Throughput over time");
	hint(out, "Each thin line is one trial. Lines of a variant that drift or split into groups "
		  "say that its trials were not alike; faint lines were vetoed.");
	if (figures_over_time(rep, SERIES_THROUGHPUT, NULL, out) == 0)
		hint(out, "No throughput was measured.");
	section_end(out);
}

static const struct {
	const char *name;
	double fraction;
} quantiles[] = {
	{ "p50", 0.5 },	    { "p90", 0.9 },	  { "p99", 0.99 },
	{ "p99.9", 0.999 }, { "p99.99", 0.9999 }, { "max of n", 1 },
};

static void dist_row(const struct report *rep, const struct dist *d, unsigned int k,
		     struct buf *out)
{
	const struct hist *h = d->hist[k];

	buf_puts(out, "<tr><th scope=\"row\">");
	page_variant(rep, k, out);
	buf_printf(out, "</th><td data-name=\"n\">%" PRIu64 "</td>", h->total);
	for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++) {
		double q = quantiles[i].fraction;
		_cleanup_(buf_release) struct buf b = {};
		uint64_t ns = 0;

		/* a quantile that rests on no sample but the maximum says nothing of its own */
		if (hist_quantile(h, q, &ns) < 0 || (q < 1 && (1 - q) * (double)h->total < 1))
			buf_puts(&b, "-");
		else
			format_value(&b, (double)ns, "ns");
		td_named(out, quantiles[i].name, buf_str(&b));
	}
	buf_puts(out, "</tr>\n");
}

static void dist_table(const struct report *rep, const struct dist *d, struct buf *out)
{
	buf_puts(
		out,
		"<div class=\"scroll\" style=\"margin:12px 0 22px\"><table class=\"stack\">"
		"<caption>All good trials and CPUs together, so that one bad trial can make a tail. A maximum grows with its n."
		"</caption><thead><tr><th scope=\"col\" class=\"left\">variant</th>"
		"<th scope=\"col\">n</th>");
	for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++)
		buf_printf(out, "<th scope=\"col\">%s</th>", quantiles[i].name);
	buf_puts(out, "</tr></thead><tbody>\n");
	for (unsigned int k = 0; k < rep->plan->nr_variants; k++)
		dist_row(rep, d, k, out);
	buf_puts(out, "</tbody></table></div>\n");
}

static bool dist_is_empty(const struct report *rep, const struct dist *d)
{
	for (size_t k = 0; k < rep->plan->nr_variants; k++)
		if (d->hist[k]->total)
			return false;
	return true;
}

void section_latency(const struct report *rep, struct buf *out)
{
	size_t shown = 0;

	section(out, "latency", "Latency");
	hint(out,
	     "Histogram: share of samples per bin, twelve bins a decade. Tail: fraction of samples at "
	     "or above x; the marker at its end is the maximum. All axes are logarithmic.");
	for (size_t i = 0; i < rep->dists.nr; i++) {
		const struct dist *d = &rep->dists.v[i];

		if (dist_is_empty(rep, d))
			continue;
		shown++;
		buf_puts(out, "<div class=\"figures\">\n");
		figure_open(rep, d->metric, d->labels, d->scenario, out);
		figure_histogram(rep, i, out);
		buf_puts(out, "</figure>\n");
		figure_open(rep, d->metric, d->labels, d->scenario, out);
		figure_tail(rep, i, out);
		buf_puts(out, "</figure></div>\n");
		dist_table(rep, d, out);
	}
	if (!shown)
		hint(out, "No latency was measured.");
	figures_over_time(rep, SERIES_LATENCY, NULL, out);
	section_end(out);
}

/* ---- interrupts ---- */

/* A source (all its CPUs) of one scenario, for sorting by how often it fires. */
struct source {
	const struct rate *first;
	double most;
};

static bool of_source(const struct rate *a, const struct rate *b)
{
	return a->scenario == b->scenario && strcmp(a->metric, b->metric) == 0 &&
	       strcmp(a->labels, b->labels) == 0;
}

static double rate_value(const struct report *rep, const struct rate *r, unsigned int variant)
{
	size_t n = model_good(rep, r->scenario, variant);

	return n ? r->sum[variant] / (double)n : 0;
}

static double source_value(const struct report *rep, const struct rate *first, unsigned int variant)
{
	double sum = 0;

	for (size_t i = 0; i < rep->rates.nr; i++)
		if (of_source(&rep->rates.v[i], first))
			sum += rate_value(rep, &rep->rates.v[i], variant);
	return sum;
}

static int by_rate(const void *a, const void *b)
{
	const struct source *x = a, *y = b;

	return (x->most < y->most) - (x->most > y->most);
}

static void rate_cells(struct buf *out, const double *v, size_t nr)
{
	for (size_t k = 0; k < nr; k++) {
		buf_puts(out, "<td>");
		format_value(out, v[k], "1/s");
		buf_puts(out, "</td>");
	}
	for (size_t k = 1; k < nr; k++) {
		buf_puts(out, "<td>");
		if (v[0] > 0 && v[k] >= 10 * v[0])
			buf_printf(out, "%.0f \xc3\x97", v[k] / v[0]);
		else if (v[0] > 0 && v[k] > 0)
			format_change(out, v[k] / v[0] - 1, 0.1);
		else
			buf_puts(out, v[0] > 0 ? "gone" : "new");
		buf_puts(out, "</td>");
	}
	buf_puts(out, "</tr>\n");
}

static void source_name(const struct rate *first, struct buf *out)
{
	const char *name = labels_value(first->labels, "name");
	const char *vec = labels_value(first->labels, "vec");
	const char *key = vec ? vec : labels_value(first->labels, "irq");
	_cleanup_(freep) char *source = NULL;

	source = strndup(key ? key : "", strcspn(key ? key : "", ","));
	svg_escape(out, source ? source : "");
	if (vec)
		buf_puts(out, " <span class=\"meta\">softirq</span>");
	if (!name)
		return;
	/* the last label, so that a comma in a driver's name does no harm */
	buf_puts(out, " <span class=\"meta\">");
	svg_escape(out, name);
	buf_puts(out, "</span>");
}

static size_t cpus_of(const struct report *rep, const struct rate *first)
{
	size_t n = 0;

	for (size_t i = 0; i < rep->rates.nr; i++)
		n += of_source(&rep->rates.v[i], first);
	return n;
}

/* The source over all CPUs, and below it each CPU when there are several. */
static void source_rows(const struct report *rep, const struct rate *first, double *v,
			struct buf *out)
{
	unsigned int nr = (unsigned int)rep->plan->nr_variants;
	size_t cpus = cpus_of(rep, first), shown = 0;

	for (unsigned int k = 0; k < nr; k++)
		v[k] = source_value(rep, first, k);
	buf_puts(out, "<tr><th scope=\"row\">");
	source_name(first, out);
	if (cpus == 1)
		buf_printf(out, "</th><td class=\"left\">CPU %d</td>", first->cpu);
	else
		buf_printf(out, "</th><td class=\"left\">all %zu</td>", cpus);
	rate_cells(out, v, nr);
	for (size_t i = 0; i < rep->rates.nr && cpus > 1 && shown < CPUS_MAX; i++) {
		const struct rate *r = &rep->rates.v[i];

		if (!of_source(r, first))
			continue;
		for (unsigned int k = 0; k < nr; k++)
			v[k] = rate_value(rep, r, k);
		buf_printf(out,
			   "<tr class=\"sub\"><th scope=\"row\"></th><td class=\"left\">CPU %d"
			   "</td>",
			   r->cpu);
		rate_cells(out, v, nr);
		shown++;
	}
}

static size_t sources_of(const struct report *rep, unsigned int scenario, struct source *ret)
{
	size_t nr = 0;

	for (size_t i = 0; i < rep->rates.nr; i++) {
		const struct rate *r = &rep->rates.v[i];
		bool known = r->scenario != scenario;

		for (size_t k = 0; k < nr && !known; k++)
			known = of_source(ret[k].first, r);
		if (known)
			continue;
		ret[nr] = (struct source){ .first = r };
		for (unsigned int k = 0; k < rep->plan->nr_variants; k++)
			ret[nr].most = fmax(ret[nr].most, source_value(rep, r, k));
		nr++;
	}
	qsort(ret, nr, sizeof(*ret), by_rate);
	return nr;
}

static void rates_table(const struct report *rep, unsigned int scenario, const struct source *v,
			size_t nr, struct buf *out)
{
	double *values = calloc(rep->plan->nr_variants, sizeof(*values));
	size_t often = 0; /* sources are sorted, the most frequent first */

	if (!values) {
		out->failed = true;
		return;
	}
	buf_puts(out, "<h3>Scenario ");
	svg_escape(out, model_scenario(rep, scenario));
	buf_puts(out, "</h3><div class=\"scroll\"><table><thead><tr>"
		      "<th scope=\"col\" class=\"left\">source</th>"
		      "<th scope=\"col\" class=\"left\">CPU</th>");
	th_variants(rep, out, "");
	for (unsigned int k = 1; k < rep->plan->nr_variants; k++) {
		buf_puts(out, "<th scope=\"col\">change ");
		svg_escape(out, rep->plan->nr_variants > 2 ? model_variant(rep, k) : "");
		buf_puts(out, "</th>");
	}
	buf_puts(out, "</tr></thead><tbody>\n");
	while (often < nr && v[often].most >= SOURCE_RATE_MIN)
		often++;
	for (size_t i = 0; i < often && i < SOURCES_MAX; i++)
		source_rows(rep, v[i].first, values, out);
	if (often < nr) {
		buf_printf(out, "<tr class=\"sub\"><td class=\"left\" colspan=\"%zu\">",
			   2 * rep->plan->nr_variants + 1);
		format_count(out, nr - often, "source");
		buf_puts(out, " below 1/s</td></tr>\n");
	}
	buf_puts(out, "</tbody></table></div>\n");
	if (often > SOURCES_MAX)
		buf_printf(out, "<p class=\"hint\">%zu rarer sources are not shown.</p>\n",
			   often - SOURCES_MAX);
	free(values);
}

void section_interrupts(const struct report *rep, struct buf *out)
{
	struct source *v = calloc(rep->rates.nr + 1, sizeof(*v));

	section(out, "interrupts", "Interrupts and softirqs");
	if (!v)
		out->failed = true;
	if (v && rep->rates.nr)
		hint(out, "Events per second, the mean over the good trials of each variant; "
			  "changes here are exploratory and not judged.");
	else
		hint(out, "No interrupts were counted.");
	for (unsigned int s = 0; v && s < rep->plan->nr_scenarios; s++) {
		size_t nr = sources_of(rep, s, v);

		if (nr)
			rates_table(rep, s, v, nr, out);
	}
	free(v);
	figures_over_time(rep, SERIES_COUNTER, "<h3>Counters over time</h3>\n", out);
	section_end(out);
}

/* ---- trials ---- */

static void trial_values(const struct report *rep, size_t index, struct buf *out)
{
	for (size_t i = 0; i < rep->plan->nr_metrics; i++) {
		double v = model_value(rep, index, i);
		_cleanup_(buf_release) struct buf b = {};

		if (isfinite(v))
			format_value(&b, v, rep->plan->metrics[i].unit);
		buf_puts(out, "<td>");
		svg_escape(out, buf_str(&b));
		buf_puts(out, "</td>");
	}
}

static void trial_head(const struct report *rep, struct buf *out)
{
	buf_puts(out, "<div class=\"scroll\"><table><caption>In the order they ran; the values are "
		      "those that the verdicts are about.</caption><thead><tr>"
		      "<th scope=\"col\" class=\"left\">trial</th>"
		      "<th scope=\"col\">block</th>"
		      "<th scope=\"col\" class=\"left\">scenario</th>"
		      "<th scope=\"col\" class=\"left\">variant</th>");
	for (size_t i = 0; i < rep->plan->nr_metrics; i++) {
		buf_puts(out, "<th scope=\"col\">");
		svg_escape(out, rep->plan->metrics[i].text);
		buf_puts(out, "</th>");
	}
	buf_puts(out, "<th scope=\"col\">window</th>"
		      "<th scope=\"col\" class=\"left\">state</th>"
		      "<th scope=\"col\" class=\"text\">reason</th></tr></thead><tbody>\n");
}

static void trial_row(const struct report *rep, size_t index, struct buf *out)
{
	const struct trial_info *t = &rep->trials[index];
	static const char *const states[] = {
		[TRIAL_OK] = "<span class=\"word ok\">ok</span>",
		[TRIAL_VETOED] = "<span class=\"word vetoed\">\xe2\x9c\x95 vetoed</span>",
		[TRIAL_FAILED] = "<span class=\"word failed\">\xe2\x9c\x95 failed</span>",
	};

	buf_printf(out, "<tr%s><th scope=\"row\">%u</th><td>%u</td><td class=\"left\">",
		   t->state == TRIAL_OK ? "" : " class=\"lost\"", t->position + 1, t->block + 1);
	svg_escape(out, model_scenario(rep, t->scenario));
	buf_puts(out, "</td><td class=\"left\">");
	page_variant(rep, t->variant, out);
	buf_puts(out, "</td>");
	trial_values(rep, index, out);
	buf_printf(out, "<td>%.2f s</td><td class=\"left\">%s</td><td class=\"text\">",
		   (double)t->window_ns / (double)NS_PER_S, states[t->state]);
	svg_escape(out, t->reason ? t->reason : "");
	buf_puts(out, "</td></tr>\n");
}

void section_trials(const struct report *rep, struct buf *out)
{
	section(out, "trials", "Trials");
	if (rep->nr_trials == 0)
		hint(out, "No trial was stored.");
	else
		trial_head(rep, out);
	for (size_t i = 0; i < rep->nr_trials; i++)
		trial_row(rep, i, out);
	if (rep->nr_trials)
		buf_puts(out, "</tbody></table></div>\n");
	section_end(out);
}

/* ---- plan ---- */

void section_plan(const struct report *rep, struct buf *out)
{
	const char *p = rep->run.plan ? rep->run.plan : "";

	section(out, "plan", "Plan");
	buf_puts(out, "<pre>");
	/* line by line: the escaper shows a newline as what it is not, a control character */
	while (*p) {
		size_t len = strcspn(p, "\n");
		_cleanup_(freep) char *line = strndup(p, len);

		svg_escape(out, line ? line : "");
		buf_putc(out, '\n');
		p += len + (p[len] == '\n');
	}
	buf_puts(out, "</pre>\n");
	section_end(out);
}
