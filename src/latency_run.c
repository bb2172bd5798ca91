// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "cmdline.h"
#include "file.h"
#include "latency_run.h"

/* Between deciding on the window and its opening: all lanes see it in time. */
#define LEAD_NS (10 * NS_PER_MS)
/* As cyclictest, which looks every 10 ms: the others may come to their last cycles, too. */
#define GRACE_NS (10 * NS_PER_MS)
#define REDRAW_NS (100 * NS_PER_MS)
#define VERBOSE_NS (10 * NS_PER_MS)

static clockid_t clock_of(const struct latency_run *run)
{
	return run->lanes.lane[0].clock;
}

static struct latency_figures figures_of(const struct latency_run *run, size_t i)
{
	const struct wakeup_lane *l = &run->lanes.lane[i];
	const struct hist *h = &l->hist;
	struct latency_figures f = {
		.tid = atomic_load(&l->tid),
		.node = run->node[i],
		.cpu = l->cpu,
		.priority = l->priority,
		.interval_ns = l->interval_ns,
		.cycles = __atomic_load_n(&h->total, __ATOMIC_RELAXED),
		.min_ns = __atomic_load_n(&h->min, __ATOMIC_RELAXED),
		.max_ns = __atomic_load_n(&h->max, __ATOMIC_RELAXED),
		.act_ns = atomic_load_explicit(&l->tap->act_ns, memory_order_relaxed),
		.sum_us = atomic_load_explicit(&l->tap->sum_us, memory_order_relaxed),
		.skipped = atomic_load_explicit(&l->skipped, memory_order_relaxed),
		.elsewhere = atomic_load_explicit(&l->elsewhere, memory_order_relaxed),
	};

	__atomic_load(&h->sum, &f.sum_ns, __ATOMIC_RELAXED);
	return f;
}

static struct latency_view view_of(struct latency_run *run)
{
	const struct latency_args *a = run->args;
	bool has_rows = a->rows && run->lanes.nr_running == 0; /* the lanes' own until they ended */

	for (size_t i = 0; i < run->nr; i++) {
		const struct wakeup_tap *t = &run->tap[i];

		run->figures[i] = figures_of(run, i);
		hist_snapshot(&run->lanes.lane[i].hist, run->hist[i]);
		if (has_rows)
			run->rows[i] =
				(struct latency_rows){ t->rows, t->overflow, t->nr_overflow };
	}
	return (struct latency_view){
		.nr = run->nr,
		.figures = run->figures,
		.hist = (const struct hist *const *)run->hist,
		.series = (const struct latency_series *const *)run->series,
		.rows = has_rows ? run->rows : NULL,
		.nr_rows = a->rows,
		.nsecs = a->nsecs,
		.rows_sum = a->rows_sum,
		.begin_wall_ns = run->begin_wall_ns,
		.end_wall_ns = clock_wall_ns(),
		.command = run->command,
		.smp = a->smp,
	};
}

/* ---- while it runs ---- */

static void print_lines(const struct latency_run *run, FILE *to)
{
	for (size_t i = 0; i < run->nr; i++) {
		struct latency_figures f = figures_of(run, i);

		latency_print_line(to, i, &f, run->args->nsecs);
	}
}

static void print_block(const struct latency_run *run)
{
	bool real_time = run->args->policy == WAKEUP_FIFO || run->args->policy == WAKEUP_RR;
	char load[256] = "";
	_cleanup_(fclose_filep) FILE *f = fopen("/proc/loadavg", "re");

	if (f && fgets(load, sizeof(load), f))
		load[strcspn(load, "\n")] = '\0';
	printf("policy: %s%s: loadavg: %s          \n\n", wakeup_policy_name(run->args->policy),
	       real_time ? "" : "/other", load);
	print_lines(run, stdout);
	fflush(stdout);
}

static uint64_t max_of_all(const struct latency_run *run)
{
	uint64_t max = 0;

	for (size_t i = 0; i < run->nr; i++) {
		uint64_t own = __atomic_load_n(&run->lanes.lane[i].hist.max, __ATOMIC_RELAXED);

		max = own > max ? own : max;
	}
	return max;
}

/* Draw over the block before. */
static void redraw(const struct latency_run *run)
{
	printf("\033[%zuA", run->nr + 2);
	print_block(run);
}

