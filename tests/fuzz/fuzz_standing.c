// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What /proc/self says of a process that was refused a real-time thread (status, limits, uid_map,
 * cgroup), each any bytes: there is always a message with a remedy, and never a crash.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/host.h"
#include "probe/wakeup_lanes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = { "status", "limits", "uid_map", "cgroup" };

static char path[] = "/dev/shm/irqlab-fuzz-XXXXXX";

static void remove_root(void)
{
	char name[64];

	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "%s/self/%s", path, names[i]);
		unlink(name);
	}
	snprintf(name, sizeof(name), "%s/self", path);
	rmdir(name);
	rmdir(path);
}

/* A root of /proc whose files are written anew for each input. */
static int make_root(int files[4])
{
	int root;

	if (!mkdtemp(path))
		abort();
	atexit(remove_root);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	mkdirat(root, "self", 0700);
	for (int i = 0; i < 4; i++) {
		char name[32];

		snprintf(name, sizeof(name), "self/%s", names[i]);
		files[i] = openat(root, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		assert(files[i] >= 0);
	}
	return root;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int files[4], root = -1;
	const struct wakeup_ask ask = { WAKEUP_FIFO, 98, 3 };
	struct host host = { .dev_fd = -1 };
	struct err e = {};

	if (root < 0)
		root = make_root(files);
	host.proc_fd = host.sys_fd = root;
	/* the parts are divided by a NUL byte; what is missing is empty */
	for (int i = 0; i < 4; i++) {
		const uint8_t *end = memchr(data, '\0', size);
		size_t len = end ? (size_t)(end - data) : size;

		if (ftruncate(files[i], 0) < 0 || pwrite(files[i], data, len, 0) != (ssize_t)len)
			abort();
		data += len + (end != NULL);
		size -= len + (end != NULL);
	}
	assert(wakeup_refused(&host, &ask, EPERM, &e) == -EPERM);
	assert(e.len > 0 && strstr(e.msg, "SCHED_FIFO 98 on CPU 3 was refused"));
	return 0;
}
