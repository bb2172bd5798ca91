// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/host.h"
#include "base/rng.h"
#include "collect.h"
#include "plan/instance.h"
#include "probe/kmsg.h"
#include "probe/probe.h"

#define BEGIN_NS (UINT64_C(100) * NS_PER_S)
#define END_NS (UINT64_C(105) * NS_PER_S)

extern const struct probe_ops probe_kmsg;

static const char *const files[] = { "kmsg", NULL };

/* What drain says of @text written within a window from 100 s to 105 s. */
static void run_over(const char *text, struct collect *out)
{
	static const char before[] = "4,10,99000000,-;BUG: said before the window\n";
	struct scratch s = scratch_new();
	_cleanup_(instance_release) struct instance inst = { .plugin = strdup("kmsg"),
							     .name = strdup("kmsg") };
	const struct host host = { .dev_fd = s.fd };
	const struct probe_env env = { .host = &host };
	struct probe *p = NULL;
	struct err e = {};

	scratch_write(&s, "kmsg", O_TRUNC, before, strlen(before));
	assert_int_equal(probe_kmsg.usable(&host, &e), 0);
	assert_int_equal(probe_kmsg.open(&p, &env, &inst, &e), 0);
	assert_int_equal(probe_kmsg.start(p, BEGIN_NS, &e), 0);
	scratch_write(&s, "kmsg", O_APPEND, text, strlen(text));
	assert_int_equal(probe_kmsg.stop(p, END_NS, &e), 0);
	assert_int_equal(probe_kmsg.drain(p, &out->sink, &e), 0);
	probe_kmsg.close(p);
	scratch_release(&s, files);
}

static void records_are_parsed_with_their_continuation(void **state)
{
	static const char text[] = "6,339,5140900,-;NET: Registered protocol family 10\n"
				   "30,340,5690716,c,caller=T1;udevd[80]: starting\n"
				   " SUBSYSTEM=acpi\n DEVICE=+acpi:PNP0A03:00\n"
				   "4,341,5690717,-;last\n";
	struct kmsg_record rec = {};
	long n, at = 0, len = (long)strlen(text);

	n = kmsg_parse(text, (size_t)len, &rec);
	assert_int_equal(n, strcspn(text, "\n") + 1);
	assert_int_equal(rec.level, 6);
	assert_int_equal(rec.facility, 0);
	assert_int_equal(rec.seq, 339);
	assert_int_equal(rec.t_us, 5140900);
	assert_memory_equal(rec.text, "NET: Registered protocol family 10", rec.len);
	at += n;
	n = kmsg_parse(text + at, (size_t)(len - at), &rec);
	assert_int_equal(rec.facility, 3);
	assert_int_equal(rec.level, 6);
	assert_int_equal(rec.len, strlen("udevd[80]: starting"));
	at += n;
	assert_memory_equal(text + at, "4,341", 5);
	/* not before its newline, nor within a continuation */
	assert_int_equal(kmsg_parse(text, 20, &rec), 0);
	assert_int_equal(kmsg_parse(text + len - 21, 20, &rec), 0);
	assert_int_equal(kmsg_parse("1,2,3,-;x\n A=1", 14, &rec), 0);
}

static void what_is_no_record_is_refused(void **state)
{
	static const char *const bad[] = { "\n",      "x\n",
					   "6,1,2\n", "6,1,2,-\n",
					   "6,;x\n",  "99999999999999999999999,1,2,-;x\n",
					   ";\n" };
	struct kmsg_record rec = {};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(kmsg_parse(bad[i], strlen(bad[i]), &rec), -EBADMSG);
}

/* linux/interrupt.h: HI 0, TIMER 1, NET_TX 2, NET_RX 3, BLOCK 4, IRQ_POLL 5, TASKLET 6, SCHED 7 */
static void masks_are_decoded_to_vectors(void **state)
{
	_cleanup_(buf_release) struct buf b = {};

	assert_int_equal(kmsg_softirqs(0x08, &b), 0);
	assert_string_equal(buf_str(&b), "NET_RX");
	buf_reset(&b);
	kmsg_softirqs(0x80, &b);
	assert_string_equal(buf_str(&b), "SCHED");
	buf_reset(&b);
	kmsg_softirqs(0x20a, &b);
	assert_string_equal(buf_str(&b), "TIMER NET_RX RCU");
	buf_reset(&b);
	kmsg_softirqs(0x1000, &b);
	assert_string_equal(buf_str(&b), "bit 12");
}

static const char *said(const struct collect *c, const char *needle, enum severity severity)
{
	const struct record *rec = collect_event(c, needle);

	if (!rec)
		fail_msg("no event with \"%s\"", needle);
	assert_int_equal(rec->severity, severity);
	return rec->text;
}

