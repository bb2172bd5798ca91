/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CMD_H
#define CMD_H

/*
 * One file per command.  To add one: cmd_NAME.c with a const struct command cmd_NAME, a line in
 * commands.def, a line in meson.build, a test in tests/e2e.
 */

#include "cmdline.h"

#define COMMAND(name) extern const struct command cmd_##name;
#include "commands.def"
#undef COMMAND

#endif
