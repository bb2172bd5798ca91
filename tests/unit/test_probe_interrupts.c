// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/host.h"
#include "base/kfile.h"
#include "base/rng.h"
#include "collect.h"
#include "plan/instance.h"
#include "probe/probe.h"
#include "probe/procint.h"

#define FIXTURES "tests/fixtures"

extern const struct probe_ops probe_interrupts;

static void read_fixture(const char *path, struct buf *out)
{
	_cleanup_(close_fdp) int fd = open(FIXTURES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err e = {};

	if (kfile_read(fd, path, out, &e) < 0)
		fail_msg("%s", e.msg);
}

static void parse_fixture(const char *path, struct procint *ret)
{
	_cleanup_(buf_release) struct buf text = {};
	struct err e = {};

	read_fixture(path, &text);
	if (procint_parse(text.data, text.len, ret, &e) < 0)
		fail_msg("%s: %s", path, e.msg);
}

static const struct procint_row *row(const struct procint *p, const char *id)
{
	for (size_t i = 0; i < p->nr_rows; i++)
		if (strcmp(p->rows[i].id, id) == 0)
			return &p->rows[i];
	fail_msg("no row %s", id);
	return NULL;
}

/* Every row and sum that an independent reader found (tests/fixtures/sum-interrupts.py). */
static void check_sums(const char *path)
{
	_cleanup_(procint_release) struct procint p = {};
	_cleanup_(buf_release) struct buf name = {}, sums = {}, mine = {};

	parse_fixture(path, &p);
	buf_printf(&name, "%s.sums", path);
	read_fixture(buf_str(&name), &sums);
	for (size_t i = 0; i < p.nr_rows; i++) {
		uint64_t sum = 0;

		for (size_t k = 0; k < (p.rows[i].global ? 1 : p.nr_cpus); k++)
			sum += p.rows[i].count[k];
		buf_printf(&mine, "%s %llu\n", p.rows[i].id, (unsigned long long)sum);
	}
	assert_string_equal(buf_str(&mine), buf_str(&sums));
	assert_false(p.truncated);
}

static void all_layouts_sum_as_an_independent_reader_says(void **state)
{
	static const char *const paths[] = {
		"proc-x86/interrupts",	      "proc-x86/softirqs",	 "proc-arm64/interrupts",
		"proc-arm/interrupts",	      "proc-riscv/interrupts",	 "proc-offline/interrupts",
		"proc-wrap-after/interrupts", "proc-arm64-8/interrupts", "proc-128/interrupts",
		"proc-128/softirqs",
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		check_sums(paths[i]);
}

static void handlers_are_found_in_every_layout(void **state)
{
	static const struct {
		const char *path, *id, *name;
	} want[] = {
		{ "proc-x86/interrupts", "24", "ACPI:Ged" },
		{ "proc-x86/interrupts", "26", "ttyS0" },
		{ "proc-x86/interrupts", "38", "virtio2-input.0" },
		{ "proc-x86/interrupts", "LOC", "Local timer interrupts" },
		{ "proc-x86/interrupts", "ERR", "" },
		{ "proc-x86/softirqs", "NET_RX", "" },
		{ "proc-arm64/interrupts", "11", "arch_timer" },
		{ "proc-arm64/interrupts", "49", "eth0" },
		{ "proc-arm64/interrupts", "50", "eth0-rx-0" },
		{ "proc-arm64/interrupts", "60", "PMIC IRQ, power button" },
		{ "proc-arm64/interrupts", "IPI1", "Function call interrupts" },
		{ "proc-arm64/interrupts", "IPI3", "CPU stop (for crash dump) interrupts" },
		{ "proc-arm/interrupts", "23", "3f00b880.mailbox" },
		{ "proc-arm/interrupts", "62", "dwc_otg, dwc_otg_pcd, dwc_otg_hcd:usb1" },
		{ "proc-arm/interrupts", "84", "twd" },
		{ "proc-riscv/interrupts", "5", "riscv-timer" },
		{ "proc-riscv/interrupts", "8", "ttySIF0" },
		{ "proc-riscv/interrupts", "10", "PCIe PME, aerdrv" },
		{ "proc-offline/interrupts", "9", "acpi" },
		{ "proc-offline/interrupts", "16", "i801_smbus, ehci_hcd:usb1" },
		{ "proc-offline/interrupts", "125", "nvme0q1" },
		{ "proc-arm64-8/interrupts", "11", "kvm guest ptimer" },
		{ "proc-arm64-8/interrupts", "15", "ghes_handler, acpi" },
		{ "proc-arm64-8/interrupts", "18", "mlx5_comp0@pci:0000:01:00.0" },
		{ "proc-arm64-8/interrupts", "19", "eth1-TxRx-2" },
		{ "proc-arm64-8/interrupts", "20", "PCIe PME, aerdrv, pcie-dpc" },
		{ "proc-arm64-8/interrupts", "51", "gpio-keys 22" },
		{ "proc-arm64-8/interrupts", "52", "dpio.7" },
		{ "proc-arm64-8/interrupts", "IPI6", "CPU wake-up interrupts" },
		{ "proc-128/interrupts", "24", "dmar0" },
		{ "proc-128/interrupts", "55", "ice-ens1f0-TxRx-0" },
		{ "proc-128/interrupts", "DFR", "Deferred Error APIC interrupts" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		_cleanup_(procint_release) struct procint p = {};

		parse_fixture(want[i].path, &p);
		assert_string_equal(row(&p, want[i].id)->name, want[i].name);
	}
}

static void offline_cpus_leave_gaps_in_the_numbers(void **state)
{
	_cleanup_(procint_release) struct procint p = {};
	static const unsigned int cpus[] = { 0, 2, 3, 16 };

	parse_fixture("proc-offline/interrupts", &p);
	assert_int_equal(p.nr_cpus, 4);
	assert_memory_equal(p.cpus, cpus, sizeof(cpus));
	assert_int_equal(row(&p, "9")->count[3], 42);
}

/* The one file has the online CPUs, the other all that there could be. */
static void possible_cpus_are_more_than_online_ones(void **state)
{
	_cleanup_(procint_release) struct procint irqs = {}, softirqs = {};
	static const unsigned int online[] = { 0, 1, 64, 127 };

	parse_fixture("proc-128/interrupts", &irqs);
	parse_fixture("proc-128/softirqs", &softirqs);
	assert_int_equal(irqs.nr_cpus, 4);
	assert_memory_equal(irqs.cpus, online, sizeof(online));
	assert_int_equal(softirqs.nr_cpus, 128);
	assert_int_equal(softirqs.cpus[127], 127);
	assert_int_equal(row(&softirqs, "NET_RX")->count[2], 0);
	assert_int_not_equal(row(&softirqs, "NET_RX")->count[127], 0);
	assert_true(row(&irqs, "55")->count[1] == UINT32_MAX);
	assert_int_equal(row(&irqs, "24")->count[3], 5);
}

static void a_row_without_counters_is_counted_as_not_understood(void **state)
{
	_cleanup_(procint_release) struct procint p = {};

	parse_fixture("proc-arm/interrupts", &p); /* FIQ: usb_fiq */
	assert_int_equal(p.nr_bad, 1);
	assert_true(row(&p, "Err")->global);
	assert_int_equal(row(&p, "Err")->count[0], 7);
}

static void a_row_without_number_or_chip_is_read(void **state)
{
	static const char text[] = "  CPU0\n  0:  5  XT-PIC      timer\n  1:  6  None\n  2:  7  -"
				   "  Level     my handler\n  3:  8\n";
	_cleanup_(procint_release) struct procint p = {};
	struct err e = {};

	assert_int_equal(procint_parse(text, strlen(text), &p, &e), 0);
	assert_int_equal(p.nr_rows, 4);
	assert_string_equal(row(&p, "0")->name, "timer");
	assert_string_equal(row(&p, "1")->name, "");
	assert_string_equal(row(&p, "2")->name, "my handler");
	assert_string_equal(row(&p, "3")->name, "");
	assert_int_equal(row(&p, "3")->count[0], 8);
}

/* Cut at every byte: what is left never holds a number that the whole text does not. */
static void truncated_text_loses_rows_but_never_invents_counts(void **state)
{
	_cleanup_(buf_release) struct buf text = {};
	_cleanup_(procint_release) struct procint whole = {};
	size_t header;

	read_fixture("proc-arm64/interrupts", &text);
	parse_fixture("proc-arm64/interrupts", &whole);
	header = strcspn(text.data, "\n") + 1;
	for (size_t len = 0; len < text.len; len++) {
		_cleanup_(procint_release) struct procint p = {};
		_cleanup_(freep) char *exact = malloc(len + 1);
		struct err e = {};
		int r;

		/* on the heap with its exact size: a sanitizer sees every byte too far */
		memcpy(exact, text.data, len);
		exact = realloc(exact, len ? len : 1);
		r = procint_parse(exact, len, &p, &e);
		if (len < header) {
			assert_int_equal(r, -EBADMSG);
			continue;
		}
		assert_int_equal(r, 0);
		assert_int_equal(p.truncated, text.data[len - 1] != '\n');
		for (size_t i = 0; i < p.nr_rows; i++) {
			assert_string_equal(p.rows[i].id, whole.rows[i].id);
			assert_memory_equal(p.rows[i].count, whole.rows[i].count,
					    p.nr_cpus * sizeof(uint64_t));
		}
	}
}

static void rubbish_is_refused_or_survived(void **state)
{
	static const char *const bad[] = { "", "\n", "no cpus\n", "CPUx\n", "CPU99999\n", "CPU\n" };
	_cleanup_(buf_release) struct buf text = {};
	uint64_t seed = 1;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_(procint_release) struct procint p = {};
		struct err e = {};

		assert_int_equal(procint_parse(bad[i], strlen(bad[i]), &p, &e), -EBADMSG);
		assert_null(p.rows);
	}
	read_fixture("proc-riscv/interrupts", &text);
	for (int i = 0; i < 2000; i++) {
		_cleanup_(procint_release) struct procint p = {};
		struct err e = {};

		text.data[rng_below(&seed, text.len)] = (char)rng_below(&seed, 256);
		if (procint_parse(text.data, text.len, &p, &e) < 0)
			assert_int_equal(e.code, -EBADMSG);
		for (size_t k = 0; k < p.nr_rows; k++)
			assert_true(p.rows[k].id[0] != '\0');
	}
}

static const struct procint_delta *delta(const struct procint_diff *d, const char *id)
{
	for (size_t i = 0; i < d->nr_rows; i++)
		if (strcmp(d->rows[i].row->id, id) == 0)
			return &d->rows[i];
	fail_msg("no row %s", id);
	return NULL;
}

static void differences_know_wraps_resets_and_new_rows(void **state)
{
	_cleanup_(procint_release) struct procint before = {}, after = {};
	_cleanup_(procint_diff_release) struct procint_diff d = {};
	struct err e = {};

	parse_fixture("proc-wrap-before/interrupts", &before);
	parse_fixture("proc-wrap-after/interrupts", &after);
	assert_int_equal(procint_subtract(&before, &after, &d, &e), 0);
	assert_int_equal(delta(&d, "24")->count[0], 20); /* 4294967290 to 14 */
	assert_int_equal(delta(&d, "24")->count[1], 4);
	assert_int_equal(delta(&d, "24")->changes, PROCINT_WRAPPED);
	assert_int_equal(delta(&d, "25")->count[0], 20); /* 500 to 20 */
	assert_int_equal(delta(&d, "25")->changes, PROCINT_RESET);
	assert_int_equal(delta(&d, "27")->changes, PROCINT_APPEARED); /* another handler */
	assert_int_equal(delta(&d, "27")->total, 5);
	assert_int_equal(delta(&d, "28")->total, 30);
	assert_int_equal(delta(&d, "30")->total, 0);
	assert_int_equal(delta(&d, "LOC")->total, 400);
	assert_int_equal(delta(&d, "ERR")->total, 2);
	assert_int_equal(d.nr_vanished, 2);
	assert_string_equal(d.vanished[0]->name, "nvme0q1");
	assert_string_equal(d.vanished[1]->name, "virtio3-rx");
}

static void only_cpus_of_both_tables_are_compared(void **state)
{
	static const char a[] = " CPU0 CPU1 CPU2\nLOC: 1 2 3 x\n";
	static const char b[] = " CPU0 CPU2 CPU7\nLOC: 11 33 99 x\n";
	_cleanup_(procint_release) struct procint before = {}, after = {};
	_cleanup_(procint_diff_release) struct procint_diff d = {};
	struct err e = {};

	assert_int_equal(procint_parse(a, strlen(a), &before, &e), 0);
	assert_int_equal(procint_parse(b, strlen(b), &after, &e), 0);
	assert_int_equal(procint_subtract(&before, &after, &d, &e), 0);
	assert_int_equal(d.nr_cpus, 2);
	assert_int_equal(d.cpus[1], 2);
	assert_int_equal(d.rows[0].count[0], 10);
	assert_int_equal(d.rows[0].count[1], 30);
	assert_int_equal(d.rows[0].total, 40);
	assert_int_equal(d.nr_cpus_changed, 2); /* 1 went, 7 came */
}

static const char *const files[] = { "interrupts", "softirqs", NULL };

static void copy_fixture(const struct scratch *s, const char *from)
{
	for (const char *const *f = files; *f; f++) {
		_cleanup_(buf_release) struct buf path = {}, text = {};

		buf_printf(&path, "%s/%s", from, *f);
		read_fixture(buf_str(&path), &text);
		scratch_write(s, *f, O_TRUNC, text.data, text.len);
	}
}

static struct instance plain_instance(void)
{
	return (struct instance){ .plugin = strdup("interrupts"), .name = strdup("irq-a") };
}

/* From start to drain over fixtures; @ret_seconds bounds the length of the window. */
static void run_over_fixtures(struct collect *out, double *ret_low, double *ret_high, int *ret)
{
	struct scratch s = scratch_new();
	_cleanup_(instance_release) struct instance inst = plain_instance();
	const struct host host = { .proc_fd = s.fd };
	const struct probe_env env = { .host = &host };
	struct probe *p = NULL;
	struct err e = {};
	uint64_t t[4];

	copy_fixture(&s, "proc-wrap-before");
	assert_int_equal(probe_interrupts.open(&p, &env, &inst, &e), 0);
	t[0] = clock_mono_ns();
	assert_int_equal(probe_interrupts.start(p, t[0], &e), 0);
	t[1] = clock_mono_ns();
	copy_fixture(&s, "proc-wrap-after");
	usleep(20000);
	t[2] = clock_mono_ns();
	assert_int_equal(probe_interrupts.stop(p, t[2], &e), 0);
	t[3] = clock_mono_ns();
	*ret = probe_interrupts.drain(p, &out->sink, &e);
	*ret_low = (double)(t[2] - t[1]) * 1e-9;
	*ret_high = (double)(t[3] - t[0]) * 1e-9;
	probe_interrupts.close(p);
	scratch_release(&s, files);
}

static void rates_have_labels_and_totals(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	double low, high, seconds;
	int r;

	run_over_fixtures(&out, &low, &high, &r);
	assert_int_equal(r, 0);
	/* every rate is its count over the same seconds: 20 interrupts tell them */
	seconds = 20 / collect_scalar(&out, "irq-a.irq", "cpu=0,irq=24,name=eth0-rx-0");
	assert_true(seconds >= low && seconds <= high);
	assert_near(seconds * collect_scalar(&out, "irq-a.irq", "cpu=1,irq=24,name=eth0-rx-0"), 4,
		    1e-6);
	assert_near(seconds * collect_scalar(&out, "irq-a.irq", "cpu=1,irq=25,name=eth0-tx-0"), 0,
		    0);
	/* a handler's name cannot break the labels */
	assert_near(seconds * collect_scalar(&out, "irq-a.irq", "cpu=0,irq=27,name=eth1_rx_0"), 4,
		    1e-6);
	assert_near(seconds * collect_scalar(&out, "irq-a.irq", "irq=ERR"), 2, 1e-6);
	/* all rows but ERR, and TLB which CAL has counted */
	assert_near(seconds * collect_scalar(&out, "irq-a.irqs", ""), 24 + 20 + 5 + 30 + 400, 1e-6);
	assert_null(collect_find(&out, RECORD_SCALAR, "irq-a.irq", "cpu=0,irq=30,name=acpi"));
	seconds = 1100 / collect_scalar(&out, "irq-a.net-rx", "");
	assert_true(seconds >= low && seconds <= high);
	assert_near(seconds * collect_scalar(&out, "irq-a.softirq", "cpu=1,vec=NET_RX"), 800, 1e-6);
	assert_null(collect_find(&out, RECORD_SCALAR, "irq-a.softirq", "cpu=0,vec=SCHED"));
}

static void counters_that_did_not_simply_count_are_said(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	double low, high;
	int r;

	run_over_fixtures(&out, &low, &high, &r);
	assert_non_null(collect_event(&out, "24 eth0-rx-0: the counter passed 2^32"));
	assert_non_null(collect_event(&out, "25 eth0-tx-0: the counter began again"));
	assert_non_null(collect_event(&out, "28 eth2: appeared"));
	assert_non_null(collect_event(&out, "26 nvme0q1: vanished"));
	assert_null(collect_event(&out, "LOC"));
	assert_null(collect_event(&out, "offline"));
}

static void every_refused_record_is_an_error(void **state)
{
	_cleanup_(collect_release) struct collect all = collect_new();
	double low, high;
	int r;

	run_over_fixtures(&all, &low, &high, &r);
	assert_true(all.list.nr > 10);
	for (size_t i = 1; i <= all.list.nr; i++) {
		_cleanup_(collect_release) struct collect out = collect_new();

		out.fail_at = i;
		run_over_fixtures(&out, &low, &high, &r);
		assert_int_equal(r, -EIO);
		assert_int_equal(out.list.nr, i - 1);
	}
}

static void a_missing_file_is_named(void **state)
{
	struct scratch s = scratch_new();
	_cleanup_(instance_release) struct instance inst = plain_instance();
	const struct host host = { .proc_fd = s.fd };
	const struct probe_env env = { .host = &host };
	static const char *const none[] = { NULL };
	struct probe *p = NULL;
	struct err e = {};

	assert_int_equal(probe_interrupts.open(&p, &env, &inst, &e), -ENOENT);
	assert_contains(e.msg, "/interrupts: No such file or directory");
	assert_null(p);
	assert_int_equal(probe_interrupts.usable(&host, &e), -ENOENT);
	scratch_release(&s, none);
}

/* A thousand datagrams over loopback must be seen as NET_RX softirqs. */
static void send_datagrams(int n)
{
	_cleanup_(close_fdp) int to = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	_cleanup_(close_fdp) int from = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);

	assert_int_equal(bind(to, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(to, (struct sockaddr *)&a, &len), 0);
	for (int i = 0; i < n; i++) {
		char c = 0;

		assert_int_equal(sendto(from, &c, 1, 0, (struct sockaddr *)&a, sizeof(a)), 1);
		assert_int_equal(recv(to, &c, 1, 0), 1);
	}
}

static void loopback_traffic_shows_as_net_rx(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	_cleanup_(instance_release) struct instance inst = plain_instance();
	_cleanup_(host_release) struct host host = { -1, -1, -1, { -1, -1, "" }, { -1, -1, "" } };
	struct probe_env env = { .host = &host };
	struct probe *p = NULL;
	struct err e = {};
	uint64_t begin, end;

	assert_int_equal(host_open(&host, &e), 0);
	assert_int_equal(probe_interrupts.open(&p, &env, &inst, &e), 0);
	begin = clock_mono_ns();
	assert_int_equal(probe_interrupts.start(p, begin, &e), 0);
	send_datagrams(1000);
	end = clock_mono_ns();
	assert_int_equal(probe_interrupts.stop(p, end, &e), 0);
	assert_int_equal(probe_interrupts.drain(p, &out.sink, &e), 0);
	/* each waits for its own datagram: a softirq for every one, give or take the clock */
	assert_true(collect_scalar(&out, "irq-a.net-rx", "") * (double)(end - begin) * 1e-9 > 500);
	assert_true(collect_scalar(&out, "irq-a.irqs", "") >= 0);
	probe_interrupts.close(p);
}

/* Counters that always stand 3 to 1, rewritten as fast as the disk takes them. */
static void write_counters(const struct scratch *s, unsigned int n)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "           CPU0       CPU1\n"
		 " 24: %10u %10u  PCI-MSI-0000:01:00.0 0-edge eth0\n"
		 " 25: %10u %10u  PCI-MSI-0000:01:00.0 1-edge idle\n"
		 "LOC: %10u %10u  Local timer interrupts\n",
		 3 * n, 7U, 5U, 5U, n, n);
	scratch_write(s, "interrupts", 0, text, strlen(text));
	snprintf(text, sizeof(text), "  CPU0 CPU1\n NET_RX: %10u %10u\n RCU: %10u %10u\n", n, n, n,
		 0U);
	scratch_write(s, "softirqs", 0, text, strlen(text));
}

