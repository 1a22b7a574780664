# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the tests of the installed libraries share. They run in the source folder, and have set `build`
# and `folder`, a scratch folder.
# shellcheck disable=SC2154

failures=0
fail() { echo "FAILED $1"; failures=$((failures + 1)); }

# install_and_build COMPONENT EXAMPLE: installs the component of the build into $folder/prefix, which
# names no source folder, and builds the project with it in $folder/example.
install_and_build() {
  cmake --install "$build" --component "$1" --prefix "$folder/prefix" >"$folder/install.log"
  if grep -q "$PWD" -r "$folder/prefix" --include='*.cmake' --include='*.pc' --include='*.h'; then
    fail 'the package names the source folder'
  fi
  cmake -G Ninja -S "$2" -B "$folder/example" -DCMAKE_PREFIX_PATH="$folder/prefix" \
    -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" >"$folder/configure.log"
  cmake --build "$folder/example" >"$folder/build.log" 2>&1 || { cat "$folder/build.log"; fail 'CMake'; }
}

# build_by_pkg_config MODULE SOURCE: compiles the source to $folder/by_pkg_config; false where there is no
# pkg-config.
build_by_pkg_config() {
  command -v pkg-config >/dev/null || return
  local flags
  # A compiler's flags are words.
  read -ra flags <<<"$(PKG_CONFIG_PATH=$(dirname "$(find "$folder/prefix" -name "$1.pc")") \
    pkg-config --cflags --libs "$1")"
  c++ -std=c++17 "$2" -o "$folder/by_pkg_config" "${flags[@]}" || fail 'pkg-config'
}
