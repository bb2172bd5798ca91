// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * bench_verdict NOISE [EXPERIMENTS [SEED]]: what the verdict does on noise that a machine really
 * made.
 *
 * NOISE is a record of trials in the order in which they were measured while nothing was changed
 * (tests/known/noise.txt).  An experiment is a stretch of consecutive trials of it, from a random
 * place and in a random direction of time, so that drift, shifts of level, bursts and dependence
 * between neighbours stay as they were.  A design says which of these trials are the variant's; an
 * effect is planted by multiplying those.
 *
 * Where the spread of the record hides every effect of interest, power is also shown on the record
 * made smaller: the deviations of the logarithms from their median times a factor, so that
 * dependence, shifts and tails keep their shape.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/rng.h"
#include "stats/sequential.h"
#include "stats/stats.h"
#include "verdict/verdict.h"

#define ALPHA 0.05
#define MARGIN 0.0001 /* so narrow that "same" hides nothing */
#define MAX_ROWS 5000
#define SCALED 0.015 /* what a quiet machine does */
#define MAX_BLOCKS 64

enum column { TIME, THROUGHPUT, P99, DUE, ABOVE, MAXIMUM, RETRANSMITS, STEAL, NR_COLUMNS };

struct noise {
	double v[MAX_ROWS][NR_COLUMNS];
	size_t nr;
};

static struct noise noise;
static uint64_t rng;
/* Of the deviations of throughput. */
static double factor = 1;
static double median_throughput;

/* A metric of the record as the verdict takes it. */
static const struct kind {
	const char *name;
	enum metric_kind kind;
	enum column column;
	bool per_due; /* divided by the wake-ups that were due */
	double q;
} kinds[] = {
	{ "throughput", METRIC_LOCATION, THROUGHPUT },
	{ "wakeup.p99", METRIC_QUANTILE, P99, .q = 0.99 },
	{ "wakeup.above > 500us", METRIC_RATE, ABOVE, .per_due = true },
	{ "tcp.retransmits", METRIC_RATE, RETRANSMITS },
	{ "wakeup.max", METRIC_MAXIMUM, MAXIMUM },
};

enum order { IN_BLOCKS, ONE_AFTER_THE_OTHER };

/* Trials of one experiment. */
struct experiment {
	struct observation obs[2 * MAX_BLOCKS], counts[2 * MAX_BLOCKS];
	size_t nr;
};

struct tally {
	unsigned int better, worse, same, undecided, covered;
	double width, trials;
};

static double uniform(void)
{
	return ((double)(rng_next(&rng) >> 11) + 0.5) / 9007199254740992.0;
}

static int read_noise(const char *path)
{
	_cleanup_(fclose_filep) FILE *f = fopen(path, "re");
	char line[400];

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f) && noise.nr < MAX_ROWS) {
		double *v = noise.v[noise.nr];

		noise.nr += sscanf(line, "%lf %lf %lf %lf %lf %lf %lf %lf", &v[0], &v[1], &v[2],
				   &v[3], &v[4], &v[5], &v[6], &v[7]) == NR_COLUMNS;
	}
	return noise.nr >= 4 * MAX_BLOCKS ? 0 : -1;
}

static double value_of(const struct kind *k, const double *row)
{
	if (k->column == THROUGHPUT)
		return median_throughput * pow(row[THROUGHPUT] / median_throughput, factor);
	return k->per_due ? row[k->column] / row[DUE] : row[k->column];
}

/* Draw a stretch for @blocks blocks and give the variant's trials the @effect. */
static void draw(const struct kind *k, enum order order, size_t blocks, double effect,
		 struct experiment *x)
{
	size_t length = 2 * blocks;
	size_t start = rng_below(&rng, noise.nr - length + 1);
	bool backwards = rng_below(&rng, 2);

	x->nr = 0;
	for (size_t b = 0, flip = 0; x->nr < length; x->nr++) {
		size_t i = x->nr, at = start + (backwards ? length - 1 - i : i);
		struct observation *o = &x->obs[i];

		if (i % 2 == 0)
			flip = rng_below(&rng, 2);
		b = i / 2;
		*o = (struct observation){
			.block = (unsigned int)(order == IN_BLOCKS ? b : i % blocks),
			.variant = (unsigned int)(order == IN_BLOCKS ? (i + flip) % 2 : i / blocks),
			.has_value = true,
			.value = value_of(k, noise.v[at]),
		};
		if (o->variant)
			o->value *= 1 + effect;
		x->counts[i] = *o;
		x->counts[i].value = noise.v[at][DUE];
	}
}

