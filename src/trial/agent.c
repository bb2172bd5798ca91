// SPDX-License-Identifier: GPL-3.0-or-later
#include "trial/agent.h"

#include <errno.h>
#include <json-c/json.h>
#include <poll.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json_field.h"
#include "trial/frame.h"
#include "trial/spec.h"
#include "trial/trial.h"

struct agent {
	struct trial_host host; /* first: wait_until() and phase() get a pointer to it */
	struct sample_sink sink;
	int fd, signal_fd;
	const struct trial_plugins *plugins;
	struct bench *bench;
};

static struct agent *of_host(struct trial_host *h)
{
	return (struct agent *)((char *)h - offsetof(struct agent, host));
}

static struct agent *of_sink(struct sample_sink *s)
{
	return (struct agent *)((char *)s - offsetof(struct agent, sink));
}

static struct json_object *says(const char *what)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "is", json_object_new_string(what));
	return o;
}

static int reply(struct agent *a, struct json_object *o, struct err *e)
{
	int r = frame_send_json(a->fd, o, e);

	json_object_put(o);
	return r;
}

static int reply_error(struct agent *a, const struct err *what, struct err *e)
{
	struct json_object *o = says("error");

	json_object_object_add(o, "code", json_object_new_int(what->code));
	json_object_object_add(o, "message", json_object_new_string(what->msg));
	return reply(a, o, e);
}

/*
 * Between two messages the conductor is silent: anything readable in mid-trial is "close" or the
 * end of the stream, and both end the trial.
 */
static int agent_wait(struct trial_host *h, uint64_t deadline_ns, struct err *e)
{
	struct agent *a = of_host(h);
	struct pollfd fds[] = { { .fd = a->fd, .events = POLLIN },
				{ .fd = a->signal_fd, .events = POLLIN } };

	for (;;) {
		uint64_t now = clock_mono_ns();
		struct timespec left = clock_timespec(deadline_ns > now ? deadline_ns - now : 0);
		int n = ppoll(fds, ARRAY_SIZE(fds), &left, NULL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "wait");
		if (n > 0)
			return err_set(e, -ECANCELED, "the run was ended");
		return 0;
	}
}

static int agent_phase(struct trial_host *h, const char *name, struct err *e)
{
	struct json_object *o = says("phase");

	json_object_object_add(o, "phase", json_object_new_string(name));
	return reply(of_host(h), o, e);
}

static int agent_emit(struct sample_sink *s, const struct record *rec, struct err *e)
{
	return frame_send_record(of_sink(s)->fd, rec, e);
}

static int do_open(struct agent *a, struct json_object *msg, struct err *e)
{
	_cleanup_(bench_spec_release) struct bench_spec spec = {};
	struct json_object *o;
	int r = a->bench ? err_set(e, -EALREADY, "the bench is open already")
			 : bench_spec_from_json(json_field_object(msg, "bench"), &spec, e);

	if (r >= 0)
		r = bench_open(&a->bench, &spec, a->plugins, e);
	if (r < 0)
		return r;
	o = says("ready");
	json_object_object_add(o, "version", json_object_new_string(IRQLAB_VERSION));
	json_object_object_add(o, "env", bench_env(a->bench));
	return reply(a, o, e);
}

static int do_trial(struct agent *a, struct json_object *msg, struct err *e)
{
	static const char *const states[] = { "ok", "vetoed", "failed" };
	_cleanup_(trial_spec_release) struct trial_spec spec = {};
	struct trial_result result = {};
	struct json_object *o;
	int r = a->bench ? trial_spec_from_json(json_field_object(msg, "trial"), &spec, e)
			 : err_set(e, -EINVAL, "a trial before \"open\"");

	if (r >= 0)
		r = trial_run(a->bench, &spec, &a->host, &a->sink, &result, e);
	if (r < 0)
		return r;
	o = says("done");
	json_object_object_add(o, "state", json_object_new_string(states[result.state]));
	if (result.state != TRIAL_OK)
		json_object_object_add(o, "reason", json_object_new_string(result.reason.msg));
	json_object_object_add(o, "started_ns", json_object_new_uint64(result.started_ns));
	json_object_object_add(o, "window_ns", json_object_new_uint64(result.window_ns));
	return reply(a, o, e);
}

static int do_close(struct agent *a, struct err *e)
{
	_cleanup_(buf_release) struct buf others = {};
	int r = bench_close_telling(take_ptr(a->bench), &others, e);
	struct json_object *o;

	if (r < 0)
		return r;
	o = says("closed");
	if (others.len)
		json_object_object_add(o, "others", json_object_new_string(buf_str(&others)));
	return reply(a, o, e);
}

static int do_restore(struct agent *a, struct err *e)
{
	int r = bench_restore(a->plugins, e);

	return r < 0 ? r : reply(a, says("restored"), e);
}

static int dispatch(struct agent *a, struct json_object *msg, struct err *e)
{
	const char *what = json_field_string(msg, "do");

	if (what && strcmp(what, "open") == 0)
		return do_open(a, msg, e);
	if (what && strcmp(what, "trial") == 0)
		return do_trial(a, msg, e);
	if (what && strcmp(what, "restore") == 0)
		return do_restore(a, e);
	if (what && strcmp(what, "close") == 0)
		return do_close(a, e);
	return err_set(e, -EBADMSG, "unknown request \"%s\"", what ? what : "");
}

/* One request. Return: > 0 to go on, 0 at the end of the conversation. */
static int serve_one(struct agent *a, struct buf *payload, struct err *e)
{
	struct pollfd fds[] = { { .fd = a->fd, .events = POLLIN },
				{ .fd = a->signal_fd, .events = POLLIN } };
	_cleanup_(json_putp) struct json_object *msg = NULL;
	struct err why = {};
	int r;

	while (poll(fds, ARRAY_SIZE(fds), -1) < 0)
		if (errno != EINTR)
			return err_sys(e, "wait for the conductor");
	if (fds[1].revents)
		return 0;
	r = frame_receive(a->fd, payload, e);
	if (r <= 0)
		return r;
	r = frame_json(payload, &msg, &why);
	if (r >= 0)
		r = dispatch(a, msg, &why);
	if (r == -ECANCELED) /* nobody waits for the trial's result */
		return 1;
	if (r < 0)
		r = reply_error(a, &why, e);
	return r < 0 ? r : 1;
}

int agent_serve(int fd, int signal_fd, const struct trial_plugins *plugins, struct err *e)
{
	_cleanup_(buf_release) struct buf payload = {};
	struct agent a = { .host = { .wait_until = agent_wait, .phase = agent_phase },
			   .sink = { .emit = agent_emit },
			   .fd = fd,
			   .signal_fd = signal_fd,
			   .plugins = plugins };
	struct err undo = {};
	int r;

	do {
		r = serve_one(&a, &payload, e);
	} while (r > 0);
	if (bench_close(a.bench, &undo) < 0) {
		*e = undo;
		return undo.code;
	}
	return r;
}
