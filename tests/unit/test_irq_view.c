// SPDX-License-Identifier: GPL-3.0-or-later
/* Two frames of a small machine: what is between them as rows, as text and as JSON. */
#include "test.h"

#include <json-c/json.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "golden.h"
#include "irq_text.h"
#include "irqtree.h"

/* 124 moves by 1000 on CPU1 and 250 on CPU0 in 2 s; 130 wraps; 131 has just come; 9 rests. */
static const char interrupts_before[] =
	"           CPU0       CPU1\n"
	"  9:          5          0  IR-IO-APIC    9-fasteoi   acpi\n"
	" 16:        100          0  IR-IO-APIC   16-fasteoi   eth1, usb1\n"
	"124:       1000       2000  PCI-MSIX-0000:05:00.0    0-edge      enp5s0f0-TxRx-0\n"
	"130: 4294967290          0  PCI-MSIX-0000:05:00.0    1-edge      enp5s0f0-TxRx-1\n"
	"140:          7          7  PCI-MSIX-0000:06:00.0    1-edge      gone\n"
	"LOC:     500000     600000  Local timer interrupts\n"
	"TLB:          3          3  TLB shootdowns\n"
	"ERR:          0\n";
static const char interrupts_after[] =
	"           CPU0       CPU1\n"
	"  9:          5          0  IR-IO-APIC    9-fasteoi   acpi\n"
	" 16:        140         10  IR-IO-APIC   16-fasteoi   eth1, usb1\n"
	"124:       1250       3000  PCI-MSIX-0000:05:00.0    0-edge      enp5s0f0-TxRx-0\n"
	"130:          4          0  PCI-MSIX-0000:05:00.0    1-edge      enp5s0f0-TxRx-1\n"
	"131:          3          0  PCI-MSIX-0000:05:00.0    2-edge      enp5s0f0-\xff\x1b[31m\n"
	"LOC:     500500     600600  Local timer interrupts\n"
	"TLB:          5          3  TLB shootdowns\n"
	"ERR:          1\n";
static const char softirqs_before[] = "                    CPU0       CPU1\n"
				      "          HI:          0          0\n"
				      "      NET_RX:      10000      20000\n"
				      "       TIMER:          1          1\n";
static const char softirqs_after[] = "                    CPU0       CPU1\n"
				     "          HI:          0          0\n"
				     "      NET_RX:      10100      21000\n"
				     "       TIMER:          1          3\n";

struct machine {
	struct tree t;
	struct irq_frame before, after;
};

static void parse(const char *text, struct procint *ret)
{
	struct err e = {};

	must(procint_parse(text, strlen(text), ret, &e), &e);
}

static void schedstat(const struct tree *t, int tid, unsigned long long ns)
{
	char text[64];

	snprintf(text, sizeof(text), "%llu 0 0\n", ns);
	writef(t, text, "proc/%d/schedstat", tid);
}

static void frame(const struct tree *t, const char *interrupts, const char *softirqs,
		  struct irq_frame *ret)
{
	struct netdev_napi v[] = { { .id = 513, .ifindex = 3, .has = NAPI_IRQ, .irq = 124 },
				   { .id = 514,
				     .ifindex = 4,
				     .has = NAPI_PID | NAPI_THREADED,
				     .threaded = NAPI_IN_THREAD,
				     .pid = 300 } };
	struct netdev_napis napis = { v, ARRAY_SIZE(v) };
	struct err e = {};

	parse(interrupts, &ret->interrupts);
	parse(softirqs, &ret->softirqs);
	must(irqmap_read(&t->host, &napis, &ret->map, &e), &e);
}

