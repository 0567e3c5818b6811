#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-tidy 14 with .clang-tidy over the translation units of the dev build.
# usage: tools/tidy.sh [FILE_REGEX]
set -euo pipefail
cd "$(dirname "$0")/.."
files="${1:-$PWD/(src|workloads|bench|tests)/.*}"
# g++'s precompiled headers mean nothing to clang, and it looks at files one by one.
cmake --preset dev -B build/tidy --log-level=WARNING \
  -DNVS_UNITY=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >build/tidy.txt
# clang-tidy counts the warnings that it does not show; nobody needs to see that for each file.
run-clang-tidy-14 -quiet -p build/tidy -j "${JOBS:-2}" "$files" \
  2> >(grep -v 'warnings generated' >&2)
