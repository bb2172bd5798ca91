/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef BASE_PERSONAL_H
#define BASE_PERSONAL_H

/*
 * What tells whose machine it is has no place in a stored run: the address of a network card, a
 * serial number, an identifier of a disk, the name of the host.  Numbers and names of devices stay.
 */

struct buf;

/* What stands in the text instead. */
#define PERSONAL_MASK "(masked)"

/**
 * personal_mask - append @text without what is personal
 * @host_name: of this machine; replaced where it stands as a word of its own.  NULL, or a name of
 *             less than three characters: not looked for, it would hit what is none
 *
 * Replaced: addresses of network cards (six pairs of hex digits or more, joined by ":" or "-"),
 * the digits of interface names made from one ("enx..."), UUIDs, what follows "UUID=", and what
 * follows "serial", "serial number" and "SerialNumber" with ":" or "=".  Cost: linear in @text.
 */
void personal_mask(struct buf *out, const char *text, const char *host_name);

/*
 * The same for a kernel command line, where besides the values of words that hold addresses or
 * names (ip=, nfsroot=, netconsole=, hostname= ...) and of every word with an IPv4 address go.
 */
void personal_mask_cmdline(struct buf *out, const char *cmdline, const char *host_name);

/* A path that begins in a home folder, "/home/NAME/x" or @home/x, as "~/x"; any other is copied. */
void personal_path(struct buf *out, const char *path, const char *home);

#endif
