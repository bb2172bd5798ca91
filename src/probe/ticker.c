// SPDX-License-Identifier: GPL-3.0-or-later
#include "probe/ticker.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/kfile.h"
#include "probe/emit.h"

/* So many files are said to have failed one by one, not a thousand of a thousand CPUs. */
#define SAY_MAX 8

struct file {
	int root_fd; /* borrowed */
	char *path;
	int fd; /* kept open, or -1 */
	bool only_edges;
	bool borrowed;	/* the descriptor; read at once */
	int64_t offset; /* of a borrowed one; -1: none */
	unsigned int flags;
	size_t room;		   /* bytes of one reading */
	struct ticker_text *texts; /* one a reading; into the ticker's own */
};

struct ticker {
	uint64_t interval_ns, duration_ns, step_ns;
	struct file *files;
	size_t nr_files;
	size_t max_readings;
	struct ticker_text *texts;
	int64_t *boundary_ns; /* of each reading */
	char *memory;
	size_t memory_size;

	uint64_t start_ns;
	size_t nr; /* readings so far, under @reading while the thread runs */
	bool is_complete;
	size_t missed;	  /* boundaries */
	uint64_t late_ns; /* the worst */

	pthread_t thread;
	bool has_thread;
	bool closing; /* atomic */
	sem_t wake;   /* the window opens; then: it closes */
	pthread_mutex_t reading;
};

int ticker_new(struct ticker **ret, uint64_t interval_ns, uint64_t duration_ns, struct err *e)
{
	struct ticker *t = calloc(1, sizeof(*t));

	if (!t)
		return err_nomem(e, "ticker");
	t->interval_ns = interval_ns;
	t->duration_ns = duration_ns;
	sem_init(&t->wake, 0, 0);
	pthread_mutex_init(&t->reading, NULL);
	*ret = t;
	return 0;
}

static void end_thread(struct ticker *t)
{
	if (!t->has_thread)
		return;
	__atomic_store_n(&t->closing, true, __ATOMIC_RELEASE);
	sem_post(&t->wake);
	pthread_join(t->thread, NULL);
	t->has_thread = false;
}

static void file_release(struct file *f)
{
	if (f->fd >= 0 && !f->borrowed)
		close(f->fd);
	free(f->path);
}

void ticker_free(struct ticker *t)
{
	if (!t)
		return;
	end_thread(t);
	for (size_t i = 0; i < t->nr_files; i++)
		file_release(&t->files[i]);
	if (t->memory)
		munmap(t->memory, t->memory_size);
	pthread_mutex_destroy(&t->reading);
	sem_destroy(&t->wake);
	free(t->files);
	free(t->texts);
	free(t->boundary_ns);
	free(t);
}

void ticker_freep(struct ticker **t)
{
	ticker_free(*t);
}

int ticker_add(struct ticker *t, int root_fd, const char *path, size_t room, unsigned int flags,
	       struct err *e)
{
	struct file *files = realloc(t->files, (t->nr_files + 1) * sizeof(*files));
	_cleanup_(buf_release) struct buf text = {};
	_cleanup_(freep) char *copy = strdup(path);
	int r;

	if (files)
		t->files = files;
	if (!files || !copy)
		return err_nomem(e, path);
	r = kfile_read(root_fd, path, &text, e);
	if (r < 0)
		return r;
	t->files[t->nr_files] = (struct file){ .root_fd = root_fd,
					       .path = take_ptr(copy),
					       .fd = -1,
					       .flags = flags,
					       .room = text.len + text.len / 4 + room };
	if (t->nr_files < TICKER_KEPT)
		t->files[t->nr_files].fd = openat(root_fd, path, O_RDONLY | O_CLOEXEC);
	return (int)t->nr_files++;
}

int ticker_add_fd(struct ticker *t, int fd, const char *name, int64_t offset, size_t size,
		  struct err *e)
{
	struct file *files = realloc(t->files, (t->nr_files + 1) * sizeof(*files));
	_cleanup_(freep) char *copy = strdup(name);

