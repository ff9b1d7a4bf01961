#!/bin/sh
# Runs what comes over the port "shell". A request and its answer are one line each, in hexadecimal: the script; then the exit
# code, what it wrote, and what it complained of. Whole systems have their own sh, and of busybox one program.
xxd() { busybox xxd "$@"; }
until named=$(grep -lx shell /sys/class/virtio-ports/*/name); do sleep 0.1; done
port=${named%/name}
exec 3<>"/dev/${port##*/}"
echo ready >&3
while read -r request <&3; do
  echo "$request" | xxd -r -p >/run/script
  # The script may end, and take its shell with it, but never this one; nor may it hold the port.
  sh /run/script </dev/null >/run/out 2>/run/complaints 3>&-
  code=$?
  echo "$code,$(xxd -p /run/out | tr -d '\n'),$(xxd -p /run/complaints | tr -d '\n')" >&3
done
