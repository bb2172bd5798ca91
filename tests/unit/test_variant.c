// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/rng.h"
#include "plan/instance.h"
#include "sample/sample.h"
#include "tree.h"
#include "variant/journal.h"
#include "variant/knob.h"
#include "variant/knob_tables.h"
#include "variant/variant.h"

/*
 * A machine of three numbers in shared memory, so that a killed child leaves it as it was.  The
 * @fault-th read or write fails once, or kills the process before or after it took place.
 */
#define NR 3

static struct machine {
	int value[NR];
	int seen[16], nr_seen; /* the order of writes: indexes */
	int ops, fault;
	enum { FAIL, KILL_BEFORE, KILL_AFTER } how;
	bool gone[NR];
	bool appears; /* target 2 exists only once target 0 is 1 */
	bool rounds;  /* writes lose the lowest bit, as some drivers do */
	bool coupled; /* a write to target 0 changes target 1 too */
	bool ephemeral;
	bool unreadable;
	uint64_t stamp;
	int nr_resolved;
	struct witness witness;
	int witness_error;
} * m;

static struct tree tree;

static void must(int r, const struct err *e)
{
	if (r < 0)
		fail_msg("%s", e->msg);
}

static int fault(bool before, struct err *e)
{
	if (before)
		m->ops++;
	if (m->ops != m->fault)
		return 0;
	if (m->how == FAIL && before)
		return err_set(e, -EIO, "operation %d was made to fail", m->fault);
	if (m->how == (before ? KILL_BEFORE : KILL_AFTER))
		kill(getpid(), SIGKILL);
	return 0;
}

static int target_of(const char *target, struct err *e)
{
	int i = target[0] - '0';

	if (m->gone[i] || (i == 2 && m->appears && m->value[0] != 1))
		return err_set(e, -ENOENT, "target %d does not exist", i);
	return i;
}

static int fake_read(const struct host *host, const char *target, char **ret, struct err *e)
{
	int i = target_of(target, e), r = fault(true, e);
	char text[16];

	if (i < 0 || r < 0)
		return i < 0 ? i : r;
	if (m->unreadable)
		return err_set(e, -ENODATA, "not readable");
	snprintf(text, sizeof(text), "%d", m->value[i]);
	*ret = strdup(text);
	fault(false, e);
	return 0;
}

static int fake_write(const struct host *host, const char *target, const char *value, struct err *e)
{
	int i = target_of(target, e), r = fault(true, e);

	if (i < 0 || r < 0)
		return i < 0 ? i : r;
	m->value[i] = (int)strtol(value, NULL, 10) & (m->rounds ? ~1 : ~0);
	if (i == 0 && m->coupled)
		m->value[1] = 55;
	if (m->nr_seen < (int)ARRAY_SIZE(m->seen))
		m->seen[m->nr_seen++] = i;
	fault(false, e);
	return 0;
}

static int fake_resolve(const struct host *host, const struct instance *inst,
			struct knob_settings *ret, struct err *e)
{
	const char *all = instance_value(inst, "*");

	m->nr_resolved++;
	for (int i = 0; i < NR && all; i++)
		if (!m->gone[i])
			must(knob_settings_add(ret, (const char *[]){ "0", "1", "2" }[i], all, e),
			     e);
	if (all && ret->nr == 0)
		return err_set(e, -ENOENT, "nothing matches");
	for (size_t i = 0; i < inst->nr_settings && !all; i++) {
		int t = target_of(inst->settings[i].key, e);

		if (t < 0)
			return t;
		assert_int_equal(knob_settings_add(ret, inst->settings[i].key,
						   inst->settings[i].value, e),
				 0);
	}
	return 0;
}

static int fake_witness(const struct host *host, const char *target, struct witness *ret,
			struct err *e)
{
	if (m->witness_error)
		return err_set(e, m->witness_error, "witness fell asleep");
	*ret = m->witness;
	return 0;
}

static bool fake_ephemeral(const struct host *host, const char *target)
{
	return m->ephemeral;
}

static bool fake_appears(const struct host *host, const struct instance *inst, uint64_t *ret_stamp)
{
	*ret_stamp = m->stamp;
	return instance_value(inst, "*");
}

static void fake_describe(const char *target, struct buf *out)
{
	buf_printf(out, "number %s", target);
}

static const struct knob_ops knob_fake = {
	.plugin = { .name = "fake", .help = "three numbers", .free_keys = true },
	.usable = knob_usable,
	.resolve = fake_resolve,
	.read = fake_read,
	.write = fake_write,
	.witness = fake_witness,
	.ephemeral = fake_ephemeral,
	.appears = fake_appears,
	.describe = fake_describe,
};

static const struct knob_ops *const knobs[] = { &knob_fake, &knob_sysctl, &knob_file, NULL };

