# SPDX-License-Identifier: Apache-2.0
# Decides whether the CUDA engine is built. Sets VOXLOC_CUDA_ENABLED, and VOXLOC_CUDA_WHY, a few
# words for the summary at the end of the configuration.

set(VOXLOC_CUDA_ENABLED OFF)
string(TOUPPER "${VOXLOC_CUDA}" voxloc_cuda_wish)

if(voxloc_cuda_wish STREQUAL "OFF")
  set(VOXLOC_CUDA_WHY "switched off by VOXLOC_CUDA=OFF")
elseif(voxloc_cuda_wish STREQUAL "AUTO" AND VOXLOC_SANITIZE)
  set(VOXLOC_CUDA_WHY "left out of sanitizer builds; VOXLOC_CUDA=ON asks for it")
elseif(voxloc_cuda_wish STREQUAL "AUTO" OR voxloc_cuda_wish STREQUAL "ON")
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    # The toolkit's own installer does not put nvcc on the PATH.
    find_program(VOXLOC_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda
      PATH_SUFFIXES bin)
    mark_as_advanced(VOXLOC_NVCC)
    if(VOXLOC_NVCC)
      set(CMAKE_CUDA_COMPILER ${VOXLOC_NVCC})
    endif()
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # "90" is machine code for compute capability 9.0 and also PTX that newer devices
    # translate when they load it.
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 90 CACHE STRING "Compute capabilities to build for")
    endif()
    set(CMAKE_CUDA_STANDARD 17)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    if(VOXLOC_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
      set(CMAKE_CUDA_COMPILER_LAUNCHER ${VOXLOC_CCACHE})
    endif()
    # Warnings as for C++, as far as nvcc's own code generation stays quiet under them; sums and
    # products are fused as in any CUDA program. Host code gets the same warnings through -Xcompiler.
    set(VOXLOC_CUDA_FLAGS
      --expt-relaxed-constexpr -lineinfo
      # Headers with Eigen types are for the host here.
      -DEIGEN_NO_CUDA
      $<$<BOOL:${VOXLOC_CUDA_FLOAT_PAIRS}>:-DVOXLOC_CUDA_FLOAT_PAIRS>
      "-Xcompiler=-Wall,-Wextra,-Wshadow"
      $<$<BOOL:${VOXLOC_WERROR}>:-Werror=all-warnings>)
    set(VOXLOC_CUDA_ENABLED ON)
    set(VOXLOC_CUDA_WHY
      "nvcc ${CMAKE_CUDA_COMPILER_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
  elseif(voxloc_cuda_wish STREQUAL "ON")
    message(FATAL_ERROR
      "VOXLOC_CUDA=ON, but no working CUDA compiler was found. Install the CUDA toolkit and put "
      "its nvcc on the PATH, or name it: -DCMAKE_CUDA_COMPILER=/path/to/nvcc. To build the CPU "
      "engine alone: -DVOXLOC_CUDA=OFF. Details: docs/building.md, 'CUDA'.")
  else()
    set(VOXLOC_CUDA_WHY "no CUDA compiler found; VOXLOC_CUDA=ON makes that an error")
  endif()
else()
  message(FATAL_ERROR "VOXLOC_CUDA=${VOXLOC_CUDA}: allowed are AUTO, ON and OFF.")
endif()
