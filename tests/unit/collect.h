/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef COLLECT_H
#define COLLECT_H

/* A sink that keeps every record, for tests of what emits. */

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "sample/sample.h"

struct collect {
	struct sample_sink sink; /* first: emit() finds the rest from it */
	struct record_list list;
	size_t fail_at; /* the record with this number is refused; 0: none */
};

static int collect_emit(struct sample_sink *sink, const struct record *rec, struct err *e)
{
	struct collect *c = (struct collect *)sink;

	if (c->fail_at && c->list.nr + 1 == c->fail_at)
		return err_set(e, -EIO, "sink refuses");
	return record_list_take(&c->list, record_copy(rec), e);
}

static inline struct collect collect_new(void)
{
	return (struct collect){ .sink = { .emit = collect_emit } };
}

static inline void collect_release(struct collect *c)
{
	record_list_release(&c->list);
}

static inline const struct record *collect_find(const struct collect *c, enum record_kind kind,
						const char *metric, const char *labels)
{
	for (size_t i = 0; i < c->list.nr; i++) {
		const struct record *rec = c->list.v[i];

		if (rec->kind == kind && strcmp(rec->metric, metric) == 0 &&
		    strcmp(rec->labels, labels) == 0)
			return rec;
	}
	return NULL;
}

static inline double collect_scalar(const struct collect *c, const char *metric, const char *labels)
{
	const struct record *rec = collect_find(c, RECORD_SCALAR, metric, labels);

	if (!rec)
		fail_msg("no scalar %s[%s]", metric, labels);
	return rec ? rec->value : -1;
}

/* The first event whose text has @needle, or NULL. */
static inline const struct record *collect_event(const struct collect *c, const char *needle)
{
	for (size_t i = 0; i < c->list.nr; i++)
		if (c->list.v[i]->kind == RECORD_EVENT && strstr(c->list.v[i]->text, needle))
			return c->list.v[i];
	return NULL;
}

/* A directory of the test's own that stands for /proc or /dev. */
struct scratch {
	char path[32];
	int fd;
};

static inline struct scratch scratch_new(void)
{
	struct scratch s = { .path = "/tmp/irqlab-test-XXXXXX" };

	assert_non_null(mkdtemp(s.path));
	s.fd = open(s.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(s.fd >= 0);
	return s;
}

static inline void scratch_write(const struct scratch *s, const char *name, int flags,
				 const void *text, size_t len)
{
	_cleanup_(close_fdp) int fd = openat(s->fd, name, O_WRONLY | O_CREAT | flags, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
}

static inline void scratch_release(struct scratch *s, const char *const *names)
{
	for (; *names; names++)
		unlinkat(s->fd, *names, 0);
	close(s->fd);
	assert_int_equal(rmdir(s->path), 0);
}

#endif