static void times(struct irq_frame *f, uint64_t factor)
{
	const struct irqtime_row v[] = {
		{ .kind = IRQTIME_HARDIRQ,
		  .cpu = 0,
		  .id = 16,
		  .name = "eth1",
		  .count = 1 * factor,
		  .ns = 1000000 * factor },
		{ .kind = IRQTIME_HARDIRQ,
		  .cpu = 0,
		  .id = 16,
		  .name = "usb1",
		  .count = 1 * factor,
		  .ns = 2000000 * factor },
		{ .kind = IRQTIME_HARDIRQ,
		  .cpu = 1,
		  .id = 124,
		  .name = "enp5s0f0-TxRx-0",
		  .count = 10 * factor,
		  .ns = 40000000 * factor,
		  .max_ns = 9000 },
		{ .kind = IRQTIME_VECTOR,
		  .cpu = 0,
		  .id = 236,
		  .name = "local_timer",
		  .count = 10 * factor,
		  .ns = 10000000 * factor },
		{ .kind = IRQTIME_SOFTIRQ,
		  .cpu = 1,
		  .id = 3,
		  .name = "NET_RX",
		  .count = 10 * factor,
		  .ns = 400000000 * factor },
		{ .kind = IRQTIME_NAPI,
		  .cpu = 0,
		  .id = 0,
		  .name = "",
		  .count = 2 * factor,
		  .ns = 50000 * factor,
		  .extra = 2 * factor },
		{ .kind = IRQTIME_NAPI,
		  .cpu = 1,
		  .id = 513,
		  .name = "enp5s0f0",
		  .count = 100 * factor,
		  .ns = 300000000 * factor,
		  .extra = 3200 * factor,
		  .extra2 = 7 * factor },
	};

	f->times.v = malloc(sizeof(v));
	assert_non_null(f->times.v);
	memcpy(f->times.v, v, sizeof(v));
	f->times.nr = ARRAY_SIZE(v);
	irqtime_table_sort(&f->times);
	f->has_times = true;
}

static void make(struct machine *m)
{
	struct tree *t = &m->t;

	*m = (struct machine){};
	tree_make(t);
	irq(t, 9, "IR-IO-APIC\n", "acpi\n", "0-1\n");
	irq(t, 16, "IR-IO-APIC\n", "eth1,usb1\n", "0\n");
	irq(t, 124, "PCI-MSIX-0000:05:00.0\n", "enp5s0f0-TxRx-0\n", "1\n");
	irq(t, 130, "PCI-MSIX-0000:05:00.0\n", "enp5s0f0-TxRx-1\n", "0\n");
	tree_write(t, "sys/devices/pci0000:00/0000:05:00.0/msi_irqs/124", "msix\n");
	tree_write(t, "sys/devices/pci0000:00/0000:05:00.0/msi_irqs/130", "msix\n");
	netdev(t, "devices/pci0000:00/0000:05:00.0", "enp5s0f0", 3);
	netdev(t, "devices/virtual", "veth-a", 4);
	netdev(t, "devices/pci0000:00/0000:00:1a.0/usb1/1-1/1-1:1.0", "eth1", 5);
	thread(t, (struct thread_is){ 88, "irq/16-eth1", SCHED_FIFO, 50, 0, 0, "0" });
	thread(t, (struct thread_is){ 90, "irq/16-usb1", SCHED_FIFO, 90, 0, 0, "0" });
	thread(t, (struct thread_is){ 300, "napi/veth-a-514", SCHED_OTHER, 0, -3, 1, "0-1" });
	schedstat(t, 88, 1000000);
	schedstat(t, 300, 5000000);
	frame(t, interrupts_before, softirqs_before, &m->before);
	schedstat(t, 88, 101000000); /* 0.1 s of 2 s */
	schedstat(t, 300, 505000000);
	frame(t, interrupts_after, softirqs_after, &m->after);
	m->before.at_ns = 1000000000;
	m->after.at_ns = 3000000000;
	m->after.wall_ns = 1700000000000000000;
}

static void unmake(struct machine *m)
{
	irq_frame_release(&m->before);
	irq_frame_release(&m->after);
	tree_remove(&m->t);
}

static void table(const struct machine *m, const struct irq_choice *c, struct irq_table *ret)
{
	struct err e = {};

	must(irq_table_make(&m->before, &m->after, c, ret, &e), &e);
}

