// SPDX-License-Identifier: GPL-3.0-or-later
#include "export/export.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"
#include "export/forms.h"
#include "report/model.h"

const struct export_ops *const export_forms[] = {
	&export_json,
	&export_csv,
	&export_csv_scalars,
	&export_csv_series,
	&export_csv_exploratory,
	&export_junit,
	&export_ktap,
	&export_kcidb,
	&export_openmetrics,
	&export_hdr,
	&export_markdown,
	&export_patch,
	&export_iperf3_json,
	&export_cyclictest_json,
	NULL,
};

int export_find(const char *name, const struct export_ops **ret, struct err *e)
{
	const char *words[ARRAY_SIZE(export_forms)] = {};
	_cleanup_(buf_release) struct buf all = {};
	const char *near;

	for (size_t i = 0; export_forms[i]; i++) {
		if (strcmp(export_forms[i]->name, name) == 0) {
			*ret = export_forms[i];
			return 0;
		}
		words[i] = export_forms[i]->name;
		buf_printf(&all, "%s%s", i ? ", " : "", words[i]);
	}
	near = *name ? text_nearest(name, words) : NULL;
	if (near)
		return err_set(e, -EINVAL, "no format \"%s\"; did you mean \"%s\"?", name, near);
	return err_set(e, -EINVAL, "%s%s%s; there are: %s", *name ? "no format \"" : "no --format",
		       name, *name ? "\"" : "", buf_str(&all));
}

const struct trial_info *export_trial(const struct report *rep, uint64_t number)
{
	for (size_t i = 0; i < rep->nr_trials; i++)
		if ((uint64_t)rep->trials[i].position + 1 == number)
			return &rep->trials[i];
	return NULL;
}
