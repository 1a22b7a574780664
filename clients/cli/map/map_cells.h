// SPDX-License-Identifier: Apache-2.0
//
// The cells of a map: the Gaussians that scans are matched with, as the server streams them.

#ifndef VOXLOC_CLIENTS_CLI_MAP_MAP_CELLS_H_
#define VOXLOC_CLIENTS_CLI_MAP_MAP_CELLS_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cpp/channel.h"
#include "core/geometry/pose.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::cli {

struct MapCell {
  Eigen::Vector3i index = Eigen::Vector3i::Zero();  // it spans [index, index + 1) * cell_size_m
  uint32_t points = 0;
  Eigen::Vector3d mean_map = Eigen::Vector3d::Zero();
  Eigen::Matrix3d covariance_map = Eigen::Matrix3d::Identity();  // m^2, as it is matched with
};

// Calls `take` with every cell of a part of an answer, until an error of its own. Internal: the
// arrays of the answer have different sizes.
[[nodiscard]] absl::Status ForEachCell(const v1::GetCellsResponse& part,
                                       absl::FunctionRef<absl::Status(const MapCell&)> take);

// Which cells of a map: those of a stage of a profile.
struct CellChoice {
  std::string map;
  std::string profile;
  uint32_t stage = 0;
};

// The cells around a drive, at least kCellReach_m from each pose on x and y. Of more than
// kMaxDriveCells every n-th, so that fewer are left; `all` is how many there are. `timeout_s`: for
// each message.
inline constexpr double kCellReach_m = 40.0;
inline constexpr size_t kMaxDriveCells = 100'000;
struct DriveCells {
  std::vector<MapCell> cells;
  size_t all = 0;
};
[[nodiscard]] absl::StatusOr<DriveCells> CellsAlong(const client::Channel& channel,
                                                    const CellChoice& choice,
                                                    const std::vector<Pose>& map_T_base,
                                                    double timeout_s);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_MAP_CELLS_H_
