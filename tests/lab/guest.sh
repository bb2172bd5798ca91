# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# A guest with a kernel of Debian's and this build in it, for what cannot be tried on the machine itself:
# another kernel, a reboot in the middle of a run.  Sourced.
#
#	guest_kernel NAME	fetch and unpack the newest package whose name fits; sets $kernel $release
#	guest_image		an initramfs with busybox, irqlab and the modules it may need; sets $image
#	guest_boot SCRIPT [QEMU OPTION...]	run SCRIPT as the guest's init and print what it says
#
# Nothing is installed; all is kept in $IRQLAB_LAB_CACHE (~/.cache/irqlab/lab).  No network, no KVM.

lab_cache=${IRQLAB_LAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/irqlab/lab}
lab_build=${lab_build:-$src/build}

# guest_missing: what of the tools is not here
guest_missing() {
	for tool in qemu-system-x86_64 busybox cpio depmod modprobe xz dpkg-deb apt-get; do
		command -v "$tool" >/dev/null || echo "$tool"
	done
	if command -v busybox >/dev/null && ldd "$(command -v busybox)" 2>/dev/null | grep -q '=>'; then
		echo "a static busybox"
	fi
}

guest_kernel() {
	package=$(apt-cache search --names-only "$1" | cut -d ' ' -f 1 | sort -V | tail -n 1)
	[ -n "$package" ] || return 1
	unpacked=$lab_cache/$package
	if [ ! -d "$unpacked" ]; then
		mkdir -p "$lab_cache"
		fetch=$(mktemp -d "$lab_cache/fetch-XXXXXX")
		(cd "$fetch" && apt-get -q download "$package" >/dev/null 2>&1) && dpkg-deb -x "$fetch"/*.deb "$fetch/root" && mv "$fetch/root" "$unpacked"
		rm -rf "$fetch"
	fi
	kernel=$(echo "$unpacked"/boot/vmlinuz-*)
	release=${kernel##*/vmlinuz-}
	[ -f "$kernel" ] || return 1
	[ -f "$unpacked/lib/modules/$release/modules.dep" ] || depmod -b "$unpacked" "$release"
}

# put FILE: into $root, with the libraries that it needs
put() {
	file=$(readlink -f "$1")
	mkdir -p "$root/bin" "$root/lib/irqlab" "$root/lib64"
	cp "$file" "$root/bin/${1##*/}"
	ldd "$file" 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' | while read -r lib; do
		cp -n "$(readlink -f "$lib")" "$root/lib/irqlab/${lib##*/}"
	done
	cp -n "$(readlink -f /lib64/ld-linux-x86-64.so.2)" "$root/lib64/ld-linux-x86-64.so.2"
}

put_modules() {
	for module in virtio_pci virtio_blk ext4 veth e1000 af_packet; do
		modprobe -d "$unpacked" -S "$release" --show-depends "$module" 2>/dev/null | sed -n 's/^insmod \([^ ]*\).*/\1/p'
	done | awk '!seen[$0]++' | while read -r file; do
		name=${file##*/}
		case $file in
		*.xz) xz -dc "$file" >"$root/modules/${name%.xz}" ;;
		*) cp "$file" "$root/modules/$name" ;;
		esac
		echo "${name%.xz}" >>"$root/modules/order"
	done
}

guest_image() {
	root=$(mktemp -d "${TMPDIR:-/tmp}/irqlab-guest-XXXXXX")
	mkdir -p "$root/modules" "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/disk" "$root/root"
	put "$(command -v busybox)"
	put "$lab_build/irqlab"
	put "$lab_build/irqlab-agent"
	put_modules
	cat >"$root/init" <<'X'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin LD_LIBRARY_PATH=/lib/irqlab HOME=/root
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
mkdir -p /sys/fs/cgroup /dev/shm
mount -t cgroup2 cgroup /sys/fs/cgroup 2>/dev/null
mount -t debugfs debug /sys/kernel/debug 2>/dev/null
while read -r m; do insmod "/modules/$m" 2>/dev/null; done </modules/order
ip link set lo up
echo; echo GUEST-BEGIN
sh /script
echo "GUEST-END $?"
poweroff -f
X
	chmod +x "$root/init"
	image=$(mktemp "${TMPDIR:-/tmp}/irqlab-guest-XXXXXX")
	(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$image"
	rm -rf "$root"
}

guest_boot() {
	script=$1
	shift
	extra=$(mktemp -d "${TMPDIR:-/tmp}/irqlab-guest-XXXXXX")
	cp "$script" "$extra/script"
	{
		cat "$image"
		(cd "$extra" && echo script | cpio -o -H newc --quiet | gzip -1)
	} >"$extra/initrd"
	qemu-system-x86_64 -accel tcg,thread=multi -cpu max -machine q35 -smp 2 -m 1024 -nodefaults -no-user-config -nographic \
		-no-reboot -serial stdio -net none -kernel "$kernel" -initrd "$extra/initrd" \
		-append "console=ttyS0 panic=-1 quiet tsc=reliable ${guest_append:-}" "$@" </dev/null 2>&1 | tr -d '\r' |
		sed -n '/^GUEST-BEGIN/,$p'
	rm -rf "$extra"
}
