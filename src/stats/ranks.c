// SPDX-License-Identifier: GPL-3.0-or-later
#include "stats/ranks.h"

#include <math.h>
#include <stdbool.h>

/* Below the shift are 0 .. zero - 1, above it above .. n - 1. */
struct split {
	size_t zero, above;
};

static struct split split_at(const struct paired *s, double shift, enum side side)
{
	struct split at = {};

	while (at.zero < s->n && side_compare(s->d[at.zero], shift, side) < 0)
		at.zero++;
	at.above = at.zero;
	while (at.above < s->n && side_compare(s->d[at.above], shift, side) == 0)
		at.above++;
	return at;
}

/* Doubled ranks within one side, @first .. @end - 1; its nearest element has @zeros before it. */
static void rank_side(const struct paired *s, size_t first, size_t end, bool below, size_t zeros,
		      unsigned int *rank)
{
	for (size_t i = first, next; i < end; i = next) {
		size_t nearer;

		for (next = i + 1; next < end && s->d[next] == s->d[i];)
			next++;
		nearer = below ? end - next : i - first;
		for (size_t k = i; k < next; k++)
			rank[k] = (unsigned int)(2 * (zeros + nearer) + (next - i) + 1);
	}
}

/* Add, for the elements below, those above that lie nearer (2) or as near (1). */
static void rank_below(const struct paired *s, double shift, enum side side, struct split at,
		       unsigned int *rank)
{
	size_t nearer = at.above, as_near = at.above; /* the first that is not */

	for (size_t i = at.zero; i-- > 0;) {
		while (nearer < s->n && side_compare((s->d[i] + s->d[nearer]) / 2, shift, side) < 0)
			nearer++;
		while (as_near < s->n &&
		       side_compare((s->d[i] + s->d[as_near]) / 2, shift, side) <= 0)
			as_near++;
		rank[i] += (unsigned int)(nearer + as_near - 2 * at.above);
	}
}

/* The same for the elements above. */
static void rank_above(const struct paired *s, double shift, enum side side, struct split at,
		       unsigned int *rank)
{
	size_t nearer = at.zero, as_near = at.zero; /* the last one that is */

	for (size_t j = at.above; j < s->n; j++) {
		while (nearer > 0 &&
		       side_compare((s->d[nearer - 1] + s->d[j]) / 2, shift, side) > 0)
			nearer--;
		while (as_near > 0 &&
		       side_compare((s->d[as_near - 1] + s->d[j]) / 2, shift, side) >= 0)
			as_near--;
		rank[j] += (unsigned int)(2 * at.zero - nearer - as_near);
	}
}

size_t signed_ranks(const struct paired *s, double shift, enum side side, unsigned int *rank)
{
	struct split at = split_at(s, shift, side);
	size_t zeros = at.above - at.zero, below2 = 0;

	for (size_t i = at.zero; i < at.above; i++)
		rank[i] = 0;
	rank_side(s, 0, at.zero, true, zeros, rank);
	rank_side(s, at.above, s->n, false, zeros, rank);
	rank_below(s, shift, side, at, rank);
	rank_above(s, shift, side, at, rank);
	for (size_t i = 0; i < at.zero; i++)
		below2 += rank[i];
	return below2;
}

/*
 * The averages of an element grow with the other one, so the bounds of those below and at a number
 * move one way only as the first element grows.  Pairs count once: the second is not before the
 * first.
 */
void walsh_count(const void *points, double v, size_t *ret_below, size_t *ret_at)
{
	const struct paired *s = points;
	size_t below = s->n, up_to = s->n, nr_below = 0, nr_up_to = 0;

	for (size_t i = 0; i < s->n; i++) {
		while (below > 0 && (s->d[i] + s->d[below - 1]) / 2 >= v)
			below--;
		while (up_to > 0 && (s->d[i] + s->d[up_to - 1]) / 2 > v)
			up_to--;
		nr_below += below > i ? below - i : 0;
		nr_up_to += up_to > i ? up_to - i : 0;
	}
	*ret_below = nr_below;
	*ret_at = nr_up_to - nr_below;
}

double walsh_next(const void *points, double v)
{
	const struct paired *s = points;
	size_t up_to = s->n;
	double next = HUGE_VAL;

	for (size_t i = 0; i < s->n; i++) {
		size_t j;

		while (up_to > 0 && (s->d[i] + s->d[up_to - 1]) / 2 > v)
			up_to--;
		j = up_to > i ? up_to : i;
		if (j < s->n)
			next = fmin(next, (s->d[i] + s->d[j]) / 2);
	}
	return next;
}

void walsh_points(const struct paired *s, struct inversion *ret)
{
	size_t run = 0;

	ret->nr = s->n * (s->n + 1) / 2;
	/* an element has so many partners, and every pair two elements */
	ret->most_tied = (s->n + 1) * invert_tied(s->d, s->n) / 2 + 1;
	ret->per_point = 2;
	ret->most_tried = INVERT_TRIED;
	ret->ties = 0;
	for (size_t i = 1; i < s->n; i++) {
		run = s->d[i] == s->d[i - 1] ? run + 1 : 0;
		ret->ties += run;
	}
	ret->data = s;
	ret->points = s;
	ret->count = walsh_count;
	ret->next = walsh_next;
}
