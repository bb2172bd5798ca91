// SPDX-License-Identifier: GPL-3.0-or-later

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <netdb.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "cmd.h"
#include "load/client.h"
#include "load/server.h"
#include "load/wire.h"

#define FIRST_BYTES_NS (10 * NS_PER_S)
#define MAX_INTERVALS 1000000U

struct args {
	bool server, help;
	const char *host;
	uint64_t port, streams, time_s, rate_bps, window_bytes, length_bytes;
	double interval_s;
	bool reverse, one_off, json, nodelay;
	const char *congestion;
	const char *bind;
	char client_only, server_only; /* the last such option that was given; 0: none */
};

/* What the text and JSON of one test remember from one interval to the next. */
struct view {
	const struct args *args;
	bool json;
	bool sender;
	unsigned int nr;
	uint64_t start_ns;
	struct flow_count last[WIRE_STREAMS_MAX];
	struct json_object *root, *intervals;
};

static atomic_bool interrupted;
static struct server *running_server; /* for the signal handler */

static void on_signal(int signo)
{
	(void)signo;
	atomic_store(&interrupted, true);
	if (running_server)
		server_wake(running_server);
}

static void print_usage(FILE *f)
{
	fputs("Usage: irqlab traffic -c HOST [options]    be the client of a test\n"
	      "       irqlab traffic -s [options]         be the server\n"
	      "Speaks iperf3's protocol: either end may be a stock iperf3.\n\n"
	      "  -p, --port N          port of the server (5201)\n"
	      "  -i, --interval S      seconds between lines (1; 0 for none)\n"
	      "  -J, --json            one JSON document instead of lines\n"
	      "client:\n"
	      "  -t, --time S          seconds to run (10)\n"
	      "  -P, --parallel N      streams (1)\n"
	      "  -R, --reverse         the server sends\n"
	      "  -b, --bitrate RATE    of each stream, such as 950M (0: flat out)\n"
	      "  -w, --window SIZE     socket buffers, such as 1M\n"
	      "  -l, --length SIZE     bytes of one write (128K)\n"
	      "  -C, --congestion NAME congestion control\n"
	      "  -N, --no-delay        send small segments at once\n"
	      "server:\n"
	      "  -B, --bind ADDRESS    listen there only\n"
	      "  -1, --one-off         end after one test\n",
	      f);
}

static int refuse(int r, const char *option, const char *text, const char *form, struct err *e)
{
	return err_set(e, r, "%s \"%s\": expected %s", option, text, form);
}

static int parse_count(const char *option, const char *text, uint64_t max, uint64_t *ret,
		       struct err *e)
{
	uint64_t v = 0;

	if (text_u64(text, &v) < 0 || v < 1 || v > max)
		return err_set(e, -EINVAL, "%s \"%s\": expected a number from 1 to %llu", option,
			       text, (unsigned long long)max);
	*ret = v;
	return 0;
}

static int parse_size(const char *option, const char *text, uint64_t max, uint64_t *ret,
		      struct err *e)
{
	uint64_t v = 0;

	if (text_bytes(text, &v) < 0 || v < 1 || v > max)
		return err_set(e, -EINVAL,
			       "%s \"%s\": expected a size such as 128K, %llu bytes at most",
			       option, text, (unsigned long long)max);
	*ret = v;
	return 0;
}

static int parse_interval(const char *text, double *ret, struct err *e)
{
	double v = 0;

	if (text_double(text, &v) < 0 || !(v == 0 || (v >= 0.1 && v <= 3600)))
		return refuse(-EINVAL, "-i", text, "0 or 0.1 to 3600 seconds", e);
	*ret = v;
	return 0;
}