static int setup(void **state)
{
	tree_make(&tree);
	m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(m != MAP_FAILED);
	*m = (struct machine){ .value = { 10, 20, 30 } };
	return 0;
}

static int teardown(void **state)
{
	munmap(m, sizeof(*m));
	tree_remove(&tree);
	return 0;
}

static void add(struct instances *l, const char *plugin, const char *key, const char *value)
{
	struct instance inst = { .plugin = strdup(plugin), .name = strdup(plugin) };
	struct err e = {};

	assert_int_equal(instance_set(&inst, key, value, 0, &e), 0);
	assert_int_equal(instances_add(l, &inst, &e), 0);
	instance_release(&inst);
}

/* 0 and 2 are changed, 1 has its value already. */
static void three(struct instances *l)
{
	add(l, "fake", "0", "12");
	add(l, "fake", "1", "20");
	add(l, "fake", "2", "34");
}

static void expect_machine(int a, int b, int c)
{
	assert_int_equal(m->value[0], a);
	assert_int_equal(m->value[1], b);
	assert_int_equal(m->value[2], c);
}

static struct journal *open_journal(void)
{
	struct journal *j = NULL;
	struct err e = {};

	must(journal_open(&j, tree.state, &e), &e);
	return j;
}

static struct buf lines;

static void log_line(void *arg, const char *line)
{
	buf_printf(&lines, "%s\n", line);
}

static int restore(struct restore_report *ret, struct err *e)
{
	buf_reset(&lines);
	*ret = (struct restore_report){};
	return variant_restore(&tree.host, tree.state, knobs, log_line, NULL, ret, e);
}

/* Apply in a child that is then killed: what a crash leaves behind. */
static void crash_after_apply(const struct instances *l)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct applied *a = NULL;
		struct journal *j = NULL;
		struct err e = {};

		if (journal_open(&j, tree.state, &e) >= 0 &&
		    variant_apply(&a, &tree.host, j, knobs, l, &e) >= 0)
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFSIGNALED(status));
	assert_true(tree_has(&tree, "state/journal"));
}

static void apply_sets_and_undo_gives_back_in_reverse(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	_cleanup_(journal_closep) struct journal *j = open_journal();
	struct applied *a = NULL;
	struct err e = {};

	three(&l);
	must(variant_apply(&a, &tree.host, j, knobs, &l, &e), &e);
	expect_machine(12, 20, 34);
	must(variant_verify(a, &e), &e);
	m->value[1] = 21; /* was right already, but must stay so */
	assert_int_equal(variant_verify(a, &e), -EIO);
	assert_contains(e.msg, "knob fake: 1 was set to \"20\" and is \"21\" now");
	m->value[1] = 20;
	assert_true(tree_has(&tree, "state/journal"));
	must(variant_undo(a, &e), &e);
	expect_machine(10, 20, 30);
	assert_false(tree_has(&tree, "state/journal"));
	assert_int_equal(m->nr_seen, 4);
	assert_int_equal(m->seen[2], 2);
	assert_int_equal(m->seen[3], 0);
	must(variant_undo(NULL, &e), &e);
}

static void mistakes_are_found_before_anything_changes(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	_cleanup_(journal_closep) struct journal *j = open_journal();
	struct applied *a = NULL;
	struct err e = {};

	add(&l, "fake", "0", "12");
	add(&l, "fkae", "1", "1");
	assert_int_equal(variant_apply(&a, &tree.host, j, knobs, &l, &e), -EINVAL);
	assert_contains(e.msg, "did you mean \"fake\"?");
	assert_null(a);
	assert_int_equal(m->nr_seen, 0);
}

static void what_appears_later_is_asked_again(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	_cleanup_(journal_closep) struct journal *j = open_journal();
	struct applied *a = NULL;
	struct err e = {};

	m->appears = true;
	add(&l, "fake", "0", "1");
	add(&l, "fake", "2", "34");
	must(variant_apply(&a, &tree.host, j, knobs, &l, &e), &e);
	expect_machine(1, 20, 34);
	must(variant_undo(a, &e), &e);
	expect_machine(10, 20, 30);
	/* and when it does not appear, what made room for it is undone */
	instances_release(&l);
	add(&l, "fake", "0", "2");
	add(&l, "fake", "2", "34");
	assert_int_equal(variant_apply(&a, &tree.host, j, knobs, &l, &e), -ENOENT);
	assert_contains(e.msg, "target 2 does not exist");
	expect_machine(10, 20, 30);
	assert_false(tree_has(&tree, "state/journal"));
}

