// SPDX-License-Identifier: GPL-3.0-or-later
/* What variants ask of the boot, and whether the running kernel is that. */
#include "plan/boot.h"

#include <errno.h>
#include <fnmatch.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "plan/plan.h"

struct boot_cfg {
	char *kernel;
	char *cmdline;
};

static const struct opt boot_options[] = {
	{ "kernel", OPT_STRING, offsetof(struct boot_cfg, kernel), "",
	  "release of the kernel, as uname -r prints it, or a pattern of it" },
	{ "cmdline", OPT_STRING, offsetof(struct boot_cfg, cmdline), "",
	  "words of the kernel's command line, as \"threadirqs isolcpus=1\"" },
	{},
};

const struct plugin plan_boot_plugin = {
	.name = "boot",
	.help = "what the machine is booted with",
	.options = boot_options,
};

/* One word of a command line: a key, and with it "=value". Borrowed. */
struct word {
	const char *s;
	size_t len, key_len;
};

/* Blanks within double quotes do not end a word; "--" ends the kernel's part. */
static bool next_word(const char **at, struct word *ret)
{
	const char *p = *at + strspn(*at, " \t\n");
	struct word w = { .s = p };
	bool quoted = false;

	for (; *p && (quoted || !strchr(" \t\n", *p)); p++)
		quoted ^= *p == '"';
	w.len = (size_t)(p - w.s);
	w.key_len = strcspn(w.s, "= \t\n");
	if (w.key_len > w.len)
		w.key_len = w.len;
	if (w.len == 0 || (w.len == 2 && memcmp(w.s, "--", 2) == 0))
		return false;
	*at = p;
	*ret = w;
	return true;
}

/* The kernel takes dashes and underscores of a name for one (kernel/params.c, parameqn). */
static bool same_key(const struct word *a, const struct word *b)
{
	if (a->key_len != b->key_len)
		return false;
	for (size_t i = 0; i < a->key_len; i++) {
		bool dashes = strchr("-_", a->s[i]) && strchr("-_", b->s[i]);

		if (a->s[i] != b->s[i] && !dashes)
			return false;
	}
	return true;
}

static bool same_word(const struct word *a, const struct word *b)
{
	size_t rest = a->len - a->key_len;

	return same_key(a, b) && b->len - b->key_len == rest &&
	       memcmp(a->s + a->key_len, b->s + b->key_len, rest) == 0;
}

/* The word of @line that counts for @w's key: the last one. */
static bool effective(const char *line, const struct word *w, struct word *ret)
{
	struct word at;
	bool found = false;

	while (next_word(&line, &at))
		if (same_key(&at, w)) {
			*ret = at;
			found = true;
		}
	return found;
}

static bool is_in_effect(const char *line, const struct word *w)
{
	struct word at = {};

	return effective(line, w, &at) && same_word(&at, w);
}

static const char *option(const struct variant *v, const char *key)
{
	const char *text = v->boot.nr ? instance_value(&v->boot.v[0], key) : NULL;

	return text ? text : "";
}

bool plan_has_boots(const struct plan *p)
{
	for (size_t i = 0; i < p->nr_variants; i++)
		if (p->variants[i].boot.nr)
			return true;
	return false;
}

int plan_check_boots(const struct plan *p, size_t *ret_variant, struct err *e)
{
	size_t with_kernel = 0;

	for (size_t i = 0; i < p->nr_variants; i++) {
		const struct variant *v = &p->variants[i];
		const char *line = option(v, "cmdline"), *rest;
		struct word w;

		*ret_variant = i;
		if (v->boot.nr > 1)
			return err_set(e, -EINVAL, "variant \"%s\": boot stands twice", v->name);
		if (v->boot.nr && !*line && !*option(v, "kernel"))
			return err_set(e, -EINVAL, "variant \"%s\": boot needs kernel or cmdline",
				       v->name);
		for (rest = line; next_word(&rest, &w);)
			if (!is_in_effect(line, &w))
				return err_set(e, -EINVAL,
					       "variant \"%s\": boot's cmdline has \"%.*s\" more "
					       "than once",
					       v->name, (int)w.key_len, w.s);
		if (rest[strspn(rest, " \t\n")])
			return err_set(e, -EINVAL,
				       "variant \"%s\": what follows \"--\" is init's, not the "
				       "kernel's",
				       v->name);
		with_kernel += *option(v, "kernel") != '\0';
	}
	for (size_t i = 0; with_kernel && i < p->nr_variants; i++) {
		*ret_variant = i;
		if (!*option(&p->variants[i], "kernel"))
			return err_set(e, -EINVAL,
				       "variant \"%s\" names no kernel, others do: give each "
				       "variant its boot: { kernel: ... }",
				       p->variants[i].name);
	}
	return 0;
}

