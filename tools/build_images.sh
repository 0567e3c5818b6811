#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the images of deploy/docker on a Debian machine that reaches no registry: their base, which
# elsewhere is pulled, is made here from Debian's packages. Images and layers stay in FOLDER.
# usage: tools/build_images.sh FOLDER, as root; tools/install_packages.sh images
set -euo pipefail

folder="$(realpath -m "${1:?usage: tools/build_images.sh FOLDER}")"
cd "$(dirname "$0")/.."
base=docker.io/library/debian:12-slim
tag="$(sed -n 's/^appVersion: //p' deploy/helm/nvshare/Chart.yaml)"
podman=(podman --root "$folder/store" --runroot "$folder/run" --storage-driver overlay)

# As Debian makes debian:12-slim: no documents, and apt keeps neither packages nor an index of them.
make_base() {
  local root="$folder/base"
  rm -rf "$root"
  local sources=(apt-get indextargets 'Created-By: Packages' 'Origin: Debian' --format)
  debootstrap --variant=minbase bookworm "$root" \
    "$("${sources[@]}" '$(REPO_URI)' 'Codename: bookworm' | head -n 1)"
  "${sources[@]}" 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' >"$root/etc/apt/sources.list"
  apt-config dump | { grep -i '^acquire::.*proxy' || true; } >"$root/etc/apt/apt.conf.d/90proxy"
  cat >"$root/etc/apt/apt.conf.d/docker-clean" <<'END'
DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin || true"; };
APT::Update::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin || true"; };
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
END
  printf 'path-exclude /usr/share/%s/*\n' doc info locale man >"$root/etc/dpkg/dpkg.cfg.d/docker"
  rm -rf "$root"/usr/share/{doc,info,locale,man}/* "$root"/var/cache/apt/* \
    "$root"/var/lib/apt/lists/* "$root"/var/log/*.log
  tar --create --directory "$root" --exclude './dev/*' . | "${podman[@]}" import - "$base"
  rm -rf "$root"
}

mkdir -p "$folder"
"${podman[@]}" image exists "$base" || make_base
for image in scheduler device-plugin workload; do
  "${podman[@]}" build --layers --isolation chroot --network host \
    --file deploy/docker/Dockerfile --target "$image" --tag "nvshare-$image:$tag" .
done
