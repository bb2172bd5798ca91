// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/sequential.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "base/cleanup.h"
#include "stats/check.h"
#include "stats/flips.h"
#include "stats/ranks.h"
#include "stats/signflip.h"

#define TIE 1e-12     /* of the sum of sizes, as in signflip_p */
#define DRAWN_TRIED 8 /* candidates for an end that are gone through before bisecting */
#define GRID 16	      /* shifts between a surely rejected and a surely accepted one */

double sequential_spent(enum sequential_spending s, double alpha, double t)
{
	if (t <= 0)
		return 0;
	if (t >= 1)
		return alpha;
	switch (s) {
	case SPENDING_OBRIEN_FLEMING:
		return 2 * gsl_cdf_ugaussian_Q(gsl_cdf_ugaussian_Qinv(alpha / 2) / sqrt(t));
	case SPENDING_POCOCK:
		return alpha * log1p((M_E - 1) * t);
	}
	return 0;
}

/* Level that may be spent by look @k (from 0); nothing before the first. */
static double spent_by(const struct sequential *s, size_t k)
{
	if (k + 1 == s->nr_looks)
		return s->alpha;
	return sequential_spent(s->spending, s->alpha, (double)s->looks[k] / (double)s->most);
}

static int check(const struct sequential *s)
{
	if (!(s->alpha > 0 && s->alpha < 1) || s->nr_looks < 1 ||
	    s->nr_looks > SEQUENTIAL_LOOKS_MAX || s->looks[0] < 1)
		return -EDOM;
	for (size_t k = 1; k < s->nr_looks; k++)
		if (s->looks[k] <= s->looks[k - 1])
			return -EDOM;
	return s->looks[s->nr_looks - 1] <= s->most ? 0 : -EDOM;
}

static bool can_reject(double level, size_t n)
{
	return ldexp(1, 1 - (int)n) <= level;
}

int sequential_check(const struct sequential *s, size_t *ret_look, size_t *ret_pairs)
{
	int r = check(s);
	size_t k = 0, n;

	if (r < 0)
		return r;
	while (k < s->nr_looks && can_reject(spent_by(s, k), s->looks[k]))
		k++;
	*ret_look = k;
	if (k == s->nr_looks || !ret_pairs)
		return 0;
	for (n = s->looks[k]; n < 1000; n++) {
		double t = k + 1 == s->nr_looks ? 1 : (double)n / (double)s->most;

		if (can_reject(sequential_spent(s->spending, s->alpha, t), n))
			break;
	}
	*ret_pairs = n;
	return 0;
}

/* The pairs of one look, sorted for the ranks; place[i] is where the i-th of them came in time. */
struct look_data {
	struct paired sorted;
	double *memory;
	size_t *place;
};

/* All that judging a shift at look @k needs. */
struct judge {
	const struct sequential *s;
	size_t k;
	const double *d;
	struct look_data look[SEQUENTIAL_LOOKS_MAX];
	size_t members;	 /* paths at look k: half of all, as a path and its mirror image are one;
			    drawn */
	size_t words;	 /* of a drawn path */
	uint64_t *draws; /* NULL when all are followed */
	bool *stopped;	 /* per member */
	double *size;	 /* |statistic| of the members that go on */
	double *weight;	 /* per pair, in time order */
	unsigned int *rank;
};

static void judge_release(struct judge *j)
{
	for (size_t k = 0; k < SEQUENTIAL_LOOKS_MAX; k++) {
		free(j->look[k].memory);
		free(j->look[k].place);
	}
	free(j->draws);
	free(j->stopped);
	free(j->size);
	free(j->weight);
	free(j->rank);
}

static int look_init(struct look_data *l, const double *d, size_t n)
{
	l->memory = malloc(n * sizeof(*l->memory));
	l->place = malloc(n * sizeof(*l->place));
	if (!l->memory || !l->place)
		return -ENOMEM;
	gsl_sort_index(l->place, d, 1, n);
	for (size_t i = 0; i < n; i++)
		l->memory[i] = d[l->place[i]];
	l->sorted = (struct paired){ l->memory, n };
	return 0;
}

