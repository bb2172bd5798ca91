// SPDX-License-Identifier: GPL-3.0-or-later
#include "trial/trial.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/kfile.h"
#include "load/peer.h"
#include "trial/bench.h"
#include "trial/spec.h"
#include "variant/variant.h"

/*
 * It is asked this often whether something appeared, but of one CPU that must not take more than
 * one part in so many: where there is much in /proc, it is asked less often.
 */
#define REFRESH_NS (250 * NS_PER_MS)
#define REFRESH_SHARE 200

/* Passes records on and remembers the first veto. */
struct watching_sink {
	struct sample_sink sink;
	struct sample_sink *next;
	struct trial_result *result;
};

/* A load or probe of this trial with the table it came from. */
struct part {
	const struct load_ops *load_ops;
	const struct probe_ops *probe_ops;
	const char *name;
	struct load *load;
	struct probe *probe;
};

struct run {
	struct bench *bench;
	const struct trial_spec *spec;
	struct trial_host *host;
	struct watching_sink sink;
	struct trial_result *result;
	struct applied *variant;
	struct part *loads, *probes;
	size_t nr_loads, nr_probes;
	uint64_t begin_ns;
	uint64_t carrier_changes;
};

static int watch(struct sample_sink *s, const struct record *rec, struct err *e)
{
	struct watching_sink *w = (struct watching_sink *)s;

	if (rec->kind == RECORD_EVENT && rec->severity == SEVERITY_VETO &&
	    w->result->state == TRIAL_OK) {
		w->result->state = TRIAL_VETOED;
		err_set(&w->result->reason, -EPERM, "%s", rec->text);
	}
	return w->next->emit(w->next, rec, e);
}

static int veto(struct run *r, const char *metric, const char *text, struct err *e)
{
	return sample_event(&r->sink.sink, metric, SEVERITY_VETO,
			    (int64_t)(clock_mono_ns() - r->begin_ns), text, e);
}

static const struct load_ops *find_load(const struct trial_plugins *p, const char *name)
{
	for (size_t i = 0; p->loads[i]; i++)
		if (strcmp(p->loads[i]->plugin.name, name) == 0)
			return p->loads[i];
	return NULL;
}

static const struct probe_ops *find_probe(const struct trial_plugins *p, const char *name)
{
	for (size_t i = 0; p->probes[i]; i++)
		if (strcmp(p->probes[i]->plugin.name, name) == 0)
			return p->probes[i];
	return NULL;
}

static int open_load(struct run *r, const struct instance *inst, struct part *part, struct err *e)
{
	const struct load_env env = { .host = &r->bench->host,
				      .peer = peer_of(r->bench->link),
				      .seed = r->spec->seed,
				      .length_ns = r->spec->warmup_ns + r->spec->duration_ns };
	_cleanup_(instance_release) struct instance own = {};
	int rc;

	part->name = inst->name;
	part->load_ops = find_load(r->bench->plugins, inst->plugin);
	if (!part->load_ops)
		return err_set(e, -ENOENT, "this agent has no load \"%s\"", inst->plugin);
	rc = part->load_ops->usable ? part->load_ops->usable(&r->bench->host, e) : 0;
	if (rc >= 0)
		rc = trial_expand(&r->bench->host, inst, &own, e);
	if (rc >= 0)
		rc = part->load_ops->open(&part->load, &env, &own, e);
	return rc < 0 ? err_wrap(e, "load %s", inst->name) : 0;
}

static int open_probe(struct run *r, const struct instance *inst, struct part *part, struct err *e)
{
	const struct probe_env env = { .host = &r->bench->host,
				       .seed = r->spec->seed,
				       .duration_ns = r->spec->duration_ns };
	_cleanup_(instance_release) struct instance own = {};
	int rc;

	part->name = inst->name;
	part->probe_ops = find_probe(r->bench->plugins, inst->plugin);
	if (!part->probe_ops)
		return err_set(e, -ENOENT, "this agent has no probe \"%s\"", inst->plugin);
	rc = part->probe_ops->usable ? part->probe_ops->usable(&r->bench->host, e) : 0;
	if (rc >= 0)
		rc = trial_expand(&r->bench->host, inst, &own, e);
	if (rc >= 0)
		rc = part->probe_ops->open(&part->probe, &env, &own, e);
	return rc < 0 ? err_wrap(e, "probe %s", inst->name) : 0;
}

