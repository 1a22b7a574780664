# SPDX-License-Identifier: Apache-2.0
# How a room of the house becomes a CMake target.

# voxloc_library(NAME room SOURCES a.cc ... LINK targets... [PRIVATE_LINK targets...])
# A static library `voxloc_room` with the alias `voxloc::room`; headers are found from the
# repository's root ("core/geometry/pose.h"). Without SOURCES it is header-only.
function(voxloc_library)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  voxloc_check_arguments(voxloc_library)
  set(target voxloc_${ARG_NAME})
  if(ARG_SOURCES)
    add_library(${target} STATIC ${ARG_SOURCES})
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(${target} PUBLIC ${ARG_LINK} PRIVATE ${ARG_PRIVATE_LINK})
    target_compile_options(${target} PRIVATE
      ${VOXLOC_WARNINGS} "$<$<COMPILE_LANGUAGE:CUDA>:${VOXLOC_CUDA_FLAGS}>")
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${target} INTERFACE ${ARG_LINK})
  endif()
  add_library(voxloc::${ARG_NAME} ALIAS ${target})
endfunction()

# voxloc_executable(NAME program SOURCES ... LINK ...)
# A program in <build>/bin; `cmake --install` takes it along.
function(voxloc_executable)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;LINK" ${ARGN})
  voxloc_check_arguments(voxloc_executable)
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_include_directories(${ARG_NAME} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_LINK})
  target_compile_options(${ARG_NAME} PRIVATE ${VOXLOC_WARNINGS})
  install(TARGETS ${ARG_NAME} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# voxloc_add_test(NAME name SOURCES ... LINK ... [DEFINITIONS ...] [PROGRAMS ...] [TIMEOUT seconds]
#   [SERIAL] [BUILD_TREE])
# One GoogleTest program, one CTest entry of the same name, in <build>/tests. PROGRAMS: targets that
# it starts, built before it. SERIAL: nothing else runs beside it (for what measures time).
# BUILD_TREE: it reads files of the build or source tree, so scripts/package leaves it out.
# Tests find real data through VOXLOC_DATA_DIR and VOXLOC_GOLDEN_DIR when they run;
# VOXLOC_SOURCE_DIR is the tree they came from.
# Its labels are the folders it lies in: a test of tests/core/ndt has `core` and `core/ndt`
# (`ctest -L core`); the target suite-core builds all with the label `core`. Its results go to
# <build>/test-results/<name>.xml, where scripts/test counts.
function(voxloc_add_test)
  cmake_parse_arguments(ARG "SERIAL;BUILD_TREE" "NAME;TIMEOUT" "SOURCES;LINK;DEFINITIONS;PROGRAMS" ${ARGN})
  voxloc_check_arguments(voxloc_add_test)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 900)
  endif()
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_include_directories(${ARG_NAME} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest_main)
  target_compile_options(${ARG_NAME} PRIVATE ${VOXLOC_WARNINGS})
  target_compile_definitions(${ARG_NAME} PRIVATE
    VOXLOC_SOURCE_DIR="${PROJECT_SOURCE_DIR}" ${ARG_DEFINITIONS})
  set_target_properties(${ARG_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(ARG_PROGRAMS)
    add_dependencies(${ARG_NAME} ${ARG_PROGRAMS})
  endif()
  voxloc_reuse_pch(${ARG_NAME} gtest)

  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME})
  set(environment "GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/test-results/${ARG_NAME}.xml")
  if(VOXLOC_SANITIZE)
    list(APPEND environment
      "UBSAN_OPTIONS=print_stacktrace=1"
      "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/tsan.supp:halt_on_error=1")
  endif()
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/tests ${CMAKE_CURRENT_SOURCE_DIR})
  if(NOT ARG_BUILD_TREE)
    set_property(GLOBAL APPEND PROPERTY VOXLOC_PORTABLE_TESTS "${ARG_NAME} ${folder}")
  endif()
  set(labels)
  while(folder AND NOT folder MATCHES "^\\.\\.")
    list(PREPEND labels ${folder})
    string(REPLACE "/" "-" suite suite-${folder})
    if(NOT TARGET ${suite})
      add_custom_target(${suite})
    endif()
    add_dependencies(${suite} ${ARG_NAME})
    get_filename_component(folder "${folder}" DIRECTORY)
  endwhile()
  set_tests_properties(${ARG_NAME} PROPERTIES
    TIMEOUT ${ARG_TIMEOUT} RUN_SERIAL ${ARG_SERIAL}
    ENVIRONMENT "${environment}" LABELS "${labels}")
  set_property(GLOBAL APPEND PROPERTY VOXLOC_GTEST_PROGRAMS ${ARG_NAME})
endfunction()

# voxloc_precompile_grpc(target): call it for a target that links voxloc::proto and most of whose
# sources include the contract's generated headers. These and gRPC's own are then compiled once for
# all such targets, which saves half to two thirds of the time of a typical source. A source must
# still include what it uses: sanitizer builds have no precompiled headers and check that.
function(voxloc_precompile_grpc target)
  voxloc_reuse_pch(${target} grpc)
endfunction()

# --- inner workings -------------------------------------------------------------------------------

# Stops with the words that a call could not place, and on a missing NAME.
macro(voxloc_check_arguments function)
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR 
      "${function}(NAME ${ARG_NAME}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_NAME)
    message(FATAL_ERROR "${function}: NAME is missing")
  endif()
endmacro()

set(VOXLOC_PCH_HEADERS_grpc
  <grpcpp/grpcpp.h> <google/protobuf/message.h> <absl/status/statusor.h> <absl/strings/str_cat.h>
  <voxloc/v1/localization_service.grpc.pb.h> <voxloc/v1/map_service.grpc.pb.h>
  <voxloc/v1/admin_service.grpc.pb.h>)
set(VOXLOC_PCH_LINK_grpc voxloc::proto absl::statusor absl::strings)
set(VOXLOC_PCH_HEADERS_gtest <gmock/gmock.h> <gtest/gtest.h>)
set(VOXLOC_PCH_LINK_gtest GTest::gmock GTest::gtest)

# Lets the target use the precompiled headers of that kind. There is one set for libraries and one
# for programs, made when first asked for: a compiler takes a precompiled header only with the
# flags it was made with, and those two differ in -fPIC and -fPIE.
function(voxloc_reuse_pch target kind)
  if(NOT VOXLOC_PCH OR VOXLOC_SANITIZE)
    return()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    return()
  endif()
  if(type STREQUAL "EXECUTABLE")
    set(owner voxloc_pch_${kind}_program)
  else()
    set(owner voxloc_pch_${kind}_library)
  endif()
  if(NOT TARGET ${owner})
    set(empty ${CMAKE_BINARY_DIR}/pch/${owner}.cc)
    if(NOT EXISTS ${empty})
      file(WRITE ${empty} "// SPDX-License-Identifier: Apache-2.0\n")
    endif()
    add_library(${owner} OBJECT ${empty})
    target_link_libraries(${owner} PRIVATE ${VOXLOC_PCH_LINK_${kind}})
    target_compile_options(${owner} PRIVATE ${VOXLOC_WARNINGS})
    target_precompile_headers(${owner} PRIVATE ${VOXLOC_PCH_HEADERS_${kind}})
    if(type STREQUAL "EXECUTABLE")
      set_target_properties(${owner} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${owner} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fPIE>)
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND VOXLOC_CCACHE)
      target_compile_options(${owner} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
    endif()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A target with flags of its own may not be able to use it: that costs time, it is no error.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-error=invalid-pch>)
    if(VOXLOC_CCACHE)
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