	if (files)
		t->files = files;
	if (!files || !copy)
		return err_nomem(e, name);
	t->files[t->nr_files] = (struct file){ .root_fd = -1,
					       .path = take_ptr(copy),
					       .fd = fd,
					       .borrowed = true,
					       .offset = offset,
					       .room = size };
	return (int)t->nr_files++;
}

void ticker_only_edges(struct ticker *t, int id)
{
	t->files[id].only_edges = true;
}

/* Readings between the edges when each stands @step_ns after the one before. */
static uint64_t inner(const struct ticker *t, uint64_t step_ns)
{
	return step_ns && t->duration_ns ? (t->duration_ns - 1) / step_ns : 0;
}

static uint64_t bytes_of(const struct ticker *t, uint64_t readings)
{
	uint64_t all = 0;

	for (size_t i = 0; i < t->nr_files; i++)
		all += (t->files[i].room + sizeof(struct ticker_text)) *
		       (t->files[i].only_edges ? 2 : readings);
	return all;
}

static void choose_step(struct ticker *t)
{
	uint64_t edges = bytes_of(t, 2), each = bytes_of(t, 3) - edges;
	uint64_t fit = edges < TICKER_MEMORY_MAX ? (TICKER_MEMORY_MAX - edges) / (each + 1) : 0;
	uint64_t times = 1;

	if (inner(t, t->interval_ns) > fit)
		times = (t->duration_ns - 1) / t->interval_ns / (fit + 1) + 1;
	t->step_ns = t->interval_ns * times;
	t->max_readings = inner(t, t->step_ns) + 2;
}

/* Where each reading of each file goes. */
static void lay_out(struct ticker *t)
{
	char *at = t->memory;

	for (size_t f = 0; f < t->nr_files; f++) {
		struct file *file = &t->files[f];

		file->texts = &t->texts[f * t->max_readings];
		for (size_t i = 0; i < t->max_readings; i++) {
			bool edge = i == 0 || i == t->max_readings - 1;

			file->texts[i] = (struct ticker_text){ .error = -ENODATA };
			if (file->only_edges && !edge)
				continue;
			file->texts[i].text = at;
			at += file->room;
		}
	}
}

