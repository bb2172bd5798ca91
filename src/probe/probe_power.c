// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What state the CPUs were in: idle states, frequency, temperature, throttling, and interrupts of
 * the firmware, as far as this machine tells.
 *
 *	/sys/devices/system/cpu/cpuN/cpuidle/stateM/{time,usage}	idle states
 *	.../cpuN/cpufreq/scaling_cur_freq				frequency at the readings
 *	.../cpuN/thermal_throttle/{core,package}_throttle_count, ...	throttling (x86)
 *	/sys/class/thermal/thermal_zoneN, /sys/class/hwmon/hwmonN	temperature
 *	/dev/cpu/N/msr (module msr)					SMI counter, mean frequency
 *
 * Registers are read at the edges alone: each reading interrupts its CPU.
 */
#include "probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/host.h"
#include "base/kfile.h"
#include "base/text.h"
#include "plan/instance.h"
#include "probe/emit.h"
#include "probe/tally.h"
#include "probe/ticker.h"

#define STATES_MAX 16
#define ZONES_MAX 64
#define SENSORS_MAX 32
/* With more files than these a reading would be work of milliseconds. */
#define BETWEEN_MAX 512

/* What one file tells. */
enum kind {
	IDLE_TIME,   /* [us], counter */
	IDLE_USAGE,  /* counter */
	FREQUENCY,   /* [kHz], level */
	TEMPERATURE, /* [1/1000 degree], level */
	THROTTLE_CORE,
	THROTTLE_PACKAGE,
	THROTTLE_MS, /* counter [ms] */
	MSR_SMI,
	MSR_TSC,
	MSR_MPERF, /* at the rate of the TSC, while not idle */
	MSR_APERF, /* at the rate of the CPU, while not idle */
	NR_KINDS,
};

static const unsigned int registers[NR_KINDS] = {
	[MSR_SMI] = 0x34, [MSR_TSC] = 0x10, [MSR_MPERF] = 0xe7, [MSR_APERF] = 0xe8
};

struct item {
	enum kind kind;
	unsigned int cpu;
	int id;		/* of the ticker */
	char label[96]; /* "cpu=0,state=C1", "cpu=0", "sensor=hwmon1-coretemp" */
};

struct power_cfg {
	uint64_t interval_ns;
};

struct probe {
	char *name;
	struct power_cfg cfg;
	struct ticker *ticker;
	struct item *items;
	size_t nr_items;
	int *msrs; /* descriptors */
	size_t nr_msrs;
	struct err absent[NR_KINDS]; /* why a kind has no item */
	bool only_edges;
};

static const struct opt options[] = {
	{ "interval", OPT_NS, offsetof(struct power_cfg, interval_ns), "1s",
	  .help = "length of the intervals of the series", .min = 10 * NS_PER_MS,
	  .max = 3600 * NS_PER_S,
	  .fixed = "a reading takes time, which each variant must bear alike" },
	{},
};

static const struct metric_desc metrics[] = {
	{ "idle", "ratio", BETTER_NONE, "time in idle states, labels cpu, state",
	  .kind = METRIC_RATE },
	{ "idle-entries", "1/s", BETTER_NONE, "entries into idle states, labels cpu, state" },
	{ "frequency", "Hz", BETTER_NONE, "scaling_cur_freq, mean of the readings, label cpu" },
	{ "frequency-busy", "Hz", BETTER_NONE, "mean while not idle, from APERF and MPERF" },
	{ "temperature", "degC", BETTER_NONE,
	  "mean of the readings, label sensor; or the hottest" },
	{ "throttled", "count", BETTER_LOWER, "times that a core was throttled for its heat" },
	{ "throttled-package", "count", BETTER_LOWER, "times that a package was" },
	{ "throttled-time", "ratio", BETTER_LOWER, "time that cores were throttled",
	  .kind = METRIC_RATE },
	{ "smi", "count", BETTER_LOWER, "interrupts of the firmware (SMI), which stop every CPU" },
	{},
};

