// SPDX-License-Identifier: GPL-3.0-or-later
#include "traffic/args.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/text.h"
#include "traffic/args_check.h"

#define FIRST_VALUE 256 /* getopt's values: FIRST_VALUE + row */
#define SWEEP_STEP 10	/* [percent] */
#define TIMEOUT_MAX_MS 86400000

enum who {
	BOTH,
	CLIENT,
	SERVER,
};

struct row;
typedef int parse_fn(const struct row *row, const char *text, struct traffic_args *a,
		     struct err *e);

/*
 * An option.  @value is how its value is called in the help: NULL for a flag, "[=X]" when it may be
 * left out.  Without @help it is another name of the row above it.
 */
struct row {
	const char *name;
	char letter;
	enum who who;
	const char *value;
	parse_fn *parse;
	size_t offset;
	uint64_t min, max;
	const char *help;
};

static int refuse(const struct row *row, const char *text, const char *form, struct err *e)
{
	if (row->letter)
		return err_set(e, -EINVAL, "-%c \"%s\": expected %s", row->letter, text, form);
	return err_set(e, -EINVAL, "--%s \"%s\": expected %s", row->name, text, form);
}

static void *target(const struct row *row, struct traffic_args *a)
{
	return (char *)a + row->offset;
}

static int set_flag(const struct row *row, const char *text, struct traffic_args *a, struct err *e)
{
	*(bool *)target(row, a) = true;
	return 0;
}

static int set_text(const struct row *row, const char *text, struct traffic_args *a, struct err *e)
{
	*(const char **)target(row, a) = text;
	return 0;
}

/* Into char[row->max + 1]. */
static int set_chars(const struct row *row, const char *text, struct traffic_args *a, struct err *e)
{
	char form[64];

	if (strlen(text) > row->max) {
		snprintf(form, sizeof(form), "%llu characters at most",
			 (unsigned long long)row->max);
		return refuse(row, text, form, e);
	}
	memcpy(target(row, a), text, strlen(text) + 1);
	return 0;
}

static int parse_count(const struct row *row, const char *text, uint64_t *ret, struct err *e)
{
	char form[80];

	if (text_u64(text, ret) >= 0 && *ret >= row->min && *ret <= row->max)
		return 0;
	snprintf(form, sizeof(form), "a number from %llu to %llu", (unsigned long long)row->min,
		 (unsigned long long)row->max);
	return refuse(row, text, form, e);
}

static int set_count(const struct row *row, const char *text, struct traffic_args *a, struct err *e)
{
	uint64_t v = 0;
	int r = parse_count(row, text, &v, e);

	if (r >= 0)
		*(uint64_t *)target(row, a) = v;
	return r;
}

static int set_uint(const struct row *row, const char *text, struct traffic_args *a, struct err *e)
{
	uint64_t v = 0;
	int r = parse_count(row, text, &v, e);

	if (r >= 0)
		*(unsigned int *)target(row, a) = (unsigned int)v;
	return r;
}

/* "128K": binary, as iperf3 counts bytes and blocks. */
static int parse_size(const struct row *row, const char *text, uint64_t *ret, struct err *e)
{
	char form[80];

	if (text_bytes(text, ret) >= 0 && *ret >= row->min && *ret <= row->max)
		return 0;
	snprintf(form, sizeof(form), "a size such as 128K, from %llu to %llu",
		 (unsigned long long)row->min, (unsigned long long)row->max);
	return refuse(row, text, form, e);
}

static int set_size(const struct row *row, const char *text, struct traffic_args *a, struct err *e)
{
	uint64_t v = 0;
	int r = parse_size(row, text, &v, e);

	if (r >= 0)
		*(uint64_t *)target(row, a) = v;
	return r;
}

static int set_uint_size(const struct row *row, const char *text, struct traffic_args *a,
			 struct err *e)
{
	uint64_t v = 0;
	int r = parse_size(row, text, &v, e);

	if (r >= 0)
		*(unsigned int *)target(row, a) = (unsigned int)v;
	return r;
}

