#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# scripts/install-dependencies with a package manager that only writes down what it is asked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
fail() { echo "FAILED $1"; failures=$((failures + 1)); }

mkdir "$folder/bin"
# Everything is installed but what stands in the file `missing`.
cat >"$folder/bin/dpkg-query" <<'EOF'
#!/bin/sh
for last in "$@"; do :; done
if grep -qxF "$last" "$VOXLOC_TEST_FOLDER/missing"; then echo not-installed; else echo installed; fi
EOF
cat >"$folder/bin/apt-get" <<'EOF'
#!/bin/sh
echo "$*" >>"$VOXLOC_TEST_FOLDER/asked"
EOF
cat >"$folder/bin/sudo" <<'EOF'
#!/bin/sh
[ "$1" != -n ] || shift
exec "$@"
EOF
chmod +x "$folder"/bin/*
export VOXLOC_TEST_FOLDER=$folder PATH=$folder/bin:$PATH

: >"$folder/missing"
scripts/install-dependencies >/dev/null </dev/null || fail "all there: an error"
[[ ! -e $folder/asked ]] || fail "all there: apt-get was called"
scripts/install-dependencies --check >/dev/null || fail "all there: --check finds something"

printf 'liblzf-dev\nlibgtest-dev\n' >"$folder/missing"
[[ $(scripts/install-dependencies --check) == $'liblzf-dev\nlibgtest-dev' ]] || fail "--check lists"
[[ $(scripts/install-dependencies --no-tests --check) == liblzf-dev ]] || fail "--no-tests"
[[ ! -e $folder/asked ]] || fail "--check installed something"

scripts/install-dependencies >/dev/null </dev/null || fail "two missing: an error"
grep -q ' update$' "$folder/asked" || fail "the package lists were not refreshed"
grep -q ' install -y --no-install-recommends liblzf-dev libgtest-dev$' "$folder/asked" ||
  fail "not just what was missing is installed: $(cat "$folder/asked")"

printf 'shellcheck\nlibgtest-dev\nclang-tidy\n' >"$folder/missing"
[[ $(scripts/install-dependencies --ci --check) == $'libgtest-dev\nshellcheck' ]] || fail "--ci"
[[ $(scripts/install-dependencies --ci --no-tests --check) == shellcheck ]] || fail "--ci --no-tests"
[[ $(scripts/install-dependencies --tools --ci --check) == $'libgtest-dev\nclang-tidy\nshellcheck' ]] ||
  fail "--tools --ci names a package twice or leaves one out"

rm -f "$folder/asked"
listed=$(scripts/install-dependencies --list --no-tests --release)
[[ $listed == g++$'\n'* && $listed == *$'\nmkdocs-material\n'* && $listed != *libgtest-dev* ]] || fail "--list: $listed"
[[ ! -e $folder/asked ]] || fail "--list installed something"

status=0
scripts/install-dependencies --nonsense >/dev/null 2>&1 || status=$?
[[ $status == 2 ]] || fail "an unknown option: status $status"

((failures > 0)) || echo ok
exit $((failures > 0))
