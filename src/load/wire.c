// SPDX-License-Identifier: GPL-3.0-or-later
#include "load/wire.h"

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_field.h"
#include "base/rng.h"

#define DEPTH_MAX 8
#define OUTPUT_DEPTH_MAX 16  /* of a server's own JSON */
#define PACING_TIMER_US 1000 /* what stock clients say; nobody uses it any more */
#define GRO_BUFFER_BYTES 65536

const char *wire_state_name(int state)
{
	static const char *const names[] = {
		[WIRE_TEST_START] = "TEST_START",
		[WIRE_TEST_RUNNING] = "TEST_RUNNING",
		[WIRE_TEST_END] = "TEST_END",
		[WIRE_PARAM_EXCHANGE] = "PARAM_EXCHANGE",
		[WIRE_CREATE_STREAMS] = "CREATE_STREAMS",
		[WIRE_SERVER_TERMINATE] = "SERVER_TERMINATE",
		[WIRE_CLIENT_TERMINATE] = "CLIENT_TERMINATE",
		[WIRE_EXCHANGE_RESULTS] = "EXCHANGE_RESULTS",
		[WIRE_DISPLAY_RESULTS] = "DISPLAY_RESULTS",
		[WIRE_DONE] = "IPERF_DONE",
		[WIRE_EXTENDED] = "EXTENDED",
	};

	if (state == WIRE_ACCESS_DENIED)
		return "ACCESS_DENIED";
	if (state == WIRE_SERVER_ERROR)
		return "SERVER_ERROR";
	if (state < 0 || (size_t)state >= ARRAY_SIZE(names) || !names[state])
		return "an unknown state";
	return names[state];
}

const char *wire_error_text(int code)
{
	/* of iperf_api.h those that a server sends, and a few that are the client's own */
	static const struct {
		int code;
		const char *text;
	} words[] = {
		{ WIRE_EUNIMP, "an option it does not have" },
		{ 20, "datagrams of a length it does not take" },
		{ WIRE_ETOTALRATE, "more bit/s than its owner allows (its --max-rate or "
				   "--server-bitrate-limit); ask for less with -b" },
		{ WIRE_EMAXDURATION, "longer than its owner allows (its --max-duration or "
				     "--server-max-duration); ask for less with -t" },
		{ 101, "it could not set up the test" },
		{ 102, "it could not listen for the streams" },
		{ 107, "it could not write to the control connection" },
		{ 108, "it could not read from the control connection" },
		{ 110, "it got a control message that it does not know" },
		{ 112, "it could not read a control message" },
		{ WIRE_ERECVPARAMS, "parameters that it does not take" },
		{ 116, "it could not send its results" },
		{ 117, "it did not get the results of this end" },
		{ 122, "it could not set TCP_NODELAY (-N)" },
		{ 123, "it could not set the segment size (-M)" },
		{ 124, "it could not set its socket buffers (-w)" },
		{ 125, "it could not set the type of service (-S)" },
		{ 130, "it could not set the window (-w)" },
		{ WIRE_EAFFINITY, "a CPU that it may not use (the second of -A)" },
		{ WIRE_ESETCONGESTION, "a congestion control that it does not have (-C)" },
		{ WIRE_ESETBUF2, "socket buffers larger than its kernel allows (-w; its "
				 "net.core.wmem_max and rmem_max)" },
		{ WIRE_ENOMSG, "no byte came for too long" },
		{ WIRE_EDURATION_EXPIRED, "the test did not end in time" },
		{ WIRE_ECREATESTREAM, "it could not make the streams" },
		{ 201, "it could not set up a stream" },
		{ WIRE_ESTREAMLISTEN, "it could not listen for the streams" },
		{ 203, "it could not connect a stream" },
		{ WIRE_ESTREAMACCEPT, "it could not take the streams" },
		{ WIRE_ESTREAMWRITE, "it could not write to a stream" },
		{ WIRE_ESTREAMREAD, "it could not read from a stream" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i].code == code)
			return words[i].text;
	return "an error without words here";
}