static int take_option(int c, struct args *a, struct err *e)
{
	switch (c) {
	case 's':
		a->server = true;
		return 0;
	case 'c':
		a->host = optarg;
		return 0;
	case 'p':
		return parse_count("-p", optarg, 65535, &a->port, e);
	case 't':
		return parse_count("-t", optarg, WIRE_TIME_MAX_S, &a->time_s, e);
	case 'P':
		return parse_count("-P", optarg, WIRE_STREAMS_MAX, &a->streams, e);
	case 'b':
		return text_bps(optarg, &a->rate_bps) < 0
			       ? refuse(-EINVAL, "-b", optarg, "a bit rate such as 950M", e)
			       : 0;
	case 'w':
		return parse_size("-w", optarg, WIRE_WINDOW_MAX, &a->window_bytes, e);
	case 'l':
		return parse_size("-l", optarg, WIRE_LENGTH_MAX, &a->length_bytes, e);
	case 'i':
		return parse_interval(optarg, &a->interval_s, e);
	case 'C':
		a->congestion = optarg;
		return strlen(optarg) > 15
			       ? refuse(-EINVAL, "-C", optarg, "a name such as cubic", e)
			       : 0;
	case 'B':
		a->bind = optarg;
		return 0;
	default:
		return -ENOENT;
	}
}

static bool take_flag(int c, struct args *a)
{
	switch (c) {
	case 'R':
		a->reverse = true;
		return true;
	case '1':
		a->one_off = true;
		return true;
	case 'J':
		a->json = true;
		return true;
	case 'N':
		a->nodelay = true;
		return true;
	case 'h':
		a->help = true;
		return true;
	default:
		return false;
	}
}

static const struct option longs[] = {
	{ "server", no_argument, NULL, 's' },
	{ "client", required_argument, NULL, 'c' },
	{ "port", required_argument, NULL, 'p' },
	{ "time", required_argument, NULL, 't' },
	{ "parallel", required_argument, NULL, 'P' },
	{ "reverse", no_argument, NULL, 'R' },
	{ "bitrate", required_argument, NULL, 'b' },
	{ "window", required_argument, NULL, 'w' },
	{ "length", required_argument, NULL, 'l' },
	{ "interval", required_argument, NULL, 'i' },
	{ "one-off", no_argument, NULL, '1' },
	{ "json", no_argument, NULL, 'J' },
	{ "congestion", required_argument, NULL, 'C' },
	{ "no-delay", no_argument, NULL, 'N' },
	{ "bind", required_argument, NULL, 'B' },
	{ "help", no_argument, NULL, 'h' },
	{},
};

/* Of an option that getopt_long() refused as @c. */
static int refuse_option(int c, const char *arg, struct err *e)
{
	const char *words[ARRAY_SIZE(longs)] = {};
	const char *near;
	char name[32];

	if (c == ':')
		return err_set(e, -EINVAL, "option \"%s\" needs a value", arg);
	for (size_t i = 0; longs[i].name; i++) {
		words[i] = longs[i].name;
		if (optopt && optopt == longs[i].val)
			return err_set(e, -EINVAL, "option --%s takes no value", longs[i].name);
	}
	if (optopt)
		return err_set(e, -EINVAL, "no option \"-%c\"", optopt);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(arg, "="), arg);
	near = strncmp(name, "--", 2) == 0 ? text_nearest(name + 2, words) : NULL;
	if (near)
		return err_set(e, -EINVAL, "no option \"%s\", the nearest is --%s", name, near);
	return err_set(e, -EINVAL, "no option \"%s\"", name);
}

static int take_all(int argc, char **argv, struct args *a, struct err *e)
{
	static const char shorts[] = ":sc:p:t:P:Rb:w:l:i:1JC:NB:h";
	int c, r = 0;

	opterr = 0;
	optind = 1;
	while (r >= 0) {
		/* no other thread yet: NOLINTNEXTLINE(concurrency-mt-unsafe) */
		c = getopt_long(argc, argv, shorts, longs, NULL);
		if (c == -1)
			break;
		if (c == '?' || c == ':')
			return refuse_option(c, argv[optind - 1], e);
		if (strchr("tPRbwlCN", c))
			a->client_only = (char)c;
		else if (strchr("B1", c))
			a->server_only = (char)c;
		if (!take_flag(c, a))
			r = take_option(c, a, e);
	}
	return r;
}

