// SPDX-License-Identifier: Apache-2.0
//
// Follows a vehicle through a folder of scans: track_folder MAP SCANS X Y Z YAW [DEVICE]
//
// MAP is a cloud file or a folder of them; SCANS has the scans in the order of their names, in the
// vehicle's frame; X, Y, Z (m) and YAW (degrees) are where the first one was taken, roughly. Prints
// the pose of each scan as a line of TUM: number x y z qx qy qz qw.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "core/cloud/filters.h"
#include "core/cloud/io/cloud_file.h"
#include "voxloc/localizer.h"

namespace {

constexpr double kLeaf_m = 1.0;  // the edge of the voxels that a scan is thinned to

int Fail(const absl::Status& status) {
  std::cerr << "track_folder: " << status << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) {
    std::cerr << "usage: track_folder MAP SCANS X Y Z YAW [DEVICE]\n";
    return 2;
  }
  const auto map = voxloc::Map::FromFile(argv[1]);
  if (!map.ok()) return Fail(map.status());
  voxloc::LocalizerOptions options;
  if (argc > 7) options.device = argv[7];
  const auto localizer = voxloc::Localizer::Create(*map, options);
  if (!localizer.ok()) return Fail(localizer.status());

  std::vector<std::string> scans;
  for (const auto& entry : std::filesystem::directory_iterator(argv[2])) {
    scans.push_back(entry.path().string());
  }
  std::sort(scans.begin(), scans.end());

  voxloc::Pose map_T_base;
  map_T_base.translation = {std::atof(argv[3]), std::atof(argv[4]), std::atof(argv[5])};
  map_T_base.rotation =
      Eigen::AngleAxisd(std::atof(argv[6]) * M_PI / 180.0, Eigen::Vector3d::UnitZ());
  voxloc::Pose before_T_now;  // as the vehicle moved between the last two scans
  for (size_t i = 0; i < scans.size(); ++i) {
    const auto scan_base = voxloc::ReadCloud(scans[i]);
    if (!scan_base.ok()) return Fail(scan_base.status());
    const auto thinned = voxloc::VoxelDownsample(*scan_base, kLeaf_m);
    if (!thinned.ok()) return Fail(thinned.status());
    const auto found = (*localizer)->Align(*thinned, map_T_base * before_T_now);
    if (!found.ok()) return Fail(found.status());
    if (!found->accepted) {
      std::cerr << scans[i] << ": " << ToString(found->status) << ", " << found->detail << "\n";
    }
    if (i > 0) before_T_now = map_T_base.Inverse() * found->map_T_base;
    map_T_base = found->map_T_base;
    const Eigen::Vector3d& t = map_T_base.translation;
    const Eigen::Quaterniond& q = map_T_base.rotation;
    std::printf("%zu %.4f %.4f %.4f %.6f %.6f %.6f %.6f\n", i, t.x(), t.y(), t.z(), q.x(), q.y(),
                q.z(), q.w());
  }
  return 0;
}