void wire_cookie_make(uint64_t seed, char ret[WIRE_COOKIE_SIZE])
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";

	for (int i = 0; i < WIRE_COOKIE_SIZE - 1; i++)
		ret[i] = alphabet[rng_next(&seed) % 32];
	ret[WIRE_COOKIE_SIZE - 1] = '\0';
}

bool wire_cookie_is_valid(const char cookie[WIRE_COOKIE_SIZE])
{
	for (int i = 0; i < WIRE_COOKIE_SIZE - 1; i++)
		if (cookie[i] < '!' || cookie[i] > '~')
			return false;
	return cookie[WIRE_COOKIE_SIZE - 1] == '\0';
}

/* Adds @v to @o; false when @v could not be made. */
static bool add(struct json_object *o, const char *key, struct json_object *v)
{
	if (v && json_object_object_add(o, key, v) == 0)
		return true;
	json_object_put(v);
	return false;
}

static bool add_number(struct json_object *o, const char *key, uint64_t v)
{
	return add(o, key, json_object_new_uint64(v));
}

static int emit(struct json_object *o, bool complete, struct buf *out, struct err *e)
{
	const char *text = complete ? json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN)
				    : NULL;

	if (!text || buf_puts(out, text) < 0)
		return err_nomem(e, "iperf3 control message");
	return 0;
}

static bool add_true(struct json_object *o, const char *key, bool v)
{
	return !v || add(o, key, json_object_new_boolean(true));
}

/* Flags that stock peers read as numbers. */
static bool add_one(struct json_object *o, const char *key, bool v)
{
	return !v || add_number(o, key, 1);
}

static bool add_nonzero(struct json_object *o, const char *key, uint64_t v)
{
	return v == 0 || add_number(o, key, v);
}

static bool add_text(struct json_object *o, const char *key, const char *v)
{
	return !*v || add(o, key, json_object_new_string(v));
}

bool wire_params_are_extended(const struct wire_params *p)
{
	return p->mode != WIRE_BULK || (p->arrivals != WIRE_EVEN && (p->reverse || p->bidir));
}

static const char *const modes[] = { [WIRE_BULK] = "bulk", [WIRE_RR] = "rr", [WIRE_CRR] = "crr" };
static const char *const arrivals[] = { [WIRE_EVEN] = "even", [WIRE_POISSON] = "poisson" };

static bool add_extension(struct json_object *o, const struct wire_params *p)
{
	struct json_object *x;
	bool ok;

	if (!wire_params_are_extended(p))
		return true;
	x = json_object_new_object();
	ok = add(o, "irqlab", x);
	ok = ok && add_text(x, "mode", modes[p->mode]);
	ok = ok && add_text(x, "arrivals", arrivals[p->arrivals]);
	ok = ok && add_nonzero(x, "seed", p->seed);
	ok = ok && add_nonzero(x, "rr_per_s", p->rr_per_s);
	ok = ok && add_nonzero(x, "request_bytes", p->request_bytes);
	return ok && add_nonzero(x, "response_bytes", p->response_bytes);
}

/* UDP segmentation: 3.21's keys, of which only these matter to a peer that can do it. */
static bool add_gsro(struct json_object *o, const struct wire_params *p)
{
	size_t length = p->length_bytes ? p->length_bytes : 1;

	if (!p->gsro)
		return true;
	return add_number(o, "gso", 1) && add_number(o, "gso_dg_size", p->length_bytes) &&
	       add_number(o, "gso_bf_size", WIRE_UDP_LENGTH_MAX / length * length) &&
	       add_number(o, "gro", 1) && add_number(o, "gro_bf_size", GRO_BUFFER_BYTES);
}