/* Which kinds go by what name in a message. */
static const struct {
	const char *what;
	enum kind kind;
} sources[] = {
	{ "idle and idle-entries are", IDLE_TIME },
	{ "frequency is", FREQUENCY },
	{ "temperature is", TEMPERATURE },
	{ "throttled and throttled-time are", THROTTLE_CORE },
	{ "smi is", MSR_SMI },
	{ "frequency-busy is", MSR_APERF },
};

static void power_close(struct probe *p)
{
	if (!p)
		return;
	ticker_free(p->ticker);
	for (size_t i = 0; i < p->nr_msrs; i++)
		close(p->msrs[i]);
	free(p->msrs);
	free(p->items);
	opt_release(options, &p->cfg);
	free(p->name);
	free(p);
}

static void power_closep(struct probe **p)
{
	power_close(*p);
}

/* --- what this machine has --- */

static struct item *new_item(struct probe *p, enum kind kind, unsigned int cpu)
{
	struct item *items = realloc(p->items, (p->nr_items + 1) * sizeof(*items));

	if (!items)
		return NULL;
	p->items = items;
	p->items[p->nr_items] = (struct item){ .kind = kind, .cpu = cpu };
	return &p->items[p->nr_items];
}

/* A file of sysfs as an item; absent: the first reason is kept. Returns 1 when it is there. */
static int add_file(struct probe *p, int sys_fd, const char *path, const struct item *like)
{
	struct item *item = new_item(p, like->kind, like->cpu);
	struct err *why = &p->absent[like->kind], e = {};

	if (!item)
		return -ENOMEM;
	*item = *like;
	item->id = ticker_add(p->ticker, sys_fd, path, 16, 0, &e);
	if (item->id >= 0) {
		p->nr_items++;
		return 1;
	}
	if (!why->code)
		*why = e;
	return item->id == -ENOMEM ? -ENOMEM : 0;
}

/* "cpu=3" or "cpu=3,state=C1" */
static void label_cpu(struct item *item, const char *state)
{
	_cleanup_(buf_release) struct buf b = {};

	if (state)
		emit_label(&b, state);
	snprintf(item->label, sizeof(item->label), "cpu=%u%s%.60s", item->cpu,
		 state ? ",state=" : "", buf_str(&b));
}

static int add_state(struct probe *p, int sys_fd, unsigned int cpu, unsigned int state)
{
	_cleanup_(freep) char *name = NULL;
	struct item item = { .kind = IDLE_TIME, .cpu = cpu };
	struct err e = {};
	char path[96];
	int r;

	snprintf(path, sizeof(path), "devices/system/cpu/cpu%u/cpuidle/state%u/name", cpu, state);
	r = kfile_read_line(sys_fd, path, &name, &e);
	if (r < 0) {
		if (!state && !p->absent[IDLE_TIME].code)
			p->absent[IDLE_TIME] = e;
		return r == -ENOMEM ? r : 0;
	}
	label_cpu(&item, name);
	snprintf(path, sizeof(path), "devices/system/cpu/cpu%u/cpuidle/state%u/time", cpu, state);
	r = add_file(p, sys_fd, path, &item);
	if (r <= 0)
		return r;
	item.kind = IDLE_USAGE;
	snprintf(path, sizeof(path), "devices/system/cpu/cpu%u/cpuidle/state%u/usage", cpu, state);
	return add_file(p, sys_fd, path, &item);
}

static int add_cpu(struct probe *p, int sys_fd, unsigned int cpu)
{
	static const struct {
		enum kind kind;
		const char *file;
	} files[] = {
		{ FREQUENCY, "cpufreq/scaling_cur_freq" },
		{ THROTTLE_CORE, "thermal_throttle/core_throttle_count" },
		{ THROTTLE_PACKAGE, "thermal_throttle/package_throttle_count" },
		{ THROTTLE_MS, "thermal_throttle/core_throttle_total_time_ms" },
	};
	int r = 1;

	for (unsigned int state = 0; state < STATES_MAX && r > 0; state++)
		r = add_state(p, sys_fd, cpu, state);
	for (size_t i = 0; i < ARRAY_SIZE(files) && r >= 0; i++) {
		struct item item = { .kind = files[i].kind, .cpu = cpu };
		char path[96];

		label_cpu(&item, NULL);
		snprintf(path, sizeof(path), "devices/system/cpu/cpu%u/%s", cpu, files[i].file);
		r = add_file(p, sys_fd, path, &item);
	}
	return r < 0 ? r : 0;
}

