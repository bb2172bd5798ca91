// SPDX-License-Identifier: GPL-3.0-or-later
/* "irqlab traffic" alone, so that its end-to-end test needs no more of the program. */
#include <stdio.h>

#include "base/err.h"
#include "cmd_traffic.h"

int main(int argc, char **argv)
{
	struct err e = {};
	int r = cmd_traffic(argc, argv, &e);

	if (r < 0)
		fprintf(stderr, "irqlab traffic: %s\n", e.msg);
	return r < 0 ? 1 : r;
}
