// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/json_field.h"
#include "base/personal.h"
#include "base/signals.h"
#include "cmdline.h"
#include "cmd_output.h"
#include "file.h"
#include "registry.h"
#include "report/queries.h"
#include "run_audit.h"
#include "run_boot.h"
#include "run_consent.h"
#include "run_plan.h"
#include "run_view.h"
#include "store/store.h"
#include "trial/bench.h"
#include "trial/conductor.h"
#include "trial/discard.h"
#include "trial/spec.h"
#include "verdict/verdict.h"

#define PLAN_MAX (1U << 20)
/* This many failed trials of one variant in a row mean that it cannot be measured here. */
#define FAILED_IN_A_ROW 3

/* One run under way. */
struct run {
	const struct run_request *cfg;
	struct buf text; /* of the plan */
	const char *file;
	struct plan plan;
	struct slot *slots;
	size_t nr_slots;
	bool *measured; /* per slot: in the store */
	struct store *store;
	struct conductor *conductor;
	int stop_fd;
	int64_t id; /* 0: not yet stored */
	char *env;  /* JSON of the run that is resumed; NULL: a new run */
	bool mine;  /* the bench was opened and the run in the store is this one's to end */
	bool aa;    /* every variant is the baseline */
	bool complete;
	struct run_boot boot; /* read where variants differ in it */
	struct run_view view;
	unsigned int *failed; /* per variant: in a row, so far */
};

static void run_release(struct run *r)
{
	buf_release(&r->text);
	plan_release(&r->plan);
	free(r->slots);
	free(r->measured);
	free(r->failed);
	free(r->env);
	run_boot_release(&r->boot);
	store_close(r->store);
	close_fdp(&r->stop_fd);
}

/* irqlab-agent is installed beside irqlab. */
static int agent_path(struct buf *ret, struct err *e)
{
	char *slash;
	ssize_t n;

	if (buf_reserve(ret, PATH_MAX) < 0)
		return err_nomem(e, "path");
	n = readlink("/proc/self/exe", ret->data, PATH_MAX);
	if (n < 0)
		return err_sys(e, "read /proc/self/exe");
	ret->data[n] = '\0';
	slash = strrchr(ret->data, '/');
	ret->len = slash ? (size_t)(slash - ret->data) : 0;
	return buf_puts(ret, "/irqlab-agent") < 0 ? err_nomem(e, "path") : 0;
}

static int needs_root(struct err *e)
{
	if (geteuid() == 0)
		return 0;
	err_set(e, -EPERM,
		"run needs root: it changes tunables, makes network namespaces and measures with "
		"SCHED_FIFO; run it as: sudo irqlab run ... (compare and report need no root)");
	return EXIT_CANNOT;
}

static int parse_plan(struct run *r, struct err *e)
{
	_cleanup_(buf_release) struct buf tails = {};
	int rc = plan_parse(buf_str(&r->text), r->text.len, r->file, &plan_plugins, &r->plan, e);

	if (rc >= 0 && r->aa)
		rc = plan_make_aa(&r->plan, e);
	if (rc >= 0)
		rc = plan_short_tails(&r->plan, &plan_plugins, &tails, e);
	run_view_warn(buf_str(&tails));
	if (rc >= 0)
		rc = plan_order(&r->plan, &r->slots, &r->nr_slots, e);
	if (rc < 0)
		return rc;
	r->measured = calloc(r->nr_slots, sizeof(*r->measured));
	r->failed = calloc(r->plan.nr_variants, sizeof(*r->failed));
	return r->measured && r->failed ? 0 : err_nomem(e, "run");
}

static bool same_cell(const struct slot *s, const struct trial_info *t)
{
	return s->block == t->block && s->scenario == t->scenario && s->variant == t->variant;
}

