/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef REPORT_LABELS_H
#define REPORT_LABELS_H

/* Reading the canonical form of labels, "cpu=0,prio=98" (sample/sample.h). */

/* Start of the value of @key inside @labels (it ends at a comma or the end), or NULL. */
const char *labels_value(const char *labels, const char *key);
/* A new string (free()) with the pair of @key left out; NULL without memory. */
char *labels_without(const char *labels, const char *key);

#endif