/* "950M" or "950M/20": decimal, as iperf3 counts rates; after the slash blocks sent at once. */
static int set_rate(const struct row *row, const char *text, struct traffic_args *a, struct err *e)
{
	const char *slash = strchr(text, '/');
	char rate[32];
	uint64_t burst = 0;

	snprintf(rate, sizeof(rate), "%.*s", slash ? (int)(slash - text) : 31, text);
	if (text_bps(rate, &a->params.rate_bps) < 0)
		return refuse(row, text, "a bit rate such as 950M", e);
	if (slash && (text_u64(slash + 1, &burst) < 0 || burst < 1 || burst > WIRE_BURST_MAX))
		return refuse(row, text, "1 to 1000 blocks of a burst after the slash", e);
	a->params.burst = (unsigned int)burst;
	a->has_rate = true;
	return 0;
}

/* iperf3's may be followed by the seconds of its average; ours needs none. */
static int set_bps(const struct row *row, const char *text, struct traffic_args *a, struct err *e)
{
	char rate[32];

	snprintf(rate, sizeof(rate), "%.*s", (int)strcspn(text, "/"), text);
	return text_bps(rate, target(row, a)) < 0 ? refuse(row, text, "a bit rate such as 950M", e)
						  : 0;
}

/* ".5" is half a second, as iperf3 has it. */
static int set_interval(const struct row *row, const char *text, struct traffic_args *a,
			struct err *e)
{
	char whole[32];
	double v = 0;

	snprintf(whole, sizeof(whole), "%s%.30s", *text == '.' ? "0" : "", text);
	if (text_double(whole, &v) < 0 || !(v == 0 || (v >= 0.1 && v <= 3600)))
		return refuse(row, text, "0 or 0.1 to 3600 seconds", e);
	a->interval_s = v;
	return 0;
}

static int set_seconds(const struct row *row, const char *text, struct traffic_args *a,
		       struct err *e)
{
	char form[80];
	uint64_t v = 0;

	if (text_u64(text, &v) >= 0 && v >= row->min && v <= row->max) {
		*(unsigned int *)target(row, a) = (unsigned int)v;
		return 0;
	}
	snprintf(form, sizeof(form), "whole seconds from %llu to %llu",
		 (unsigned long long)row->min, (unsigned long long)row->max);
	return refuse(row, text, form, e);
}

static int set_time(const struct row *row, const char *text, struct traffic_args *a, struct err *e)
{
	a->has_time = true;
	return set_seconds(row, text, a, e);
}

static int set_format(const struct row *row, const char *text, struct traffic_args *a,
		      struct err *e)
{
	if (strlen(text) != 1 || !strchr("kmgtKMGT", *text))
		return refuse(row, text, "one of k m g t K M G T", e);
	a->format = *text;
	return 0;
}

/* A number in C's notation: 52, 064 and 0x34 are the same. */
static int parse_number(const struct row *row, const char *text, uint64_t max, unsigned int *ret,
			struct err *e)
{
	char form[96], *end = NULL;
	unsigned long v;

	errno = 0;
	v = strtoul(text, &end, 0);
	if (*text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && v >= row->min &&
	    v <= max) {
		*ret = (unsigned int)v;
		return 0;
	}
	snprintf(form, sizeof(form), "%llu to %llu (decimal, 0octal or 0xhex)",
		 (unsigned long long)row->min, (unsigned long long)max);
	return refuse(row, text, form, e);
}

static int set_number(const struct row *row, const char *text, struct traffic_args *a,
		      struct err *e)
{
	return parse_number(row, text, row->max, target(row, a), e);
}

/* RFC 2474, 2597, 3246, 5865; the last three are the old bits of the TOS byte. */
static int set_dscp(const struct row *row, const char *text, struct traffic_args *a, struct err *e)
{
	static const struct {
		const char *name;
		unsigned int tos;
	} names[] = {
		{ "af11", 0x28 }, { "af12", 0x30 },	   { "af13", 0x38 },
		{ "af21", 0x48 }, { "af22", 0x50 },	   { "af23", 0x58 },
		{ "af31", 0x68 }, { "af32", 0x70 },	   { "af33", 0x78 },
		{ "af41", 0x88 }, { "af42", 0x90 },	   { "af43", 0x98 },
		{ "cs0", 0x00 },  { "cs1", 0x20 },	   { "cs2", 0x40 },
		{ "cs3", 0x60 },  { "cs4", 0x80 },	   { "cs5", 0xa0 },
		{ "cs6", 0xc0 },  { "cs7", 0xe0 },	   { "ef", 0xb8 },
		{ "va", 0xb0 },	  { "lowdelay", 0x10 },	   { "throughput", 0x08 },
		{ "le", 0x04 },	  { "reliability", 0x04 },
	};
	unsigned int v = 0;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcasecmp(text, names[i].name) == 0) {
			a->params.tos = names[i].tos;
			return 0;
		}
	if (*text < '0' || *text > '9')
		return refuse(row, text, "0 to 63, or a name such as ef, cs1 or af41", e);
	r = parse_number(row, text, 63, &v, e);
	if (r >= 0)
		a->params.tos = v << 2;
	return r;
}

