/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef BASE_SIGNALS_H
#define BASE_SIGNALS_H

struct err;

/*
 * SIGINT, SIGTERM and SIGHUP as a descriptor: blocked in the calling thread (before others exist),
 * they make it readable, so that whoever waits can end in good order.  Returns the descriptor.
 */
int signals_open(struct err *e);

#endif
