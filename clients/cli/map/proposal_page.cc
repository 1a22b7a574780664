// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map/proposal_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"

namespace voxloc::cli {
namespace {

// Tiles of the map within it of a proposed one are shown with it.
constexpr double kBesideM = 10.0;
// Large enough to be seen from above a tile, and smaller than what is proposed.
constexpr double kShownCubeM = 0.2;

bool IsBeside(const Bounds& a, const Bounds& b) {
  return a.finite_points > 0 && b.finite_points > 0 &&
         (a.min.array() <= b.max.array() + kBesideM).head<2>().all() &&
         (b.min.array() <= a.max.array() + kBesideM).head<2>().all();
}

using Point = std::array<double, 3>;

std::set<Point> PointsOf(const PointCloud& cloud) {
  std::set<Point> points;
  for (size_t i = 0; i < cloud.size(); ++i) {
    const Eigen::Vector3d point = cloud.Point(i);
    if (cloud.IsFinite(i)) points.insert({point.x(), point.y(), point.z()});
  }
  return points;
}

// The cubes in which `points` has some that `other` has not.
void AddCubes(const std::set<Point>& points, const std::set<Point>& other, std::set<Point>& cubes) {
  for (const Point& point : points) {
    if (other.count(point) > 0) continue;
    Point middle;
    for (size_t axis = 0; axis < 3; ++axis) {
      middle[axis] = kShownCubeM * (std::floor(point[axis] / kShownCubeM) + 0.5);
    }
    cubes.insert(middle);
  }
}

MapViewLayer LayerOf(const std::string& name, const std::string& color,
                     const std::set<Point>& cubes) {
  std::vector<Eigen::Vector3d> middles;
  for (const Point& cube : cubes) middles.emplace_back(cube.data());
  return CubeLayer(name, color, kShownCubeM, middles);
}

}  // namespace

MapView ProposalView(const MapTiles& before,
                     const std::map<std::string, std::shared_ptr<const PointCloud>>& proposed,
                     const Json& evidence) {
  MapView view(kDefaultViewPoints);
  std::set<Point> came;
  std::set<Point> went;
  std::vector<Bounds> changed;
  std::set<std::string> old_ids;
  for (const auto& [id, cloud] : proposed) {
    changed.push_back(ComputeBounds(*cloud));
    view.AddTile(id, *cloud);
  }
  for (const MapTile& tile : before.tiles) {
    old_ids.insert(tile.id);
    const auto found = proposed.find(tile.id);
    if (found != proposed.end()) {
      const std::set<Point> old_points = PointsOf(*tile.cloud_map);
      const std::set<Point> new_points = PointsOf(*found->second);
      AddCubes(new_points, old_points, came);
      AddCubes(old_points, new_points, went);
      continue;
    }
    const Bounds bounds = ComputeBounds(*tile.cloud_map);
    if (std::any_of(changed.begin(), changed.end(),
                    [&](const Bounds& one) { return IsBeside(one, bounds); })) {
      view.AddTile(tile.id, *tile.cloud_map);
    }
  }
  for (const auto& [id, cloud] : proposed) {
    if (old_ids.count(id) == 0) AddCubes(PointsOf(*cloud), {}, came);
  }
  view.layers = {LayerOf("joins", "--good", came), LayerOf("leaves", "--bad", went)};
  view.proposal = evidence;
  view.headline = absl::StrCat("Proposed for ", before.text);
  view.subline = absl::StrFormat(
      "%d tiles by %d drives, and the tiles beside them. A change is shown by %d drives over %g "
      "hours or more",
      proposed.size(), evidence["drives"].size(), evidence["rule"]["min_passes"].get<int>(),
      evidence["rule"]["min_hours"].get<double>());
  // Their names, or of new tiles how many.
  const Json& left_out = evidence["unconfirmed_tiles"];
  const size_t count = left_out.is_array() ? left_out.size() : left_out.get<size_t>();
  if (count > 0) {
    view.notes.push_back(absl::StrCat(
        "Left out, since held-out scans do not confirm them: ", count, " tiles",
        left_out.is_array()
            ? absl::StrCat(", ", absl::StrJoin(left_out.get<std::vector<std::string>>(), ", "))
            : "",
        "."));
  }
  for (const size_t drive : evidence["disagreeing_drives"].get<std::vector<size_t>>()) {
    view.notes.push_back(absl::StrCat("The drive ",
                                      evidence["drives"][drive]["name"].get<std::string>(),
                                      " disagrees with the others and was left out."));
  }
  view.made_at_ns = absl::GetCurrentTimeNanos();
  view.client_version = VOXLOC_VERSION;
  return view;
}

}  // namespace voxloc::cli