/* Whether what was given goes together. */
static int check_args(const struct args *a, const char *extra, struct err *e)
{
	if (extra)
		return err_set(e, -EINVAL, "unexpected \"%s\"", extra);
	if (a->server == (a->host != NULL))
		return err_set(e, -EINVAL, "expected either -s (server) or -c HOST (client)");
	if (a->server && a->client_only)
		return err_set(e, -EINVAL,
			       "-%c is the client's: the server takes what the client asks for",
			       a->client_only);
	if (!a->server && a->server_only)
		return err_set(e, -EINVAL, "-%c is the server's: it goes with -s", a->server_only);
	return 0;
}

/* EXIT_DONE, or EXIT_USAGE with the reason and where to look in @e. */
static int parse_args(int argc, char **argv, struct args *a, struct err *e)
{
	char why[sizeof(e->msg)];
	int r = take_all(argc, argv, a, e);

	if (r >= 0 && !a->help)
		r = check_args(a, optind < argc ? argv[optind] : NULL, e);
	if (r >= 0)
		return EXIT_DONE;
	snprintf(why, sizeof(why), "%s", e->msg);
	err_set(e, r, "traffic: %.900s; see: irqlab traffic --help", why);
	return EXIT_USAGE;
}

/* As iperf3 prints them: three digits; bytes with binary, bits with decimal prefixes. */
static const char *human(char ret[32], double v, double step, const char *unit)
{
	static const char *const prefixes[] = { "", "K", "M", "G", "T" };
	size_t i = 0;

	while (v >= step && i < ARRAY_SIZE(prefixes) - 1) {
		v /= step;
		i++;
	}
	if (v < 9.995)
		snprintf(ret, 32, "%4.2f %s%s", v, prefixes[i], unit);
	else if (v < 99.95)
		snprintf(ret, 32, "%4.1f %s%s", v, prefixes[i], unit);
	else
		snprintf(ret, 32, "%4.0f %s%s", v, prefixes[i], unit);
	return ret;
}

/* One row of a table: a stream ("  5") or the sum ("SUM"). */
struct row {
	const char *id;
	double start_s, end_s;
	uint64_t bytes;
	int64_t retransmits; /* WIRE_UNKNOWN: no column */
	uint64_t cwnd_bytes;
	const char *role; /* of a summary; NULL in an interval */
};

static double row_bps(const struct row *r)
{
	return r->end_s > r->start_s ? (double)r->bytes * 8 / (r->end_s - r->start_s) : 0;
}

static void print_row(const struct row *r)
{
	char bytes[32], rate[32], cwnd[32], retr[32] = "";

	if (r->retransmits != WIRE_UNKNOWN)
		snprintf(retr, sizeof(retr), "  %3lld", (long long)r->retransmits);
	printf("[%3s] %6.2f-%-6.2f sec  %s  %s/sec", r->id, r->start_s, r->end_s,
	       human(bytes, (double)r->bytes, 1024, "Bytes"),
	       human(rate, row_bps(r), 1000, "bits"));
	if (r->role)
		printf("%-5s            %s\n", retr, r->role);
	else if (r->retransmits != WIRE_UNKNOWN && r->cwnd_bytes)
		printf("%s   %s       \n", retr, human(cwnd, (double)r->cwnd_bytes, 1024, "Bytes"));
	else
		printf("%s\n", retr);
}

static void print_rule(void)
{
	puts("- - - - - - - - - - - - - - - - - - - - - - - - -");
}

static struct json_object *row_json(const struct row *r, bool sender)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "start", json_object_new_double(r->start_s));
	json_object_object_add(o, "end", json_object_new_double(r->end_s));
	json_object_object_add(o, "seconds", json_object_new_double(r->end_s - r->start_s));
	json_object_object_add(o, "bytes", json_object_new_uint64(r->bytes));
	json_object_object_add(o, "bits_per_second", json_object_new_double(row_bps(r)));
	if (r->retransmits != WIRE_UNKNOWN)
		json_object_object_add(o, "retransmits", json_object_new_int64(r->retransmits));
	if (r->cwnd_bytes)
		json_object_object_add(o, "snd_cwnd", json_object_new_uint64(r->cwnd_bytes));
	json_object_object_add(o, "sender", json_object_new_boolean(sender));
	return o;
}