/* A trial that failed is measured again: what was in its way may be gone. */
static int mark_measured(struct run *r, struct err *e)
{
	struct trial_info *trials = NULL;
	size_t nr = 0;
	int rc = store_trials(r->store, r->id, &trials, &nr, e);

	for (size_t i = 0; i < nr && rc >= 0; i++)
		for (size_t k = 0; k < r->nr_slots; k++)
			if (same_cell(&r->slots[k], &trials[i]) && !r->measured[k] &&
			    trials[i].state != TRIAL_FAILED) {
				r->measured[k] = true;
				r->view.done++;
			}
	trials_free(trials, nr);
	return rc;
}

/* The newest run that did not end, of the plan @text when it is given. */
static int find_resumable(struct run *r, const char *text, struct run_info *ret, struct err *e)
{
	struct run_info *runs = NULL;
	size_t nr = 0, i = 0;
	int rc = store_runs(r->store, &runs, &nr, e);

	while (i < nr && (runs[i].state == RUN_DONE || (text && strcmp(text, runs[i].plan) != 0) ||
			  (r->cfg->aa && !runs[i].aa)))
		i++;
	if (rc >= 0 && i == nr)
		rc = err_set(e, -ENOENT, "resume: no run%s is left unfinished; see: irqlab list",
			     text ? " of this very plan" : "");
	if (rc >= 0) {
		*ret = runs[i];
		runs[i] = (struct run_info){};
	}
	runs_free(runs, nr);
	return rc;
}

/* The plan of a resumed run is the stored one. */
static int resume(struct run *r, struct err *e)
{
	_cleanup_(run_info_release) struct run_info info = {};
	_cleanup_(buf_release) struct buf given = {};
	int rc = r->file ? file_read(r->file, PLAN_MAX, &given, e) : 0;

	if (rc >= 0)
		rc = find_resumable(r, r->file ? buf_str(&given) : NULL, &info, e);
	if (rc < 0)
		return rc;
	r->id = info.id;
	r->file = "stored plan";
	if (buf_puts(&r->text, info.plan) < 0)
		return err_nomem(e, "plan");
	r->env = take_ptr(info.env);
	r->aa = info.aa;
	return parse_plan(r, e);
}

static int load_plan(struct run *r, struct err *e)
{
	int rc;

	if (r->cfg->resume)
		return resume(r, e);
	r->aa = r->cfg->aa;
	if (!r->file) {
		err_set(e, -EINVAL, "run needs PLAN; see: irqlab run --help");
		return EXIT_USAGE;
	}
	rc = file_read(r->file, PLAN_MAX, &r->text, e);
	if (rc >= 0)
		rc = parse_plan(r, e);
	return rc < 0 ? EXIT_USAGE : 0;
}

/* The plan's path without the name of whose home it is in. */
static char *stored_path(const struct run *r)
{
	_cleanup_(buf_release) struct buf path = {};

	if (r->cfg->identify)
		return strdup(r->file);
	personal_path(&path, r->file, secure_getenv("HOME"));
	return buf_take(&path);
}

static int add_run(struct run *r, struct json_object *env, struct err *e)
{
	const char **names = calloc(r->plan.nr_variants + r->plan.nr_scenarios + 2, sizeof(*names));
	const char **scenarios = names ? names + r->plan.nr_variants + 1 : NULL;
	/* struct run_info owns its strings elsewhere; here they are borrowed for the call */
	struct run_info info = { .name = r->plan.name,
				 .plan = r->text.data,
				 .seed = r->plan.seed,
				 .aa = r->aa,
				 .started_ns = clock_wall_ns() };
	char version[] = IRQLAB_VERSION;
	_cleanup_(freep) char *file = stored_path(r);
	_cleanup_(freep) char *env_text =
		strdup(json_object_to_json_string_ext(env, JSON_C_TO_STRING_PLAIN));
	int rc;

	if (!names || !file || !env_text) {
		free(names);
		return err_nomem(e, "run");
	}
	for (size_t i = 0; i < r->plan.nr_variants; i++)
		names[i] = r->plan.variants[i].name;
	for (size_t i = 0; i < r->plan.nr_scenarios; i++)
		scenarios[i] = r->plan.scenarios[i].name;
	info.version = version;
	info.plan_file = file;
	info.env = env_text;
	rc = store_run_add(r->store, &info, names, scenarios, &r->id, e);
	free(names);
	return rc;
}

