/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_LABEL_H
#define IMPORT_LABEL_H

/* What the foreign lines around the rows say: commands, headings, the kernel's messages, cuts. */

#include <stdbool.h>
#include <stddef.h>

struct buf;

/* Where in @line the program @name is called, or NULL: an option or a prompt stands beside it. */
const char *label_find_call(const char *line, const char *name);
/* The text after the shell's prompt in front of @call, e.g. "root@box:~# ./load & cyclictest -m" */
const char *label_after_prompt(const char *line, const char *call);
/* Replace @out by [@s, @end) without decoration, cut at a character's boundary; nothing is done
 * when nothing is left. */
void label_keep(struct buf *out, const char *s, const char *end);
/* Where "[ 1234.567890] text" begins in @line, or NULL: the kernel's log has run into the table. */
const char *label_find_kernel(const char *line);
/* Whether @line says that text was left out: "[...]", "<snip>". */
bool label_is_cut(const char *line, size_t len);
bool label_has_word(const char *s);
/* A prompt such as "root@box:~# " in @line: its length and *ret_at; 0 when there is none. */
size_t label_find_prompt(const char *line, const char **ret_at);

/* Whether the line is a mark of a forum, a tracker or a diff that says nothing about what follows:
 * "[code]", "```text", "{noformat}", "@@ -1,3 +1,3 @@". */
bool label_is_markup(const char *line);

#endif