static const struct record *series(const struct collect *c, const char *metric, const char *labels)
{
	const struct record *rec = collect_find(c, RECORD_SERIES, metric, labels);

	if (!rec)
		fail_msg("no series %s[%s]", metric, labels);
	return rec;
}

static void run_intervals(const struct scratch *s, const char *max_series, struct collect *out)
{
	_cleanup_(instance_release) struct instance inst = plain_instance();
	const struct host host = { .proc_fd = s->fd };
	const struct probe_env env = { .host = &host, .duration_ns = 100 * NS_PER_MS };
	uint64_t end = clock_mono_ns();
	struct probe *p = NULL;
	struct err e = {};
	unsigned int n = 1;

	assert_int_equal(instance_set(&inst, "interval", "10ms", 0, &e), 0);
	assert_int_equal(instance_set(&inst, "series", max_series, 0, &e), 0);
	write_counters(s, n);
	assert_int_equal(probe_interrupts.open(&p, &env, &inst, &e), 0);
	assert_int_equal(probe_interrupts.start(p, clock_mono_ns(), &e), 0);
	/* the window may last longer than planned until the thread has read at two boundaries */
	for (end += 100 * NS_PER_MS; clock_mono_ns() < end;)
		write_counters(s, ++n);
	assert_int_equal(probe_interrupts.stop(p, clock_mono_ns(), &e), 0);
	if (probe_interrupts.drain(p, &out->sink, &e) < 0)
		fail_msg("%s", e.msg);
	probe_interrupts.close(p);
}

