// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <json-c/json.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "load/server.h"
#include "traffic/address.h"
#include "traffic/args.h"
#include "traffic/out.h"
#include "traffic/run.h"
#include "traffic/view.h"

#define LISTEN_FIRST_FD 3 /* sd_listen_fds(3) */
#define RULE "-----------------------------------------------------------"

/* What the server shows; its callbacks come one at a time. */
struct show {
	const struct traffic_args *args;
	FILE *f;
	uint16_t port;
	const atomic_bool *interrupted;
	unsigned int running, tests;
};

/* One test of it. */
struct session_view {
	struct view *view;
	struct out out;
	struct buf copy;
};

static struct server *_Atomic running_server;

void traffic_wake(void)
{
	struct server *s = atomic_load(&running_server);

	if (s)
		server_wake(s);
}

static void listening(const struct show *s)
{
	struct out o = { .f = s->f, .timestamps = s->args->timestamps };

	if (s->args->json)
		return;
	out_line(&o, RULE);
	out_line(&o, "Server listening on %u (test #%u)", s->port, s->tests + 1);
	out_line(&o, RULE);
	out_flush(&o);
}

static void on_said(void *ctx, const char *line)
{
	const struct show *s = ctx;
	struct out o = { .f = s->args->json ? stderr : s->f, .timestamps = s->args->timestamps };

	out_line(&o, "%s%s", s->args->json ? "irqlab traffic: " : "", line);
	out_flush(&o);
}

/* While several tests run, each line says of which it is. */
static struct view *view_of(const struct show *s, const struct server_test *t)
{
	struct session_view *sv = t->view;

	if (!sv)
		return NULL;
	/* and goes on so until its end */
	if (s->running > 1)
		snprintf(sv->out.session, sizeof(sv->out.session), "#%u ", t->nr);
	return sv->view;
}

static void say_accepted(struct session_view *sv, const char *client)
{
	struct address a;

	address_split(client, &a);
	out_line(&sv->out, "Accepted connection from %s, port %u", a.host, a.port);
}

static void on_began(void *ctx, struct server_test *t)
{
	struct show *s = ctx;
	struct session_view *sv = calloc(1, sizeof(*sv));
	struct view_cfg cfg = {
		.nr = t->nr, .peer = t->client, .cookie = t->cookie, .params = t->params
	};
	unsigned int nr = 0;

	s->running++;
	s->tests = t->nr > s->tests ? t->nr : s->tests;
	if (!sv)
		return;
	sv->out = (struct out){ .f = s->f, .timestamps = s->args->timestamps };
	if (t->params->get_server_output && !s->args->json)
		sv->out.copy = &sv->copy;
	sv->view = view_new(s->args, &sv->out, 'S');
	if (!sv->view) {
		free(sv);
		return;
	}
	t->view = sv;
	view_of(s, t);
	if (!s->args->json)
		say_accepted(sv, t->client);
	/* what the client sends comes first on the wire */
	if (t->rx)
		cfg.flow[nr++] = t->rx;
	if (t->tx)
		cfg.flow[nr] = t->tx;
	view_began(sv->view, &cfg);
}

static void on_tick(void *ctx, struct server_test *t)
{
	struct view *v = view_of(ctx, t);

	if (v)
		view_interval(v);
}

static void totals(struct view *v, const struct server_test *t)
{
	if (!t->mine)
		return;
	if (!v->ended)
		view_tail(v);
	view_ended(v, t->mine, t->theirs);
}

/* The client sees what the server has printed up to here, with the totals of both ends. */
static void on_output(void *ctx, struct server_test *t, struct buf *out, bool *ret_is_json)
{
	struct view *v = view_of(ctx, t);
	struct session_view *sv = t->view;

	if (!v)
		return;
	totals(v, t);
	*ret_is_json = v->args->json;
	if (v->args->json)
		buf_puts(out, json_object_to_json_string_ext(v->root, JSON_C_TO_STRING_PLAIN));
	else
		buf_puts(out, buf_str(&sv->copy));
}

static void on_ended(void *ctx, struct server_test *t)
{
	struct show *s = ctx;
	struct view *v = view_of(s, t);
	struct session_view *sv = t->view;

	if (v) {
		totals(v, t);
		view_flush(v, t->why);
		view_free(v);
		buf_release(&sv->copy);
		free(sv);
	}
	t->view = NULL;
	s->running--;
	if (s->running == 0 && !s->args->one_off && !atomic_load(s->interrupted))
		listening(s);
}

/* The socket that systemd listens on for us; -1: none, -EINVAL: more than one. */
static int activated_fd(struct err *e)
{
	/* the environment is read before any thread: NOLINTBEGIN(concurrency-mt-unsafe) */
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	uint64_t owner = 0, nr = 0;
	int listens = 0;
	socklen_t len = sizeof(listens);

	if (!pid || !fds || text_u64(pid, &owner) < 0 || owner != (uint64_t)getpid() ||
	    text_u64(fds, &nr) < 0 || nr == 0)
		return -1;
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	/* NOLINTEND(concurrency-mt-unsafe) */
	if (nr > 1)
		return err_set(e, -EINVAL,
			       "LISTEN_FDS: %llu sockets; write one ListenStream= in the unit",
			       (unsigned long long)nr);
	if (getsockopt(LISTEN_FIRST_FD, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0 || !listens)
		return err_set(e, -EINVAL,
			       "LISTEN_FDS: descriptor 3 is no listening socket; the unit needs "
			       "ListenStream= and Accept=no");
	return LISTEN_FIRST_FD;
}

static int serve(struct server *s, const struct traffic_run *run, struct err *e)
{
	int r;

	atomic_store(&running_server, s);
	/* a signal before that found no server */
	if (atomic_load(run->interrupted))
		server_wake(s);
	r = server_run(s, e);
	atomic_store(&running_server, NULL);
	return r;
}

int traffic_server(const struct traffic_run *run, struct err *e)
{
	const struct traffic_args *a = run->args;
	_cleanup_(server_closep) struct server *s = NULL;
	struct show show = { .args = a, .f = run->f, .interrupted = run->interrupted };
	struct server_cfg cfg = { .bind = a->bind,
				  .family = a->v4   ? AF_INET
					    : a->v6 ? AF_INET6
						    : AF_UNSPEC,
				  .port = (uint16_t)a->port,
				  .one_off = a->one_off,
				  .cpu = a->cpu,
				  .max_clients = (unsigned int)a->max_clients,
				  .max_duration_ns = a->max_duration_s * NS_PER_S,
				  .max_bps = a->max_bps,
				  .idle_ns = a->idle_s ? a->idle_s * NS_PER_S
						       : a->receive_timeout_ms * NS_PER_MS,
				  .interval_ns = (uint64_t)(a->interval_s * 1e9),
				  .watch = { .ctx = &show,
					     .said = on_said,
					     .began = on_began,
					     .tick = on_tick,
					     .output = on_output,
					     .ended = on_ended } };
	int r;

	/*
	 * Sessions allocate little and seldom, each in a thread of its own: with an arena for each
	 * of them, what hundreds of clients needed once would stay for ever.
	 */
	mallopt(M_ARENA_MAX, 2); /* no thread is there yet: NOLINT(concurrency-mt-unsafe) */
	cfg.listen_fd = activated_fd(e);
	if (cfg.listen_fd < -1)
		return cfg.listen_fd;
	r = server_open(&s, &cfg, e);
	if (r < 0)
		return r;
	show.port = server_port(s);
	listening(&show);
	r = serve(s, run, e);
	return r < 0 ? r : 0;
}
