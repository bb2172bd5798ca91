// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/labels.h"

#include <string.h>

#include "base/buf.h"

const char *labels_value(const char *labels, const char *key)
{
	size_t n = strlen(key);

	while (*labels) {
		if (strncmp(labels, key, n) == 0 && labels[n] == '=')
			return labels + n + 1;
		labels += strcspn(labels, ",");
		labels += *labels == ',';
	}
	return NULL;
}

char *labels_without(const char *labels, const char *key)
{
	struct buf out = {};
	size_t n = strlen(key);

	while (*labels) {
		size_t len = strcspn(labels, ",");

		if (strncmp(labels, key, n) != 0 || labels[n] != '=') {
			if (out.len)
				buf_putc(&out, ',');
			buf_add(&out, labels, len);
		}
		labels += len;
		labels += *labels == ',';
	}
	return buf_take(&out);
}
