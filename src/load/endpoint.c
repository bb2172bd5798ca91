// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/in6.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "load/wire.h"

void endpoint_name(const struct endpoint *p, char ret[ENDPOINT_NAME_SIZE])
{
	char host[48], port[8];

	if (getnameinfo(&p->at.any, p->len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		snprintf(ret, ENDPOINT_NAME_SIZE, "a client");
	else
		snprintf(ret, ENDPOINT_NAME_SIZE, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host,
			 port);
}

bool endpoint_is_same_host(const struct endpoint *a, const struct endpoint *b)
{
	if (a->at.any.sa_family != b->at.any.sa_family)
		return false;
	if (a->at.any.sa_family == AF_INET)
		return a->at.v4.sin_addr.s_addr == b->at.v4.sin_addr.s_addr;
	return a->at.any.sa_family == AF_INET6 &&
	       memcmp(&a->at.v6.sin6_addr, &b->at.v6.sin6_addr, sizeof(a->at.v6.sin6_addr)) == 0 &&
	       a->at.v6.sin6_scope_id == b->at.v6.sin6_scope_id;
}

uint16_t endpoint_port(const struct endpoint *p)
{
	return ntohs(p->at.any.sa_family == AF_INET6 ? p->at.v6.sin6_port : p->at.v4.sin_port);
}

void endpoint_set_port(struct endpoint *p, uint16_t port)
{
	if (p->at.any.sa_family == AF_INET6)
		p->at.v6.sin6_port = htons(port);
	else
		p->at.v4.sin_port = htons(port);
}

bool endpoint_is_same(const struct endpoint *a, const struct endpoint *b)
{
	return endpoint_is_same_host(a, b) && endpoint_port(a) == endpoint_port(b);
}

void endpoint_unmap(struct endpoint *p)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };

	if (p->at.any.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&p->at.v6.sin6_addr))
		return;
	v4.sin_port = p->at.v6.sin6_port;
	memcpy(&v4.sin_addr, p->at.v6.sin6_addr.s6_addr + 12, sizeof(v4.sin_addr));
	memset(&p->at, 0, sizeof(p->at));
	p->at.v4 = v4;
	p->len = sizeof(v4);
}

int endpoint_of(int fd, struct endpoint *ret, struct err *e)
{
	struct endpoint p = { .len = sizeof(p.at) };

	if (getsockname(fd, &p.at.any, &p.len) < 0)
		return err_sys(e, "address of a socket");
	endpoint_unmap(&p);
	*ret = p;
	return 0;
}

int endpoint_of_peer(int fd, struct endpoint *ret, struct err *e)
{
	struct endpoint p = { .len = sizeof(p.at) };

	if (getpeername(fd, &p.at.any, &p.len) < 0)
		return err_sys(e, "address of a peer");
	endpoint_unmap(&p);
	*ret = p;
	return 0;
}

/* A numeric address; a scope only for IPv6. */
static int parse_numeric(const char *text, int family, bool passive, struct endpoint *ret,
			 struct err *e)
{
	struct addrinfo hints = { .ai_family = family,
				  .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICHOST | (passive ? AI_PASSIVE : 0) };
	struct addrinfo *a = NULL;
	int r = getaddrinfo(text, NULL, &hints, &a);

	if (r != 0)
		return err_set(e, -EINVAL, "address \"%s\": expected a numeric one%s such as %s",
			       text,
			       family == AF_INET    ? " of IPv4"
			       : family == AF_INET6 ? " of IPv6"
						    : "",
			       family == AF_INET6 ? "2001:db8::1" : "192.0.2.1");
	memset(ret, 0, sizeof(*ret));
	memcpy(&ret->at, a->ai_addr, a->ai_addrlen);
	ret->len = a->ai_addrlen;
	freeaddrinfo(a);
	return 0;
}