static void add_row(struct view *v, struct json_object *streams, const struct row *r, int socket)
{
	struct json_object *o;

	if (!v->json) {
		print_row(r);
		return;
	}
	o = row_json(r, v->sender);
	json_object_object_add(o, "socket", json_object_new_int(socket));
	json_object_array_add(streams, o);
}

/* Two texts of an address and its port. */
static void name_of(const struct sockaddr_storage *a, socklen_t len, char host[64], uint16_t *port)
{
	char service[8] = "0";

	if (getnameinfo((const struct sockaddr *)a, len, host, 64, service, sizeof(service),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		snprintf(host, 64, "?");
	*port = ntohs(a->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)a)->sin6_port
					       : ((const struct sockaddr_in *)a)->sin_port);
}

static void show_connection(struct view *v, struct json_object *connected, int fd)
{
	struct sockaddr_storage at = {};
	socklen_t len = sizeof(at);
	char local[64] = "?", remote[64] = "?";
	uint16_t local_port = 0, remote_port = 0;
	struct json_object *o;

	if (getsockname(fd, (struct sockaddr *)&at, &len) == 0)
		name_of(&at, len, local, &local_port);
	len = sizeof(at);
	if (getpeername(fd, (struct sockaddr *)&at, &len) == 0)
		name_of(&at, len, remote, &remote_port);
	if (!v->json) {
		printf("[%3d] local %s port %u connected to %s port %u\n", fd, local, local_port,
		       remote, remote_port);
		return;
	}
	o = json_object_new_object();
	json_object_object_add(o, "socket", json_object_new_int(fd));
	json_object_object_add(o, "local_host", json_object_new_string(local));
	json_object_object_add(o, "local_port", json_object_new_int(local_port));
	json_object_object_add(o, "remote_host", json_object_new_string(remote));
	json_object_object_add(o, "remote_port", json_object_new_int(remote_port));
	json_object_array_add(connected, o);
}

static struct json_object *test_start_json(const struct view *v, const struct wire_params *p)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "protocol", json_object_new_string("TCP"));
	json_object_object_add(o, "num_streams", json_object_new_int((int)p->streams));
	json_object_object_add(o, "blksize", json_object_new_uint64(p->length_bytes));
	json_object_object_add(o, "omit", json_object_new_int((int)p->omit_s));
	json_object_object_add(o, "duration", json_object_new_int((int)p->time_s));
	json_object_object_add(o, "bytes", json_object_new_uint64(p->bytes));
	json_object_object_add(o, "blocks", json_object_new_uint64(p->blocks));
	json_object_object_add(o, "reverse", json_object_new_int(p->reverse));
	json_object_object_add(o, "target_bitrate", json_object_new_uint64(p->rate_bps));
	json_object_object_add(o, "interval", json_object_new_double(v->args->interval_s));
	return o;
}

static struct json_object *timestamp_json(void)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "timesecs",
			       json_object_new_int64((int64_t)(clock_wall_ns() / NS_PER_S)));
	return o;
}

/* The head of a test: connections, and the table's header. */
static void view_begin(struct view *v, const struct flow *f, const struct wire_params *p)
{
	struct json_object *start = NULL, *connected = NULL;

	v->sender = f->cfg.sender;
	v->nr = f->have;
	v->start_ns = f->start_ns;
	memset(v->last, 0, sizeof(v->last));
	if (v->json) {
		v->root = json_object_new_object();
		start = json_object_new_object();
		connected = json_object_new_array();
		v->intervals = json_object_new_array();
		json_object_object_add(start, "connected", connected);
		json_object_object_add(start, "version",
				       json_object_new_string("irqlab " IRQLAB_VERSION));
		json_object_object_add(start, "timestamp", timestamp_json());
		json_object_object_add(start, "test_start", test_start_json(v, p));
		json_object_object_add(v->root, "start", start);
		json_object_object_add(v->root, "intervals", v->intervals);
	}
	for (unsigned int i = 0; i < v->nr; i++) {
		show_connection(v, connected, flow_fd(f, i));
		v->last[i].t_ns = v->start_ns;
	}
	if (!v->json)
		printf("[ ID] Interval           Transfer     Bitrate%s\n",
		       v->sender ? "         Retr  Cwnd" : "");
	fflush(stdout);
}

