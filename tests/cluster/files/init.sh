#!/bin/sh
# PID 1 until systemd is. systemd-nspawn mounts hierarchies of version 1 read-only, and a kubelet makes cgroups there; that of
# version 2 is writable.
mount -o remount,rw /sys/fs/cgroup
for hierarchy in /sys/fs/cgroup/*/; do
  mount -o remount,rw,bind "$hierarchy" 2>/dev/null || mount -o remount,rw "$hierarchy" 2>/dev/null
done
# The kubelet ends if it cannot set these. They are the outer machine's, which stays as it is: files that have the
# wanted values lie over them.
mkdir -p /run/sysctl
set_over() {
  echo "$2" >"/run/sysctl/$(echo "$1" | tr / .)"
  mount --bind "/run/sysctl/$(echo "$1" | tr / .)" "/proc/sys/$1"
}
set_over vm/overcommit_memory 1
set_over vm/panic_on_oom 0
set_over kernel/panic 10
set_over kernel/panic_on_oops 1
set_over kernel/keys/root_maxkeys 1000000
set_over kernel/keys/root_maxbytes 25000000
# For units that have a /proc of their own.
cat /proc/sys/kernel/random/boot_id >/run/boot-id
# The number of the null device is the stand-in's.
[ "$(stat -c %t:%T /dev/kmsg)" = 1:3 ] || : >/run/has-kernel-log
mount --make-rshared /
exec /lib/systemd/systemd
