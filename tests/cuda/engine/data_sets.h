// SPDX-License-Identifier: Apache-2.0
//
// Maps and scans to compare engines on: synthetic ones, real ones and the golden sets.

#ifndef VOXLOC_TESTS_CUDA_ENGINE_DATA_SETS_H_
#define VOXLOC_TESTS_CUDA_ENGINE_DATA_SETS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"

namespace voxloc {

struct PlacedScan {
  std::shared_ptr<const PointCloud> cloud;
  Pose map_T_base;  // the truth, or nearly
};

struct DataSet {
  std::vector<PointCloud> tiles;
  std::vector<PlacedScan> scans;
};

// Synthetic and real sets.
std::vector<std::string> DataSetNames();
// One a golden set that is there when the program runs.
std::vector<std::string> GoldenDataSetNames();

// NotFound where there is no real data.
absl::StatusOr<DataSet> LoadDataSet(const std::string& name);

// The set with its map's zero moved: every coordinate of the map grows by `offset_m`.
DataSet Moved(DataSet set, const Eigen::Vector3d& offset_m);

}  // namespace voxloc

#endif  // VOXLOC_TESTS_CUDA_ENGINE_DATA_SETS_H_