/* One pread() for each piece that the kernel hands out. */
static int fill(int fd, char *to, size_t room, struct ticker_text *text)
{
	while (text->len < room) {
		ssize_t n = pread(fd, to + text->len, room - text->len, (off_t)text->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		text->len += (size_t)n;
	}
	text->clipped = true;
	return 0;
}

/* A counter of a fixed size: whole or not at all. */
static int fill_once(const struct file *f, char *to, struct ticker_text *text)
{
	ssize_t n;

	do
		n = f->offset < 0 ? read(f->fd, to, f->room)
				  : pread(f->fd, to, f->room, (off_t)f->offset);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	text->len = (size_t)n;
	return text->len == f->room ? 0 : -EBADMSG;
}

static void read_file(struct file *f, struct ticker_text *text)
{
	_cleanup_(close_fdp) int own = -1;
	char *to = (char *)(uintptr_t)text->text;
	int fd = f->fd;

	text->len = 0;
	text->at_ns = clock_mono_ns();
	if (f->borrowed) {
		text->error = fill_once(f, to, text);
	} else {
		if (fd < 0)
			fd = own = openat(f->root_fd, f->path, O_RDONLY | O_CLOEXEC);
		text->error = fd < 0 ? -errno : fill(fd, to, f->room, text);
	}
	if (text->error < 0)
		text->len = 0;
}

/* Into reading @i of all files; negative when a required one failed. */
static int read_all(struct ticker *t, size_t i, struct err *e)
{
	bool edge = i == 0 || i == t->max_readings - 1;

	for (size_t f = 0; f < t->nr_files; f++) {
		struct file *file = &t->files[f];

		if (file->only_edges && !edge)
			continue;
		read_file(file, &file->texts[i]);
		if (edge && file->flags & TICKER_REQUIRED && file->texts[i].error < 0) {
			errno = -file->texts[i].error;
			return err_sys(e, "read %s", file->path);
		}
	}
	return 0;
}

/*
 * The last boundary that has passed is read now; those before it, which nobody read, are missed.
 * Returns its number.
 */
static uint64_t read_boundary(struct ticker *t, uint64_t due)
{
	uint64_t now = clock_mono_ns(), k = (now - t->start_ns) / t->step_ns;
	uint64_t last = inner(t, t->step_ns), late;

	if (k < due)
		k = due;
	if (k > last)
		k = last;
	late = now - t->start_ns - k * t->step_ns;
	pthread_mutex_lock(&t->reading);
	if (!__atomic_load_n(&t->closing, __ATOMIC_ACQUIRE)) {
		t->missed += k - due;
		if (late > t->late_ns)
			t->late_ns = late;
		t->boundary_ns[t->nr] = (int64_t)(k * t->step_ns);
		read_all(t, t->nr++, &(struct err){});
	}
	pthread_mutex_unlock(&t->reading);
	return k;
}

static void *tick(void *arg)
{
	struct ticker *t = arg;
	uint64_t last = inner(t, t->step_ns);

	while (sem_wait(&t->wake) < 0 && errno == EINTR)
		;
	for (uint64_t k = 1; k <= last;) {
		struct timespec at = clock_timespec(t->start_ns + k * t->step_ns);
		int r;

		if (__atomic_load_n(&t->closing, __ATOMIC_ACQUIRE))
			break;
		r = sem_clockwait(&t->wake, CLOCK_MONOTONIC, &at);
		if (r < 0 && errno == ETIMEDOUT)
			k = read_boundary(t, k) + 1;
	}
	return NULL;
}

static int make_thread(struct ticker *t, struct err *e)
{
	int r = inner(t, t->step_ns) ? pthread_create(&t->thread, NULL, tick, t) : 0;

	if (r) {
		errno = r;
		return err_sys(e, "the thread that reads at the boundaries of the intervals");
	}
	t->has_thread = inner(t, t->step_ns) > 0;
	return 0;
}

int ticker_arm(struct ticker *t, struct err *e)
{
	size_t cells;

	choose_step(t);
	if (__builtin_mul_overflow(t->nr_files + 1, t->max_readings, &cells))
		return err_nomem(e, "readings of the kernel's files");
	t->texts = calloc(cells, sizeof(*t->texts));
	t->boundary_ns = calloc(t->max_readings, sizeof(*t->boundary_ns));
	t->memory_size = bytes_of(t, t->max_readings) + 1;
	if (!t->texts || !t->boundary_ns)
		return err_nomem(e, "readings of the kernel's files");
	t->memory = mmap(NULL, t->memory_size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (t->memory == MAP_FAILED) {
		t->memory = NULL;
		return err_nomem(e, "readings of the kernel's files");
	}
	lay_out(t);
	return make_thread(t, e);
}

int ticker_start(struct ticker *t, uint64_t now_ns, struct err *e)
{
	int r;

	t->start_ns = now_ns;
	t->nr = 1;
	r = read_all(t, 0, e);
	if (t->has_thread)
		sem_post(&t->wake);
	return r;
}

int ticker_stop(struct ticker *t, uint64_t now_ns, struct err *e)
{
	int r;

	/* the edge first: the thread's end may have to wait for a CPU */
	pthread_mutex_lock(&t->reading);
	__atomic_store_n(&t->closing, true, __ATOMIC_RELEASE);
	r = read_all(t, t->max_readings - 1, e);
	pthread_mutex_unlock(&t->reading);
	end_thread(t);
	t->boundary_ns[t->nr] = (int64_t)(now_ns - t->start_ns);
	t->is_complete = r >= 0;
	return r;
}

size_t ticker_readings(const struct ticker *t)
{
	return t->is_complete ? t->nr + 1 : 0;
}

size_t ticker_intervals(const struct ticker *t)
{
	return t->is_complete ? t->nr : 0;
}

int64_t ticker_boundary_ns(const struct ticker *t, size_t i)
{
	return t->boundary_ns[i];
}

struct ticker_text ticker_text(const struct ticker *t, size_t id, size_t i)
{
	/* boundaries may have been missed: the last reading has a place of its own */
	return t->files[id].texts[i < t->nr ? i : t->max_readings - 1];
}

static double seconds(const struct ticker_text *from, const struct ticker_text *to)
{
	if (from->error < 0 || to->error < 0 || to->at_ns <= from->at_ns)
		return 0;
	return (double)(to->at_ns - from->at_ns) / (double)NS_PER_S;
}

double ticker_seconds(const struct ticker *t, size_t id, size_t i)
{
	const struct ticker_text from = ticker_text(t, id, i), to = ticker_text(t, id, i + 1);

	return seconds(&from, &to);
}

double ticker_window_seconds(const struct ticker *t, size_t id)
{
	const struct ticker_text from = ticker_text(t, id, 0), to = ticker_text(t, id, t->nr);

	return seconds(&from, &to);
}

size_t ticker_points(const struct ticker *t, const double *values, struct point *points)
{
	size_t nr = 0;

	for (size_t i = 0; i < ticker_intervals(t); i++)
		if (!isnan(values[i]))
			points[nr++] =
				(struct point){ .t_ns = t->boundary_ns[i + 1], .v = values[i] };
	return nr;
}

/* Was there something to say?  Without @m it is not said. */
static bool say_file(const struct ticker *t, const struct file *f, struct emit *m)
{
	size_t clipped = 0, failed = 0;
	int error = 0;

	for (size_t i = 0; i <= t->nr; i++) {
		const struct ticker_text text = ticker_text(t, (size_t)(f - t->files), i);

		clipped += text.clipped;
		if (text.error < 0 && text.error != -ENODATA) {
			failed++;
			error = text.error;
		}
	}
	if (m && clipped)
		emit_event(m, SEVERITY_WARN, 0,
			   "%s grew by more than a quarter: the end of %zu of its readings is "
			   "missing",
			   f->path, clipped);
	errno = -error;
	if (m && failed)
		emit_event(m, SEVERITY_NOTE, 0, "%s could not be read %zu times: %m", f->path,
			   failed);
	return clipped || failed;
}

void ticker_say(const struct ticker *t, struct emit *m)
{
	uint64_t boundaries = inner(t, t->step_ns);
	size_t said = 0;

	if (t->step_ns > t->interval_ns)
		emit_event(m, SEVERITY_NOTE, 0,
			   "read every %.3g s, not every %.3g s: the readings of the window would "
			   "take more than %llu MiB",
			   (double)t->step_ns / (double)NS_PER_S,
			   (double)t->interval_ns / (double)NS_PER_S,
			   (unsigned long long)(TICKER_MEMORY_MAX >> 20));
	if (t->missed)
		emit_event(m, SEVERITY_NOTE, 0,
			   "%zu of %llu boundaries of intervals were missed: no CPU was free for "
			   "the reading; the interval after them is longer",
			   t->missed, (unsigned long long)boundaries);
	if (t->late_ns > t->step_ns / 10)
		emit_event(m, SEVERITY_NOTE, 0,
			   "a boundary was read %.3g ms late; rates are over the time between the "
			   "readings",
			   (double)t->late_ns / (double)NS_PER_MS);
	for (size_t i = 0; i < t->nr_files && t->is_complete; i++)
		said += say_file(t, &t->files[i], said < SAY_MAX ? m : NULL);
	if (said > SAY_MAX)
		emit_event(m, SEVERITY_NOTE, 0, "... and %zu more of such files", said - SAY_MAX);
}
