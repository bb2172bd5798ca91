// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "compare_parts.h"

/* Words in headings that tell the two sides of a comparison apart, the likeliest first. */
static const struct {
	const char *a, *b;
} opposites[] = {
	{ "before", "after" },	    { "old", "new" },
	{ "unpatched", "patched" }, { "vanilla", "patched" },
	{ "stock", "patched" },	    { "baseline", "patched" },
	{ "base", "patched" },	    { "original", "patched" },
	{ "mainline", "patched" },  { "unmodified", "modified" },
	{ "original", "modified" }, { "without", "with" },
	{ "w/o", "with" },	    { "w/o", "w/" },
	{ "no", "with" },	    { "off", "on" },
	{ "disabled", "enabled" },  { "disable", "enable" },
	{ "base", "test" },	    { "baseline", "test" },
	{ "control", "test" },	    { "a", "b" },
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || (unsigned char)c >= 0x80 || c == '/' || c == '_';
}

/* The next word of @s; its length, 0 at the end. */
static size_t next_word(const char **s)
{
	size_t n = 0;

	while (**s && !is_word(**s))
		(*s)++;
	while (is_word((*s)[n]))
		n++;
	return n;
}

static bool equals(const char *s, size_t n, const char *word)
{
	return strlen(word) == n && strncasecmp(s, word, n) == 0;
}

/* Whether @b says what @a does, but for one word that is @k's of the opposites. */
static bool is_opposite(const char *a, const char *b, size_t k)
{
	bool seen = false;

	for (;;) {
		size_t n = next_word(&a), m = next_word(&b);

		if (!n || !m)
			return n == m && seen;
		if (n == m && strncasecmp(a, b, n) == 0) {
			a += n;
			b += m;
			continue;
		}
		if (seen || !equals(a, n, opposites[k].a) || !equals(b, m, opposites[k].b))
			return false;
		seen = true;
		a += n;
		b += m;
	}
}

static bool is_equal(const char *a, const char *b)
{
	for (;;) {
		size_t n = next_word(&a), m = next_word(&b);

		if (n != m || strncasecmp(a, b, n) != 0)
			return false;
		if (!n)
			return true;
		a += n;
		b += m;
	}
}

static const char *words_of(const struct import_run *run)
{
	return *run->heading ? run->heading : run->label;
}

void compare_pairs_release(struct compare_pairs *p)
{
	free(p->a);
	free(p->b);
	free(p->left);
	*p = (struct compare_pairs){};
}

static int pairs_init(struct compare_pairs *p, size_t nr)
{
	p->a = calloc(nr + 1, sizeof(*p->a));
	p->b = calloc(nr + 1, sizeof(*p->b));
	p->left = calloc(nr + 1, sizeof(*p->left));
	if (p->a && p->b && p->left)
		return 0;
	compare_pairs_release(p);
	return -ENOMEM;
}

/* Mark the runs that say what one before them says: a mail that quotes the other. */
static void mark_repeats(const struct import_doc *doc, bool *taken)
{
	for (size_t i = 0; i < doc->nr_runs; i++)
		for (size_t k = 0; k < i && !taken[i]; k++)
			taken[i] = !taken[k] &&
				   import_run_hash(&doc->runs[i]) == import_run_hash(&doc->runs[k]);
}

/* Runs beyond this many are not paired: the time is their square. */
#define RUNS_MAX 512

static void pair_by_words(const struct import_doc *doc, bool *taken, struct compare_pairs *p)
{
	size_t nr = doc->nr_runs < RUNS_MAX ? doc->nr_runs : RUNS_MAX;

	for (size_t k = 0; k < ARRAY_SIZE(opposites); k++)
		for (size_t i = 0; i < nr; i++)
			for (size_t j = 0; j < nr && !taken[i]; j++) {
				const struct import_run *a = &doc->runs[i], *b = &doc->runs[j];

				if (taken[j] || i == j || a->ops != b->ops ||
				    !is_opposite(words_of(a), words_of(b), k))
					continue;
				p->a[p->nr] = i;
				p->b[p->nr++] = j;
				taken[i] = taken[j] = true;
			}
}

/* Pairs in the order of their first runs. */
static void sort_pairs(struct compare_pairs *p)
{
	for (size_t i = 1; i < p->nr; i++)
		for (size_t k = i; k > 0 && p->a[k] < p->a[k - 1]; k--) {
			size_t a = p->a[k], b = p->b[k];

			p->a[k] = p->a[k - 1];
			p->b[k] = p->b[k - 1];
			p->a[k - 1] = a;
			p->b[k - 1] = b;
		}
}

int compare_pairs_within(const struct import_doc *doc, struct compare_pairs *ret)
{
	_cleanup_(compare_pairs_release) struct compare_pairs p = {};
	_cleanup_(freep) bool *taken = calloc(doc->nr_runs + 1, sizeof(*taken));
	size_t left = 0, first = 0, second = 0;

	if (!taken || pairs_init(&p, doc->nr_runs) < 0)
		return -ENOMEM;
	if (doc->nr_runs <= RUNS_MAX)
		mark_repeats(doc, taken);
	pair_by_words(doc, taken, &p);
	p.how = p.nr ? "paired by the words of their headings" : NULL;
	for (size_t i = 0; i < doc->nr_runs; i++) {
		if (taken[i])
			continue;
		if (left++ == 0)
			first = i;
		else
			second = i;
	}
	if (p.nr == 0 && left == 2 && doc->runs[first].ops == doc->runs[second].ops) {
		p.a[0] = first;
		p.b[0] = second;
		p.nr = 1;
		taken[first] = taken[second] = true;
	}
	for (size_t i = 0; i < doc->nr_runs; i++)
		if (!taken[i])
			p.left[p.nr_left++] = i;
	sort_pairs(&p);
	*ret = p;
	p = (struct compare_pairs){};
	return 0;
}

int compare_pairs_across(const struct import_doc *a, const struct import_doc *b,
			 struct compare_pairs *ret)
{
	_cleanup_(compare_pairs_release) struct compare_pairs p = {};
	_cleanup_(freep) bool *taken = calloc(b->nr_runs + 1, sizeof(*taken));
	size_t nr_a = a->nr_runs < RUNS_MAX ? a->nr_runs : RUNS_MAX;
	size_t nr_b = b->nr_runs < RUNS_MAX ? b->nr_runs : RUNS_MAX;

	if (!taken || pairs_init(&p, a->nr_runs) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < nr_a; i++) {
		size_t j = 0;

		while (j < nr_b &&
		       (taken[j] || a->runs[i].ops != b->runs[j].ops || !*words_of(&a->runs[i]) ||
			!is_equal(words_of(&a->runs[i]), words_of(&b->runs[j]))))
			j++;
		if (j == nr_b) {
			p.left[p.nr_left++] = i;
			continue;
		}
		taken[j] = true;
		p.a[p.nr] = i;
		p.b[p.nr++] = j;
	}
	p.how = "paired by equal headings";
	*ret = p;
	p = (struct compare_pairs){};
	return 0;
}