static void print_value(struct latency_run *run, size_t i, uint64_t cycle, uint64_t v)
{
	if (v >= run->worst[i]) {
		run->worst[i] = v;
		run->worst_cycle[i] = cycle;
	}
	if ((cycle + 1) % run->args->oscope)
		return;
	printf("%8zu:%8" PRIu64 ":%8" PRIu64 "\n", i, run->worst_cycle[i],
	       run->args->nsecs ? run->worst[i] : run->worst[i] / NS_PER_US);
	run->worst[i] = 0;
}

/* The values since the last time; the lanes go on meanwhile and use the places again. */
static void print_values(struct latency_run *run)
{
	for (size_t i = 0; i < run->nr; i++) {
		const struct wakeup_tap *t = &run->tap[i];
		uint64_t nr = atomic_load_explicit(&t->nr_values, memory_order_acquire);

		for (; run->read[i] < nr; run->read[i]++) {
			uint64_t v = atomic_load_explicit(&t->values[run->read[i] & t->mask],
							  memory_order_relaxed);
			uint64_t now = atomic_load_explicit(&t->nr_values, memory_order_acquire);

			if (now - run->read[i] > t->mask)
				run->lost++;
			else
				print_value(run, i, run->read[i], v);
		}
	}
	fflush(stdout);
}

/* The maxima of the seconds that are over; @all: of the last one, too. */
static void collect_seconds(struct latency_run *run, bool all)
{
	uint64_t now = wakeup_clock_ns(clock_of(run));
	uint64_t current = now < run->begin_ns ? 0 : (now - run->begin_ns) / NS_PER_S;
	uint64_t end = all ? current + 1 : current;

	for (; run->second < end; run->second++) {
		uint64_t from = run->begin_ns + run->second * NS_PER_S;

		for (size_t i = 0; i < run->nr; i++) {
			const struct wakeup_lane *l = &run->lanes.lane[i];
			const struct wakeup_second *s = &l->seconds[run->second % l->nr_seconds];
			uint64_t at = atomic_load_explicit(&s->at_ns, memory_order_acquire);
			uint64_t since = at - run->begin_ns;
			struct latency_point p = {
				.wall_ns = run->begin_wall_ns + since,
				.mono_ns = run->begin_mono_ns + since,
				.late_ns = atomic_load_explicit(&s->max_ns, memory_order_relaxed),
			};

			if (at >= from && at < from + NS_PER_S)
				latency_series_add(run->series[i], run->second, &p);
		}
	}
}

/* A CPU that went away took its thread's place with it: bind it again once it is back. */
static void watch_cpus(struct latency_run *run)
{
	for (size_t i = 0; i < run->nr; i++) {
		const struct wakeup_lane *l = &run->lanes.lane[i];
		uint64_t elsewhere = atomic_load_explicit(&l->elsewhere, memory_order_relaxed);
		bool first = run->elsewhere[i] == 0;

		if (elsewhere == run->elsewhere[i])
			continue;
		run->elsewhere[i] = elsewhere;
		if (first)
			fprintf(stderr,
				"irqlab: T:%2zu ran on another CPU than %u, which may have gone "
				"offline: such wake-ups are counted apart\n",
				i, l->cpu);
		if (wakeup_lane_pin(l) == 0)
			fprintf(stderr, "irqlab: T:%2zu is bound to CPU %u again\n", i, l->cpu);
	}
}

/* ---- the run ---- */

struct watch {
	struct latency_soak *soak;
	uint64_t end_mono_ns; /* UINT64_MAX: none */
	uint64_t next_draw_ns, draw_ns, next_second_ns;
	uint64_t drawn_max;
	bool stop;
};

static void on_signal(struct latency_run *run, struct watch *w)
{
	struct signalfd_siginfo info;

	while (read(run->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGUSR1 && info.ssi_signo != SIGUSR2) {
			w->stop = true;
			continue;
		}
		fputs("#---------------------------\n# irqlab latency current status:\n", stderr);
		print_lines(run, stderr);
		fputs("#---------------------------\n", stderr);
	}
}

