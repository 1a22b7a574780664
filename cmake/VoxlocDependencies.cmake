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

voxloc_find(Threads)
voxloc_find(absl CONFIG)
voxloc_find(Protobuf)
voxloc_find(Eigen3 3.3 CONFIG)
voxloc_find(OpenSSL COMPONENTS Crypto)

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
voxloc_find(civetweb CONFIG)
voxloc_find(ZLIB)
voxloc_find(BZip2)
voxloc_find(spdlog CONFIG)
voxloc_find(yaml-cpp CONFIG)
voxloc_find(CLI11 CONFIG)
voxloc_find(nlohmann_json CONFIG)
voxloc_find(SQLite3 3.35)
voxloc_find(CURL)

# liblzf has a CMake package in Debian 12; elsewhere the header and the library are enough.
find_package(liblzf CONFIG QUIET)
if(NOT TARGET liblzf::liblzf)
  find_path(VOXLOC_LZF_INCLUDE lzf.h PATH_SUFFIXES liblzf)
  find_library(VOXLOC_LZF_LIBRARY lzf)
  mark_as_advanced(VOXLOC_LZF_INCLUDE VOXLOC_LZF_LIBRARY)
  if(NOT VOXLOC_LZF_INCLUDE OR NOT VOXLOC_LZF_LIBRARY)
    message(FATAL_ERROR "liblzf was not found. Run scripts/install-dependencies.")
  endif()
  add_library(liblzf::liblzf UNKNOWN IMPORTED)
  set_target_properties(liblzf::liblzf PROPERTIES
    IMPORTED_LOCATION ${VOXLOC_LZF_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${VOXLOC_LZF_INCLUDE})
endif()

# So has zstd, with a target for the shared library.
find_package(zstd CONFIG QUIET)
if(NOT TARGET zstd::libzstd_shared)
  find_path(VOXLOC_ZSTD_INCLUDE zstd.h)
  find_library(VOXLOC_ZSTD_LIBRARY zstd)
  mark_as_advanced(VOXLOC_ZSTD_INCLUDE VOXLOC_ZSTD_LIBRARY)
  if(NOT VOXLOC_ZSTD_INCLUDE OR NOT VOXLOC_ZSTD_LIBRARY)
    message(FATAL_ERROR "zstd was not found. Run scripts/install-dependencies.")
  endif()
  add_library(zstd::libzstd_shared UNKNOWN IMPORTED)
  set_target_properties(zstd::libzstd_shared PROPERTIES
    IMPORTED_LOCATION ${VOXLOC_ZSTD_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${VOXLOC_ZSTD_INCLUDE})
endif()

# lz4 has a CMake package in newer distributions.
find_package(lz4 CONFIG QUIET)
if(NOT TARGET lz4::lz4)
  find_path(VOXLOC_LZ4_INCLUDE lz4frame.h)
  find_library(VOXLOC_LZ4_LIBRARY lz4)
  mark_as_advanced(VOXLOC_LZ4_INCLUDE VOXLOC_LZ4_LIBRARY)
  if(NOT VOXLOC_LZ4_INCLUDE OR NOT VOXLOC_LZ4_LIBRARY)
    message(FATAL_ERROR "lz4 was not found. Run scripts/install-dependencies.")
  endif()
  add_library(lz4::lz4 UNKNOWN IMPORTED)
  set_target_properties(lz4::lz4 PROPERTIES
    IMPORTED_LOCATION ${VOXLOC_LZ4_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${VOXLOC_LZ4_INCLUDE})
endif()

# GeographicLib has a CMake package in some distributions; in Debian the headers and the library are
# what there is.
find_package(GeographicLib CONFIG QUIET)
if(NOT TARGET GeographicLib::GeographicLib)
  find_path(VOXLOC_GEOGRAPHIC_INCLUDE GeographicLib/UTMUPS.hpp)
  find_library(VOXLOC_GEOGRAPHIC_LIBRARY NAMES GeographicLib Geographic)
  mark_as_advanced(VOXLOC_GEOGRAPHIC_INCLUDE VOXLOC_GEOGRAPHIC_LIBRARY)
  if(NOT VOXLOC_GEOGRAPHIC_INCLUDE OR NOT VOXLOC_GEOGRAPHIC_LIBRARY)
    message(FATAL_ERROR "GeographicLib was not found. Run scripts/install-dependencies.")
  endif()
  add_library(GeographicLib::GeographicLib UNKNOWN IMPORTED)
  set_target_properties(GeographicLib::GeographicLib PROPERTIES
    IMPORTED_LOCATION ${VOXLOC_GEOGRAPHIC_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${VOXLOC_GEOGRAPHIC_INCLUDE})
endif()

if(VOXLOC_BUILD_TESTS)
  voxloc_find(GTest)
endif()
