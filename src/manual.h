/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MANUAL_H
#define MANUAL_H

/* Manual pages, in the man(7) macros, from the rows that the commands are parsed by. */

struct buf;
struct command;

/* irqlab(1): all commands. */
int manual_main(const struct command *const *commands, struct buf *out);
/* irqlab-NAME(1). */
int manual_command(const struct command *cmd, struct buf *out);
/* The tables of irqlab-plan(5): knobs, loads and probes with their options and metrics. */
int manual_plugins(struct buf *out);

#endif
