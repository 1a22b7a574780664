#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The tree passes scripts/lint, and scripts/lint finds what it is for. Where a tool is missing this
# test is skipped, but with CI set, as continuous integration has it, it fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

for tool in clang-format shellcheck; do
  command -v "$tool" >/dev/null && continue
  echo "$tool is not installed: scripts/install-dependencies --ci"
  [[ -n ${CI-} ]] || exit 77
  exit 1
done

failures=0
fail() { echo "FAILED $1"; failures=$((failures + 1)); }

scripts/lint || fail "the tree"

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/scripts"
cp scripts/lint "$tree/scripts/"
cp .clang-format "$tree/"
git -C "$tree" init -q
printf 'int  two( ) {return 2 ;}\n' >"$tree/bad.cc"
printf '__global__ void kernel( ) {}\n' >"$tree/bad.cu"
# shellcheck disable=SC2016  # the file is to have the $1
printf '#!/bin/sh\nrm $1\n' >"$tree/scripts/bad"

report=$("$tree/scripts/lint" 2>&1) && fail "the bad tree passes"
for file in bad.cc bad.cu scripts/bad; do
  [[ $report == *$file* ]] || fail "$file is not reported"
done
"$tree/scripts/lint" --fix bad.cc bad.cu >/dev/null || fail "--fix"
[[ $(cat "$tree/bad.cc") == 'int two() { return 2; }' ]] || fail "--fix wrote $(cat "$tree/bad.cc")"
"$tree/scripts/lint" bad.cc bad.cu >/dev/null || fail "what --fix wrote does not pass"

# Sleeps and clocks in the tests of the gate, unless a comment says why.
mkdir -p "$tree/tests/core" "$tree/tests/chaos"
printf 'void Wait() { absl::SleepFor(delay); }\n' | tee "$tree/tests/chaos/a_test.cc" >"$tree/tests/core/a_test.cc"
report=$("$tree/scripts/lint" tests 2>&1) && fail "a test that sleeps passes"
[[ $report == *tests/core/a_test.cc:1:* ]] || fail "a test that sleeps is not reported: $report"
[[ $report != *tests/chaos* ]] || fail "a test of the nightly is reported: $report"
sed -i '1i // Real time: there is no other.' "$tree/tests/core/a_test.cc"
"$tree/scripts/lint" tests >/dev/null || fail "a test that says why it sleeps is reported"

# Hash tables that do not survive a failed allocation, where one may fail.
mkdir "$tree/core" "$tree/server"
printf '#include "absl/container/flat_hash_map.h"\n' | tee "$tree/server/a.cc" >"$tree/core/a.h"
report=$("$tree/scripts/lint" core server 2>&1) && fail "a hash table of abseil in core/ passes"
[[ $report == *core/a.h:1:* ]] || fail "a hash table of abseil is not reported: $report"
[[ $report != *server/a.cc* ]] || fail "a hash table of abseil in server/ is reported: $report"

status=0
"$tree/scripts/lint" --nonsense >/dev/null 2>&1 || status=$?
((status == 2)) || fail "an unknown option: status $status"

# Without its tools it must fail: what is not checked has not passed.
mkdir "$tree/bin"
for tool in awk bash dirname git sort head grep nproc; do ln -s "$(command -v "$tool")" "$tree/bin/"; done
status=0
report=$(PATH=$tree/bin "$tree/scripts/lint" 2>&1) || status=$?
((status == 1)) || fail "without tools: status $status"
[[ $report == *"clang-format is missing"* ]] || fail "without tools: $report"

((failures > 0)) || echo ok
exit $((failures > 0))