/* Blocks of one run must not mix kernels or machines. */
static int same_machine(const struct run *r, struct json_object *now, struct err *e)
{
	/* those that other boots may change last */
	static const char *const keys[] = { "machine", "cpu_model", "release", "version",
					    "cmdline" };
	size_t nr = r->plan.boots ? 2 : ARRAY_SIZE(keys);
	_cleanup_(json_putp) struct json_object *then = json_tokener_parse(r->env);

	for (size_t i = 0; i < nr; i++) {
		const char *a = json_field_string(then, keys[i]),
			   *b = json_field_string(now, keys[i]);

		if (a && b && strcmp(a, b) != 0)
			return err_set(
				e, -EINVAL,
				"resume: run %lld was begun where %s was \"%s\", here it is \"%s\"; "
				"start anew without --resume",
				(long long)r->id, keys[i], a, b);
	}
	return 0;
}

static int open_bench(struct run *r, struct err *e)
{
	_cleanup_(bench_spec_release) struct bench_spec spec = {};
	_cleanup_(json_putp) struct json_object *env = NULL;
	_cleanup_(buf_release) struct buf path = {}, commands = {};
	int rc = agent_path(&path, e);

	if (rc >= 0)
		rc = bench_spec_of_plan(&r->plan, &spec, e);
	if (rc >= 0)
		rc = plan_commands(&r->plan, &plan_plugins, &commands, e);
	spec.commands = commands.len > 0;
	if (rc >= 0)
		rc = run_audit_spec(r->cfg, r->env, &spec, e);
	if (rc >= 0)
		rc = conductor_start(&r->conductor, buf_str(&path), r->stop_fd, e);
	if (rc >= 0)
		rc = conductor_open(r->conductor, &spec, &env, e);
	if (rc < 0)
		return rc == -EBUSY || rc == -EACCES || rc == -EPERM || rc == -EROFS ? EXIT_CANNOT
										     : rc;
	rc = run_audit_heed(r->cfg, env, e);
	if (rc != 0)
		return rc;
	/* the machine is ours from here: nobody else adds trials to this run now */
	rc = r->id ? same_machine(r, env, e) : add_run(r, env, e);
	if (rc >= 0)
		rc = mark_measured(r, e);
	r->mine = rc >= 0;
	return rc;
}

/* A trial that failed is stored as well: it is data.  Several in a row of one variant end the run.
 */
static int store_result(struct run *r, size_t position, struct trial_result *result,
			struct record_list *records, struct err *e)
{
	const struct slot *slot = &r->slots[position];
	struct trial_info t = { .block = slot->block,
				.scenario = slot->scenario,
				.variant = slot->variant,
				.position = (unsigned int)position,
				.seed = slot->seed,
				.state = result->state,
				.reason = result->state == TRIAL_OK ? NULL : result->reason.msg,
				.started_ns = result->started_ns,
				.window_ns = result->window_ns };
	int rc;

	if (r->plan.boots) {
		rc = run_boot_index(&r->boot, r->store, r->id, slot->variant, &t.boot, e);
		if (rc >= 0)
			rc = run_boot_note(&r->boot, records, e);
		if (rc < 0)
			return rc;
	}
	rc = store_trial_add(r->store, r->id, &t, records, e);
	if (rc < 0)
		return rc;
	r->failed[slot->variant] = result->state == TRIAL_FAILED ? r->failed[slot->variant] + 1 : 0;
	if (r->failed[slot->variant] >= FAILED_IN_A_ROW)
		return err_set(
			e, -ENODATA,
			"%u trials of variant %s in a row could not be measured: %s (where the "
			"plan is at fault, mend it and run it anew: a resumed run has its own)",
			r->failed[slot->variant], r->plan.variants[slot->variant].name,
			result->reason.msg);
	return 0;
}