/* One interval: a row for each stream, their sum when there are several. */
static void view_interval(struct view *v, const struct flow *f)
{
	struct json_object *streams = v->json ? json_object_new_array() : NULL;
	struct json_object *o;
	struct row sum = { .id = "SUM", .retransmits = v->sender ? 0 : WIRE_UNKNOWN };

	for (unsigned int i = 0; i < v->nr; i++) {
		struct flow_count now, *last = &v->last[i];
		char id[12];
		struct row r = { .id = id, .retransmits = WIRE_UNKNOWN };

		flow_read_stream(f, i, &now);
		snprintf(id, sizeof(id), "%3d", flow_fd(f, i));
		r.start_s = (double)(last->t_ns - v->start_ns) / 1e9;
		r.end_s = (double)(now.t_ns - v->start_ns) / 1e9;
		r.bytes = now.bytes - last->bytes;
		r.cwnd_bytes = now.cwnd_bytes;
		if (v->sender)
			r.retransmits = (int64_t)(now.retransmits - last->retransmits);
		add_row(v, streams, &r, flow_fd(f, i));
		sum.start_s = r.start_s;
		sum.end_s = r.end_s;
		sum.bytes += r.bytes;
		sum.retransmits += v->sender ? r.retransmits : 0;
		*last = now;
	}
	if (v->json) {
		o = json_object_new_object();
		json_object_object_add(o, "streams", streams);
		json_object_object_add(o, "sum", row_json(&sum, v->sender));
		json_object_array_add(v->intervals, o);
	} else if (v->nr > 1) {
		print_row(&sum);
		print_rule();
	}
	fflush(stdout);
}

static struct row result_row(const struct wire_results *res, unsigned int i, const char *role)
{
	const struct wire_stream *s = &res->streams[i];

	return (struct row){ .end_s = s->end_s - s->start_s,
			     .bytes = s->bytes,
			     .retransmits = s->retransmits,
			     .role = role };
}

static struct row sum_rows(const struct wire_results *res, const char *role)
{
	struct row sum = { .id = "SUM", .role = role };

	for (unsigned int i = 0; i < res->nr; i++) {
		struct row r = result_row(res, i, role);

		sum.end_s = r.end_s > sum.end_s ? r.end_s : sum.end_s;
		sum.bytes += r.bytes;
		/* a sum without one of them would be no sum */
		if (r.retransmits == WIRE_UNKNOWN || sum.retransmits == WIRE_UNKNOWN)
			sum.retransmits = WIRE_UNKNOWN;
		else
			sum.retransmits += r.retransmits;
	}
	return sum;
}

static void print_summary(const struct view *v, const struct flow *f,
			  const struct wire_results *sent, const struct wire_results *received)
{
	const struct wire_results *both[] = { sent, received };
	static const char *const roles[] = { "sender", "receiver" };

	print_rule();
	puts("[ ID] Interval           Transfer     Bitrate         Retr");
	for (unsigned int i = 0; i <= v->nr; i++) {
		char id[12] = "SUM";

		if (i == v->nr && v->nr == 1)
			break;
		for (unsigned int k = 0; k < 2; k++) {
			struct row r;

			if (!both[k])
				continue;
			r = i < v->nr ? result_row(both[k], i, roles[k])
				      : sum_rows(both[k], roles[k]);
			if (i < v->nr)
				snprintf(id, sizeof(id), "%3d", flow_fd(f, i));
			r.id = id;
			print_row(&r);
		}
	}
	putchar('\n');
}

static struct json_object *cpu_json(const struct wire_results *mine,
				    const struct wire_results *theirs)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "host_total", json_object_new_double(mine->cpu_total));
	json_object_object_add(o, "host_user", json_object_new_double(mine->cpu_user));
	json_object_object_add(o, "host_system", json_object_new_double(mine->cpu_system));
	if (theirs) {
		json_object_object_add(o, "remote_total",
				       json_object_new_double(theirs->cpu_total));
		json_object_object_add(o, "remote_user", json_object_new_double(theirs->cpu_user));
		json_object_object_add(o, "remote_system",
				       json_object_new_double(theirs->cpu_system));
	}
	return o;
}

