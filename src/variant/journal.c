// SPDX-License-Identifier: GPL-3.0-or-later
#include "variant/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_field.h"
#include "base/kfile.h"
#include "variant/statedir.h"

#define FILE_NAME "journal"

struct journal {
	int dir_fd; /* -1: the directory does not exist */
	int fd;	    /* -1: the file does not exist */
	char *dir;
	off_t len; /* of what is valid */
	uint64_t last_id;
	size_t nr_open;
	size_t nr_damaged;
	bool broken; /* ends in half a line that cannot be cut off */
};

static void free_owned(const char *s)
{
	free((char *)(uintptr_t)s);
}

static void change_release(struct change *c)
{
	free_owned(c->knob);
	free_owned(c->target);
	free_owned(c->old);
	free_owned(c->new_value);
	free_owned(c->boot);
	free_owned(c->netns);
	*c = (struct change){};
}

void changes_release(struct changes *c)
{
	for (size_t i = 0; i < c->nr; i++)
		change_release(&c->v[i]);
	free(c->v);
	*c = (struct changes){};
}

/* Any bytes as a JSON string: those outside printable ASCII as code points of their own. */
static void put_bytes(struct buf *out, const char *s)
{
	if (!s) {
		buf_puts(out, "null");
		return;
	}
	buf_putc(out, '"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			buf_printf(out, "\\u%04x", c);
		else
			buf_putc(out, *s);
	}
	buf_putc(out, '"');
}

/* The reverse: UTF-8 of code points below 256 to bytes. NULL when it is not that. */
static char *take_bytes(const char *s, size_t len)
{
	_cleanup_(buf_release) struct buf b = {};

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == 0)
			return NULL;
		if (c >= 0x80) {
			if ((c & 0xfc) != 0xc0 || i + 1 == len)
				return NULL;
			c = (unsigned char)(c << 6 | (s[++i] & 0x3f));
		}
		buf_putc(&b, (char)c);
	}
	return buf_take(&b);
}

static void format_change(struct buf *out, const struct change *c)
{
	buf_printf(out, "{\"id\":%" PRIu64 ",\"knob\":", c->id);
	put_bytes(out, c->knob);
	buf_puts(out, ",\"target\":");
	put_bytes(out, c->target);
	buf_puts(out, ",\"old\":");
	put_bytes(out, c->old);
	buf_puts(out, ",\"new\":");
	put_bytes(out, c->new_value);
	buf_puts(out, ",\"boot\":");
	put_bytes(out, c->boot);
	buf_puts(out, ",\"netns\":");
	put_bytes(out, c->netns);
	buf_printf(out, ",\"ephemeral\":%s,\"blind\":%s,\"pid\":%" PRId64 "}\n",
		   c->ephemeral ? "true" : "false", c->blind ? "true" : "false", c->pid);
}

/* A member as a new string; false when absent or of another type. null gives NULL. */
static bool member_bytes(struct json_object *o, const char *key, bool may_be_null, const char **ret)
{
	struct json_object *v = NULL;

	if (!json_object_object_get_ex(o, key, &v))
		return false;
	if (!v)
		return may_be_null;
	if (!json_object_is_type(v, json_type_string))
		return false;
	*ret = take_bytes(json_object_get_string(v), (size_t)json_object_get_string_len(v));
	return *ret;
}

static bool member_bool(struct json_object *o, const char *key, bool *ret)
{
	struct json_object *v = NULL;

	if (!json_object_object_get_ex(o, key, &v) || !json_object_is_type(v, json_type_boolean))
		return false;
	*ret = json_object_get_boolean(v);
	return true;
}

static bool parse_change(struct json_object *o, struct change *c)
{
	uint64_t pid = 0;

	if (!json_field_u64(o, "id", &c->id) || !member_bytes(o, "knob", false, &c->knob) ||
	    !member_bytes(o, "target", false, &c->target) ||
	    !member_bytes(o, "old", true, &c->old) ||
	    !member_bytes(o, "new", false, &c->new_value) ||
	    !member_bytes(o, "boot", false, &c->boot) ||
	    !member_bytes(o, "netns", true, &c->netns) ||
	    !member_bool(o, "ephemeral", &c->ephemeral) || !member_bool(o, "blind", &c->blind) ||
	    !json_field_u64(o, "pid", &pid))
		return false;
	c->pid = (int64_t)pid;
	return true;
}

static struct change *find(struct changes *l, uint64_t id)
{
	for (size_t i = 0; i < l->nr; i++)
		if (l->v[i].id == id)
			return &l->v[i];
	return NULL;
}

static void drop(struct changes *l, struct change *c)
{
	change_release(c);
	memmove(c, c + 1, (size_t)(&l->v[--l->nr] - c) * sizeof(*c));
}

