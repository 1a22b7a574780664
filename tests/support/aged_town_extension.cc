// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/container/flat_table.h"
#include "core/status/try.h"
#include "tests/support/aged_town.h"
#include "tests/support/scene_distance.h"
#include "tests/support/seams.h"

namespace voxloc {
namespace {

constexpr double kNearNewM = 0.3;
constexpr double kSeenM = 15.0;

}  // namespace

absl::StatusOr<AgedTown::ExtensionQuality> AgedTown::JudgeExtension(
    const ExtensionProposal& proposal) {
  ExtensionQuality quality;
  for (const PlacedBeyond& placed : proposal.placed) {
    quality.placed.push_back(
        {placed.way_m, TranslationDistance(placed.map_T_base, truth_[placed.scan])});
  }
  const NearScene lasting(*lasting_);
  std::vector<UpdateTile> tiles = tiles_;
  std::vector<Bounds> bounds;
  FlatTable<CellKey, uint8_t> in_new;
  std::vector<double> distances;
  for (const NewTile& tile : proposal.tiles) {
    tiles.push_back(
        {absl::StrCat("new ", tiles.size()), std::make_shared<const PointCloud>(tile.cloud_map)});
    bounds.push_back(ComputeBounds(tile.cloud_map));
    for (size_t i = 0; i < tile.cloud_map.size(); ++i) {
      const Eigen::Vector3d point = tile.cloud_map.Point(i);
      distances.push_back(lasting.Distance(Undrifted(point)));
      const CellKey key = CellOf(point, kNearNewM);
      if (in_new.Find(key) == nullptr) in_new.Insert(key, 1);
    }
    for (const UpdateTile& other : tiles_) {
      Append(SeamOffsets(tile.cloud_map, *other.cloud_map), quality.seams_m);
    }
  }
  for (const UpdateTile& removed : removed_) {
    for (const UpdateTile& other : tiles_) {
      Append(SeamOffsets(*removed.cloud_map, *other.cloud_map), quality.removed_seams_m);
    }
  }
  quality.new_points = distances.size();
  quality.median_m = Quantile(distances, 0.5);
  quality.p95_m = Quantile(distances, 0.95);
  const auto count = [](size_t n) { return std::max<double>(1.0, static_cast<double>(n)); };
  const auto transient = std::count_if(distances.begin(), distances.end(),
                                       [](double distance_m) { return distance_m > 0.2; });
  quality.transient = static_cast<double>(transient) / count(distances.size());

  const auto is_in_new_tile = [&](const Eigen::Vector3d& point) {
    return std::any_of(bounds.begin(), bounds.end(), [&](const Bounds& box) {
      return (point.head<2>().array() >= box.min.head<2>().array()).all() &&
             (point.head<2>().array() <= box.max.head<2>().array()).all();
    });
  };
  const auto near_new = [&](const Eigen::Vector3d& point) {
    const CellKey key = CellOf(point, kNearNewM);
    for (int i = 0; i < 27; ++i) {
      if (in_new.Find({key.x + i % 3 - 1, key.y + i / 3 % 3 - 1, key.z + i / 9 - 1}) != nullptr) {
        return true;
      }
    }
    return false;
  };
  std::vector<SeenScan> beyond;
  size_t recalled = 0;
  for (SeenScan& scan : Scan(kFreshPass)) {
    if (!is_in_new_tile(scan.map_T_base.translation)) continue;
    for (size_t i = 0; i < scan.cloud.size(); i += 7) {
      if (scan.cloud.Offset(i).norm() > kSeenM) continue;
      const Eigen::Vector3d point = scan.map_T_base * scan.cloud.Point(i);
      if (!is_in_new_tile(point) || lasting.Distance(Undrifted(point)) > 0.1) continue;
      ++quality.seen;
      if (near_new(point)) ++recalled;
    }
    beyond.push_back(std::move(scan));
  }
  quality.recalled = static_cast<double>(recalled) / count(quality.seen);
  quality.scans = beyond.size();
  std::vector<UpdateTile> whole = tiles_;
  whole.insert(whole.end(), removed_.begin(), removed_.end());
  VOXLOC_ASSIGN_OR_RETURN(const auto whole_map, Compose(whole));
  VOXLOC_ASSIGN_OR_RETURN(const auto new_map, Compose(tiles));
  quality.error_new_m = MedianError(beyond, new_map);
  quality.error_fresh_m = MedianError(beyond, whole_map);
  return quality;
}

}  // namespace voxloc
