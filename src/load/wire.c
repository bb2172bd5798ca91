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

static void object_put(struct json_object **o)
{
	json_object_put(*o);
}

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
	};

	if (state == WIRE_ACCESS_DENIED)
		return "ACCESS_DENIED";
	if (state == WIRE_SERVER_ERROR)
		return "SERVER_ERROR";
	if (state < 0 || (size_t)state >= ARRAY_SIZE(names) || !names[state])
		return "an unknown state";
	return names[state];
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

/* Optional keys go out only when they say something, as the stock client does. */
static bool add_options(struct json_object *o, const struct wire_params *p)
{
	bool ok = true;

	if (p->nodelay)
		ok &= add(o, "nodelay", json_object_new_boolean(true));
	if (p->reverse)
		ok &= add(o, "reverse", json_object_new_boolean(true));
	if (p->bidir)
		ok &= add(o, "bidirectional", json_object_new_boolean(true));
	if (p->window_bytes)
		ok &= add_number(o, "window", p->window_bytes);
	if (p->rate_bps)
		ok &= add_number(o, "bandwidth", p->rate_bps);
	if (p->congestion[0])
		ok &= add(o, "congestion", json_object_new_string(p->congestion));
	return ok;
}

int wire_params_encode(const struct wire_params *p, struct buf *out, struct err *e)
{
	_cleanup_(object_put) struct json_object *o = json_object_new_object();
	bool ok = o != NULL;

	ok = ok && add(o, p->udp ? "udp" : "tcp", json_object_new_boolean(true));
	ok = ok && add_number(o, "omit", p->omit_s);
	ok = ok && add_number(o, "time", p->time_s);
	ok = ok && add_number(o, "num", p->bytes);
	ok = ok && add_number(o, "blockcount", p->blocks);
	ok = ok && add_number(o, "parallel", p->streams);
	ok = ok && add_number(o, "len", p->length_bytes);
	ok = ok && add_number(o, "pacing_timer", 1000);
	ok = ok && add(o, "client_version", json_object_new_string(p->version));
	ok = ok && add_options(o, p);
	return emit(o, ok, out, e);
}

static struct json_object *stream_json(const struct wire_stream *s)
{
	_cleanup_(object_put) struct json_object *o = json_object_new_object();
	bool ok = o != NULL;

	ok = ok && add_number(o, "id", s->id);
	ok = ok && add_number(o, "bytes", s->bytes);
	ok = ok && add(o, "retransmits", json_object_new_int64(s->retransmits));
	ok = ok && add_number(o, "jitter", 0);
	ok = ok && add_number(o, "errors", 0);
	ok = ok && add_number(o, "packets", 0);
	ok = ok && add(o, "start_time", json_object_new_double(s->start_s));
	ok = ok && add(o, "end_time", json_object_new_double(s->end_s));
	return ok ? take_ptr(o) : NULL;
}

int wire_results_encode(const struct wire_results *res, struct buf *out, struct err *e)
{
	_cleanup_(object_put) struct json_object *o = json_object_new_object();
	_cleanup_(object_put) struct json_object *streams = json_object_new_array();
	bool sender = res->nr > 0 && res->streams[0].retransmits != WIRE_UNKNOWN;
	bool ok = o && streams;

	ok = ok && add(o, "cpu_util_total", json_object_new_double(res->cpu_total));
	ok = ok && add(o, "cpu_util_user", json_object_new_double(res->cpu_user));
	ok = ok && add(o, "cpu_util_system", json_object_new_double(res->cpu_system));
	ok = ok && add(o, "sender_has_retransmits", json_object_new_int64(sender ? 1 : -1));
	if (res->congestion[0])
		ok = ok && add(o, "congestion_used", json_object_new_string(res->congestion));
	for (unsigned int i = 0; ok && i < res->nr; i++) {
		struct json_object *s = stream_json(&res->streams[i]);

		ok = s && json_object_array_add(streams, s) == 0;
		if (!ok)
			json_object_put(s);
	}
	ok = ok && add(o, "streams", take_ptr(streams));
	return emit(o, ok, out, e);
}