/* Probes first: their memory and threads are there before traffic starts. */
static int open_parts(struct run *r, struct err *e)
{
	int rc = 0;

	r->probes = calloc(r->spec->probes.nr + 1, sizeof(*r->probes));
	r->loads = calloc(r->spec->loads.nr + 1, sizeof(*r->loads));
	if (!r->probes || !r->loads)
		return err_nomem(e, "trial");
	for (; r->nr_probes < r->spec->probes.nr && rc >= 0; r->nr_probes++)
		rc = open_probe(r, &r->spec->probes.v[r->nr_probes], &r->probes[r->nr_probes], e);
	for (; r->nr_loads < r->spec->loads.nr && rc >= 0; r->nr_loads++)
		rc = open_load(r, &r->spec->loads.v[r->nr_loads], &r->loads[r->nr_loads], e);
	return rc;
}

static void close_parts(struct run *r)
{
	for (size_t i = 0; i < r->nr_loads; i++)
		if (r->loads[i].load)
			r->loads[i].load_ops->close(r->loads[i].load);
	for (size_t i = 0; i < r->nr_probes; i++)
		if (r->probes[i].probe)
			r->probes[i].probe_ops->close(r->probes[i].probe);
	free(r->loads);
	free(r->probes);
	r->loads = r->probes = NULL;
	r->nr_loads = r->nr_probes = 0;
}

/* Up and down count as one change each; absent before 4.17 and on virtual paths: no statement. */
static uint64_t carrier_changes(const struct run *r)
{
	const struct host_side *dut = &r->bench->host.dut;
	char path[64 + IFNAMSIZ];
	uint64_t n = 0;
	struct err e = {};

	if (!dut->ifname[0] || dut->sys_fd < 0)
		return 0;
	snprintf(path, sizeof(path), "class/net/%s/carrier_changes", dut->ifname);
	kfile_read_u64(dut->sys_fd, path, &n, &e);
	return n;
}

static int start_loads(struct run *r, struct err *e)
{
	for (size_t i = 0; i < r->nr_loads; i++)
		if (r->loads[i].load_ops->start(r->loads[i].load, e) < 0) /* NOLINT: has a table */
			return err_wrap(e, "load %s", r->loads[i].name);
	return 0;
}

static int stop_loads(struct run *r, struct err *e)
{
	for (size_t i = 0; i < r->nr_loads; i++)
		if (r->loads[i].load_ops->stop(r->loads[i].load, e) < 0)
			return err_wrap(e, "load %s", r->loads[i].name);
	return 0;
}

/* The window's edges: loads begin before probes start and end after they stop. */
static int open_window(struct run *r, struct err *e)
{
	int rc = variant_witness(r->variant, WITNESS_BEGIN, 0, &r->sink.sink, e);

	r->carrier_changes = carrier_changes(r);
	r->result->started_ns = clock_wall_ns();
	r->begin_ns = clock_mono_ns();
	for (size_t i = 0; i < r->nr_loads && rc >= 0; i++) {
		rc = r->loads[i].load_ops->begin(r->loads[i].load, r->begin_ns, e);
		if (rc < 0)
			err_wrap(e, "load %s", r->loads[i].name);
	}
	for (size_t i = 0; i < r->nr_probes && rc >= 0; i++) {
		rc = r->probes[i].probe_ops->start(r->probes[i].probe, r->begin_ns, e);
		if (rc < 0)
			err_wrap(e, "probe %s", r->probes[i].name);
	}
	return rc;
}

