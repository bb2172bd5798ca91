// SPDX-License-Identifier: GPL-3.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "latency.h"

/* cyclictest starts its minimum here and prints it when nothing was measured. */
#define NO_MINIMUM 1000000

static uint64_t shown(uint64_t ns, bool nsecs)
{
	return nsecs ? ns : ns / NS_PER_US;
}

static uint64_t shown_min(const struct latency_figures *f, bool nsecs)
{
	return f->cycles ? shown(f->min_ns, nsecs) : NO_MINIMUM;
}

static uint64_t shown_avg(const struct latency_figures *f, bool nsecs)
{
	if (!f->cycles)
		return 0;
	return nsecs ? (uint64_t)(f->sum_ns / (double)f->cycles) : f->sum_us / f->cycles;
}

void latency_print_line(FILE *to, size_t index, const struct latency_figures *f, bool nsecs)
{
	fprintf(to,
		"T:%2zu (%5" PRId32 ") P:%2" PRIu32 " I:%" PRIu64 " C:%7" PRIu64 " Min:%7" PRIu64
		" Act:%*" PRIu64 " Avg:%*" PRIu64 " Max:%8" PRIu64 "\n",
		index, f->tid, f->priority, f->interval_ns / NS_PER_US, f->cycles,
		shown_min(f, nsecs), nsecs ? 8 : 5, shown(f->act_ns, nsecs), nsecs ? 8 : 5,
		shown_avg(f, nsecs), shown(f->max_ns, nsecs));
}

static void print_row(FILE *to, const struct latency_view *v, uint64_t row)
{
	uint64_t sum = 0;

	fprintf(to, "%06" PRIu64 " ", row);
	for (size_t i = 0; i < v->nr; i++) {
		fprintf(to, "%s%06" PRIu64, i ? "\t" : "", v->rows[i].count[row]);
		sum += v->rows[i].count[row];
	}
	if (v->rows_sum && v->nr > 1)
		fprintf(to, "\t%06" PRIu64, sum);
	fputs("\n", to);
}

static void print_total(FILE *to, const struct latency_view *v)
{
	uint64_t sum = 0;

	fputs("# Total:", to);
	for (size_t i = 0; i < v->nr; i++) {
		uint64_t n = 0;

		for (uint64_t row = 0; row < v->nr_rows; row++)
			n += v->rows[i].count[row];
		fprintf(to, " %09" PRIu64, n);
		sum += n;
	}
	if (v->rows_sum && v->nr > 1)
		fprintf(to, " %09" PRIu64, sum);
	fputs("\n", to);
}

static void print_extremes(FILE *to, const struct latency_view *v)
{
	uint64_t max = 0;

	fputs("# Min Latencies:", to);
	for (size_t i = 0; i < v->nr; i++)
		fprintf(to, " %05" PRIu64, shown_min(&v->figures[i], v->nsecs));
	fputs("\n# Avg Latencies:", to);
	for (size_t i = 0; i < v->nr; i++)
		fprintf(to, " %05" PRIu64, shown_avg(&v->figures[i], v->nsecs));
	fputs("\n# Max Latencies:", to);
	for (size_t i = 0; i < v->nr; i++) {
		uint64_t own = shown(v->figures[i].max_ns, v->nsecs);

		fprintf(to, " %05" PRIu64, own);
		max = own > max ? own : max;
	}
	if (v->rows_sum && v->nr > 1)
		fprintf(to, " %05" PRIu64, max);
	fputs("\n", to);
}

