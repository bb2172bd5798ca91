// SPDX-License-Identifier: GPL-3.0-or-later
#include "ready.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"

#define MOST 64 /* plans that near names are looked for among */

const struct ready_plan ready_plans[] = {
#include "ready_plans.h"
	{},
};

const struct ready_plan *ready_find(const char *name, struct err *e)
{
	const char *words[MOST + 1] = {};
	const char *near;

	for (size_t i = 0; ready_plans[i].name; i++) {
		if (strcmp(ready_plans[i].name, name) == 0)
			return &ready_plans[i];
		if (i < MOST)
			words[i] = ready_plans[i].name;
	}
	near = text_nearest(name, words);
	if (near)
		err_set(e, -ENOENT, "no ready plan \"%s\"; did you mean \"%s\"?", name, near);
	else
		err_set(e, -ENOENT, "no ready plan \"%s\"; irqlab plans shows what there is", name);
	return NULL;
}

/* The line after @line; the end of the text behind the last one. */
static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return *line ? line + 1 : line;
}

void ready_about(const struct ready_plan *p, struct buf *out)
{
	const char *line = p->text;
	bool begun = false;

	for (; *line == '#'; line = next_line(line)) {
		const char *text = line + 1 + strspn(line + 1, " ");
		size_t len = strcspn(text, "\n"), end = 0;

		if (strncmp(text, "SPDX", 4) == 0)
			continue;
		while (end < len && !(text[end] == '.' && (end + 1 == len || text[end + 1] == ' ')))
			end++;
		if (len && begun)
			buf_putc(out, ' ');
		buf_add(out, text, end);
		begun |= len > 0;
		if (end < len || (begun && len == 0))
			break;
	}
}

void ready_fill(const struct ready_plan *p, const char *peer, const char *dut, struct buf *out)
{
	for (const char *line = p->text; *line; line = next_line(line)) {
		size_t len = (size_t)(next_line(line) - line);

		if (strncmp(line, "peer:", 5) != 0) {
			buf_add(out, line, len);
			continue;
		}
		if (peer && *peer)
			buf_printf(out, *peer == '[' ? "peer: \"%s\"\n" : "peer: %s\n", peer);
		else
			buf_add(out, line, len);
		if (dut && *dut)
			buf_printf(out, "dut: %s\n", dut);
	}
}
