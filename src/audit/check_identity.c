// SPDX-License-Identifier: GPL-3.0-or-later
/* Whose machine it is: only where somebody asked for it. */
#include "audit/check.h"
#include "audit/nic.h"
#include "base/err.h"

static int look_identity(struct look *l, struct err *e)
{
	if (!l->scope->identify)
		return look_absent(l, e, "not asked for (--identify)");
	look_fact_file(l, "host", ROOT_PROC, "sys/kernel/hostname");
	look_fact_file(l, "serial", ROOT_SYS, "class/dmi/id/product_serial");
	look_fact_file(l, "serial", ROOT_PROC, "device-tree/serial-number");
	if (l->scope->dut && *l->scope->dut->address)
		look_fact(l, "dut.address", "%s", l->scope->dut->address);
	return 0;
}

const struct check check_identity = {
	.name = "identity",
	.help = "host name, serial number and hardware address, only with --identify",
	.reads = "/proc/sys/kernel/hostname, /sys/class/dmi/id/product_serial, SIOCGIFHWADDR",
	.look = look_identity,
};