/* "1" or "1,3": here, and where the server shall run. */
static int set_affinity(const struct row *row, const char *text, struct traffic_args *a,
			struct err *e)
{
	const char *comma = strchr(text, ',');
	char first[16];
	uint64_t here = 0, there = 0;

	snprintf(first, sizeof(first), "%.*s", comma ? (int)(comma - text) : 15, text);
	if (text_u64(first, &here) < 0 || here >= CPUSET_MAX ||
	    (comma && (text_u64(comma + 1, &there) < 0 || there >= CPUSET_MAX)))
		return refuse(row, text, "a CPU, or two: here and at the server, such as 1,3", e);
	a->cpu = (int)here;
	a->params.server_cpu = comma ? (int)there : -1;
	return 0;
}

static int set_json_stream(const struct row *row, const char *text, struct traffic_args *a,
			   struct err *e)
{
	a->json = a->json_stream = true;
	return 0;
}

static int set_json_full(const struct row *row, const char *text, struct traffic_args *a,
			 struct err *e)
{
	a->json = a->json_stream = a->json_full = true;
	return 0;
}

static int set_timestamps(const struct row *row, const char *text, struct traffic_args *a,
			  struct err *e)
{
	a->timestamps = text ? text : "%c ";
	return 0;
}

/* "--rr" or "--rr=1000". */
static int set_mode(const struct row *row, const char *text, struct traffic_args *a, struct err *e)
{
	a->params.mode = (enum wire_mode)row->offset;
	if (!text)
		return 0;
	a->has_rr_rate = true;
	if (text_bps(text, &a->params.rr_per_s) < 0 || a->params.rr_per_s > row->max)
		return refuse(row, text, "round trips a second of each stream, such as 1000", e);
	return 0;
}

static int set_flood(const struct row *row, const char *text, struct traffic_args *a, struct err *e)
{
	a->flood = true;
	if (!text)
		return 0;
	if (text_bps(text, &a->flood_per_s) < 0 || a->flood_per_s > row->max)
		return refuse(row, text, "datagrams a second of each stream, such as 100K", e);
	return 0;
}

static int set_arrivals(const struct row *row, const char *text, struct traffic_args *a,
			struct err *e)
{
	if (strcmp(text, "even") == 0)
		a->params.arrivals = WIRE_EVEN;
	else if (strcmp(text, "poisson") == 0)
		a->params.arrivals = WIRE_POISSON;
	else
		return refuse(row, text, "even or poisson", e);
	return 0;
}

static int set_beside(const struct row *row, const char *text, struct traffic_args *a,
		      struct err *e)
{
	static const char *const names[] = { "tcp", "udp", "flood" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(text, names[i]) == 0) {
			a->beside = (enum beside)(BESIDE_TCP + i);
			return 0;
		}
	return refuse(row, text, "tcp, udp or flood", e);
}

/* A share of 1 to 100 %, the sign may be left out, from @text up to @end. */
static bool take_share(const char *text, const char *end, unsigned int *ret)
{
	char copy[8];
	size_t len = (size_t)(end - text);
	uint64_t v = 0;

	if (len > 0 && end[-1] == '%')
		len--;
	if (len >= sizeof(copy))
		return false;
	snprintf(copy, sizeof(copy), "%.*s", (int)len, text);
	if (text_u64(copy, &v) < 0 || v < 1 || v > 100)
		return false;
	*ret = (unsigned int)v;
	return true;
}

