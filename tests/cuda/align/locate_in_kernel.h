// SPDX-License-Identifier: Apache-2.0
//
// Where a scan point lies on a lattice, as kernels find it: in double, and in pairs of floats.

#ifndef VOXLOC_TESTS_CUDA_ALIGN_LOCATE_IN_KERNEL_H_
#define VOXLOC_TESTS_CUDA_ALIGN_LOCATE_IN_KERNEL_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cuda/runtime/device.h"

namespace voxloc::cuda {

struct PointOnLattice {
  double rotation[3][3];  // map_R_base
  double translation[3];  // map_t_base, m
  float point[3];         // base frame, m
  double cell_size_m;
  bool float_transform;  // as the reference has it
};

// The cell along each axis, and metres from its low corner.
struct PlaceInCell {
  int cell[3];
  float local[3];
};
struct BothPlaces {
  PlaceInCell in_double;
  PlaceInCell in_float_pairs;
};

[[nodiscard]] absl::StatusOr<std::vector<BothPlaces>> LocateInKernel(
    const std::shared_ptr<Device>& device, absl::Span<const PointOnLattice> points);

}  // namespace voxloc::cuda

#endif  // VOXLOC_TESTS_CUDA_ALIGN_LOCATE_IN_KERNEL_H_