static int judge_init(struct judge *j, const struct sequential *s, const double *d, size_t k)
{
	bool exact = sequential_is_exact(s);
	size_t n = s->looks[k];
	int r = 0;

	*j = (struct judge){ .s = s, .k = k, .d = d, .words = FLIPS_WORDS(n) };
	j->members = exact ? (size_t)1 << (n - 1) : SEQUENTIAL_DRAWS;
	for (size_t i = 0; i <= k && r == 0; i++)
		r = look_init(&j->look[i], d, s->looks[i]);
	j->draws = exact ? NULL : malloc(j->members * j->words * sizeof(*j->draws));
	j->stopped = malloc(j->members * sizeof(*j->stopped));
	j->size = malloc((j->members + 1) * sizeof(*j->size));
	j->weight = malloc(n * sizeof(*j->weight));
	j->rank = malloc(n * sizeof(*j->rank));
	if (r < 0 || (!exact && !j->draws) || !j->stopped || !j->size || !j->weight || !j->rank)
		return -ENOMEM;
	for (size_t m = 0; m < j->members && !exact; m++)
		flips_draw(s->seed, m, j->draws + m * j->words, j->words);
	return 0;
}

/* The statistic of look @i: fills in weights; sizes nearer than @tie are equal. */
static double observed(const struct judge *j, size_t i, double shift, enum side side,
		       double *ret_all, double *ret_tie)
{
	const struct look_data *l = &j->look[i];
	size_t n = l->sorted.n;
	double all = 0, sum = 0;

	if (j->s->test == SEQUENTIAL_SIGNRANK) {
		sum = (double)signed_ranks(&l->sorted, shift, side, j->rank);
		for (size_t m = 0; m < n; m++) {
			j->weight[l->place[m]] = j->rank[m];
			all += j->rank[m];
		}
		*ret_all = all;
		*ret_tie = 0.5;
		return fabs(2 * sum - all);
	}
	for (size_t m = 0; m < n; m++) {
		j->weight[m] = fabs(j->d[m] - shift);
		all += j->weight[m];
		sum += j->d[m] - shift;
	}
	*ret_all = all;
	*ret_tie = TIE * all;
	return fabs(sum);
}

/* What a look has come to under the null. */
struct state {
	size_t pool;	  /* paths there are at this look, the observed one among those drawn */
	size_t stopped;	  /* so far */
	bool own_stopped; /* drawn: the observed path is one of those */
	bool rejected;	  /* this look rejects the observed path */
};

/* At a new look every path followed so far goes on in 2^(more pairs) ways. */
static void grow(const struct judge *j, size_t i, struct state *st)
{
	size_t now, before;

	if (j->draws) {
		st->pool = j->members + 1;
		if (i == 0)
			memset(j->stopped, 0, j->members * sizeof(*j->stopped));
		return;
	}
	now = (size_t)1 << (j->s->looks[i] - 1);
	before = i > 0 ? (size_t)1 << (j->s->looks[i - 1] - 1) : 0;
	if (i == 0)
		memset(j->stopped, 0, now * sizeof(*j->stopped));
	else
		for (size_t m = before; m < now; m++)
			j->stopped[m] = j->stopped[m % before];
	st->stopped *= i > 0 ? now / before : 1;
	st->pool = now;
}

/* |statistic| of member @m; of those followed the first sign never changes. */
static double size_of(const struct judge *j, const struct flips *f, size_t m, double all)
{
	uint64_t followed = (uint64_t)m << 1;
	const uint64_t *words = j->draws ? j->draws + m * j->words : &followed;

	return fabs(2 * flips_sum(f, words) - all);
}

/* One look: the bound, and who stops at it. */
static int take_look(const struct judge *j, size_t i, double shift, enum side side,
		     struct state *st)
{
	_cleanup_(flips_release) struct flips f = {};
	double all, tie, own = observed(j, i, shift, side, &all, &tie), bound = -1;
	size_t alive = 0, may, members;
	int r = flips_init(&f, j->weight, j->s->looks[i]);

