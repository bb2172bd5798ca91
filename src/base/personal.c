// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/personal.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define HOST_NAME_MIN 3

static bool is_hex(char c)
{
	return isxdigit((unsigned char)c);
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c);
}

/* Length of the address of a network card at @p, at least six pairs; 0: none. */
static size_t hardware_address(const char *p)
{
	size_t n = 2, pairs = 1;
	char joint;

	if (!is_hex(p[0]) || !is_hex(p[1]) || (p[2] != ':' && p[2] != '-'))
		return 0;
	joint = p[2];
	while (p[n] == joint && is_hex(p[n + 1]) && is_hex(p[n + 2])) {
		n += 3;
		pairs++;
	}
	return pairs >= 6 && !is_word(p[n]) ? n : 0;
}

/* 8-4-4-4-12 hex digits. */
static size_t uuid(const char *p)
{
	static const size_t groups[] = { 8, 4, 4, 4, 12 };
	size_t n = 0;

	for (size_t g = 0; g < ARRAY_SIZE(groups); g++) {
		if (g > 0 && p[n++] != '-')
			return 0;
		for (size_t i = 0; i < groups[g]; i++)
			if (!is_hex(p[n++]))
				return 0;
	}
	return is_word(p[n]) ? 0 : n;
}

/* "enx001122334455", "wlx...": the length of the digits; @ret_kept: of what stays before them. */
static size_t named_by_address(const char *p, size_t *ret_kept)
{
	size_t n = 0;

	if (strncmp(p, "enx", 3) != 0 && strncmp(p, "wlx", 3) != 0 && strncmp(p, "wwx", 3) != 0)
		return 0;
	while (is_hex(p[3 + n]))
		n++;
	*ret_kept = 3;
	return n == 12 ? n : 0;
}

/* "SerialNumber: 4C53", "serial=4C53": the length of the number; @ret_kept: up to it. */
static size_t serial(const char *p, size_t *ret_kept)
{
	static const char word[] = "serial", number[] = "number";
	size_t n = sizeof(word) - 1;

	if (strncasecmp(p, word, n) != 0)
		return 0;
	n += p[n] == ' ' || p[n] == '_' || p[n] == '-';
	if (strncasecmp(p + n, number, sizeof(number) - 1) == 0)
		n += sizeof(number) - 1;
	n += strspn(p + n, " ");
	if (p[n] != ':' && p[n] != '=')
		return 0;
	n++;
	n += strspn(p + n, " ");
	*ret_kept = n;
	return strcspn(p + n, " \t\n,;");
}

/* "UUID=9AF1-22C0", "PARTUUID=4e639091-02": the short ones of old file systems and tables. */
static size_t disk(const char *p, size_t *ret_kept)
{
	static const char *const keys[] = { "UUID=", "PARTUUID=" };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		size_t n = strlen(keys[i]);

		if (strncmp(p, keys[i], n) != 0)
			continue;
		*ret_kept = n;
		return strcspn(p + n, " \t\n,;/");
	}
	return 0;
}

static size_t host(const char *p, const char *name)
{
	size_t n = name ? strlen(name) : 0;

	return n >= HOST_NAME_MIN && strncmp(p, name, n) == 0 && !is_word(p[n]) && p[n] != '_' ? n
											       : 0;
}

/* Length of what is personal at the beginning of a word, after @ret_kept characters that are not.
 */
static size_t personal(const char *p, const char *host_name, size_t *ret_kept)
{
	size_t n;

	*ret_kept = 0;
	n = hardware_address(p);
	if (!n)
		n = uuid(p);
	if (!n)
		n = host(p, host_name);
	if (!n)
		n = named_by_address(p, ret_kept);
	if (!n)
		n = disk(p, ret_kept);
	return n ? n : serial(p, ret_kept);
}

void personal_mask(struct buf *out, const char *text, const char *host_name)
{
	bool begins = true;

	for (const char *p = text; *p;) {
		size_t kept = 0, n = begins ? personal(p, host_name, &kept) : 0;

		if (n) {
			buf_add(out, p, kept);
			buf_puts(out, PERSONAL_MASK);
			p += kept + n;
			begins = false;
			continue;
		}
		begins = !is_word(*p);
		buf_putc(out, *p++);
	}
}

static bool has_ipv4(const char *p, size_t len)
{
	for (const char *end = p + len; p < end;) {
		const char *q = p;
		unsigned int parts = 0;

		while (q < end && isdigit((unsigned char)*q)) {
			while (q < end && isdigit((unsigned char)*q))
				q++;
			if (++parts == 4)
				return true;
			if (q == end || *q != '.')
				break;
			q++;
		}
		p = q > p ? q : p + 1;
	}
	return false;
}

/* Does the value of this word of a command line say where or who this machine is? */
static bool is_named_personal(const char *word, size_t len)
{
	static const char *const keys[] = {
		"ip=", "nfsroot=", "nfsaddrs=", "netconsole=",	     "hostname=", "BOOTIF=",
		"ds=", "iscsi_",   "rd.iscsi.", "systemd.hostname=", "ksdevice="
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strncmp(word, keys[i], strlen(keys[i])) == 0)
			return true;
	return has_ipv4(word, len);
}

void personal_mask_cmdline(struct buf *out, const char *cmdline, const char *host_name)
{
	for (const char *p = cmdline; *p;) {
		size_t len = strcspn(p, " \t\n"), gap = strspn(p + len, " \t\n");
		const char *value = memchr(p, '=', len);
		_cleanup_(freep) char *word = strndup(p, len);

		if (is_named_personal(p, len)) {
			if (value)
				buf_add(out, p, (size_t)(value + 1 - p));
			buf_puts(out, PERSONAL_MASK);
		} else {
			personal_mask(out, word ? word : PERSONAL_MASK, host_name);
		}
		buf_add(out, p + len, gap);
		p += len + gap;
	}
}

void personal_path(struct buf *out, const char *path, const char *home)
{
	static const char homes[] = "/home/";
	size_t n = home ? strlen(home) : 0;

	if (n > 1 && strncmp(path, home, n) == 0 && path[n] == '/') {
		path += n;
		buf_putc(out, '~');
	} else if (strncmp(path, homes, sizeof(homes) - 1) == 0) {
		const char *rest = strchr(path + sizeof(homes) - 1, '/');

		if (rest) {
			path = rest;
			buf_putc(out, '~');
		}
	}
	buf_puts(out, path);
}
