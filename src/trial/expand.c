// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "trial/trial.h"

struct name {
	const char *word; /* "$dut" */
	const char *ifname;
};

static const struct name *name_at(const struct name *names, const char *p)
{
	for (; names->word; names++) {
		size_t len = strlen(names->word);

		if (strncmp(p, names->word, len) == 0 && !isalnum((unsigned char)p[len]) &&
		    p[len] != '_')
			return names;
	}
	return NULL;
}

static int expand_text(const struct name *names, const char *text, struct buf *out, struct err *e)
{
	for (const char *p = text; *p;) {
		const struct name *n = *p == '$' ? name_at(names, p) : NULL;

		if (!n) {
			buf_putc(out, *p++);
			continue;
		}
		if (!n->ifname[0])
			return err_set(e, -ENODEV,
				       "\"%s\": this run has no %s; it needs \"peer: netns\"%s",
				       text, n->word,
				       strcmp(n->word, "$dut") == 0
					       ? ", a peer host or \"dut: NETDEV\""
					       : "");
		buf_puts(out, n->ifname);
		p += strlen(n->word);
	}
	return out->failed ? err_nomem(e, text) : 0;
}

int trial_expand(const struct host *host, const struct instance *inst, struct instance *ret,
		 struct err *e)
{
	const struct name names[] = { { "$dut", host->dut.ifname },
				      { "$far", host->far.ifname },
				      {} };
	_cleanup_(instance_release) struct instance copy = {};
	int r = instance_copy(inst, &copy, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < inst->nr_settings; i++) {
		const struct setting *s = &inst->settings[i];
		_cleanup_(buf_release) struct buf text = {};

		r = expand_text(names, s->value, &text, e);
		if (r >= 0)
			r = instance_set(&copy, s->key, buf_str(&text), s->line, e);
		if (r < 0)
			return err_wrap(e, "%s option \"%s\"", inst->plugin, s->key);
	}
	*ret = copy;
	copy = (struct instance){};
	return 0;
}