static void a_value_that_does_not_read_back_is_refused(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	_cleanup_(journal_closep) struct journal *j = open_journal();
	struct applied *a = NULL;
	struct err e = {};

	m->rounds = true;
	add(&l, "fake", "0", "12");
	add(&l, "fake", "1", "25");
	assert_int_equal(variant_apply(&a, &tree.host, j, knobs, &l, &e), -EIO);
	assert_string_equal(e.msg, "knob fake: 1 = \"25\": wrote \"25\", but it reads back \"24\"");
	expect_machine(10, 20, 30);
	assert_false(tree_has(&tree, "state/journal"));
}

/* Whatever single read or write fails: afterwards, at the latest after a restore, all is as before.
 */
static void every_fault_is_repaired(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	int failed_applies = 0, failed_undos = 0;

	three(&l);
	for (int k = 1;; k++) {
		struct journal *j = open_journal();
		struct applied *a = NULL;
		struct restore_report report;
		struct err e = {};
		int r;

		m->ops = 0;
		m->fault = k;
		r = variant_apply(&a, &tree.host, j, knobs, &l, &e);
		if (r < 0) {
			failed_applies++;
			assert_null(a);
		} else {
			r = variant_undo(a, &e);
			failed_undos += r < 0;
		}
		journal_close(j);
		if (r >= 0 && m->ops < k)
			break;
		must(restore(&report, &e), &e);
		expect_machine(10, 20, 30);
		assert_false(tree_has(&tree, "state/journal"));
	}
	assert_int_equal(failed_applies, 7); /* 3 old values, 2 writes, 2 read back */
	assert_true(failed_undos >= 2);
}

static void a_persistent_fault_stays_in_the_journal(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	struct restore_report report;
	struct err e = {};

	three(&l);
	crash_after_apply(&l);
	m->fault = m->ops + 4; /* two looks at all, one more, the write back of target 2 */
	assert_int_equal(restore(&report, &e), -EIO);
	assert_int_equal(report.failed, 1);
	assert_int_equal(report.undone, 1);
	assert_contains(e.msg, "fake 2: not undone: operation");
	expect_machine(10, 20, 34);
	assert_true(tree_has(&tree, "state/journal"));
	must(restore(&report, &e), &e);
	assert_int_equal(report.undone, 1);
	expect_machine(10, 20, 30);
	assert_false(tree_has(&tree, "state/journal"));
}

static void a_full_disk_changes_nothing(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	struct rlimit none;
	int failures = 0, r = -1;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &none);
	three(&l);
	for (rlim_t room = 0; r < 0; room += 7) {
		struct rlimit limit = { .rlim_cur = room, .rlim_max = none.rlim_max };
		struct journal *j = open_journal();
		struct applied *a = NULL;
		struct err e = {};

		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		r = variant_apply(&a, &tree.host, j, knobs, &l, &e);
		if (r >= 0)
			must(variant_undo(a, &e), &e);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
		journal_close(j);
		failures += r < 0;
		expect_machine(10, 20, 30);
		assert_false(r < 0 && r != -EFBIG);
	}
	assert_true(failures > 20);
}

static void run_until_killed(const struct instances *l)
{
	struct applied *a = NULL;
	struct journal *j = NULL;
	struct err e = {};

	if (journal_open(&j, tree.state, &e) < 0 ||
	    variant_apply(&a, &tree.host, j, knobs, l, &e) < 0 || variant_undo(a, &e) < 0)
		_exit(1);
	_exit(0);
}

/* SIGKILL before and after every single read and write, also with values that get rounded. */
static void every_kill_is_repaired(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	int kills = 0;

	add(&l, "fake", "0", "12");
	add(&l, "fake", "1", "20");
	add(&l, "fake", "2", "35");
	for (int variation = 0; variation < 4; variation++) {
		m->how = variation & 1 ? KILL_AFTER : KILL_BEFORE;
		m->rounds = variation & 2;
		for (int k = 1;; k++) {
			struct restore_report report;
			struct err e = {};
			int status;
			pid_t pid;

			m->ops = 0;
			m->fault = k;
			pid = fork();
			if (pid == 0)
				run_until_killed(&l);
			waitpid(pid, &status, 0);
			m->fault = 0;
			must(restore(&report, &e), &e);
			assert_int_equal(report.changed_by_others, 0);
			expect_machine(10, 20, 30);
			assert_false(tree_has(&tree, "state/journal"));
			if (!WIFSIGNALED(status))
				break;
			kills++;
		}
	}
	assert_true(kills > 30);
}

static void others_changes_are_left_alone(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	struct restore_report report;
	struct err e = {};

	three(&l);
	crash_after_apply(&l);
	m->value[2] = 77;
	must(restore(&report, &e), &e);
	assert_int_equal(report.changed_by_others, 1);
	assert_int_equal(report.undone, 1);
	assert_contains(buf_str(&lines),
			"fake 2: is \"77\", neither \"30\" as before nor \"34\" as irqlab set it");
	expect_machine(10, 20, 77);
	must(restore(&report, &e), &e);
	assert_int_equal(report.changed_by_others, 0); /* reported once */
}

