// SPDX-License-Identifier: GPL-3.0-or-later
#include <ctype.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "export/forms.h"
#include "export/outcome.h"
#include "report/format.h"

/*
 * A KCIDB report in schema 5.0 (kcidb-io, checked up to 5.3, of which 5.0 is a part).  irqlab knows
 * the kernel that ran, not the tree it came from: checkout and build are what the tests hang on,
 * and whoever submits may put git's facts into them.  Identifiers begin with the origin, which a
 * submitter agrees with KernelCI; "irqlab" stands there for it.
 */
#define ORIGIN "irqlab"

/* Better and same: the tested code is right; undecided: measured, and no statement about it. */
static const char *status(const struct verdict *v)
{
	switch (v->word) {
	case VERDICT_BETTER:
	case VERDICT_SAME:
		return "PASS";
	case VERDICT_WORSE:
		return "FAIL";
	case VERDICT_UNDECIDED:
		return "DONE";
	case VERDICT_VETOED:
		break;
	}
	return "ERROR";
}

/* Other characters than those of a path's part become '_'. */
static void word(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (isascii(*text) && (isalnum(*text) || *text == '-'))
			buf_putc(out, *text);
		else
			buf_putc(out, '_');
	}
}

/* "irqlab.after.net.wakeup.p99" */
static void test_path(struct buf *out, const struct report *rep, const struct verdict *v)
{
	const struct plan_metric *m = &rep->plan->metrics[v->query];
	const char *at = m->metric;

	buf_puts(out, ORIGIN ".");
	word(out, model_variant(rep, v->variant));
	buf_putc(out, '.');
	word(out, m->scenario);
	while (*at) {
		size_t len = strcspn(at, ".");
		_cleanup_(freep) char *part = strndup(at, len);

		buf_putc(out, '.');
		word(out, part && *part ? part : "_");
		at += len + (at[len] == '.');
	}
	if (*m->labels) {
		buf_putc(out, '.');
		word(out, m->labels);
	}
}

/* The same run keeps its identity wherever it is exported from. */
static void run_id(struct buf *out, const struct report *rep)
{
	buf_printf(out, ORIGIN ":%" PRIx64 "-%" PRIu64, rep->run.started_ns, rep->run.seed);
}

static void put_time(struct json_object *o, const char *key, uint64_t ns)
{
	_cleanup_(buf_release) struct buf b = {};

	outcome_time(&b, ns);
	if (b.len)
		json_put_text(o, key, buf_str(&b));
}

static struct json_object *named(const char *id)
{
	struct json_object *o = json_object_new_object();

	json_put_text(o, "id", id);
	json_put_text(o, "origin", ORIGIN);
	return o;
}

static struct json_object *checkout(const struct report *rep, const char *id)
{
	struct json_object *o = named(id);
	_cleanup_(buf_release) struct buf b = {};

	buf_puts(&b, "the kernel that ran: ");
	outcome_env(&b, rep, "release");
	buf_putc(&b, ' ');
	outcome_env(&b, rep, "version");
	json_put_text(o, "comment", buf_str(&b));
	put_time(o, "start_time", rep->run.started_ns);
	return o;
}

static struct json_object *build(const struct report *rep, const char *id)
{
	struct json_object *o = named(id);
	_cleanup_(buf_release) struct buf machine = {}, release = {};

	json_put_text(o, "checkout_id", id);
	outcome_env(&machine, rep, "machine");
	/* x86_64, aarch64: as uname has it, unless somebody's kernel has capitals there */
	if (machine.len &&
	    strspn(machine.data, "abcdefghijklmnopqrstuvwxyz0123456789_") == machine.len)
		json_put_text(o, "architecture", machine.data);
	outcome_env(&release, rep, "release");
	if (release.len)
		json_put_text(o, "comment", buf_str(&release));
	return o;
}

/* In the units that KCIDB scales by itself: seconds, not ns. */
static struct json_object *number(const char *unit, double v)
{
	struct json_object *o = json_object_new_object();
	bool ns = strcmp(unit, "ns") == 0;

	json_put_number(o, "value", ns ? v / (double)NS_PER_S : v);
	if (strcmp(unit, "count") != 0 && strcmp(unit, "ratio") != 0) {
		json_put_text(o, "unit", ns ? "s" : unit);
		json_put_text(o, "prefix", "metric");
	}
	return o;
}

static struct json_object *test_misc(const struct report *rep, const struct verdict *v)
{
	struct json_object *o = json_object_new_object();
	const struct plan_metric *m = &rep->plan->metrics[v->query];
	_cleanup_(buf_release) struct buf settings = {};