static const struct irq_row *row(const struct irq_rows *rows, const char *id)
{
	for (size_t i = 0; i < rows->nr; i++)
		if (strcmp(rows->v[i].id, id) == 0)
			return &rows->v[i];
	fail_msg("there is no row %s", id);
	return NULL;
}

static void rows_have_totals_differences_and_the_busiest_cpu(void **state)
{
	_cleanup_(irq_table_release) struct irq_table t = {};
	const struct irq_row *r;
	struct machine m;

	make(&m);
	table(&m, &(struct irq_choice){}, &t);
	assert_near(t.seconds, 2, 1e-12);
	assert_int_equal(t.nr_cpus, 2);
	assert_int_equal(t.interrupts.nr, 8);
	assert_int_equal(t.nr_vanished, 1);
	r = row(&t.interrupts, "124");
	assert_int_equal(r->total, 4250);
	assert_int_equal(r->delta, 1250);
	assert_int_equal(r->busiest, 1);
	assert_string_equal(r->line->netdevs, "enp5s0f0");
	assert_int_equal(r->line->netdevs_by, IRQMAP_NETLINK);
	r = row(&t.interrupts, "130");
	assert_int_equal(r->delta, 10); /* across 2^32 */
	assert_int_equal(r->changes, PROCINT_WRAPPED);
	assert_int_equal(r->line->netdevs_by, IRQMAP_SYSFS);
	r = row(&t.interrupts, "131");
	assert_int_equal(r->changes, PROCINT_APPEARED);
	assert_null(r->line); /* /proc/irq does not have it yet */
	r = row(&t.interrupts, "ERR");
	assert_true(r->global);
	assert_int_equal(r->delta, 1);
	/* TLB comes as CAL and ERR is no interrupt: 50 + 1250 + 10 + 3 + 1100 */
	assert_int_equal(t.interrupts.delta, 2413);
	assert_int_equal(t.softirqs.delta, 1102);
	assert_false(t.has_times);
	assert_false(row(&t.interrupts, "124")->has_time);
	unmake(&m);
}

static void the_chosen_cpus_and_threshold_bound_what_is_counted(void **state)
{
	_cleanup_(irq_table_release) struct irq_table t = {}, none = {};
	_cleanup_(cpuset_release) struct cpuset one = {}, ninth = {};
	struct err e = {};
	struct machine m;

	make(&m);
	must(cpuset_parse("1,5", &one, &e), &e);
	must(cpuset_parse("9", &ninth, &e), &e);
	table(&m, &(struct irq_choice){ .cpus = &one, .threshold = 9 }, &t);
	assert_int_equal(t.nr_cpus, 1);
	assert_int_equal(t.cpus[0], 1);
	assert_int_equal(row(&t.interrupts, "124")->total, 3000);
	assert_int_equal(row(&t.interrupts, "124")->delta, 1000);
	assert_int_equal(row(&t.interrupts, "124")->cpu_delta[0], 1000);
	assert_int_equal(row(&t.interrupts, "16")->delta, 10);
	assert_int_equal(t.interrupts.nr, 3); /* 16: 10, 124, LOC */
	assert_int_equal(irq_table_make(&m.before, &m.after, &(struct irq_choice){ .cpus = &ninth },
					&none, &e),
			 -ENODATA);
	assert_contains(e.msg, "none of the CPUs");
	unmake(&m);
}

static void assert_order(const struct machine *m, enum irq_sort sort, const char *want)
{
	_cleanup_(irq_table_release) struct irq_table t = {};
	_cleanup_(buf_release) struct buf got = {};

	table(m, &(struct irq_choice){ .sort = sort }, &t);
	for (size_t i = 0; i < t.interrupts.nr; i++)
		buf_printf(&got, "%s%s", i ? " " : "", t.interrupts.v[i].id);
	assert_string_equal(buf_str(&got), want);
}