/* "10%..100%" or "10%..100%:5". */
static int set_sweep(const struct row *row, const char *text, struct traffic_args *a, struct err *e)
{
	const char *dots = strstr(text, ".."), *colon = strchr(text, ':');
	const char *end = colon ? colon : text + strlen(text);

	a->sweep_step = SWEEP_STEP;
	if (!dots || dots > end || !take_share(text, dots, &a->sweep_from) ||
	    !take_share(dots + 2, end, &a->sweep_to) || a->sweep_from > a->sweep_to ||
	    (colon && !take_share(colon + 1, text + strlen(text), &a->sweep_step)))
		return refuse(row, text, "shares of the full rate, such as 10%..100% or 5%..50%:5",
			      e);
	a->sweep = true;
	return 0;
}

static int set_ignored(const struct row *row, const char *text, struct traffic_args *a,
		       struct err *e)
{
	return 0;
}

/* What iperf3 has and this does not; the help of such a row is the reason and the remedy. */
static int set_refused(const struct row *row, const char *text, struct traffic_args *a,
		       struct err *e)
{
	return err_set(e, -EINVAL, "--%s is not there: %s", row->name, row->help);
}

#define AT(member) offsetof(struct traffic_args, member)
#define PARAM(member) offsetof(struct traffic_args, params.member)
#define MAX_PER_S 1000000000

