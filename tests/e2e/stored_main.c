// SPDX-License-Identifier: GPL-3.0-or-later
/* stored DB: put the run of tests/unit/stored.h into a store, for tests that cannot measure. */
#include <stdio.h>

#include "../unit/stored.h"

int main(int argc, char **argv)
{
	_cleanup_(store_closep) struct store *s = NULL;
	struct err e = {};
	int64_t run = 0;
	int r;

	if (argc != 2)
		return 2;
	r = store_open(&s, argv[1], STORE_WRITE, &e);
	if (r >= 0)
		r = stored_make(s, STORED_BLOCKS, &run, &e);
	if (r < 0)
		fprintf(stderr, "stored: %s\n", e.msg);
	return r < 0;
}
