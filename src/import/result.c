// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "import/import_ops.h"

/* What all tools have in common: figures, series, histograms, notes. */

/* Room for one more element of @size bytes in *@v. Return: 0; -ENOMEM. */
static int grow(void **v, size_t nr, size_t *capacity, size_t size)
{
	size_t more = *capacity ? *capacity * 2 : 4;
	void *p;

	if (nr < *capacity)
		return 0;
	p = reallocarray(*v, more, size);
	if (!p)
		return -ENOMEM;
	*v = p;
	*capacity = more;
	return 0;
}

#define GROW(array, nr, capacity) grow((void **)&(array), nr, &(capacity), sizeof(*(array)))

/* Three strings in one allocation, of which the first is its start. */
static int copy_names(const char *names[3], const char *ret[3])
{
	size_t n[3], total = 0;
	char *p;

	for (int i = 0; i < 3; i++)
		total += n[i] = strlen(names[i]) + 1;
	p = malloc(total);
	if (!p)
		return -ENOMEM;
	for (int i = 0; i < 3; i++) {
		memcpy(p, names[i], n[i]);
		ret[i] = p;
		p += n[i];
	}
	return 0;
}

static void free_names(const char *metric)
{
	free((char *)(uintptr_t)metric);
}

/* How figures, series and histograms begin. */
struct named {
	const char *metric, *unit, *labels;
};

/* One of the three arrays of a run. */
struct table {
	void **v;
	size_t *nr, *capacity, element;
	struct import_index *index;
};

static struct table figures_of(struct import_run *run)
{
	return (struct table){ (void **)&run->figures, &run->nr_figures, &run->size_figures,
			       sizeof(*run->figures), &run->by_figure };
}

static struct table series_of(struct import_run *run)
{
	return (struct table){ (void **)&run->series, &run->nr_series, &run->size_series,
			       sizeof(*run->series), &run->by_series };
}

static struct table hists_of(struct import_run *run)
{
	return (struct table){ (void **)&run->hists, &run->nr_hists, &run->size_hists,
			       sizeof(*run->hists), &run->by_hist };
}

