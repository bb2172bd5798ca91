// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include "probe/irqtime.h"

static struct irqtime_row row(enum irqtime_kind kind, unsigned int cpu, uint64_t id,
			      const char *name, uint64_t count, uint64_t ns)
{
	struct irqtime_row r = { .kind = kind, .cpu = cpu, .id = id, .count = count, .ns = ns };

	snprintf(r.name, sizeof(r.name), "%s", name);
	return r;
}

static struct irqtime_table table(const struct irqtime_row *rows, size_t nr)
{
	struct irqtime_table t = { .v = calloc(nr + 1, sizeof(*rows)), .nr = nr };

	assert_non_null(t.v);
	memcpy(t.v, rows, nr * sizeof(*rows));
	irqtime_table_sort(&t);
	return t;
}

static void rows_are_sorted_by_kind_id_name_cpu(void **state)
{
	const struct irqtime_row rows[] = {
		row(IRQTIME_THREAD, 0, 7, "b", 1, 1),	row(IRQTIME_HARDIRQ, 1, 24, "b", 2, 1),
		row(IRQTIME_HARDIRQ, 0, 24, "b", 3, 1), row(IRQTIME_HARDIRQ, 0, 24, "a", 4, 1),
		row(IRQTIME_HARDIRQ, 5, 3, "z", 5, 1),	row(IRQTIME_SOFTIRQ, 0, 1, "TIMER", 6, 1),
	};
	const uint64_t counts[] = { 5, 4, 3, 2, 6, 1 };
	_cleanup_(irqtime_table_release) struct irqtime_table t = table(rows, ARRAY_SIZE(rows));

	assert_int_equal(t.nr, ARRAY_SIZE(counts));
	for (size_t i = 0; i < t.nr; i++)
		assert_int_equal(t.v[i].count, counts[i]);
}

/* two CPUs that saw a handler for the first time at once each made a row for it */
static void rows_of_the_same_thing_add_up_and_keep_the_longest(void **state)
{
	struct irqtime_row rows[] = {
		row(IRQTIME_HARDIRQ, 0, 24, "eth0", 3, 300),
		row(IRQTIME_HARDIRQ, 1, 24, "eth0", 9, 9),
		row(IRQTIME_HARDIRQ, 0, 24, "eth0", 4, 100),
		row(IRQTIME_HARDIRQ, 0, 24, "ahci", 5, 5),
	};
	_cleanup_(irqtime_table_release) struct irqtime_table t = {};

	rows[0].max_ns = 50;
	rows[2].max_ns = 70;
	rows[2].extra = 11;
	rows[0].extra2 = 2;
	t = table(rows, ARRAY_SIZE(rows));
	assert_int_equal(t.nr, 3);
	assert_string_equal(t.v[0].name, "ahci");
	assert_int_equal(t.v[1].cpu, 0);
	assert_int_equal(t.v[1].count, 7);
	assert_int_equal(t.v[1].ns, 400);
	assert_int_equal(t.v[1].max_ns, 70);
	assert_int_equal(t.v[1].extra, 11);
	assert_int_equal(t.v[1].extra2, 2);
	assert_int_equal(t.v[2].cpu, 1);
}

static void differences_are_by_thing_and_cpu(void **state)
{
	const struct irqtime_row old[] = {
		row(IRQTIME_SOFTIRQ, 0, 3, "NET_RX", 10, 1000),
		row(IRQTIME_SOFTIRQ, 1, 3, "NET_RX", 20, 2000),
		row(IRQTIME_THREAD, 0, 50, "gone", 1, 1),
	};
	const struct irqtime_row new[] = {
		row(IRQTIME_SOFTIRQ, 0, 3, "NET_RX", 15, 1700),
		row(IRQTIME_SOFTIRQ, 1, 3, "NET_RX", 20, 2000), /* did not move */
		row(IRQTIME_HARDIRQ, 1, 36, "disk", 2, 80),	/* appeared */
	};
	_cleanup_(irqtime_table_release) struct irqtime_table a = table(old, 3), b = table(new, 3);
	_cleanup_(irqtime_table_release) struct irqtime_table d = {};
	struct err e = {};

	a.lost = 4;
	b.lost = 9;
	b.at_ns = 77;
	assert_int_equal(irqtime_subtract(&a, &b, &d, &e), 0);
	assert_int_equal(d.nr, 2);
	assert_int_equal(d.lost, 5);
	assert_int_equal(d.at_ns, 77);
	assert_string_equal(d.v[0].name, "disk");
	assert_int_equal(d.v[0].count, 2);
	assert_int_equal(d.v[0].ns, 80);
	assert_int_equal(d.v[1].count, 5);
	assert_int_equal(d.v[1].ns, 700);
}

