// SPDX-License-Identifier: Apache-2.0
//
// VOXLOC_HD marks a formula that the CPU and the GPU share.
//
// The formulas of core/ndt are templates on their numbers. T is what flows through the hot loop: a
// float, a double, or a pack of float lanes; S is the plain scalar that goes with it. They are
// always inlined, so a translation unit built for another instruction set leaves no copy behind
// that the linker could pick for a machine which lacks it.
//
// VOXLOC_HD_RARE is the same on the host; on a device it leaves one copy that is called, which
// keeps what rarely runs out of the code of every evaluation.

#ifndef VOXLOC_CORE_NDT_HOST_DEVICE_H_
#define VOXLOC_CORE_NDT_HOST_DEVICE_H_

#if defined(__CUDACC__)
#define VOXLOC_HD __host__ __device__ __forceinline__
#define VOXLOC_HD_RARE inline __host__ __device__ __noinline__
#else
#define VOXLOC_HD inline __attribute__((always_inline))
#define VOXLOC_HD_RARE VOXLOC_HD
#endif

#endif  // VOXLOC_CORE_NDT_HOST_DEVICE_H_
