// SPDX-License-Identifier: GPL-3.0-or-later
#include "export/forms.h"

/* The same as "irqlab report --json": one schema, docs/schema/report-1.json, for both. */
static int write_json(const struct export_source *src, struct buf *out, struct err *e)
{
	return report_json(src->report, out, e);
}

const struct export_ops export_json = {
	.name = "json",
	.help = "verdicts, health, trials; docs/schema/report-1.json",
	.write = write_json,
};