static void pending_softirqs_are_named_in_all_wordings(void **state)
{
	static const char *const lines[] = {
		"NOHZ: local_softirq_pending 08",
		"NOHZ tick-stop error: Non-RCU local softirq work is pending, handler #08!!!",
		"NOHZ tick-stop error: local softirq work is pending, handler #08!!!",
		"Non-RCU local softirq work is pending, handler #08",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		_cleanup_(collect_release) struct collect out = collect_new();
		_cleanup_(buf_release) struct buf text = {};

		buf_printf(&text, "3,11,101000000,-;%s\n", lines[i]);
		run_over(buf_str(&text), &out);
		assert_contains(said(&out, lines[i], SEVERITY_WARN), ": NET_RX pending: the tick");
		assert_near(collect_scalar(&out, "kmsg.warnings", ""), 1, 0);
	}
}

static void known_lines_are_warnings_with_a_meaning(void **state)
{
	static const char text[] =
		"4,11,101000000,-;sched: RT throttling activated\n"
		"6,12,101500000,-;e1000e 0000:00:19.0 eth0: NIC Link is Down\n"
		"6,13,102000000,-;IPv6: ADDRCONF(NETDEV_CHANGE): veth0: link becomes ready\n"
		"0,14,102500000,-;watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [x:1]\n"
		"3,15,103000000,-;rcu: INFO: rcu_preempt self-detected stall on CPU\n"
		"6,16,103500000,-;perf: interrupt took too long (2503 > 2500), lowering\n"
		"4,17,104000000,-;clocksource: timekeeping watchdog on CPU1: Marking clocksource\n"
		"4,18,104100000,-;WARNING: CPU: 0 PID: 9 at kernel/softirq.c:1 x+0x1/0x2\n"
		"2,19,104200000,-;CPU1: Core temperature above threshold, cpu clock throttled\n"
		"6,20,104300000,-;ata1: SATA link up 6.0 Gbps (SStatus 133 SControl 300)\n"
		"6,21,104300000,-;smpboot: CPU 1 is now offline\n"
		"6,22,104300000,-;all is well\n";
	_cleanup_(collect_release) struct collect out = collect_new();

	run_over(text, &out);
	assert_contains(said(&out, "RT throttling", SEVERITY_WARN), "sched_rt_runtime_us");
	assert_contains(said(&out, "NIC Link is Down", SEVERITY_WARN), "the link changed");
	assert_contains(said(&out, "veth0", SEVERITY_WARN), "the link changed");
	assert_contains(said(&out, "soft lockup", SEVERITY_WARN), "without scheduling");
	assert_contains(said(&out, "self-detected", SEVERITY_WARN), "held it");
	assert_contains(said(&out, "perf:", SEVERITY_WARN), "sampling interrupt");
	assert_contains(said(&out, "watchdog on CPU1", SEVERITY_WARN), "clock source");
	assert_contains(said(&out, "WARNING: CPU", SEVERITY_WARN), "impossible");
	assert_contains(said(&out, "temperature", SEVERITY_WARN), "heat");
	assert_contains(said(&out, "ata1", SEVERITY_WARN), "of a disk");
	assert_contains(said(&out, "smpboot", SEVERITY_WARN), "offline within");
	assert_null(collect_event(&out, "all is well"));
	assert_null(collect_event(&out, "before the window"));
	assert_near(collect_scalar(&out, "kmsg.lines", ""), 12, 0);
	assert_near(collect_scalar(&out, "kmsg.warnings", ""), 11, 0);
	assert_near(collect_scalar(&out, "kmsg.lost", ""), 0, 0);
	assert_int_equal(collect_event(&out, "RT throttling")->t_ns, 1000000000);
	assert_int_equal(collect_event(&out, "temperature")->t_ns, 4200000000);
}

static void times_stay_within_the_window(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();

	run_over("4,11,99900000,-;drifted early\n4,12,107000000,-;drifted late\n", &out);
	assert_int_equal(collect_event(&out, "early")->t_ns, 0);
	assert_int_equal(collect_event(&out, "late")->t_ns, 5000000000);
}

static void unknown_warnings_are_notes_and_safe_to_print(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();

	run_over("4,11,101000000,-;odd \x1b[31mred\n5,12,101000000,-;a notice\n", &out);
	assert_contains(said(&out, "odd ", SEVERITY_NOTE), "odd \\x1b[31mred");
	assert_null(collect_event(&out, "a notice"));
	assert_near(collect_scalar(&out, "kmsg.lines", ""), 2, 0);
}

static void user_space_cannot_forge_a_kernel_line(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();

	run_over("12,11,101000000,-;sched: RT throttling activated\n", &out);
	assert_null(collect_event(&out, "RT throttling"));
	assert_near(collect_scalar(&out, "kmsg.lines", ""), 1, 0);
	assert_near(collect_scalar(&out, "kmsg.warnings", ""), 0, 0);
}

