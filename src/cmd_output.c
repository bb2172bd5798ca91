// SPDX-License-Identifier: GPL-3.0-or-later
#include "cmd_output.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "file.h"
#include "registry.h"
#include "report/report.h"
#include "verdict/verdict.h"

/* A store that an older irqlab wrote is brought up to date by looking into it, where it can be. */
static int open_at(struct store **ret, const char *path, enum store_mode mode, struct err *e)
{
	struct err why = {}, ignored = {};
	int r = store_open(ret, path, mode, &why);

	if (r == -ENOTSUP && mode == STORE_READ &&
	    store_open(ret, path, STORE_WRITE, &ignored) >= 0)
		return 0;
	if (r < 0)
		*e = why;
	return r;
}

int cmd_store_open(struct store **ret, const char *db, enum store_mode mode, struct err *e)
{
	_cleanup_(freep) char *path = NULL;
	int r;

	if (*db)
		return open_at(ret, db, mode, e);
	r = store_default_path(&path, e);
	return r < 0 ? r : open_at(ret, path, mode, e);
}

static int write_html(const struct report *report, int64_t run, const char *name, enum output form,
		      struct err *e)
{
	_cleanup_(buf_release) struct buf html = {}, path = {};
	int r = report_html(report, &html, e);

	if (r < 0)
		return r;
	if (*name)
		buf_puts(&path, name);
	else
		buf_printf(&path, "irqlab-%lld.html", (long long)run);
	r = file_write(buf_str(&path), &html, e);
	if (r < 0)
		return err_wrap(e,
				"the run is stored, its report is not (irqlab report %lld -o FILE)",
				(long long)run);
	if (r >= 0 && form == OUTPUT_TEXT)
		printf("\nReport: %s\n", buf_str(&path));
	return r;
}

int cmd_verdict(struct store *s, int64_t run, enum output form, const char *html, struct err *e)
{
	_cleanup_(report_freep) struct report *report = NULL;
	_cleanup_(buf_release) struct buf out = {};
	const struct verdict *verdicts;
	size_t nr = 0;
	int r = report_gather(&report, s, run, &plan_plugins, e);

	if (r >= 0)
		r = form == OUTPUT_JSON ? report_json(report, &out, e)
					: report_text(report, &out, e);
	if (r < 0)
		return r;
	fputs(buf_str(&out), stdout);
	if (html)
		r = write_html(report, run, html, form, e);
	if (r < 0)
		return r;
	verdicts = report_verdicts(report, &nr);
	return verdict_exit_code(verdicts, nr);
}
