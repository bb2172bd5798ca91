// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "base/err.h"

int signals_open(struct err *e)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	errno = pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (errno)
		return err_sys(e, "block signals");
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	return fd < 0 ? err_sys(e, "signalfd") : fd;
}
