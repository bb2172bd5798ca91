// SPDX-License-Identifier: GPL-3.0-or-later
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "store/inside.h"
#include "store/schema.h"

/* How long a writer waits for another one: longer than any transaction of ours takes. */
#define BUSY_MS 10000

int store_default_path(char **ret, struct err *e)
{
	const char *db = secure_getenv("IRQLAB_DB");
	const char *data = secure_getenv("XDG_DATA_HOME");
	const char *home = secure_getenv("HOME");
	char *path = NULL;
	int r;

	if (db && *db)
		r = asprintf(&path, "%s", db);
	else if (data && *data == '/')
		r = asprintf(&path, "%s/irqlab/irqlab.db", data);
	else if (home && *home)
		r = asprintf(&path, "%s/.local/share/irqlab/irqlab.db", home);
	else
		return err_set(e, -ENOENT,
			       "no place for the store: neither IRQLAB_DB nor HOME is set; set "
			       "IRQLAB_DB to the file to use");
	if (r < 0)
		return err_nomem(e, "path of the store");
	*ret = path;
	return 0;
}

static uint32_t be32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool has_wal(const char *path)
{
	_cleanup_(freep) char *wal = NULL;
	struct stat st;

	if (asprintf(&wal, "%s-wal", path) < 0)
		return true;
	return stat(wal, &st) == 0 && st.st_size > 0;
}

/*
 * Is the file ours?  Asked of its bytes, before SQLite sees it: SQLite would roll back a journal
 * that lies beside another program's database.  Our files carry the application id from their first
 * moment (create_file), so the header alone decides.
 * Format: https://www.sqlite.org/fileformat2.html, 1.3 "The Database Header".
 */
static int check_header(int fd, const char *path, struct err *e)
{
	unsigned char h[100];
	ssize_t n = pread(fd, h, sizeof(h), 0);
	struct stat st;
	uint64_t page, want;

	if (n < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "read store %s", path);
	if (n == 0)
		return err_set(e, -EBADMSG,
			       "store %s: the file is empty; remove it to begin a new store", path);
	if (n < (ssize_t)sizeof(h) || memcmp(h, "SQLite format 3", 16) != 0)
		return err_set(e, -EBADMSG,
			       "store %s: not an irqlab store (no SQLite file); name another file "
			       "with IRQLAB_DB or --db",
			       path);
	if (be32(h + 68) != SCHEMA_APPLICATION_ID)
		return err_set(e, -EBADMSG,
			       "store %s: a SQLite file of another program (application id %" PRIu32
			       "), not an irqlab store; name another file with IRQLAB_DB or --db",
			       path, be32(h + 68));
	page = (uint64_t)h[16] << 8 | h[17];
	want = (page == 1 ? 65536 : page) * be32(h + 28);
	/* with a log beside it, the missing pages may be in there */
	if ((uint64_t)st.st_size < want && !has_wal(path))
		return err_set(e, -EBADMSG,
			       "store %s: cut off, %jd of %" PRIu64
			       " bytes are left; bring back a copy, or move it away and recover "
			       "what it holds with sqlite3's .recover",
			       path, (intmax_t)st.st_size, want);
	return 0;
}

/* mkdir -p; what is made is for the user alone. */
static int make_folders(const char *path, struct err *e)
{
	_cleanup_(freep) char *dir = strdup(path);

	if (!dir)
		return err_nomem(e, "path of the store");
	for (char *p = strchr(dir + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(dir, 0700) < 0 && errno != EEXIST)
			return err_sys(e, "create folder %s for the store", dir);
		*p = '/';
	}
	return 0;
}

/* A name is only safe after a crash when its folder has been written too. */
static int sync_folder(const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	_cleanup_(freep) char *dir = slash ? strndup(path, (size_t)(slash - path) + 1)
					   : strdup(".");
	_cleanup_(close_fdp) int fd = -1;

	if (!dir)
		return err_nomem(e, "path of the store");
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return err_sys(e, "sync the folder of store %s", path);
	return 0;
}