static const struct row rows[] = {
	{ "server", 's', BOTH, NULL, set_flag, AT(server), .help = "be the server" },
	{ "client", 'c', BOTH, "HOST[%DEV]", set_text, AT(host), .help = "be the client of HOST" },
	{ "port", 'p', BOTH, "N", set_count, AT(port), 1, 65535, "port of the server (5201)" },
	{ "bind", 'B', BOTH, "ADDR[%DEV]", set_text, AT(bind),
	  .help = "local address; the server listens there only" },
	{ "bind-dev", 0, CLIENT, "DEV", set_text, AT(bind_dev), .help = "local network device" },
	{ "version4", '4', BOTH, NULL, set_flag, AT(v4), .help = "IPv4 only" },
	{ "version6", '6', BOTH, NULL, set_flag, AT(v6), .help = "IPv6 only" },
	{ "affinity", 'A', BOTH, "N[,M]", set_affinity,
	  .help = "CPU of the first stream's thread, the next one on the next CPU; M: at the server" },
	{ "interval", 'i', BOTH, "S", set_interval, .help = "seconds between rows (1; 0: none)" },
	{ "format", 'f', BOTH, "kmgtKMGT", set_format, .help = "unit of rates: bits, or Bytes" },
	{ "json", 'J', BOTH, NULL, set_flag, AT(json), .help = "one JSON document, not a table" },
	{ "json-stream", 0, BOTH, NULL, set_json_stream, .help = "a line of JSON for each event" },
	{ "json-stream-full-output", 0, BOTH, NULL, set_json_full,
	  .help = "--json-stream, and the whole document at the end" },
	{ "verbose", 'V', BOTH, NULL, set_flag, AT(verbose), .help = "more of the test" },
	{ "timestamps", 0, BOTH, "[=FMT]", set_timestamps,
	  .help = "the time before each line, as strftime(3) has it (%c )" },
	{ "logfile", 0, BOTH, "FILE", set_text, AT(logfile), .help = "append the output to FILE" },
	{ "pidfile", 'I', BOTH, "FILE", set_text, AT(pidfile),
	  .help = "write the process id there" },
	{ "forceflush", 0, BOTH, NULL, set_flag, AT(flush),
	  .help = "accepted: every row is flushed" },
	{ "version", 'v', BOTH, NULL, set_flag, AT(version), .help = "print the version" },
	{ "help", 'h', BOTH, NULL, set_flag, AT(help), .help = "print this" },

	{ "udp", 'u', CLIENT, NULL, set_flag, PARAM(udp), .help = "UDP instead of TCP" },
	{ "time", 't', CLIENT, "S", set_time, PARAM(time_s), 0, WIRE_TIME_MAX_S,
	  "whole seconds to run (10; 0: until interrupted)" },
	{ "bytes", 'n', CLIENT, "SIZE", set_size, PARAM(bytes), 1, UINT64_MAX >> 4,
	  "end after so many bytes in each direction, instead of -t" },
	{ "blockcount", 'k', CLIENT, "N", set_size, PARAM(blocks), 1, UINT64_MAX >> 28,
	  "end after so many blocks in each direction, instead of -t" },
	{ "parallel", 'P', CLIENT, "N", set_uint, PARAM(streams), 1, WIRE_STREAMS_MAX,
	  "streams of each direction (1)" },
	{ "reverse", 'R', CLIENT, NULL, set_flag, PARAM(reverse), .help = "the server sends" },
	{ "bidir", 0, CLIENT, NULL, set_flag, PARAM(bidir),
	  .help = "both send at once (iperf2's -d)" },
	{ "bitrate", 'b', CLIENT, "RATE[/N]", set_rate,
	  .help = "of each stream, such as 950M, N blocks at a time (UDP: 1M; 0: flat out)" },
	{ "bandwidth", 0, CLIENT, "RATE[/N]", set_rate },
	{ "length", 'l', CLIENT, "SIZE", set_size, PARAM(length_bytes), 1, WIRE_LENGTH_MAX,
	  "bytes of a block (TCP: 128K; UDP: what the path carries whole)" },
	{ "window", 'w', CLIENT, "SIZE", set_uint_size, PARAM(window_bytes), 1, WIRE_WINDOW_MAX,
	  "socket buffers" },
	{ "set-mss", 'M', CLIENT, "N", set_uint, PARAM(mss_bytes), 88, WIRE_MSS_MAX,
	  "largest TCP segment" },
	{ "no-delay", 'N', CLIENT, NULL, set_flag, PARAM(nodelay),
	  .help = "send small segments at once (TCP_NODELAY)" },
	{ "tos", 'S', CLIENT, "N", set_number, PARAM(tos), 0, 255, "type of service, 0 to 255" },
	{ "dscp", 0, CLIENT, "N|NAME", set_dscp, .help = "the same as a code point, such as ef" },
	{ "flowlabel", 'L', CLIENT, "N", set_number, PARAM(flowlabel), 1, 0xfffff,
	  "flow label of IPv6" },
	{ "congestion", 'C', CLIENT, "NAME", set_chars, PARAM(congestion), 0, 15,
	  "congestion control, such as cubic" },
	{ "linux-congestion", 0, CLIENT, "NAME", set_chars, PARAM(congestion), 0, 15 },
	{ "cport", 0, CLIENT, "N", set_count, AT(cport), 1, 65535,
	  "local port of the first stream, the next one the next" },
	{ "omit", 'O', CLIENT, "S", set_seconds, PARAM(omit_s), 0, WIRE_OMIT_MAX_S,
	  "seconds at the start that do not count" },
	{ "title", 'T', CLIENT, "TEXT", set_text, AT(title), .help = "put TEXT before each line" },
	{ "extra-data", 0, CLIENT, "TEXT", set_chars, PARAM(extra_data), 0, 1023,
	  "a text for the JSON of both ends" },
	{ "get-server-output", 0, CLIENT, NULL, set_flag, PARAM(get_server_output),
	  .help = "show what the server printed, too" },
	{ "connect-timeout", 0, CLIENT, "MS", set_count, AT(connect_timeout_ms), 1, TIMEOUT_MAX_MS,
	  "bound of a connection attempt (5000)" },
	{ "rcv-timeout", 0, BOTH, "MS", set_count, AT(receive_timeout_ms), 100, TIMEOUT_MAX_MS,
	  "a receiver without a byte for so long gives up (120000)" },
	{ "zerocopy", 'Z', CLIENT, NULL, set_flag, PARAM(zerocopy),
	  .help = "the sender does not copy" },
	{ "skip-rx-copy", 0, CLIENT, NULL, set_flag, PARAM(skip_rx_copy),
	  .help = "the receiver does not copy (MSG_TRUNC)" },
	{ "gsro", 0, CLIENT, NULL, set_flag, PARAM(gsro),
	  .help = "UDP: many datagrams in one call (GSO, GRO)" },
	{ "repeating-payload", 0, CLIENT, NULL, set_flag, PARAM(repeating_payload),
	  .help = "a pattern instead of random bytes" },
	{ "dont-fragment", 0, CLIENT, NULL, set_flag, PARAM(dont_fragment),
	  .help = "UDP over IPv4: set the bit" },
	{ "udp-counters-64bit", 0, CLIENT, NULL, set_flag, PARAM(udp_counters_64bit),
	  .help = "sequence numbers of 64 bits" },
	{ "pacing-timer", 0, CLIENT, "US", set_ignored,
	  .help = "accepted: blocks are sent when they are due" },

	{ "rr", 0, CLIENT, "[=RATE]", set_mode, WIRE_RR, 0, MAX_PER_S,
	  "round trips, RATE a second of each stream; back to back without" },
	{ "crr", 0, CLIENT, "[=RATE]", set_mode, WIRE_CRR, 0, MAX_PER_S,
	  "the same with a connection for each" },
	{ "request", 0, CLIENT, "SIZE", set_uint_size, PARAM(request_bytes), 1, WIRE_RR_SIZE_MAX,
	  "bytes of a request (64, as in a plan; UDP: 8 at least)" },
	{ "response", 0, CLIENT, "SIZE", set_uint_size, PARAM(response_bytes), 1, WIRE_RR_SIZE_MAX,
	  "bytes of a response (64, as in a plan; UDP: 8 at least)" },
	{ "flood", 0, CLIENT, "[=RATE]", set_flood, 0, 0, MAX_PER_S,
	  "smallest datagrams, RATE a second of each stream; flat out without" },
	{ "arrivals", 0, CLIENT, "KIND", set_arrivals,
	  .help = "of paced work: even, or poisson (random gaps) (even)" },
	{ "seed", 0, CLIENT, "N", set_count, PARAM(seed), 0, UINT64_MAX, "of the random gaps (1)" },
	{ "beside", 0, CLIENT, "KIND", set_beside,
	  .help = "round trips while tcp, udp or flood runs; -b, -P, -R and -l are the load's" },
	{ "sweep", 0, CLIENT, "A%..B%[:STEP]", set_sweep,
	  .help = "round trips at shares of the load's full rate, B always (STEP 10; --rr=1000)" },

	{ "one-off", '1', SERVER, NULL, set_flag, AT(one_off), .help = "end after one test" },
	{ "max-clients", 0, SERVER, "N", set_count, AT(max_clients), 1, 65536,
	  "tests at once (1024)" },
	{ "max-duration", 0, SERVER, "S", set_count, AT(max_duration_s), 1, WIRE_TIME_MAX_S,
	  "longest test" },
	{ "server-max-duration", 0, SERVER, "S", set_count, AT(max_duration_s), 1,
	  WIRE_TIME_MAX_S },
	{ "max-rate", 0, SERVER, "RATE", set_bps, AT(max_bps),
	  .help = "of a client, all its streams together, such as 1G; over a quarter of a second" },
	{ "server-bitrate-limit", 0, SERVER, "RATE", set_bps, AT(max_bps) },
	{ "idle-timeout", 0, SERVER, "S", set_count, AT(idle_s), 1, 86400,
	  "a test without a byte for so long is dropped (120)" },
};

