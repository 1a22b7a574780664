# SPDX-License-Identifier: Apache-2.0
# Functions that define the CMake targets of the modules.

# What continuous integration builds in this preset: see voxloc_add_test.
add_custom_target(ci)

# voxloc_library(NAME module SOURCES a.cc ... LINK targets... [PRIVATE_LINK targets...] [PCH kind]
#   [UNITY])
# A static library `voxloc_module` with the alias `voxloc::module`; headers are found from the
# repository's root ("core/geometry/pose.h"). Without SOURCES it is header-only. PCH: its
# precompiled headers (cmake/VoxlocCompileTime.cmake; default: core). UNITY: its sources are
# compiled together, for sources whose time goes into headers; sanitizer builds do it everywhere.
function(voxloc_library)
  cmake_parse_arguments(ARG "UNITY" "NAME;PCH" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  voxloc_check_arguments(voxloc_library)
  set(target voxloc_${ARG_NAME})
  if(ARG_SOURCES)
    add_library(${target} STATIC ${ARG_SOURCES})
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
    target_link_libraries(${target} PUBLIC ${ARG_LINK} PRIVATE ${ARG_PRIVATE_LINK})
    target_compile_options(${target} PRIVATE
      ${VOXLOC_WARNINGS} "$<$<COMPILE_LANGUAGE:CUDA>:${VOXLOC_CUDA_FLAGS}>")
    voxloc_shorten_build(${target})
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
    target_link_libraries(${target} INTERFACE ${ARG_LINK})
  endif()
  add_library(voxloc::${ARG_NAME} ALIAS ${target})
endfunction()

# voxloc_executable(NAME program SOURCES ... LINK ... [PCH kind] [UNITY])
# A program in <build>/bin; `cmake --install` takes it along.
function(voxloc_executable)
  cmake_parse_arguments(ARG "UNITY" "NAME;PCH" "SOURCES;LINK" ${ARGN})
  voxloc_check_arguments(voxloc_executable)
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_include_directories(${ARG_NAME} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_LINK})
  target_compile_options(${ARG_NAME} PRIVATE ${VOXLOC_WARNINGS})
  voxloc_show_locks(${ARG_NAME})
  voxloc_shorten_build(${ARG_NAME})
  if(NOT VOXLOC_SANITIZE)
    add_dependencies(ci ${ARG_NAME})
  endif()
  install(TARGETS ${ARG_NAME} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# voxloc_add_test(NAME name SOURCES ... LINK ... [SANITIZE address|thread...] [DEFINITIONS ...]
#   [PROGRAMS ...] [TIMEOUT seconds] [SERIAL] [BUILD_TREE] [PCH kind])
# One GoogleTest program, one CTest entry of the same name, in <build>/tests.
# SANITIZE: where continuous integration runs it. `address` (codecs, requests, memory, plumbing): in
# the preset asan instead of release. `thread` (concurrency): in the preset tsan as well. Without:
# in release (heavy numerics, programs that ship). Every preset can build and run every test.
# TIMEOUT: seconds after which it has failed, 120 by default; a longer one needs a comment with the reason.
# SERIAL: no other test runs at the same time (for tests that measure time). PROGRAMS: targets that it starts,
# built before it. BUILD_TREE: it reads files of the build or source tree, so scripts/package leaves
# it out. PCH: its precompiled headers; gtest by default, or what the folder sets as VOXLOC_TEST_PCH.
# Tests find real data through VOXLOC_DATA_DIR and VOXLOC_GOLDEN_DIR when they run;
# VOXLOC_SOURCE_DIR is the tree they came from.
# Its labels are the folders it lies in: a test of tests/core/ndt has `core` and `core/ndt`
# (`ctest -L core`), and `ci` or `not-ci`, by whether continuous integration runs it in this preset;
# the target suite-core builds all with the label `core`, the target `ci` all with the label `ci`.
# Its results go to <build>/test-results/<name>.xml, where scripts/test counts.
function(voxloc_add_test)
  cmake_parse_arguments(ARG "SERIAL;BUILD_TREE" "NAME;TIMEOUT;PCH"
    "SOURCES;LINK;SANITIZE;DEFINITIONS;PROGRAMS" ${ARGN})
  voxloc_check_arguments(voxloc_add_test)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * ${VOXLOC_TEST_TIMEOUT_FACTOR}")
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_include_directories(${ARG_NAME} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest_main)
  voxloc_show_locks(${ARG_NAME})
  target_compile_options(${ARG_NAME} PRIVATE ${VOXLOC_WARNINGS})
  target_compile_definitions(${ARG_NAME} PRIVATE
    VOXLOC_SOURCE_DIR="${PROJECT_SOURCE_DIR}" ${ARG_DEFINITIONS})
  set_target_properties(${ARG_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(ARG_PROGRAMS)
    add_dependencies(${ARG_NAME} ${ARG_PROGRAMS})
  endif()
  if(NOT ARG_PCH)
    set(ARG_PCH gtest)
    if(VOXLOC_TEST_PCH)
      set(ARG_PCH ${VOXLOC_TEST_PCH})
    endif()
  endif()
  set(ARG_UNITY ON)
  voxloc_shorten_build(${ARG_NAME})

  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME})
  set(environment "GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/test-results/${ARG_NAME}.xml")
  if(VOXLOC_SANITIZE)
    list(APPEND environment
      "UBSAN_OPTIONS=print_stacktrace=1"
      "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/lsan.supp:print_suppressions=0"
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
  voxloc_is_for_ci(in_ci "${ARG_SANITIZE}")
  if(in_ci)
    list(APPEND labels ci)
    add_dependencies(ci ${ARG_NAME})
  else()
    list(APPEND labels not-ci)
  endif()
  set_tests_properties(${ARG_NAME} PROPERTIES
    TIMEOUT ${ARG_TIMEOUT} RUN_SERIAL ${ARG_SERIAL}
    ENVIRONMENT "${environment}" LABELS "${labels}")
  set_property(GLOBAL APPEND PROPERTY VOXLOC_GTEST_PROGRAMS ${ARG_NAME})
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

# Lets ThreadSanitizer see the locks of the distribution's abseil (tests/support/tsan_abseil.cc).
function(voxloc_show_locks program)
  if(VOXLOC_SANITIZE MATCHES thread)
    target_link_libraries(${program} PRIVATE $<TARGET_NAME_IF_EXISTS:voxloc_tsan_abseil>)
  endif()
endfunction()

# Of ARG_PCH and ARG_UNITY of the calling function.
macro(voxloc_shorten_build target)
  if(NOT ARG_PCH)
    set(ARG_PCH core)
  endif()
  voxloc_precompile(${target} ${ARG_PCH})
  if(ARG_UNITY OR VOXLOC_SANITIZE)
    voxloc_compile_together(${target})
  endif()
endmacro()

# Whether continuous integration runs a test declared with SANITIZE `kinds` in this build.
function(voxloc_is_for_ci result kinds)
  set(in_ci OFF)
  if(VOXLOC_SANITIZE MATCHES "(address|thread)")
    if(CMAKE_MATCH_1 IN_LIST kinds)
      set(in_ci ON)
    endif()
  elseif(NOT "address" IN_LIST kinds)
    set(in_ci ON)
  endif()
  set(${result} ${in_ci} PARENT_SCOPE)
endfunction()
