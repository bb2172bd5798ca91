// SPDX-License-Identifier: GPL-3.0-or-later
#include "trial/privilege.h"

#include <errno.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

static const struct privilege {
	unsigned int cap;
	const char *name, *why;
} privileges[] = {
	{ CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE", "state directory and files of another user" },
	{ CAP_IPC_LOCK, "CAP_IPC_LOCK", "the wake-up probe's memory is locked" },
	{ CAP_KILL, "CAP_KILL", "daemons of other users are paused" },
	{ CAP_NET_ADMIN, "CAP_NET_ADMIN", "network devices, their settings, large socket buffers" },
	{ CAP_NET_BIND_SERVICE, "CAP_NET_BIND_SERVICE", "ports below 1024" },
	{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "network namespaces, BPF, cgroups, most of /proc/sys" },
	{ CAP_SYS_MODULE, "CAP_SYS_MODULE", "modules are loaded and unloaded" },
	{ CAP_SYS_NICE, "CAP_SYS_NICE", "policies, priorities and CPUs of threads" },
	{ CAP_SYS_RAWIO, "CAP_SYS_RAWIO", "the SMI counter of /dev/cpu/N/msr" },
	{ CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE", "limits on real-time priority and locked memory" },
	{ CAP_SYSLOG, "CAP_SYSLOG", "the kernel's log, addresses of its functions" },
};

int privilege_reduce(bool commands, struct err *e)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	uint32_t keep[_LINUX_CAPABILITY_U32S_3] = {};

	if (syscall(SYS_capget, &head, data) < 0)
		return err_sys(e, "read this process's capabilities");
	for (size_t i = 0; i < ARRAY_SIZE(privileges); i++)
		keep[privileges[i].cap / 32] |= UINT32_C(1) << privileges[i].cap % 32;
	for (size_t i = 0; i < ARRAY_SIZE(keep); i++) {
		data[i].permitted &= keep[i];
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &head, data) < 0)
		return err_sys(e, "give up capabilities");
	if (!commands && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, "give up new privileges");
	return 0;
}

void privilege_print(struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(privileges); i++)
		buf_printf(out, "%-21s %s\n", privileges[i].name, privileges[i].why);
}
