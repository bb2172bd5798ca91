// SPDX-License-Identifier: GPL-3.0-or-later
#include "test.h"

#include "base/personal.h"

static const struct {
	const char *text, *masked;
} cases[] = {
	{ "eth0: link up, address 52:54:00:12:34:56", "eth0: link up, address (masked)" },
	{ "BOOTIF=01-52-54-00-12-34-56", "BOOTIF=(masked)" },
	/* 20 octets of InfiniBand */
	{ "ib0 80:00:02:08:fe:80:00:00:00:00:00:00:f4:52:14:03:00:7b:cb:a1 up", "ib0 (masked) up" },
	{ "enx001122aabbcc: renamed", "enx(masked): renamed" },
	{ "wlxf0f1f2f3f4f5", "wlx(masked)" },
	{ "root=UUID=0f1e2d3c-1111-2222-3333-444455556666 ro", "root=UUID=(masked) ro" },
	{ "dm 0f1e2d3c-1111-2222-3333-444455556666", "dm (masked)" },
	{ "root=PARTUUID=4e639091-02", "root=PARTUUID=(masked)" },
	{ "/dev/disk/by-x UUID=9AF1-22C0", "/dev/disk/by-x UUID=(masked)" },
	{ "usb 1-1: SerialNumber: 4C530001230", "usb 1-1: SerialNumber: (masked)" },
	{ "serial=ab-12, x", "serial=(masked), x" },
	{ "Serial Number: 77 rest", "Serial Number: (masked) rest" },
	{ "rack-nine kernel: hello", "(masked) kernel: hello" },
	{ "on rack-nine.", "on (masked)." },
	/* what is none of it stays as it is */
	{ "", "" },
	{ "12:34:56", "12:34:56" },
	{ "2026-12-01 02:03:04:05:06 x", "2026-12-01 02:03:04:05:06 x" },
	{ "cpu=0,irq=24", "cpu=0,irq=24" },
	{ "enp3s0-rx-0 moved", "enp3s0-rx-0 moved" },
	{ "enx0011 is short", "enx0011 is short" },
	{ "12345678-1111-2222-3333-44445555666", "12345678-1111-2222-3333-44445555666" },
	{ "brack-nine rack-nines rack-nine_x", "brack-nine rack-nines rack-nine_x" },
	{ "serial8250: ttyS0", "serial8250: ttyS0" },
	{ "PCI 0000:00:1f.2 and fe80::1", "PCI 0000:00:1f.2 and fe80::1" },
};

static void what_is_personal_is_masked_and_nothing_else(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(buf_release) struct buf out = {};

		personal_mask(&out, cases[i].text, "rack-nine");
		assert_string_equal(buf_str(&out), cases[i].masked);
	}
}

static void a_masked_text_stays_as_it_is(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(buf_release) struct buf out = {};

		personal_mask(&out, cases[i].masked, "rack-nine");
		assert_string_equal(buf_str(&out), cases[i].masked);
	}
}

static void a_host_name_of_two_letters_is_not_looked_for(void **state)
{
	_cleanup_(buf_release) struct buf out = {};

	personal_mask(&out, "vm of vm", "vm");
	personal_mask(&out, " host", NULL);
	assert_string_equal(buf_str(&out), "vm of vm host");
}

static void a_command_line_keeps_what_is_about_the_kernel(void **state)
{
	_cleanup_(buf_release) struct buf out = {};

	personal_mask_cmdline(
		&out,
		"BOOT_IMAGE=/vmlinuz-6.1.0-57 ip=10.0.0.2::10.0.0.1:255.0.0.0:rack-nine "
		"isolcpus=2,3  netconsole=@/eth0,@/00:11:22:33:44:55 x.host=1.2.3.4 "
		"hostname=rack-nine systemd.hostname=a pci=0000:00:1f.2\t1.2.3 "
		"v=1.2.3.4.5",
		"rack-nine");
	assert_string_equal(buf_str(&out),
			    "BOOT_IMAGE=/vmlinuz-6.1.0-57 ip=(masked) isolcpus=2,3  "
			    "netconsole=(masked) x.host=(masked) hostname=(masked) "
			    "systemd.hostname=(masked) pci=0000:00:1f.2\t1.2.3 v=(masked)");
}

static void a_home_loses_its_name(void **state)
{
	static const struct {
		const char *path, *home, *stored;
	} paths[] = {
		{ "/home/alice/plans/x.yaml", "/root", "~/plans/x.yaml" },
		{ "/home/alice/plans/x.yaml", "/home/alice", "~/plans/x.yaml" },
		{ "/srv/users/alice/x.yaml", "/srv/users/alice", "~/x.yaml" },
		{ "plans/demo.yaml", "/root", "plans/demo.yaml" },
		{ "/usr/share/x.yaml", NULL, "/usr/share/x.yaml" },
		{ "/x.yaml", "/", "/x.yaml" },
		{ "/home/x.yaml", "/root", "/home/x.yaml" },
		{ "/rooted/x", "/root", "/rooted/x" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_(buf_release) struct buf out = {};

		personal_path(&out, paths[i].path, paths[i].home);
		assert_string_equal(buf_str(&out), paths[i].stored);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_personal_is_masked_and_nothing_else),
		cmocka_unit_test(a_masked_text_stays_as_it_is),
		cmocka_unit_test(a_host_name_of_two_letters_is_not_looked_for),
		cmocka_unit_test(a_command_line_keeps_what_is_about_the_kernel),
		cmocka_unit_test(a_home_loses_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
