// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "plan/instance.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/netcount.h"

/*
 * The file below /proc of a sysctl's name, by the rule of sysctl(8): the separator that comes first
 * is the separator; with dots, a slash stands for a dot within a component.
 */
static char *path_of(const char *name)
{
	_cleanup_(buf_release) struct buf b = {};
	const char *first = strpbrk(name, "./");
	bool dots = first && *first == '.';

	buf_puts(&b, "sys/");
	for (; *name; name++) {
		if (dots && *name == '.')
			buf_putc(&b, '/');
		else if (dots && *name == '/')
			buf_putc(&b, '.');
		else
			buf_putc(&b, *name);
	}
	return buf_take(&b);
}

static bool is_net(const char *name)
{
	return strncmp(name, "net", 3) == 0 && (name[3] == '.' || name[3] == '/');
}

/* Are we in another network namespace than the machine's first process? */
static bool in_other_netns(const struct host *host)
{
	char first[64] = "", ours[64] = "";

	if (host->dut.netns_fd >= 0)
		return true;
	return readlinkat(host->proc_fd, "1/ns/net", first, sizeof(first) - 1) > 0 &&
	       readlinkat(host->proc_fd, "thread-self/ns/net", ours, sizeof(ours) - 1) > 0 &&
	       strcmp(first, ours) != 0;
}

static int absent(const struct host *host, const char *name, struct err *e)
{
	if (is_net(name) && in_other_netns(host))
		return err_set(
			e, -ENOENT,
			"%s does not exist in the network namespace of the device "
			"under test: it may belong to the machine as a whole, which shows it "
			"in the first namespace only; set it there or leave it out",
			name);
	return err_set(e, -ENOENT,
		       "%s does not exist on this machine: misspelt, or its module is not "
		       "loaded (sysctl -a lists what exists)",
		       name);
}

static int sysctl_read(const struct host *host, const char *target, char **ret, struct err *e)
{
	_cleanup_(freep) char *path = path_of(target);
	int r;

	if (!path)
		return err_nomem(e, target);
	r = kfile_read_line(host->proc_fd, path, ret, e);
	if (r == -ENOENT)
		return absent(host, target, e);
	return r;
}

/* net.ipv4.tcp_congestion_control, with either separator */
static bool is_congestion(const char *path)
{
	return strcmp(path, "sys/net/ipv4/tcp_congestion_control") == 0;
}

/* What may be done about a refused algorithm, after the kernel's own reason. */
static int refuse_congestion(const struct host *host, int r, struct err *e)
{
	_cleanup_(freep) char *allowed = NULL;
	char why[sizeof(e->msg)];
	struct err unread = {};

	kfile_read_line(host->proc_fd, "sys/net/ipv4/tcp_allowed_congestion_control", &allowed,
			&unread);
	snprintf(why, sizeof(why), "%s", e->msg);
	return err_set(e, r,
		       "%.600s; in a network namespace the kernel allows only the algorithms of "
		       "net.ipv4.tcp_allowed_congestion_control (here: %.200s): allow it in the "
		       "first namespace, or give the tcp load the option congestion",
		       why, allowed ? allowed : "cannot be read");
}

/* The file is there, so ENOENT of its write is about the name of the algorithm. */
static int unknown_congestion(const struct host *host, const char *value, struct err *e)
{
	_cleanup_(freep) char *available = NULL;
	struct err unread = {};

	kfile_read_line(host->proc_fd, "sys/net/ipv4/tcp_available_congestion_control", &available,
			&unread);
	return err_set(e, -EINVAL,
		       "this kernel has no congestion control \"%.60s\"; it has: %.400s (more may "
		       "be modules: modprobe tcp_%.60s)",
		       value, available ? available : "a list that cannot be read", value);
}

static int sysctl_write(const struct host *host, const char *target, const char *value,
			struct err *e)
{
	_cleanup_(freep) char *path = path_of(target);
	int r;

	if (!path)
		return err_nomem(e, target);
	/* a write of no bytes does nothing */
	r = kfile_write(host->proc_fd, path, *value ? value : "\n", e);
	if (r == -ENOENT && is_congestion(path) && faccessat(host->proc_fd, path, F_OK, 0) == 0)
		return unknown_congestion(host, value, e);
	if (r == -ENOENT)
		return absent(host, target, e);
	/* of this file's write it means just that: whoever lacks the right cannot open it */
	if (r == -EPERM && is_congestion(path))
		return refuse_congestion(host, r, e);
	return r;
}

