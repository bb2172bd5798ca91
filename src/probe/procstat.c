// SPDX-License-Identifier: GPL-3.0-or-later
#include "probe/procstat.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/text.h"

/* @p behind "cpu": "0 3126 0 954 ..." */
static int add_cpu(struct procstat *s, const char *p, const char *end)
{
	struct procstat_cpu *cpus = realloc(s->cpus, (s->nr_cpus + 1) * sizeof(*cpus));
	struct procstat_cpu row = {};
	unsigned int nr = 0;
	uint64_t cpu;

	if (!cpus)
		return -ENOMEM;
	s->cpus = cpus;
	if (!text_next_u64(&p, end, &cpu) || cpu >= CPUSET_MAX)
		return -EBADMSG;
	row.cpu = (unsigned int)cpu;
	while (nr < PROCSTAT_NR && text_next_u64(&p, end, &row.t[nr]))
		nr++;
	if (nr <= PROCSTAT_IDLE || (s->nr_cpus && nr != s->nr_columns))
		return -EBADMSG;
	if (s->nr_cpus && s->cpus[s->nr_cpus - 1].cpu >= row.cpu)
		return -EBADMSG;
	s->nr_columns = nr;
	s->cpus[s->nr_cpus++] = row;
	return 0;
}

static bool begins(const char *p, const char *end, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(end - p) > len && memcmp(p, word, len) == 0;
}

static int parse_line(struct procstat *s, const char *p, const char *end)
{
	const struct {
		const char *word;
		struct procstat_value *to;
	} values[] = {
		{ "ctxt ", &s->ctxt },
		{ "intr ", &s->intr },
		{ "softirq ", &s->softirq },
		{ "processes ", &s->processes },
		{ "procs_running ", &s->running },
		{ "procs_blocked ", &s->blocked },
	};

	if (begins(p, end, "cpu") && isdigit((unsigned char)p[3]))
		return add_cpu(s, p + 3, end);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		if (!begins(p, end, values[i].word))
			continue;
		p += strlen(values[i].word);
		values[i].to->known = text_next_u64(&p, end, &values[i].to->v);
		break;
	}
	return 0;
}

int procstat_parse(const char *text, size_t len, struct procstat *ret, struct err *e)
{
	_cleanup_(procstat_release) struct procstat s = {};
	const char *end = text + len;

	for (const char *at = text; at < end;) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		int r;

		if (!nl) {
			s.truncated = true;
			break;
		}
		r = parse_line(&s, at, nl);
		if (r == -ENOMEM)
			return err_nomem(e, "/proc/stat");
		if (r < 0)
			return err_set(e, r, "/proc/stat: \"%.*s\" is not a row of a CPU",
				       nl - at < 60 ? (int)(nl - at) : 60, at);
		at = nl + 1;
	}
	if (!s.nr_cpus)
		return err_set(e, -EBADMSG, "/proc/stat: no row of a CPU");
	*ret = s;
	s = (struct procstat){};
	return 0;
}

void procstat_release(struct procstat *s)
{
	free(s->cpus);
	*s = (struct procstat){};
}

const struct procstat_cpu *procstat_cpu(const struct procstat *s, unsigned int cpu)
{
	size_t low = 0, high = s->nr_cpus;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->cpus[mid].cpu == cpu)
			return &s->cpus[mid];
		if (s->cpus[mid].cpu < cpu)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

struct procstat_cpu procstat_subtract(const struct procstat_cpu *before,
				      const struct procstat_cpu *after)
{
	struct procstat_cpu d = { .cpu = after->cpu };

	for (int i = 0; i < PROCSTAT_NR; i++)
		d.t[i] = after->t[i] > before->t[i] ? after->t[i] - before->t[i] : 0;
	return d;
}

uint64_t procstat_sum(const struct procstat_cpu *d)
{
	uint64_t all = 0;

	for (int i = 0; i < PROCSTAT_GUEST; i++)
		all += d->t[i];
	return all;
}
