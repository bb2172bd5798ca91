// SPDX-License-Identifier: GPL-3.0-or-later
/* Which CPUs are set apart, and whether interrupts keep to that. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/check.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/host.h"
#include "base/text.h"

#define NAMES_MAX 6

/* The CPUs the probe runs on; false: there is none, or the list means nothing here. */
static bool probe_cpus(struct look *l, struct cpuset *ret)
{
	const char *list = l->scope->goal->cpus;
	struct err ignored = {};

	if (!list || look_root(l, ROOT_SYS) < 0)
		return false;
	if (strcmp(list, "all") == 0)
		return cpuset_online(look_root(l, ROOT_SYS), ret, &ignored) >= 0;
	return cpuset_parse(list, ret, &ignored) >= 0;
}

static bool meets(const struct cpuset *a, const struct cpuset *b)
{
	for (size_t i = 0; i < a->nr; i++)
		if (cpuset_has(b, a->cpus[i]))
			return true;
	return false;
}

static bool is_within(const struct cpuset *a, const struct cpuset *b)
{
	for (size_t i = 0; i < a->nr; i++)
		if (!cpuset_has(b, a->cpus[i]))
			return false;
	return true;
}

static bool isolated_cpus(struct look *l, struct cpuset *ret, struct err *e)
{
	_cleanup_(freep) char *list = look_line(l, ROOT_SYS, "devices/system/cpu/isolated", e);

	if (!list)
		return false;
	return !*list || strcmp(list, "(null)") == 0 || cpuset_parse(list, ret, e) >= 0;
}

static int look_isolation(struct look *l, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset isolated = {}, probe = {};
	_cleanup_(buf_release) struct buf list = {};
	_cleanup_(freep) char *nocbs = look_boot(l, "rcu_nocbs");
	bool known = isolated_cpus(l, &isolated, e);

	look_fact_file(l, "nohz_full", ROOT_SYS, "devices/system/cpu/nohz_full");
	if (nocbs)
		look_fact(l, "rcu_nocbs", "%s", nocbs);
	if (!known)
		return e->code;
	cpuset_format(&isolated, &list);
	look_fact(l, "isolated", "%s", isolated.nr ? buf_str(&list) : "none");
	if (!isolated.nr || !probe_cpus(l, &probe) || is_within(&probe, &isolated))
		return 0;
	if (meets(&probe, &isolated)) {
		look_found(l, SEVERITY_NOTE, AFFECTS_WAKEUP,
			   "the probe runs on isolated CPUs (%s) and on others", buf_str(&list));
		look_why(l, "two kinds of CPU in one distribution: its tail is that of the others");
	} else {
		look_found(l, SEVERITY_WARN, AFFECTS_WAKEUP,
			   "CPUs %s are isolated, and the probe runs on others", buf_str(&list));
		look_why(l, "what the isolation is for is not measured");
	}
	look_mend(l, "probes: { wakeup: { cpus: %s } } in the plan", buf_str(&list));
	return 0;
}

const struct check check_isolation = {
	.name = "isolation",
	.help = "isolated CPUs, nohz_full, rcu_nocbs, and whether the probe runs there",
	.reads = "/sys/devices/system/cpu/{isolated,nohz_full}, /proc/cmdline",
	.look = look_isolation,
	.again = true,
};

/* Where interrupt @irq goes; effective_affinity is not in every kernel. */
static bool cpus_of(struct look *l, unsigned int irq, struct cpuset *ret)
{
	static const char *const files[] = { "effective_affinity_list", "smp_affinity_list" };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_(freep) char *list = NULL;
		struct err ignored = {};
		char path[64];

		snprintf(path, sizeof(path), "irq/%u/%s", irq, files[i]);
		list = look_line(l, ROOT_PROC, path, &ignored);
		if (list && *list)
			return cpuset_parse(list, ret, &ignored) >= 0;
	}
	return false;
}

