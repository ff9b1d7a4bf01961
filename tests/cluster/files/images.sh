#!/bin/bash
# images.sh OUT.tar BUSYBOX: the images of pods as a docker archive, without any registry. localhost/pause:1 is a
# sandbox, localhost/busybox:1 has every command of busybox. Both are one layer.
set -euo pipefail
out=$1 busybox=$2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
mkdir -p "$root"/{bin,tmp,etc,dev,proc,sys,root}
chmod 1777 "$root/tmp"
install -m 755 "$busybox" "$root/bin/busybox"
for name in $("$busybox" --list); do
  [ "$name" = busybox ] || ln -s busybox "$root/bin/$name"
done
printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >"$root/etc/passwd"
bash "$(dirname "$0")/archive.sh" "$out" "$root" \
  localhost/pause:1 '["/bin/sh","-c","trap exit TERM INT; while :; do sleep 3600 & wait; done"]' \
  localhost/busybox:1 '["/bin/sh"]'
