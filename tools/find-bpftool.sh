#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A bpftool that runs, on stdout.  Debian keeps it in /usr/sbin; Ubuntu's there is a script that wants
# the tools of the running kernel, but those of any kernel will do for us.
for b in bpftool /usr/sbin/bpftool /usr/lib/linux-tools*/*/bpftool /usr/lib/linux-tools-*/bpftool; do
	"$b" version >/dev/null 2>&1 && echo "$b" && exit 0
done
exit 1
