#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The library of the build folder given, installed, is found by another project, by CMake and by
# pkg-config; what is built with it follows a simulated vehicle.
set -euo pipefail
build=${1:?the build folder}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [[ ! -f $build/voxloc/libvoxloc.so || ! -x $build/bin/voxloc ]]; then
  echo "$build has no libvoxloc.so or no voxloc"
  exit 77
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tests/scripts/installed_example.sh
source tests/scripts/installed_example.sh
install_and_build library voxloc/example

"$build/bin/voxloc" simulate --size 100 --scans 12 "$folder/town" >/dev/null
read -r x y z yaw < <(awk 'NR == 1 {print $4, $8, $12, atan2($5, $1) * 180 / 3.14159265}' "$folder/town/poses.txt")

# expect PROGRAM: at every scan it is within 10 cm of the true position, in the plane.
expect() {
  "$1" "$folder/town/map" "$folder/town/scans" "$x" "$y" "$z" "$yaw" >"$folder/found.txt" 2>"$folder/errors.txt" ||
    { cat "$folder/errors.txt"; fail "$1"; }
  paste -d' ' "$folder/found.txt" "$folder/town/poses.txt" |
    awk '{dx = $2 - $12; dy = $3 - $16; if (dx * dx + dy * dy > 0.01) {print "scan " $1 ": " dx, dy; bad = 1}}
         END {exit bad || NR != 12}' || fail "$1: the poses are wrong"
}
expect "$folder/example/track_folder"

if build_by_pkg_config voxloc voxloc/example/track_folder.cc; then
  LD_LIBRARY_PATH=$(dirname "$(find "$folder/prefix" -name libvoxloc.so)")
  export LD_LIBRARY_PATH
  expect "$folder/by_pkg_config"
fi
((failures == 0))
