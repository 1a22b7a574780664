# SPDX-License-Identifier: Apache-2.0
# Toolchain that compiles for AArch64 on another machine: GCC of Debian's g++-aarch64-linux-gnu, with
# the libraries of an arm64 root at VOXLOC_SYSROOT, which scripts/release-check aarch64 makes. Tests
# run in QEMU's user mode.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

if(NOT VOXLOC_SYSROOT)
  message(FATAL_ERROR "Name the arm64 root: -DVOXLOC_SYSROOT=DIR")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES VOXLOC_SYSROOT)
set(CMAKE_SYSROOT ${VOXLOC_SYSROOT})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
# Libraries of the root; programs, such as protoc, of this machine.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${VOXLOC_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${VOXLOC_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${VOXLOC_SYSROOT}/usr/share/pkgconfig)

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${VOXLOC_SYSROOT})
