// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/cpuset.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/kfile.h"

static int bad(const char *list, struct err *e)
{
	return err_set(e, -EINVAL, "\"%.100s\" is not a CPU list such as 0-3,8 (CPUs below %d)",
		       list, CPUSET_MAX);
}

static const char *cpu_number(const char *p, unsigned int *ret)
{
	unsigned int v = 0;

	if (!isdigit((unsigned char)*p))
		return NULL;
	for (; isdigit((unsigned char)*p); p++) {
		v = v * 10 + (unsigned int)(*p - '0');
		if (v >= CPUSET_MAX)
			return NULL;
	}
	*ret = v;
	return p;
}

static int from_bitmap(const bool *in, struct cpuset *ret, struct err *e)
{
	size_t nr = 0;
	unsigned int *cpus;

	for (size_t i = 0; i < CPUSET_MAX; i++)
		nr += in[i];
	cpus = calloc(nr ? nr : 1, sizeof(*cpus));
	if (!cpus)
		return err_nomem(e, "CPU list");
	nr = 0;
	for (unsigned int i = 0; i < CPUSET_MAX; i++)
		if (in[i])
			cpus[nr++] = i;
	*ret = (struct cpuset){ .cpus = cpus, .nr = nr };
	return 0;
}

int cpuset_parse(const char *list, struct cpuset *ret, struct err *e)
{
	_cleanup_(freep) bool *in = calloc(CPUSET_MAX, sizeof(*in));
	const char *p = list;
	unsigned int from = 0, to = 0;

	if (!in)
		return err_nomem(e, "CPU list");
	while (*p && *p != '\n') {
		p = cpu_number(p, &from);
		to = from;
		if (p && *p == '-')
			p = cpu_number(p + 1, &to);
		if (!p || to < from || (*p && *p != ',' && *p != '\n') || (*p == ',' && !p[1]))
			return bad(list, e);
		for (; from <= to; from++)
			in[from] = true;
		if (*p == ',')
			p++;
	}
	return from_bitmap(in, ret, e);
}

int cpuset_format(const struct cpuset *set, struct buf *out)
{
	for (size_t i = 0; i < set->nr;) {
		size_t last = i;

		while (last + 1 < set->nr && set->cpus[last + 1] == set->cpus[last] + 1)
			last++;
		if (i)
			buf_putc(out, ',');
		buf_printf(out, "%u", set->cpus[i]);
		if (last > i)
			buf_printf(out, "-%u", set->cpus[last]);
		i = last + 1;
	}
	return out->failed ? -ENOMEM : 0;
}

bool cpuset_same(const char *a, const char *b)
{
	_cleanup_(cpuset_release) struct cpuset x = {}, y = {};
	struct err ignored = {};

	return cpuset_parse(a, &x, &ignored) >= 0 && cpuset_parse(b, &y, &ignored) >= 0 &&
	       x.nr == y.nr && (x.nr == 0 || memcmp(x.cpus, y.cpus, x.nr * sizeof(*x.cpus)) == 0);
}

static int hex_digit(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	return isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

/* Commas stand between words of 32 bits and carry no meaning of their own: "1,0000ffff". */
int cpuset_parse_mask(const char *mask, struct cpuset *ret, struct err *e)
{
	_cleanup_(freep) bool *in = calloc(CPUSET_MAX, sizeof(*in));
	size_t end = strcspn(mask, "\n"), bit = 0;
	bool bad_form = end == 0;

	if (!in)
		return err_nomem(e, "CPU mask");
	for (size_t i = end; i-- > 0 && !bad_form;) {
		int digit = hex_digit(mask[i]);

		if (mask[i] == ',' && bit % 32 == 0 && mask[i + 1] != ',' && bit && i > 0)
			continue;
		bad_form = digit < 0;
		for (int k = 0; k < 4 && !bad_form; k++, bit++) {
			if (!(digit >> k & 1))
				continue;
			bad_form = bit >= CPUSET_MAX;
			if (!bad_form)
				in[bit] = true;
		}
	}
	if (bad_form)
		return err_set(e, -EINVAL, "\"%.100s\" is not a CPU mask such as ff", mask);
	return from_bitmap(in, ret, e);
}

int cpuset_format_mask(const struct cpuset *set, struct buf *out)
{
	size_t words = set->nr ? set->cpus[set->nr - 1] / 32 + 1 : 1;

	for (size_t w = words; w-- > 0;) {
		uint32_t v = 0;

		for (size_t i = 0; i < set->nr; i++)
			if (set->cpus[i] / 32 == w)
				v |= 1U << set->cpus[i] % 32;
		buf_printf(out, w + 1 == words ? "%x" : ",%08x", v);
	}
	return out->failed ? -ENOMEM : 0;
}

bool cpuset_has(const struct cpuset *set, unsigned int cpu)
{
	for (size_t i = 0; i < set->nr; i++)
		if (set->cpus[i] == cpu)
			return true;
	return false;
}

int cpuset_online(int sys_fd, struct cpuset *ret, struct err *e)
{
	_cleanup_(freep) char *line = NULL;
	int r = kfile_read_line(sys_fd, "devices/system/cpu/online", &line, e);

	return r < 0 ? r : cpuset_parse(line, ret, e);
}

int cpuset_choose(int sys_fd, const char *text, struct cpuset *ret, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset online = {}, wanted = {};
	_cleanup_(buf_release) struct buf b = {};
	bool all = strcmp(text, "all") == 0;
	int r = cpuset_online(sys_fd, &online, e);

	if (r >= 0 && !all)
		r = cpuset_parse(text, &wanted, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < wanted.nr; i++) {
		if (cpuset_has(&online, wanted.cpus[i]))
			continue;
		cpuset_format(&online, &b);
		return err_set(e, -EINVAL, "cpus \"%s\": this machine has CPUs %s online", text,
			       buf_str(&b));
	}
	if (!all && wanted.nr == 0)
		return err_set(e, -EINVAL, "cpus \"%s\": no CPU is named", text);
	*ret = all ? online : wanted;
	*(all ? &online : &wanted) = (struct cpuset){};
	return 0;
}

static void free_cpusetp(cpu_set_t **p)
{
	CPU_FREE(*p);
}

int cpuset_pin(int tid, const struct cpuset *set, struct err *e)
{
	_cleanup_(free_cpusetp) cpu_set_t *mask = CPU_ALLOC(CPUSET_MAX);
	_cleanup_(buf_release) struct buf text = {};
	size_t size = CPU_ALLOC_SIZE(CPUSET_MAX);

	if (!mask)
		return err_nomem(e, "CPU mask");
	CPU_ZERO_S(size, mask);
	for (size_t i = 0; i < set->nr; i++)
		CPU_SET_S(set->cpus[i], size, mask);
	if (sched_setaffinity(tid, size, mask) < 0) {
		int saved = errno;

		cpuset_format(set, &text);
		errno = saved;
		return err_sys(e, "pin thread %d to CPUs %s", tid, buf_str(&text));
	}
	return 0;
}

void cpuset_release(struct cpuset *set)
{
	free(set->cpus);
	*set = (struct cpuset){};
}
