#!/bin/bash
# images.sh OUT.tar BUSYBOX: the images of pods as a docker archive, without any registry. localhost/pause:1 is a
# sandbox, localhost/busybox:1 has every command of busybox. Both are one layer.
set -euo pipefail
out=$1 busybox=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root to=$work/archive
mkdir -p "$root"/{bin,tmp,etc,dev,proc,sys,root} "$to"
chmod 1777 "$root/tmp"
install -m 755 "$busybox" "$root/bin/busybox"
for name in $("$busybox" --list); do
  [ "$name" = busybox ] || ln -s busybox "$root/bin/$name"
done
printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >"$root/etc/passwd"

pack() { tar --create --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --directory="$1" --file="$2" "${@:3}"; }
sum() { sha256sum "$1" | cut -d' ' -f1; }

pack "$root" "$work/layer.tar" .
layer=$(sum "$work/layer.tar")
mkdir "$to/$layer"
mv "$work/layer.tar" "$to/$layer/layer.tar"
architecture=$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
manifest=
image() {
  local name=$1 command=$2 config=$work/config.json digest
  printf '{"architecture":"%s","os":"linux","config":{"Cmd":%s,"Env":["PATH=/bin"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]},"history":[{"created":"2020-01-01T00:00:00Z"}]}' \
    "$architecture" "$command" "$layer" >"$config"
  digest=$(sum "$config")
  mv "$config" "$to/$digest.json"
  manifest+="${manifest:+,}{\"Config\":\"$digest.json\",\"RepoTags\":[\"localhost/$name:1\"],\"Layers\":[\"$layer/layer.tar\"]}"
}
image pause '["/bin/sh","-c","trap exit TERM INT; while :; do sleep 3600 & wait; done"]'
image busybox '["/bin/sh"]'
printf '[%s]' "$manifest" >"$to/manifest.json"
pack "$to" "$out" .