static void what_is_gone_needs_no_undo(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	struct restore_report report;
	struct err e = {};

	three(&l);
	crash_after_apply(&l);
	m->gone[2] = true;
	must(restore(&report, &e), &e);
	assert_int_equal(report.void_, 1);
	assert_int_equal(report.undone, 1);
	assert_int_equal(m->value[0], 10);
	/* the run's namespace */
	*m = (struct machine){ .value = { 10, 20, 30 }, .ephemeral = true };
	crash_after_apply(&l);
	must(restore(&report, &e), &e);
	assert_int_equal(report.void_, 2);
	assert_contains(buf_str(&lines), "network namespace");
	/* a reboot */
	*m = (struct machine){ .value = { 10, 20, 30 } };
	crash_after_apply(&l);
	tree_write(&tree, "proc/sys/kernel/random/boot_id", "another\n");
	must(restore(&report, &e), &e);
	assert_int_equal(report.void_, 2);
	assert_contains(buf_str(&lines), "reboot");
	expect_machine(12, 20, 34);
	assert_false(tree_has(&tree, "state/journal"));
}

static void damage_is_reported_until_a_reboot(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	_cleanup_(buf_release) struct buf text = {};
	struct restore_report report;
	struct err e = {};

	three(&l);
	crash_after_apply(&l);
	must(kfile_read(tree.host.proc_fd, "sys/kernel/random/boot_id", &text, &e), &e);
	{
		_cleanup_(fclose_filep) FILE *f = NULL;
		char path[128];

		snprintf(path, sizeof(path), "%s/journal", tree.state);
		f = fopen(path, "a");
		fputs("{\"id\":9,\"knob\n", f);
	}
	assert_int_equal(restore(&report, &e), -EIO);
	assert_int_equal(report.undone, 2);
	assert_int_equal(report.failed, 1);
	assert_contains(e.msg, "the first is line 5");
	expect_machine(10, 20, 30);
	assert_int_equal(restore(&report, &e), -EIO);
	tree_write(&tree, "proc/sys/kernel/random/boot_id", "another\n");
	must(restore(&report, &e), &e);
	assert_int_equal(report.void_, 1);
	assert_false(tree_has(&tree, "state/journal"));
}

static void no_journal_is_nothing_to_do(void **state)
{
	struct restore_report report;
	struct err e = {};

	must(restore(&report, &e), &e);
	assert_int_equal(report.undone + report.void_ + report.failed, 0);
	assert_false(tree_has(&tree, "state"));
}

static void what_cannot_be_read_is_undone_unseen(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	struct journal *j = open_journal();
	struct restore_report report;
	struct applied *a = NULL;
	struct err e = {};

	m->unreadable = true;
	add(&l, "fake", "0", "12");
	must(variant_apply(&a, &tree.host, j, knobs, &l, &e), &e);
	must(variant_verify(a, &e), &e);
	expect_machine(12, 20, 30);
	must(variant_undo(a, &e), &e);
	expect_machine(0, 20, 30); /* "" to the fake */
	journal_close(j);
	crash_after_apply(&l);
	expect_machine(12, 20, 30);
	must(restore(&report, &e), &e);
	assert_int_equal(report.undone, 1);
	expect_machine(0, 20, 30);
}

struct catching {
	struct sample_sink sink;
	int nr[3];
	struct buf text;
};

static int catch (struct sample_sink *sink, const struct record *rec, struct err *e)
{
	struct catching *c = (struct catching *)sink;

	assert_int_equal(rec->kind, RECORD_EVENT);
	assert_string_equal(rec->metric, "witness");
	assert_int_equal(rec->t_ns, 5);
	c->nr[rec->severity]++;
	buf_printf(&c->text, "%s\n", rec->text);
	return 0;
}

/* One setting whose witness goes from @begin to @end. Return: vetoes. */
static int witnessed(struct witness begin, struct witness end, int begin_error, int end_error,
		     struct catching *c)
{
	_cleanup_(instances_release) struct instances l = {};
	_cleanup_(journal_closep) struct journal *j = open_journal();
	struct applied *a = NULL;
	struct err e = {};
	int vetoes;

	*c = (struct catching){ .sink = { .emit = catch } };
	add(&l, "fake", "0", "12");
	must(variant_apply(&a, &tree.host, j, knobs, &l, &e), &e);
	m->witness = begin;
	m->witness_error = begin_error;
	assert_int_equal(variant_witness(a, WITNESS_BEGIN, 0, &c->sink, &e), 0);
	m->witness = end;
	m->witness_error = end_error;
	vetoes = variant_witness(a, WITNESS_END, 5, &c->sink, &e);
	must(variant_undo(a, &e), &e);
	assert_int_equal(c->nr[0] + c->nr[1] + c->nr[2], 1);
	return vetoes;
}

