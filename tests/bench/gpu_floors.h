// SPDX-License-Identifier: Apache-2.0
//
// Lower bounds of a device's times: launches, transfers and bandwidths without any computation.

#ifndef VOXLOC_TESTS_BENCH_GPU_FLOORS_H_
#define VOXLOC_TESTS_BENCH_GPU_FLOORS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/dataset/summary.h"

namespace voxloc::bench {

struct Floor {
  std::string name;
  Summary ms;
  double bytes = 0.0;  // moved; 0: none worth counting
};

// Unimplemented in a build without CUDA.
[[nodiscard]] absl::StatusOr<std::vector<Floor>> MeasureFloors(int device);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_GPU_FLOORS_H_