/* Is @w a word of another variant, of a key that @variant itself does not name? */
static bool is_of_others(const struct plan *p, size_t variant, const struct word *w)
{
	struct word own = {};

	if (effective(option(&p->variants[variant], "cmdline"), w, &own))
		return false;
	for (size_t i = 0; i < p->nr_variants; i++)
		if (i != variant && is_in_effect(option(&p->variants[i], "cmdline"), w))
			return true;
	return false;
}

static void put_word(struct buf *out, const char *between, const struct word *w)
{
	if (out->len)
		buf_puts(out, between);
	buf_add(out, w->s, w->len);
}

/* The command line to boot: the running one without what is wrong or the loader's, then our own. */
static void put_cmdline(const struct plan *p, size_t variant, const char *now, struct buf *out)
{
	static const char image[] = "BOOT_IMAGE", initrd[] = "initrd";
	const struct word loader[] = { { image, sizeof(image) - 1, sizeof(image) - 1 },
				       { initrd, sizeof(initrd) - 1, sizeof(initrd) - 1 } };
	const char *own = option(&p->variants[variant], "cmdline"), *rest = now;
	struct word w, found;

	while (next_word(&rest, &w))
		if (!effective(own, &w, &found) && !is_of_others(p, variant, &w) &&
		    !same_key(&w, &loader[0]) && !same_key(&w, &loader[1]))
			put_word(out, " ", &w);
	while (next_word(&own, &w))
		put_word(out, " ", &w);
	rest += strspn(rest, " \t\n");
	if (*rest)
		buf_printf(out, "%s%.*s", out->len ? " " : "", (int)strcspn(rest, "\n"), rest);
}

/* A kernel that ignores the word makes two variants one. */
static int check_dynamic(const char *own, const struct boot_state *now, struct err *e)
{
	static const struct word preempt = { "preempt", 7, 7 };
	struct word w = {};

	if (!effective(own, &preempt, &w) || strstr(now->version, "PREEMPT_DYNAMIC"))
		return 0;
	return err_set(e, -ENOTSUP,
		       "\"%.*s\" means nothing to kernel %s (%s): it needs PREEMPT_DYNAMIC",
		       (int)w.len, w.s, now->release, now->version);
}

int plan_boot_check(const struct plan *p, size_t variant, const struct boot_state *now,
		    struct boot_wish *ret, struct err *e)
{
	const char *own = option(&p->variants[variant], "cmdline"), *rest;
	const char *kernel = option(&p->variants[variant], "kernel");
	_cleanup_(boot_wish_release) struct boot_wish wish = {};
	struct word w;
	int r = 0;

	wish.kernel = *kernel && fnmatch(kernel, now->release, 0) != 0 ? kernel : NULL;
	for (rest = own; next_word(&rest, &w);)
		if (!is_in_effect(now->cmdline, &w))
			put_word(&wish.missing, " ", &w);
	for (rest = now->cmdline; next_word(&rest, &w);)
		if (is_of_others(p, variant, &w))
			put_word(&wish.extra, " ", &w);
	wish.met = !wish.kernel && !wish.missing.len && !wish.extra.len;
	if (wish.met)
		r = check_dynamic(own, now, e);
	else
		put_cmdline(p, variant, now->cmdline, &wish.cmdline);
	if (r < 0)
		return r;
	if (wish.missing.failed || wish.extra.failed || wish.cmdline.failed)
		return err_nomem(e, "boot");
	*ret = wish;
	wish = (struct boot_wish){};
	return 0;
}

void boot_wish_release(struct boot_wish *w)
{
	buf_release(&w->missing);
	buf_release(&w->extra);
	buf_release(&w->cmdline);
}