static void view_end(struct view *v, const struct flow *f, const struct wire_results *mine,
		     const struct wire_results *theirs)
{
	const struct wire_results *sent = v->sender ? mine : theirs;
	const struct wire_results *received = v->sender ? theirs : mine;
	struct json_object *end, *streams;
	struct row r;

	assert(mine);
	if (!v->json) {
		print_summary(v, f, sent, received);
		fflush(stdout);
		return;
	}
	end = json_object_new_object();
	streams = json_object_new_array();
	for (unsigned int i = 0; i < v->nr; i++) {
		struct json_object *o = json_object_new_object();

		if (sent) {
			r = result_row(sent, i, "sender");
			json_object_object_add(o, "sender", row_json(&r, v->sender));
		}
		if (received) {
			r = result_row(received, i, "receiver");
			json_object_object_add(o, "receiver", row_json(&r, v->sender));
		}
		json_object_array_add(streams, o);
	}
	json_object_object_add(end, "streams", streams);
	if (sent) {
		r = sum_rows(sent, "sender");
		json_object_object_add(end, "sum_sent", row_json(&r, v->sender));
	}
	if (received) {
		r = sum_rows(received, "receiver");
		json_object_object_add(end, "sum_received", row_json(&r, v->sender));
	}
	json_object_object_add(end, "cpu_utilization_percent", cpu_json(mine, theirs));
	json_object_object_add(v->root, "end", end);
}

static void view_flush(struct view *v, const char *error)
{
	if (!v->json)
		return;
	if (!v->root)
		v->root = json_object_new_object();
	if (error)
		json_object_object_add(v->root, "error", json_object_new_string(error));
	puts(json_object_to_json_string_ext(v->root, JSON_C_TO_STRING_PRETTY));
	fflush(stdout);
	json_object_put(v->root);
	v->root = NULL;
}

