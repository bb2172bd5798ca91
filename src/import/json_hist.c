// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/json_hist.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "import/json.h"

bool json_digits(const char *text, uint64_t *ret)
{
	int64_t v;

	if (!isdigit((unsigned char)*text) || !scan_int(&text, 18, &v) || *text)
		return false;
	*ret = (uint64_t)v;
	return true;
}

int json_latencies(struct import_run *run, const struct json_val *o, const char *labels, double ns,
		   int64_t n)
{
	static const char *const keys[] = { "min", "avg", "max" };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(keys) && r == 0; i++) {
		const struct json_val *v = json_find(o, keys[i]);
		char metric[24];
		struct import_figure fig = { metric, "ns", labels, .n = n, .key = i == 2 };

		if (!v || !json_double(o, keys[i], &fig.value) || fig.value < 0)
			continue;
		snprintf(metric, sizeof(metric), "latency.%s", keys[i]);
		fig.value *= ns;
		/* whole numbers are rounded here: a latency is no count */
		fig.half = (strpbrk(v->text, ".eE") ? json_half(v) : 0.5) * ns;
		r = import_figure_add(run, &fig);
	}
	return r;
}

int json_histogram(struct import_run *run, const struct json_val *o, const char *labels, double ns,
		   uint64_t *ret_total)
{
	const struct json_val *h = json_find(o, "histogram");
	struct import_hist *to = NULL;
	size_t bad = 0;
	int r;

	*ret_total = 0;
	if (!h || h->kind != JSON_OBJECT || !h->child)
		return 0;
	r = import_hist_of(run, "latency", "ns", labels, &to);
	if (r < 0)
		return r;
	to->width = ns;
	for (const struct json_val *b = h->child; b && r == 0; b = b->next) {
		uint64_t at, count;

		if (b->kind != JSON_NUMBER || !json_digits(b->key, &at) ||
		    !json_digits(b->text, &count)) {
			bad++;
			continue;
		}
		r = import_bar_add(to, (double)at * ns, count);
		*ret_total += count;
	}
	if (bad && r == 0)
		r = import_note(run, run->line,
				"%zu rows of the histogram of %s cannot be read and are left out",
				bad, labels);
	return r;
}
