#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# README's two commands on a bare Debian: debootstrap (minbase) into a new folder, this repo and
# nothing else, then ./dev demo and ./dev check.  Usage: chroot.sh SUITE [FOLDER]
# The chroot lives in a mount namespace of its own, so nothing stays mounted, however this ends.
set -eu
suite=$1
dir=${2:-$(mktemp -d "${TMPDIR:-/var/tmp}/irqlab-$suite-XXXXXX")}
repo=$(cd "$(dirname "$0")/.." && pwd)

[ "$(id -u)" = 0 ] || { echo "SKIP $suite: needs root"; exit 77; }
command -v debootstrap >/dev/null || { echo "SKIP $suite: debootstrap is not installed"; exit 77; }

# the mirror that this machine's apt uses
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep '/debian/*$' | head -n 1)
[ -n "$mirror" ] || { echo "SKIP $suite: no Debian mirror in this machine's apt sources"; exit 77; }
debootstrap --variant=minbase "$suite" "$dir" "$mirror" >"$dir.log" 2>&1 ||
	{ tail -n 5 "$dir.log"; echo "SKIP $suite: debootstrap failed (is the suite on the mirror?)"; exit 77; }
chmod 755 "$dir"
cp /etc/resolv.conf "$dir/etc/resolv.conf"
mkdir "$dir/irqlab"
git -C "$repo" archive HEAD | tar -x -C "$dir/irqlab"

# shellcheck disable=SC2016
run='
	mount -t proc proc "$1/proc" && mount -t sysfs sysfs "$1/sys" && mount --rbind /dev "$1/dev"
	cd /
	exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -c "cd /irqlab && $2"'
inside() {
	unshare --mount --propagation private sh -c "$run" sh "$dir" "$1"
}

rc=0
start=$(date +%s)
inside './dev build' >"$dir/build.log" 2>&1 || { tail -n 30 "$dir/build.log"; rc=1; }
built=$(date +%s)
inside './dev demo' >"$dir/demo.log" 2>&1 || { tail -n 30 "$dir/demo.log"; rc=1; }
demoed=$(date +%s)
inside './dev check' >"$dir/check.log" 2>&1 || { tail -n 60 "$dir/check.log"; rc=1; }
checked=$(date +%s)
echo "$suite: install and build $((built - start)) s, demo $((demoed - built)) s, check $((checked - demoed)) s: $(tail -n 1 "$dir/check.log")"
grep '^Report: ' "$dir/demo.log" || { echo "$suite: the demo printed no report"; rc=1; }
if [ $rc = 0 ]; then
	rm -rf --one-file-system "$dir" "$dir.log"
else
	echo "$suite: left for a look: $dir (demo.log, check.log)"
fi
exit $rc
