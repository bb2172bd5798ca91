/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef AUDIT_INFLATE_H
#define AUDIT_INFLATE_H

#include <stddef.h>

struct buf;
struct err;

/**
 * gunzip - append the contents of a gzip file of one member (RFC 1952, RFC 1951)
 * @limit: most bytes that may come out
 *
 * For /proc/config.gz, which is all that many boards have; the agent links no compression library.
 * Return: 0; -EBADMSG when it is no gzip file, is cut short or fails its own checksum; -E2BIG.
 */
int gunzip(const void *data, size_t len, size_t limit, struct buf *out, struct err *e);

#endif