static void print_overflows(FILE *to, const struct latency_view *v)
{
	uint64_t sum = 0;

	fputs("# Histogram Overflows:", to);
	for (size_t i = 0; i < v->nr; i++) {
		fprintf(to, " %05" PRIu64, v->rows[i].nr_overflow);
		sum += v->rows[i].nr_overflow;
	}
	if (v->rows_sum && v->nr > 1)
		fprintf(to, " %05" PRIu64, sum);
	fputs("\n# Histogram Overflow at cycle number:\n", to);
	for (size_t i = 0; i < v->nr; i++) {
		const struct latency_rows *r = &v->rows[i];
		uint64_t kept = r->nr_overflow < v->nr_rows ? r->nr_overflow : v->nr_rows;

		fprintf(to, "# Thread %zu:", i);
		for (uint64_t k = 0; k < kept; k++)
			fprintf(to, " %05" PRIu64, r->overflow[k]);
		if (kept < r->nr_overflow)
			fprintf(to, " # %05" PRIu64 " others", r->nr_overflow - kept);
		fputs("\n", to);
	}
	fputs("\n", to);
}

void latency_print_rows(FILE *to, const struct latency_view *v)
{
	fputs("# Histogram\n", to);
	for (uint64_t row = 0; row < v->nr_rows; row++)
		print_row(to, v, row);
	print_total(to, v);
	print_extremes(to, v);
	print_overflows(to, v);
}

void latency_print_spikes(FILE *to, struct wakeup_spikes *spikes, bool nsecs)
{
	uint64_t nr = atomic_load(&spikes->nr);

	if (nr == 0)
		return;
	fputs("\n", to);
	for (uint64_t i = 0; i < nr && i < spikes->max; i++) {
		const struct wakeup_spike *s = &spikes->spike[i];

		fprintf(to, "T:%2u Spike:%8" PRIu64 ": TS: %12" PRIu64 "\n", s->lane,
			shown(s->late_ns, nsecs), s->at_ns / NS_PER_US);
	}
	fprintf(to, "spikes = %" PRIu64 "\n\n", nr);
}

/* ---- beyond cyclictest ---- */

static const struct {
	const char *name;
	double q;
	uint64_t needs; /* ten of the wake-ups lie above it */
} quantiles[] = { { "p50", 0.5, 20 },
		  { "p99", 0.99, 1000 },
		  { "p99.9", 0.999, 10000 },
		  { "p99.99", 0.9999, 100000 } };

static void print_cell(FILE *to, uint64_t ns, bool nsecs)
{
	if (nsecs)
		fprintf(to, " %9" PRIu64, ns);
	else
		fprintf(to, " %9.1f", (double)ns / (double)NS_PER_US);
}

static void print_quantiles(FILE *to, const char *what, const struct hist *h, bool nsecs)
{
	fprintf(to, "  %-9s %11" PRIu64, what, h->total);
	for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++) {
		uint64_t v = 0;

		if (h->total < quantiles[i].needs || hist_quantile(h, quantiles[i].q, &v) < 0)
			fprintf(to, " %9s", "-");
		else
			print_cell(to, v, nsecs);
	}
	print_cell(to, h->max, nsecs);
	fputs("\n", to);
}

static void print_when(FILE *to, const struct latency_point *p)
{
	time_t s = (time_t)(p->wall_ns / NS_PER_S);
	char day[32] = "";
	struct tm tm;

	if (gmtime_r(&s, &tm))
		strftime(day, sizeof(day), "%Y-%m-%d %H:%M:%S", &tm);
	fprintf(to, "%s.%06" PRIu64 " UTC, monotonic %" PRIu64 ".%06" PRIu64, day,
		p->wall_ns % NS_PER_S / NS_PER_US, p->mono_ns / NS_PER_S,
		p->mono_ns % NS_PER_S / NS_PER_US);
}