/* 124 CPUs that were never online have no rates, zeros least of all. */
static void cpus_that_were_never_online_have_no_softirqs(void **state)
{
	_cleanup_(instance_release) struct instance inst = plain_instance();
	_cleanup_(collect_release) struct collect out = collect_new();
	_cleanup_(buf_release) struct buf text = {};
	struct scratch s = scratch_new();
	const struct host host = { .proc_fd = s.fd };
	const struct probe_env env = { .host = &host };
	struct probe *p = NULL;
	struct err e = {};
	size_t n = 0;
	char *at;

	copy_fixture(&s, "proc-128");
	assert_int_equal(probe_interrupts.open(&p, &env, &inst, &e), 0);
	assert_int_equal(probe_interrupts.start(p, clock_mono_ns(), &e), 0);
	read_fixture("proc-128/softirqs", &text);
	at = strstr(text.data, "NET_RX:");
	at += strcspn(at, "123456789");
	*at = (char)(*at == '9' ? '9' : *at + 1); /* CPU 0 counts on */
	assert_true(*at != '9');
	scratch_write(&s, "softirqs", O_TRUNC, text.data, text.len);
	usleep(1000);
	assert_int_equal(probe_interrupts.stop(p, clock_mono_ns(), &e), 0);
	assert_int_equal(probe_interrupts.drain(p, &out.sink, &e), 0);
	probe_interrupts.close(p);
	for (size_t i = 0; i < out.list.nr; i++)
		n += strcmp(out.list.v[i]->metric, "irq-a.softirq") == 0;
	assert_int_equal(n, 4);
	assert_true(collect_scalar(&out, "irq-a.softirq", "cpu=0,vec=NET_RX") > 0);
	assert_near(collect_scalar(&out, "irq-a.softirq", "cpu=127,vec=NET_RX"), 0, 0);
	scratch_release(&s, files);
}

