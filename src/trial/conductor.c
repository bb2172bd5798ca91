// SPDX-License-Identifier: GPL-3.0-or-later
#include "trial/conductor.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_field.h"
#include "sample/codec.h"
#include "trial/frame.h"
#include "trial/spec.h"

struct conductor {
	char *path;
	int fd; /* -1: no agent */
	int stop_fd;
	pid_t pid;
	bool open;     /* the bench is */
	bool stopping; /* "close" was sent in mid-trial */
	struct buf payload;
};

/* What happens to the messages of a trial. */
struct listener {
	const struct conductor_view *view; /* NULL: nobody looks */
	struct record_list *records;
};

static void run_agent(const char *path, int fd)
{
	/* between fork and exec: only async-signal-safe calls */
	setsid();
	if (dup2(fd, STDIN_FILENO) < 0)
		_exit(127);
	execl(path, path, (char *)NULL);
	_exit(127);
}

static int spawn(struct conductor *c, struct err *e)
{
	int pair[2];

	if (access(c->path, X_OK) < 0)
		return err_sys(e, "start %s (it is installed beside irqlab)", c->path);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "socketpair");
	c->pid = fork();
	if (c->pid == 0)
		run_agent(c->path, pair[1]);
	close(pair[1]);
	if (c->pid < 0) {
		close(pair[0]);
		return err_sys(e, "start %s", c->path);
	}
	c->fd = pair[0];
	return 0;
}