/* Optional keys go out only when they say something, as the stock client does. */
static bool add_options(struct json_object *o, const struct wire_params *p)
{
	bool ok = add_true(o, "nodelay", p->nodelay);

	ok = ok && add_true(o, "reverse", p->reverse);
	ok = ok && add_true(o, "bidirectional", p->bidir);
	ok = ok && (p->server_cpu < 0 || add_number(o, "server_affinity", (uint64_t)p->server_cpu));
	ok = ok && add_nonzero(o, "MSS", p->mss_bytes);
	ok = ok && add_nonzero(o, "window", p->window_bytes);
	ok = ok && add_nonzero(o, "len", p->length_bytes);
	ok = ok && add_nonzero(o, "bandwidth", p->rate_bps);
	ok = ok && add_nonzero(o, "burst", p->burst);
	ok = ok && add_nonzero(o, "TOS", p->tos);
	ok = ok && add_nonzero(o, "flowlabel", p->flowlabel);
	ok = ok && add_text(o, "title", p->title);
	ok = ok && add_text(o, "extra_data", p->extra_data);
	ok = ok && add_text(o, "congestion", p->congestion);
	ok = ok && add_one(o, "get_server_output", p->get_server_output);
	ok = ok && add_one(o, "udp_counters_64bit", p->udp_counters_64bit);
	ok = ok && add_one(o, "repeating_payload", p->repeating_payload);
	ok = ok && add_one(o, "zerocopy", p->zerocopy);
	ok = ok && add_one(o, "dont_fragment", p->dont_fragment);
	ok = ok && add_one(o, "skip_rx_copy", p->skip_rx_copy);
	return ok && add_gsro(o, p);
}

int wire_params_encode(const struct wire_params *p, struct buf *out, struct err *e)
{
	_cleanup_(json_putp) struct json_object *o = json_object_new_object();
	bool ok = o != NULL;

	ok = ok && add(o, p->udp ? "udp" : "tcp", json_object_new_boolean(true));
	ok = ok && add_number(o, "omit", p->omit_s);
	ok = ok && add_number(o, "time", p->time_s);
	ok = ok && add_number(o, "num", p->bytes);
	ok = ok && add_number(o, "blockcount", p->blocks);
	ok = ok && add_number(o, "parallel", p->streams);
	ok = ok && add_number(o, "pacing_timer", PACING_TIMER_US);
	ok = ok && add_options(o, p);
	ok = ok && add_extension(o, p);
	ok = ok && add_text(o, "client_version", p->version);
	return emit(o, ok, out, e);
}

int wire_extended_encode(const struct wire_extended *x, struct buf *out, struct err *e)
{
	_cleanup_(json_putp) struct json_object *o = json_object_new_object();
	bool ok = o != NULL;

	ok = ok && add_text(o, "version", x->version);
	ok = ok && add_nonzero(o, "port", x->port);
	return emit(o, ok, out, e);
}

static struct json_object *stream_json(const struct wire_stream *s)
{
	_cleanup_(json_putp) struct json_object *o = json_object_new_object();
	bool ok = o != NULL;

	ok = ok && add_number(o, "id", s->id);
	ok = ok && add_number(o, "bytes", s->bytes);
	ok = ok && add(o, "retransmits", json_object_new_int64(s->retransmits));
	ok = ok && add(o, "jitter", json_object_new_double(s->jitter_s));
	ok = ok && add(o, "errors", json_object_new_int64(s->errors));
	if (s->has_omitted)
		ok = ok && add(o, "omitted_errors", json_object_new_int64(s->omitted_errors));
	ok = ok && add_number(o, "packets", s->packets);
	if (s->has_omitted)
		ok = ok && add_number(o, "omitted_packets", s->omitted_packets);
	ok = ok && add(o, "start_time", json_object_new_double(s->start_s));
	ok = ok && add(o, "end_time", json_object_new_double(s->end_s));
	return ok ? take_ptr(o) : NULL;
}

/* What the server printed: JSON as JSON if it is, as text otherwise. */
static bool add_output(struct json_object *o, const struct wire_output *output)
{
	struct json_object *v = NULL;

	if (!output || !output->text.data)
		return true;
	if (output->is_json) {
		v = json_tokener_parse(buf_str(&output->text));
		if (v)
			return add(o, "server_output_json", v);
	}
	return add(o, "server_output_text",
		   json_object_new_string_len(output->text.data, (int)output->text.len));
}