/* Interrupts of @dev in @fd (its msi_irqs) into @all. */
static size_t nic_irqs(struct look *l, const char *ifname, struct cpuset *ret)
{
	const struct host *h = l->scope->host;
	int root = h->dut.sys_fd >= 0 ? h->dut.sys_fd : h->sys_fd, fd;
	_cleanup_(closedir_dirp) DIR *d = NULL;
	const struct dirent *entry;
	char path[64];
	size_t nr = 0;

	snprintf(path, sizeof(path), "class/net/%s/device/msi_irqs", ifname);
	fd = root < 0 ? -1 : openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		close_fdp(&fd);
		return 0;
	}
	while ((entry = readdir(d))) { /* NOLINT(concurrency-mt-unsafe): the stream is ours */
		_cleanup_(cpuset_release) struct cpuset cpus = {};
		uint64_t irq = 0;

		if (text_u64(entry->d_name, &irq) < 0 || irq > UINT32_MAX ||
		    !cpus_of(l, (unsigned int)irq, &cpus))
			continue;
		nr++;
		for (size_t i = 0; i < cpus.nr; i++) {
			unsigned int *v;

			if (cpuset_has(ret, cpus.cpus[i]))
				continue;
			v = realloc(ret->cpus, (ret->nr + 1) * sizeof(*v));
			if (!v)
				return nr;
			ret->cpus = v;
			/* cpuset_has() wants them ascending */
			size_t at = ret->nr++;
			for (; at > 0 && v[at - 1] > cpus.cpus[i]; at--)
				v[at] = v[at - 1];
			v[at] = cpus.cpus[i];
		}
	}
	return nr;
}

static void look_nic_irqs(struct look *l)
{
	const char *ifname = l->scope->host->dut.ifname;
	_cleanup_(cpuset_release) struct cpuset nic = {}, probe = {};
	_cleanup_(buf_release) struct buf list = {};
	size_t nr = *ifname ? nic_irqs(l, ifname, &nic) : 0;

	if (!nr || !nic.nr)
		return;
	cpuset_format(&nic, &list);
	look_fact(l, "dut.irqs", "%zu on CPUs %s", nr, buf_str(&list));
	if (!probe_cpus(l, &probe) || meets(&probe, &nic))
		return;
	look_found(l, SEVERITY_WARN, AFFECTS_WAKEUP,
		   "the netdev's interrupts go to CPUs %s, and the probe runs on others",
		   buf_str(&list));
	look_why(l, "no interrupt of the load ever meets the probe: the variants differ elsewhere");
	look_mend(l, "probes: { wakeup: { cpus: %s } } in the plan", buf_str(&list));
}

/* Interrupts that an isolated CPU takes. */
static int look_strays(struct look *l, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset isolated = {};
	_cleanup_(closedir_dirp) DIR *d = NULL;
	_cleanup_(buf_release) struct buf names = {};
	const struct dirent *entry;
	size_t nr = 0;
	int fd;

	if (!isolated_cpus(l, &isolated, e))
		return e->code;
	if (!isolated.nr)
		return 0;
	fd = look_root(l, ROOT_PROC) < 0
		     ? -1
		     : openat(look_root(l, ROOT_PROC), "irq", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		close_fdp(&fd);
		return err_set(e, -ENOENT, "/proc/irq cannot be read");
	}
	while ((entry = readdir(d))) { /* NOLINT(concurrency-mt-unsafe): the stream is ours */
		_cleanup_(cpuset_release) struct cpuset cpus = {};
		uint64_t irq = 0;

		if (text_u64(entry->d_name, &irq) >= 0 && irq <= UINT32_MAX &&
		    cpus_of(l, (unsigned int)irq, &cpus) && meets(&cpus, &isolated))
			look_list(&names, nr++, NAMES_MAX, entry->d_name);
	}
	if (!nr)
		return 0;
	look_found(l, SEVERITY_WARN, AFFECTS_WAKEUP, "isolated CPUs take %zu interrupt%s: %s", nr,
		   nr == 1 ? "" : "s", buf_str(&names));
	look_why(l, "isolcpus= keeps tasks away and not interrupts");
	look_mend(l, "echo CPUS > /proc/irq/N/smp_affinity_list, or irqaffinity= at boot");
	return 0;
}

static int look_irq_placement(struct look *l, struct err *e)
{
	look_fact_file(l, "irq_affinity", ROOT_PROC, "irq/default_smp_affinity");
	look_nic_irqs(l);
	return look_strays(l, e);
}

const struct check check_irq_placement = {
	.name = "irq-placement",
	.help = "CPUs of the netdev's interrupts against the probe's; interrupts on isolated CPUs",
	.reads = "/sys/class/net/DEV/device/msi_irqs, /proc/irq/*/effective_affinity_list",
	.look = look_irq_placement,
};