static void draw(struct latency_run *run, struct watch *w)
{
	uint64_t max = max_of_all(run);

	if (run->args->verbose) {
		print_values(run);
		return;
	}
	if (run->args->refresh_on_max && max == w->drawn_max)
		return;
	w->drawn_max = max;
	redraw(run);
}

static void tick(struct latency_run *run, struct watch *w, uint64_t now)
{
	if (now >= w->next_draw_ns) {
		draw(run, w);
		w->next_draw_ns = now + w->draw_ns;
	}
	if (now < w->next_second_ns)
		return;
	w->next_second_ns += NS_PER_S;
	if (w->next_second_ns <= now)
		w->next_second_ns = now + NS_PER_S;
	collect_seconds(run, false);
	watch_cpus(run);
	if (w->soak) {
		struct latency_view v = view_of(run);

		latency_soak_write(w->soak, &v, false);
	}
}

static struct watch watch_of(const struct latency_run *run)
{
	const struct latency_args *a = run->args;
	bool silent = a->quiet || (a->json && !a->json_file);
	struct watch w = { .end_mono_ns = UINT64_MAX, .next_draw_ns = UINT64_MAX };

	if (a->duration_s)
		w.end_mono_ns = run->begin_mono_ns + a->duration_s * NS_PER_S;
	w.draw_ns = a->verbose ? VERBOSE_NS : REDRAW_NS;
	if (a->verbose || !silent)
		w.next_draw_ns = run->begin_mono_ns + w.draw_ns;
	w.next_second_ns = run->begin_mono_ns + NS_PER_S;
	return w;
}

/* Until the first lane has ended, the time is over, or a signal came. */
static void watch(struct latency_run *run, struct watch *w)
{
	while (!w->stop) {
		struct pollfd fds[] = { { .fd = run->signal_fd, .events = POLLIN },
					{ .fd = run->done_fd, .events = POLLIN } };
		uint64_t now = clock_mono_ns(), next = w->end_mono_ns;
		struct timespec left;

		if (now >= w->end_mono_ns)
			return;
		next = w->next_draw_ns < next ? w->next_draw_ns : next;
		next = w->next_second_ns < next ? w->next_second_ns : next;
		left = clock_timespec(next > now ? next - now : 0);
		if (ppoll(fds, ARRAY_SIZE(fds), &left, NULL) > 0) {
			if (fds[0].revents)
				on_signal(run, w);
			if (fds[1].revents)
				return;
		}
		tick(run, w, clock_mono_ns());
	}
}

/* Close the window now, unless its end is planned and near. */
static void close_window(struct latency_run *run, const struct watch *w)
{
	const struct timespec grace = clock_timespec(GRACE_NS);
	uint64_t now;

	if (!w->stop && atomic_load(&run->brk.lane) < 0 && clock_mono_ns() < w->end_mono_ns)
		nanosleep(&grace, NULL);
	now = wakeup_clock_ns(clock_of(run));
	if (now < atomic_load(&run->window.end_ns))
		atomic_store(&run->window.end_ns, now);
	wakeup_lanes_join(&run->lanes);
}

static void open_window(struct latency_run *run)
{
	uint64_t now = wakeup_clock_ns(clock_of(run)), mono = clock_mono_ns(),
		 wall = clock_wall_ns();
	uint64_t begin = now + LEAD_NS > run->base_ns ? now + LEAD_NS : run->base_ns;

	if (run->args->duration_s)
		atomic_store(&run->window.end_ns, begin + run->args->duration_s * NS_PER_S);
	atomic_store(&run->window.begin_ns, begin);
	run->begin_ns = begin;
	run->begin_mono_ns = mono + (begin - now);
	run->begin_wall_ns = wall + (begin - now);
}

/* ---- before and after ---- */

static void say_latency_device(struct latency_run *run)
{
	const struct latency_args *a = run->args;
	char why[128];

	if (a->laptop || a->default_system) {
		fputs(a->laptop ? "WARN: not setting cpu_dma_latency to save battery power\n"
				: "WARN: not setting cpu_dma_latency from irqlab\n",
		      stderr);
		return;
	}
	wakeup_hold_latency(&run->hold, &run->host, (int32_t)a->latency_us);
	if (run->hold.latency_fd < 0)
		fprintf(stderr,
			"irqlab: /dev/cpu_dma_latency could not be held (%s): leaving deep idle "
			"states counts as latency\n",
			strerror_r(run->hold.latency_errno, why, sizeof(why)));
	else if (!a->json || a->json_file)
		printf("# /dev/cpu_dma_latency set to %" PRIu64 "us\n", a->latency_us);
}