static void rows_are_sorted_as_asked_and_always_the_same_way(void **state)
{
	struct machine m;

	make(&m);
	assert_order(&m, IRQ_SORT_DELTA, "124 LOC 16 130 131 TLB ERR 9");
	assert_order(&m, IRQ_SORT_TOTAL, "LOC 124 16 TLB 9 130 131 ERR");
	assert_order(&m, IRQ_SORT_IRQ, "9 16 124 130 131 ERR LOC TLB");
	assert_order(&m, IRQ_SORT_NAME, "ERR LOC TLB 9 124 130 131 16");
	unmake(&m);
}

static void times_are_those_of_all_handlers_of_a_line(void **state)
{
	_cleanup_(irq_table_release) struct irq_table t = {};
	const struct irq_napi_row *backlog = NULL, *nic = NULL;
	struct machine m;

	make(&m);
	times(&m.before, 1);
	times(&m.after, 3);
	table(&m, &(struct irq_choice){}, &t);
	assert_true(t.has_times);
	assert_int_equal(row(&t.interrupts, "16")->ns, 6000000);
	assert_int_equal(row(&t.interrupts, "124")->ns, 80000000);
	assert_int_equal(row(&t.interrupts, "124")->max_ns, 9000);
	assert_int_equal(row(&t.interrupts, "LOC")->ns, 20000000);
	assert_int_equal(row(&t.softirqs, "NET_RX")->ns, 800000000);
	assert_true(row(&t.interrupts, "9")->has_time); /* and none was spent */
	assert_false(row(&t.interrupts, "TLB")->has_time);
	for (size_t i = 0; i < t.nr_napis; i++) {
		if (t.napis[i].id == 513)
			nic = &t.napis[i];
		if (t.napis[i].id == 0)
			backlog = &t.napis[i];
	}
	assert_int_equal(t.nr_napis, 3);
	assert_int_equal(nic->polls, 200);
	assert_int_equal(nic->packets, 6400);
	assert_int_equal(nic->exhausted, 14);
	assert_null(backlog->napi);
	assert_int_equal(backlog->polls, 4);
	unmake(&m);
}

static void a_threads_share_is_of_one_thread_alone(void **state)
{
	_cleanup_(irq_table_release) struct irq_table t = {};
	const struct irqmap_line *l;
	struct irqmap_thread other;
	struct machine m;

	make(&m);
	table(&m, &(struct irq_choice){}, &t);
	l = row(&t.interrupts, "16")->line;
	assert_near(irq_thread_share(&t, &l->threads[0]), 0.05, 1e-9);
	assert_true(irq_thread_share(&t, &l->threads[1]) < 0); /* no schedstat */
	other = l->threads[0];
	snprintf(other.comm, sizeof(other.comm), "irq/99-other"); /* its number used again */
	assert_true(irq_thread_share(&t, &other) < 0);
	unmake(&m);
}

static void print(const struct irq_table *t, const struct irq_look *look, struct buf *out)
{
	assert_int_equal(irq_text(t, look, out), 0);
}

static size_t longest_line(const char *text)
{
	size_t max = 0;

	for (const char *p = text; *p;) {
		size_t n = strcspn(p, "\n");

		if (n > max)
			max = n;
		p += n + (p[n] == '\n');
	}
	return max;
}

static void the_tables_are_as_they_were_at_80_and_200_columns(void **state)
{
	_cleanup_(buf_release) struct buf narrow = {}, wide = {}, timed = {}, soft = {};
	_cleanup_(irq_table_release) struct irq_table t = {}, with = {};
	struct machine m;

	make(&m);
	table(&m, &(struct irq_choice){}, &t);
	print(&t, &(struct irq_look){ .width = 80, .napis = true }, &narrow);
	assert_golden("irq/80.txt", &narrow);
	assert_true(longest_line(buf_str(&narrow)) <= 80);
	print(&t, &(struct irq_look){ .width = 200, .napis = true }, &wide);
	assert_golden("irq/200.txt", &wide);
	times(&m.before, 1);
	times(&m.after, 3);
	table(&m, &(struct irq_choice){}, &with);
	print(&with, &(struct irq_look){ .width = 200, .napis = true }, &timed);
	assert_golden("irq/200-time.txt", &timed);
	print(&with,
	      &(struct irq_look){ .width = 80, .softirqs = true, .cpu_stat = IRQ_CPU_ALWAYS },
	      &soft);
	assert_golden("irq/80-softirq.txt", &soft);
	unmake(&m);
}