static void print_thread(FILE *to, const struct latency_view *v, size_t i, struct hist *corrected)
{
	const struct latency_figures *f = &v->figures[i];
	const struct latency_point *worst = v->series ? latency_series_worst(v->series[i]) : NULL;
	uint64_t due = v->hist[i]->total + f->skipped + f->elsewhere;

	fprintf(to,
		"T:%2zu CPU %" PRIu32 " P:%2" PRIu32 ": %" PRIu64 " due, %" PRIu64
		" skipped (%.2g %%)",
		i, f->cpu, f->priority, due, f->skipped,
		due ? 100 * (double)f->skipped / (double)due : 0.0);
	if (f->elsewhere)
		fprintf(to, ", %" PRIu64 " on another CPU", f->elsewhere);
	fputs("\n", to);
	memset(corrected, 0, sizeof(*corrected));
	wakeup_correct(v->hist[i], f->interval_ns, corrected);
	print_quantiles(to, "as seen", v->hist[i], v->nsecs);
	print_quantiles(to, "corrected", corrected, v->nsecs);
	if (worst) {
		fputs("  worst at ", to);
		print_when(to, worst);
		fputs(":", to);
		print_cell(to, worst->late_ns, v->nsecs);
		fputs("\n", to);
	}
}

int latency_print_full(FILE *to, const struct latency_view *v, struct err *e)
{
	_cleanup_(hist_freep) struct hist *corrected = hist_new();

	if (!corrected)
		return err_nomem(e, "corrected histogram");
	fprintf(to, "# irqlab: a skipped cycle counts as the late wake-up that it is; %s\n",
		v->nsecs ? "ns" : "us");
	fprintf(to, "# %9s %11s", "", "n");
	for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++)
		fprintf(to, " %9s", quantiles[i].name);
	fprintf(to, " %9s\n", "max");
	for (size_t i = 0; i < v->nr; i++)
		print_thread(to, v, i, corrected);
	return 0;
}

int latency_print_skipped(FILE *to, const struct latency_view *v, struct err *e)
{
	_cleanup_(hist_freep) struct hist *seen = hist_new(), *corrected = hist_new();
	uint64_t skipped = 0, due = 0, a = 0, b = 0;

	if (!seen || !corrected)
		return err_nomem(e, "corrected histogram");
	for (size_t i = 0; i < v->nr; i++) {
		hist_merge(seen, v->hist[i]);
		wakeup_correct(v->hist[i], v->figures[i].interval_ns, corrected);
		skipped += v->figures[i].skipped;
		due += v->hist[i]->total + v->figures[i].skipped;
	}
	if (!skipped)
		return 0;
	fprintf(to, "irqlab: %" PRIu64 " of %" PRIu64 " wake-ups were skipped in stalls", skipped,
		due);
	if (due >= 1000 && hist_quantile(seen, 0.99, &a) == 0 &&
	    hist_quantile(corrected, 0.99, &b) == 0)
		fprintf(to, ": p99 is %.1f us as seen, %.1f us with them",
			(double)a / (double)NS_PER_US, (double)b / (double)NS_PER_US);
	fputs(" (--full)\n", to);
	return 0;
}

/* ---- maxima in constant memory ---- */

static void halve(struct latency_series *s)
{
	for (uint64_t i = 0; i < LATENCY_POINTS / 2; i++) {
		const struct latency_point *a = &s->point[2 * i], *b = a + 1;

		s->point[i] = b->late_ns > a->late_ns ? *b : *a;
	}
	s->nr = LATENCY_POINTS / 2;
	s->step_s *= 2;
}

void latency_series_add(struct latency_series *s, uint64_t second, const struct latency_point *p)
{
	uint64_t at;

	if (!s->step_s)
		s->step_s = 1;
	while (second / s->step_s >= LATENCY_POINTS)
		halve(s);
	at = second / s->step_s;
	/* seconds in which nothing woke are empty points */
	for (; s->nr <= at; s->nr++)
		s->point[s->nr] = (struct latency_point){};
	if (p->late_ns >= s->point[at].late_ns)
		s->point[at] = *p;
}

const struct latency_point *latency_series_worst(const struct latency_series *s)
{
	const struct latency_point *worst = NULL;

	for (uint64_t i = 0; i < s->nr && i < LATENCY_POINTS; i++)
		if (s->point[i].wall_ns && (!worst || s->point[i].late_ns > worst->late_ns))
			worst = &s->point[i];
	return worst;
}
