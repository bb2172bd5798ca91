// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A soak file: one header and two slots, each with room for a whole state.  The writer fills the
 * slot that is not the newest and then publishes it by its number, so that a reader finds a whole
 * state at any moment, also after SIGKILL.  The lanes do not touch the file: a write to a mapped
 * page may wait for the disk.
 *
 * The writer holds a lock on the file as long as it lives: that tells running from killed.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "latency.h"

#define MAGIC "irqlabSK"
#define VERSION 1
#define MAX_THREADS 65536
#define READ_TRIES 50
/* A stall of more periods than this was none: the correction would take as many steps. */
#define MOST_PERIODS 100000000

struct header {
	char magic[8];
	uint32_t version, layout; /* of this file, of the histograms */
	uint32_t header_size, thread_size;
	uint64_t slot_size;
	uint32_t nr;
	int32_t pid;
	uint64_t begin_wall_ns;
	uint32_t nsecs, smp;
	char command[960];
	_Atomic uint64_t seq; /* the newest state lies in slot seq & 1; 0: none yet */
};

struct slot {
	_Atomic uint64_t seq; /* 0 while it is written */
	uint64_t wall_ns;
	uint64_t finished;
	uint64_t spare;
};

/* Follows the slot, once for each thread. */
struct thread {
	struct latency_figures figures;
	struct hist hist;
	struct latency_series series;
};

static_assert(sizeof(struct thread) % 8 == 0 && sizeof(struct slot) % 8 == 0 &&
		      sizeof(struct header) % 8 == 0,
	      "all parts are aligned");

struct latency_soak {
	int fd;
	struct header *map;
	size_t size;
};

static size_t slot_size(size_t nr)
{
	return sizeof(struct slot) + nr * sizeof(struct thread);
}

static struct slot *slot_at(struct header *h, uint64_t seq)
{
	return (struct slot *)((char *)h + h->header_size + (seq & 1) * h->slot_size);
}

static int read_header(int fd, const char *path, struct header *ret, struct err *e)
{
	struct header h = {};
	ssize_t n = pread(fd, &h, sizeof(h), 0);
	struct stat st;

	if (n < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "read %s", path);
	if (n < (ssize_t)sizeof(h) || memcmp(h.magic, MAGIC, sizeof(h.magic)) != 0)
		return err_set(e, -EBADMSG, "%s is no soak file of irqlab latency", path);
	if (h.version != VERSION || h.layout != HIST_LAYOUT || h.header_size != sizeof(h) ||
	    h.thread_size != sizeof(struct thread))
		return err_set(e, -EBADMSG,
			       "%s: soak file of version %" PRIu32
			       ", this irqlab reads %d; read it "
			       "with the one that wrote it",
			       path, h.version, VERSION);
	if (h.nr == 0 || h.nr > MAX_THREADS || h.slot_size != slot_size(h.nr) ||
	    (uint64_t)st.st_size < sizeof(h) + 2 * h.slot_size)
		return err_set(e, -EBADMSG,
			       "%s is damaged: its size does not fit its %" PRIu32 " threads", path,
			       h.nr);
	h.command[sizeof(h.command) - 1] = '\0';
	memcpy(ret, &h, sizeof(h));
	return 0;
}

/* Only a soak file is overwritten, and only when nobody writes to it. */
static int may_replace(const char *path, struct err *e)
{
	_cleanup_(close_fdp) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct header h = {};
	struct stat st;
	int r;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "open %s", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(e, -EEXIST, "soak file %s is no regular file", path);
	if (st.st_size == 0)
		return 0;
	r = read_header(fd, path, &h, e);
	if (r < 0)
		return err_set(e, -EEXIST,
			       "%s exists and is no soak file of this irqlab: name another, or "
			       "remove it",
			       path);
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return err_set(e, -EBUSY,
			       "another run (pid %" PRId32 ") writes to %s: name another", h.pid,
			       path);
	return 0;
}