static int one_trial(struct run *r, size_t position, struct err *e)
{
	const struct slot *slot = &r->slots[position];
	_cleanup_(trial_spec_release) struct trial_spec spec = {};
	_cleanup_(record_list_release) struct record_list records = {};
	const struct conductor_view view = { .phase = run_view_phase, .arg = &r->view };
	struct trial_result result = {};
	uint64_t began = clock_mono_ns();
	int rc = trial_spec_of_plan(&r->plan, slot, &spec, e);

	r->view.block = slot->block;
	r->view.variant = r->plan.variants[slot->variant].name;
	r->view.scenario = r->plan.scenarios[slot->scenario].name;
	if (rc >= 0)
		rc = conductor_trial(r->conductor, &spec, &view, &records, &result, e);
	if (rc < 0)
		return rc;
	discard_check(&r->plan, &records, &result);
	rc = run_audit_mask(r->cfg, &records, &result, e);
	if (rc < 0)
		return rc;
	rc = store_result(r, position, &result, &records, e);
	r->view.spent_ns += clock_mono_ns() - began;
	r->view.measured++;
	r->view.done++;
	return rc;
}

/*
 * Is the run looked at after @blocks blocks, and has it nothing left to decide then?  From the
 * store alone, so that a resumed run stops where one that was never interrupted would have.
 */
static int is_settled(struct run *r, unsigned int blocks, bool *ret, struct err *e)
{
	_cleanup_(queries_release) struct queries q = {};
	_cleanup_(freep) struct verdict *v = NULL;
	size_t nr = r->plan.nr_metrics * (r->plan.nr_variants - 1);
	bool due = false;
	int rc;

	*ret = false;
	for (size_t i = 0; i < r->plan.nr_looks; i++)
		due |= r->plan.looks[i] == blocks;
	if (!due || nr == 0)
		return 0;
	v = calloc(nr, sizeof(*v));
	rc = v ? queries_read(r->store, r->id, &r->plan, &q, e) : err_nomem(e, "verdict");
	if (rc >= 0)
		rc = queries_decide(&q, &r->plan, blocks, v, e);
	if (rc >= 0)
		*ret = verdict_is_settled(v, nr);
	return rc;
}

/* May this boot measure the trial at @position?  77 when another is to be booted for it. */
static int check_boot(struct run *r, size_t position, struct err *e)
{
	_cleanup_(buf_release) struct buf how = {};
	int rc = r->plan.boots
			 ? run_boot_check(&r->boot, &r->plan, r->slots[position].variant, &how, e)
			 : 0;

	if (how.len) {
		run_view_clear(&r->view);
		run_view_warn(buf_str(&how));
	}
	return rc == -EAGAIN || rc == -ENOTSUP ? EXIT_CANNOT : rc;
}

static int all_trials(struct run *r, struct err *e)
{
	size_t each = r->plan.nr_scenarios * r->plan.nr_variants;
	bool settled = false;
	int rc = 0;

	r->view.on = !r->cfg->quiet && isatty(STDERR_FILENO);
	r->view.total = r->nr_slots;
	r->view.blocks = r->plan.blocks;
	r->view.planned_ns = r->plan.settle_ns + r->plan.warmup_ns + r->plan.duration_ns;
	for (size_t i = 0; i < r->nr_slots && rc == 0 && !settled; i++) {
		if (!r->measured[i])
			rc = check_boot(r, i, e);
		if (rc == 0 && !r->measured[i])
			rc = one_trial(r, i, e);
		if (rc == 0 && (i + 1) % each == 0)
			rc = is_settled(r, (unsigned int)((i + 1) / each), &settled, e);
	}
	run_view_clear(&r->view);
	return rc;
}

