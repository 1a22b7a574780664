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
failures=0
fail() { echo "FAILED $1"; failures=$((failures + 1)); }

cmake --install "$build" --component library --prefix "$folder/prefix" >"$folder/install.log"
if grep -q "$PWD" -r "$folder/prefix" --include='*.cmake' --include='*.pc' --include='*.h'; then
  fail 'the package names the source folder'
fi
cmake -G Ninja -S voxloc/example -B "$folder/example" -DCMAKE_PREFIX_PATH="$folder/prefix" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" >"$folder/configure.log"
cmake --build "$folder/example" >"$folder/build.log" 2>&1 || { cat "$folder/build.log"; fail 'CMake'; }

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

if command -v pkg-config >/dev/null; then
  # A compiler's flags are words.
  read -ra flags <<<"$(PKG_CONFIG_PATH=$(dirname "$(find "$folder/prefix" -name voxloc.pc)") \
    pkg-config --cflags --libs voxloc)"
  c++ -std=c++17 voxloc/example/track_folder.cc -o "$folder/by_pkg_config" "${flags[@]}" ||
    fail 'pkg-config'
  LD_LIBRARY_PATH=$(dirname "$(find "$folder/prefix" -name libvoxloc.so)")
  export LD_LIBRARY_PATH
  expect "$folder/by_pkg_config"
fi
((failures == 0))
