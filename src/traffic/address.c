// SPDX-License-Identifier: GPL-3.0-or-later
#include "traffic/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/text.h"

static void name_of(const struct sockaddr_storage *a, socklen_t len, struct address *ret)
{
	static const char mapped[] = "::ffff:";
	char service[8] = "0";
	uint16_t be = 0;

	if (getnameinfo((const struct sockaddr *)a, len, ret->host, sizeof(ret->host), service,
			sizeof(service), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
		*ret = (struct address){ .host = "?" };
		return;
	}
	if (strncmp(ret->host, mapped, sizeof(mapped) - 1) == 0)
		memmove(ret->host, ret->host + sizeof(mapped) - 1,
			sizeof(ret->host) - (sizeof(mapped) - 1));
	if (a->ss_family == AF_INET6)
		be = ((const struct sockaddr_in6 *)a)->sin6_port;
	else if (a->ss_family == AF_INET)
		be = ((const struct sockaddr_in *)a)->sin_port;
	ret->port = ntohs(be);
}

void address_local(int fd, struct address *ret)
{
	struct sockaddr_storage at = {};
	socklen_t len = sizeof(at);

	*ret = (struct address){ .host = "?" };
	if (getsockname(fd, (struct sockaddr *)&at, &len) == 0)
		name_of(&at, len, ret);
}

void address_remote(int fd, struct address *ret)
{
	struct sockaddr_storage at = {};
	socklen_t len = sizeof(at);

	*ret = (struct address){ .host = "?" };
	if (getpeername(fd, (struct sockaddr *)&at, &len) == 0)
		name_of(&at, len, ret);
}

void address_split(const char *text, struct address *ret)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : strlen(text);
	uint64_t port = 0;

	if (colon && text_u64(colon + 1, &port) < 0)
		port = 0;
	if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	*ret = (struct address){ .port = (uint16_t)port };
	snprintf(ret->host, sizeof(ret->host), "%.*s", (int)len, text);
}