static int sql_open(struct sql *s, const char *file, int flags, struct err *e)
{
	int rc = sqlite3_open_v2(file, &s->db, flags, NULL);

	if (rc != SQLITE_OK && !s->db)
		return err_nomem(e, "store");
	if (rc == SQLITE_OK) {
		sqlite3_extended_result_codes(s->db, 1);
		rc = sqlite3_busy_timeout(s->db, BUSY_MS);
	}
	return rc == SQLITE_OK ? 0 : sql_error(s, rc, e);
}

static int fill_file(const char *file, const char *path, const struct schema *schema, struct err *e)
{
	_cleanup_(sql_release) struct sql s = { .path = strdup(path) };
	int r;

	if (!s.path)
		return err_nomem(e, "store");
	r = sql_open(&s, file, SQLITE_OPEN_READWRITE, e);
	if (r == 0)
		r = sql_exec(&s, "PRAGMA synchronous = FULL", e);
	if (r == 0)
		r = schema_migrate(&s, schema, true, e);
	/* persistent; a file system that cannot do it (no shared memory) stays with a journal */
	if (r == 0)
		r = sql_exec(&s, "PRAGMA journal_mode = WAL", e);
	return r;
}

/* Made under another name and linked into place whole: nobody ever sees half a store. */
static int create_file(const char *path, const struct schema *schema, struct err *e)
{
	_cleanup_(freep) char *file = NULL;
	_cleanup_(close_fdp) int fd = -1;
	int r = make_folders(path, e);

	if (r < 0)
		return r;
	if (asprintf(&file, "%s.XXXXXX", path) < 0)
		return err_nomem(e, "path of the store");
	fd = mkostemp(file, O_CLOEXEC); /* mode 0600 */
	if (fd < 0)
		return err_sys(e, "create store %s", path);
	r = fill_file(file, path, schema, e);
	/* EEXIST: another process made one meanwhile, as good as ours */
	if (r == 0 && link(file, path) < 0 && errno != EEXIST)
		r = err_sys(e, "create store %s", path);
	unlink(file);
	return r < 0 ? r : sync_folder(path, e);
}

static int check_file(const char *path, enum store_mode mode, const struct schema *schema,
		      struct err *e)
{
	_cleanup_(close_fdp) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int r;

	if (fd < 0 && errno == ENOENT && mode == STORE_WRITE) {
		r = create_file(path, schema, e);
		if (r < 0)
			return r;
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	}
	if (fd < 0 && errno == ENOENT)
		return err_set(e, -ENOENT, "store %s: there is none yet; irqlab run makes it",
			       path);
	if (fd < 0)
		return err_sys(e, "open store %s", path);
	return check_header(fd, path, e);
}

static int settle(struct sql *s, enum store_mode mode, const struct schema *schema, struct err *e)
{
	int r = sql_exec(s,
			 "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL;"
			 "PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY",
			 e);

	if (r < 0)
		return r;
	return schema_migrate(s, schema, mode == STORE_WRITE, e);
}

int store_open_schema(struct store **ret, const char *path, enum store_mode mode,
		      const struct schema *schema, struct err *e)
{
	_cleanup_(store_closep) struct store *s = NULL;
	_cleanup_(freep) char *real = NULL;
	int r = check_file(path, mode, schema, e);

	if (r < 0)
		return r;
	s = calloc(1, sizeof(*s));
	real = realpath(path, NULL);
	if (s)
		s->sql.path = strdup(path);
	if (!s || !s->sql.path || !real)
		return err_nomem(e, "store");
	r = sql_open(&s->sql, real,
		     mode == STORE_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE, e);
	if (r < 0)
		return r;
	r = settle(&s->sql, mode, schema, e);
	if (r < 0)
		return r;
	*ret = take_ptr(s);
	return 0;
}

int store_open(struct store **ret, const char *path, enum store_mode mode, struct err *e)
{
	return store_open_schema(ret, path, mode, &schema_current, e);
}

void store_close(struct store *s)
{
	if (!s)
		return;
	sql_release(&s->sql);
	free(s);
}

void store_closep(struct store **s)
{
	store_close(*s);
}