/* Interrupts on the right CPU do not excuse those on a wrong one. */
static void what_speaks_against_an_effect_vetoes(void **state)
{
	const struct witness begin = { .what = "on CPU 1", .against_of = "on others" };
	struct witness end = begin;
	struct catching c;

	end.effect = 100;
	end.min_effect = 1;
	end.max_against = end.against = 1;
	assert_int_equal(witnessed(begin, end, 0, 0, &c), 0);
	buf_release(&c.text);
	end.against = 2;
	assert_int_equal(witnessed(begin, end, 0, 0, &c), 1);
	assert_contains(buf_str(&c.text),
			"has not the effect it should have: on CPU 1 moved by 100, "
			"and on others by 2");
	buf_release(&c.text);
}

static void witnesses_decide(void **state)
{
	static const struct {
		uint64_t effect[2], demand[2], min_demand;
		int error[2];
		int severity;
		const char *text;
	} cases[] = {
		{ { 5, 15 },
		  { 0, 0 },
		  100,
		  { 0, 0 },
		  SEVERITY_NOTE,
		  "works: run time moved by 10" },
		{ { 5, 14 },
		  { 7, 107 },
		  100,
		  { 0, 0 },
		  SEVERITY_VETO,
		  "fake 0 = \"12\" had no effect: run time moved by 9 while packets moved by 100; "
		  "switch it on" },
		{ { 5, 14 }, { 7, 106 }, 100, { 0, 0 }, SEVERITY_NOTE, "idle" },
		{ { 5, 5 }, { 0, 0 }, 0, { 0, 0 }, SEVERITY_VETO, "had no effect" },
		{ { 5, 5 }, { 0, 9 }, WITNESS_DEMAND_UNKNOWN, { 0, 0 }, SEVERITY_NOTE, "idle" },
		/* a counter that went down is a thread that ended, not 2^64 */
		{ { 50, 5 }, { 0, 100 }, 100, { 0, 0 }, SEVERITY_VETO, "moved by 0" },
		{ { 0, 0 }, { 0, 0 }, 100, { -ENOENT, -ENOENT }, SEVERITY_NOTE, "nothing counts" },
		{ { 0, 99 }, { 0, 0 }, 100, { 0, -ESRCH }, SEVERITY_WARN, "witness fell asleep" },
		{ { 0, 99 }, { 0, 0 }, 100, { -EIO, 0 }, SEVERITY_WARN, "could not be" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct witness w[2];
		struct catching c;

		for (int k = 0; k < 2; k++)
			w[k] = (struct witness){ .what = "run time",
						 .of = "packets",
						 .effect = cases[i].effect[k],
						 .min_effect = 10,
						 .demand = cases[i].demand[k],
						 .min_demand = cases[i].min_demand,
						 .remedy = "switch it on" };
		assert_int_equal(witnessed(w[0], w[1], cases[i].error[0], cases[i].error[1], &c),
				 cases[i].severity == SEVERITY_VETO);
		assert_int_equal(c.nr[cases[i].severity], 1);
		assert_contains(buf_str(&c.text), cases[i].text);
		buf_release(&c.text);
	}
}

/* Events besides those of witnesses. */
struct told {
	struct sample_sink sink;
	int nr[3];
	int64_t t_ns;
	struct buf text;
};

static int tell(struct sample_sink *sink, const struct record *rec, struct err *e)
{
	struct told *t = (struct told *)sink;

	assert_int_equal(rec->kind, RECORD_EVENT);
	if (strcmp(rec->metric, "witness") == 0)
		return 0;
	assert_string_equal(rec->metric,
			    rec->severity == SEVERITY_NOTE ? "variant" : "health.variant");
	t->nr[rec->severity]++;
	t->t_ns = rec->t_ns;
	buf_reset(&t->text);
	buf_puts(&t->text, rec->text);
	return 0;
}

static struct told listener(void)
{
	return (struct told){ .sink = { .emit = tell } };
}

static void expect_told(const struct told *t, int notes, int warnings, int vetoes)
{
	assert_int_equal(t->nr[SEVERITY_NOTE], notes);
	assert_int_equal(t->nr[SEVERITY_WARN], warnings);
	assert_int_equal(t->nr[SEVERITY_VETO], vetoes);
}

static void what_appears_in_the_trial_gets_the_setting_too(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	_cleanup_(journal_closep) struct journal *j = open_journal();
	struct told told = listener();
	struct applied *a = NULL;
	struct err e = {};

	m->gone[2] = true;
	m->stamp = 7;
	add(&l, "fake", "*", "12");
	must(variant_apply(&a, &tree.host, j, knobs, &l, &e), &e);
	assert_true(variant_appears(a));
	expect_machine(12, 12, 30);
	/* asked once more, since something may have been born without its name yet; then no more */
	for (int i = 0; i < 3; i++)
		must(variant_refresh(a, 0, &told.sink, &e), &e);
	assert_int_equal(m->nr_resolved, 3);
	expect_told(&told, 0, 0, 0);
	m->gone[2] = false;
	m->stamp++;
	must(variant_witness(a, WITNESS_BEGIN, 0, &told.sink, &e), &e);
	must(variant_refresh(a, 1200000000, &told.sink, &e), &e);
	expect_machine(12, 12, 12);
	expect_told(&told, 1, 0, 0);
	assert_string_equal(buf_str(&told.text),
			    "appeared 1.20 s into the window: number 2 = \"12\"");
	assert_true(told.t_ns == 1200000000);
	must(variant_verify(a, &e), &e);
	m->value[2] = 13; /* it is verified like the others */
	assert_int_equal(variant_verify(a, &e), -EIO);
	m->value[2] = 12;
	must(variant_undo(a, &e), &e);
	expect_machine(10, 20, 30);
	assert_false(tree_has(&tree, "state/journal"));
	buf_release(&told.text);
}

/* A stamp of 0 says nothing: the list is asked for every time. */
static void without_a_stamp_it_is_always_asked(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	_cleanup_(journal_closep) struct journal *j = open_journal();
	struct told told = listener();
	struct applied *a = NULL;
	struct err e = {};

	add(&l, "fake", "*", "12");
	must(variant_apply(&a, &tree.host, j, knobs, &l, &e), &e);
	for (int i = 0; i < 5; i++)
		must(variant_refresh(a, -1, &told.sink, &e), &e);
	assert_int_equal(m->nr_resolved, 2 + 5);
	must(variant_undo(a, &e), &e);
	instances_release(&l);
	three(&l);
	must(variant_apply(&a, &tree.host, j, knobs, &l, &e), &e);
	assert_false(variant_appears(a));
	assert_false(variant_appears(NULL));
	must(variant_undo(a, &e), &e);
}

static void what_appeared_is_restored_after_a_crash(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	struct restore_report report;
	struct err e = {};
	int status;
	pid_t pid;

	m->gone[2] = true;
	add(&l, "fake", "*", "12");
	pid = fork();
	if (pid == 0) {
		struct told told = listener();
		struct applied *a = NULL;
		struct journal *j = open_journal();

		if (variant_apply(&a, &tree.host, j, knobs, &l, &e) < 0)
			_exit(1);
		m->gone[2] = false;
		if (variant_refresh(a, -5, &told.sink, &e) < 0)
			_exit(1);
		if (!strstr(buf_str(&told.text), "appeared before the window: number 2"))
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFSIGNALED(status));
	expect_machine(12, 12, 12);
	m->gone[0] = true; /* and what is gone by then needs nothing */
	must(restore(&report, &e), &e);
	assert_int_equal(report.undone, 2);
	assert_int_equal(report.void_, 1);
	expect_machine(12, 20, 30);
}

static void what_vanishes_is_noted_and_no_error(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	_cleanup_(journal_closep) struct journal *j = open_journal();
	struct told told = listener();
	struct applied *a = NULL;
	struct err e = {};

	add(&l, "fake", "*", "12");
	must(variant_apply(&a, &tree.host, j, knobs, &l, &e), &e);
	must(variant_witness(a, WITNESS_BEGIN, 0, &told.sink, &e), &e);
	m->gone[1] = true;
	must(variant_verify(a, &e), &e);
	must(variant_refresh(a, 500000000, &told.sink, &e), &e);
	must(variant_refresh(a, 700000000, &told.sink, &e), &e);
	expect_told(&told, 1, 0, 0); /* once */
	assert_string_equal(buf_str(&told.text), "gone 500 ms into the window: number 1 = \"12\"");
	must(variant_verify(a, &e), &e);
	m->gone[0] = m->gone[2] = true;
	must(variant_verify(a, &e), &e);
	assert_int_equal(variant_witness(a, WITNESS_END, 900000000, &told.sink, &e), 0);
	expect_told(&told, 2, 1, 0);
	assert_string_equal(buf_str(&told.text),
			    "knob fake: nothing is left of { *: 12 }: what was "
			    "set has no effect any more");
	must(variant_undo(a, &e), &e);
	assert_false(tree_has(&tree, "state/journal"));
	/* a name without a pattern that is gone is a failure */
	m->gone[0] = m->gone[1] = m->gone[2] = false;
	*m = (struct machine){ .value = { 10, 20, 30 } };
	instances_release(&l);
	three(&l);
	must(variant_apply(&a, &tree.host, j, knobs, &l, &e), &e);
	m->gone[1] = true;
	assert_int_equal(variant_verify(a, &e), -ENOENT);
	must(variant_undo(a, &e), &e);
	buf_release(&told.text);
}

static void what_appears_and_cannot_be_set_vetoes_once(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	_cleanup_(journal_closep) struct journal *j = open_journal();

	add(&l, "fake", "*", "12");
	/* its old value, the write, the read back */
	for (int k = 1; k <= 3; k++) {
		struct told told = listener();
		struct applied *a = NULL;
		struct err e = {};

		*m = (struct machine){ .value = { 10, 20, 30 }, .gone = { [2] = true } };
		must(variant_apply(&a, &tree.host, j, knobs, &l, &e), &e);
		m->gone[2] = false;
		m->fault = m->ops + k;
		must(variant_refresh(a, 0, &told.sink, &e), &e);
		expect_told(&told, 0, 0, 1);
		assert_contains(buf_str(&told.text),
				"number 2 appeared 0 s into the window and could "
				"not be set to \"12\": operation");
		must(variant_refresh(a, 0, &told.sink, &e), &e);
		expect_told(&told, 0, 0, 1);
		must(variant_verify(a, &e), &e);
		must(variant_undo(a, &e), &e);
		expect_machine(10, 20, 30);
		assert_false(tree_has(&tree, "state/journal"));
		buf_release(&told.text);
	}
}

static void undo_leaves_others_changes_alone(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	_cleanup_(journal_closep) struct journal *j = open_journal();
	_cleanup_(buf_release) struct buf others = {};
	struct applied *a = NULL;
	struct err e = {};

	three(&l);
	must(variant_apply(&a, &tree.host, j, knobs, &l, &e), &e);
	m->value[2] = 77;
	assert_int_equal(variant_verify(a, &e), -EIO);
	assert_contains(e.msg, "fake: 2 was set to \"34\" and is \"77\" now");
	must(variant_give_back(a, &others, &e), &e);
	expect_machine(10, 20, 77);
	assert_string_equal(buf_str(&others),
			    "fake 2 is \"77\", neither \"30\" as before nor \"34\" as irqlab set "
			    "it: somebody else changed it, left alone\n");
	assert_false(tree_has(&tree, "state/journal"));
	/* what somebody else has set back already is just as well */
	*m = (struct machine){ .value = { 10, 20, 30 } };
	buf_reset(&others);
	must(variant_apply(&a, &tree.host, j, knobs, &l, &e), &e);
	m->value[0] = 10;
	must(variant_give_back(a, &others, &e), &e);
	expect_machine(10, 20, 30);
	assert_string_equal(buf_str(&others), "");
}

/* A later setting of the same target decides, and each gives way to the one before it. */
static void two_settings_of_one_target_come_back(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	_cleanup_(journal_closep) struct journal *j = open_journal();
	_cleanup_(buf_release) struct buf others = {};
	struct restore_report report;
	struct applied *a = NULL;
	struct err e = {};

	add(&l, "fake", "*", "12");
	add(&l, "fake", "1", "14");
	add(&l, "fake", "1", "16");
	must(variant_apply(&a, &tree.host, j, knobs, &l, &e), &e);
	expect_machine(12, 16, 12);
	must(variant_verify(a, &e), &e);
	must(variant_give_back(a, &others, &e), &e);
	expect_machine(10, 20, 30);
	must(variant_apply(&a, &tree.host, j, knobs, &l, &e), &e);
	m->value[1] = 77;
	must(variant_give_back(a, &others, &e), &e);
	expect_machine(10, 77, 30);
	assert_string_equal(buf_str(&others),
			    "fake 1 is \"77\", neither \"20\" as before nor \"16\" as irqlab set "
			    "it: somebody else changed it, left alone\n");
	m->value[1] = 20;
	journal_close(take_ptr(j));
	crash_after_apply(&l);
	must(restore(&report, &e), &e);
	assert_int_equal(report.undone, 5);
	assert_int_equal(report.changed_by_others, 0);
	expect_machine(10, 20, 30);
	crash_after_apply(&l);
	m->value[1] = 77;
	must(restore(&report, &e), &e);
	assert_int_equal(report.undone, 2);
	assert_int_equal(report.changed_by_others, 3);
	expect_machine(10, 77, 30);
}

/* What our own writes change besides is not somebody else's doing, in undo and after a crash. */
static void side_effects_are_set_back_too(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	struct journal *j = open_journal();
	_cleanup_(buf_release) struct buf others = {};
	struct restore_report report;
	struct applied *a = NULL;
	struct err e = {};

	m->coupled = true;
	add(&l, "fake", "1", "12");
	add(&l, "fake", "0", "14");
	must(variant_apply(&a, &tree.host, j, knobs, &l, &e), &e);
	expect_machine(14, 55, 30);
	assert_int_equal(variant_verify(a, &e), -EIO); /* the trial would fail here */
	must(variant_give_back(a, &others, &e), &e);
	expect_machine(10, 20, 30);
	assert_string_equal(buf_str(&others), "");
	/* the undo of one changes the other */
	*m = (struct machine){ .value = { 10, 20, 30 } };
	must(variant_apply(&a, &tree.host, j, knobs, &l, &e), &e);
	m->coupled = true;
	must(variant_give_back(a, &others, &e), &e);
	expect_machine(10, 20, 30);
	assert_string_equal(buf_str(&others), "");
	journal_close(j);
	*m = (struct machine){ .value = { 10, 20, 30 } };
	crash_after_apply(&l);
	m->coupled = true;
	must(restore(&report, &e), &e);
	assert_int_equal(report.changed_by_others, 0);
	expect_machine(10, 20, 30);
}

/* The real knobs over a tree of files, killed at random moments. */
static void random_kills_leave_the_tree_as_it_was(void **state)
{
	_cleanup_(instances_release) struct instances l = {};
	uint64_t rng = 1;
	size_t repaired = 0;

	tree_write(&tree, "proc/sys/net/core/busy_poll", "10\n");
	tree_write(&tree, "proc/sys/vm/swappiness", "60\n");
	tree_write(&tree, "sys/block/sda/queue/nr", "064\n");
	add(&l, "sysctl", "net.core.busy_poll", "50");
	add(&l, "sysctl", "vm.swappiness", "99");
	add(&l, "file", "path", "/sys/block/sda/queue/nr");
	{
		struct err e = {};

		assert_int_equal(instance_set(&l.v[2], "value", "128", 0, &e), 0);
	}
	for (int i = 0; i < 50; i++) {
		struct timespec t = clock_timespec(rng_below(&rng, 4 * NS_PER_MS));
		struct restore_report report;
		struct err e = {};
		pid_t pid = fork();

		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;) {
				struct applied *a = NULL;
				struct journal *j = NULL;

				if (journal_open(&j, tree.state, &e) < 0 ||
				    variant_apply(&a, &tree.host, j, knobs, &l, &e) < 0 ||
				    variant_undo(a, &e) < 0)
					_exit(1);
				journal_close(j);
			}
		}
		nanosleep(&t, NULL);
		assert_int_equal(kill(pid, SIGKILL), 0);
		{
			int status;

			waitpid(pid, &status, 0);
			assert_true(WIFSIGNALED(status));
		}
		must(restore(&report, &e), &e);
		repaired += report.undone;
		assert_int_equal(report.changed_by_others, 0);
		tree_expect(&tree, "proc/sys/net/core/busy_poll", "10\n");
		tree_expect(&tree, "proc/sys/vm/swappiness", "60\n");
		tree_expect(&tree, "sys/block/sda/queue/nr", "064\n");
		assert_false(tree_has(&tree, "state/journal"));
	}
	print_message("# %zu changes were repaired\n", repaired);
}

