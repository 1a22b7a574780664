# SPDX-License-Identifier: Apache-2.0
# The last words of the configuration, and the lists of test programs for scripts/test and
# scripts/package.

get_property(programs GLOBAL PROPERTY VOXLOC_GTEST_PROGRAMS)
list(JOIN programs "\n" programs)
file(WRITE ${CMAKE_BINARY_DIR}/gtest-programs.txt "${programs}\n")
get_property(programs GLOBAL PROPERTY VOXLOC_PORTABLE_TESTS)
list(JOIN programs "\n" programs)
file(WRITE ${CMAKE_BINARY_DIR}/portable-tests.txt "${programs}\n")

# Tests of the server may start it.
if(TARGET suite-server AND TARGET voxlocd)
  add_dependencies(suite-server voxlocd)
endif()

if(TARGET voxloc_cuda)
  set(engines "cpu, cuda (${VOXLOC_CUDA_WHY})")
else()
  set(engines "cpu (CUDA: ${VOXLOC_CUDA_WHY})")
endif()
message(STATUS "voxloc ${PROJECT_VERSION}: ${CMAKE_BUILD_TYPE}, engines: ${engines}")
if(VOXLOC_SANITIZE)
  message(STATUS "voxloc sanitizers: ${VOXLOC_SANITIZE}")
endif()