/* FNV-1a of both names. */
static uint64_t hash_names(const char *metric, const char *labels)
{
	uint64_t h = 14695981039346656037U;

	for (const char *s = metric; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211U;
	for (const char *s = labels; *s; s++)
		h = (h ^ (unsigned char)*s) * 1099511628211U;
	return h ^ h >> 32;
}

static const struct named *element(const struct table *t, size_t i)
{
	return (const struct named *)((const char *)*t->v + i * t->element);
}

/* The element of these names, or NULL and the slot where it belongs. */
static void *find(const struct table *t, const char *metric, const char *labels, size_t *ret_slot)
{
	size_t slot, mask = t->index->size - 1;

	*ret_slot = 0;
	if (!t->index->size)
		return NULL;
	for (slot = hash_names(metric, labels) & mask; t->index->slots[slot];
	     slot = (slot + 1) & mask) {
		const struct named *n = element(t, t->index->slots[slot] - 1);

		if (strcmp(n->metric, metric) == 0 && strcmp(n->labels, labels) == 0)
			return (char *)*t->v + (t->index->slots[slot] - 1) * t->element;
	}
	*ret_slot = slot;
	return NULL;
}

/* The index is at most half full. */
static int reserve_slot(const struct table *t)
{
	struct import_index bigger = { .size = t->index->size ? t->index->size * 2 : 16 };

	if (*t->nr * 2 < t->index->size)
		return 0;
	while (bigger.size <= *t->nr * 2)
		bigger.size *= 2;
	bigger.slots = calloc(bigger.size, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < *t->nr; i++) {
		const struct named *n = element(t, i);
		size_t slot = hash_names(n->metric, n->labels) & (bigger.size - 1);

		while (bigger.slots[slot])
			slot = (slot + 1) & (bigger.size - 1);
		bigger.slots[slot] = (uint32_t)(i + 1);
	}
	free(t->index->slots);
	*t->index = bigger;
	return 0;
}

/* A new element with these names, zero-filled otherwise, or NULL. */
static void *append(const struct table *t, const struct named *names)
{
	const char *from[3] = { names->metric, names->unit, names->labels }, *own[3];
	struct named *n;
	size_t slot;

	if (reserve_slot(t) < 0 || grow(t->v, *t->nr, t->capacity, t->element) < 0 ||
	    copy_names(from, own) < 0)
		return NULL;
	find(t, own[0], own[2], &slot);
	n = (struct named *)((char *)*t->v + *t->nr * t->element);
	memset(n, 0, t->element);
	*n = (struct named){ own[0], own[1], own[2] };
	t->index->slots[slot] = (uint32_t)++ * t->nr;
	return n;
}

const struct import_figure *import_figure_find(const struct import_run *run, const char *metric,
					       const char *labels)
{
	struct import_run shallow = *run;
	struct table t = figures_of(&shallow);
	size_t slot;

	return find(&t, metric, labels, &slot);
}

const struct import_series *import_series_find(const struct import_run *run, const char *metric,
					       const char *labels)
{
	struct import_run shallow = *run;
	struct table t = series_of(&shallow);
	size_t slot;

	return find(&t, metric, labels, &slot);
}

const struct import_hist *import_hist_find(const struct import_run *run, const char *metric,
					   const char *labels)
{
	struct import_run shallow = *run;
	struct table t = hists_of(&shallow);
	size_t slot;

	return find(&t, metric, labels, &slot);
}

int import_figure_add(struct import_run *run, const struct import_figure *fig)
{
	struct table t = figures_of(run);
	size_t slot;
	struct import_figure *f = find(&t, fig->metric, fig->labels, &slot);

	if (!f && run->nr_figures == IMPORT_FIGURES_MAX)
		return import_note(run, run->last_line,
				   "more than %u figures: the others are not kept",
				   IMPORT_FIGURES_MAX);
	if (!f)
		f = append(&t, &(struct named){ fig->metric, fig->unit, fig->labels });
	if (!f)
		return -ENOMEM;
	f->value = fig->value;
	f->half = fig->half;
	f->n = fig->n;
	f->key = fig->key;
	return 0;
}

/* There is no room for a point. */
static int drop_point(struct import_run *run, struct import_series *s, const struct import_point *p)
{
	bool first = s->dropped++ == 0;

	s->dropped_sum += p->v;
	s->dropped_min = first || p->v < s->dropped_min ? p->v : s->dropped_min;
	s->dropped_max = first || p->v > s->dropped_max ? p->v : s->dropped_max;
	if (!first)
		return 0;
	return import_note(run, p->line,
			   "more than %u rows in a series: those from here on are not kept one by "
			   "one",
			   IMPORT_POINTS_MAX);
}

int import_point_add(struct import_run *run, const char *metric, const char *unit,
		     const char *labels, const struct import_point *p)
{
	struct table t = series_of(run);
	size_t slot;
	struct import_series *s = find(&t, metric, labels, &slot);

	if (!s && run->nr_series == IMPORT_FIGURES_MAX)
		return import_note(run, p->line, "more than %u series: the others are not kept",
				   IMPORT_FIGURES_MAX);
	if (!s)
		s = append(&t, &(struct named){ metric, unit, labels });
	if (!s)
		return -ENOMEM;
	if (s->nr == IMPORT_POINTS_MAX)
		return drop_point(run, s, p);
	if (GROW(s->points, s->nr, s->size) < 0)
		return -ENOMEM;
	s->points[s->nr++] = *p;
	return 0;
}

int import_hist_of(struct import_run *run, const char *metric, const char *unit, const char *labels,
		   struct import_hist **ret)
{
	struct table t = hists_of(run);
	size_t slot;
	struct import_hist *h = find(&t, metric, labels, &slot);

	if (!h && run->nr_hists == IMPORT_FIGURES_MAX)
		return -ENOMEM;
	if (!h)
		h = append(&t, &(struct named){ metric, unit, labels });
	if (!h)
		return -ENOMEM;
	*ret = h;
	return 0;
}

int import_hist_drop(struct import_run *run)
{
	struct import_hist *h = &run->hists[--run->nr_hists];
	struct table t = hists_of(run);

	free_names(h->metric);
	free(h->bars);
	/* few are dropped: the index is made anew */
	free(run->by_hist.slots);
	run->by_hist = (struct import_index){};
	return reserve_slot(&t);
}

int import_bar_add(struct import_hist *h, double v, uint64_t count)
{
	if (h->nr == IMPORT_POINTS_MAX) {
		h->overflow += count;
		return 0;
	}
	if (GROW(h->bars, h->nr, h->size) < 0)
		return -ENOMEM;
	h->bars[h->nr++] = (struct import_bar){ v, count };
	return 0;
}

int import_note(struct import_run *run, size_t line, const char *fmt, ...)
{
	char *text;
	va_list ap;

	if (run->nr_notes == IMPORT_NOTES_MAX)
		return 0;
	if (GROW(run->notes, run->nr_notes, run->size_notes) < 0)
		return -ENOMEM;
	va_start(ap, fmt);
	text = text_vprintf(fmt, ap);
	va_end(ap);
	if (!text)
		return -ENOMEM;
	run->notes[run->nr_notes++] = (struct import_note){ line, text };
	return 0;
}

static uint64_t hash_bytes(uint64_t h, const void *data, size_t len)
{
	const unsigned char *s = data;

	while (len--)
		h = (h ^ *s++) * 1099511628211U;
	return h;
}

static uint64_t hash_number(uint64_t h, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	h = (h ^ bits) * 1099511628211U;
	return h ^ h >> 29;
}

uint64_t import_run_hash(const struct import_run *run)
{
	uint64_t h = hash_bytes(14695981039346656037U, run->tool, strlen(run->tool));

	for (size_t i = 0; i < run->nr_figures; i++) {
		const struct import_figure *f = &run->figures[i];

		h = hash_bytes(h, f->metric, strlen(f->metric));
		h = hash_bytes(h, f->labels, strlen(f->labels));
		h = hash_number(h, f->value);
	}
	for (size_t i = 0; i < run->nr_series; i++)
		for (size_t k = 0; k < run->series[i].nr; k++)
			h = hash_number(h, run->series[i].points[k].v);
	for (size_t i = 0; i < run->nr_hists; i++)
		for (size_t k = 0; k < run->hists[i].nr; k++)
			h = hash_number(h, (double)run->hists[i].bars[k].count);
	return h ? h : 1;
}

void import_run_release(struct import_run *run)
{
	if (run->ops && run->data && run->ops->release)
		run->ops->release(run->data);
	for (size_t i = 0; i < run->nr_figures; i++)
		free_names(run->figures[i].metric);
	for (size_t i = 0; i < run->nr_series; i++) {
		free_names(run->series[i].metric);
		free(run->series[i].points);
	}
	for (size_t i = 0; i < run->nr_hists; i++) {
		free_names(run->hists[i].metric);
		free(run->hists[i].bars);
	}
	for (size_t i = 0; i < run->nr_notes; i++)
		free(run->notes[i].text);
	free(run->figures);
	free(run->by_figure.slots);
	free(run->by_series.slots);
	free(run->by_hist.slots);
	free(run->series);
	free(run->hists);
	free(run->notes);
	free(run->data);
	free(run->label);
	free(run->heading);
	*run = (struct import_run){};
}

void import_value_format(struct buf *out, const char *unit, double v)
{
	if (strcmp(unit, "ns") == 0)
		text_si(out, v / 1e9, "s");
	else if (strcmp(unit, "ratio") == 0)
		buf_printf(out, "%.4g %%", 100 * v);
	else if (strcmp(unit, "1/s") == 0)
		buf_printf(out, "%.6g/s", v);
	else if (strcmp(unit, "count") == 0)
		buf_printf(out, "%.15g", v);
	else
		text_si(out, v, unit);
}
