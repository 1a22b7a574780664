# SPDX-License-Identifier: Apache-2.0
# Functions that define the CMake targets of the modules.

# What `.ci/run` and scripts/nightly build in this preset: see voxloc_add_test.
add_custom_target(gate)
add_custom_target(nightly)

# The kind of precompiled headers of a folder's libraries and programs; server/, clients/ and tests/
# set their own.
set(VOXLOC_PCH_KIND core)

# voxloc_library(NAME module SOURCES a.cc ... LINK targets... [PRIVATE_LINK targets...] [PCH kind])
# A static library `voxloc_module` with the alias `voxloc::module`; headers are found from the
# repository's root ("core/geometry/pose.h"). Without SOURCES it is header-only. PCH: its
# precompiled headers (cmake/VoxlocCompileTime.cmake); by default VOXLOC_PCH_KIND of its folder.
function(voxloc_library)
  cmake_parse_arguments(ARG "" "NAME;PCH" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
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

# voxloc_executable(NAME program SOURCES ... LINK ... [PCH kind])
# A program in <build>/bin; `cmake --install` takes it along.
function(voxloc_executable)
  cmake_parse_arguments(ARG "" "NAME;PCH" "SOURCES;LINK" ${ARGN})
  voxloc_check_arguments(voxloc_executable)
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_include_directories(${ARG_NAME} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_LINK})
  target_compile_options(${ARG_NAME} PRIVATE ${VOXLOC_WARNINGS})
  voxloc_show_locks(${ARG_NAME})
  voxloc_shorten_build(${ARG_NAME})
  if(NOT VOXLOC_SANITIZE)
    add_dependencies(nightly ${ARG_NAME})
  endif()
  install(TARGETS ${ARG_NAME} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# voxloc_add_test(NAME name SOURCES ... LINK ... [SANITIZE address|thread...] [GATE build]
#   [DEFINITIONS ...] [PROGRAMS ...] [SHARDS number] [TIMEOUT seconds] [SERIAL] [BUILD_TREE]
#   [PCH kind])
# One GoogleTest program in <build>/tests, and one CTest entry of the same name.
# SANITIZE: where else than in release it finds something, and scripts/nightly runs it. `address`
# (codecs, requests, memory, plumbing): in the preset asan. `thread` (concurrency): in the preset tsan.
# Every preset can build and run every test.
# GATE: the one preset in which `.ci/run` runs it, or `none` for what takes long, needs what a bare
# system has not, or can fail by chance on a busy machine. By default asan for what has `address`,
# tsan for `thread` alone, release for the rest.
# SHARDS: splits the cases over so many CTest entries (name_1, name_2, ...), which run side by side.
# TIMEOUT: seconds after which an entry has failed, 120 by default; a longer one needs a comment with
# the reason. SERIAL: no other test runs at the same time (for tests that measure time). PROGRAMS:
# targets that it starts, built before it. BUILD_TREE: it reads files of the build or source tree, so
# scripts/package leaves it out. PCH: its precompiled headers (gtest_grpc).
# Tests find real data through VOXLOC_DATA_DIR and VOXLOC_GOLDEN_DIR when they run;
# VOXLOC_SOURCE_DIR is the tree they came from, VOXLOC_SANITIZE the sanitizers of this build or empty.
# Its labels are the folders of its tests: one with tests in tests/core/ndt has `core` and `core/ndt`
# (`ctest -L core`), and `gate` and `nightly` where these run it in this preset; the target suite-core
# builds all with the label `core`, the targets `gate` and `nightly` all with these labels.
# Its results go to <build>/test-results/<entry>.xml, where scripts/test counts.
function(voxloc_add_test)
  cmake_parse_arguments(ARG "SERIAL;BUILD_TREE" "NAME;TIMEOUT;PCH;GATE;SHARDS"
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
    VOXLOC_SOURCE_DIR="${PROJECT_SOURCE_DIR}" VOXLOC_SANITIZE="${VOXLOC_SANITIZE}"
    ${ARG_DEFINITIONS})
  set_target_properties(${ARG_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(ARG_PROGRAMS)
    add_dependencies(${ARG_NAME} ${ARG_PROGRAMS})
  endif()
  if(NOT ARG_PCH)
    set(ARG_PCH gtest_grpc)
  endif()
  voxloc_shorten_build(${ARG_NAME})

  set(environment)
  if(VOXLOC_SANITIZE)
    list(APPEND environment
      "UBSAN_OPTIONS=print_stacktrace=1"
      "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/lsan.supp:print_suppressions=0"
      "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/tsan.supp:halt_on_error=1")
  endif()
  set(labels)
  list(FILTER ARG_SOURCES INCLUDE REGEX "_test\\.cc$")
  foreach(source IN LISTS ARG_SOURCES)
    get_filename_component(folder ${source} DIRECTORY)
    get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR}/${folder} ABSOLUTE)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/tests ${folder})
    voxloc_join_suites(labels "${folder}" ${ARG_NAME})
  endforeach()
  list(REMOVE_DUPLICATES labels)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/tests ${CMAKE_CURRENT_SOURCE_DIR})
  if(NOT ARG_BUILD_TREE)
    set_property(GLOBAL APPEND PROPERTY VOXLOC_PORTABLE_TESTS "${ARG_NAME} ${folder}")
  endif()
  voxloc_choose_runs(labels "${ARG_GATE}" "${ARG_SANITIZE}" ${ARG_NAME})
  set(entries ${ARG_NAME})
  if(ARG_SHARDS)
    set(entries)
    foreach(shard RANGE 1 ${ARG_SHARDS})
      list(APPEND entries ${ARG_NAME}_${shard})
    endforeach()
  endif()
  set(index 0)
  foreach(entry IN LISTS entries)
    add_test(NAME ${entry} COMMAND ${ARG_NAME})
    set(shard)
    if(ARG_SHARDS)
      set(shard "GTEST_TOTAL_SHARDS=${ARG_SHARDS}" "GTEST_SHARD_INDEX=${index}")
      math(EXPR index "${index} + 1")
    endif()
    set_tests_properties(${entry} PROPERTIES
      TIMEOUT ${ARG_TIMEOUT} RUN_SERIAL ${ARG_SERIAL} LABELS "${labels}" ENVIRONMENT
      "GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/test-results/${entry}.xml;${shard};${environment}")
    set_property(GLOBAL APPEND PROPERTY VOXLOC_GTEST_PROGRAMS ${entry})
  endforeach()
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