	if (r < 0)
		return r;
	grow(j, i, st);
	members = j->draws ? j->members : st->pool;
	for (size_t m = 0; m < members; m++)
		if (!j->stopped[m])
			j->size[alive++] = size_of(j, &f, m, all);
	if (j->draws && !st->own_stopped)
		j->size[alive++] = own;
	/* a hair more: 0.05 * 20000 must be 1000 */
	may = (size_t)(spent_by(j->s, i) * (double)st->pool * (1 + 1e-12));
	may = may > st->stopped ? may - st->stopped : 0;
	if (may < alive)
		bound = gsl_stats_select(j->size, 1, alive, alive - 1 - may) + tie;
	st->rejected = own > bound;
	for (size_t m = 0; m < members; m++)
		if (!j->stopped[m] && size_of(j, &f, m, all) > bound) {
			j->stopped[m] = true;
			st->stopped++;
		}
	if (j->draws && !st->own_stopped && st->rejected) {
		st->own_stopped = true;
		st->stopped++;
	}
	return 0;
}

static int judge_at(const struct judge *j, double shift, enum side side, struct state *ret)
{
	struct state st = {};

	for (size_t i = 0; i <= j->k; i++) {
		int r = take_look(j, i, shift, side, &st);

		if (r < 0)
			return r;
	}
	*ret = st;
	return 0;
}

/* For the inversion: 0 when the shift is rejected, else 1. */
static int p_at(const void *data, double shift, enum side side, double *ret_p)
{
	struct state st;
	int r = judge_at(data, shift, side, &st);

	if (r == 0)
		*ret_p = st.rejected ? 0 : 1;
	return r;
}

/*
 * The level at which a shift that the fixed test rejects is rejected here for sure: what this look
 * may add.  Drawn paths are not quite what they stand for.
 */
static double sure_level(const struct judge *j)
{
	double level = spent_by(j->s, j->k) - (j->k > 0 ? spent_by(j->s, j->k - 1) : 0);

	return j->draws ? level / 2 : level;
}

/* The lower end for the ranks: the points are the Walsh averages of this look. */
static int signrank_low(const struct judge *j, double *ret_low)
{
	const struct paired *now = &j->look[j->k].sorted;
	struct inversion v = { .alpha = 0.5, .p = p_at };
	double level = sure_level(j);
	int r = 0;

	walsh_points(now, &v);
	v.data = j;
	v.points = now;
	v.crit2 = -1;
	if (j->draws)
		v.most_tried = DRAWN_TRIED;
	if (level > 0)
		r = signrank_critical2(now->n, level, &v.crit2);
	return r < 0 ? r : invert_low(&v, ret_low);
}

/* The same for the sum: between the ends of two fixed intervals. */
static int signflip_low(const struct judge *j, double *ret_low)
{
	const struct look_data *l = &j->look[j->k];
	size_t n = l->sorted.n;
	double range = l->memory[n - 1] - l->memory[0], out, in, p = 1, from, step;
	struct interval inner, outer = { .low = -HUGE_VAL };
	int r = signflip_interval(j->d, n, spent_by(j->s, j->k), j->s->seed, &inner);

	/* clearly below all: next to the least number flipping that one would hardly matter */
	out = l->memory[0] - (range > 0 ? range : 1);
	if (r == 0 && sure_level(j) > 0)
		r = signflip_interval(j->d, n, sure_level(j), j->s->seed, &outer);
	if (r == 0)
		r = p_at(j, out, SIDE_AT, &p);
	if (r < 0)
		return r;
	if (p > 0.5) {
		*ret_low = -HUGE_VAL;
		return 0;
	}
	in = isfinite(inner.low) && !j->draws ? inner.low : inner.estimate;
	from = out = isfinite(outer.low) ? nextafter(outer.low, -HUGE_VAL) : out;
	step = (in - from) / GRID;
	for (int i = 1; i < GRID; i++) {
		r = p_at(j, from + i * step, SIDE_AT, &p);
		if (r < 0)
			return r;
		if (p > 0.5) {
			in = from + i * step;
			break;
		}
		out = from + i * step;
	}
	for (int i = 0; i < 40 && out < in; i++) {
		double mid = out + (in - out) / 2;

		r = p_at(j, mid, SIDE_AT, &p);
		if (r < 0)
			return r;
		*(p > 0.5 ? &in : &out) = mid;
	}
	*ret_low = in;
	return 0;
}