static void label_sensor(struct item *item, const char *chip, unsigned int nr, const char *name)
{
	_cleanup_(buf_release) struct buf b = {};

	emit_label(&b, name);
	snprintf(item->label, sizeof(item->label), "sensor=%s%u-%.60s", chip, nr, buf_str(&b));
}

static int add_zone(struct probe *p, int sys_fd, unsigned int nr)
{
	_cleanup_(freep) char *type = NULL;
	struct item item = { .kind = TEMPERATURE };
	char path[64];

	snprintf(path, sizeof(path), "class/thermal/thermal_zone%u/type", nr);
	if (kfile_read_line(sys_fd, path, &type, &(struct err){}) < 0)
		return 0;
	label_sensor(&item, "thermal", nr, type);
	snprintf(path, sizeof(path), "class/thermal/thermal_zone%u/temp", nr);
	return add_file(p, sys_fd, path, &item);
}

/* hwmon1-coretemp-Core_0, hwmon2-nvme-temp1 */
static int add_sensor(struct probe *p, int sys_fd, unsigned int nr, const char *chip,
		      unsigned int sensor)
{
	_cleanup_(freep) char *label = NULL;
	_cleanup_(buf_release) struct buf name = {};
	struct item item = { .kind = TEMPERATURE };
	char path[64];

	snprintf(path, sizeof(path), "class/hwmon/hwmon%u/temp%u_label", nr, sensor);
	if (kfile_read_line(sys_fd, path, &label, &(struct err){}) < 0)
		buf_printf(&name, "%s-temp%u", chip, sensor);
	else
		buf_printf(&name, "%s-%s", chip, label);
	label_sensor(&item, "hwmon", nr, buf_str(&name));
	snprintf(path, sizeof(path), "class/hwmon/hwmon%u/temp%u_input", nr, sensor);
	return add_file(p, sys_fd, path, &item);
}

static int add_temperatures(struct probe *p, int sys_fd)
{
	int r = 0;

	for (unsigned int nr = 0; nr < ZONES_MAX && r >= 0; nr++)
		r = add_zone(p, sys_fd, nr);
	for (unsigned int nr = 0; nr < ZONES_MAX && r >= 0; nr++) {
		_cleanup_(freep) char *chip = NULL;
		char path[48];

		snprintf(path, sizeof(path), "class/hwmon/hwmon%u/name", nr);
		if (kfile_read_line(sys_fd, path, &chip, &(struct err){}) < 0)
			continue;
		for (unsigned int i = 1; i <= SENSORS_MAX && r >= 0; i++)
			r = add_sensor(p, sys_fd, nr, chip, i);
	}
	return r < 0 ? r : 0;
}

static int add_register(struct probe *p, unsigned int cpu, int fd, enum kind kind, struct err *e)
{
	struct item *item;
	uint64_t v;
	char name[48];

	if (pread(fd, &v, sizeof(v), registers[kind]) != sizeof(v)) {
		if (!p->absent[kind].code)
			err_sys(&p->absent[kind], "register 0x%x of CPU %u", registers[kind], cpu);
		return 0;
	}
	item = new_item(p, kind, cpu);
	if (!item)
		return err_nomem(e, "registers");
	label_cpu(item, NULL);
	snprintf(name, sizeof(name), "register 0x%x of CPU %u", registers[kind], cpu);
	item->id = ticker_add_fd(p->ticker, fd, name, registers[kind], sizeof(v), e);
	if (item->id < 0)
		return item->id;
	ticker_only_edges(p->ticker, item->id);
	p->nr_items++;
	return 0;
}

