// SPDX-License-Identifier: GPL-3.0-or-later
/* A message of the netdev family, whatever its attributes: refused, or one entry more. */
#include <assert.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "variant/netdev_genl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(netdev_napis_release) struct netdev_napis napis = {};
	_cleanup_(netdev_queues_release) struct netdev_queues queues = {};
	_cleanup_(freep) struct nlmsghdr *h = NULL;
	size_t len = sizeof(*h) + size;

	h = calloc(1, len);
	assert(h);
	h->nlmsg_len = (uint32_t)len;
	if (size)
		memcpy((char *)h + sizeof(*h), data, size);
	for (size_t i = 0; i < 3; i++) {
		int r = netdev_genl_take_napi(h, &napis), q = netdev_genl_take_queue(h, &queues);

		assert((r == 0) == (napis.nr == i + 1) && (q == 0) == (queues.nr == i + 1));
		if (r < 0 && q < 0)
			break;
		assert((r == 0) != (q == 0));
		if (r == 0)
			assert(napis.v[i].id && napis.v[i].ifindex);
	}
	return 0;
}
