# SPDX-License-Identifier: Apache-2.0
# Every library comes from the distribution; docs/dependencies.md says why each is there.

# voxloc_find(name [arguments of find_package]): find_package with an error that says what to do.
macro(voxloc_find name)
  find_package(${name} ${ARGN} QUIET)
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR
      "${name} was not found. scripts/install-dependencies installs everything that voxloc needs "
      "on Debian and Ubuntu; docs/building.md lists the packages.")
  endif()
endmacro()

# voxloc_find_plain(name target HEADER file [FOLDER dir] LIBRARY names...): defines `target` by the
# CMake package `name`, or where there is none by the header, also looked for in FOLDER, and the
# library.
function(voxloc_find_plain name target)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "HEADER;FOLDER" "LIBRARY")
  find_package(${name} CONFIG QUIET)
  if(TARGET ${target})
    return()
  endif()
  find_path(VOXLOC_${name}_INCLUDE ${ARG_HEADER} PATH_SUFFIXES ${ARG_FOLDER})
  find_library(VOXLOC_${name}_LIBRARY NAMES ${ARG_LIBRARY})
  mark_as_advanced(VOXLOC_${name}_INCLUDE VOXLOC_${name}_LIBRARY)
  if(NOT VOXLOC_${name}_INCLUDE OR NOT VOXLOC_${name}_LIBRARY)
    message(FATAL_ERROR "${name} was not found. scripts/install-dependencies installs everything "
      "that voxloc needs on Debian and Ubuntu; docs/building.md lists the packages.")
  endif()
  add_library(${target} UNKNOWN IMPORTED)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION ${VOXLOC_${name}_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${VOXLOC_${name}_INCLUDE})
endfunction()

voxloc_find(Threads)
voxloc_find(absl CONFIG)
voxloc_find(Protobuf)
voxloc_find(Eigen3 3.3 CONFIG)
voxloc_find(OpenSSL COMPONENTS Crypto SSL)

# gRPC 1.30 of Ubuntu 22.04 has no CMake package, only pkg-config's.
find_package(gRPC CONFIG QUIET)
if(NOT TARGET gRPC::grpc++)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(VOXLOC_GRPC QUIET IMPORTED_TARGET grpc++)
  endif()
  if(NOT TARGET PkgConfig::VOXLOC_GRPC)
    message(FATAL_ERROR "gRPC was not found. Run scripts/install-dependencies, or rosdep for the "
      "ROS package.")
  endif()
  add_library(gRPC::grpc++ INTERFACE IMPORTED)
  target_link_libraries(gRPC::grpc++ INTERFACE PkgConfig::VOXLOC_GRPC)
endif()

# The client, and what it needs alone.
if(VOXLOC_CLIENT_ONLY)
  return()
endif()

voxloc_find(prometheus-cpp CONFIG)
voxloc_find(ZLIB)
voxloc_find(BZip2)
voxloc_find(spdlog CONFIG)
voxloc_find(yaml-cpp CONFIG)
voxloc_find(CLI11 CONFIG)
voxloc_find(nlohmann_json CONFIG)
voxloc_find(SQLite3 3.35)
voxloc_find(PostgreSQL 14)

# Have a CMake package in some distributions only.
voxloc_find_plain(liblzf liblzf::liblzf HEADER lzf.h FOLDER liblzf LIBRARY lzf)
voxloc_find_plain(zstd zstd::libzstd_shared HEADER zstd.h LIBRARY zstd)
voxloc_find_plain(lz4 lz4::lz4 HEADER lz4frame.h LIBRARY lz4)
# Sanitizers bring their own allocator.
if(NOT VOXLOC_SANITIZE)
  voxloc_find_plain(tcmalloc gperftools::tcmalloc_minimal
    HEADER malloc_extension.h FOLDER gperftools LIBRARY tcmalloc_minimal)
endif()
voxloc_find_plain(GeographicLib GeographicLib::GeographicLib
  HEADER GeographicLib/UTMUPS.hpp LIBRARY GeographicLib Geographic)

if(VOXLOC_BUILD_TESTS)
  voxloc_find(GTest)
endif()