static bool has_retransmits(const struct wire_results *res)
{
	for (unsigned int i = 0; i < res->nr; i++)
		if (res->streams[i].retransmits != WIRE_UNKNOWN)
			return true;
	return false;
}

int wire_results_encode(const struct wire_results *res, const struct wire_output *output,
			struct buf *out, struct err *e)
{
	_cleanup_(json_putp) struct json_object *o = json_object_new_object();
	_cleanup_(json_putp) struct json_object *streams = json_object_new_array();
	bool ok = o && streams;

	ok = ok && add(o, "cpu_util_total", json_object_new_double(res->cpu_total));
	ok = ok && add(o, "cpu_util_user", json_object_new_double(res->cpu_user));
	ok = ok && add(o, "cpu_util_system", json_object_new_double(res->cpu_system));
	ok = ok &&
	     add(o, "sender_has_retransmits", json_object_new_int64(has_retransmits(res) ? 1 : -1));
	ok = ok && add_text(o, "congestion_used", res->congestion);
	ok = ok && add_output(o, output);
	for (unsigned int i = 0; ok && i < res->nr; i++) {
		struct json_object *s = stream_json(&res->streams[i]);

		ok = s && json_object_array_add(streams, s) == 0;
		if (!ok)
			json_object_put(s);
	}
	ok = ok && add(o, "streams", take_ptr(streams));
	return emit(o, ok, out, e);
}

struct shape {
	size_t bytes;
	int depth;
};

static int parse(const char *text, size_t len, struct shape max, struct json_object **ret,
		 struct err *e)
{
	_cleanup_(json_tokener_freep) struct json_tokener *t = json_tokener_new_ex(max.depth);
	_cleanup_(json_putp) struct json_object *o = NULL;

	if (!t)
		return err_nomem(e, "iperf3 control message");
	if (len > max.bytes)
		return err_set(e, -EBADMSG, "message of %zu bytes, at most %zu allowed", len,
			       max.bytes);
	json_tokener_set_flags(t, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	o = json_tokener_parse_ex(t, text, (int)len);
	if (!o)
		return err_set(e, -EBADMSG, "not JSON: %s",
			       json_tokener_error_desc(json_tokener_get_error(t)));
	if (json_tokener_get_parse_end(t) != len)
		return err_set(e, -EBADMSG, "bytes after the JSON object");
	if (!json_object_is_type(o, json_type_object))
		return err_set(e, -EBADMSG, "JSON, but not an object");
	*ret = take_ptr(o);
	return 0;
}

static int bad(struct err *e, const char *key, const char *want)
{
	return err_set(e, -EBADMSG, "\"%s\" is not %s", key, want);
}

/* A finite number that is there: 1, 0 when the key is absent. */
static int read_double(struct json_object *o, const char *key, double *ret, struct err *e)
{
	struct json_object *v = NULL;
	double d;

	if (!json_object_object_get_ex(o, key, &v))
		return 0;
	if (!json_object_is_type(v, json_type_int) && !json_object_is_type(v, json_type_double))
		return bad(e, key, "a number");
	d = json_object_get_double(v);
	if (!isfinite(d))
		return bad(e, key, "a finite number");
	*ret = d;
	return 1;
}

/*
 * A count: whole, not negative, at most @max.  Integers are read exactly; doubles are what old
 * versions print for large ones.
 */
static int read_count(struct json_object *o, const char *key, uint64_t max, uint64_t *ret,
		      struct err *e)
{
	struct json_object *v = NULL;
	double d = 0;
	uint64_t n;
	int r = read_double(o, key, &d, e);

	if (r <= 0)
		return r;
	json_object_object_get_ex(o, key, &v);
	if (d < 0)
		return bad(e, key, "a count");
	if (json_object_is_type(v, json_type_int))
		n = json_object_get_uint64(v);
	else if (d < 0x1p64 && d == floor(d))
		n = (uint64_t)d;
	else
		return bad(e, key, "a whole number");
	if (n > max)
		return err_set(e, -EBADMSG, "\"%s\" is %llu, at most %llu allowed", key,
			       (unsigned long long)n, (unsigned long long)max);
	*ret = n;
	return 1;
}

static int read_uint(struct json_object *o, const char *key, unsigned int max, unsigned int *ret,
		     struct err *e)
{
	uint64_t v = *ret;
	int r = read_count(o, key, max, &v, e);

