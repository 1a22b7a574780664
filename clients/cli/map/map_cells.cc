// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map/map_cells.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "clients/cli/report/every_nth.h"
#include "clients/cpp/map_client.h"
#include "clients/cpp/messages.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

// The cells along a drive are asked for in squares of this edge: large enough that the calls of a
// drive of kilometres are a few dozen, small enough that little lies beyond the reach.
constexpr double kCellSquare_m = 100.0;

// Down to the foot of an embankment and up to the roof of a hall.
constexpr double kDriveHeight_m = 30.0;

}  // namespace

absl::Status ForEachCell(const v1::GetCellsResponse& part,
                         absl::FunctionRef<absl::Status(const MapCell&)> take) {
  const int count = part.points_size();
  if (part.index_size() != 3 * count || part.mean_size() != 3 * count ||
      part.covariance_size() != 6 * count) {
    return absl::InternalError("the server's cells have arrays of different sizes");
  }
  for (int i = 0; i < count; ++i) {
    MapCell cell;
    cell.points = part.points(i);
    for (int axis = 0; axis < 3; ++axis) {
      cell.index[axis] = part.index(3 * i + axis);
      cell.mean_map[axis] = part.mean(3 * i + axis);
    }
    int value = 6 * i;
    for (int row = 0; row < 3; ++row) {
      for (int column = row; column < 3; ++column, ++value) {
        cell.covariance_map(row, column) = static_cast<double>(part.covariance(value));
        cell.covariance_map(column, row) = cell.covariance_map(row, column);
      }
    }
    VOXLOC_TRY(take(cell));
  }
  return absl::OkStatus();
}

absl::StatusOr<DriveCells> CellsAlong(const client::Channel& channel, const CellChoice& choice,
                                      const std::vector<Pose>& map_T_base, double timeout_s) {
  const client::MapClient maps(channel);
  std::set<std::pair<int64_t, int64_t>> squares;
  double lowest_m = 0.0;
  double highest_m = 0.0;
  for (const Pose& pose : map_T_base) {
    const Eigen::Vector3d& at = pose.translation;
    lowest_m = squares.empty() ? at.z() : std::min(lowest_m, at.z());
    highest_m = squares.empty() ? at.z() : std::max(highest_m, at.z());
    for (const double dx : {-kCellReach_m, kCellReach_m}) {
      for (const double dy : {-kCellReach_m, kCellReach_m}) {
        squares.emplace(static_cast<int64_t>(std::floor((at.x() + dx) / kCellSquare_m)),
                        static_cast<int64_t>(std::floor((at.y() + dy) / kCellSquare_m)));
      }
    }
  }
  EveryNth<MapCell> sample(kMaxDriveCells);
  const auto take = [&sample](const MapCell& cell) {
    sample.Offer(cell);
    return absl::OkStatus();
  };
  for (const auto& [x, y] : squares) {
    v1::GetCellsRequest request;
    request.set_map(choice.map);
    request.set_profile(choice.profile);
    request.set_stage(choice.stage);
    const Eigen::Vector3d min(static_cast<double>(x) * kCellSquare_m,
                              static_cast<double>(y) * kCellSquare_m, lowest_m - kDriveHeight_m);
    const Eigen::Vector3d max(min.x() + kCellSquare_m, min.y() + kCellSquare_m,
                              highest_m + kDriveHeight_m);
    client::EncodeVector(min, request.mutable_region()->mutable_min());
    client::EncodeVector(max, request.mutable_region()->mutable_max());
    const auto receive = [&take](const v1::GetCellsResponse& part) {
      return ForEachCell(part, take);
    };
    VOXLOC_TRY(maps.GetCells(request, receive, timeout_s).status());
  }
  return DriveCells{sample.Take(), sample.offered()};
}

}  // namespace voxloc::cli
