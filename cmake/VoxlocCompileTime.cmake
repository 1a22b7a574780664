# SPDX-License-Identifier: Apache-2.0
# What shortens a build: sources that are compiled together (VOXLOC_UNITY) and, with clang, precompiled
# headers (VOXLOC_PCH). Both hide a missing #include; the preset `lint` has neither and finds it.

# voxloc_precompile(target kind): lets the target use the precompiled headers of that kind.
#   core        Eigen, abseil and the standard library
#   numerics    the same
#   grpc        core, gRPC and the generated contract; the target must link voxloc::proto
#   gtest       core and GoogleTest
#   gtest_grpc  grpc and GoogleTest
# Only with clang: GCC maps some hundred megabytes into each compilation and is slower with them than
# without. Each kind is compiled once, when a target first asks for it. Programs are compiled as
# position-independent code like the libraries, so that one set of headers fits both.
#
# The kind also says how much is optimized: tests little, and in sanitizer builds nothing but
# numerics, the loops over points and cells, which takes half the time.
function(voxloc_precompile target kind)
  if(NOT DEFINED VOXLOC_PCH_HEADERS_${kind})
    message(FATAL_ERROR "${target}: there is no kind '${kind}' of precompiled headers")
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    return()
  endif()
  target_compile_options(${target} PRIVATE ${VOXLOC_OPTIONS_${kind}})
  if(NOT VOXLOC_PCH OR NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    return()
  endif()
  if(type STREQUAL "EXECUTABLE")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fPIC>)
  endif()
  set(owner voxloc_pch_${kind})
  if(NOT TARGET ${owner})
    set(empty ${CMAKE_BINARY_DIR}/pch/${owner}.cc)
    if(NOT EXISTS ${empty})
      file(WRITE ${empty} "// SPDX-License-Identifier: Apache-2.0\n")
    endif()
    add_library(${owner} OBJECT ${empty})
    target_link_libraries(${owner} PRIVATE ${VOXLOC_PCH_LINK_${kind}})
    target_compile_options(${owner} PRIVATE
      ${VOXLOC_WARNINGS} ${VOXLOC_PCH_OPTIONS} ${VOXLOC_OPTIONS_${kind}})
    target_precompile_headers(${owner} PRIVATE ${VOXLOC_PCH_HEADERS_${kind}})
  endif()
  target_compile_options(${target} PRIVATE ${VOXLOC_PCH_OPTIONS})
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()

# voxloc_compile_together(target): the compiler reads the target's sources in groups of up to 30, as
# one source each. Two of a group must not give one name to two things in an anonymous namespace. To be
# called from the folder that defines the target.
function(voxloc_compile_together target)
  get_target_property(type ${target} TYPE)
  if(NOT VOXLOC_UNITY OR type STREQUAL "INTERFACE_LIBRARY")
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 30)
endfunction()

set(VOXLOC_PCH_HEADERS_core
  <algorithm> <array> <chrono> <cmath> <cstdint> <filesystem> <fstream> <functional> <iostream>
  <limits> <map> <memory> <optional> <random> <set> <string> <thread> <utility> <vector>
  <Eigen/Cholesky> <Eigen/Core> <Eigen/Eigenvalues> <Eigen/Geometry> <Eigen/LU>
  <absl/container/flat_hash_map.h> <absl/functional/function_ref.h> <absl/status/statusor.h>
  <absl/strings/str_cat.h> <absl/strings/str_format.h> <absl/strings/str_join.h>
  <absl/synchronization/mutex.h> <absl/time/clock.h> <absl/types/span.h>)
set(VOXLOC_PCH_LINK_core
  Eigen3::Eigen absl::flat_hash_map absl::function_ref absl::span absl::status absl::statusor
  absl::str_format absl::strings absl::synchronization absl::time)
set(VOXLOC_PCH_HEADERS_numerics ${VOXLOC_PCH_HEADERS_core})
set(VOXLOC_PCH_LINK_numerics ${VOXLOC_PCH_LINK_core})
set(VOXLOC_PCH_HEADERS_grpc
  ${VOXLOC_PCH_HEADERS_core} <grpcpp/grpcpp.h> <google/protobuf/message.h>
  <voxloc/v1/localization_service.grpc.pb.h> <voxloc/v1/map_service.grpc.pb.h>
  <voxloc/v1/admin_service.grpc.pb.h>)
set(VOXLOC_PCH_LINK_grpc ${VOXLOC_PCH_LINK_core} voxloc::proto)
set(VOXLOC_PCH_HEADERS_gtest ${VOXLOC_PCH_HEADERS_core} <gmock/gmock.h> <gtest/gtest.h>)
set(VOXLOC_PCH_LINK_gtest ${VOXLOC_PCH_LINK_core} GTest::gmock GTest::gtest)
set(VOXLOC_PCH_HEADERS_gtest_grpc ${VOXLOC_PCH_HEADERS_grpc} <gmock/gmock.h> <gtest/gtest.h>)
set(VOXLOC_PCH_LINK_gtest_grpc ${VOXLOC_PCH_LINK_grpc} GTest::gmock GTest::gtest)

# For tests and for what only reads flags and writes texts. At -O1 GCC's flow analysis warns of what is
# not there.
set(VOXLOC_LITTLE_OPTIMIZED
  $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>
  $<$<AND:$<CONFIG:Release>,$<COMPILE_LANG_AND_ID:CXX,GNU>>:-Wno-maybe-uninitialized>)

if(VOXLOC_SANITIZE)
  set(VOXLOC_OPTIONS_core $<$<COMPILE_LANGUAGE:CXX>:-O0>)
  set(VOXLOC_OPTIONS_grpc ${VOXLOC_OPTIONS_core})
  set(VOXLOC_OPTIONS_gtest ${VOXLOC_OPTIONS_core})
else()
  set(VOXLOC_OPTIONS_gtest ${VOXLOC_LITTLE_OPTIMIZED})
endif()
set(VOXLOC_OPTIONS_gtest_grpc ${VOXLOC_OPTIONS_gtest})

# The file has no times of headers in it, which a cache of compilations would keep.
set(VOXLOC_PCH_OPTIONS "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
