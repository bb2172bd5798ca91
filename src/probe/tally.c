// SPDX-License-Identifier: GPL-3.0-or-later
#include "probe/tally.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "probe/emit.h"
#include "probe/ticker.h"

/* FNV-1a */
static uint64_t hash(const char *s)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
	return h;
}

/* Where @labels is in the table, or the free place where it belongs. */
static size_t *slot_of(const struct tally *t, const char *labels)
{
	size_t mask = 2 * t->size - 1;

	for (size_t at = hash(labels) & mask;; at = (at + 1) & mask)
		if (!t->slots[at] || strcmp(t->rows[t->slots[at] - 1].labels, labels) == 0)
			return &t->slots[at];
}

static bool grow(struct tally *t)
{
	size_t size = t->size ? 2 * t->size : 64;
	struct tally_row *rows = realloc(t->rows, size * sizeof(*rows));
	size_t *slots;

	if (!rows)
		return false;
	t->rows = rows;
	slots = calloc(2 * size, sizeof(*slots));
	if (!slots)
		return false;
	free(t->slots);
	t->slots = slots;
	t->size = size;
	for (size_t i = 0; i < t->nr_rows; i++)
		*slot_of(t, t->rows[i].labels) = i + 1;
	return true;
}

static double *add(struct tally *t, const char *labels)
{
	struct tally_row row = { .labels = strdup(labels),
				 .v = calloc(t->nr ? t->nr : 1, sizeof(double)) };

	if (!row.labels || !row.v) {
		free(row.labels);
		free(row.v);
		t->failed = true;
		return NULL;
	}
	for (size_t i = 0; i < t->nr; i++)
		row.v[i] = (double)NAN;
	t->rows[t->nr_rows++] = row;
	*slot_of(t, labels) = t->nr_rows;
	return row.v;
}

double *tally_row(struct tally *t, const char *labels)
{
	size_t *slot;

	if (t->nr_rows == t->size && !grow(t)) {
		t->failed = true;
		return NULL;
	}
	slot = slot_of(t, labels);
	return *slot ? t->rows[*slot - 1].v : add(t, labels);
}

static int by_sum(const void *a, const void *b)
{
	const struct tally_row *x = *(const struct tally_row *const *)a;
	const struct tally_row *y = *(const struct tally_row *const *)b;

	if (x->sum != y->sum)
		return x->sum < y->sum ? 1 : -1;
	return x < y ? -1 : x > y;
}

/* The rows that have something to show, the largest first; their number. */
static size_t choose(struct tally *t, const struct tally_row **chosen)
{
	size_t nr = 0;

	for (size_t i = 0; i < t->nr_rows; i++) {
		struct tally_row *row = &t->rows[i];

		row->sum = 0;
		for (size_t k = 0; k < t->nr; k++)
			row->sum += isnan(row->v[k]) ? 0 : fabs(row->v[k]);
		if (row->sum > 0)
			chosen[nr++] = row;
	}
	qsort(chosen, nr, sizeof(const struct tally_row *), by_sum);
	return nr;
}

void tally_emit(struct tally *t, const struct ticker *ticker, struct emit *m, const char *name,
		const char *unit, size_t max)
{
	_cleanup_(freep) const struct tally_row **chosen =
		calloc(t->nr_rows + 1, sizeof(const struct tally_row *));
	_cleanup_(freep) struct point *points = calloc(t->nr + 1, sizeof(*points));
	size_t nr;

	if (m->r < 0 || t->nr < 2)
		return;
	if (t->failed || !chosen || !points) {
		m->r = err_nomem(m->e, name);
		return;
	}
	nr = choose(t, chosen);
	for (size_t i = 0; i < nr && i < max; i++)
		emit_series(m, name, unit, chosen[i]->labels, points,
			    ticker_points(ticker, chosen[i]->v, points));
	if (nr > max)
		emit_event(m, SEVERITY_NOTE, 0,
			   "%s: series of the %zu busiest of %zu rows; the others are in the "
			   "scalars of the whole window",
			   name, max, nr);
}

void tally_release(struct tally *t)
{
	for (size_t i = 0; i < t->nr_rows; i++) {
		free(t->rows[i].labels);
		free(t->rows[i].v);
	}
	free(t->rows);
	free(t->slots);
	*t = (struct tally){};
}
