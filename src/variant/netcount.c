// SPDX-License-Identifier: GPL-3.0-or-later
#include "variant/netcount.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/kfile.h"
#include "base/text.h"

#define MAX_COLUMNS 32
#define COLUMN_CPU 12

/* The hexadecimal numbers of a line; returns how many. */
static size_t parse_row(const char *line, uint64_t v[static MAX_COLUMNS])
{
	size_t nr = 0;

	while (nr < MAX_COLUMNS) {
		char *end = NULL;
		unsigned long long n = strtoull(line, &end, 16);

		if (end == line)
			break;
		v[nr++] = n;
		line = end + strspn(end, " ");
	}
	return nr;
}

int netcount_softnet(int proc_fd, enum softnet_column column, const struct cpuset *cpus,
		     uint64_t *ret, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	uint64_t sum = 0;
	unsigned int row = 0;
	char *rest = NULL;
	int r = kfile_read(proc_fd, "net/softnet_stat", &text, e);

	if (r < 0)
		return r;
	buf_putc(&text, '\n');
	if (text.failed)
		return err_nomem(e, "softnet_stat");
	for (char *line = strtok_r(text.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest), row++) {
		uint64_t v[MAX_COLUMNS] = {};
		size_t nr = parse_row(line, v);
		uint64_t cpu = nr > COLUMN_CPU ? v[COLUMN_CPU] : row;

		if (nr <= (size_t)column)
			return err_set(e, -ENOENT, "/proc/net/softnet_stat has no column %d here",
				       column);
		if (!cpus || (cpu < CPUSET_MAX && cpuset_has(cpus, (unsigned int)cpu)))
			sum += v[column];
	}
	*ret = sum;
	return 0;
}

/* Is @line of @group ("TcpExt: ...")? Its words begin at *ret. */
static bool is_group(char *line, const char *group, char **ret)
{
	size_t len = strlen(group);

	if (strncmp(line, group, len) != 0 || line[len] != ':')
		return false;
	*ret = line + len + 1;
	return true;
}

/* The word of @values at the place where @names has @name, NULL: not there. */
static const char *word_under(char *names, char *values, const char *name)
{
	char *rest_n = NULL, *rest_v = NULL;
	char *n = strtok_r(names, " ", &rest_n), *v = strtok_r(values, " ", &rest_v);

	while (n && v && strcmp(n, name) != 0) {
		n = strtok_r(NULL, " ", &rest_n);
		v = strtok_r(NULL, " ", &rest_v);
	}
	return n ? v : NULL;
}

int netcount_netstat(int proc_fd, const char *group, const char *name, uint64_t *ret, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	char *names = NULL, *values = NULL, *rest = NULL, *words;
	const char *word = NULL;
	int r = kfile_read(proc_fd, "thread-self/net/netstat", &text, e);

	if (r < 0)
		return r;
	buf_putc(&text, '\n');
	if (text.failed)
		return err_nomem(e, "netstat");
	for (char *line = strtok_r(text.data, "\n", &rest); line && !values;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (!is_group(line, group, &words))
			continue;
		*(names ? &values : &names) = words;
	}
	if (values)
		word = word_under(names, values, name);
	if (!word || text_u64(word, ret) < 0)
		return err_set(e, -ENOENT, "/proc/net/netstat has no %s %s here", group, name);
	return 0;
}
