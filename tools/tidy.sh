#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-tidy 14 with .clang-tidy over the translation units of the dev build.
# usage: tools/tidy.sh [FILE_REGEX]
set -euo pipefail
cd "$(dirname "$0")/.."
files="${1:-$PWD/(src|workloads|bench|tests)/.*}"
# The tests' precompiled header is g++'s and means nothing to clang: here each file reads its own.
mkdir -p build/tidy
sed -E 's/-Winvalid-pch -include [^ ]*cmake_pch\.hxx //' build/compile_commands.json \
  >build/tidy/compile_commands.json
# clang-tidy counts the warnings that it does not show; nobody needs to see that for each file.
run-clang-tidy-14 -quiet -p build/tidy -j "${JOBS:-2}" "$files" \
  2> >(grep -v 'warnings generated' >&2)
