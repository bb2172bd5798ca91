// SPDX-License-Identifier: GPL-3.0-or-later
#include "audit/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

#include "audit/nic.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"

static int open_dir(const char *path)
{
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void machine_open(struct host *ret)
{
	*ret = (struct host){ .proc_fd = open_dir("/proc"),
			      .sys_fd = open_dir("/sys"),
			      .dev_fd = open_dir("/dev"),
			      .dut = { .netns_fd = -1, .sys_fd = -1 },
			      .far = { .netns_fd = -1, .sys_fd = -1 } };
}

/* "eth0\t00000000\t0101A8C0\t..." below a heading: a destination of nothing is the default. */
void machine_default_dev(int proc_fd, char ret[static 16])
{
	_cleanup_(buf_release) struct buf text = {};
	struct err ignored = {};

	ret[0] = '\0';
	if (proc_fd < 0 || kfile_read(proc_fd, "net/route", &text, &ignored) < 0)
		return;
	for (const char *p = buf_str(&text); *p; p += strcspn(p, "\n"), p += *p == '\n') {
		size_t len = strcspn(p, "\t\n");

		if (p[len] != '\t' || strncmp(p + len + 1, "00000000\t", 9) != 0 || len == 0 ||
		    len >= IFNAMSIZ)
			continue;
		memcpy(ret, p, len);
		ret[len] = '\0';
		return;
	}
}

static int look(const struct audit_scope *scope, struct audit *ret, struct err *e,
		int (*run)(const struct audit_scope *, struct audit *, struct err *))
{
	_cleanup_(close_fdp) int root = open_dir("/");
	const struct host *h = scope->host;
	struct audit_scope full = *scope;
	struct nic dut = {}, far = {};

	full.root_fd = root;
	full.dut = *h->dut.ifname && nic_read(&h->dut, &dut) >= 0 ? &dut : NULL;
	full.far = *h->far.ifname && nic_read(&h->far, &far) >= 0 ? &far : NULL;
	return run(&full, ret, e);
}

int machine_audit(const struct audit_scope *scope, struct audit *ret, struct err *e)
{
	return look(scope, ret, e, audit_run);
}

int machine_facts(const struct audit_scope *scope, struct audit *ret, struct err *e)
{
	return look(scope, ret, e, audit_facts);
}