/* What iperf3 has and this does not, with what to do instead. */
static const struct row refused[] = {
	{ "daemon", 'D', SERVER, NULL, set_refused,
	  .help = "let systemd keep it (irqlab-traffic.service), or end the command with &" },
	{ "debug", 'd', BOTH, NULL, set_refused,
	  .help = "-V says more; for both directions at once (iperf2's -d) use --bidir" },
	{ "file", 'F', BOTH, "FILE", set_refused, .help = "a disk is another bottleneck; use fio" },
	{ "fq-rate", 0, CLIENT, "RATE", set_refused, .help = "pace with -b" },
	{ "no-fq-socket-pacing", 0, CLIENT, NULL, set_refused, .help = "leave it out" },
	{ "snd-timeout", 0, CLIENT, "MS", set_refused,
	  .help = "set net.ipv4.tcp_retries2, or stop with -t" },
	{ "cntl-ka", 0, BOTH, "[=X]", set_refused,
	  .help = "leave it out: silence is bounded anyway" },
	{ "mptcp", 'm', BOTH, NULL, set_refused, .help = "run it under mptcpize" },
	{ "sctp", 0, CLIENT, NULL, set_refused, .help = "TCP and UDP are; use iperf3 for SCTP" },
	{ "nstreams", 0, CLIENT, "N", set_refused, .help = "it is SCTP's; use -P" },
	{ "xbind", 'X', CLIENT, "NAME", set_refused, .help = "it is SCTP's; use -B" },
	{ "username", 0, CLIENT, "NAME", set_refused,
	  .help = "no authentication; bind the server to an inner address with -B" },
	{ "rsa-public-key-path", 0, CLIENT, "FILE", set_refused,
	  .help = "no authentication; bind the server to an inner address with -B" },
	{ "rsa-private-key-path", 0, SERVER, "FILE", set_refused,
	  .help = "no authentication; bind the server to an inner address with -B" },
	{ "authorized-users-path", 0, SERVER, "FILE", set_refused,
	  .help = "no authentication; bind the server to an inner address with -B" },
	{ "time-skew-threshold", 0, SERVER, "S", set_refused, .help = "it is authentication's" },
	{ "use-pkcs1-padding", 0, BOTH, NULL, set_refused, .help = "it is authentication's" },
};

