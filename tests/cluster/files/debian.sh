#!/bin/bash
# debian.sh OUT.tar TREE: an image with the name of Debian's own, of what the machines' tree has of glibc, with what a
# program that was linked with an older one asks for, and of libsystemd. It has no shell.
set -euo pipefail
out=$1 tree=$2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
mkdir -p "$root"/{tmp,etc,dev,proc,sys,run}
chmod 1777 "$root/tmp"
folder=/$(cd "$tree" && echo usr/lib/*-linux-gnu)
libraries=(libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libutil.so.1 libgcc_s.so.1 libsystemd.so.0)
# These, as it names each before its own, and those that they need. /lib of the tree is a link to /usr/lib.
chroot "$tree" ldd "${libraries[@]/#/$folder/}" | grep -oE '/[^ :()]+' | sed 's|^/usr/|/|' | sort -u |
  while read -r library; do install -D -m 755 "$tree$library" "$root$library"; done
bash "$(dirname "$0")/archive.sh" "$out" "$root" docker.io/library/debian:12-slim '[]'