static void gaps_in_the_sequence_are_lost_lines(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();

	run_over("6,11,101000000,-;a\n6,12,101000000,-;b\n6,20,101000000,-;c\n", &out);
	assert_near(collect_scalar(&out, "kmsg.lost", ""), 7, 0);
	assert_contains(said(&out, "lost", SEVERITY_WARN), "7 lines were lost");
}

static void a_flood_is_shown_in_part_and_counted_whole(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	_cleanup_(buf_release) struct buf text = {};
	size_t shown = 0;

	for (unsigned int i = 0; i < 500; i++)
		buf_printf(&text, "4,%u,101000000,-;%s %u\n", 11 + i,
			   i % 2 ? "sched: RT throttling activated" : "strange thing", i);
	run_over(buf_str(&text), &out);
	for (size_t i = 0; i < out.list.nr; i++)
		shown += out.list.v[i]->kind == RECORD_EVENT;
	assert_true(shown < 40);
	assert_non_null(collect_event(&out, "245 more lines like those shown"));
	assert_non_null(collect_event(&out, "230 more lines of warning level"));
	assert_near(collect_scalar(&out, "kmsg.lines", ""), 500, 0);
	assert_near(collect_scalar(&out, "kmsg.warnings", ""), 250, 0);
}

static void rubbish_is_counted_and_what_follows_is_read(void **state)
{
	_cleanup_(collect_release) struct collect out = collect_new();
	_cleanup_(buf_release) struct buf text = {};
	uint64_t seed = 3;

	run_over("rubbish\n4,11,101000000,-;sched: RT throttling activated\n4,12,1", &out);
	assert_non_null(collect_event(&out, "RT throttling"));
	assert_non_null(collect_event(&out, "2 lines of /dev/kmsg were not understood"));
	for (int i = 0; i < 200; i++)
		buf_printf(&text, "4,%d,101000000,-;NOHZ: local_softirq_pending %x\n A=b\n", i, i);
	for (int i = 0; i < 300; i++) {
		_cleanup_(collect_release) struct collect any = collect_new();

		text.data[rng_below(&seed, text.len)] = (char)(1 + rng_below(&seed, 255));
		run_over(text.data, &any);
		assert_true(collect_scalar(&any, "kmsg.lines", "") <= 400);
	}
}

static void a_missing_kmsg_is_named(void **state)
{
	struct scratch s = scratch_new();
	const struct host host = { .dev_fd = s.fd };
	static const char *const none[] = { NULL };
	struct err e = {};

	assert_int_equal(probe_kmsg.usable(&host, &e), -ENOENT);
	assert_string_equal(e.msg, "open /dev/kmsg: No such file or directory");
	scratch_release(&s, none);
}

static void a_line_written_to_the_real_kmsg_is_counted(void **state)
{
	static const char line[] = "<14>irqlab: a test of its kmsg probe\n";
	_cleanup_(close_fdp) int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	_cleanup_(collect_release) struct collect out = collect_new();
	_cleanup_(instance_release) struct instance inst = { .plugin = strdup("kmsg"),
							     .name = strdup("kmsg") };
	_cleanup_(host_release) struct host host = { -1, -1, -1, { -1, -1, "" }, { -1, -1, "" } };
	struct probe_env env = { .host = &host };
	struct probe *p = NULL;
	struct err e = {};

	assert_int_equal(host_open(&host, &e), 0);
	if (fd < 0 || probe_kmsg.usable(&host, &e) < 0) {
		print_message("/dev/kmsg cannot be read and written here\n");
		skip();
	}
	assert_int_equal(probe_kmsg.open(&p, &env, &inst, &e), 0);
	assert_int_equal(probe_kmsg.start(p, clock_mono_ns(), &e), 0);
	assert_int_equal(write(fd, line, strlen(line)), strlen(line));
	assert_int_equal(probe_kmsg.stop(p, clock_mono_ns(), &e), 0);
	assert_int_equal(probe_kmsg.drain(p, &out.sink, &e), 0);
	assert_true(collect_scalar(&out, "kmsg.lines", "") >= 1);
	assert_null(collect_event(&out, "not understood"));
	probe_kmsg.close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_parsed_with_their_continuation),
		cmocka_unit_test(what_is_no_record_is_refused),
		cmocka_unit_test(masks_are_decoded_to_vectors),
		cmocka_unit_test(pending_softirqs_are_named_in_all_wordings),
		cmocka_unit_test(known_lines_are_warnings_with_a_meaning),
		cmocka_unit_test(times_stay_within_the_window),
		cmocka_unit_test(unknown_warnings_are_notes_and_safe_to_print),
		cmocka_unit_test(user_space_cannot_forge_a_kernel_line),
		cmocka_unit_test(gaps_in_the_sequence_are_lost_lines),
		cmocka_unit_test(a_flood_is_shown_in_part_and_counted_whole),
		cmocka_unit_test(rubbish_is_counted_and_what_follows_is_read),
		cmocka_unit_test(a_missing_kmsg_is_named),
		cmocka_unit_test(a_line_written_to_the_real_kmsg_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