static int add_registers(struct probe *p, int dev_fd, unsigned int cpu, struct err *e)
{
	_cleanup_(close_fdp) int fd = -1;
	char path[32];
	int r = 0;

	snprintf(path, sizeof(path), "cpu/%u/msr", cpu);
	fd = openat(dev_fd, path, O_RDONLY | O_CLOEXEC);
	for (int kind = MSR_SMI; kind <= MSR_APERF && fd < 0; kind++)
		if (!p->absent[kind].code)
			err_sys(&p->absent[kind], "open /dev/%s", path);
	if (fd < 0)
		return 0;
	for (int kind = MSR_SMI; kind <= MSR_APERF && r >= 0; kind++)
		r = add_register(p, cpu, fd, (enum kind)kind, e);
	if (r >= 0)
		p->msrs[p->nr_msrs++] = take_fd(fd);
	return r;
}

static bool has(const struct probe *p, enum kind kind)
{
	for (size_t i = 0; i < p->nr_items; i++)
		if (p->items[i].kind == kind)
			return true;
	return false;
}

/* Why a kind is absent although nothing failed to be read: there was nothing to look for. */
static void explain_absence(struct probe *p)
{
	if (!has(p, TEMPERATURE) && !p->absent[TEMPERATURE].code)
		err_set(&p->absent[TEMPERATURE], -ENOENT,
			"no sensor in /sys/class/thermal and /sys/class/hwmon");
}

static int add_all(struct probe *p, const struct host *host, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset online = {};
	int r = cpuset_online(host->sys_fd, &online, e);

	if (r < 0)
		return r;
	p->msrs = calloc(online.nr + 1, sizeof(*p->msrs));
	if (!p->msrs)
		return err_nomem(e, "registers");
	for (size_t i = 0; i < online.nr; i++) {
		if (add_cpu(p, host->sys_fd, online.cpus[i]) < 0)
			return err_nomem(e, "files of CPUs");
		r = add_registers(p, host->dev_fd, online.cpus[i], e);
		if (r < 0)
			return r;
	}
	if (add_temperatures(p, host->sys_fd) < 0)
		return err_nomem(e, "sensors");
	explain_absence(p);
	if (!p->nr_items)
		return err_set(e, -ENOENT,
			       "this machine tells neither idle states nor frequency, temperature, "
			       "throttling or SMI (%s)",
			       p->absent[IDLE_TIME].msg);
	p->only_edges = p->nr_items > BETWEEN_MAX;
	for (size_t i = 0; i < p->nr_items && p->only_edges; i++)
		if (p->items[i].kind != TEMPERATURE)
			ticker_only_edges(p->ticker, p->items[i].id);
	return 0;
}

static struct probe *power_new(const char *name)
{
	_cleanup_(power_closep) struct probe *p = calloc(1, sizeof(*p));

	if (p)
		p->name = strdup(name);
	return p && p->name ? take_ptr(p) : NULL;
}

static int power_usable(const struct host *host, struct err *why)
{
	_cleanup_(power_closep) struct probe *p = power_new("power");
	int r;

	if (!p)
		return err_nomem(why, "power");
	r = ticker_new(&p->ticker, NS_PER_S, 0, why);
	return r < 0 ? r : add_all(p, host, why);
}

static int power_open(struct probe **ret, const struct probe_env *env, const struct instance *inst,
		      struct err *e)
{
	_cleanup_(power_closep) struct probe *p = power_new(inst->name);
	int r;

	if (!p)
		return err_nomem(e, inst->name);
	r = instance_parse(inst, options, &p->cfg, e);
	if (r >= 0)
		r = ticker_new(&p->ticker, p->cfg.interval_ns, env->duration_ns, e);
	if (r >= 0)
		r = add_all(p, env->host, e);
	if (r >= 0)
		r = ticker_arm(p->ticker, e);
	if (r < 0)
		return r;
	*ret = take_ptr(p);
	return 0;
}

