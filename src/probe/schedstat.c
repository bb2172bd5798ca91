// SPDX-License-Identifier: GPL-3.0-or-later
#include "probe/schedstat.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/text.h"

#define OLDEST 15

/* Exactly @nr numbers and nothing else but blanks. */
static bool numbers(const char *p, const char *end, uint64_t *ret, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!text_next_u64(&p, end, &ret[i]))
			return false;
	while (p < end && *p == ' ')
		p++;
	return p == end;
}

static bool begins(const char *p, const char *end, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(end - p) > len && memcmp(p, word, len) == 0;
}

static int add_cpu(struct schedstat *s, const char *p, const char *end)
{
	struct schedstat_cpu *cpus = realloc(s->cpus, (s->nr_cpus + 1) * sizeof(*cpus));
	struct schedstat_cpu row = {};
	uint64_t cpu;

	if (!cpus)
		return -ENOMEM;
	s->cpus = cpus;
	if (!text_next_u64(&p, end, &cpu) || cpu >= CPUSET_MAX ||
	    !numbers(p, end, row.v, SCHEDSTAT_NR))
		return -EBADMSG;
	row.cpu = (unsigned int)cpu;
	if (s->nr_cpus && s->cpus[s->nr_cpus - 1].cpu >= row.cpu)
		return -EBADMSG;
	s->cpus[s->nr_cpus++] = row;
	return 0;
}

static int parse_line(struct schedstat *s, const char *p, const char *end, bool first)
{
	uint64_t version;

	if (first) {
		if (!begins(p, end, "version ") || !numbers(p + 8, end, &version, 1) ||
		    version > UINT16_MAX)
			return -EBADMSG;
		s->version = (unsigned int)version;
		return version < OLDEST ? -ENOTSUP : 0;
	}
	if (begins(p, end, "cpu") && isdigit((unsigned char)p[3]))
		return add_cpu(s, p + 3, end);
	return 0;
}

static int refuse(int r, const struct schedstat *s, const char *line, const char *end,
		  struct err *e)
{
	if (r == -ENOMEM)
		return err_nomem(e, "/proc/schedstat");
	if (r == -ENOTSUP)
		return err_set(e, r, "/proc/schedstat: version %u is older than %d", s->version,
			       OLDEST);
	return err_set(e, r, "/proc/schedstat: \"%.*s\" is neither a version nor a CPU's counters",
		       end - line < 60 ? (int)(end - line) : 60, line);
}

int schedstat_parse(const char *text, size_t len, struct schedstat *ret, struct err *e)
{
	_cleanup_(schedstat_release) struct schedstat s = {};
	const char *end = text + len;

	for (const char *at = text; at < end;) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		int r;

		if (!nl) {
			s.truncated = true;
			break;
		}
		r = parse_line(&s, at, nl, at == text);
		if (r < 0)
			return refuse(r, &s, at, nl, e);
		at = nl + 1;
	}
	if (!s.nr_cpus)
		return err_set(e, -EBADMSG, "/proc/schedstat: no line of a CPU");
	*ret = s;
	s = (struct schedstat){};
	return 0;
}

void schedstat_release(struct schedstat *s)
{
	free(s->cpus);
	*s = (struct schedstat){};
}

static int by_cpu(const void *key, const void *row)
{
	unsigned int a = *(const unsigned int *)key, b = ((const struct schedstat_cpu *)row)->cpu;

	return a < b ? -1 : a > b;
}

const struct schedstat_cpu *schedstat_cpu(const struct schedstat *s, unsigned int cpu)
{
	return s->nr_cpus ? bsearch(&cpu, s->cpus, s->nr_cpus, sizeof(*s->cpus), by_cpu) : NULL;
}

bool schedstat_thread_parse(const char *text, size_t len, struct schedstat_thread *ret)
{
	uint64_t v[3];

	if (!len || text[len - 1] != '\n' || !numbers(text, text + len - 1, v, 3))
		return false;
	*ret = (struct schedstat_thread){ .run_ns = v[0], .wait_ns = v[1], .slices = v[2] };
	return true;
}