static int low_end(const struct sequential *s, const double *d, size_t k, double *ret_low,
		   struct state *ret_state)
{
	_cleanup_(judge_release) struct judge j = {};
	int r = judge_init(&j, s, d, k);

	if (r == 0)
		r = judge_at(&j, 0, SIDE_AT, ret_state);
	if (r < 0)
		return r;
	return s->test == SEQUENTIAL_SIGNRANK ? signrank_low(&j, ret_low)
					      : signflip_low(&j, ret_low);
}

/* Estimate, interval at the level and p of the fixed test. */
static int fixed_test(const struct sequential *s, const double *d, size_t n, double *ret_p,
		      struct interval *ret)
{
	int r;

	if (s->test == SEQUENTIAL_SIGNRANK) {
		r = signrank_p(d, n, 0, ret_p);
		return r < 0 ? r : signrank_interval(d, n, s->alpha, ret);
	}
	r = signflip_p(d, n, 0, s->seed, ret_p);
	return r < 0 ? r : signflip_interval(d, n, s->alpha, s->seed, ret);
}

int sequential_look(const struct sequential *s, const double *d, size_t k,
		    struct sequential_look *ret)
{
	_cleanup_(freep) double *turned = NULL;
	struct sequential_look out = {};
	struct state st = {}, other;
	size_t n;
	int r = check(s);

	if (r < 0 || k >= s->nr_looks)
		return -EDOM;
	n = s->looks[k];
	r = n > SIGNRANK_MAX ? -E2BIG : check_numbers(d, n);
	if (r == 0)
		r = fixed_test(s, d, n, &out.p, &out.interval);
	if (r < 0)
		return r;
	out.spent = out.attained = spent_by(s, k);
	if (s->nr_looks > 1 || sequential_is_exact(s)) {
		turned = malloc(n * sizeof(*turned));
		if (!turned)
			return -ENOMEM;
		for (size_t i = 0; i < n; i++)
			turned[i] = -d[i];
		r = low_end(s, d, k, &out.interval.low, &st);
		if (r == 0)
			r = low_end(s, turned, k, &out.interval.high, &other);
		if (r < 0)
			return r;
		out.interval.high = -out.interval.high;
		out.attained = (double)st.stopped / (double)st.pool;
	}
	if (out.interval.low > out.interval.high) /* everything rejected: alpha next to 1 */
		out.interval.low = out.interval.high = out.interval.estimate;
	out.rejected = out.interval.low > 0 || out.interval.high < 0;
	*ret = out;
	return 0;
}

/* P(low <= X <= high) for X normal. */
static double normal_between(double low, double high, double mean, double sd)
{
	if (high < low)
		return 0;
	if (!(sd > 0))
		return mean >= low && mean <= high;
	return fmax(0, gsl_cdf_ugaussian_P((high - mean) / sd) -
			       gsl_cdf_ugaussian_P((low - mean) / sd));
}

int sequential_chance(const struct interval *now, double alpha, double t, double low, double high,
		      double *ret)
{
	double z, se, sd, half, beyond, same;

	if (!(alpha > 0 && alpha < 1) || !(t > 0 && t <= 1) || !isfinite(now->estimate) ||
	    !(low <= 0 && high >= 0) || !(now->low <= now->high))
		return -EDOM;
	if (isinf(now->low) || isinf(now->high)) {
		*ret = 1;
		return 0;
	}
	z = gsl_cdf_ugaussian_Qinv(alpha / 2);
	se = (now->high - now->low) / 2 / z;
	sd = sqrt(1 - t) * se;
	half = z * se * sqrt(t);
	/* decided: |last| > half, or last within low + half .. high - half; they may overlap */
	beyond = 1 - normal_between(-half, half, now->estimate, sd);
	same = normal_between(fmax(low + half, -half), fmin(high - half, half), now->estimate, sd);
	*ret = fmin(1, beyond + same);
	return 0;
}
