// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/text_parts.h"

#include <inttypes.h>
#include <math.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "report/format.h"
#include "report/model.h"

void format_noise(struct buf *out, const struct report *rep, const struct verdict *v)
{
	const struct noise *n = &rep->noise[v->query];
	const char *unit = rep->plan->metrics[v->query].unit;
	double visible = noise_visible(n, v);
	bool plain = n->scale == VERDICT_SCALE_UNIT;

	if (n->run == 0)
		return;
	if (n->sd == 0) {
		buf_printf(out, "none seen in ");
		format_count(out, n->blocks, "block");
		buf_printf(out, " of A/A run %" PRId64, n->run);
		return;
	}
	format_value(out, n->sd, plain ? unit : "ratio");
	buf_printf(out, " a pair (A/A run %" PRId64 ", ", n->run);
	format_count(out, n->blocks, "block");
	buf_putc(out, ')');
	if (!isfinite(visible))
		return;
	buf_puts(out, "; ");
	format_count(out, v->blocks, "block");
	buf_puts(out, " see ");
	format_value(out, visible, plain ? unit : "ratio");
	buf_puts(out, " in 4 of 5 experiments");
}

void text_noise(const struct report *rep, struct buf *out)
{
	size_t before = out->len;

	for (size_t i = 0; i < rep->nr_verdicts; i++) {
		const struct verdict *v = &rep->verdicts[i];
		_cleanup_(buf_release) struct buf noise = {}, line = {};

		format_noise(&noise, rep, v);
		if (noise.len == 0)
			continue;
		buf_printf(&line, "%s", rep->plan->metrics[v->query].text);
		if (rep->plan->nr_variants > 2)
			buf_printf(&line, ", %s", model_variant(rep, v->variant));
		buf_printf(&line, ": %s", buf_str(&noise));
		format_wrap(out, "noise floor of this bench: ", 2, buf_str(&line));
	}
	if (out->len > before)
		buf_putc(out, '\n');
}
