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
# shellcheck source=tests/scripts/installed_example.sh
source tests/scripts/installed_example.sh
install_and_build client clients/cpp/example

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

if build_by_pkg_config voxloc-client clients/cpp/example/track_scans.cc; then
  expect "$folder/by_pkg_config"
fi
((failures == 0))