static int power_start(struct probe *p, uint64_t now_ns, struct err *e)
{
	return ticker_start(p->ticker, now_ns, e);
}

static int power_stop(struct probe *p, uint64_t now_ns, struct err *e)
{
	return ticker_stop(p->ticker, now_ns, e);
}

/* --- what the window's readings come to --- */

struct account {
	struct emit *m;
	const struct probe *p;
	struct tally idle, frequency, temperature;
	size_t nr_cpus; /* with idle states */
};

static void account_release(struct account *a)
{
	tally_release(&a->idle);
	tally_release(&a->frequency);
	tally_release(&a->temperature);
}

/* A number, possibly negative, or a register. */
static bool value(const struct account *a, const struct item *item, size_t i, double *ret)
{
	const struct ticker_text text = ticker_text(a->p->ticker, (size_t)item->id, i);
	char copy[32];
	int64_t v;
	uint64_t raw;

	if (text.error < 0 || text.clipped || text.len >= sizeof(copy))
		return false;
	if (item->kind >= MSR_SMI) {
		memcpy(&raw, text.text, sizeof(raw));
		*ret = (double)raw;
		return true;
	}
	memcpy(copy, text.text, text.len);
	copy[text.len] = '\0';
	copy[strcspn(copy, "\n")] = '\0';
	if (text_i64(copy, &v) < 0)
		return false;
	*ret = (double)v;
	return true;
}

/* What a counter moved by; false when it is unknown or stepped back (its CPU was offline). */
static bool moved(const struct account *a, const struct item *item, size_t from, size_t to,
		  double *ret)
{
	double v[2];

	if (!value(a, item, from, &v[0]) || !value(a, item, to, &v[1]) || v[1] < v[0])
		return false;
	*ret = v[1] - v[0];
	return true;
}

static size_t end_of(const struct account *a)
{
	return ticker_readings(a->p->ticker) - 1;
}

static double seconds_of(const struct account *a, const struct item *item)
{
	return ticker_window_seconds(a->p->ticker, (size_t)item->id);
}

static void put(struct tally *t, const char *labels, size_t i, double v)
{
	double *row = tally_row(t, labels);

	if (row)
		row[i] = isnan(row[i]) ? v : row[i] + v;
}

static const char *state_label(const struct item *item)
{
	const char *comma = strchr(item->label, ',');

	return comma ? comma + 1 : "";
}

static void tally_idle(struct account *a, const struct item *item)
{
	for (size_t i = 0; i < end_of(a); i++) {
		double step = ticker_seconds(a->p->ticker, (size_t)item->id, i), us;

		if (step <= 0 || !moved(a, item, i, i + 1, &us))
			continue;
		put(&a->idle, item->label, i, us * 1e-6 / step);
		put(&a->idle, "", i, us * 1e-6 / step / (double)a->nr_cpus);
	}
}

/* The same state of other CPUs that were not summed yet. */
static bool is_first_of_state(const struct probe *p, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (p->items[i].kind == p->items[index].kind &&
		    strcmp(state_label(&p->items[i]), state_label(&p->items[index])) == 0)
			return false;
	return true;
}

/* One state of all CPUs: the mean share of time, or all entries a second. */
static void report_state(struct account *a, size_t index, double *all)
{
	const struct item *like = &a->p->items[index];
	bool is_time = like->kind == IDLE_TIME;
	double sum = 0, v;

	for (size_t i = index; i < a->p->nr_items; i++) {
		const struct item *item = &a->p->items[i];

		if (item->kind != like->kind || strcmp(state_label(item), state_label(like)) != 0 ||
		    seconds_of(a, item) <= 0 || !moved(a, item, 0, end_of(a), &v))
			continue;
		v = is_time ? v * 1e-6 / seconds_of(a, item) : v / seconds_of(a, item);
		emit_scalar(a->m, is_time ? "idle" : "idle-entries", is_time ? "ratio" : "1/s",
			    item->label, v);
		sum += is_time ? v / (double)a->nr_cpus : v;
	}
	emit_scalar(a->m, is_time ? "idle" : "idle-entries", is_time ? "ratio" : "1/s",
		    state_label(like), sum);
	*all += sum;
}

