/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IMPORT_HTML_H
#define IMPORT_HTML_H

/* The few things of HTML that stand around tables in mails and web pages. */

#include <stdbool.h>
#include <stddef.h>

enum html_tag {
	HTML_NONE,   /* no tag of HTML: text */
	HTML_INLINE, /* nothing to be seen of it */
	HTML_CELL,   /* parts words */
	HTML_BLOCK,  /* parts lines */
	HTML_HIDE,   /* what follows is no text: <style>, <script> */
	HTML_SHOW,   /* ... up to its end */
};

/**
 * html_tag - what the tag that may begin at @s ("<") does
 * @html: the text is known to be HTML; else names of one letter are no tags
 * @ret_len: bytes up to and with its ">"; 0: it does not end in this line
 */
enum html_tag html_tag(const char *s, const char *end, bool html, size_t *ret_len);

/* The entity at @s ("&lt;", "&#160;"): its bytes, and *ret its character; 0 when it is none. */
size_t html_entity(const char *s, const char *end, unsigned int *ret);

#endif