static int sysctl_resolve(const struct host *host, const struct instance *inst,
			  struct knob_settings *ret, struct err *e)
{
	_cleanup_(knob_settings_release) struct knob_settings l = {};

	if (inst->nr_settings == 0)
		return err_set(e, -EINVAL,
			       "needs names and values such as { net.core.busy_poll: 50 }");
	for (size_t i = 0; i < inst->nr_settings; i++) {
		const struct setting *s = &inst->settings[i];
		_cleanup_(freep) char *path = path_of(s->key);
		int r;

		if (!path)
			return err_nomem(e, s->key);
		if (faccessat(host->proc_fd, path, F_OK, 0) < 0)
			return errno == ENOENT || errno == ENOTDIR ? absent(host, s->key, e)
								   : err_sys(e, "%s", s->key);
		r = knob_settings_add(&l, s->key, s->value, e);
		if (r < 0)
			return r;
	}
	*ret = l;
	l = (struct knob_settings){};
	return 0;
}

/* Equal but for the width of the blanks: "4096\t131072" is "4096 131072". */
static bool sysctl_same(const char *a, const char *b)
{
	while (isspace((unsigned char)*a))
		a++;
	while (isspace((unsigned char)*b))
		b++;
	while (*a && *b) {
		bool blank = isspace((unsigned char)*a);

		if (blank != (bool)isspace((unsigned char)*b) || (!blank && *a != *b))
			break;
		do
			a++;
		while (blank && isspace((unsigned char)*a));
		do
			b++;
		while (blank && isspace((unsigned char)*b));
	}
	while (isspace((unsigned char)*a))
		a++;
	while (isspace((unsigned char)*b))
		b++;
	return !*a && !*b;
}

/* The sysctls whose effect the kernel counts. */
static const struct counted {
	const char *path;
	const char *what;
	const char *netstat; /* NULL: softnet_stat's time_squeeze */
} counted[] = {
	{ "sys/net/core/busy_poll", "TcpExt BusyPollRxPackets", "BusyPollRxPackets" },
	{ "sys/net/core/busy_read", "TcpExt BusyPollRxPackets", "BusyPollRxPackets" },
	{ "sys/net/core/netdev_budget", "time_squeeze of softnet_stat", NULL },
	{ "sys/net/core/netdev_budget_usecs", "time_squeeze of softnet_stat", NULL },
};

/*
 * Nobody knows whether anything was asked of them (a socket may not be pollable, the budget may
 * never have run out), so no movement is no fault.
 */
static int sysctl_witness(const struct host *host, const char *target, struct witness *ret,
			  struct err *e)
{
	_cleanup_(freep) char *path = path_of(target);
	_cleanup_(freep) char *now = NULL;
	const struct counted *c = NULL;
	int r;

	if (!path)
		return err_nomem(e, target);
	for (size_t i = 0; i < ARRAY_SIZE(counted); i++)
		if (strcmp(counted[i].path, path) == 0)
			c = &counted[i];
	if (!c)
		return -ENOENT;
	r = kfile_read_line(host->proc_fd, path, &now, e);
	if (r < 0 || strcmp(now, "0") == 0)
		return r < 0 ? r : -ENOENT;
	*ret = (struct witness){ .min_effect = 1, .min_demand = WITNESS_DEMAND_UNKNOWN };
	snprintf(ret->what, sizeof(ret->what), "%s", c->what);
	return c->netstat ? netcount_netstat(host->proc_fd, "TcpExt", c->netstat, &ret->effect, e)
			  : netcount_softnet(host->proc_fd, SOFTNET_TIME_SQUEEZE, NULL,
					     &ret->effect, e);
}

static bool sysctl_ephemeral(const struct host *host, const char *target)
{
	return is_net(target) && host->dut.netns_fd >= 0;
}

const struct knob_ops knob_sysctl = {
	.plugin = { .name = "sysctl",
		    .help = "values of sysctls, as name: value",
		    .free_keys = true },
	.usable = knob_usable,
	.resolve = sysctl_resolve,
	.read = sysctl_read,
	.write = sysctl_write,
	.witness = sysctl_witness,
	.same = sysctl_same,
	.ephemeral = sysctl_ephemeral,
};
