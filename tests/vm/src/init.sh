#!/bin/busybox sh
# PID 1 of a guest: mounts, loads what the command line names, then runs what comes over the port "shell". A request and its
# answer are one line each, in hexadecimal: the script; then the exit code, what it wrote, and what it complained of.
/bin/busybox --install -s /bin
export PATH=/usr/bin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
mount -t tmpfs tmp /tmp
mount -t debugfs debug /sys/kernel/debug
mount -t tracefs tracing /sys/kernel/tracing
mount -t cgroup2 cgroup /sys/fs/cgroup
ip link set lo up

wanted=$(sed -n 's/.*nodewell\.modules=\([^ ]*\).*/\1/p' /proc/cmdline | tr ',' ' ')
for module in virtio_pci virtio_console $wanted; do
  modprobe "$module" || echo "init: there is no module $module"
done

until named=$(grep -lx shell /sys/class/virtio-ports/*/name); do sleep 0.1; done
port=${named%/name}
exec 3<>"/dev/${port##*/}"
echo ready >&3
while read -r request <&3; do
  echo "$request" | xxd -r -p >/tmp/script
  # The script may end, and take its shell with it, but never this one; nor may it hold the port.
  sh /tmp/script </dev/null >/tmp/out 2>/tmp/complaints 3>&-
  code=$?
  echo "$code,$(xxd -p /tmp/out | tr -d '\n'),$(xxd -p /tmp/complaints | tr -d '\n')" >&3
done
