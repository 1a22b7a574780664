# SPDX-License-Identifier: Apache-2.0
# Language level, build type, output folders, sanitizers, warnings, ccache.

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
include(GNUInstallDirs)

# Programs look for shared libraries in ../lib first, which scripts/package fills. As DT_RPATH, the
# older kind, it holds for the libraries of libraries as well.
set(CMAKE_INSTALL_RPATH "\$ORIGIN/../lib")
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
add_link_options(-Wl,--disable-new-dtags)

# gRPC asks for -pthread and GoogleTest does not; said once here, all precompiled headers fit all.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-pthread>")

# lld links a program in a fifth of the time of GNU ld. A compiler for another machine looks for one
# of that machine's name, which Debian does not have.
find_program(VOXLOC_LLD ld.lld)
mark_as_advanced(VOXLOC_LLD)
if(VOXLOC_LLD AND NOT CMAKE_CROSSCOMPILING)
  add_link_options(-fuse-ld=lld)
endif()

# One formula has the same bits wherever it is compiled into: without this the compiler fuses products
# with sums as it sees fit. The shipped x86-64 has no fused operations; kernels choose for themselves.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>")
endif()

# ccache, when it is there. It takes the headers of a source from the compiler (CCACHE_DEPEND), not by
# preprocessing it once more. Precompiled headers need the sloppiness named here (ccache's manual,
# "Precompiled headers"): without it every file that uses one is compiled again.
find_program(VOXLOC_CCACHE ccache)
mark_as_advanced(VOXLOC_CCACHE)
if(VOXLOC_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    ${VOXLOC_CCACHE})
endif()

# Sanitizers and warnings are for C++ only: cuda/ chooses its own, nvcc spells them differently.
if(VOXLOC_SANITIZE)
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${VOXLOC_SANITIZE};-fno-omit-frame-pointer>")
  add_link_options(-fsanitize=${VOXLOC_SANITIZE})
  if(VOXLOC_SANITIZE MATCHES "undefined")
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=undefined>")
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      add_compile_options(
        "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/ubsan.ignore>")
    endif()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC's flow analysis loses its way in instrumented code and warns of what is not there.
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>")
  endif()
endif()

set(VOXLOC_WARNINGS -Wall -Wextra -Wconversion -Wshadow)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # GCC's -Wconversion does not have it for C++.
  list(APPEND VOXLOC_WARNINGS -Wno-sign-conversion)
endif()
if(VOXLOC_WERROR)
  list(APPEND VOXLOC_WARNINGS -Werror)
endif()
list(TRANSFORM VOXLOC_WARNINGS REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:\\1>")