/* "::" takes IPv4 clients too, unless one family is asked for. */
static int listen_at(const struct endpoint *at, bool only, const char *where, struct err *e)
{
	_cleanup_(close_fdp) int fd =
		socket(at->at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1, only_6 = only;

	if (fd < 0)
		return err_sys(e, "socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (at->at.any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_6, sizeof(only_6));
	if (bind(fd, &at->at.any, at->len) < 0 || listen(fd, SOMAXCONN) < 0) {
		err_sys(e, "listen on %s, port %u", where, endpoint_port(at));
		return e->code == -EADDRINUSE
			       ? err_wrap(e, "another server has the port; choose one with -p")
			       : e->code;
	}
	return take_fd(fd);
}

int endpoint_listen(const char *bind, int family, uint16_t port, struct err *e)
{
	const char *where = bind ? bind : "all addresses";
	struct endpoint at = {};
	int fd, r;

	r = parse_numeric(bind ? bind : family == AF_INET ? "0.0.0.0" : "::", family, true, &at, e);
	if (r < 0)
		return r;
	endpoint_set_port(&at, port);
	fd = listen_at(&at, family == AF_INET6, where, e);
	if (bind || family != AF_UNSPEC || (fd != -EAFNOSUPPORT && fd != -EADDRNOTAVAIL))
		return fd;
	/* a kernel without IPv6 */
	r = parse_numeric("0.0.0.0", AF_INET, true, &at, e);
	endpoint_set_port(&at, port);
	return r < 0 ? r : listen_at(&at, true, where, e);
}

int endpoint_listen_at(const struct endpoint *at, struct err *e)
{
	char name[ENDPOINT_NAME_SIZE];

	endpoint_name(at, name);
	return listen_at(at, true, name, e);
}

static int bind_netdev(int fd, const char *netdev, struct err *e)
{
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, netdev, (socklen_t)strlen(netdev)) < 0)
		return err_sys(e, "netdev %s", netdev);
	return 0;
}

/* "ADDRESS%NETDEV" without the netdev, unless it is the scope of a link-local address. */
static int parse_local(const char *address, int family, struct endpoint *ret, struct err *e)
{
	char text[INET6_ADDRSTRLEN + IF_NAMESIZE + 2] = "";
	size_t len = strcspn(address, "%");

	if (strncasecmp(address, "fe80:", 5) == 0)
		len = strlen(address);
	if (len >= sizeof(text))
		return err_set(e, -EINVAL, "address \"%s\" is too long", address);
	memcpy(text, address, len);
	return parse_numeric(text, family, false, ret, e);
}

int endpoint_parse_local(const char *address, int family, struct endpoint *ret, struct err *e)
{
	memset(ret, 0, sizeof(*ret));
	return !address || *address == '%' ? 0 : parse_local(address, family, ret, e);
}

int endpoint_bind(int fd, int family, const char *address, uint16_t port, struct err *e)
{
	const char *netdev = address ? strchr(address, '%') : NULL;
	struct endpoint at = {};
	int type = 0, one = 1, r = 0;
	socklen_t len = sizeof(type);

	if (netdev)
		r = bind_netdev(fd, netdev + 1, e);
	if (r >= 0)
		r = endpoint_parse_local(address, family, &at, e);
	if (r < 0 || (at.len == 0 && port == 0))
		return r;
	if (at.len == 0) {
		at.at.any.sa_family = (sa_family_t)family;
		at.len = family == AF_INET6 ? sizeof(at.at.v6) : sizeof(at.at.v4);
	}
	/* with UDP it would let two sockets have one port, of which one hears nothing */
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	endpoint_set_port(&at, port);
	if (bind(fd, &at.at.any, at.len) < 0)
		return err_sys(e, "local address %s, port %u", address ? address : "any", port);
	return 0;
}

static int option(int fd, int name)
{
	int v = 0;
	socklen_t len = sizeof(v);

	return getsockopt(fd, SOL_SOCKET, name, &v, &len) < 0 ? -1 : v;
}

