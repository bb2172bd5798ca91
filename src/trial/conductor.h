/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TRIAL_CONDUCTOR_H
#define TRIAL_CONDUCTOR_H

/*
 * The conductor's end of the conversation with the agent.  It changes nothing on the machine
 * itself; when the agent dies under it, a new agent is started to undo what the first one left.
 */

#include <stdint.h>

#include "sample/sample.h"
#include "trial/trial.h"

struct buf;
struct conductor;
struct err;
struct json_object;

/*
 * Start the agent (@path: the executable).  @stop_fd becomes readable when the user wants to end
 * (-1: never); the agent has a session of its own, so Ctrl-C reaches the conductor alone.
 */
int conductor_start(struct conductor **ret, const char *path, int stop_fd, struct err *e);
/* Open the bench; @ret_env is a new JSON object. Errors are the agent's own. */
int conductor_open(struct conductor *c, const struct bench_spec *spec, struct json_object **ret_env,
		   struct err *e);

/* Who is told how a trial proceeds: "settle", "warm-up", "window". */
struct conductor_view {
	void (*phase)(void *arg, const char *name);
	void *arg;
};

/*
 * One trial; @view may be NULL.  @records receives all records on success.
 * Return: 0; -ECANCELED after a stop: the trial is void and the bench closed; -EPIPE when the agent
 * died: another one has undone what it left (-ENOTRECOVERABLE when that failed) and both are gone.
 */
int conductor_trial(struct conductor *c, const struct trial_spec *spec,
		    const struct conductor_view *view, struct record_list *records,
		    struct trial_result *ret, struct err *e);
/*
 * Close the bench if it is open, end and reap the agent; frees @c. -ENOTRECOVERABLE as above.
 * @others receives a line for each setting of the setup that somebody else has changed meanwhile
 * and that was left alone.
 */
int conductor_close(struct conductor *c, struct buf *others, struct err *e);

#endif
