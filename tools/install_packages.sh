#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the packages of the named groups of tools/packages.txt, those that are missing, with apt.
# With nothing missing it only asks dpkg and returns at once.
# usage: tools/install_packages.sh GROUP...
set -euo pipefail

list="$(dirname "$0")/packages.txt"

wanted_packages() {
  local group package
  while read -r group package _; do
    case " $* " in *" $group "*) echo "$package" ;; esac
  done < <(grep -v '^#' "$list")
}

missing_packages() {
  local package name status
  for package in "$@"; do
    for name in ${package//|/ }; do
      status="$(dpkg-query --show --showformat='${db:Status-Abbrev}' "$name" 2>/dev/null || true)"
      case "$status" in ii*) continue 2 ;; esac
    done
    echo "${package%%|*}"
  done
}

# How this user becomes root: nothing, sudo, or not at all. sudo asks for its password on the
# terminal itself, so it is of use without one only where it needs no password.
root_command() {
  if [ "$(id -u)" -eq 0 ]; then
    echo "env"
  elif command -v sudo >/dev/null && (sudo -n true || : </dev/tty) 2>/dev/null; then
    echo "sudo env"
  fi
}

mapfile -t wanted < <(wanted_packages "$@")
if [ "${#wanted[@]}" -eq 0 ]; then
  echo "usage: tools/install_packages.sh GROUP...; the groups are in tools/packages.txt" >&2
  exit 2
fi

if ! command -v dpkg-query >/dev/null; then
  echo "nvshare: this is no Debian system; the build needs the likes of: ${wanted[*]}" >&2
  exit 0
fi

mapfile -t missing < <(missing_packages "${wanted[@]}")
[ "${#missing[@]}" -gt 0 ] || exit 0

read -r -a as_root < <(root_command) || true
if [ "${#as_root[@]}" -eq 0 ]; then
  echo "nvshare: packages are missing, and this user is neither root nor may use sudo." >&2
  echo "nvshare: ask an administrator for: apt-get install ${missing[*]}" >&2
  exit 1
fi

echo "nvshare: installing ${missing[*]}"
apt=("${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300
  -o Acquire::Retries=3)
# A foreign package source that does not answer must not stop us: the installation decides.
"${apt[@]}" update || echo "nvshare: apt-get update failed; trying with the lists at hand" >&2
"${apt[@]}" install --yes --no-install-recommends "${missing[@]}"