static void account_idle(struct account *a)
{
	double idle = 0, entries = 0;
	unsigned int last = UINT32_MAX;

	for (size_t i = 0; i < a->p->nr_items; i++) {
		if (a->p->items[i].kind != IDLE_TIME || a->p->items[i].cpu == last)
			continue;
		last = a->p->items[i].cpu;
		a->nr_cpus++;
	}
	if (!a->nr_cpus)
		return;
	for (size_t i = 0; i < a->p->nr_items; i++) {
		enum kind kind = a->p->items[i].kind;

		if (kind == IDLE_TIME)
			tally_idle(a, &a->p->items[i]);
		if ((kind == IDLE_TIME || kind == IDLE_USAGE) && is_first_of_state(a->p, i))
			report_state(a, i, kind == IDLE_TIME ? &idle : &entries);
	}
	emit_scalar(a->m, "idle", "ratio", "", idle);
	emit_scalar(a->m, "idle-entries", "1/s", "", entries);
	tally_emit(&a->idle, a->p->ticker, a->m, "idle", "ratio", SIZE_MAX);
}

/* Levels: the mean over the readings of each, and of all by @join (a mean, or the largest). */
static void account_levels(struct account *a, enum kind kind, const char *name, const char *unit,
			   double scale)
{
	struct tally *t = kind == TEMPERATURE ? &a->temperature : &a->frequency;
	size_t readings = ticker_readings(a->p->ticker), known = 0;
	double all = 0;

	for (size_t i = 0; i < readings; i++) {
		double sum = 0, most = (double)-INFINITY, v;
		size_t nr = 0;

		for (size_t k = 0; k < a->p->nr_items; k++) {
			if (a->p->items[k].kind != kind || !value(a, &a->p->items[k], i, &v))
				continue;
			sum += v * scale;
			most = v * scale > most ? v * scale : most;
			nr++;
			if (i)
				put(t, a->p->items[k].label, i - 1, v * scale);
		}
		if (!nr)
			continue;
		v = kind == TEMPERATURE ? most : sum / (double)nr;
		if (i)
			put(t, "", i - 1, v);
		all += v;
		known++;
	}
	if (known)
		emit_scalar(a->m, name, unit, "", all / (double)known);
	tally_emit(t, a->p->ticker, a->m, name, unit, SIZE_MAX);
}

static void report_levels(struct account *a, enum kind kind, const char *name, const char *unit,
			  double scale)
{
	for (size_t k = 0; k < a->p->nr_items; k++) {
		const struct item *item = &a->p->items[k];
		double sum = 0, v;
		size_t nr = 0;

		for (size_t i = 0; item->kind == kind && i <= end_of(a); i++) {
			if (!value(a, item, i, &v))
				continue;
			sum += v * scale;
			nr++;
		}
		if (nr)
			emit_scalar(a->m, name, unit, item->label, sum / (double)nr);
	}
	account_levels(a, kind, name, unit, scale);
}

/* Events of @kind in the window, each CPU's with @name; their sum, or the most of any CPU. */
static double count_events(struct account *a, enum kind kind, const char *name, double *ret_most)
{
	double sum = 0, v;
	bool known = false;

	*ret_most = 0;
	for (size_t i = 0; i < a->p->nr_items; i++) {
		const struct item *item = &a->p->items[i];

		if (item->kind != kind || !moved(a, item, 0, end_of(a), &v))
			continue;
		known = true;
		sum += v;
		*ret_most = v > *ret_most ? v : *ret_most;
		if (v > 0 && name)
			emit_scalar(a->m, name, "count", item->label, v);
	}
	if (!known)
		sum = (double)NAN;
	return sum;
}

