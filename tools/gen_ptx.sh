#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the checked-in PTX of every kernel source with nvcc, so that no build needs a CUDA toolkit.
# usage: tools/gen_ptx.sh            writes workloads/kernels/*.ptx
#        tools/gen_ptx.sh --verify   compares; exits 77 (skipped) without the right nvcc
set -euo pipefail
cd "$(dirname "$0")/.."

# nvcc stamps its own PTX version on the file, and drivers older than that nvcc would refuse it. The
# kernels need nothing beyond 6.3, the first version that knows sm_75 (drivers since 2018); ptxas
# rejects whatever is newer than the stamp, and it has the last word below.
readonly PTX_VERSION=6.3
readonly TARGETS=(sm_75 sm_80 sm_86 sm_89 sm_90)

mode=${1:-write}
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [[ ! -x $nvcc ]]; then
  echo "no nvcc found: put it on PATH or into /usr/local/cuda/bin"
  if [[ $mode == --verify ]]; then exit 77; else exit 1; fi
fi
release=$("$nvcc" --version | sed -n 's/.*release .*, \(V[0-9.]*\)$/\1/p')
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

status=0
for source in workloads/kernels/*.cu; do
  checked_in=${source%.cu}.ptx
  fresh=$scratch/$(basename "$checked_in")
  if [[ $mode == --verify ]] && ! grep -qF "nvcc $release" "$checked_in"; then
    echo "$checked_in was not made by the nvcc found here ($release); not compared"
    exit 77
  fi
  "$nvcc" -ptx -O3 -std=c++17 -arch=compute_75 -o "$scratch/raw.ptx" "$source"
  {
    echo "// SPDX-License-Identifier: Apache-2.0"
    echo "// Made from $(basename "$source") by tools/gen_ptx.sh with nvcc $release; do not edit."
    sed -e '/^\/\//d' -e '/^[[:space:]]*\/\/ \.globl/d' \
      -e "s/^\.version .*/.version $PTX_VERSION/" "$scratch/raw.ptx"
  } > "$fresh"
  for target in "${TARGETS[@]}"; do
    "$(dirname "$nvcc")/ptxas" -arch="$target" -o "$scratch/cubin" "$fresh"
  done
  if [[ $mode != --verify ]]; then
    cp "$fresh" "$checked_in"
    echo "$checked_in: PTX $PTX_VERSION, assembles for ${TARGETS[*]}"
  elif ! diff -u "$checked_in" "$fresh"; then
    echo "$checked_in is not what $source gives: run tools/gen_ptx.sh"
    status=1
  fi
done
exit $status