#define with_tree(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(apply_sets_and_undo_gives_back_in_reverse),
		with_tree(mistakes_are_found_before_anything_changes),
		with_tree(what_appears_later_is_asked_again),
		with_tree(a_value_that_does_not_read_back_is_refused),
		with_tree(every_fault_is_repaired),
		with_tree(a_persistent_fault_stays_in_the_journal),
		with_tree(a_full_disk_changes_nothing),
		with_tree(every_kill_is_repaired),
		with_tree(others_changes_are_left_alone),
		with_tree(what_is_gone_needs_no_undo),
		with_tree(damage_is_reported_until_a_reboot),
		with_tree(no_journal_is_nothing_to_do),
		with_tree(what_cannot_be_read_is_undone_unseen),
		with_tree(witnesses_decide),
		with_tree(what_speaks_against_an_effect_vetoes),
		with_tree(what_appears_in_the_trial_gets_the_setting_too),
		with_tree(without_a_stamp_it_is_always_asked),
		with_tree(what_appeared_is_restored_after_a_crash),
		with_tree(what_vanishes_is_noted_and_no_error),
		with_tree(what_appears_and_cannot_be_set_vetoes_once),
		with_tree(undo_leaves_others_changes_alone),
		with_tree(two_settings_of_one_target_come_back),
		with_tree(side_effects_are_set_back_too),
		with_tree(random_kills_leave_the_tree_as_it_was),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);

	buf_release(&lines);
	return r;
}