#define NR_ROWS (ARRAY_SIZE(rows) + ARRAY_SIZE(refused))

static const struct row *row_at(size_t i)
{
	return i < ARRAY_SIZE(rows) ? &rows[i] : &refused[i - ARRAY_SIZE(rows)];
}

static void help_of(struct buf *out, enum who who, const char *head)
{
	buf_printf(out, "\n%s:\n", head);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		char letter[8] = "    ", name[48];
		bool equal = r->value && *r->value == '[';

		if (r->who != who || !r->help)
			continue;
		if (r->letter)
			snprintf(letter, sizeof(letter), "-%c, ", r->letter);
		snprintf(name, sizeof(name), "%s%s%s", r->name, r->value && !equal ? " " : "",
			 r->value ? r->value : "");
		buf_printf(out, "  %s--%-24s %s\n", letter, name, r->help);
	}
}

int args_help(struct buf *out)
{
	buf_puts(
		out,
		"Usage: irqlab traffic -c HOST [options]    be the client of a test\n"
		"       irqlab traffic -s [options]         be the server\n"
		"Speaks iperf3's protocol: either end may be a stock iperf3, but for the round trips.\n"
		"Sizes take K M G (binary), rates K M G (decimal).\n");
	help_of(out, BOTH, "both");
	help_of(out, CLIENT, "client");
	help_of(out, SERVER, "server");
	buf_puts(out, "\nNot here:");
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		buf_printf(out, "%s --%s", i ? "," : "", refused[i].name);
	buf_puts(out, ": each says what to use instead.\nMore: docs/traffic.md\n");
	return out->failed ? -ENOMEM : 0;
}

/* The rows of @from to @to whose name begins with @name, as " --time, --timestamps". */
static size_t list_beginnings(const char *name, size_t from, size_t to, struct buf *out)
{
	size_t nr = 0;

	for (size_t i = from; i < to; i++)
		if (strncmp(row_at(i)->name, name, strlen(name)) == 0)
			buf_printf(out, "%s --%s", nr++ ? "," : "", row_at(i)->name);
	return nr;
}

/* What is not here is named only where nothing else is meant. */
static int say_ambiguous(const char *name, struct err *e)
{
	_cleanup_(buf_release) struct buf out = {};

	if (list_beginnings(name, 0, ARRAY_SIZE(rows), &out) < 2) {
		buf_reset(&out);
		if (list_beginnings(name, 0, NR_ROWS, &out) < 2)
			return 0;
	}
	return err_set(e, -EINVAL, "--%s is ambiguous:%s", name, buf_str(&out));
}

