#!/bin/busybox sh
# PID 1 of a guest: mounts, loads what the command line names, then runs what comes over the port "shell"; where the command
# line names a disk with a whole system, that system takes over.
/bin/busybox --install -s /bin
export PATH=/usr/bin:/usr/sbin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
mount -t tmpfs tmp /tmp
mount -t debugfs debug /sys/kernel/debug
mount -t tracefs tracing /sys/kernel/tracing
mount -t cgroup2 cgroup /sys/fs/cgroup
ip link set lo up

named() { sed -n "s/.*nodewell\.$1=\([^ ]*\).*/\1/p" /proc/cmdline; }
for module in virtio_pci virtio_console $(named modules | tr ',' ' '); do
  modprobe "$module" || echo "init: there is no module $module"
done

root=$(named root)
if [ -n "$root" ]; then
  mount "$root" /mnt || exec sleep 9999 # the console says why
  umount /sys/kernel/debug /sys/kernel/tracing /sys/fs/cgroup /tmp
  for folder in proc sys dev run; do mount --move "/$folder" "/mnt/$folder"; done
  exec switch_root /mnt /lib/systemd/systemd
fi
# No udev runs here: the device mapper's library makes its nodes itself.
export DM_DISABLE_UDEV=1
exec sh /shell
