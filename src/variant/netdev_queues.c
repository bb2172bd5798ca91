// SPDX-License-Identifier: GPL-3.0-or-later
#include "variant/netdev_queues.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "base/text.h"
#include "variant/knob.h"
#include "variant/netdev.h"

static const char none[] = "none";

static const struct netdev_queue_file queue_files[] = {
	{ "rps-cpus", "rps_cpus", false, true },
	{ "rps-flow-cnt", "rps_flow_cnt", false, false },
	{ "xps-cpus", "xps_cpus", true, true },
};

const struct netdev_queue_file *netdev_queue_file_at(size_t i)
{
	return i < ARRAY_SIZE(queue_files) ? &queue_files[i] : NULL;
}

const struct netdev_queue_file *netdev_queue_file_of(const char *rest, unsigned int *ret_queue)
{
	for (size_t i = 0; i < ARRAY_SIZE(queue_files); i++) {
		const struct netdev_queue_file *f = &queue_files[i];
		unsigned int queue = 0;
		char again[64];

		if (sscanf(rest, f->is_tx ? "queues/tx-%5u/" : "queues/rx-%5u/", &queue) != 1)
			continue;
		snprintf(again, sizeof(again), "queues/%s-%u/%s", f->is_tx ? "tx" : "rx", queue,
			 f->file);
		if (strcmp(rest, again) != 0)
			continue;
		*ret_queue = queue;
		return f;
	}
	return NULL;
}

int netdev_queue_count(const struct host *host, const char *dev, bool is_tx, size_t *ret,
		       struct err *e)
{
	const struct host_side *side = host_side_of(host, dev);
	int root = netdev_sys_root(side, dev, e);
	size_t nr = 0;
	char path[64];

	if (root < 0)
		return root;
	do {
		snprintf(path, sizeof(path), "class/net/%s/queues/%s-%zu", dev, is_tx ? "tx" : "rx",
			 nr);
	} while (faccessat(root, path, F_OK, 0) == 0 && ++nr);
	*ret = nr;
	return 0;
}