static int add_change(struct changes *l, struct change *c, struct err *e)
{
	struct change *v = realloc(l->v, (l->nr + 1) * sizeof(*v));

	if (!v)
		return err_nomem(e, FILE_NAME);
	l->v = v;
	l->v[l->nr++] = *c;
	*c = (struct change){};
	return 0;
}

static struct json_object *parse_object(const char *line, size_t len)
{
	_cleanup_(json_tokener_freep) struct json_tokener *t = json_tokener_new();
	_cleanup_(json_putp) struct json_object *o = NULL;

	if (!t || len == 0 || len > INT32_MAX)
		return NULL;
	json_tokener_set_flags(t, JSON_TOKENER_STRICT);
	o = json_tokener_parse_ex(t, line, (int)len);
	if (json_tokener_get_error(t) != json_tokener_success ||
	    json_tokener_get_parse_end(t) != len || !json_object_is_type(o, json_type_object))
		return NULL;
	return take_ptr(o);
}

/* 1: understood, 0: damaged, negative: out of memory. */
static int take_line(struct journal *j, struct changes *l, const char *line, size_t len,
		     struct err *e)
{
	_cleanup_(json_putp) struct json_object *o = parse_object(line, len);
	_cleanup_(change_release) struct change c = {};
	struct change *known;
	uint64_t id = 0;
	int r;

	if (!o)
		return 0;
	if (json_field_u64(o, "set", &id) || json_field_u64(o, "undoing", &id) ||
	    json_field_u64(o, "done", &id)) {
		known = find(l, id);
		/* a damaged line may have been the change itself */
		if (!known)
			return id <= j->last_id || l->nr_damaged;
		if (json_object_object_get_ex(o, "done", NULL))
			drop(l, known);
		else
			known->set = json_object_object_get_ex(o, "set", NULL);
		return 1;
	}
	if (!parse_change(o, &c) || c.id <= j->last_id)
		return 0;
	j->last_id = c.id;
	r = add_change(l, &c, e);
	return r < 0 ? r : 1;
}

static int take_text(struct journal *j, const struct buf *text, const char *boot, struct changes *l,
		     struct err *e)
{
	const char *p = buf_str(text), *end = p + text->len, *newline;
	size_t number = 1;
	bool here = false;

	for (; p < end && (newline = memchr(p, '\n', (size_t)(end - p))); p = newline + 1) {
		size_t before = l->nr;
		int r = take_line(j, l, p, (size_t)(newline - p), e);

		if (r < 0)
			return r;
		if (r == 0 && l->nr_damaged++ == 0)
			l->first_damaged = number;
		here |= l->nr > before && strcmp(l->v[l->nr - 1].boot, boot) == 0;
		number++;
	}
	j->len = p - buf_str(text);
	l->all_of_other_boots = j->last_id && !here;
	return 0;
}

static int read_all(int fd, struct buf *out)
{
	for (;;) {
		ssize_t n;

		if (buf_reserve(out, 65536) < 0)
			return -ENOMEM;
		n = read(fd, out->data + out->len, 65536);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		out->len += (size_t)n;
		out->data[out->len] = '\0';
	}
}