static struct verdict decide(const struct kind *k, const struct experiment *x, const size_t *looks,
			     size_t nr_looks)
{
	const struct verdict_query q = { .metric = k->name,
					 .better = BETTER_HIGHER,
					 .margin = MARGIN,
					 .kind = k->kind,
					 .q = k->q,
					 .obs = x->obs,
					 .nr_obs = x->nr,
					 .counts = x->counts,
					 .nr_counts = x->nr };
	unsigned int at[SEQUENTIAL_LOOKS_MAX];
	const struct verdict_looks l = { ALPHA, at, nr_looks, nr_looks };
	struct verdict v = {};
	struct err e = {};
	int r;

	for (size_t i = 0; i < nr_looks; i++)
		at[i] = (unsigned int)looks[i];
	r = nr_looks ? verdict_decide_sequential(&q, 1, 2, &l, &v, &e)
		     : verdict_decide(&q, 1, 2, ALPHA, &v, &e);
	if (r < 0) {
		fprintf(stderr, "bench_verdict: %s\n", e.msg);
		exit(1);
	}
	return v;
}

static void count(struct tally *t, const struct verdict *v, double effect, size_t trials)
{
	t->better += v->word == VERDICT_BETTER;
	t->worse += v->word == VERDICT_WORSE;
	t->same += v->word == VERDICT_SAME;
	t->undecided += v->word == VERDICT_UNDECIDED || v->word == VERDICT_VETOED;
	t->covered += v->low <= effect && effect <= v->high;
	t->width += isfinite(v->high - v->low) ? v->high - v->low : 0;
	t->trials += (double)trials;
}

static size_t look_blocks(const struct verdict *v, const size_t *looks, size_t nr)
{
	return v->look ? looks[v->look - 1] : looks[nr - 1];
}

static double percent(unsigned int n, unsigned int of)
{
	return 100.0 * n / of;
}

/* Three standard errors of a share of 5 % in @n experiments, in per cent. */
static double slack(unsigned int n)
{
	return 300 * sqrt(ALPHA * (1 - ALPHA) / n);
}

static void title(const char *text)
{
	printf("\n### %s\n\n", text);
}

/* ---- nothing was changed: how often does it say otherwise? ---- */

static void false_verdicts(unsigned int n)
{
	static const size_t blocks[] = { 6, 8, 12, 20 };

	title("False verdicts, fixed design: nothing was changed");
	printf("%u experiments each; 5 %% plus three standard errors is %.1f %%.\n\n", n,
	       100 * ALPHA + slack(n));
	printf("| metric | test | 6 blocks | 8 | 12 | 20 | interval covers (12) | half-width (12) |\n"
	       "|---|---|---|---|---|---|---|---|\n");
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		printf("| %s | %s |", kinds[k].name, verdict_test(kinds[k].kind));
		for (size_t b = 0; b < ARRAY_SIZE(blocks); b++) {
			struct tally t = {};

			for (unsigned int i = 0; i < n; i++) {
				static struct experiment x;
				struct verdict v;

				draw(&kinds[k], IN_BLOCKS, blocks[b], 0, &x);
				v = decide(&kinds[k], &x, NULL, 0);
				count(&t, &v, 0, 2 * blocks[b]);
			}
			printf(" %.1f %% |", percent(t.better + t.worse, n));
		}
		struct tally t = {};

		for (unsigned int i = 0; i < n; i++) {
			static struct experiment x;
			double effect = kinds[k].kind == METRIC_RATE ? 0 : 0.05;
			struct verdict v;

			draw(&kinds[k], IN_BLOCKS, 12, effect, &x);
			v = decide(&kinds[k], &x, NULL, 0);
			count(&t, &v, effect, 24);
		}
		printf(" %.1f %% | %.1f %% |\n", percent(t.covered, n), 50 * t.width / n);
		fflush(stdout);
	}
}

static const size_t looks_16[] = { 10, 12, 14, 16 };

