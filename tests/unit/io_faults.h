/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IO_FAULTS_H
#define IO_FAULTS_H

/*
 * Operations of our own code on files, threads and devices that fail, or kill the process, on
 * demand; those of libraries do not.  The test's executable is linked with io_args
 * (tests/unit/meson.build).
 *
 *	for (int n = 1;; n++) {
 *		io_faults(n, IO_FAIL_ONCE);
 *		r = function_under_test();
 *		if (io_faults_end() < n)	// fewer than n were made: nothing failed
 *			break;
 *		...
 *	}
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum io_how {
	IO_FAIL_ONCE,	/* the n-th */
	IO_FAIL_FROM,	/* the n-th and all that follow */
	IO_KILL_BEFORE, /* SIGKILL instead of the n-th */
	IO_KILL_AFTER,	/* SIGKILL once the n-th is done */
};

static struct {
	int at; /* 0: none */
	int nr;
	enum io_how how;
	int error; /* 0: EIO */
} io;

static inline void io_faults(int at, enum io_how how)
{
	io.at = at;
	io.how = how;
	io.nr = 0;
}

/* No more faults. Return: how many operations there were. */
static inline int io_faults_end(void)
{
	io.at = 0;
	return io.nr;
}

static bool io_fails(void)
{
	if (io.at == 0)
		return false;
	io.nr++;
	if (io.how == IO_KILL_BEFORE && io.nr == io.at)
		kill(getpid(), SIGKILL);
	errno = io.error ? io.error : EIO;
	return (io.how == IO_FAIL_ONCE && io.nr == io.at) ||
	       (io.how == IO_FAIL_FROM && io.nr >= io.at);
}

static long io_done(long r)
{
	if (io.at && io.how == IO_KILL_AFTER && io.nr == io.at)
		kill(getpid(), SIGKILL);
	return r;
}

/* __real_ and __wrap_ of a function with these parameters, called with these arguments */
#define IO_WRAP(type, name, params, args)                                         \
	type __real_##name params;                                                \
	type __wrap_##name params;                                                \
	type __wrap_##name params                                                 \
	{                                                                         \
		return io_fails() ? (type)-1 : (type)io_done(__real_##name args); \
	}

/* clang-format off */
IO_WRAP(ssize_t, read, (int fd, void *data, size_t len), (fd, data, len))
IO_WRAP(ssize_t, write, (int fd, const void *data, size_t len), (fd, data, len))
IO_WRAP(ssize_t, pwrite64, (int fd, const void *data, size_t len, off_t at), (fd, data, len, at))
IO_WRAP(int, ftruncate64, (int fd, off_t len), (fd, len))
IO_WRAP(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags))
IO_WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode))
IO_WRAP(int, sched_getscheduler, (pid_t tid), (tid))
IO_WRAP(int, sched_setscheduler, (pid_t tid, int policy, const struct sched_param *p), (tid, policy, p))
IO_WRAP(int, sched_setaffinity, (pid_t tid, size_t len, const cpu_set_t *set), (tid, len, set))
IO_WRAP(int, sched_getaffinity, (pid_t tid, size_t len, cpu_set_t *set), (tid, len, set))
IO_WRAP(int, setpriority, (__priority_which_t which, id_t who, int nice), (which, who, nice))
/* clang-format on */

int __wrap_fsync(int fd);

/* Only a loss of power would tell the difference, and a disk that others use takes its time. */
int __wrap_fsync(int fd)
{
	return io_fails() ? -1 : (int)io_done(0);
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __real_openat64(int fd, const char *path, int flags, ...);
int __wrap_openat64(int fd, const char *path, int flags, ...);
int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
long __real_syscall(long nr, ...);
long __wrap_syscall(long nr, ...);

/* The one argument that may follow; where none was given it is not looked at. */
#define IO_REST(last, type)             \
	({                              \
		va_list ap_;            \
		type v_;                \
                                        \
		va_start(ap_, last);    \
		v_ = va_arg(ap_, type); \
		va_end(ap_);            \
		v_;                     \
	})

int __wrap_open64(const char *path, int flags, ...)
{
	mode_t mode = flags & O_CREAT ? IO_REST(flags, mode_t) : 0;

	return io_fails() ? -1 : (int)io_done(__real_open64(path, flags, mode));
}

int __wrap_openat64(int fd, const char *path, int flags, ...)
{
	mode_t mode = flags & O_CREAT ? IO_REST(flags, mode_t) : 0;

	return io_fails() ? -1 : (int)io_done(__real_openat64(fd, path, flags, mode));
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	void *arg = IO_REST(request, void *);

	return io_fails() ? -1 : (int)io_done(__real_ioctl(fd, request, arg));
}

/* Of at most five arguments: openat2(), sched_setattr(). */
long __wrap_syscall(long nr, ...)
{
	long v[5];
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 5; i++)
		v[i] = va_arg(ap, long);
	va_end(ap);
	return io_fails() ? -1 : io_done(__real_syscall(nr, v[0], v[1], v[2], v[3], v[4]));
}

#endif