/* Close the line and wait; returns the wait status. */
static int reap(struct conductor *c)
{
	int status = 0;

	if (c->fd < 0)
		return 0;
	close(c->fd);
	c->fd = -1;
	c->open = false;
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int conductor_start(struct conductor **ret, const char *path, int stop_fd, struct err *e)
{
	struct conductor *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return err_nomem(e, "conductor");
	c->fd = -1;
	c->stop_fd = stop_fd;
	c->path = strdup(path);
	r = c->path ? spawn(c, e) : err_nomem(e, "conductor");
	if (r < 0) {
		free(c->path);
		free(c);
		return r;
	}
	*ret = c;
	return 0;
}

static int ask(struct conductor *c, const char *what, const char *key, struct json_object *spec,
	       struct err *e)
{
	_cleanup_(json_putp) struct json_object *o = json_object_new_object();

	json_object_object_add(o, "do", json_object_new_string(what));
	if (spec)
		json_object_object_add(o, key, spec);
	return frame_send_json(c->fd, o, e);
}

/* On a stop, ask the agent once to end; its answer still comes. */
static int wait_frame(struct conductor *c, struct err *e)
{
	struct pollfd fds[] = { { .fd = c->fd, .events = POLLIN },
				{ .fd = c->stopping ? -1 : c->stop_fd, .events = POLLIN } };

	while (poll(fds, ARRAY_SIZE(fds), -1) < 0)
		if (errno != EINTR)
			return err_sys(e, "wait for the agent");
	if (!fds[1].revents)
		return 0;
	c->stopping = true;
	return ask(c, "close", NULL, NULL, e);
}

static int take_error(struct json_object *msg, struct err *e)
{
	struct json_object *code = NULL;
	const char *text = json_field_string(msg, "message");
	int r = -EPROTO;

	if (json_object_object_get_ex(msg, "code", &code))
		r = json_object_get_int(code);
	return err_set(e, r < 0 ? r : -EPROTO, "%s",
		       text ? text : "the agent failed without a reason");
}

static int take_record(struct conductor *c, struct listener *l, struct err *e)
{
	struct record *rec = NULL;
	int r = codec_record_decode(c->payload.data, c->payload.len, &rec, e);

	if (r < 0)
		return r;
	if (!l) {
		record_free(rec);
		return err_set(e, -EPROTO, "a record outside of a trial");
	}
	return record_list_take(l->records, rec, e);
}

/* One JSON message. Return: 1 when it says @what, 0 when it is for the listener. */
static int take_message(struct conductor *c, struct json_object *msg, const char *what,
			const struct listener *l, struct err *e)
{
	const char *is = json_field_string(msg, "is"), *phase = json_field_string(msg, "phase");

	if (is && strcmp(is, what) == 0)
		return 1;
	if (is && strcmp(is, "error") == 0) {
		/* also of the "close" of a stop: either way there is no bench to close any more */
		c->open &= !c->stopping;
		return take_error(msg, e);
	}
	if (is && strcmp(is, "closed") == 0 && c->stopping) {
		c->open = false;
		return err_set(e, -ECANCELED, "ended by the user");
	}
	if (l && l->view && phase)
		l->view->phase(l->view->arg, phase);
	return 0;
}

/*
 * Messages until one that says @what; the listener gets what comes before.  "closed" after a stop
 * is -ECANCELED.  The end of the stream is -EPIPE.
 */
static int expect(struct conductor *c, const char *what, struct listener *l,
		  struct json_object **ret, struct err *e)
{
	for (;;) {
		_cleanup_(json_putp) struct json_object *msg = NULL;
		int r = wait_frame(c, e);

		if (r >= 0)
			r = frame_receive(c->fd, &c->payload, e);
		if (r == 0)
			return err_set(e, -EPIPE, "the agent ended");
		if (r == FRAME_RECORD)
			r = take_record(c, l, e);
		else if (r > 0 && frame_json(&c->payload, &msg, e) < 0)
			r = e->code;
		if (r >= 0 && msg)
			r = take_message(c, msg, what, l, e);
		if (r < 0)
			return r;
		if (r > 0 && msg) {
			*ret = take_ptr(msg);
			return 0;
		}
	}
}

/* Does a journal list anything to undo? It is removed when nothing is open. */
static bool journal_is_there(void)
{
	_cleanup_(buf_release) struct buf path = {};

	buf_printf(&path, "%s/journal", bench_state_dir());
	return path.failed || access(buf_str(&path), F_OK) == 0;
}

/* The agent is gone: let a new one undo what its journal lists. */
static int after_death(struct conductor *c, struct err *e)
{
	_cleanup_(json_putp) struct json_object *msg = NULL;
	int status = reap(c), r;
	bool killed = WIFSIGNALED(status);
	int how = killed ? WTERMSIG(status) : WEXITSTATUS(status);
	struct err undo = {};

	r = spawn(c, &undo);
	if (r >= 0)
		r = ask(c, "restore", NULL, NULL, &undo);
	if (r >= 0)
		r = expect(c, "restored", NULL, &msg, &undo);
	reap(c);
	if (r >= 0 || !journal_is_there())
		return err_set(e, -EPIPE, "the agent (%s) %s %d; the machine is as it was", c->path,
			       killed ? "was killed by signal" : "ended with status", how);
	return err_set(e, -ENOTRECOVERABLE,
		       "the agent %s %d and undoing its changes failed: %s; try: irqlab restore",
		       killed ? "was killed by signal" : "ended with status", how, undo.msg);
}

static bool line_broke(int r)
{
	return r == -EPIPE || r == -EBADMSG || r == -ECONNRESET;
}

int conductor_open(struct conductor *c, const struct bench_spec *spec, struct json_object **ret_env,
		   struct err *e)
{
	_cleanup_(json_putp) struct json_object *msg = NULL;
	const char *version;
	int r = ask(c, "open", "bench", bench_spec_to_json(spec), e);

	if (r >= 0)
		r = expect(c, "ready", NULL, &msg, e);
	if (line_broke(r))
		return after_death(c, e);
	if (r < 0)
		return r;
	c->open = true;
	version = json_field_string(msg, "version");
	if (!version || strcmp(version, IRQLAB_VERSION) != 0)
		return err_set(e, -EPROTO,
			       "%s is of version %s, this is irqlab %s: install both again",
			       c->path, version ? version : "(none)", IRQLAB_VERSION);
	*ret_env = json_object_get(json_field_object(msg, "env"));
	return *ret_env ? 0 : err_set(e, -EPROTO, "the agent did not say what machine this is");
}

static int take_result(struct json_object *msg, struct trial_result *ret, struct err *e)
{
	const char *state = json_field_string(msg, "state"),
		   *reason = json_field_string(msg, "reason");
	struct trial_result result = {};

	if (!state || !json_field_u64(msg, "started_ns", &result.started_ns) ||
	    !json_field_u64(msg, "window_ns", &result.window_ns))
		return err_set(e, -EPROTO, "the agent's result is not complete");
	if (strcmp(state, "vetoed") == 0)
		result.state = TRIAL_VETOED;
	else if (strcmp(state, "ok") != 0)
		result.state = TRIAL_FAILED;
	if (result.state != TRIAL_OK)
		err_set(&result.reason, -EPROTO, "%s", reason ? reason : "no reason given");
	*ret = result;
	return 0;
}

int conductor_trial(struct conductor *c, const struct trial_spec *spec,
		    const struct conductor_view *view, struct record_list *records,
		    struct trial_result *ret, struct err *e)
{
	_cleanup_(record_list_release) struct record_list list = {};
	_cleanup_(json_putp) struct json_object *msg = NULL;
	struct listener l = { .view = view, .records = &list };
	int r;

	if (c->stopping)
		return err_set(e, -ECANCELED, "ended by the user");
	r = ask(c, "trial", "trial", trial_spec_to_json(spec), e);
	if (r >= 0)
		r = expect(c, "done", &l, &msg, e);
	if (line_broke(r))
		return after_death(c, e);
	if (r >= 0)
		r = take_result(msg, ret, e);
	if (r < 0)
		return r;
	*records = list;
	list = (struct record_list){};
	return 0;
}

int conductor_close(struct conductor *c, struct buf *others, struct err *e)
{
	_cleanup_(json_putp) struct json_object *msg = NULL;
	const char *lines;
	int r = 0;

	if (!c)
		return 0;
	if (c->open) {
		c->stop_fd = -1;
		r = c->stopping ? 0 : ask(c, "close", NULL, NULL, e);
		if (r >= 0)
			r = expect(c, "closed", NULL, &msg, e);
		if (line_broke(r))
			r = after_death(c, e);
		lines = msg ? json_field_string(msg, "others") : NULL;
		if (lines)
			buf_puts(others, lines);
	}
	reap(c);
	buf_release(&c->payload);
	free(c->path);
	free(c);
	return r;
}
