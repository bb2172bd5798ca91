/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef COMPLETE_H
#define COMPLETE_H

/*
 * Completion for shells.  What can follow is worked out here, from the rows that the commands are
 * parsed by and from the store; the shells' own scripts only ask.
 */

struct buf;
struct command;
struct err;

/*
 * Append what the last of @words may become, one a line: commands, options, runs and tags.  The
 * words are those behind "irqlab"; nothing to append means a file or a number.
 */
void complete_words(const struct command *const *commands, int nr, char **words, struct buf *out);

/* The script for @shell: bash, zsh or fish; -EINVAL for another. */
int complete_script(const char *shell, struct buf *out, struct err *e);

#endif
