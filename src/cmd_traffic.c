// SPDX-License-Identifier: GPL-3.0-or-later

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "cmd.h"
#include "traffic/args.h"
#include "traffic/run.h"

/* timeout(1) sends its signal twice at once; who sends another one later has lost patience. */
#define INSIST_NS NS_PER_S

static atomic_bool interrupted;
static _Atomic uint64_t interrupted_ns; /* 0: not yet */

static void on_signal(int signo)
{
	uint64_t now = clock_mono_ns(), first = atomic_load(&interrupted_ns);
	int saved = errno;

	if (first && now - first >= INSIST_NS) {
		signal(signo, SIG_DFL);
		raise(signo);
	}
	if (first == 0)
		atomic_store(&interrupted_ns, now);
	atomic_store(&interrupted, true);
	traffic_wake();
	errno = saved;
}

static int print_help(struct err *e)
{
	_cleanup_(buf_release) struct buf help = {};

	if (args_help(&help) < 0)
		return err_nomem(e, "help");
	fputs(buf_str(&help), stdout);
	return EXIT_DONE;
}

static void warn(const struct traffic_args *a)
{
	_cleanup_(buf_release) struct buf idle = {};

	args_idle(a, &idle);
	fputs(buf_str(&idle), stderr);
}

static int write_pid(const char *path, struct err *e)
{
	_cleanup_(fclose_filep) FILE *f = fopen(path, "we");

	if (!f || fprintf(f, "%ld\n", (long)getpid()) < 0 || fflush(f) == EOF)
		return err_sys(e, "write the process id to %s", path);
	return 0;
}

static int run(const struct traffic_args *a, struct err *e)
{
	_cleanup_(fclose_filep) FILE *log = NULL;
	struct traffic_run t = { .args = a, .f = stdout, .interrupted = &interrupted };
	int r = 0;

	if (a->logfile) {
		log = fopen(a->logfile, "ae");
		if (!log)
			return err_sys(e, "open %s", a->logfile);
		t.f = log;
	}
	if (a->pidfile)
		r = write_pid(a->pidfile, e);
	if (r < 0)
		return r;
	if (a->server)
		r = traffic_server(&t, e);
	else
		r = a->sweep ? traffic_sweep(&t, e) : traffic_client(&t, e);
	if (a->pidfile)
		unlink(a->pidfile);
	if (log && r >= 0 && fflush(log) == EOF)
		return err_sys(e, "write the output to %s", a->logfile);
	if (log && r >= 0 && ferror(log))
		return err_set(e, -EIO,
			       "write the output to %s: some of it is missing; is there "
			       "room?",
			       a->logfile);
	return r;
}

static int traffic(int argc, char **argv, struct err *e)
{
	struct sigaction act = { .sa_handler = on_signal }, old_int, old_term, old_hup;
	struct traffic_args a;
	char why[sizeof(e->msg)];
	int r = args_parse(argc, argv, &a, e);

	if (r < 0) {
		snprintf(why, sizeof(why), "%s", e->msg);
		err_set(e, r, "traffic: %.900s; see: irqlab traffic --help", why);
		return EXIT_USAGE;
	}
	if (a.help)
		return print_help(e);
	if (a.version) {
		puts("irqlab " IRQLAB_VERSION);
		return EXIT_DONE;
	}
	warn(&a);
	atomic_store(&interrupted, false);
	atomic_store(&interrupted_ns, 0);
	sigaction(SIGINT, &act, &old_int);
	sigaction(SIGTERM, &act, &old_term);
	sigaction(SIGHUP, &act, &old_hup);
	r = run(&a, e);
	sigaction(SIGINT, &old_int, NULL);
	sigaction(SIGTERM, &old_term, NULL);
	sigaction(SIGHUP, &old_hup, NULL);
	return r;
}

const struct command cmd_traffic = {
	.name = "traffic",
	.help = "the traffic engine alone, with iperf3's options and output",
	.args = "-s | -c HOST",
	.raw = traffic,
	.raw_help = args_help,
	.example = "irqlab traffic -c 192.0.2.1 -t 10 -R",
};
