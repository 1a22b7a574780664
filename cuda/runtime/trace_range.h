// SPDX-License-Identifier: Apache-2.0
//
// TraceRange: names what a thread does, to the end of the scope, in the timelines of Nsight Systems
// and in the filters of Nsight Compute (docs/performance.md, "Profiling"). Without such a tool it
// costs a comparison.

#ifndef VOXLOC_CUDA_RUNTIME_TRACE_RANGE_H_
#define VOXLOC_CUDA_RUNTIME_TRACE_RANGE_H_

#include <nvtx3/nvtx3.hpp>

namespace voxloc::cuda {

struct TraceDomain {
  static constexpr const char* name = "voxloc";
};
using TraceRange = nvtx3::scoped_range_in<TraceDomain>;

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_RUNTIME_TRACE_RANGE_H_
