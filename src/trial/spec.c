// SPDX-License-Identifier: GPL-3.0-or-later
#include "trial/spec.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_field.h"

static void add_string(struct json_object *o, const char *key, const char *value)
{
	if (value)
		json_object_object_add(o, key, json_object_new_string(value));
}

static void add_u64(struct json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

/* Copy of an optional string field; absent stays NULL. */
static int take_string(struct json_object *o, const char *key, char **ret, struct err *e)
{
	const char *s = json_field_string(o, key);

	if (!s)
		return 0;
	*ret = strdup(s);
	return *ret ? 0 : err_nomem(e, key);
}

static int take_instances(struct json_object *o, const char *key, struct instances *ret,
			  struct err *e)
{
	int r = instances_from_json(json_field_array(o, key), ret, e);

	return r < 0 ? err_wrap(e, "message field \"%s\"", key) : 0;
}

static int take_u64(struct json_object *o, const char *key, uint64_t *ret, struct err *e)
{
	if (!json_field_u64(o, key, ret))
		return err_set(e, -EBADMSG, "message field \"%s\" is not a whole number", key);
	return 0;
}

void bench_spec_release(struct bench_spec *s)
{
	free(s->addr);
	free(s->dut);
	free(s->before);
	instances_release(&s->setup);
	audit_goal_release(&s->goal);
	*s = (struct bench_spec){};
}

struct json_object *bench_spec_to_json(const struct bench_spec *s)
{
	struct json_object *o = json_object_new_object();

	add_u64(o, "peer", s->peer);
	add_string(o, "addr", s->addr);
	add_u64(o, "port", s->port);
	add_string(o, "dut", s->dut);
	add_u64(o, "commands", s->commands);
	json_object_object_add(o, "setup", instances_to_json(&s->setup));
	json_object_object_add(o, "goal", audit_goal_to_json(&s->goal));
	add_u64(o, "fix", s->fix);
	add_u64(o, "identify", s->identify);
	add_string(o, "before", s->before);
	return o;
}

int bench_spec_from_json(struct json_object *o, struct bench_spec *ret, struct err *e)
{
	_cleanup_(bench_spec_release) struct bench_spec s = {};
	uint64_t peer = 0, port = 0, commands = 0, fix = 0, identify = 0;
	int r = take_u64(o, "peer", &peer, e);

	if (r >= 0)
		r = take_u64(o, "port", &port, e);
	if (r >= 0 && (peer > PEER_HOST || port > UINT16_MAX))
		r = err_set(e, -EBADMSG, "message names an unknown kind of peer");
	if (r >= 0)
		r = take_string(o, "addr", &s.addr, e);
	if (r >= 0)
		r = take_string(o, "dut", &s.dut, e);
	if (r >= 0)
		r = take_u64(o, "commands", &commands, e);
	if (r >= 0)
		r = take_instances(o, "setup", &s.setup, e);
	if (r >= 0)
		r = audit_goal_from_json(json_field_object(o, "goal"), &s.goal, e);
	if (r >= 0)
		r = take_string(o, "before", &s.before, e);
	if (r >= 0)
		r = take_u64(o, "fix", &fix, e);
	if (r >= 0)
		r = take_u64(o, "identify", &identify, e);
	if (r < 0)
		return r;
	s.commands = commands != 0;
	s.fix = fix != 0;
	s.identify = identify != 0;
	s.peer = (enum peer_kind)peer;
	s.port = (uint16_t)port;
	*ret = s;
	s = (struct bench_spec){};
	return 0;
}

void trial_spec_release(struct trial_spec *s)
{
	free(s->variant);
	free(s->scenario);
	instances_release(&s->knobs);
	instances_release(&s->loads);
	instances_release(&s->probes);
	*s = (struct trial_spec){};
}

struct json_object *trial_spec_to_json(const struct trial_spec *s)
{
	struct json_object *o = json_object_new_object();

	add_string(o, "variant", s->variant);
	add_string(o, "scenario", s->scenario);
	add_u64(o, "seed", s->seed);
	add_u64(o, "settle_ns", s->settle_ns);
	add_u64(o, "warmup_ns", s->warmup_ns);
	add_u64(o, "duration_ns", s->duration_ns);
	json_object_object_add(o, "knobs", instances_to_json(&s->knobs));
	json_object_object_add(o, "loads", instances_to_json(&s->loads));
	json_object_object_add(o, "probes", instances_to_json(&s->probes));
	return o;
}

static int take_times(struct json_object *o, struct trial_spec *s, struct err *e)
{
	int r = take_u64(o, "seed", &s->seed, e);

	if (r >= 0)
		r = take_u64(o, "settle_ns", &s->settle_ns, e);
	if (r >= 0)
		r = take_u64(o, "warmup_ns", &s->warmup_ns, e);
	return r < 0 ? r : take_u64(o, "duration_ns", &s->duration_ns, e);
}

int trial_spec_from_json(struct json_object *o, struct trial_spec *ret, struct err *e)
{
	_cleanup_(trial_spec_release) struct trial_spec s = {};
	int r = take_times(o, &s, e);

	if (r >= 0)
		r = take_string(o, "variant", &s.variant, e);
	if (r >= 0)
		r = take_string(o, "scenario", &s.scenario, e);
	if (r >= 0)
		r = take_instances(o, "knobs", &s.knobs, e);
	if (r >= 0)
		r = take_instances(o, "loads", &s.loads, e);
	if (r >= 0)
		r = take_instances(o, "probes", &s.probes, e);
	if (r >= 0 && (!s.variant || !s.scenario))
		r = err_set(e, -EBADMSG, "a trial needs its variant and scenario");
	if (r < 0)
		return r;
	*ret = s;
	s = (struct trial_spec){};
	return 0;
}