static int map_file(struct latency_soak *s, const char *path, const struct latency_view *v,
		    struct err *e)
{
	struct header *h;
	void *map;

	errno = posix_fallocate(s->fd, 0, (off_t)s->size);
	if (errno)
		return err_sys(e, "make room for %zu bytes in %s", s->size, path);
	map = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (map == MAP_FAILED)
		return err_sys(e, "map %s", path);
	s->map = h = map;
	memcpy(h->magic, MAGIC, sizeof(h->magic));
	h->version = VERSION;
	h->layout = HIST_LAYOUT;
	h->header_size = sizeof(*h);
	h->thread_size = sizeof(struct thread);
	h->slot_size = slot_size(v->nr);
	h->nr = (uint32_t)v->nr;
	h->pid = getpid();
	h->begin_wall_ns = v->begin_wall_ns;
	h->nsecs = v->nsecs;
	h->smp = v->smp;
	snprintf(h->command, sizeof(h->command), "%s", v->command);
	return 0;
}

void latency_soak_closep(struct latency_soak **s)
{
	latency_soak_close(*s);
}

int latency_soak_open(struct latency_soak **ret, const char *path, const struct latency_view *v,
		      struct err *e)
{
	_cleanup_(latency_soak_closep) struct latency_soak *s = calloc(1, sizeof(*s));
	_cleanup_(freep) char *temporary = NULL;
	int r;

	if (!s)
		return err_nomem(e, path);
	s->fd = -1;
	r = may_replace(path, e);
	if (r < 0)
		return r;
	if (asprintf(&temporary, "%s.new", path) < 0) {
		temporary = NULL;
		return err_nomem(e, path);
	}
	s->size = sizeof(struct header) + 2 * slot_size(v->nr);
	s->fd = open(temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (s->fd < 0)
		return err_sys(e, "create %s", temporary);
	if (flock(s->fd, LOCK_EX | LOCK_NB) < 0)
		r = err_sys(e, "lock %s", temporary);
	if (r >= 0)
		r = map_file(s, temporary, v, e);
	if (r >= 0 && rename(temporary, path) < 0)
		r = err_sys(e, "rename %s to %s", temporary, path);
	if (r < 0) {
		unlink(temporary);
		return r;
	}
	*ret = take_ptr(s);
	return 0;
}

void latency_soak_write(struct latency_soak *s, const struct latency_view *v, bool finished)
{
	uint64_t seq = atomic_load(&s->map->seq) + 1;
	struct slot *slot = slot_at(s->map, seq);
	struct thread *t = (struct thread *)(slot + 1);

	atomic_store(&slot->seq, 0);
	atomic_thread_fence(memory_order_seq_cst);
	slot->wall_ns = v->end_wall_ns;
	slot->finished = finished;
	for (size_t i = 0; i < v->nr; i++, t++) {
		t->figures = v->figures[i];
		memcpy(&t->hist, v->hist[i], sizeof(t->hist));
		memcpy(&t->series, v->series[i], sizeof(t->series));
	}
	atomic_store_explicit(&slot->seq, seq, memory_order_release);
	atomic_store_explicit(&s->map->seq, seq, memory_order_release);
}

void latency_soak_close(struct latency_soak *s)
{
	if (!s)
		return;
	if (s->map)
		munmap(s->map, s->size);
	close_fdp(&s->fd);
	free(s);
}

/* ---- reading ---- */

static uint64_t number_at(int fd, size_t at)
{
	uint64_t v = 0;

	return pread(fd, &v, sizeof(v), (off_t)at) == sizeof(v) ? v : 0;
}

/* The newest state into @slot; false: the writer was faster, or there is none. */
static bool copy_slot(int fd, const struct header *h, struct slot *slot)
{
	uint64_t seq = number_at(fd, offsetof(struct header, seq));
	size_t at = h->header_size + (seq & 1) * h->slot_size;
	ssize_t n;

	if (!seq || number_at(fd, at) != seq)
		return false;
	n = pread(fd, slot, h->slot_size, (off_t)at);
	return n == (ssize_t)h->slot_size && atomic_load(&slot->seq) == seq &&
	       number_at(fd, at) == seq;
}

static int read_slot(int fd, const char *path, const struct header *h, struct slot *slot,
		     struct err *e)
{
	const struct timespec pause = { .tv_nsec = 20 * NS_PER_MS };