static void false_sequential(unsigned int n)
{
	title("False verdicts, sequential design: nothing was changed");
	printf("%u experiments each, looks after 10, 12, 14, 16 blocks; 5 %% plus three standard "
	       "errors is %.1f %%.\n\n",
	       n, 100 * ALPHA + slack(n));
	printf("| metric | false | interval at the last look covers | mean blocks |\n|---|---|---|---|\n");
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		struct tally t = {};

		if (kinds[k].kind == METRIC_MAXIMUM)
			continue;
		for (unsigned int i = 0; i < n; i++) {
			static struct experiment x;
			struct verdict v;

			draw(&kinds[k], IN_BLOCKS, 16, 0, &x);
			v = decide(&kinds[k], &x, looks_16, ARRAY_SIZE(looks_16));
			count(&t, &v, 0, look_blocks(&v, looks_16, ARRAY_SIZE(looks_16)));
		}
		printf("| %s | %.1f %% | %.1f %% | %.1f |\n", kinds[k].name,
		       percent(t.better + t.worse, n), percent(t.covered, n), t.trials / n);
		fflush(stdout);
	}
}

/* ---- what people do today ---- */

enum rule { LOOK, MANN_WHITNEY, T_TEST, FIXED, SEQUENTIAL, NR_RULES };

static const char *const rule_names[] = { "one run each, 1 % counts",
					  "n + n in sequence, Mann-Whitney",
					  "n + n in sequence, t-test", "irqlab, fixed",
					  "irqlab, sequential" };

static size_t split(const struct experiment *x, double *a, double *b)
{
	size_t na = 0, nb = 0;

	for (size_t i = 0; i < x->nr; i++)
		if (x->obs[i].variant)
			b[nb++] = x->obs[i].value;
		else
			a[na++] = x->obs[i].value;
	return na;
}

/* ministat: pooled standard deviation, 95 %. */
static int t_test(const double *a, const double *b, size_t n)
{
	double va = gsl_stats_variance(a, 1, n), vb = gsl_stats_variance(b, 1, n);
	double d = gsl_stats_mean(b, 1, n) - gsl_stats_mean(a, 1, n);
	double se = sqrt((va + vb) / (double)n);
	double limit = gsl_cdf_tdist_Pinv(1 - ALPHA / 2, 2 * (double)n - 2);

	return fabs(d) <= limit * se ? 0 : d > 0 ? 1 : -1;
}

static int mann_whitney(const double *a, const double *b, size_t n)
{
	double p = 1;

	ranksum_p(a, n, b, n, 0, &p);
	return p > ALPHA ? 0 : gsl_stats_mean(b, 1, n) > gsl_stats_mean(a, 1, n) ? 1 : -1;
}

static int sign_of(const struct verdict *v)
{
	return v->word == VERDICT_BETTER ? 1 : v->word == VERDICT_WORSE ? -1 : 0;
}

/* A line of drift over the whole experiment, on top of what the record has. */
static void add_drift(struct experiment *x, double drift)
{
	for (size_t i = 0; i < x->nr; i++)
		x->obs[i].value *= 1 + drift * (double)i / (double)(x->nr - 1);
}

/*
 * What @rule says of an experiment with @n trials a side: -1, 0, 1.  A sequential design may use up
 * to n blocks.  *@trials: how many it took.
 */
static int ask(enum rule rule, size_t n, double effect, double drift, double *trials)
{
	static struct experiment x;
	double a[MAX_BLOCKS], b[MAX_BLOCKS];
	size_t looks[4], nr = 0;
	struct verdict v;

	if (rule == LOOK)
		n = 1;
	draw(&kinds[0], rule == FIXED || rule == SEQUENTIAL ? IN_BLOCKS : ONE_AFTER_THE_OTHER, n,
	     effect, &x);
	add_drift(&x, drift);
	*trials = 2 * (double)n;
	switch (rule) {
	case LOOK:
		split(&x, a, b);
		return fabs(b[0] / a[0] - 1) <= 0.01 ? 0 : b[0] > a[0] ? 1 : -1;
	case MANN_WHITNEY:
		return mann_whitney(a, b, split(&x, a, b));
	case T_TEST:
		return t_test(a, b, split(&x, a, b));
	case FIXED:
		v = decide(&kinds[0], &x, NULL, 0);
		return sign_of(&v);
	case SEQUENTIAL:
		for (size_t i = 0; i < 4; i++) {
			size_t first = n < 10 ? n : 10, at = first + (n - first) * i / 3;

			if (nr == 0 || looks[nr - 1] < at)
				looks[nr++] = at;
		}
		v = decide(&kinds[0], &x, looks, nr);
		*trials = 2 * (double)look_blocks(&v, looks, nr);
		return sign_of(&v);
	case NR_RULES:
		break;
	}
	return 0;
}