/* Hostile names come from drivers and threads: nothing of them reaches a terminal as it is. */
static void no_escape_reaches_the_terminal_but_ours(void **state)
{
	_cleanup_(buf_release) struct buf plain = {}, colour = {}, stripped = {};
	_cleanup_(irq_table_release) struct irq_table t = {};
	struct machine m;

	make(&m);
	table(&m, &(struct irq_choice){}, &t);
	print(&t, &(struct irq_look){ .width = 100, .napis = true }, &plain);
	assert_null(strchr(buf_str(&plain), '\033'));
	assert_contains(buf_str(&plain), "\\xff\\x1b[31m");
	print(&t, &(struct irq_look){ .width = 100, .napis = true, .colour = true }, &colour);
	assert_non_null(strchr(buf_str(&colour), '\033'));
	for (const char *p = buf_str(&colour); *p;) {
		if (*p == '\033')
			p += strcspn(p, "m") + 1;
		else
			buf_putc(&stripped, *p++);
	}
	assert_string_equal(buf_str(&stripped), buf_str(&plain));
	unmake(&m);
}

static void any_size_of_terminal_is_kept_to(void **state)
{
	_cleanup_(irq_table_release) struct irq_table t = {};
	struct machine m;

	make(&m);
	times(&m.before, 1);
	times(&m.after, 2);
	table(&m, &(struct irq_choice){}, &t);
	for (unsigned int width = 1; width < 250; width += 7)
		for (unsigned int height = 1; height < 24; height += 3) {
			_cleanup_(buf_release) struct buf b = {};
			size_t lines = 0;

			print(&t,
			      &(struct irq_look){ .width = width, .height = height, .napis = true },
			      &b);
			for (const char *p = buf_str(&b); *p; p++)
				lines += *p == '\n';
			assert_true(longest_line(buf_str(&b)) <= width);
			assert_true(lines <= height);
		}
	unmake(&m);
}

static void the_document_holds_the_same_numbers(void **state)
{
	_cleanup_(buf_release) struct buf b = {};
	_cleanup_(irq_table_release) struct irq_table t = {};
	struct json_object *o, *list, *first, *v;
	struct machine m;

	make(&m);
	times(&m.before, 1);
	times(&m.after, 3);
	table(&m, &(struct irq_choice){}, &t);
	assert_int_equal(irq_json(&t, true, &b), 0);
	assert_golden("irq/irq.json", &b);
	o = json_tokener_parse(buf_str(&b));
	assert_non_null(o);
	assert_true(json_object_object_get_ex(o, "irqs", &list));
	first = json_object_array_get_idx(list, 0);
	assert_true(json_object_object_get_ex(first, "delta", &v));
	assert_int_equal(json_object_get_int64(v), 1250);
	assert_true(json_object_object_get_ex(first, "time_share", &v));
	assert_near(json_object_get_double(v), 0.04, 1e-12);
	json_object_put(o);
	unmake(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_have_totals_differences_and_the_busiest_cpu),
		cmocka_unit_test(the_chosen_cpus_and_threshold_bound_what_is_counted),
		cmocka_unit_test(rows_are_sorted_as_asked_and_always_the_same_way),
		cmocka_unit_test(times_are_those_of_all_handlers_of_a_line),
		cmocka_unit_test(a_threads_share_is_of_one_thread_alone),
		cmocka_unit_test(the_tables_are_as_they_were_at_80_and_200_columns),
		cmocka_unit_test(no_escape_reaches_the_terminal_but_ours),
		cmocka_unit_test(any_size_of_terminal_is_kept_to),
		cmocka_unit_test(the_document_holds_the_same_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