static int hex_digit(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	return isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

/* Groups of 32 bits, the highest first; their zeros may be left out in the first one only. */
int netdev_mask_parse(const char *mask, struct cpuset *ret, struct err *e)
{
	_cleanup_(buf_release) struct buf list = {};
	unsigned int cpu = 0;
	size_t len = strlen(mask);

	if (len == 0 || mask[0] == ',')
		return err_set(e, -EINVAL, "\"%.100s\" is not a mask of CPUs", mask);
	for (size_t i = len; i-- > 0;) {
		int digit = hex_digit(mask[i]);

		if (mask[i] == ',' && cpu % 32 == 0 && cpu > 0)
			continue;
		if (digit < 0 || cpu + 4 > CPUSET_MAX)
			return err_set(e, -EINVAL, "\"%.100s\" is not a mask of CPUs", mask);
		for (unsigned int bit = 0; bit < 4; bit++)
			if (digit >> bit & 1)
				buf_printf(&list, "%s%u", list.len ? "," : "", cpu + bit);
		cpu += 4;
	}
	if (list.failed)
		return err_nomem(e, "mask of CPUs");
	return cpuset_parse(buf_str(&list), ret, e);
}

int netdev_mask_format(const char *list, char **ret, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset set = {};
	_cleanup_(buf_release) struct buf b = {};
	uint32_t words[CPUSET_MAX / 32] = {};
	size_t nr = 1;
	int r = cpuset_parse(strcmp(list, none) == 0 ? "" : list, &set, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < set.nr; i++)
		words[set.cpus[i] / 32] |= UINT32_C(1) << set.cpus[i] % 32;
	if (set.nr)
		nr = set.cpus[set.nr - 1] / 32 + 1;
	for (size_t i = nr; i-- > 0;)
		buf_printf(&b, "%08x%s", words[i], i ? "," : "");
	*ret = buf_take(&b);
	return *ret ? 0 : err_nomem(e, "mask of CPUs");
}

static int format_list(const struct cpuset *set, char **ret, struct err *e)
{
	_cleanup_(buf_release) struct buf b = {};

	if (set->nr)
		cpuset_format(set, &b);
	else
		buf_puts(&b, none);
	*ret = buf_take(&b);
	return *ret ? 0 : err_nomem(e, "list of CPUs");
}

/* The kernel drops CPUs that are offline without a word. */
static int check_online(const struct host *host, const struct cpuset *set, const char *wanted,
			const char *option, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset online = {};
	_cleanup_(buf_release) struct buf b = {};
	int r = cpuset_online(host->sys_fd, &online, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < set->nr; i++) {
		if (cpuset_has(&online, set->cpus[i]))
			continue;
		cpuset_format(&online, &b);
		return err_set(e, -EINVAL, "%s \"%.100s\": this machine has CPUs %s online", option,
			       wanted, buf_str(&b));
	}
	return 0;
}

static int cpus_value(const struct host *host, const struct netdev_queue_file *f,
		      const char *wanted, char **ret, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset set = {};
	int r;

	if (strcmp(wanted, "all") == 0)
		r = cpuset_online(host->sys_fd, &set, e);
	else
		r = cpuset_parse(strcmp(wanted, none) == 0 ? "" : wanted, &set, e);
	if (r < 0)
		return err_wrap(e, "%s", f->option);
	r = check_online(host, &set, wanted, f->option, e);
	return r < 0 ? r : format_list(&set, ret, e);
}

int netdev_queue_value(const struct host *host, const struct netdev_queue_file *f,
		       const char *wanted, char **ret, struct err *e)
{
	uint64_t n = 0;

	if (f->is_cpus)
		return cpus_value(host, f, wanted, ret, e);
	if (text_u64(wanted, &n) < 0)
		return err_set(e, -EINVAL, "%s \"%.60s\" is not a number", f->option, wanted);
	/* the kernel rounds up, and then reads back another number than was asked for */
	if (n & (n - 1))
		return err_set(e, -EINVAL, "%s %s: the kernel takes powers of two only", f->option,
			       wanted);
	*ret = strdup(wanted);
	return *ret ? 0 : err_nomem(e, wanted);
}

/* ENOENT of a file that is there: the kernel has steering for several queues only. */
static int refuse(const struct netdev_target *t, const struct netdev_queue_file *f, int r,
		  struct err *e)
{
	char path[96], driver[NETDEV_DRIVER_SIZE];

	snprintf(path, sizeof(path), "class/net/%s/%.40s", t->dev, t->rest);
	if (r != -ENOENT || faccessat(t->side->sys_fd, path, F_OK, 0) < 0)
		return r;
	netdev_driver(t->side, t->dev, driver);
	return err_set(e, r,
		       "%s (driver %s) has a single %s queue, so there is nothing to steer: leave "
		       "%s out, or give it more queues (knob channels)",
		       t->dev, driver, f->is_tx ? "transmit" : "receive", f->option);
}

int netdev_queue_read(const struct netdev_target *t, const struct netdev_queue_file *f, char **ret,
		      struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset set = {};
	_cleanup_(freep) char *text = NULL;
	int r = netdev_file_read(t->side, t->dev, t->rest, &text, e);

	if (r < 0)
		return refuse(t, f, r, e);
	if (!f->is_cpus) {
		*ret = take_ptr(text);
		return 0;
	}
	r = netdev_mask_parse(text, &set, e);
	return r < 0 ? err_wrap(e, "%s", t->rest) : format_list(&set, ret, e);
}

int netdev_queue_write(const struct netdev_target *t, const struct netdev_queue_file *f,
		       const char *value, struct err *e)
{
	_cleanup_(freep) char *mask = NULL;
	int r = 0;

	if (f->is_cpus)
		r = netdev_mask_format(value, &mask, e);
	if (r < 0)
		return r;
	r = netdev_file_write(t->side, t->dev, t->rest, mask ? mask : value, e);
	if (r == -EINVAL && f->is_cpus)
		return err_wrap(e, "none of CPUs %s may do such work (isolcpus, nohz_full)", value);
	return refuse(t, f, r, e);
}