static int parse(const char *text, size_t len, size_t max, struct json_object **ret, struct err *e)
{
	_cleanup_(json_tokener_freep) struct json_tokener *t = json_tokener_new_ex(DEPTH_MAX);
	_cleanup_(object_put) struct json_object *o = NULL;

	if (!t)
		return err_nomem(e, "iperf3 control message");
	if (len > max)
		return err_set(e, -EBADMSG, "message of %zu bytes, at most %zu allowed", len, max);
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

static int decode_flags(struct json_object *o, struct wire_params *p, struct err *e)
{
	bool tcp = false, sctp = false;

	if (read_bool(o, "tcp", &tcp, e) < 0 || read_bool(o, "udp", &p->udp, e) < 0 ||
	    read_bool(o, "sctp", &sctp, e) < 0 || read_bool(o, "reverse", &p->reverse, e) < 0 ||
	    read_bool(o, "bidirectional", &p->bidir, e) < 0 ||
	    read_bool(o, "nodelay", &p->nodelay, e) < 0)
		return e->code;
	if (tcp + p->udp + sctp != 1 || sctp)
		return err_set(e, -EBADMSG, "neither \"tcp\" nor \"udp\" is asked for");
	return 0;
}

int wire_params_decode(const char *text, size_t len, struct wire_params *ret, struct err *e)
{
	_cleanup_(object_put) struct json_object *o = NULL;
	struct wire_params p = { .streams = 1 };
	uint64_t length = 0;
	int r = parse(text, len, WIRE_PARAMS_MAX, &o, e);

	if (r >= 0)
		r = decode_flags(o, &p, e);
	if (r < 0)
		return err_wrap(e, "parameters");
	if (read_uint(o, "parallel", WIRE_STREAMS_MAX, &p.streams, e) < 0 ||
	    read_uint(o, "time", WIRE_TIME_MAX_S, &p.time_s, e) < 0 ||
	    read_uint(o, "omit", 600, &p.omit_s, e) < 0 ||
	    read_uint(o, "window", WIRE_WINDOW_MAX, &p.window_bytes, e) < 0 ||
	    read_count(o, "num", UINT64_MAX, &p.bytes, e) < 0 ||
	    read_count(o, "blockcount", UINT64_MAX, &p.blocks, e) < 0 ||
	    read_count(o, "bandwidth", UINT64_MAX, &p.rate_bps, e) < 0 ||
	    read_count(o, "len", WIRE_LENGTH_MAX, &length, e) < 0 ||
	    read_text(o, "congestion", p.congestion, sizeof(p.congestion), e) < 0 ||
	    read_text(o, "client_version", p.version, sizeof(p.version), e) < 0)
		return err_wrap(e, "parameters");
	if (p.streams == 0)
		return err_set(e, -EBADMSG, "parameters: \"parallel\" is 0");
	p.length_bytes = length;
	*ret = p;
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
	    read_double(o, "start_time", &s.start_s, e) < 0 ||
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
	if (nr > WIRE_STREAMS_MAX)
		return err_set(e, -EBADMSG, "%zu streams, at most %d allowed", nr,
			       WIRE_STREAMS_MAX);
	for (; res->nr < nr; res->nr++)
		if (decode_stream(json_object_array_get_idx(list, res->nr), &res->streams[res->nr],
				  e) < 0)
			return e->code;
	return 0;
}

int wire_results_decode(const char *text, size_t len, struct wire_results *ret, struct err *e)
{
	_cleanup_(object_put) struct json_object *o = NULL;
	_cleanup_(free_charp) char *owner = NULL;
	struct wire_results *res = calloc(1, sizeof(*res));

	owner = (char *)res;
	if (!res)
		return err_nomem(e, "results");
	if (parse(text, len, WIRE_RESULTS_MAX, &o, e) < 0 ||
	    read_double(o, "cpu_util_total", &res->cpu_total, e) < 0 ||
	    read_double(o, "cpu_util_user", &res->cpu_user, e) < 0 ||
	    read_double(o, "cpu_util_system", &res->cpu_system, e) < 0 ||
	    read_text(o, "congestion_used", res->congestion, sizeof(res->congestion), e) < 0 ||
	    decode_streams(o, res, e) < 0)
		return err_wrap(e, "results");
	*ret = *res;
	return 0;
}