static int close_window(struct run *r, struct err *e)
{
	uint64_t now = clock_mono_ns();
	int rc = 0;

	for (size_t i = 0; i < r->nr_probes && rc >= 0; i++) {
		rc = r->probes[i].probe_ops->stop(r->probes[i].probe, now, e);
		if (rc < 0)
			err_wrap(e, "probe %s", r->probes[i].name);
	}
	for (size_t i = 0; i < r->nr_loads && rc >= 0; i++) {
		rc = r->loads[i].load_ops->end(r->loads[i].load, now, e);
		if (rc < 0)
			err_wrap(e, "load %s", r->loads[i].name);
	}
	r->result->window_ns = now - r->begin_ns;
	if (rc >= 0)
		rc = variant_witness(r->variant, WITNESS_END, (int64_t)r->result->window_ns,
				     &r->sink.sink, e);
	return rc;
}

/*
 * Whatever starved the agent's own thread for so long was no part of the experiment; rates over
 * such a window are not comparable with the others.
 */
static bool overran(const struct run *r)
{
	return r->result->window_ns >
	       r->spec->duration_ns + r->spec->duration_ns / 10 + 50 * NS_PER_MS;
}

/* After the window: is the variant still what it was, and did the link hold? */
static int check_health(struct run *r, struct err *e)
{
	struct err why = {};
	int rc = 0;

	if (variant_verify(r->variant, &why) < 0) {
		err_wrap(&why, "the variant did not hold until the end of the window");
		rc = veto(r, "health.variant", why.msg, e);
	}
	if (rc >= 0 && overran(r))
		rc = veto(
			r, "health.window",
			"the window was far longer than planned: the machine was too busy to end it",
			e);
	if (rc >= 0 && carrier_changes(r) != r->carrier_changes)
		rc = veto(r, "health.link", "the link of the netdev under test went down or up", e);
	return rc;
}

/* A metric of the trial, "throughput", is of all its loads together; passes on all others. */
struct summing_sink {
	struct sample_sink sink;
	struct sample_sink *next;
	char metric[32], unit[16];
	unsigned int loads;
	double sum;
};

static int sum_globals(struct sample_sink *sink, const struct record *rec, struct err *e)
{
	struct summing_sink *s = (struct summing_sink *)sink;

	if (rec->kind != RECORD_SCALAR || strchr(rec->metric, '.') || *rec->labels ||
	    (s->loads && (strcmp(rec->metric, s->metric) != 0 || strcmp(rec->unit, s->unit) != 0)))
		return s->next->emit(s->next, rec, e);
	snprintf(s->metric, sizeof(s->metric), "%s", rec->metric);
	snprintf(s->unit, sizeof(s->unit), "%s", rec->unit);
	s->sum += rec->value;
	s->loads++;
	return 0;
}

static int drain_parts(struct run *r, struct err *e)
{
	struct summing_sink sums = { .sink = { .emit = sum_globals }, .next = &r->sink.sink };

	for (size_t i = 0; i < r->nr_probes; i++)
		if (r->probes[i].probe_ops->drain(r->probes[i].probe, &r->sink.sink, e) < 0)
			return err_wrap(e, "probe %s", r->probes[i].name);
	for (size_t i = 0; i < r->nr_loads; i++)
		if (r->loads[i].load_ops->drain(r->loads[i].load, &sums.sink, e) < 0)
			return err_wrap(e, "load %s", r->loads[i].name);
	if (sums.loads)
		return sample_scalar(&r->sink.sink, sums.metric, sums.unit, "", sums.sum, e);
	return 0;
}

static int refresh(struct run *r, uint64_t window_ns, struct err *e)
{
	int64_t t_ns = (int64_t)(clock_mono_ns() - window_ns);
	int rc = variant_refresh(r->bench->setup, t_ns, &r->sink.sink, e);

	return rc < 0 ? rc : variant_refresh(r->variant, t_ns, &r->sink.sink, e);
}

/* CPU time of this thread: what asking takes away from others, however long it waits for a disk. */
static uint64_t spent_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* Wait, and give what appears meanwhile its setting.  @window_ns: when the window began or will. */
static int wait_watching(struct run *r, uint64_t deadline_ns, uint64_t window_ns, struct err *e)
{
	bool watch_it = variant_appears(r->bench->setup) || variant_appears(r->variant);
	uint64_t at = clock_mono_ns(), step = REFRESH_NS, begin, cost;
	int rc;

	while (watch_it && deadline_ns > at && deadline_ns - at > step) {
		at += step;
		rc = r->host->wait_until(r->host, at, e);
		begin = spent_ns();
		if (rc >= 0)
			rc = refresh(r, window_ns, e);
		if (rc < 0)
			return rc;
		cost = (spent_ns() - begin) * REFRESH_SHARE;
		step = cost > REFRESH_NS ? cost : REFRESH_NS;
		begin = clock_mono_ns();
		at = begin > at ? begin : at;
	}
	return r->host->wait_until(r->host, deadline_ns, e);
}

