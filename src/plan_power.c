// SPDX-License-Identifier: GPL-3.0-or-later
#include "plan_power.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/json_field.h"
#include "cmd_output.h"
#include "plan/plan.h"
#include "registry.h"
#include "report/format.h"
#include "report/noise.h"
#include "stats/power.h"
#include "store/store.h"
#include "trial/trial.h"

/* Which machine this is, as a stored run says it. */
static char *this_machine(struct err *e)
{
	struct host h = {};
	_cleanup_(json_putp) struct json_object *env = NULL;
	char *text;

	if (host_open(&h, e) < 0)
		return NULL;
	env = host_env(&h);
	host_release(&h);
	text = env ? strdup(json_object_to_json_string_ext(env, JSON_C_TO_STRING_PLAIN)) : NULL;
	if (!text)
		err_nomem(e, "machine");
	return text;
}

/* Noise of every metric, as far as anything stored tells; nothing stored is no error. */
static int find_noise(const struct plan *p, const struct power_question *q, struct noise *ret,
		      struct err *e)
{
	_cleanup_(store_closep) struct store *s = NULL;
	_cleanup_(freep) char *env = NULL;
	int64_t run = 0;
	int r = cmd_store_open(&s, q->db, STORE_READ, e);

	if (r == -ENOENT && !*q->pilot)
		return 0;
	if (r >= 0 && *q->pilot) {
		r = store_run_find(s, q->pilot, &run, e);
		return r < 0 ? r : noise_of_run(s, run, &plan_plugins, p, ret, e);
	}
	if (r >= 0) {
		env = this_machine(e);
		r = env ? noise_find(s, &plan_plugins, &(struct noise_query){ env, p, true }, ret,
				     e)
			: e->code;
	}
	return r;
}

static double as_shown(const struct noise *n, double d)
{
	return n->scale == VERDICT_SCALE_RATIO ? expm1(d) : d;
}

/* What will decide metric @at of the plan. */
struct design {
	struct power_design is;
	double information[PLAN_LOOKS_MAX];
};

static void find_design(const struct plan *p, size_t at, struct design *ret)
{
	const struct metric_desc *desc = p->metrics[at].desc;

	*ret = (struct design){ .is = { .test = noise_test(metric_desc_kind(desc)),
					.alpha = p->alpha / (double)p->nr_metrics,
					.power = NOISE_POWER,
					.nr_looks = p->nr_looks } };
	for (size_t k = 0; k < p->nr_looks; k++)
		ret->information[k] = (double)p->looks[k] / p->blocks;
	ret->is.information = ret->information;
}

/* Blocks that detect @q->detect in metric @at; 0 when none will, or when it cannot be said. */
static size_t size_blocks(const struct plan *p, const struct power_question *q, size_t at,
			  const struct noise *n)
{
	double effect = n->scale == VERDICT_SCALE_RATIO ? log1p(q->detect) : q->detect;
	struct design d;
	size_t blocks = 0;

	find_design(p, at, &d);
	if (n->run == 0 || n->scale == VERDICT_SCALE_UNIT ||
	    power_blocks(&d.is, effect, n->sd, &blocks) < 0)
		return 0;
	return blocks;
}

/* "; looked at as planned it ends after 9 of 16 blocks, in the mean" */
static void looks_line(const struct plan *p, const struct design *d, struct buf *out)
{
	struct power_looks looks;

	if (plan_is_sequential(p) && power_looks(&d->is, &looks) == 0)
		buf_printf(out, "; where it is that large, the run ends after about %.0f blocks",
			   ceil(looks.expected * p->blocks));
}

static void metric_line(const struct plan *p, const struct power_question *q, size_t at,
			const struct noise *n, struct buf *out)
{
	const char *unit = n->scale == VERDICT_SCALE_UNIT ? p->metrics[at].unit : "ratio";
	size_t blocks = size_blocks(p, q, at, n);
	struct design d;
	double effect = 0;

	find_design(p, at, &d);
	buf_printf(out, "  %s: ", p->metrics[at].text);
	if (n->run == 0) {
		buf_printf(out,
			   "not known: no stored run of this machine measured it so; a pilot "
			   "is needed%s\n",
			   *q->pilot ? ", and that one did not measure it so" : "");
		return;
	}
	if (n->sd == 0) {
		buf_printf(out, "any (run %" PRId64 " saw no noise at all)\n", n->run);
		return;
	}
	if (power_effect(&d.is, p->blocks, n->sd, &effect) < 0)
		effect = (double)NAN;
	format_value(out, as_shown(n, effect), unit);
	buf_puts(out, " (single pairs differ by ");
	format_value(out, n->sd, unit);
	buf_printf(out, ", from run %" PRId64 ")", n->run);
	looks_line(p, &d, out);
	if (q->detect > 0 && blocks) {
		buf_puts(out, "; for ");
		format_value(out, q->detect, "ratio");
		buf_printf(out, ": %zu blocks", blocks);
	} else if (q->detect > 0) {
		buf_puts(out, "; for ");
		format_value(out, q->detect, "ratio");
		buf_puts(out, ": more blocks than can be");
	}
	buf_putc(out, '\n');
}

/* What to write into the plan. */
static void size_line(const struct plan *p, const struct power_question *q,
		      const struct noise *noise, struct buf *out)
{
	unsigned int least = plan_min_blocks(p->nr_metrics, p->alpha);
	size_t most = least;
	uint64_t minutes;

	for (size_t i = 0; i < p->nr_metrics; i++) {
		size_t n = size_blocks(p, q, i, &noise[i]);

		if (n == 0)
			return;
		most = n > most ? n : most;
	}
	buf_puts(out, "to detect ");
	format_value(out, q->detect, "ratio");
	minutes = most * plan_block_ns(p) / (60 * NS_PER_S) + 1;
	buf_printf(out, " in every metric write: blocks: %zu (about %" PRIu64 " min)\n", most,
		   minutes);
}

int plan_power(const struct plan *p, const struct power_question *q, struct buf *out, struct err *e)
{
	_cleanup_(freep) struct noise *noise = calloc(p->nr_metrics + 1, sizeof(*noise));
	bool unknown = false;
	int r;

	if (!noise)
		return err_nomem(e, "plan");
	r = find_noise(p, q, noise, e);
	if (r < 0 || p->nr_variants < 2)
		return r;
	buf_printf(out, "smallest change that %u blocks detect in four of five experiments:\n",
		   p->blocks);
	for (size_t i = 0; i < p->nr_metrics; i++) {
		metric_line(p, q, i, &noise[i], out);
		unknown |= noise[i].run == 0;
	}
	if (q->detect > 0)
		size_line(p, q, noise, out);
	if (unknown)
		buf_printf(out,
			   "a pilot: irqlab run --aa %s (the baseline against itself), then irqlab "
			   "plan %s%s\n",
			   q->file, q->file, *q->pilot ? "" : " again, or with --pilot RUN");
	return out->failed ? err_nomem(e, "plan") : 0;
}
