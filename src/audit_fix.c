// SPDX-License-Identifier: GPL-3.0-or-later
#include "audit_fix.h"

#include <errno.h>
#include <json-c/json.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/machine.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/json_field.h"
#include "base/signals.h"
#include "cmdline.h"
#include "registry.h"
#include "trial/spec.h"
#include "trial/trial.h"

static void say_one(struct json_object *o)
{
	struct json_object *knob = json_field_object(o, "knob");
	const char *plugin = json_field_string(knob, "plugin"),
		   *refused = json_field_string(o, "refused");
	struct json_object *settings = json_field_object(knob, "settings");

	fprintf(stderr, "irqlab: %s %s %s%s%s\n",
		refused ? "not set:" : "set:", plugin ? plugin : "?",
		settings ? json_object_to_json_string(settings) : "", refused ? ": " : "",
		refused ? refused : "");
}

static void say(const struct bench *b)
{
	_cleanup_(json_putp) struct json_object *env = bench_env(b);
	struct json_object *list = json_field_array(json_field_object(env, "audit"), "mended");
	size_t nr = list ? json_object_array_length(list) : 0;

	for (size_t i = 0; i < nr; i++)
		say_one(json_object_array_get_idx(list, i));
	if (!nr)
		fputs("irqlab: nothing that a knob could mend was found\n", stderr);
}

static int start(char **argv, pid_t *ret, struct err *e)
{
	posix_spawnattr_t attr;
	sigset_t none;
	extern char **environ;
	int r;

	/* this process has the signals that end it blocked; the command has not */
	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	r = posix_spawnp(ret, argv[0], NULL, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	errno = r;
	return r ? err_sys(e, "start %s", argv[0]) : 0;
}

/* Until @pid has ended.  Ctrl-C reaches it from the terminal; what is sent to us alone is passed
 * on. */
static int await(pid_t pid, int signal_fd, struct err *e)
{
	_cleanup_(close_fdp) int pid_fd = pidfd_open(pid, 0);
	struct pollfd fds[] = { { .fd = pid_fd, .events = POLLIN },
				{ .fd = signal_fd, .events = POLLIN } };
	int status = 0;

	while (pid_fd >= 0 && !(fds[0].revents & POLLIN)) {
		struct signalfd_siginfo info;

		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			break;
		if (fds[1].revents & POLLIN && read(signal_fd, &info, sizeof(info)) == sizeof(info))
			kill(pid, info.ssi_signo == SIGINT ? 0 : (int)info.ssi_signo);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(e, "wait for the command");
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run(char **argv, struct err *e)
{
	_cleanup_(close_fdp) int signal_fd = signals_open(e);
	pid_t pid = -1;
	int r = signal_fd < 0 ? signal_fd : start(argv, &pid, e);

	return r < 0 ? r : await(pid, signal_fd, e);
}

/* @dev, or when it is "" the netdev of the default route; NULL: there is none. */
static int name_dev(const char *dev, char **ret, struct err *e)
{
	_cleanup_(host_release) struct host host = {};
	char name[IFNAMSIZ];

	machine_open(&host);
	machine_default_dev(host.proc_fd, name);
	if (!*dev && !*name)
		return 0;
	*ret = strdup(*dev ? dev : name);
	return *ret ? 0 : err_nomem(e, dev);
}

int audit_fix(char **argv, const char *dev, struct err *e)
{
	_cleanup_(bench_spec_release) struct bench_spec spec = { .peer = PEER_NONE, .fix = true };
	struct bench *b = NULL;
	struct err undo = {};
	int r;

	if (geteuid() != 0) {
		err_set(e, -EPERM,
			"audit --fix changes settings of the machine; run it as root: "
			"sudo irqlab audit --fix -- COMMAND");
		return EXIT_CANNOT;
	}
	r = name_dev(dev, &spec.dut, e);
	if (r >= 0)
		r = audit_goal_any(&spec.goal, e);
	if (r >= 0)
		r = bench_open(&b, &spec, &all_plugins, e);
	if (r < 0)
		return r == -EBUSY || r == -EACCES || r == -EPERM || r == -EROFS ? EXIT_CANNOT : r;
	say(b);
	r = run(argv, e);
	if (bench_close(b, &undo) < 0) {
		*e = undo;
		return EXIT_NOT_RESTORED;
	}
	return r;
}
