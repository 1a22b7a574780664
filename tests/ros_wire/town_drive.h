// SPDX-License-Identifier: Apache-2.0
//
// A drive of 300 scans through a simulated town: the map, the scans and the true poses as voxloc
// simulate writes them, with stamps of a clock that runs, and a guess for each scan as a filter of
// the vehicle would have it.

#ifndef VOXLOC_TESTS_ROS_WIRE_TOWN_DRIVE_H_
#define VOXLOC_TESTS_ROS_WIRE_TOWN_DRIVE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "clients/dataset/trajectory_file.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"

namespace voxloc::ros_wire {

inline constexpr int kDriveScans = 300;

struct TownDrive {
  std::filesystem::path map;  // Autoware's map directory
  std::filesystem::path scans;
  std::filesystem::path poses;    // the truth, format tum
  std::filesystem::path guesses;  // likewise
  std::vector<PointCloud> clouds;
  std::vector<voxloc::StampedPose> truth;    // of map_T_base; the base is the sensor
  std::vector<voxloc::StampedPose> guessed;  // as it is read back from `guesses`
};

// Simulates it into the folder. A fatal failure of the test where it cannot.
void MakeTownDrive(const std::filesystem::path& folder, TownDrive* drive);

}  // namespace voxloc::ros_wire

#endif  // VOXLOC_TESTS_ROS_WIRE_TOWN_DRIVE_H_
