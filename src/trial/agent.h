/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TRIAL_AGENT_H
#define TRIAL_AGENT_H

struct err;
struct trial_plugins;

/*
 * The agent's life: serve the conductor on @fd until it says "close", goes away, or a signal of
 * @signal_fd arrives; the machine is given back on each of these ways.
 * Return: 0; -ENOTRECOVERABLE when something could not be set back; another negative errno.
 */
int agent_serve(int fd, int signal_fd, const struct trial_plugins *plugins, struct err *e);

#endif
