// SPDX-License-Identifier: Apache-2.0
//
// Scan preparation: a raw scan thinned by a voxel grid.

#include <memory>

#include "absl/strings/str_cat.h"
#include "core/cloud/filters.h"
#include "tests/bench/gpu_row.h"
#include "tests/bench/synthetic_data.h"

namespace voxloc::bench {
namespace {

constexpr double kLeafM = 1.0;
constexpr double kMinRangeM = 1.0;
constexpr double kMaxRangeM = 100.0;
constexpr size_t kPoints = 120'000;  // of one turn of a sensor with 128 beams
constexpr double kExtentM = 100.0;

}  // namespace

std::vector<Row> FilterRows() {
  Row row;
  row.name = absl::StrCat("filter a raw scan of ", kPoints, " points");
  row.item = "points";
  row.prepare = [](Engine& engine) -> absl::StatusOr<Call> {
    auto clouds = std::make_shared<std::vector<PointCloud>>();
    for (uint64_t seed = 0; seed < 4; ++seed) {
      clouds->push_back(SyntheticCloud(kPoints, kExtentM, seed));
    }
    return Call([clouds, &engine](size_t round) -> absl::StatusOr<CallResult> {
      const PointCloud& cloud = (*clouds)[round % clouds->size()];
      FilterOptions options;
      options.min_range_m = kMinRangeM;
      options.max_range_m = kMaxRangeM;
      options.voxel_leaf_m = kLeafM;
      CallResult call;
      absl::Status status;
      call.ms =
          TimeMs([&] { status = engine.Filter(cloud, options, WorkClass::kTracking).status(); });
      if (!status.ok()) return status;
      call.items = static_cast<double>(cloud.size());
      return call;
    });
  };
  return {row};
}

}  // namespace voxloc::bench