/* The kernel cuts a buffer to its bound without a word; what it says it has is twice what is. */
static int check_buffer(int fd, int name, int window, struct err *e)
{
	const bool send = name == SO_SNDBUF;
	int got = option(fd, name);

	if (got >= window)
		return 0;
	return err_set(e, -ENOBUFS,
		       "window of %d bytes (-w): the kernel gives the %s buffer %d; raise "
		       "net.core.%s or ask for less",
		       window, send ? "send" : "receive", got, send ? "wmem_max" : "rmem_max");
}

/*
 * What a TCP socket may hold, now that it may have been connected for long: the kernel grows the
 * window it offers by itself no more once its buffer is fixed.
 */
static int set_window(int fd, int type, int window, struct err *e)
{
	int r;

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &window, sizeof(window)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window)) < 0)
		return err_sys(e, "window of %d bytes", window);
	if (type == SOCK_STREAM)
		setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &window, sizeof(window));
	r = check_buffer(fd, SO_SNDBUF, window, e);
	return r < 0 ? r : check_buffer(fd, SO_RCVBUF, window, e);
}

static int set_tcp(int fd, const struct wire_params *p, struct err *e)
{
	int one = 1, mss = (int)p->mss_bytes;

	if (p->nodelay && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0)
		return err_sys(e, "TCP_NODELAY");
	if (mss && setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss)) < 0)
		return err_sys(e, "segment size of %d bytes", mss);
	if (*p->congestion && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, p->congestion,
					 (socklen_t)strlen(p->congestion)) < 0)
		return err_sys(e,
			       "congestion control \"%s\" (see "
			       "/proc/sys/net/ipv4/tcp_available_congestion_control)",
			       p->congestion);
	return 0;
}

/* An IPv6 socket may carry IPv4. */
static int set_ip(int fd, int domain, const struct wire_params *p, struct err *e)
{
	int tos = (int)p->tos, df = IP_PMTUDISC_DO, df_6 = IPV6_PMTUDISC_DO, r = 0;

	if (tos)
		r = setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
	if (tos && domain == AF_INET6)
		r = setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos));
	if (r < 0)
		return err_sys(e, "type of service %d", tos);
	if (p->dont_fragment && p->udp)
		r = domain == AF_INET6
			    ? setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &df_6, sizeof(df_6))
			    : setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &df, sizeof(df));
	return r < 0 ? err_sys(e, "forbid fragments") : 0;
}

int endpoint_options(int fd, const struct wire_params *p, struct err *e)
{
	int type = option(fd, SO_TYPE), r = 0;

	if (p->window_bytes)
		r = set_window(fd, type, (int)p->window_bytes, e);
	if (r >= 0 && type == SOCK_STREAM)
		r = set_tcp(fd, p, e);
	return r < 0 ? r : set_ip(fd, option(fd, SO_DOMAIN), p, e);
}

int endpoint_flowlabel(int fd, struct endpoint *to, unsigned int label, struct err *e)
{
	struct in6_flowlabel_req req = { .flr_label = htonl(label),
					 .flr_action = IPV6_FL_A_GET,
					 .flr_share = IPV6_FL_S_ANY,
					 .flr_flags = IPV6_FL_F_CREATE };
	int one = 1;

	if (label == 0)
		return 0;
	if (to->at.any.sa_family != AF_INET6)
		return err_set(e, -EINVAL, "a flow label (-L) needs IPv6");
	memcpy(&req.flr_dst, &to->at.v6.sin6_addr, sizeof(req.flr_dst));
	if (setsockopt(fd, IPPROTO_IPV6, IPV6_FLOWLABEL_MGR, &req, sizeof(req)) < 0 ||
	    setsockopt(fd, IPPROTO_IPV6, IPV6_FLOWINFO_SEND, &one, sizeof(one)) < 0)
		return err_sys(e, "flow label %u", label);
	to->at.v6.sin6_flowinfo = htonl(label);
	return 0;
}
