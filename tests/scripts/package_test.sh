#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# scripts/package on the build folder given: what is packed runs from where it is unpacked, with
# nothing of this shell's environment.
set -euo pipefail
build=${1:?the build folder}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

for program in bin/voxlocd bin/voxloc bin/voxloc_bench bin/voxloc_chaos tests/client_test; do
  if [[ ! -x $build/$program ]]; then
    echo "$build has no $program"
    exit 77
  fi
done
if grep -q '^VOXLOC_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
  echo "a build with sanitizers is not for packing"
  exit 77
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
fail() { echo "FAILED $1"; failures=$((failures + 1)); }
plain() { env -i PATH=/usr/bin:/bin "$@"; }

# expect STATUS WORDS ARGUMENT...: a call that is refused.
expect() {
  local status=0 output
  output=$(scripts/package "${@:3}" 2>&1) || status=$?
  [[ $status == "$1" && $output == *"$2"* ]] || fail "package ${*:3}: status $status, $output"
}
expect 0 'Examples: scripts/package' --help
expect 2 "unknown option '--nonsense'" --nonsense
expect 2 '--suite chooses tests' --suite core
expect 2 '--build needs a value' --build
expect 2 '--level takes a whole number from 0 to 9' --level 10
expect 1 'is not a build folder' --build "$folder"
expect 2 'no test lies in tests/clients/cp' --build "$build" --tests --suite clients/cp --output "$folder"

# What is packed is the same at any level of compression, and a low one takes seconds.
said=$(scripts/package --build "$build" --tests --suite clients/cpp --level 0 --output "$folder")
[[ $said =~ \ MB,\ 5\ programs,\ [0-9]+\ libraries\;\ needs\ glibc\ 2\.[0-9]+\ or\ newer$ ]] ||
  fail "its last words: $said"
mkdir "$folder/a folder"
tar -xJf "$folder"/voxloc-*-linux-*.tar.xz -C "$folder/a folder"
packages=("$folder/a folder"/*)
package=${packages[0]}
[[ ${#packages[@]} == 1 && $package == */voxloc-*-linux-* ]] || fail "not one folder: ${packages[*]}"
completion=share/bash-completion/completions/voxloc
for file in share/doc/voxloc/LICENSE share/doc/voxloc/README.md bin/voxloc-run-tests $completion \
  share/zsh/vendor-completions/_voxloc share/fish/vendor_completions.d/voxloc.fish; do
  [[ -f $package/$file ]] || fail "there is no $file"
done
[[ $(ls "$package/tests") == client_test ]] || fail "other tests: $(ls "$package/tests")"
cmp -s "$package/share/doc/voxloc/voxloc.spdx.json" "$folder"/voxloc-*.spdx.json || fail "the bill of materials beside it"
licences=("$package"/share/doc/voxloc/libraries/*.copyright)
((${#licences[@]} > 20)) || fail "only ${#licences[@]} licences of libraries"
/usr/bin/python3 -B tests/scripts/sbom_test.py "$package" || fail "the bill of materials"
if compgen -G "$package/lib/libc.so*" >/dev/null; then fail "glibc is packed"; fi

plain bash -c ". '$package/$completion'; complete -p voxloc" >/dev/null || fail "the completion for bash"

for program in voxlocd voxloc; do
  [[ $(plain "$package/bin/$program" --version) == "$program "* ]] || fail "$program does not start"
done
taken=$(plain ldd "$package/bin/voxlocd" | grep -c "$package/bin/../lib/" || true)
((taken > 10)) || fail "only $taken libraries are taken from the package"

status=0
said=$(cd / && plain "$package/bin/voxloc-run-tests" --engine cpu --results "$folder/results") ||
  status=$?
grep -q '"suite": "clients/cpp", "program": "client_test", "engine": "", "passed": [1-9]' \
  "$folder/results/suites.json" || fail "the sums of the suites: $(cat "$folder/results/suites.json")"
[[ $status == 0 && $(tail -n 1 <<<"$said") =~ ^[1-9][0-9]*\ passed,\ 0\ failed,\ 0\ skipped$ ]] ||
  fail "the tests: status $status, $said"
printf '#!/bin/sh\nexit 3\n' >"$package/tests/client_test"
status=0
said=$(plain "$package/bin/voxloc-run-tests" --results "$folder/results") || status=$?
[[ $status == 1 && $(tail -n 1 <<<"$said") == "0 passed, 1 failed, 0 skipped" ]] ||
  fail "a program that fails: status $status, $said"

((failures > 0)) || echo ok
exit $((failures > 0))