static void intervals_have_series_of_what_counted(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	struct scratch s = scratch_new();
	const struct record *eth, *loc[2], *all, *rx;

	run_intervals(&s, "512", &out);
	if (!collect_find(&out, RECORD_SERIES, "irq-a.irq", "")) {
		print_message("the machine was too busy to read at any boundary\n");
		scratch_release(&s, files);
		skip();
	}
	eth = series(&out, "irq-a.irq", "cpu=0,irq=24,name=eth0");
	loc[0] = series(&out, "irq-a.irq", "cpu=0,irq=LOC,name=Local_timer_interrupts");
	loc[1] = series(&out, "irq-a.irq", "cpu=1,irq=LOC,name=Local_timer_interrupts");
	all = series(&out, "irq-a.irq", "");
	rx = series(&out, "irq-a.net-rx", "");
	assert_true(all->nr_points >= 2);
	assert_int_equal(eth->nr_points, all->nr_points);
	for (size_t i = 0; i < all->nr_points; i++) {
		assert_int_equal(eth->points[i].t_ns, all->points[i].t_ns);
		assert_int_equal(rx->points[i].t_ns, all->points[i].t_ns);
		/* all are of one text: what was read is whole */
		assert_near(eth->points[i].v, 3 * loc[0]->points[i].v, 1e-6 * eth->points[i].v);
		assert_near(loc[0]->points[i].v, loc[1]->points[i].v, 0);
		assert_near(all->points[i].v,
			    eth->points[i].v + loc[0]->points[i].v + loc[1]->points[i].v,
			    1e-9 * all->points[i].v);
	}
	assert_non_null(collect_find(&out, RECORD_SERIES, "irq-a.softirq", "cpu=1,vec=NET_RX"));
	assert_null(collect_find(&out, RECORD_SERIES, "irq-a.irq", "cpu=0,irq=25,name=idle"));
	assert_null(collect_find(&out, RECORD_SERIES, "irq-a.irq", "cpu=1,irq=24,name=eth0"));
	assert_null(collect_find(&out, RECORD_SERIES, "irq-a.softirq", "cpu=1,vec=RCU"));
	scratch_release(&s, files);
}