# Of ARG_PCH of the calling function.
macro(voxloc_shorten_build target)
  if(NOT ARG_PCH)
    set(ARG_PCH ${VOXLOC_PCH_KIND})
  endif()
  voxloc_precompile(${target} ${ARG_PCH})
  voxloc_compile_together(${target})
endmacro()

# Appends to the list `result` the folder of a test and those above it, and lets their targets
# suite-FOLDER build the targets that follow.
function(voxloc_join_suites result folder)
  set(folders)
  while(folder AND NOT folder MATCHES "^\\.\\.")
    list(PREPEND folders ${folder})
    string(REPLACE "/" "-" suite suite-${folder})
    if(NOT TARGET ${suite})
      add_custom_target(${suite})
    endif()
    if(ARGN)
      add_dependencies(${suite} ${ARGN})
    endif()
    get_filename_component(folder "${folder}" DIRECTORY)
  endwhile()
  set(${result} ${${result}} ${folders} PARENT_SCOPE)
endfunction()

# Appends to the list `result` which of `gate` and `nightly` run, in this build, a test declared with
# GATE and SANITIZE, and lets their targets build the targets that follow.
function(voxloc_choose_runs result gate sanitize)
  if(NOT gate)
    set(gate release)
    if("address" IN_LIST sanitize)
      set(gate asan)
    elseif(sanitize)
      set(gate tsan)
    endif()
  endif()
  set(gates release asan tsan none)
  if(NOT gate IN_LIST gates)
    message(FATAL_ERROR "GATE ${gate}: allowed are ${gates}")
  endif()
  if(VOXLOC_SANITIZE MATCHES "(address|thread)")
    set(kind ${CMAKE_MATCH_1})
    string(SUBSTRING ${kind} 0 1 build)
    string(APPEND build san)
    set(for_nightly OFF)
    if(kind IN_LIST sanitize)
      set(for_nightly ON)
    endif()
  else()
    set(build release)
    set(for_nightly ON)
  endif()
  set(runs)
  if(gate STREQUAL build)
    list(APPEND runs gate)
  endif()
  if(for_nightly)
    list(APPEND runs nightly)
  endif()
  foreach(run IN LISTS runs)
    if(ARGN)
      add_dependencies(${run} ${ARGN})
    endif()
  endforeach()
  set(${result} ${${result}} ${runs} PARENT_SCOPE)
endfunction()