	json_put_text(o, "verdict", verdict_word(v->word));
	json_put_text(o, "metric", m->text);
	json_put_text(o, "unit", m->unit);
	json_put_text(o, "baseline", model_variant(rep, 0));
	json_put_text(o, "variant", model_variant(rep, v->variant));
	outcome_settings(&settings, rep, v->variant);
	json_put_text(o, "settings", buf_str(&settings));
	json_put_number(o, "baseline_median", v->baseline);
	json_put_number(o, "variant_median", v->value);
	json_put_text(o, "test", verdict_test(v->kind));
	json_put_text(o, "scale", verdict_scale_word(v->scale));
	json_put_number(o, "change", v->change);
	json_put_number(o, "low", v->low);
	json_put_number(o, "high", v->high);
	json_put_number(o, "margin", m->margin);
	json_put_number(o, "alpha", v->alpha);
	json_object_object_add(o, "blocks", json_object_new_uint64(v->blocks));
	json_object_object_add(o, "lost", json_object_new_uint64(v->lost));
	if (v->n_baseline > 0)
		json_put_number(o, "samples_baseline", v->n_baseline);
	if (v->n_value > 0)
		json_put_number(o, "samples_variant", v->n_value);
	if (v->looks) {
		json_object_object_add(o, "look", json_object_new_uint64(v->look));
		json_object_object_add(o, "looks", json_object_new_uint64(v->looks));
		json_object_object_add(o, "futile", json_object_new_boolean(v->futile));
	}
	if (rep->noise[v->query].run)
		json_put_number(o, "noise_floor", rep->noise[v->query].sd);
	return o;
}

static struct json_object *environment(const struct report *rep)
{
	struct json_object *o = json_object_new_object();
	_cleanup_(buf_release) struct buf b = {};

	outcome_env(&b, rep, "cpu_model");
	if (b.len)
		buf_puts(&b, ", CPUs: ");
	outcome_env(&b, rep, "cpus");
	if (b.len)
		json_put_text(o, "comment", buf_str(&b));
	return o;
}

static struct json_object *test(const struct report *rep, const struct verdict *v, const char *id)
{
	_cleanup_(buf_release) struct buf b = {}, path = {};
	struct json_object *o;

	test_path(&path, rep, v);
	buf_printf(&b, "%s:%s", id, buf_str(&path));
	o = named(buf_str(&b));
	json_put_text(o, "build_id", id);
	json_put_text(o, "path", buf_str(&path));
	json_put_text(o, "status", status(v));
	buf_reset(&b);
	outcome_sentence(&b, rep, v);
	json_put_text(o, "comment", buf_str(&b));
	if (v->value == v->value)
		json_object_object_add(o, "number",
				       number(rep->plan->metrics[v->query].unit, v->value));
	put_time(o, "start_time", rep->run.started_ns);
	if (outcome_seconds(rep) > 0)
		json_put_number(o, "duration", outcome_seconds(rep));
	json_object_object_add(o, "environment", environment(rep));
	json_object_object_add(o, "misc", test_misc(rep, v));
	return o;
}

static void add_list(struct json_object *to, const char *key, struct json_object *only)
{
	struct json_object *list = json_object_new_array();

	json_object_array_add(list, only);
	json_object_object_add(to, key, list);
}

static int write_kcidb(const struct export_source *src, struct buf *out, struct err *e)
{
	const struct report *rep = src->report;
	struct json_object *o = json_object_new_object(), *version = json_object_new_object();
	struct json_object *tests = json_object_new_array();
	_cleanup_(buf_release) struct buf id = {};

	run_id(&id, rep);
	json_object_object_add(version, "major", json_object_new_int(5));
	json_object_object_add(version, "minor", json_object_new_int(0));
	json_object_object_add(o, "version", version);
	add_list(o, "checkouts", checkout(rep, buf_str(&id)));
	add_list(o, "builds", build(rep, buf_str(&id)));
	for (size_t i = 0; i < rep->nr_verdicts; i++)
		json_object_array_add(tests, test(rep, &rep->verdicts[i], buf_str(&id)));
	json_object_object_add(o, "tests", tests);
	json_print(out, o);
	return out->failed || id.failed ? err_nomem(e, "KCIDB report") : 0;
}

const struct export_ops export_kcidb = {
	.name = "kcidb",
	.help = "a report as KernelCI's database takes it (schema 5.0)",
	.write = write_kcidb,
};