static void too_many_series_are_the_busiest_and_said(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	struct scratch s = scratch_new();

	run_intervals(&s, "1", &out);
	scratch_release(&s, files);
	if (!collect_find(&out, RECORD_SERIES, "irq-a.irq", "")) {
		print_message("the machine was too busy to read at any boundary\n");
		skip();
	}
	series(&out, "irq-a.irq", "cpu=0,irq=24,name=eth0");
	assert_null(collect_find(&out, RECORD_SERIES, "irq-a.irq",
				 "cpu=0,irq=LOC,name=Local_timer_interrupts"));
	assert_non_null(collect_event(&out, "irq: series of the 2 busiest of 4 rows"));
	/* the scalars of the window are all there */
	collect_scalar(&out, "irq-a.irq", "cpu=0,irq=LOC,name=Local_timer_interrupts");
}

static void a_row_that_comes_twice_is_counted_once(void **state)
{
	static const char text[] =
		"           CPU0\n 24:  5 GICv3 1 Level eth0\n 24:  7 GICv3 1 Level eth0\n";
	_cleanup_(procint_release) struct procint p = {};
	struct err e = {};

	assert_int_equal(procint_parse(text, strlen(text), &p, &e), 0);
	assert_int_equal(p.nr_rows, 1);
	assert_int_equal(p.nr_bad, 1);
	assert_true(p.rows[0].count[0] == 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_layouts_sum_as_an_independent_reader_says),
		cmocka_unit_test(handlers_are_found_in_every_layout),
		cmocka_unit_test(offline_cpus_leave_gaps_in_the_numbers),
		cmocka_unit_test(possible_cpus_are_more_than_online_ones),
		cmocka_unit_test(a_row_without_counters_is_counted_as_not_understood),
		cmocka_unit_test(a_row_without_number_or_chip_is_read),
		cmocka_unit_test(truncated_text_loses_rows_but_never_invents_counts),
		cmocka_unit_test(rubbish_is_refused_or_survived),
		cmocka_unit_test(differences_know_wraps_resets_and_new_rows),
		cmocka_unit_test(only_cpus_of_both_tables_are_compared),
		cmocka_unit_test(rates_have_labels_and_totals),
		cmocka_unit_test(counters_that_did_not_simply_count_are_said),
		cmocka_unit_test(every_refused_record_is_an_error),
		cmocka_unit_test(a_missing_file_is_named),
		cmocka_unit_test(loopback_traffic_shows_as_net_rx),
		cmocka_unit_test(cpus_that_were_never_online_have_no_softirqs),
		cmocka_unit_test(intervals_have_series_of_what_counted),
		cmocka_unit_test(too_many_series_are_the_busiest_and_said),
		cmocka_unit_test(a_row_that_comes_twice_is_counted_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
