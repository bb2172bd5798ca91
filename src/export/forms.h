/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef EXPORT_FORMS_H
#define EXPORT_FORMS_H

/* The tables of this folder's files.  Internal. */

#include "export/export.h"

extern const struct export_ops export_json, export_csv, export_csv_scalars, export_csv_series,
	export_csv_exploratory, export_junit, export_ktap, export_kcidb, export_openmetrics,
	export_hdr, export_markdown, export_patch, export_iperf3_json, export_cyclictest_json;

#endif
