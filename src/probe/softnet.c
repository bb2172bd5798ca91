// SPDX-License-Identifier: GPL-3.0-or-later
#include "probe/softnet.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/err.h"

/* More than any kernel writes; further ones are not looked at. */
#define COLUMNS_MAX 32
#define COLUMNS_MIN 9
#define CPU_COLUMN 12

/* Where each counter stands, and how wide a row must be for the column to be what it is. */
static const struct {
	unsigned int at, width;
} columns[SOFTNET_NR] = {
	[SOFTNET_PROCESSED] = { 0, 9 },
	[SOFTNET_DROPPED] = { 1, 9 },
	[SOFTNET_SQUEEZED] = { 2, 9 },
	[SOFTNET_RPS] = { 9, 10 },
	[SOFTNET_FLOW_LIMIT] = { 10, 11 },
	/* both came with one change */
	[SOFTNET_BACKLOG] = { 11, 13 },
};

static int digit(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Hexadecimal words of a line into @v; how many there are, 0 when it holds anything else. */
static unsigned int split(const char *p, const char *end, uint32_t v[COLUMNS_MAX])
{
	unsigned int nr = 0;

	while (p < end) {
		uint64_t n = 0;
		const char *word;

		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
		for (word = p; p < end && digit(*p) >= 0 && n <= UINT32_MAX; p++)
			n = n << 4 | (unsigned int)digit(*p);
		if ((p < end && *p != ' ' && *p != '\t') || n > UINT32_MAX)
			return 0;
		if (p > word && nr < COLUMNS_MAX)
			v[nr++] = (uint32_t)n;
	}
	return nr;
}

static bool is_blank(const char *p, const char *end)
{
	while (p < end && isspace((unsigned char)*p))
		p++;
	return p == end;
}

static int add_row(struct softnet *s, const uint32_t v[COLUMNS_MAX])
{
	struct softnet_row *rows = realloc(s->rows, (s->nr_rows + 1) * sizeof(*rows));
	struct softnet_row row = { .cpu = (unsigned int)s->nr_rows };

	if (!rows)
		return -ENOMEM;
	s->rows = rows;
	for (int i = 0; i < SOFTNET_NR; i++)
		if (s->has[i])
			row.v[i] = v[columns[i].at];
	if (s->has_cpus)
		row.cpu = v[CPU_COLUMN];
	if (row.cpu >= CPUSET_MAX || (s->has_cpus && softnet_row(s, row.cpu))) {
		s->nr_bad++;
		return 0;
	}
	s->rows[s->nr_rows++] = row;
	return 0;
}

static int parse_line(struct softnet *s, const char *p, const char *end)
{
	uint32_t v[COLUMNS_MAX];
	unsigned int nr = split(p, end, v);

	if (!s->nr_columns) {
		if (nr < COLUMNS_MIN)
			return -EBADMSG;
		s->nr_columns = nr;
		s->has_cpus = nr > CPU_COLUMN;
		for (int i = 0; i < SOFTNET_NR; i++)
			s->has[i] = nr >= columns[i].width;
	}
	if (nr == s->nr_columns)
		return add_row(s, v);
	s->nr_bad += !is_blank(p, end);
	return 0;
}

int softnet_parse(const char *text, size_t len, struct softnet *ret, struct err *e)
{
	_cleanup_(softnet_release) struct softnet s = {};
	const char *end = text + len;
	int r = -EBADMSG;

	for (const char *at = text; at < end;) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));

		if (!nl) {
			/* its last number may lack digits */
			s.truncated = true;
			break;
		}
		r = parse_line(&s, at, nl);
		if (r == -ENOMEM)
			return err_nomem(e, "softnet_stat");
		if (r < 0)
			break;
		at = nl + 1;
	}
	if (r < 0)
		return err_set(e, r,
			       "softnet_stat: the first line is not a row of at least %d "
			       "hexadecimal numbers",
			       COLUMNS_MIN);
	*ret = s;
	s = (struct softnet){};
	return 0;
}

void softnet_release(struct softnet *s)
{
	free(s->rows);
	*s = (struct softnet){};
}

bool softnet_name_cpus(struct softnet *s, const struct cpuset *online)
{
	if (s->has_cpus)
		return true;
	if (s->nr_rows != online->nr || s->nr_bad || s->truncated)
		return false;
	for (size_t i = 0; i < s->nr_rows; i++)
		s->rows[i].cpu = online->cpus[i];
	return true;
}

const struct softnet_row *softnet_row(const struct softnet *s, unsigned int cpu)
{
	/* rows are ascending but for rubbish: the place is near the number */
	if (cpu < s->nr_rows && s->rows[cpu].cpu == cpu)
		return &s->rows[cpu];
	for (size_t i = 0; i < s->nr_rows; i++)
		if (s->rows[i].cpu == cpu)
			return &s->rows[i];
	return NULL;
}
