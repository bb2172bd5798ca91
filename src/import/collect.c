// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "import/import.h"

/* ---- a whole text */

struct collector {
	struct import_sink sink;
	struct import_doc *doc;
};

static int collect_run(struct import_sink *sink, struct import_run *run, struct err *e)
{
	struct import_doc *doc = ((struct collector *)sink)->doc;

	if (doc->nr_runs == doc->size) {
		size_t size = doc->size ? doc->size * 2 : 4;
		struct import_run *p = reallocarray(doc->runs, size, sizeof(*p));

		if (!p)
			return err_nomem(e, "import");
		doc->runs = p;
		doc->size = size;
	}
	doc->runs[doc->nr_runs++] = *run;
	*run = (struct import_run){};
	return 0;
}

static int collect_skip(struct import_sink *sink, const struct import_skip *skip, struct err *e)
{
	struct import_doc *doc = ((struct collector *)sink)->doc;
	char *copy;

	if (!doc->skipped)
		doc->skipped = calloc(IMPORT_SKIPS_KEPT, sizeof(*doc->skipped));
	if (!doc->skipped)
		return err_nomem(e, "import");
	if (doc->nr_skipped++ >= IMPORT_SKIPS_KEPT)
		return 0;
	copy = strdup(skip->reason);
	doc->skipped[doc->nr_skipped - 1] = (struct import_skip){ skip->line, skip->tool, copy };
	return copy ? 0 : err_nomem(e, "import");
}

static int collect_remark(struct import_sink *sink, size_t line, const char *text, struct err *e)
{
	struct import_doc *doc = ((struct collector *)sink)->doc;
	char *copy;

	if (!doc->remarks)
		doc->remarks = calloc(IMPORT_SKIPS_KEPT, sizeof(*doc->remarks));
	if (!doc->remarks)
		return err_nomem(e, "import");
	if (doc->nr_remarks++ >= IMPORT_SKIPS_KEPT)
		return 0;
	copy = strdup(text);
	doc->remarks[doc->nr_remarks - 1] = (struct import_note){ line, copy };
	return copy ? 0 : err_nomem(e, "import");
}

int import_text(const char *text, size_t len, struct import_doc *ret, struct err *e)
{
	_cleanup_(import_release) struct import_doc doc = {};
	_cleanup_(import_freep) struct import_reader *reader = NULL;
	struct collector c = { { collect_run, collect_skip, collect_remark }, &doc };
	int r = import_new(&reader, &c.sink, e);

	if (r == 0 && len)
		r = import_add(reader, text, len, e);
	if (r == 0)
		r = import_end(reader, e);
	if (r < 0)
		return r;
	*ret = doc;
	doc = (struct import_doc){};
	return 0;
}

void import_release(struct import_doc *doc)
{
	for (size_t i = 0; i < doc->nr_runs; i++)
		import_run_release(&doc->runs[i]);
	for (size_t i = 0; i < doc->nr_remarks && i < IMPORT_SKIPS_KEPT; i++)
		free(doc->remarks[i].text);
	for (size_t i = 0; i < doc->nr_skipped && i < IMPORT_SKIPS_KEPT; i++)
		free((char *)(uintptr_t)doc->skipped[i].reason);
	free(doc->runs);
	free(doc->skipped);
	free(doc->remarks);
	*doc = (struct import_doc){};
}

int import_pick(const char *arg, char **ret_path, unsigned int *ret_nr, struct err *e)
{
	const char *hash = strrchr(arg, '#');
	size_t len = strlen(arg);
	uint64_t nr = 0;
	char *path;

	if (hash && hash[1] && strspn(hash + 1, "0123456789") == strlen(hash + 1)) {
		len = (size_t)(hash - arg);
		if (text_u64(hash + 1, &nr) < 0 || nr == 0 || nr > UINT32_MAX)
			return err_set(
				e, -EINVAL,
				"\"%s\": the run after # is numbered from 1, as in mail.txt#2",
				arg);
	}
	if (len == 0)
		return err_set(e, -EINVAL, "\"%s\": the name of a file is missing", arg);
	path = strndup(arg, len);
	if (!path)
		return err_nomem(e, "import");
	*ret_path = path;
	*ret_nr = (unsigned int)nr;
	return 0;
}
