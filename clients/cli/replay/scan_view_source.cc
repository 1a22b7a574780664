// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/scan_view_source.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "clients/cpp/map_client.h"
#include "clients/cpp/messages.h"
#include "clients/cpp/score_client.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

// What a view from 40 m around a vehicle shows of a street; scans reach farther, with few points.
constexpr double kViewRadius_m = 40.0;
// Down to the foot of an embankment and up to the roof of a hall.
constexpr double kViewHeight_m = 30.0;
// Cells of 0.25 m that fill a box of 80 m by 80 m twice; more are not worth the wait.
constexpr size_t kMaxReceivedCells = 200'000;

absl::Status AppendCells(const v1::GetCellsResponse& part, std::vector<ViewCell>& cells) {
  const int count = part.points_size();
  if (part.mean_size() != 3 * count || part.covariance_size() != 6 * count) {
    return absl::InternalError("the server's cells have arrays of different sizes");
  }
  if (cells.size() + static_cast<size_t>(count) > kMaxReceivedCells) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a scan must have at most ", kMaxReceivedCells, " cells around it"));
  }
  for (int i = 0; i < count; ++i) {
    ViewCell cell;
    for (int axis = 0; axis < 3; ++axis) cell.mean_map[axis] = part.mean(3 * i + axis);
    int value = 6 * i;
    for (int row = 0; row < 3; ++row) {
      for (int column = row; column < 3; ++column, ++value) {
        cell.covariance_map(row, column) = static_cast<double>(part.covariance(value));
        cell.covariance_map(column, row) = cell.covariance_map(row, column);
      }
    }
    cells.push_back(cell);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ViewCell>> CellsAround(const client::MapClient& maps,
                                                  const ScanViewSetting& setting,
                                                  const Eigen::Vector3d& middle_map,
                                                  double* cell_size_m) {
  v1::GetCellsRequest request;
  request.set_map(setting.setup.map());
  request.set_profile(setting.profile.name());
  request.set_stage(setting.profile.score_stage());
  const Eigen::Vector3d reach(kViewRadius_m, kViewRadius_m, kViewHeight_m);
  client::EncodeVector(middle_map - reach, request.mutable_region()->mutable_min());
  client::EncodeVector(middle_map + reach, request.mutable_region()->mutable_max());
  std::vector<ViewCell> cells;
  const absl::StatusOr<uint64_t> revision = maps.GetCells(
      request,
      [&cells, cell_size_m](const v1::GetCellsResponse& part) {
        *cell_size_m = part.cell_size_m();
        return AppendCells(part, cells);
      },
      setting.timeout_s);
  if (!revision.ok()) return revision.status();
  return cells;
}

absl::StatusOr<std::vector<float>> ScoresAt(const client::Channel& channel,
                                            const ScanViewSetting& setting, const PointCloud& cloud,
                                            const Pose& map_T_base) {
  v1::ScoreSetup request;
  *request.mutable_setup() = setting.setup;
  // Scoring takes nothing else of what a session asks for.
  request.mutable_setup()->clear_output();
  request.mutable_setup()->mutable_output()->set_point_scores(true);
  client::EncodeCloud(cloud, request.mutable_scan()->add_clouds()->mutable_cloud());
  VOXLOC_ASSIGN_OR_RETURN(const std::unique_ptr<client::ScoreClient> scorer,
                          client::ScoreClient::Open(channel, request, setting.timeout_s));
  VOXLOC_ASSIGN_OR_RETURN(const v1::PoseScores scores, scorer->Score({map_T_base}));
  if (static_cast<size_t>(scores.point_scores_size()) != cloud.size()) {
    return absl::InternalError(absl::StrCat("the server scored ", scores.point_scores_size(),
                                            " of ", cloud.size(), " points"));
  }
  return std::vector<float>(scores.point_scores().begin(), scores.point_scores().end());
}

}  // namespace

ScanViews ViewScans(const client::Channel& channel, const ScanViewSetting& setting,
                    const std::vector<ChosenScan>& chosen, const std::vector<ReplayRow>& rows,
                    const Pose& base_T_sensor) {
  const client::MapClient maps(channel);
  ScanViews views;
  views.radius_m = kViewRadius_m;
  for (const ChosenScan& scan : chosen) {
    ScanView view;
    view.index = scan.index;
    view.map_T_base = rows[scan.index].map_T_base.value_or(Pose());
    if (views.cells_missing.empty()) {
      absl::StatusOr<std::vector<ViewCell>> cells =
          CellsAround(maps, setting, view.map_T_base.translation, &views.cell_size_m);
      if (cells.ok()) view.cells = *std::move(cells);
      views.cells_missing = std::string(cells.status().message());
    }
    if (views.scores_missing.empty()) {
      absl::StatusOr<std::vector<float>> scores =
          ScoresAt(channel, setting, scan.cloud, view.map_T_base);
      if (scores.ok()) view.scores = *std::move(scores);
      views.scores_missing = std::string(scores.status().message());
    }
    view.points_base = Transform(base_T_sensor, scan.cloud);
    views.scans.push_back(std::move(view));
  }
  return views;
}

}  // namespace voxloc::cli