/* Until the time is over, a line every interval; 0 or the reason why the test broke. */
static int watch_client(struct client *c, struct view *v, const struct args *a, struct err *e)
{
	uint64_t interval = (uint64_t)(a->interval_s * 1e9);
	uint64_t end = v->start_ns + a->time_s * NS_PER_S;
	uint64_t tick = interval ? v->start_ns + interval : UINT64_MAX;
	bool shown = false;

	while (!atomic_load(&interrupted)) {
		uint64_t now = clock_mono_ns(), next = now + 100 * NS_PER_MS;
		struct timespec until;
		int r = client_check(c, e);

		if (r < 0)
			return r;
		if (now >= tick) {
			view_interval(v, client_flow(c, a->reverse ? CLIENT_RX : CLIENT_TX));
			tick += interval;
			shown = now >= end;
		}
		if (now >= end)
			break;
		next = end < next ? end : next;
		until = clock_timespec(tick < next ? tick : next);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
	if (interval && !shown)
		view_interval(v, client_flow(c, a->reverse ? CLIENT_RX : CLIENT_TX));
	return 0;
}

static int run_test(struct client *c, struct view *v, const struct args *a, struct err *e)
{
	int r = client_start(c, e);

	if (r < 0)
		return r;
	view_begin(v, client_flow(c, a->reverse ? CLIENT_RX : CLIENT_TX), client_params(c));
	r = client_wait_bytes(c, FIRST_BYTES_NS, e);
	if (r >= 0)
		r = watch_client(c, v, a, e);
	if (r >= 0)
		r = client_stop(c, e);
	if (r >= 0)
		view_end(v, client_flow(c, a->reverse ? CLIENT_RX : CLIENT_TX), client_mine(c),
			 client_theirs(c));
	return r;
}

static int run_client(const struct args *a, struct err *e)
{
	_cleanup_(client_closep) struct client *c = NULL;
	_cleanup_(free_charp) char *owner = NULL;
	struct view *v = calloc(1, sizeof(*v));
	struct client_cfg cfg = { .host = a->host,
				  .port = (uint16_t)a->port,
				  .params = { .streams = (unsigned int)a->streams,
					      .reverse = a->reverse,
					      .nodelay = a->nodelay,
					      .rate_bps = a->rate_bps,
					      .time_s = (unsigned int)a->time_s,
					      .length_bytes = a->length_bytes,
					      .window_bytes = (unsigned int)a->window_bytes,
					      .server_cpu = -1 },
				  .cpu = -1,
				  .seed = clock_wall_ns(),
				  .interrupted = &interrupted };
	int r;

	owner = (char *)v;
	if (!v)
		return err_nomem(e, "traffic");
	if (a->congestion)
		snprintf(cfg.params.congestion, sizeof(cfg.params.congestion), "%s", a->congestion);
	v->args = a;
	v->json = a->json;
	if (!a->json)
		printf("Connecting to host %s, port %llu\n", a->host, (unsigned long long)a->port);
	fflush(stdout);
	r = client_open(&c, &cfg, e);
	if (r >= 0)
		r = run_test(c, v, a, e);
	view_flush(v, r < 0 ? e->msg : NULL);
	if (r >= 0 && !a->json)
		puts("irqlab traffic: done.");
	return r < 0 ? r : 0;
}

static void on_said(void *ctx, const char *line)
{
	const struct view *v = ctx;

	if (v->json)
		fprintf(stderr, "irqlab traffic: %s\n", line);
	else
		printf("%s\n", line);
	fflush(stdout);
}

static const struct flow *only_flow(const struct server_test *test)
{
	return test->rx ? test->rx : test->tx;
}

static void on_began(void *ctx, struct server_test *test)
{
	struct view *v = ctx;

	if (!v->json)
		printf("Accepted a test of %s\n", test->client);
	view_begin(v, only_flow(test), test->params);
}

static void on_tick(void *ctx, struct server_test *test)
{
	view_interval(ctx, only_flow(test));
}

static void on_ended(void *ctx, struct server_test *test)
{
	struct view *v = ctx;

	view_end(v, only_flow(test), test->mine, test->theirs);
	view_flush(v, test->theirs ? NULL : "the client ended the test early");
}

static int run_server(const struct args *a, struct err *e)
{
	_cleanup_(server_closep) struct server *s = NULL;
	_cleanup_(free_charp) char *owner = NULL;
	struct view *v = calloc(1, sizeof(*v));
	struct server_cfg cfg = { .bind = a->bind,
				  .port = (uint16_t)a->port,
				  .listen_fd = -1,
				  .cpu = -1,
				  .one_off = a->one_off,
				  .interval_ns = (uint64_t)(a->interval_s * 1e9),
				  .watch = { .ctx = v,
					     .said = on_said,
					     .began = on_began,
					     .tick = on_tick,
					     .ended = on_ended } };
	int r;

	owner = (char *)v;
	if (!v)
		return err_nomem(e, "traffic");
	v->args = a;
	v->json = a->json;
	r = server_open(&s, &cfg, e);
	if (r < 0)
		return r;
	if (!a->json)
		printf("Server listening on %u\n", server_port(s));
	fflush(stdout);
	running_server = s;
	r = server_run(s, e);
	running_server = NULL;
	return r < 0 ? r : 0;
}

static int traffic(int argc, char **argv, struct err *e)
{
	struct args a = {
		.port = 5201, .streams = 1, .time_s = 10, .length_bytes = 128 << 10, .interval_s = 1
	};
	struct sigaction act = { .sa_handler = on_signal }, old_int, old_term;
	int r = parse_args(argc, argv, &a, e);

	if (r != 0)
		return r;
	if (a.help) {
		print_usage(stdout);
		return 0;
	}
	atomic_store(&interrupted, false);
	sigaction(SIGINT, &act, &old_int);
	sigaction(SIGTERM, &act, &old_term);
	r = a.server ? run_server(&a, e) : run_client(&a, e);
	sigaction(SIGINT, &old_int, NULL);
	sigaction(SIGTERM, &old_term, NULL);
	return r;
}

const struct command cmd_traffic = {
	.name = "traffic",
	.help = "the traffic engine alone, with iperf3's options and output",
	.args = "-s | -c HOST",
	.raw = traffic,
	.example = "irqlab traffic -c 192.0.2.1 -t 10 -R",
};