	if (r > 0)
		*ret = (unsigned int)v;
	return r;
}

/*
 * A count that may say "not available": -1, and what printf made of it.  Neither is any count that
 * a double cannot hold exactly, so that sums over streams never overflow.
 */
static int read_maybe(struct json_object *o, const char *key, int64_t *ret, struct err *e)
{
	uint64_t n = 0;
	double d = 0;
	int r = read_double(o, key, &d, e);

	if (r <= 0)
		return r;
	if (d == -1 || d > (double)WIRE_COUNT_MAX) {
		*ret = WIRE_UNKNOWN;
		return d > 0x1p64 ? bad(e, key, "a count") : 1;
	}
	r = read_count(o, key, WIRE_COUNT_MAX, &n, e);
	if (r > 0)
		*ret = (int64_t)n;
	return r;
}

static int read_bool(struct json_object *o, const char *key, bool *ret, struct err *e)
{
	struct json_object *v = NULL;

	if (!json_object_object_get_ex(o, key, &v))
		return 0;
	if (!json_object_is_type(v, json_type_boolean))
		return bad(e, key, "true or false");
	*ret = json_object_get_boolean(v);
	return 1;
}

static int read_text(struct json_object *o, const char *key, char *ret, size_t size, struct err *e)
{
	struct json_object *v = NULL;

	if (!json_object_object_get_ex(o, key, &v))
		return 0;
	if (!json_object_is_type(v, json_type_string))
		return bad(e, key, "a string");
	if ((size_t)json_object_get_string_len(v) >= size ||
	    strlen(json_object_get_string(v)) != (size_t)json_object_get_string_len(v))
		return bad(e, key, "a short text");
	snprintf(ret, size, "%s", json_object_get_string(v));
	return 1;
}

/* A text for people: what does not fit is cut at the end of a character. */
static int read_words(struct json_object *o, const char *key, char *ret, size_t size, struct err *e)
{
	struct json_object *v = NULL;
	const char *text;
	size_t len;

	if (!json_object_object_get_ex(o, key, &v))
		return 0;
	if (!json_object_is_type(v, json_type_string))
		return bad(e, key, "a string");
	text = json_object_get_string(v);
	len = strnlen(text, size);
	if (len == size)
		for (len = size - 1; len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80;)
			len--;
	memcpy(ret, text, len);
	ret[len] = '\0';
	return 1;
}

/* Flags that came as true when they were new and as 1 ever after. */
static int read_flag(struct json_object *o, const char *key, bool *ret, struct err *e)
{
	struct json_object *v = NULL;
	double d = 0;
	int r;

	if (json_object_object_get_ex(o, key, &v) && json_object_is_type(v, json_type_boolean)) {
		*ret = json_object_get_boolean(v);
		return 1;
	}
	r = read_double(o, key, &d, e);
	if (r > 0)
		*ret = d != 0;
	return r;
}

/* One of @names; r is the index. */
static int read_name(struct json_object *o, const char *key, const char *const *names,
		     unsigned int nr, struct err *e)
{
	struct json_object *v = NULL;

	if (!json_object_object_get_ex(o, key, &v))
		return 0;
	for (unsigned int i = 0; json_object_is_type(v, json_type_string) && i < nr; i++)
		if (strcmp(json_object_get_string(v), names[i]) == 0)
			return (int)i;
	return bad(e, key, "something this version has");
}

static int decode_kind(struct json_object *o, struct wire_params *p, struct err *e)
{
	bool tcp = false, sctp = false;

	if (read_bool(o, "tcp", &tcp, e) < 0 || read_bool(o, "udp", &p->udp, e) < 0 ||
	    read_bool(o, "sctp", &sctp, e) < 0 || read_bool(o, "reverse", &p->reverse, e) < 0 ||
	    read_bool(o, "bidirectional", &p->bidir, e) < 0 ||
	    read_bool(o, "nodelay", &p->nodelay, e) < 0)
		return e->code;
	if (tcp + p->udp + sctp != 1 || sctp)
		return err_set(e, -EBADMSG, "neither \"tcp\" nor \"udp\" is asked for");
	if (p->reverse && p->bidir)
		return err_set(e, -EBADMSG, "both \"reverse\" and \"bidirectional\" are asked for");
	return 0;
}

static int decode_flags(struct json_object *o, struct wire_params *p, struct err *e)
{
	bool gso = false, gro = false;

	if (read_flag(o, "get_server_output", &p->get_server_output, e) < 0 ||
	    read_flag(o, "udp_counters_64bit", &p->udp_counters_64bit, e) < 0 ||
	    read_flag(o, "repeating_payload", &p->repeating_payload, e) < 0 ||
	    read_flag(o, "zerocopy", &p->zerocopy, e) < 0 ||
	    read_flag(o, "dont_fragment", &p->dont_fragment, e) < 0 ||
	    read_flag(o, "skip_rx_copy", &p->skip_rx_copy, e) < 0 ||
	    read_flag(o, "gso", &gso, e) < 0 || read_flag(o, "gro", &gro, e) < 0)
		return e->code;
	p->gsro = p->udp && (gso || gro);
	return 0;
}

static int decode_numbers(struct json_object *o, struct wire_params *p, struct err *e)
{
	uint64_t length = 0;
	unsigned int cpu = 0;
	int has_cpu = read_uint(o, "server_affinity", WIRE_CPU_MAX, &cpu, e);

	if (has_cpu < 0 || read_uint(o, "parallel", WIRE_STREAMS_MAX, &p->streams, e) < 0 ||
	    read_uint(o, "time", WIRE_TIME_MAX_S, &p->time_s, e) < 0 ||
	    read_uint(o, "omit", WIRE_OMIT_MAX_S, &p->omit_s, e) < 0 ||
	    read_uint(o, "window", WIRE_WINDOW_MAX, &p->window_bytes, e) < 0 ||
	    read_uint(o, "MSS", WIRE_MSS_MAX, &p->mss_bytes, e) < 0 ||
	    read_uint(o, "burst", WIRE_BURST_MAX, &p->burst, e) < 0 ||
	    read_uint(o, "TOS", UINT8_MAX, &p->tos, e) < 0 ||
	    read_uint(o, "flowlabel", WIRE_FLOWLABEL_MAX, &p->flowlabel, e) < 0 ||
	    read_count(o, "num", UINT64_MAX, &p->bytes, e) < 0 ||
	    read_count(o, "blockcount", UINT64_MAX, &p->blocks, e) < 0 ||
	    read_count(o, "bandwidth", UINT64_MAX, &p->rate_bps, e) < 0 ||
	    read_count(o, "len", p->udp ? WIRE_UDP_LENGTH_MAX : WIRE_LENGTH_MAX, &length, e) < 0)
		return e->code;
	if (p->streams == 0)
		return err_set(e, -EBADMSG, "\"parallel\" is 0");
	if (p->udp && length > 0 && length < WIRE_UDP_LENGTH_MIN)
		return err_set(e, -EBADMSG, "\"len\" is %u, datagrams have at least %d bytes",
			       (unsigned int)length, WIRE_UDP_LENGTH_MIN);
	p->length_bytes = length;
	p->server_cpu = has_cpu ? (int)cpu : -1;
	return 0;
}

static int check_extension(const struct wire_params *p, struct err *e)
{
	bool rr = p->mode != WIRE_BULK;

	if (rr && (p->request_bytes == 0 || p->response_bytes == 0))
		return err_set(e, -EBADMSG, "requests or responses of 0 bytes");
	if (rr && (p->reverse || p->bidir))
		return err_set(e, -EBADMSG, "requests go from the client to the server only");
	if (rr && p->udp &&
	    (p->mode == WIRE_CRR || p->request_bytes > WIRE_UDP_LENGTH_MAX ||
	     p->response_bytes > WIRE_UDP_LENGTH_MAX))
		return err_set(e, -EBADMSG, "%s over UDP",
			       p->mode == WIRE_CRR ? "no connection can be made"
						   : "requests or responses are too large");
	return 0;
}

static int decode_extension(struct json_object *o, struct wire_params *p, struct err *e)
{
	struct json_object *x = NULL;
	int mode, kind;

	if (!json_object_object_get_ex(o, "irqlab", &x))
		return 0;
	if (!json_object_is_type(x, json_type_object))
		return bad(e, "irqlab", "an object");
	mode = read_name(x, "mode", modes, ARRAY_SIZE(modes), e);
	kind = read_name(x, "arrivals", arrivals, ARRAY_SIZE(arrivals), e);
	if (mode < 0 || kind < 0 || read_count(x, "seed", UINT64_MAX, &p->seed, e) < 0 ||
	    read_count(x, "rr_per_s", UINT64_MAX, &p->rr_per_s, e) < 0 ||
	    read_uint(x, "request_bytes", WIRE_RR_SIZE_MAX, &p->request_bytes, e) < 0 ||
	    read_uint(x, "response_bytes", WIRE_RR_SIZE_MAX, &p->response_bytes, e) < 0)
		return e->code;
	p->mode = (enum wire_mode)mode;
	p->arrivals = (enum wire_arrivals)kind;
	return check_extension(p, e);
}

int wire_params_decode(const char *text, size_t len, struct wire_params *ret, struct err *e)
{
	_cleanup_(json_putp) struct json_object *o = NULL;
	struct wire_params p = { .streams = 1, .server_cpu = -1 };

	if (parse(text, len, (struct shape){ WIRE_PARAMS_MAX, DEPTH_MAX }, &o, e) < 0 ||
	    decode_kind(o, &p, e) < 0 || decode_flags(o, &p, e) < 0 ||
	    decode_numbers(o, &p, e) < 0 || decode_extension(o, &p, e) < 0 ||
	    read_text(o, "congestion", p.congestion, sizeof(p.congestion), e) < 0 ||
	    read_words(o, "client_version", p.version, sizeof(p.version), e) < 0 ||
	    read_words(o, "title", p.title, sizeof(p.title), e) < 0 ||
	    read_words(o, "extra_data", p.extra_data, sizeof(p.extra_data), e) < 0)
		return err_wrap(e, "parameters");
	*ret = p;
	return 0;
}

int wire_extended_decode(const char *text, size_t len, struct wire_extended *ret, struct err *e)
{
	_cleanup_(json_putp) struct json_object *o = NULL;
	struct wire_extended x = {};
	unsigned int port = 0;

	if (parse(text, len, (struct shape){ WIRE_PARAMS_MAX, DEPTH_MAX }, &o, e) < 0 ||
	    read_uint(o, "port", UINT16_MAX, &port, e) < 0 ||
	    read_words(o, "version", x.version, sizeof(x.version), e) < 0)
		return err_wrap(e, "answer to the extension");
	x.port = (uint16_t)port;
	*ret = x;
	return 0;
}

/* Lost datagrams: old versions may report less than none. */
static int read_errors(struct json_object *o, const char *key, int64_t *ret, struct err *e)
{
	double d = 0;
	int r = read_double(o, key, &d, e);

	if (r <= 0)
		return r;
	if (d < -(double)WIRE_COUNT_MAX || d > (double)WIRE_COUNT_MAX || d != floor(d))
		return bad(e, key, "a count");
	*ret = (int64_t)d;
	return 1;
}

static int decode_datagrams(struct json_object *o, struct wire_stream *s, struct err *e)
{
	int errors = read_errors(o, "omitted_errors", &s->omitted_errors, e);
	int packets = read_count(o, "omitted_packets", WIRE_COUNT_MAX, &s->omitted_packets, e);

	if (errors < 0 || packets < 0 || read_double(o, "jitter", &s->jitter_s, e) < 0 ||
	    read_errors(o, "errors", &s->errors, e) < 0 ||
	    read_count(o, "packets", WIRE_COUNT_MAX, &s->packets, e) < 0)
		return e->code;
	if (errors != packets)
		return err_set(e, -EBADMSG,
			       "\"omitted_errors\" and \"omitted_packets\" only come together");
	s->has_omitted = errors > 0;
	return 0;
}

static int decode_stream(struct json_object *o, struct wire_stream *ret, struct err *e)
{
	struct wire_stream s = { .retransmits = WIRE_UNKNOWN };
	int r;

	if (!json_object_is_type(o, json_type_object))
		return bad(e, "streams", "a list of objects");
	r = read_uint(o, "id", 2 * WIRE_STREAMS_MAX + 2, &s.id, e);
	if (r == 0)
		return err_set(e, -EBADMSG, "a stream has no \"id\"");
	if (r > 0)
		r = read_count(o, "bytes", UINT64_MAX, &s.bytes, e);
	if (r == 0)
		return err_set(e, -EBADMSG, "stream %u has no \"bytes\"", s.id);
	if (r < 0 || read_maybe(o, "retransmits", &s.retransmits, e) < 0 ||
	    decode_datagrams(o, &s, e) < 0 || read_double(o, "start_time", &s.start_s, e) < 0 ||
	    read_double(o, "end_time", &s.end_s, e) < 0)
		return e->code;
	*ret = s;
	return 0;
}

static int decode_streams(struct json_object *o, struct wire_results *res, struct err *e)
{
	struct json_object *list = NULL;
	size_t nr;

	if (!json_object_object_get_ex(o, "streams", &list) ||
	    !json_object_is_type(list, json_type_array))
		return bad(e, "streams", "a list");
	nr = json_object_array_length(list);
	if (nr > ARRAY_SIZE(res->streams))
		return err_set(e, -EBADMSG, "%zu streams, at most %zu allowed", nr,
			       ARRAY_SIZE(res->streams));
	for (; res->nr < nr; res->nr++)
		if (decode_stream(json_object_array_get_idx(list, res->nr), &res->streams[res->nr],
				  e) < 0)
			return e->code;
	return 0;
}

static int decode_output(struct json_object *o, struct wire_output *ret, struct err *e)
{
	struct json_object *v = NULL;
	const char *text = NULL;

	if (json_object_object_get_ex(o, "server_output_json", &v)) {
		text = json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN |
								 JSON_C_TO_STRING_NOSLASHESCAPE);
		ret->is_json = v != NULL;
	} else if (json_object_object_get_ex(o, "server_output_text", &v)) {
		if (!json_object_is_type(v, json_type_string))
			return bad(e, "server_output_text", "a string");
		text = json_object_get_string(v);
	}
	if (v && (!text || buf_puts(&ret->text, text) < 0))
		return err_nomem(e, "output of a server");
	return 0;
}

int wire_results_decode(const char *text, size_t len, struct wire_results *ret,
			struct wire_output *output, struct err *e)
{
	const struct shape max = { output ? WIRE_OUTPUT_MAX : WIRE_RESULTS_MAX,
				   output ? OUTPUT_DEPTH_MAX : DEPTH_MAX };
	_cleanup_(json_putp) struct json_object *o = NULL;
	_cleanup_(freep) struct wire_results *res = calloc(1, sizeof(*res));

	if (!res)
		return err_nomem(e, "results");
	if (parse(text, len, max, &o, e) < 0 ||
	    read_double(o, "cpu_util_total", &res->cpu_total, e) < 0 ||
	    read_double(o, "cpu_util_user", &res->cpu_user, e) < 0 ||
	    read_double(o, "cpu_util_system", &res->cpu_system, e) < 0 ||
	    read_text(o, "congestion_used", res->congestion, sizeof(res->congestion), e) < 0 ||
	    decode_streams(o, res, e) < 0 || (output && decode_output(o, output, e) < 0))
		return err_wrap(e, "results");
	*ret = *res;
	return 0;
}
