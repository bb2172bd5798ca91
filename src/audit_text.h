/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef AUDIT_TEXT_H
#define AUDIT_TEXT_H

struct audit;
struct buf;

/* The audit for a terminal: by severity, at most 78 columns, no control characters. */
void audit_text(const struct audit *a, struct buf *out);
/* What --fix would set, a line each; nothing when no finding names a knob. */
void audit_text_knobs(const struct audit *a, struct buf *out);

#endif
