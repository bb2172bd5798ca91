// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/label.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "import/import_ops.h"

#define LABEL_MAX 160 /* bytes kept of a label */

static bool has_option(const char *s)
{
	for (s = scan_find(s, " -"); s; s = scan_find(s + 1, " -"))
		if (isalpha((unsigned char)s[2]) || (s[2] == '-' && isalpha((unsigned char)s[3])))
			return true;
	return false;
}

const char *label_find_call(const char *line, const char *name)
{
	size_t n = strlen(name);

	for (const char *s = scan_find(line, name); s; s = scan_find(s + n, name)) {
		if (s > line && (isalnum((unsigned char)s[-1]) || s[-1] == '-'))
			continue;
		if (s[n] != ' ' && s[n] != '\0')
			continue;
		if (label_after_prompt(line, s) != line ||
		    (s[n] == ' ' && s[n + 1] == '-' && s[n + 2] && s[n + 2] != ' '))
			return s;
		/* "rtla timerlat hist -c 1" at the line's start, but no prose with a dash in it */
		if (s == line && has_option(s + n))
			return s;
	}
	return NULL;
}

const char *label_after_prompt(const char *line, const char *call)
{
	for (const char *s = call; s > line + 1; s--)
		if (s[-1] == ' ' && (s[-2] == '#' || s[-2] == '$'))
			return s;
	return line;
}

void label_keep(struct buf *out, const char *s, const char *end)
{
	static const char decoration[] = "=-#*~_ ";

	while (s < end && strchr(decoration, *s))
		s++;
	while (end > s && (strchr(decoration, end[-1]) || end[-1] == ':'))
		end--;
	if (end - s > LABEL_MAX) {
		end = s + LABEL_MAX;
		while (end > s && ((unsigned char)*end & 0xc0) == 0x80)
			end--;
	}
	if (s == end)
		return;
	buf_reset(out);
	buf_add(out, s, (size_t)(end - s));
}

const char *label_find_kernel(const char *line)
{
	for (const char *s = strchr(line, '['); s; s = strchr(s + 1, '[')) {
		const char *p = s + 1;
		struct scan_number n;

		scan_space(&p);
		if (!isdigit((unsigned char)*p))
			continue;
		if (scan_number(&p, &n) && n.decimals == 6 && *p == ']')
			return s;
	}
	return NULL;
}

#define CUT_MAX 40 /* bytes of a line that says so */

bool label_is_cut(const char *line, size_t len)
{
	static const char *const words[] = { "snip",	"cut",	  "snipped",  "trimmed",
					     "skipped", "elided", "truncated" };
	const char *s = line;
	size_t n;

	if (len > CUT_MAX)
		return false;
	s += strspn(line, "[(<{-8>= ");

	for (n = 0; strncmp(s, "...", 3) == 0 || strncmp(s, "\xe2\x80\xa6", 3) == 0; s += 3)
		n++;
	s += strspn(s, ".");
	if (n && !s[strspn(s, "])>}-8< =.")])
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(words) && s > line; i++) {
		n = strlen(words[i]);
		if (strncasecmp(s, words[i], n) == 0 && !s[n + strspn(s + n, "])>}-8< =.")])
			return true;
	}
	return false;
}

bool label_has_word(const char *s)
{
	for (; *s; s++)
		if (isalnum((unsigned char)*s) || (unsigned char)*s >= 0x80)
			return true;
	return false;
}

size_t label_find_prompt(const char *line, const char **ret_at)
{
	for (const char *at = strchr(line, '@'); at; at = strchr(at + 1, '@')) {
		const char *s = at, *end = at + 1;

		while (s > line && (isalnum((unsigned char)s[-1]) || strchr("-_.", s[-1])))
			s--;
		if (s > line && s[-1] == '[')
			s--;
		while (isgraph((unsigned char)*end) && !strchr("#$", *end))
			end++;
		if (*end == ' ' && *s == '[') /* "[root@box ~]# " */
			end += strcspn(end, "#$");
		if (s == at || (*end != '#' && *end != '$'))
			continue;
		end++;
		end += *end == ' ';
		*ret_at = s;
		return (size_t)(end - s);
	}
	return 0;
}

bool label_is_markup(const char *line)
{
	static const char *const tags[] = { "code",    "quote",	   "pre",   "icode",
					    "spoiler", "noformat", "plain", "font" };
	const char *s = line;

	if (strncmp(s, "```", 3) == 0 || strncmp(s, "@@ -", 4) == 0)
		return true;
	if (*s != '[' && *s != '{')
		return false;
	s += s[1] == '/' ? 2 : 1;
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		size_t n = strlen(tags[i]);

		/* "[code=text]", "{code:bash}", nothing behind it */
		if (strncasecmp(s, tags[i], n) == 0 && strchr("]}=:", s[n]) && s[n])
			return s[n + strcspn(s + n, "]}")] && !s[n + strcspn(s + n, "]}") + 1];
	}
	return false;
}
