#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The client library of the build folder given, installed, is found by another project, by CMake and
# by pkg-config; what is built with it talks to a server.
set -euo pipefail
build=${1:?the build folder}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [[ ! -f $build/clients/cpp/libvoxloc_client.a || ! -x $build/bin/voxlocd ]]; then
  echo "$build has no client library or no voxlocd"
  exit 77
fi
if grep -q '^VOXLOC_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
  echo "a build with sanitizers is not for installing"
  exit 77
fi

folder=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server" 2>/dev/null; rm -rf "$folder"' EXIT
failures=0
fail() { echo "FAILED $1"; failures=$((failures + 1)); }

cmake --install "$build" --component client --prefix "$folder/prefix" >"$folder/install.log"
if grep -q "$PWD" -r "$folder/prefix" --include='*.cmake' --include='*.pc'; then
  fail 'the package names the source folder'
fi
cmake -G Ninja -S clients/cpp/example -B "$folder/example" -DCMAKE_PREFIX_PATH="$folder/prefix" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" >"$folder/configure.log"
cmake --build "$folder/example" >"$folder/build.log" 2>&1 || { cat "$folder/build.log"; fail 'CMake'; }

"$build/bin/voxlocd" --listen=127.0.0.1:0 --metrics-listen=127.0.0.1:0 --engine=cpu \
  --ready-file="$folder/ready.json" >"$folder/server.log" 2>&1 &
server=$!
for _ in $(seq 300); do
  [[ ! -s $folder/ready.json ]] || break
  sleep 0.1
done
address=$(sed -n 's/.*"listen": *"\([^"]*\)".*/\1/p' "$folder/ready.json")

# expect PROGRAM: it reaches the server, and knows why it is refused.
expect() {
  local status=0 output
  output=$("$1" "$address" nowhere scan.bin 2>&1) || status=$?
  [[ $status == 1 && $output == *'reason: MAP_NOT_FOUND'* ]] || fail "$1: status $status, $output"
}
expect "$folder/example/track_scans"

if command -v pkg-config >/dev/null; then
  # A compiler's flags are words.
  read -ra flags <<<"$(PKG_CONFIG_PATH=$(dirname "$(find "$folder/prefix" -name voxloc-client.pc)") \
    pkg-config --cflags --libs voxloc-client)"
  c++ -std=c++17 clients/cpp/example/track_scans.cc -o "$folder/by_pkg_config" "${flags[@]}" ||
    fail 'pkg-config'
  expect "$folder/by_pkg_config"
fi
((failures == 0))