/* What is told beside an error that left a run to go on with. */
static void add_remedy(const struct run *r, struct err *e)
{
	struct err why = *e;

	err_set(e, why.code, "%s; %zu of %zu trials are stored, go on with: irqlab run --resume",
		why.msg, r->view.done, r->nr_slots);
}

/* The run is kept although nothing was measured yet, so that it can be gone on with. */
static int add_stopped(struct run *r, struct err *e)
{
	_cleanup_(json_putp) struct json_object *env = NULL;
	struct host host = {};
	int rc = host_open(&host, e);

	if (rc < 0)
		return rc;
	env = host_env(&host);
	host_release(&host);
	rc = add_run(r, env, e);
	return rc < 0 ? rc : store_run_end(r->store, r->id, RUN_STOPPED, clock_wall_ns(), e);
}

/* Before anything is changed: is this the boot for the first trial that is missing? */
static int first_boot(struct run *r, struct err *e)
{
	struct err why = {};
	size_t i = 0;
	int rc = run_boot_read(&r->boot, e);

	if (rc >= 0 && r->id)
		rc = mark_measured(r, e);
	if (rc < 0)
		return rc;
	while (i < r->nr_slots && r->measured[i])
		i++;
	rc = i < r->nr_slots ? check_boot(r, i, &why) : 0;
	if (rc == EXIT_CANNOT && why.code == -EAGAIN) {
		int added = r->id ? 0 : add_stopped(r, e);

		if (added < 0)
			return added;
		add_remedy(r, &why);
	}
	if (rc != 0)
		*e = why;
	return rc;
}

/*
 * Measure what is missing, give the machine back, mark the run.  @r->complete tells whether there
 * is a verdict, also when the machine could not be given back.  Exit code or negative errno.
 */
static int conduct(struct run *r, struct err *e)
{
	_cleanup_(buf_release) struct buf others = {};
	struct err undo = {}, mark = {};
	int rc = r->plan.boots ? first_boot(r, e) : 0;

	if (rc != 0)
		return rc;
	rc = open_bench(r, e);

	if (rc == 0)
		rc = all_trials(r, e);
	r->complete = rc == 0;
	if (conductor_close(r->conductor, &others, &undo) < 0 && rc != -ENOTRECOVERABLE) {
		*e = undo;
		rc = undo.code;
	}
	if (others.len)
		run_view_warn(buf_str(&others));
	if (!r->mine) /* another run has the machine, or nothing was begun */
		return rc;
	if (store_run_end(r->store, r->id, r->complete ? RUN_DONE : RUN_STOPPED, clock_wall_ns(),
			  &mark) < 0 &&
	    rc == 0) {
		*e = mark;
		rc = mark.code;
	}
	if (!r->complete)
		add_remedy(r, e);
	return rc;
}

int run_plan(const struct run_request *q, struct run_outcome *ret, struct err *e)
{
	_cleanup_(run_release) struct run r = { .cfg = q, .stop_fd = -1, .file = q->file };
	int rc = q->resume ? 0 : load_plan(&r, e); /* a bad plan is told without root */

	if (rc == 0)
		rc = needs_root(e);
	if (rc == 0)
		rc = file_can_write(q->output, e); /* not after an hour of trials */
	/* the plan of a resumed run was agreed to when it began */
	if (rc == 0 && !q->resume && run_consent(&r.plan, q->yes, e) < 0)
		rc = EXIT_USAGE;
	if (rc == 0)
		rc = cmd_store_open(&r.store, q->db, STORE_WRITE, e);
	if (rc == 0 && q->resume)
		rc = load_plan(&r, e);
	if (rc == 0) {
		/* Ctrl-C and SIGTERM end the run after giving the machine back */
		r.stop_fd = signals_open(e);
		rc = r.stop_fd < 0 ? r.stop_fd : conduct(&r, e);
	}
	*ret = (struct run_outcome){ take_ptr(r.store), r.id, rc == 0 || r.complete };
	return rc;
}

void run_outcome_release(struct run_outcome *o)
{
	store_close(o->store);
	*o = (struct run_outcome){};
}
