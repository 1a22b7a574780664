// SPDX-License-Identifier: Apache-2.0

#include "cuda/align/point_transform.cuh"
#include "tests/cuda/align/locate_in_kernel.h"
#include "tests/cuda/run_in_kernel.cuh"

namespace voxloc::cuda {
namespace {

template <typename Transform>
__device__ PlaceInCell LocateBy(const PointOnLattice& in, const StageTerms& stage) {
  ndt::Rotation<double> rotation;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) rotation.m[i][j] = in.rotation[i][j];
  }
  Transform map_T_base;
  map_T_base.Set(rotation, {in.translation[0], in.translation[1], in.translation[2]}, stage);
  const LocatedPoint located = map_T_base.Locate(in.point[0], in.point[1], in.point[2], stage);
  return {{located.cell[0], located.cell[1], located.cell[2]},
          {located.local[0], located.local[1], located.local[2]}};
}

struct Locate {
  using In = PointOnLattice;
  using Out = BothPlaces;
  __device__ static void Run(const In& in, Out& out) {
    StageTerms stage{};
    stage.blocks.cell_size_m = in.cell_size_m;
    stage.inverse_cell_size = 1.0 / in.cell_size_m;
    stage.cell_size_m = static_cast<float>(in.cell_size_m);
    stage.float_transform = in.float_transform;
    out.in_double = LocateBy<DoubleTransform>(in, stage);
    out.in_float_pairs = LocateBy<FloatPairTransform>(in, stage);
  }
};

}  // namespace

absl::StatusOr<std::vector<BothPlaces>> LocateInKernel(const std::shared_ptr<Device>& device,
                                                       absl::Span<const PointOnLattice> points) {
  return RunInKernel<Locate>(device, points);
}

}  // namespace voxloc::cuda
