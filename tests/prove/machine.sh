#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The long proofs: README's two commands in a fresh chroot of each Debian release that the mirror
# has, kill -9 at 20 moments, 200 clients for a minute and 10,000 hostile ones.  Root; about half
# an hour.
set -eu
cd "$(dirname "$0")/../.."
rc=0
KILLS=20 IRQLAB=$PWD/build/irqlab tests/e2e/kill.t || rc=1
build/tests/e2e/crowd_main 200 60 | tee /dev/stderr | grep -q '^not ok' && rc=1
build/tests/e2e/hostile_main 10000 | tee /dev/stderr | grep -q '^not ok' && rc=1
for suite in bookworm trixie; do
	tests/chroot.sh $suite || rc=1
done
exit $rc
