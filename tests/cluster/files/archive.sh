#!/bin/bash
# archive.sh OUT.tar ROOT NAME COMMAND...: images of the files in ROOT, which are one layer of all of them, as a docker
# archive. Each has its name and, as JSON, its command.
set -euo pipefail
out=$1 root=$2
shift 2
to=$(mktemp -d)
trap 'rm -rf "$to"' EXIT

pack() { tar --create --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --directory="$1" --file="$2" "${@:3}"; }
sum() { sha256sum "$1" | cut -d' ' -f1; }

pack "$root" "$to/layer.tar" .
layer=$(sum "$to/layer.tar")
mkdir "$to/$layer"
mv "$to/layer.tar" "$to/$layer/layer.tar"
architecture=$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
manifest=
while (($#)); do
  printf '{"architecture":"%s","os":"linux","config":{"Cmd":%s,"Env":["PATH=/bin"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]},"history":[{"created":"2020-01-01T00:00:00Z"}]}' \
    "$architecture" "$2" "$layer" >"$to/config.json"
  digest=$(sum "$to/config.json")
  mv "$to/config.json" "$to/$digest.json"
  manifest+="${manifest:+,}{\"Config\":\"$digest.json\",\"RepoTags\":[\"$1\"],\"Layers\":[\"$layer/layer.tar\"]}"
  shift 2
done
printf '[%s]' "$manifest" >"$to/manifest.json"
pack "$to" "$out" .