	for (int i = 0; i < READ_TRIES; i++) {
		if (copy_slot(fd, h, slot))
			return 0;
		nanosleep(&pause, NULL);
	}
	return err_set(e, -EAGAIN,
		       "%s holds no whole state: its run ended before the first, or the file is "
		       "damaged",
		       path);
}

/* What cannot be is not shown: numbers of a damaged file are no numbers. */
static bool is_sane(const struct thread *t)
{
	uint64_t total = 0;

	for (unsigned int i = 0; i < HIST_BUCKETS; i++)
		if (__builtin_add_overflow(total, t->hist.count[i], &total))
			return false;
	if (t->figures.interval_ns == 0 || t->hist.max / t->figures.interval_ns > MOST_PERIODS)
		return false;
	return total == t->hist.total && t->series.nr <= LATENCY_POINTS;
}

struct parts {
	struct latency_figures *figures;
	const struct hist **hist;
	const struct latency_series **series;
};

static int fill_view(struct latency_stored *s, const struct header *h, const struct slot *slot,
		     struct parts *p, struct err *e)
{
	const struct thread *t = (const struct thread *)(slot + 1);

	for (uint32_t i = 0; i < h->nr; i++, t++) {
		if (!is_sane(t))
			return err_set(e, -EBADMSG, "thread %" PRIu32 " is damaged", i);
		p->figures[i] = t->figures;
		p->hist[i] = &t->hist;
		p->series[i] = &t->series;
	}
	s->view = (struct latency_view){ .nr = h->nr,
					 .figures = p->figures,
					 .hist = p->hist,
					 .series = p->series,
					 .nsecs = h->nsecs,
					 .smp = h->smp,
					 .begin_wall_ns = h->begin_wall_ns,
					 .end_wall_ns = slot->wall_ns };
	return 0;
}

int latency_soak_read(const char *path, struct latency_stored *ret, struct err *e)
{
	_cleanup_(close_fdp) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_(freep) void *memory = NULL;
	struct latency_stored s = {};
	struct parts p;
	struct header h = {};
	struct slot *slot;
	bool running;
	char *at;
	int r;

	if (fd < 0)
		return err_sys(e, "open %s", path);
	r = read_header(fd, path, &h, e);
	if (r < 0)
		return r;
	running = flock(fd, LOCK_SH | LOCK_NB) < 0;
	/* slot, then the view's arrays, then the command line */
	memory = calloc(1, h.slot_size + h.nr * (sizeof(*p.figures) + 2 * sizeof(void *)) +
				   sizeof(h.command));
	if (!memory)
		return err_nomem(e, path);
	slot = memory;
	at = (char *)memory + h.slot_size;
	p.figures = (struct latency_figures *)at;
	p.hist = (const struct hist **)(at + h.nr * sizeof(*p.figures));
	p.series = (const struct latency_series **)(p.hist + h.nr);
	r = read_slot(fd, path, &h, slot, e);
	if (r < 0)
		return r;
	r = fill_view(&s, &h, slot, &p, e);
	if (r < 0)
		return err_wrap(e, "%s", path);
	s.view.command = memcpy((char *)(p.series + h.nr), h.command, sizeof(h.command));
	s.seq = atomic_load(&slot->seq);
	s.pid = h.pid;
	s.state = slot->finished ? LATENCY_SOAK_FINISHED
		  : running	 ? LATENCY_SOAK_RUNNING
				 : LATENCY_SOAK_KILLED;
	s.memory = take_ptr(memory);
	*ret = s;
	return 0;
}

void latency_stored_release(struct latency_stored *s)
{
	free(s->memory);
	*s = (struct latency_stored){};
}
