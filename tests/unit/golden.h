/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef GOLDEN_H
#define GOLDEN_H

/* Include after test.h. */

#include <stdio.h>
#include <stdlib.h>

/* Compare with tests/golden/@name, or write it when IRQLAB_GOLDEN is set. */
static inline void assert_golden(const char *name, const struct buf *got)
{
	_cleanup_(buf_release) struct buf want = {};
	_cleanup_(fclose_filep) FILE *f = NULL;
	bool write = getenv("IRQLAB_GOLDEN");
	char path[128];
	int c;

	snprintf(path, sizeof(path), "tests/golden/%s", name);
	f = fopen(path, write ? "we" : "re");
	if (!f)
		fail_msg("%s is missing; IRQLAB_GOLDEN=1 writes it", path);
	if (write) {
		assert_int_equal(fwrite(got->data, 1, got->len, f), got->len);
		return;
	}
	while ((c = fgetc(f)) != EOF)
		buf_putc(&want, (char)c);
	assert_string_equal(buf_str(got), buf_str(&want));
}

#endif