static void account_throttling(struct account *a)
{
	double most, cores = count_events(a, THROTTLE_CORE, "throttled", &most), v;

	if (!isnan(cores))
		emit_scalar(a->m, "throttled", "count", "", cores);
	/* every CPU of a package shows the package's own */
	v = count_events(a, THROTTLE_PACKAGE, NULL, &most);
	if (!isnan(v))
		emit_scalar(a->m, "throttled-package", "count", "", most);
	if (cores > 0 || most > 0)
		emit_event(a->m, SEVERITY_WARN, 0,
			   "the CPU was throttled for its heat (cores %.0f times, packages %.0f)",
			   isnan(cores) ? 0 : cores, most);
	for (size_t i = 0; i < a->p->nr_items; i++) {
		const struct item *item = &a->p->items[i];

		if (item->kind == THROTTLE_MS && seconds_of(a, item) > 0 &&
		    moved(a, item, 0, end_of(a), &v))
			emit_scalar(a->m, "throttled-time", "ratio", item->label,
				    v * 1e-3 / seconds_of(a, item));
	}
}

static void account_smi(struct account *a)
{
	double most, sum = count_events(a, MSR_SMI, NULL, &most);

	if (isnan(sum))
		return;
	/* an SMI stops all CPUs, and each counts it */
	emit_scalar(a->m, "smi", "count", "", most);
	if (most > 0)
		emit_event(a->m, SEVERITY_WARN, 0,
			   "the firmware interrupted the CPUs %.0f times (SMI): latencies may be "
			   "its doing",
			   most);
}

static bool moved_register(const struct account *a, unsigned int cpu, enum kind kind, double *ret)
{
	for (size_t i = 0; i < a->p->nr_items; i++)
		if (a->p->items[i].kind == kind && a->p->items[i].cpu == cpu)
			return moved(a, &a->p->items[i], 0, end_of(a), ret);
	return false;
}

static void account_busy_frequency(struct account *a)
{
	for (size_t i = 0; i < a->p->nr_items; i++) {
		const struct item *item = &a->p->items[i];
		double aperf, mperf, tsc, seconds = seconds_of(a, item);

		if (item->kind != MSR_APERF || seconds <= 0 ||
		    !moved(a, item, 0, end_of(a), &aperf) ||
		    !moved_register(a, item->cpu, MSR_MPERF, &mperf) ||
		    !moved_register(a, item->cpu, MSR_TSC, &tsc) || mperf <= 0)
			continue;
		emit_scalar(a->m, "frequency-busy", "Hz", item->label,
			    aperf / mperf * tsc / seconds);
	}
}

static void say_absent(struct account *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		if (!has(a->p, sources[i].kind))
			emit_event(a->m, SEVERITY_NOTE, 0, "%s unknown: %s", sources[i].what,
				   a->p->absent[sources[i].kind].msg);
	if (a->p->only_edges)
		emit_event(a->m, SEVERITY_NOTE, 0,
			   "%zu files are too many to read at each boundary: no series but of "
			   "temperature",
			   a->p->nr_items);
}

static int power_drain(struct probe *p, struct sample_sink *out, struct err *e)
{
	struct emit m = { .out = out, .instance = p->name, .e = e };
	_cleanup_(account_release) struct account a = { .m = &m, .p = p };

	if (!ticker_readings(p->ticker))
		return err_set(e, -ENODATA, "drained before its window closed");
	a.idle.nr = a.frequency.nr = a.temperature.nr = ticker_intervals(p->ticker);
	account_idle(&a);
	report_levels(&a, FREQUENCY, "frequency", "Hz", 1e3);
	report_levels(&a, TEMPERATURE, "temperature", "degC", 1e-3);
	account_throttling(&a);
	account_smi(&a);
	account_busy_frequency(&a);
	say_absent(&a);
	ticker_say(p->ticker, &m);
	return m.r;
}

const struct probe_ops probe_power = {
	.plugin = { .name = "power",
		    .help = "idle states, frequency, heat, throttling and SMI",
		    .options = options,
		    .metrics = metrics },
	.usable = power_usable,
	.open = power_open,
	.start = power_start,
	.stop = power_stop,
	.drain = power_drain,
	.close = power_close,
};