static void say_resolution(const struct latency_run *run)
{
	struct timespec res = {};
	uint64_t least = UINT64_MAX, last = wakeup_clock_ns(clock_of(run));

	clock_getres(clock_of(run), &res);
	for (int i = 0; i < 10000; i++) {
		uint64_t now = wakeup_clock_ns(clock_of(run));

		if (now > last && now - last < least)
			least = now - last;
		last = now;
	}
	fprintf(stderr, "WARN: reported clock resolution: %ld nsec\n", res.tv_nsec);
	fprintf(stderr, "WARN: measured clock resolution approximately: %" PRIu64 " nsec\n", least);
}

static void say_verbose(const struct latency_run *run)
{
	const struct latency_args *a = run->args;

	for (size_t i = 0; i < run->nr; i++) {
		const struct wakeup_lane *l = &run->lanes.lane[i];
		uint64_t distance = a->rows ? 0 : a->distance_us;

		if (a->affinity && !a->smp && strcmp(a->affinity, "all") != 0)
			printf("Thread %zu using cpu %u.\n", i, l->cpu);
		/* cyclictest prints the next thread's */
		printf("Thread %zu Interval: %" PRIu64 "\n", i,
		       l->interval_ns / NS_PER_US + distance);
	}
}

static int prepare(struct latency_run *run, struct err *e)
{
	const struct latency_args *a = run->args;
	bool verbose = a->verbose && !(a->json && !a->json_file);

	if (a->unbuffered)
		setvbuf(stdout, NULL, _IONBF, 0);
	if (verbose)
		printf("Max CPUs = %ld\nOnline CPUs = %ld\n", sysconf(_SC_NPROCESSORS_CONF),
		       sysconf(_SC_NPROCESSORS_ONLN));
	if (verbose && a->affinity && !a->smp && strcmp(a->affinity, "all") != 0)
		printf("Using %zu cpus.\n", run->cpus.nr);
	if (a->lock)
		wakeup_hold_memory(&run->hold);
	if (a->lock && !run->hold.locked) {
		errno = run->hold.lock_errno;
		return err_sys(e, "option --mlockall (needs root, CAP_IPC_LOCK or a larger ulimit "
				  "-l; or leave it away)");
	}
	say_latency_device(run);
	if (a->resolution)
		say_resolution(run);
	if (verbose)
		say_verbose(run);
	fflush(stdout);
	return 0;
}

static int pin_main(const struct latency_run *run, struct err *e)
{
	_cleanup_(cpuset_release) struct cpuset set = {};
	int r;

	if (!run->args->main_affinity)
		return 0;
	r = wakeup_cpus(run->args->main_affinity, &run->host, &set, e);
	if (r >= 0)
		r = cpuset_pin(0, &set, e);
	return r < 0 ? err_wrap(e, "option --mainaffinity") : 0;
}

static void print_break(const struct latency_run *run)
{
	int lane = atomic_load(&run->brk.lane);
	uint64_t late = atomic_load(&run->brk.late_ns);

	fputs("# Thread Ids:", stdout);
	for (size_t i = 0; i < run->nr; i++)
		printf(" %05d", atomic_load(&run->lanes.lane[i].tid));
	fputs("\n", stdout);
	if (lane < 0)
		return;
	printf("# Break thread: %d\n", atomic_load(&run->lanes.lane[lane].tid));
	printf("# Break value: %" PRIu64 "\n", run->args->nsecs ? late : late / NS_PER_US);
}

static int print_rows(const struct latency_run *run, const struct latency_view *v, struct err *e)
{
	_cleanup_(fclose_filep) FILE *f = NULL;

	if (!run->args->rows_file) {
		latency_print_rows(stdout, v);
		return 0;
	}
	f = fopen(run->args->rows_file, "we");
	if (!f)
		return err_sys(e, "option --histfile: open %s", run->args->rows_file);
	latency_print_rows(f, v);
	return fflush(f) ? err_sys(e, "write %s", run->args->rows_file) : 0;
}

