/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CMD_RESTORE_H
#define CMD_RESTORE_H

struct err;

/*
 * irqlab restore [--forget]; @argv[0] is "restore".
 * Return: the exit code (0, 2 usage, 3 not restored, 77 cannot run here), or negative errno with
 * @e set.
 */
int cmd_restore(int argc, char **argv, struct err *e);

#endif
