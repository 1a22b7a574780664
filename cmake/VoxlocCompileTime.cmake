# SPDX-License-Identifier: Apache-2.0
# What shortens a build: precompiled headers (VOXLOC_PCH) and sources that are compiled together
# (VOXLOC_UNITY). Both hide a missing #include; the preset `lint` has neither and finds it.

# voxloc_precompile(target kind): lets the target use the precompiled headers of that kind.
#   core        Eigen, abseil and the standard library
#   grpc        core, gRPC and the generated contract; the target must link voxloc::proto
#   gtest       core and GoogleTest
#   gtest_grpc  grpc and GoogleTest
# Sources of tests are compiled without optimization in sanitizer builds, which takes half the time.
# Each kind is compiled once, when a target first asks for it. Programs are compiled as
# position-independent code like the libraries, so that one set of headers fits both.
function(voxloc_precompile target kind)
  if(NOT VOXLOC_PCH)
    return()
  endif()
  if(NOT DEFINED VOXLOC_PCH_HEADERS_${kind})
    message(FATAL_ERROR "${target}: there is no kind '${kind}' of precompiled headers")
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
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
  target_compile_options(${target} PRIVATE ${VOXLOC_PCH_OPTIONS} ${VOXLOC_OPTIONS_${kind}})
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()

# voxloc_compile_together(target): the compiler reads its sources in groups, as one source each. Two
# of them must then not give one name to two things in an anonymous namespace.
function(voxloc_compile_together target)
  get_target_property(type ${target} TYPE)
  if(VOXLOC_UNITY AND NOT type STREQUAL "INTERFACE_LIBRARY")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
  endif()
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
set(VOXLOC_PCH_HEADERS_grpc
  ${VOXLOC_PCH_HEADERS_core} <grpcpp/grpcpp.h> <google/protobuf/message.h>
  <voxloc/v1/localization_service.grpc.pb.h> <voxloc/v1/map_service.grpc.pb.h>
  <voxloc/v1/admin_service.grpc.pb.h>)
set(VOXLOC_PCH_LINK_grpc ${VOXLOC_PCH_LINK_core} voxloc::proto)
set(VOXLOC_PCH_HEADERS_gtest ${VOXLOC_PCH_HEADERS_core} <gmock/gmock.h> <gtest/gtest.h>)
set(VOXLOC_PCH_LINK_gtest ${VOXLOC_PCH_LINK_core} GTest::gmock GTest::gtest)
set(VOXLOC_PCH_HEADERS_gtest_grpc ${VOXLOC_PCH_HEADERS_grpc} <gmock/gmock.h> <gtest/gtest.h>)
set(VOXLOC_PCH_LINK_gtest_grpc ${VOXLOC_PCH_LINK_grpc} GTest::gmock GTest::gtest)

if(VOXLOC_SANITIZE)
  set(VOXLOC_OPTIONS_gtest $<$<COMPILE_LANGUAGE:CXX>:-O0>)
  set(VOXLOC_OPTIONS_gtest_grpc ${VOXLOC_OPTIONS_gtest})
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A target with flags of its own may not be able to use them: that costs time, it is no error.
  set(VOXLOC_PCH_OPTIONS $<$<COMPILE_LANGUAGE:CXX>:-Wno-error=invalid-pch>)
  if(VOXLOC_CCACHE)
    list(APPEND VOXLOC_PCH_OPTIONS $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()