static int open_file(struct journal *j, struct buf *text, struct err *e)
{
	struct stat st;
	int r;

	/* O_NONBLOCK: whatever is there under that name must not hold us */
	j->fd = openat(j->dir_fd, FILE_NAME, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (j->fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "open %s/%s", j->dir, FILE_NAME);
	if (fstat(j->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(e, -EINVAL,
			       "%s/%s is no regular file: irqlab did not make it; remove it",
			       j->dir, FILE_NAME);
	r = read_all(j->fd, text);
	if (r < 0) {
		errno = -r;
		return err_sys(e, "read %s/%s", j->dir, FILE_NAME);
	}
	return 0;
}

int journal_load(struct journal **ret, const char *dir, bool create, const char *boot,
		 struct changes *ret_open, struct err *e)
{
	_cleanup_(journal_closep) struct journal *j = calloc(1, sizeof(*j));
	_cleanup_(changes_release) struct changes l = {};
	_cleanup_(buf_release) struct buf text = {};
	int r;

	if (!j)
		return err_nomem(e, dir);
	j->fd = -1;
	j->dir_fd = statedir_open(dir, create, e);
	if (j->dir_fd < 0 && (create || j->dir_fd != -ENOENT))
		return j->dir_fd;
	j->dir = strdup(dir);
	if (!j->dir)
		return err_nomem(e, dir);
	r = j->dir_fd < 0 ? 0 : open_file(j, &text, e);
	if (r >= 0)
		r = take_text(j, &text, boot, &l, e);
	if (r < 0)
		return r;
	if ((size_t)j->len < text.len && ftruncate(j->fd, j->len) < 0)
		return err_sys(e, "cut the unfinished last line off %s/%s", dir, FILE_NAME);
	j->nr_open = l.nr;
	j->nr_damaged = l.nr_damaged;
	*ret = take_ptr(j);
	*ret_open = l;
	l = (struct changes){};
	return 0;
}

int journal_open(struct journal **ret, const char *dir, struct err *e)
{
	_cleanup_(journal_closep) struct journal *j = NULL;
	_cleanup_(changes_release) struct changes l = {};
	int r = journal_load(&j, dir, true, "", &l, e);

	if (!j)
		return r;
	if (l.nr || l.nr_damaged)
		return err_set(e, -EUCLEAN,
			       "%s/%s lists %zu changes of an earlier run that were not undone and "
			       "%zu damaged lines: run irqlab restore first",
			       dir, FILE_NAME, l.nr, l.nr_damaged);
	r = journal_remove(j, e);
	if (r < 0)
		return r;
	*ret = take_ptr(j);
	return 0;
}

void journal_close(struct journal *j)
{
	if (!j)
		return;
	close_fdp(&j->fd);
	close_fdp(&j->dir_fd);
	free(j->dir);
	free(j);
}

void journal_closep(struct journal **j)
{
	journal_close(*j);
}

static int create_file(struct journal *j, struct err *e)
{
	j->len = 0;
	j->fd = openat(j->dir_fd, FILE_NAME, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       0600);
	if (j->fd < 0)
		return err_sys(e, "create %s/%s", j->dir, FILE_NAME);
	if (fsync(j->dir_fd) < 0)
		return err_sys(e, "sync directory %s", j->dir);
	return 0;
}

static int write_all(int fd, const struct buf *line, off_t at)
{
	size_t done = 0;

	while (done < line->len) {
		ssize_t n = pwrite(fd, line->data + done, line->len - done, at + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}

static int append(struct journal *j, const struct buf *line, bool sync, struct err *e)
{
	int r;

	if (line->failed)
		return err_nomem(e, FILE_NAME);
	if (j->broken)
		return err_set(e, -EIO, "%s/%s could not be written before", j->dir, FILE_NAME);
	r = write_all(j->fd, line, j->len);
	if (r == 0 && sync && fsync(j->fd) < 0)
		r = -errno;
	if (r < 0) {
		/* half a line must not get another behind it */
		j->broken = ftruncate(j->fd, j->len) < 0;
		errno = -r;
		return err_sys(e, "write %s/%s", j->dir, FILE_NAME);
	}
	j->len += (off_t)line->len;
	return 0;
}

int journal_begin(struct journal *j, struct change *c, struct err *e)
{
	_cleanup_(buf_release) struct buf line = {};
	int r = j->fd < 0 ? create_file(j, e) : 0;

	if (r < 0)
		return r;
	c->id = j->last_id + 1;
	format_change(&line, c);
	r = append(j, &line, true, e);
	if (r < 0)
		return r;
	j->last_id++;
	j->nr_open++;
	return 0;
}

/* Not synced, and no failure when it cannot be written. */
static void append_state(struct journal *j, const char *state, uint64_t id)
{
	_cleanup_(buf_release) struct buf line = {};
	struct err ignored = {};

	buf_printf(&line, "{\"%s\":%" PRIu64 "}\n", state, id);
	append(j, &line, false, &ignored);
}

void journal_set(struct journal *j, uint64_t id)
{
	append_state(j, "set", id);
}

void journal_undoing(struct journal *j, uint64_t id)
{
	append_state(j, "undoing", id);
}

int journal_remove(struct journal *j, struct err *e)
{
	if (j->fd < 0)
		return 0;
	if (unlinkat(j->dir_fd, FILE_NAME, 0) < 0 && errno != ENOENT)
		return err_sys(e, "remove %s/%s", j->dir, FILE_NAME);
	close_fdp(&j->fd);
	j->fd = -1;
	j->len = 0;
	j->nr_open = j->nr_damaged = 0;
	j->broken = false;
	if (fsync(j->dir_fd) < 0)
		return err_sys(e, "sync directory %s", j->dir);
	return 0;
}

int journal_done(struct journal *j, uint64_t id, struct err *e)
{
	_cleanup_(buf_release) struct buf line = {};
	struct err ignored = {};

	j->nr_open--;
	if (j->nr_open == 0 && j->nr_damaged == 0)
		return journal_remove(j, e);
	buf_printf(&line, "{\"done\":%" PRIu64 "}\n", id);
	append(j, &line, true, &ignored);
	return 0;
}

char *journal_netns(int proc_fd)
{
	char link[64];
	ssize_t n = readlinkat(proc_fd, "self/ns/net", link, sizeof(link));

	return n > 0 && n < (ssize_t)sizeof(link) ? strndup(link, (size_t)n) : NULL;
}

int journal_boot_id(int proc_fd, char **ret, struct err *e)
{
	return kfile_read_line(proc_fd, "sys/kernel/random/boot_id", ret, e);
}