/* Of an option that getopt_long() did not take. */
static int no_option(int c, const char *arg, struct err *e)
{
	const char *words[NR_ROWS + 1] = {};
	const char *near;
	char name[32];

	if (c == ':')
		return err_set(e, -EINVAL, "option \"%s\" needs a value", arg);
	for (size_t i = 0; i < NR_ROWS; i++)
		words[i] = row_at(i)->name;
	if (optopt >= FIRST_VALUE)
		return err_set(e, -EINVAL, "option --%s takes no value",
			       words[optopt - FIRST_VALUE]);
	if (optopt)
		return err_set(e, -EINVAL, "no option \"-%c\"", optopt);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(arg, "="), arg);
	if (strncmp(name, "--", 2) == 0 && say_ambiguous(name + 2, e) < 0)
		return e->code;
	near = strncmp(name, "--", 2) == 0 ? text_nearest(name + 2, words) : NULL;
	if (near)
		return err_set(e, -EINVAL, "no option \"%s\", the nearest is --%s", name, near);
	return err_set(e, -EINVAL, "no option \"%s\"", name);
}

static const struct row *row_of(int c)
{
	if (c >= FIRST_VALUE)
		return row_at((size_t)(c - FIRST_VALUE));
	for (size_t i = 0; i < NR_ROWS; i++)
		if (row_at(i)->letter == c)
			return row_at(i);
	return NULL;
}

/* The tables that getopt_long() wants. */
static void describe(struct option *longs, char *shorts)
{
	*shorts++ = ':';
	for (size_t i = 0; i < NR_ROWS; i++) {
		const struct row *r = row_at(i);
		bool may = r->value && *r->value == '[';

		longs[i] = (struct option){ r->name,
					    !r->value ? no_argument
					    : may     ? optional_argument
						      : required_argument,
					    NULL, FIRST_VALUE + (int)i };
		if (!r->letter)
			continue;
		*shorts++ = r->letter;
		if (r->value)
			*shorts++ = ':';
	}
	*shorts = '\0';
}

/* The last option given that is the client's or the server's alone. */
struct given {
	const struct row *client, *server;
};

static int take_all(int argc, char **argv, struct traffic_args *a, struct given *g, struct err *e)
{
	struct option longs[NR_ROWS + 1] = {};
	char shorts[2 * NR_ROWS + 2];
	int c, r = 0;

	describe(longs, shorts);
	opterr = 0;
	optind = 0; /* glibc: start over, also within a cluster of letters */
	while (r >= 0) {
		const struct row *row;

		/* no other thread yet: NOLINTNEXTLINE(concurrency-mt-unsafe) */
		c = getopt_long(argc, argv, shorts, longs, NULL);
		if (c == -1)
			return 0;
		row = c == '?' || c == ':' ? NULL : row_of(c);
		if (!row)
			return no_option(c, argv[optind - 1], e);
		if (row->who == CLIENT)
			g->client = row;
		else if (row->who == SERVER)
			g->server = row;
		r = row->parse(row, optarg, a, e);
	}
	return r;
}

static void name_row(const struct row *row, char ret[40])
{
	if (row->letter)
		snprintf(ret, 40, "-%c", row->letter);
	else
		snprintf(ret, 40, "--%s", row->name);
}

static int check_role(const struct traffic_args *a, const struct given *g, struct err *e)
{
	char name[40];

	if (a->server == (a->host != NULL))
		return err_set(e, -EINVAL, "expected either -s (server) or -c HOST (client)");
	if (a->server && g->client) {
		name_row(g->client, name);
		return err_set(e, -EINVAL,
			       "%s is the client's: the server takes what the client asks for",
			       name);
	}
	if (!a->server && g->server) {
		name_row(g->server, name);
		return err_set(e, -EINVAL, "%s is the server's: it goes with -s", name);
	}
	if (a->v4 && a->v6)
		return err_set(e, -EINVAL, "-4 and -6 exclude each other");
	return 0;
}

int args_parse(int argc, char **argv, struct traffic_args *a, struct err *e)
{
	struct given g = {};
	int r;

	*a = (struct traffic_args){ .port = 5201, .interval_s = 1, .cpu = -1 };
	a->params.server_cpu = -1;
	a->params.seed = 1;
	r = take_all(argc, argv, a, &g, e);
	if (r < 0 || a->help || a->version)
		return r;
	if (optind < argc)
		return err_set(e, -EINVAL, "unexpected \"%s\"", argv[optind]);
	r = check_role(a, &g, e);
	if (r >= 0 && !a->server)
		r = args_check_client(a, e);
	if (r < 0)
		return r;
	args_fill_in(a);
	return args_check_arrivals(a, e);
}
