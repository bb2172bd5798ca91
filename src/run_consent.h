/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef RUN_CONSENT_H
#define RUN_CONSENT_H

/* A plan may come from somebody else, and what it has a shell run, runs as root. */

#include <stdbool.h>

struct err;
struct plan;

/*
 * Show what of @p a shell would run (standard error) and ask on the terminal, unless @yes.  Nothing
 * to run: nothing is asked.
 * Return: 0 to go on; -ECANCELED when a person said no, -EPERM when there is nobody to ask.
 */
int run_consent(const struct plan *p, bool yes, struct err *e);

#endif