static double share(enum rule rule, size_t n, double effect, double drift, int sign,
		    unsigned int experiments, double *ret_trials)
{
	unsigned int hits = 0;
	double sum = 0;

	for (unsigned int i = 0; i < experiments; i++) {
		double trials = 0;
		int s = ask(rule, n, effect, drift, &trials);

		hits += sign == 0 ? s != 0 : s == sign;
		sum += trials;
	}
	if (ret_trials)
		*ret_trials = sum / experiments;
	return 100.0 * hits / experiments;
}

static void today(unsigned int n, unsigned int n_slow)
{
	static const double drifts[] = { 0, 0.02, 0.05 };

	title("False verdicts of what people do today, throughput, 10 trials a side");
	printf("Columns: the record as it is; the same with 2 %% and 5 %% of steady drift over the "
	       "experiment.\n\n| rule | as recorded | + 2 %% | + 5 %% |\n|---|---|---|---|\n");
	for (enum rule r = LOOK; r < NR_RULES; r++) {
		printf("| %s |", rule_names[r]);
		for (size_t d = 0; d < ARRAY_SIZE(drifts); d++)
			printf(" %.1f %% |", share(r, r == SEQUENTIAL ? 16 : 10, 0, drifts[d], 0,
						   r == SEQUENTIAL ? n_slow : n, NULL));
		printf("\n");
		fflush(stdout);
	}
}

/* Make the spread of single trials of throughput @sd; 0: as recorded. */
static void scale_to(double sd)
{
	static double x[MAX_ROWS];

	for (size_t i = 0; i < noise.nr; i++)
		x[i] = log(noise.v[i][THROUGHPUT]);
	factor = sd > 0 ? sd / gsl_stats_sd(x, 1, noise.nr) : 1;
}

static void power(double sd, unsigned int n, unsigned int n_slow)
{
	static const double effects[] = { 0, 0.005, 0.01, 0.015, 0.02, 0.05 };
	char text[120] = "Right verdicts, throughput, planted effect, noise as recorded";

	if (sd > 0)
		snprintf(
			text, sizeof(text),
			"Right verdicts, throughput, planted effect, noise scaled to %.1f %% a trial",
			100 * sd);
	scale_to(sd);
	title(text);
	printf("24 blocks (sequential: at the most), 24 trials a side; 0 %%: any verdict, all of them "
	       "false.\n\n| rule | 0 %% | 0.5 %% | 1 %% | 1.5 %% | 2 %% | 5 %% |\n"
	       "|---|---|---|---|---|---|---|\n");
	for (enum rule r = LOOK; r < NR_RULES; r++) {
		printf("| %s |", rule_names[r]);
		for (size_t i = 0; i < ARRAY_SIZE(effects); i++)
			printf(" %.0f %% |", share(r, 24, effects[i], 0, i ? 1 : 0,
						   r == SEQUENTIAL ? n_slow : n, NULL));
		printf("\n");
		fflush(stdout);
	}
	scale_to(0);
}

static void time_row(enum rule r, double effect, unsigned int n)
{
	static const size_t sizes[] = { 6, 8, 10, 12, 16, 20, 24, 32, 40, 50, 64 };
	double each = (noise.v[noise.nr - 1][TIME] - noise.v[0][TIME]) / (double)(noise.nr - 1);
	double trials = 0, right = 0;
	size_t i = 0;

	for (; i < ARRAY_SIZE(sizes); i++) {
		right = share(r, sizes[i], effect, 0, 1, n, &trials);
		if (right >= 80)
			break;
	}
	if (i < ARRAY_SIZE(sizes))
		printf("| %s | %.1f %% | %zu | %.0f %% | %.1f %% | %.1f | %.1f min |\n",
		       rule_names[r], 100 * effect, sizes[i], right,
		       share(r, sizes[i], 0, 0, 0, n, NULL), trials, trials * each / 60);
	else
		printf("| %s | %.1f %% | more than %zu | %.0f %% at that | %.1f %% at that | | |\n",
		       rule_names[r], 100 * effect, sizes[ARRAY_SIZE(sizes) - 1], right,
		       share(r, sizes[ARRAY_SIZE(sizes) - 1], 0, 0, 0, n, NULL));
	fflush(stdout);
}