/* @ahead_ns: from the end of the phase to the window. */
static int wait_for(struct run *r, const char *phase, uint64_t length_ns, uint64_t ahead_ns,
		    struct err *e)
{
	int rc = r->host->phase(r->host, phase, e);
	uint64_t deadline = clock_mono_ns() + length_ns;

	return rc < 0 ? rc : wait_watching(r, deadline, deadline + ahead_ns, e);
}

static int measure(struct run *r, struct err *e)
{
	int rc = wait_for(r, "settle", r->spec->settle_ns, r->spec->warmup_ns, e);

	if (rc >= 0)
		rc = variant_verify(r->variant, e);
	if (rc >= 0)
		rc = open_parts(r, e);
	if (rc >= 0)
		rc = start_loads(r, e);
	if (rc >= 0)
		rc = wait_for(r, "warm-up", r->spec->warmup_ns, 0, e);
	if (rc >= 0)
		rc = r->host->phase(r->host, "window", e);
	if (rc >= 0)
		rc = open_window(r, e);
	if (rc >= 0)
		rc = wait_watching(r, r->begin_ns + r->spec->duration_ns, r->begin_ns, e);
	if (rc >= 0)
		rc = close_window(r, e);
	if (rc >= 0)
		rc = stop_loads(r, e);
	if (rc >= 0)
		rc = check_health(r, e);
	return rc < 0 ? rc : drain_parts(r, e);
}

/* What somebody else has set meanwhile stays as it is: a warning each. */
static int give_back(struct run *r, struct err *e)
{
	_cleanup_(buf_release) struct buf others = {};
	int64_t t_ns = (int64_t)(r->begin_ns ? clock_mono_ns() - r->begin_ns : 0);
	int rc = variant_give_back(r->variant, &others, e);
	struct err ignored = {};
	char *rest = NULL;

	for (char *line = others.data ? strtok_r(others.data, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		sample_event(&r->sink.sink, "health.variant", SEVERITY_WARN, t_ns, line, &ignored);
	return rc;
}

/* Apply, measure, undo.  @why gets what went wrong with the trial, @e what went wrong with undo. */
static int apply_and_measure(struct run *r, struct err *why, struct err *e)
{
	int rc = bench_apply(r->bench, &r->spec->knobs, &r->variant, why);

	if (rc < 0) {
		err_wrap(why, "variant %s", r->spec->variant);
		if (rc == -ENOTRECOVERABLE)
			*e = *why;
		return rc;
	}
	rc = measure(r, why);
	close_parts(r);
	if (give_back(r, e) < 0)
		err_wrap(e, "undo variant %s", r->spec->variant);
	return rc;
}

int trial_run(struct bench *b, const struct trial_spec *spec, struct trial_host *host,
	      struct sample_sink *sink, struct trial_result *ret, struct err *e)
{
	struct trial_result result = { .state = TRIAL_OK };
	struct run r = { .bench = b,
			 .spec = spec,
			 .host = host,
			 .sink = { .sink = { .emit = watch }, .next = sink, .result = &result },
			 .result = &result };
	struct err undo = {};
	int rc = bench_changes(b, sink, e);

	if (rc < 0)
		return rc;
	rc = apply_and_measure(&r, &result.reason, &undo);

	if (undo.code < 0) {
		*e = undo;
		return e->code = -ENOTRECOVERABLE;
	}
	if (rc == -ECANCELED) {
		*e = result.reason;
		return rc;
	}
	if (rc < 0) /* what the kernel refuses to do here has no effect to measure */
		result.state = rc == -EOPNOTSUPP ? TRIAL_VETOED : TRIAL_FAILED;
	*ret = result;
	return 0;
}
