// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "compare_parts.h"
#include "stats/stats.h"

#define MSS_BYTES 1448 /* Ethernet's 1500 less IPv4, TCP and its time stamps */
#define LEVEL 0.05

/* What one side's rows say. NAN: cannot be said. */
struct part {
	struct iperf3_series s;
	const char *direction; /* of its rows: "sent", "received", "" */
	double mean, sd;
	double lag, n_eff;
	int64_t retr;
	size_t episodes; /* runs of consecutive rows with retransmits */
};

struct result {
	struct part a, b;
	bool summary_only; /* the means are those of the summary rows */
	struct interval change;
	bool has_interval;
	double episodes_p; /* NAN: no retransmits are printed */
};

static void result_release(struct result *r)
{
	iperf3_series_release(&r->a.s);
	iperf3_series_release(&r->b.s);
}

/* ---- analysis */

static double standard_deviation(const double *x, size_t n, double mean)
{
	double sum = 0;

	if (n < 2)
		return (double)NAN;
	for (size_t i = 0; i < n; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	return sqrt(sum / (double)(n - 1));
}

static void analyse_part(struct part *p)
{
	const struct iperf3_series *s = &p->s;
	bool lost = false;

	p->mean = p->sd = p->lag = p->n_eff = (double)NAN;
	if (s->nr == 0)
		return;
	p->mean = sample_mean(s->bps, s->nr);
	p->sd = standard_deviation(s->bps, s->nr, p->mean);
	if (s->nr < 3 || !(p->sd > 0) || lag1(s->bps, s->nr, &p->lag, &p->n_eff) < 0)
		p->lag = p->n_eff = (double)NAN;
	for (size_t i = 0; i < s->nr && s->has_retr; i++) {
		p->retr += s->retr[i];
		p->episodes += s->retr[i] > 0 && !lost;
		lost = s->retr[i] > 0;
	}
}

static double log_factorial(size_t n)
{
	int sign;

	return lgamma_r((double)n + 1, &sign);
}

static double log_binomial(size_t n, size_t k, double q)
{
	return log_factorial(n) - log_factorial(k) - log_factorial(n - k) + (double)k * log(q) +
	       (double)(n - k) * log1p(-q);
}

/*
 * Exact two-sided p of @ka of @ka + @kb events falling to A whose share of the time is @q: the
 * conditional test of two Poisson rates (Przyborowski & Wilenski 1940).
 */
static double share_p(size_t ka, size_t kb, double q)
{
	size_t n = ka + kb;
	double seen = log_binomial(n, ka, q), p = 0;

	for (size_t k = 0; k <= n; k++) {
		double l = log_binomial(n, k, q);

		if (l <= seen + 1e-7)
			p += exp(l);
	}
	return p < 1 ? p : 1;
}

/* The mean of a side that has nothing but its summary. */
static double summary_rate(const struct iperf3_series *s, bool receiver)
{
	return receiver ? s->receiver_bps : s->sender_bps;
}

static int use_summaries(struct result *r, struct err *e)
{
	const struct iperf3_series *a = &r->a.s, *b = &r->b.s;
	bool receiver = a->sender_bps < 0 || b->sender_bps < 0;

	if (a->streams_differ || b->streams_differ)
		return err_set(e, -EINVAL,
			       "several streams without [SUM] rows whose intervals do not match: "
			       "give the whole output");
	if (summary_rate(a, receiver) < 0 || summary_rate(b, receiver) < 0)
		return err_set(e, -EINVAL, "no whole interval and no common summary row");
	r->summary_only = true;
	r->a.mean = summary_rate(a, receiver);
	r->b.mean = summary_rate(b, receiver);
	return 0;
}

static int analyse(struct result *r, uint64_t seed, struct err *e)
{
	const struct iperf3_series *a = &r->a.s, *b = &r->b.s;
	int failed = 0;

	analyse_part(&r->a);
	analyse_part(&r->b);
	if (a->nr == 0 || b->nr == 0)
		failed = use_summaries(r, e);
	if (failed < 0)
		return failed;
	if (!(r->a.mean > 0 && r->b.mean > 0))
		return err_set(e, -EINVAL, "a mean rate of 0: there is no ratio to compare");
	r->change.estimate = r->b.mean / r->a.mean - 1;
	if (!r->summary_only) {
		failed = bootstrap_ratio(a->bps, a->nr, b->bps, b->nr, LEVEL, seed, &r->change);
		if (failed == -ENOMEM)
			return err_nomem(e, "bootstrap");
	}
	r->has_interval = !r->summary_only && failed == 0 && isfinite(r->change.low) &&
			  isfinite(r->change.high) && r->change.low > -1;
	r->change.estimate = r->b.mean / r->a.mean - 1;
	r->episodes_p = (double)NAN;
	if (a->has_retr && b->has_retr && a->seconds > 0 && b->seconds > 0)
		r->episodes_p = share_p(r->a.episodes, r->b.episodes,
					a->seconds / (a->seconds + b->seconds));
	return 0;
}

/* Time per interrupt that change @c would mean at @rate interrupts per second [ns]. */
static double ns_per_irq(double c, double rate)
{
	return c / (1 + c) / rate * 1e9;
}

/* The same per segment of MSS_BYTES at A's rate [ns]. */
static double ns_per_segment(double c, double bps)
{
	return c / (1 + c) * MSS_BYTES * 8 / bps * 1e9;
}

/* ---- text */

static const char *rate_text(char *s, size_t size, double bps)
{
	static const char *const prefixes[] = { "", "k", "M", "G", "T" };
	size_t i = 0;
	int decimals;

	if (!isfinite(bps)) {
		snprintf(s, size, "-");
		return s;
	}
	for (; bps >= 1000 && i + 1 < ARRAY_SIZE(prefixes); i++)
		bps /= 1000;
	decimals = bps < 10 ? 3 : bps < 100 ? 2 : 1;
	/* printf() would make 899.5 of 899.55, which binary numbers hold as a little less */
	bps = round(bps * pow(10, decimals)) / pow(10, decimals);
	snprintf(s, size, "%.*f %sbit/s", decimals, bps, prefixes[i]);
	return s;
}

static const char *number_text(char *s, size_t size, int decimals, double v)
{
	if (isfinite(v))
		snprintf(s, size, "%.*f", decimals, v);
	else
		snprintf(s, size, "-");
	return s;
}

static const char *retr_text(char *s, size_t size, const struct part *p)
{
	if (p->s.has_retr)
		snprintf(s, size, "%" PRId64 " in %zu", p->retr, p->episodes);
	else
		snprintf(s, size, "-");
	return s;
}

static void put_row(struct buf *out, const char *name, const char *a, const char *b)
{
	buf_printf(out, "  %-27s%18s%18s\n", name, a, b);
}

static void put_table(const struct result *r, struct buf *out)
{
	char a[48], b[48];
	const struct part *pa = &r->a, *pb = &r->b;

	put_row(out, "", "A", "B");
	put_row(out, "full intervals (N)", number_text(a, sizeof(a), 0, (double)pa->s.nr),
		number_text(b, sizeof(b), 0, (double)pb->s.nr));
	put_row(out, r->summary_only ? "summary row" : "mean", rate_text(a, sizeof(a), pa->mean),
		rate_text(b, sizeof(b), pb->mean));
	put_row(out, "standard deviation", rate_text(a, sizeof(a), pa->sd),
		rate_text(b, sizeof(b), pb->sd));
	put_row(out, "lag-1 autocorrelation", number_text(a, sizeof(a), 2, pa->lag),
		number_text(b, sizeof(b), 2, pb->lag));
	put_row(out, "effective N", number_text(a, sizeof(a), 1, pa->n_eff),
		number_text(b, sizeof(b), 1, pb->n_eff));
	put_row(out, "retransmits in episodes", retr_text(a, sizeof(a), pa),
		retr_text(b, sizeof(b), pb));
	buf_putc(out, '\n');
}

/*
 * How far the change may be off because the rows are printed with few digits: either mean is known
 * to within the mean of its rows' half last digits.  0: no rows.
 */
static double rounding_bound(const struct result *r)
{
	const struct part *a = &r->a, *b = &r->b;
	double ratio = b->mean / a->mean;

	if (r->summary_only)
		return 0;
	if (!(a->s.half_bps < a->mean))
		return HUGE_VAL;
	/* the upper end is the farther one */
	return (b->mean + b->s.half_bps) / (a->mean - a->s.half_bps) - ratio;
}

/* Whether rounding alone may have moved the change by more than half the interval's width. */
static bool is_coarse(const struct result *r)
{
	return r->has_interval && rounding_bound(r) > (r->change.high - r->change.low) / 2;
}

static void put_coarse(const struct result *r, struct buf *out)
{
	double bound = rounding_bound(r);

	if (!is_coarse(r))
		return;
	if (isfinite(bound))
		compare_para(
			out,
			"The printed digits are too coarse: the change is only known to within "
			"+-%.2f %%, whatever the interval says. Use finer units (iperf3 -f k).",
			100 * bound);
	else
		compare_para(out, "The printed digits are too coarse: A's rates are not known from "
				  "0, nor is the change. Use finer units (iperf3 -f k).");
}

static void put_change(const struct result *r, struct buf *out)
{
	double half = fmax(r->a.s.half_ratio, r->b.s.half_ratio);

	if (r->has_interval)
		compare_para(out,
			     "Change of the mean: %+.2f %%, 95 %% within-run interval %+.2f to "
			     "%+.2f %% (stationary bootstrap of the interval rows%s).",
			     100 * r->change.estimate, 100 * r->change.low, 100 * r->change.high,
			     r->change.low <= 0 && r->change.high >= 0 ? "; it contains 0" : "");
	else
		compare_para(out, "Change of the mean: %+.2f %%; no within-run interval: %s.",
			     100 * r->change.estimate,
			     r->summary_only ? "there are only summary rows on one side at least"
					     : "too few intervals");
	compare_para(out, "Each printed rate is rounded to within +-%.2f %%.", 100 * half);
}

static void put_retransmits(const struct result *r, struct buf *out)
{
	if (!isfinite(r->episodes_p))
		return;
	compare_para(out,
		     "Retransmits: %" PRId64 " against %" PRId64 ". They come in bursts, so loss "
		     "episodes (consecutive intervals with retransmits) are counted: %zu against "
		     "%zu, %s (exact conditional test of two rates, p = %.2g).",
		     r->a.retr, r->b.retr, r->a.episodes, r->b.episodes,
		     r->episodes_p < LEVEL
			     ? "which chance alone makes unlikely within these two runs"
			     : "no evidence of a difference",
		     r->episodes_p);
}

static void put_range(struct buf *out, double v, double low, double high, bool has_interval)
{
	double sign = v < 0 ? -1 : 1;

	buf_printf(out, "%.0f ns", fabs(v));
	if (has_interval)
		buf_printf(out, " (%.0f to %.0f)", sign < 0 ? -high : low, sign < 0 ? -low : high);
	buf_puts(out, v < 0 ? " more" : " less");
}

static void put_implied(const struct result *r, double rate, struct buf *out)
{
	_cleanup_(buf_release) struct buf irq = {}, segment = {};
	const struct interval *c = &r->change;
	double bps = r->a.mean;

	if (!(rate > 0))
		return;
	put_range(&irq, ns_per_irq(c->estimate, rate), ns_per_irq(c->low, rate),
		  ns_per_irq(c->high, rate), r->has_interval);
	put_range(&segment, ns_per_segment(c->estimate, bps), ns_per_segment(c->low, bps),
		  ns_per_segment(c->high, bps), r->has_interval);
	compare_para(out,
		     "At %.0f interrupts/s this change would mean %s per interrupt in B, or %s per "
		     "TCP segment of %d bytes (A carries %.0f segments/s). Assumption: one CPU is "
		     "the limit and works on the same number of interrupts in both, so that time "
		     "saved becomes throughput; these texts cannot show that.",
		     rate, buf_str(&irq), buf_str(&segment), MSS_BYTES, bps / 8 / MSS_BYTES);
	out->failed = out->failed || irq.failed || segment.failed;
}

/* ---- what is odd about the rows */

/* Call @say for every oddity of one side. */
static void note_part(const struct part *p, const char *side, struct buf *out,
		      void (*say)(struct buf *out, const char *fmt, ...))
{
	const struct iperf3_series *s = &p->s;

	if (s->omitted)
		say(out, "%s: %zu omitted row(s) (-O) are left out.", side, s->omitted);
	if (s->tail)
		say(out, "%s: %zu short row(s), left over at the end of the test, are left out.",
		    side, s->tail);
	if (s->odd)
		say(out, "%s: %zu row(s) longer than the others are left out.", side, s->odd);
	if (s->added_up)
		say(out, "%s: no [SUM] rows; %zu streams are added up per interval.", side,
		    s->streams);
	else if (s->streams > 1)
		say(out, "%s: [SUM] of %zu streams.", side, s->streams);
	if (s->gaps)
		say(out, "%s: the time jumps in %zu place(s): rows are missing.", side, s->gaps);
	if (s->has_retr && s->sender_retr >= 0 && s->sender_retr != p->retr)
		say(out, "%s: the summary counts %" PRId64 " retransmits, the rows %" PRId64 ".",
		    side, s->sender_retr, p->retr);
	if (s->nr && s->sender_bps > 0 && fabs(p->mean / s->sender_bps - 1) > 0.01 &&
	    !(s->receiver_bps > 0 && fabs(p->mean / s->receiver_bps - 1) <= 0.01))
		say(out, "%s: the mean of the rows differs from the summary row by %+.1f %%.", side,
		    100 * (p->mean / s->sender_bps - 1));
}

static void note_all(const struct result *r, struct buf *out,
		     void (*say)(struct buf *out, const char *fmt, ...))
{
	const struct iperf3_series *a = &r->a.s, *b = &r->b.s;

	note_part(&r->a, "A", out, say);
	note_part(&r->b, "B", out, say);
	if (*r->a.direction && *r->b.direction && strcmp(r->a.direction, r->b.direction) != 0)
		say(out, "A's rows count what was %s, B's what was %s.", r->a.direction,
		    r->b.direction);
	if (a->streams != b->streams)
		say(out, "A has %zu stream(s), B %zu: the loads differ.", a->streams, b->streams);
	if (a->nr && b->nr) {
		double la = a->seconds / (double)a->nr, lb = b->seconds / (double)b->nr;

		if (fabs(la / lb - 1) > 0.1)
			say(out,
			    "Intervals of %.2f s in A, of %.2f s in B: deviations and loss episodes "
			    "are not comparable.",
			    la, lb);
	}
}

static void put_text(const struct result *r, enum iperf3_role role, double rate, struct buf *out)
{
	if (role)
		compare_para(out, "Direction %s:", iperf3_role_name(role));
	put_table(r, out);
	put_change(r, out);
	put_coarse(r, out);
	put_retransmits(r, out);
	put_implied(r, rate, out);
	note_all(r, out, compare_para);
}

/* ---- JSON */

static void json_part(struct buf *out, const char *name, const struct part *p)
{
	compare_json_comma(out);
	buf_printf(out, "\"%s\":{", name);
	compare_json_number(out, "n", (double)p->s.nr);
	compare_json_number(out, "mean_bps", p->mean);
	compare_json_number(out, "sd_bps", p->sd);
	compare_json_number(out, "lag1", p->lag);
	compare_json_number(out, "n_effective", p->n_eff);
	compare_json_number(out, "retransmits", p->s.has_retr ? (double)p->retr : (double)NAN);
	compare_json_number(out, "loss_episodes",
			    p->s.has_retr ? (double)p->episodes : (double)NAN);
	compare_json_number(out, "rounding_ratio", p->s.half_ratio);
	compare_json_number(out, "rows_omitted", (double)p->s.omitted);
	compare_json_number(out, "rows_short", (double)p->s.tail);
	compare_json_number(out, "streams", (double)p->s.streams);
	buf_putc(out, '}');
}

static void json_interval(struct buf *out, const char *name, double v, double low, double high,
			  bool has_interval)
{
	compare_json_number(out, name, v);
	buf_printf(out, ",\"%s_interval\":", name);
	if (has_interval)
		buf_printf(out, "[%.10g,%.10g]", low, high);
	else
		buf_puts(out, "null");
}

static void put_json(const struct result *r, enum iperf3_role role, double rate, struct buf *out)
{
	const struct interval *c = &r->change;

	compare_json_comma(out);
	buf_putc(out, '{');
	compare_json_text(out, "direction", iperf3_role_name(role));
	compare_json_text(out, "verdict", "undecided");
	buf_printf(out, ",\"summary_only\":%s", r->summary_only ? "true" : "false");
	json_part(out, "a", &r->a);
	json_part(out, "b", &r->b);
	json_interval(out, "change", c->estimate, c->low, c->high, r->has_interval);
	compare_json_number(out, "change_rounding", rounding_bound(r));
	buf_printf(out, ",\"too_coarse\":%s", is_coarse(r) ? "true" : "false");
	compare_json_number(out, "loss_episodes_p", r->episodes_p);
	if (rate > 0) {
		compare_json_number(out, "irq_rate", rate);
		json_interval(out, "ns_per_irq", ns_per_irq(c->estimate, rate),
			      ns_per_irq(c->low, rate), ns_per_irq(c->high, rate), r->has_interval);
		json_interval(out, "ns_per_segment", ns_per_segment(c->estimate, r->a.mean),
			      ns_per_segment(c->low, r->a.mean), ns_per_segment(c->high, r->a.mean),
			      r->has_interval);
		compare_json_number(out, "segment_bytes", MSS_BYTES);
	}
	buf_puts(out, ",\"notes\":[");
	note_all(r, out, compare_json_note);
	buf_puts(out, "]}");
}

static int compare_role(const struct compare_pair *p, enum iperf3_role role,
			const struct compare_opts *opts, struct buf *out, struct err *e)
{
	_cleanup_(result_release) struct result r = {
		.a.direction = iperf3_direction(import_iperf3(p->a), role),
		.b.direction = iperf3_direction(import_iperf3(p->b), role),
	};
	int failed = iperf3_series(import_iperf3(p->a), role, &r.a.s);

	if (failed == 0)
		failed = iperf3_series(import_iperf3(p->b), role, &r.b.s);
	if (failed < 0)
		return err_nomem(e, "compare");
	failed = analyse(&r, opts->seed, e);
	if (failed < 0)
		return failed;
	if (opts->json)
		put_json(&r, role, opts->irq_rate, out);
	else
		put_text(&r, role, opts->irq_rate, out);
	return 0;
}

int compare_iperf3(const struct compare_pair *p, const struct compare_opts *opts, struct buf *out,
		   struct err *e)
{
	bool any = false;

	if (opts->json)
		buf_puts(out, ",\"directions\":[");
	for (int i = 0; i < IPERF3_ROLES; i++) {
		enum iperf3_role role = (enum iperf3_role)i;
		int r;

		if (!iperf3_has_role(import_iperf3(p->a), role) ||
		    !iperf3_has_role(import_iperf3(p->b), role))
			continue;
		if (any && !opts->json)
			buf_putc(out, '\n');
		any = true;
		r = compare_role(p, role, opts, out, e);
		if (r < 0)
			return r;
	}
	if (!any)
		return err_set(e, -EINVAL,
			       "no direction in common: one of them is of --bidir, or of the other "
			       "end");
	if (opts->json)
		buf_putc(out, ']');
	return 0;
}