/* The fewest trials a side at which a rule is right in four of five. */
static void machine_time(double sd, unsigned int n, unsigned int n_slow)
{
	static const double effects[] = { 0.015, 0.05 };

	scale_to(sd);
	title("Machine time to the right verdict in four of five experiments, throughput");
	printf("Noise scaled to %.1f %% a trial.\n\n| rule | effect | trials a side | right | false "
	       "when nothing was changed | mean trials in all | time |\n"
	       "|---|---|---|---|---|---|---|\n",
	       100 * sd);
	for (size_t k = 0; k < ARRAY_SIZE(effects); k++)
		for (enum rule r = MANN_WHITNEY; r < NR_RULES; r++)
			time_row(r, effects[k], r == SEQUENTIAL ? n_slow : n);
	scale_to(0);
}

/* ---- how long it takes ---- */

/* CPU time: what else the machine does is not what is measured here. */
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void speed(void)
{
	enum { METRICS = 100, BLOCKS = 500 };
	struct observation *obs = calloc((size_t)METRICS * BLOCKS * 2, sizeof(*obs));
	struct verdict_query *q = calloc(METRICS, sizeof(*q));
	struct verdict *v = calloc(METRICS, sizeof(*v));
	struct exploration *x = calloc(METRICS, sizeof(*x));
	struct err e = {};
	double begin;

	if (!obs || !q || !v || !x)
		exit(1);
	for (size_t m = 0; m < METRICS; m++) {
		q[m] = (struct verdict_query){ .metric = "speed",
					       .better = BETTER_HIGHER,
					       .margin = 0.01,
					       .obs = obs + m * BLOCKS * 2,
					       .nr_obs = (size_t)BLOCKS * 2 };
		for (size_t i = 0; i < (size_t)BLOCKS * 2; i++)
			obs[m * BLOCKS * 2 + i] =
				(struct observation){ .block = (unsigned int)(i / 2),
						      .variant = (unsigned int)(i % 2),
						      .has_value = true,
						      .value = 1 + 0.1 * uniform() };
	}
	begin = now();
	if (verdict_decide(q, METRICS, 2, ALPHA, v, &e) < 0)
		exit(1);
	title("How long it takes");
	printf("verdict over 1,000 trials x 100 metrics: %.2f s of CPU time\n", now() - begin);
	begin = now();
	if (verdict_explore(q, METRICS, 2, ALPHA, x, &e) < 0)
		exit(1);
	printf("the same, exploratory: %.2f s\n", now() - begin);
	free(obs);
	free(q);
	free(v);
	free(x);
}

static void describe(void)
{
	static double x[MAX_ROWS];
	double r = 0, n_eff = 0, median = 0;

	title("The record");
	printf("%zu trials in %.0f s.\n\n| metric | median | spread (sd / mean) | lag-1 correlation | "
	       "effective n | zeros |\n|---|---|---|---|---|---|\n",
	       noise.nr, noise.v[noise.nr - 1][TIME] - noise.v[0][TIME]);
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		size_t zeros = 0;

		for (size_t i = 0; i < noise.nr; i++) {
			x[i] = value_of(&kinds[k], noise.v[i]);
			zeros += x[i] == 0;
		}
		sample_median(x, noise.nr, &median);
		lag1(x, noise.nr, &r, &n_eff);
		printf("| %s | %.4g | %.1f %% | %.2f | %.0f | %zu |\n", kinds[k].name, median,
		       100 * gsl_stats_sd(x, 1, noise.nr) / gsl_stats_mean(x, 1, noise.nr), r,
		       n_eff, zeros);
	}
}

int main(int argc, char **argv)
{
	static double values[MAX_ROWS];

	unsigned int n = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 4000;
	unsigned int n_slow = n / 8 ? n / 8
				    : 1; /* a sequential verdict takes a tenth of a second */

	rng = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	if (argc < 2 || n == 0 || read_noise(argv[1]) < 0) {
		fprintf(stderr, "usage: bench_verdict NOISE [EXPERIMENTS [SEED]]\n");
		return 2;
	}
	for (size_t i = 0; i < noise.nr; i++)
		values[i] = noise.v[i][THROUGHPUT];
	sample_median(values, noise.nr, &median_throughput);
	describe();
	false_verdicts(n);
	false_sequential(n_slow);
	today(n, n_slow);
	power(0, n, n_slow);
	power(SCALED, n, n_slow);
	machine_time(SCALED, n, n_slow);
	speed();
	return 0;
}