/* what a running thread has used is an estimate at each reading */
static void a_step_back_is_no_movement(void **state)
{
	const struct irqtime_row old = row(IRQTIME_THREAD, 0, 50, "x", 10, 1000);
	const struct irqtime_row new = row(IRQTIME_THREAD, 0, 50, "x", 10, 990);
	_cleanup_(irqtime_table_release) struct irqtime_table a = table(&old, 1),
							      b = table(&new, 1), d = {};
	struct err e = {};

	assert_int_equal(irqtime_subtract(&a, &b, &d, &e), 0);
	assert_int_equal(d.nr, 0);
}

/* exec changes the name of a thread, not what it has used */
static void a_thread_is_its_tid_whatever_its_name(void **state)
{
	const struct irqtime_row old[] = { row(IRQTIME_THREAD, 0, 50, "sh", 10, 1000) };
	const struct irqtime_row new[] = { row(IRQTIME_THREAD, 0, 50, "make", 15, 1900),
					   row(IRQTIME_THREAD, 0, 50, "sh", 1, 100),
					   row(IRQTIME_THREAD, 1, 50, "make", 2, 20) };
	_cleanup_(irqtime_table_release) struct irqtime_table a = table(old, 1), b = table(new, 3);
	_cleanup_(irqtime_table_release) struct irqtime_table d = {};
	struct err e = {};

	assert_int_equal(b.nr, 2);
	assert_string_equal(b.v[0].name, "make");
	assert_int_equal(irqtime_subtract(&a, &b, &d, &e), 0);
	assert_int_equal(d.nr, 2);
	assert_int_equal(d.v[0].count, 6);
	assert_int_equal(d.v[0].ns, 1000);
	assert_int_equal(d.v[1].cpu, 1);
}

static void an_empty_table_is_a_table(void **state)
{
	const struct irqtime_row one[] = { row(IRQTIME_NAPI, 0, 8193, "eth0", 1, 5) };
	_cleanup_(irqtime_table_release) struct irqtime_table none = {}, some = table(one, 1);
	_cleanup_(irqtime_table_release) struct irqtime_table d = {};
	struct err e = {};

	irqtime_table_sort(&none);
	assert_int_equal(irqtime_subtract(&none, &none, &d, &e), 0);
	assert_int_equal(d.nr, 0);
	assert_int_equal(irqtime_subtract(&none, &some, &d, &e), 0);
	assert_int_equal(d.nr, 1);
	/* into the table that held the last difference */
	assert_int_equal(irqtime_subtract(&some, &some, &d, &e), 0);
	assert_int_equal(d.nr, 0);
}

/* the kernel's own names, in its own order */
static void softirqs_are_named_as_proc_does(void **state)
{
	_cleanup_(fclose_filep) FILE *f = fopen("/proc/softirqs", "re");
	char line[8192], name[32];
	unsigned int vector = 0;

	if (!f || !fgets(line, sizeof(line), f)) {
		print_message("/proc/softirqs cannot be read\n");
		skip();
	}
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, " %31[A-Z_0-9]:", name) != 1)
			continue;
		assert_string_equal(irqtime_softirq_name(vector), name);
		vector++;
	}
	assert_int_equal(vector, 10);
	assert_string_equal(irqtime_softirq_name(10), "?");
	assert_string_equal(irqtime_softirq_name(UINT32_MAX), "?");
	assert_string_equal(irqtime_kind_name(IRQTIME_NAPI), "napi");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_sorted_by_kind_id_name_cpu),
		cmocka_unit_test(rows_of_the_same_thing_add_up_and_keep_the_longest),
		cmocka_unit_test(differences_are_by_thing_and_cpu),
		cmocka_unit_test(a_step_back_is_no_movement),
		cmocka_unit_test(a_thread_is_its_tid_whatever_its_name),
		cmocka_unit_test(an_empty_table_is_a_table),
		cmocka_unit_test(softirqs_are_named_as_proc_does),
	};

	return cmocka_run_group_tests_name("irqtime", tests, NULL, NULL);
}