static int print_text(struct latency_run *run, const struct latency_view *v, struct err *e)
{
	const struct latency_args *a = run->args;
	int r = 0;

	if (a->verbose)
		print_values(run);
	else if (!a->quiet)
		redraw(run);
	/* as cyclictest leaves the cursor */
	if (!a->verbose && !a->quiet && a->refresh_on_max)
		printf("\033[%zuA\033[%zuB", run->nr + 2, run->nr + 2);
	if (a->quiet && !a->rows)
		for (size_t i = 0; i < v->nr; i++)
			latency_print_line(stdout, i, &v->figures[i], a->nsecs);
	if (a->spike)
		latency_print_spikes(stdout, &run->spikes, a->nsecs);
	if (a->rows)
		r = print_rows(run, v, e);
	if (a->break_us)
		print_break(run);
	if (r >= 0 && a->full)
		r = latency_print_full(stdout, v, e);
	return r;
}

static int print_end(struct latency_run *run, const struct latency_view *v, struct err *e)
{
	const struct latency_args *a = run->args;
	_cleanup_(buf_release) struct buf json = {};
	bool only_json = a->json && !a->json_file;
	int r = only_json ? 0 : print_text(run, v, e);

	if (r >= 0 && a->json)
		r = latency_json(&json, v, e);
	if (r >= 0 && only_json)
		fputs(buf_str(&json), stdout);
	else if (r >= 0 && a->json)
		r = file_write(a->json_file, &json, e);
	fflush(stdout);
	if (r >= 0 && !a->full)
		r = latency_print_skipped(stderr, v, e);
	if (run->lost)
		fprintf(stderr,
			"irqlab: %" PRIu64 " values came faster than they could be printed\n",
			run->lost);
	if (run->args->break_us && atomic_load(&run->brk.lane) >= 0)
		fprintf(stderr, "irqlab: -b: T:%2d was later than %" PRIu64 " %s%s\n",
			atomic_load(&run->brk.lane), a->break_us, a->nsecs ? "ns" : "us",
			a->tracemark ? "; the trace is marked and stopped: echo 1 > tracing_on "
				       "starts it again"
				     : "");
	return r;
}

static int lane_error(const struct latency_run *run, struct err *e)
{
	for (size_t i = 0; i < run->nr; i++) {
		if (!run->lanes.lane[i].error)
			continue;
		errno = run->lanes.lane[i].error;
		return err_sys(e, "T:%2zu: clock_nanosleep", i);
	}
	return 0;
}

static int measure(struct latency_run *run, struct err *e)
{
	_cleanup_(latency_soak_closep) struct latency_soak *soak = NULL;
	const struct latency_args *a = run->args;
	struct latency_view v;
	struct watch w;
	int r = prepare(run, e);

	if (r >= 0)
		r = wakeup_lanes_run(&run->lanes, &run->host, e);
	if (r >= 0)
		r = pin_main(run, e);
	if (r < 0)
		return r;
	open_window(run);
	if (a->soak) {
		v = view_of(run);
		r = latency_soak_open(&soak, a->soak, &v, e);
		if (r < 0)
			return err_wrap(e, "option --soak");
	}
	w = watch_of(run);
	w.soak = soak;
	if (!a->verbose && !a->quiet && !(a->json && !a->json_file))
		print_block(run);
	watch(run, &w);
	close_window(run, &w);
	collect_seconds(run, true);
	v = view_of(run);
	if (soak)
		latency_soak_write(soak, &v, true);
	r = print_end(run, &v, e);
	return r < 0 ? r : lane_error(run, e);
}

static void latency_run_releasep(struct latency_run *run)
{
	latency_run_release(run);
}

int latency_run(const struct latency_args *args, const char *command, struct err *e)
{
	_cleanup_(latency_run_releasep) struct latency_run run = {
		.command = command,
		.host = { .proc_fd = -1,
			  .sys_fd = -1,
			  .dev_fd = -1,
			  .dut = { .netns_fd = -1, .sys_fd = -1 },
			  .far = { .netns_fd = -1, .sys_fd = -1 } },
	};
	int r = latency_setup(&run, args, e);

	if (r >= 0)
		r = measure(&run, e);
	return r < 0 ? r : EXIT_DONE;
}
