// SPDX-License-Identifier: Apache-2.0

#include "server/maps/residency/residency_check.h"

#include "absl/strings/str_cat.h"
#include "server/errors/error_details.h"

namespace voxloc::server {
namespace {

// Tiles around a place are there within some tenths of a second.
constexpr double kRetryS = 0.5;

}  // namespace

TileResidency::Counts ResidencyCheck::Record(const MapView& view,
                                             const Eigen::Vector3d& position_map,
                                             const Eigen::Vector3d& velocity_map) {
  PlaceInUse place;
  place.position = position_map.head<2>();
  place.velocity = velocity_map.head<2>();
  place.seen = PlacesInUse::Clock::now();
  const bool is_new = places_.Record(view.snapshot->name, place);
  if (view.snapshot->residency == nullptr) return {};
  const TileResidency::Counts counts =
      view.snapshot->residency->Within(place.position, options_.lidar_radius_m);
  if (is_new || counts.missing > 0) residency_.Wake();
  return counts;
}

absl::Status ResidencyCheck::EnsureResident(const MapView& view, const Eigen::Vector2d& min,
                                            const Eigen::Vector2d& max) {
  const MapSnapshot& snapshot = *view.snapshot;
  const Bounds& bounds = snapshot.tiles.bounds();
  if (bounds.finite_points == 0) return absl::OkStatus();
  const Eigen::Vector2d map_min = bounds.min.head<2>();
  const Eigen::Vector2d map_max = bounds.max.head<2>();
  const Eigen::Vector2d box_min = min.cwiseMax(map_min).cwiseMin(map_max);
  const Eigen::Vector2d box_max = max.cwiseMax(map_min).cwiseMin(map_max);
  const PlacesInUse::Clock::time_point now = PlacesInUse::Clock::now();
  if (snapshot.residency == nullptr) {
    // So that its tiles stay where others make room.
    static_cast<void>(places_.RecordBox(snapshot.name, box_min, box_max, now));
    return absl::OkStatus();
  }
  const Eigen::Vector2d reach = Eigen::Vector2d::Constant(options_.lidar_radius_m);
  const auto counts = snapshot.residency->Touching(box_min - reach, box_max + reach);
  const bool noted = FitsInMemory(view, box_min, box_max) &&
                     places_.RecordBox(snapshot.name, box_min, box_max, now);
  if (counts.missing == 0) return absl::OkStatus();
  if (!noted && residency_.full()) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "map ", snapshot.name, " is larger than the server's memory for maps: ", counts.missing,
            " of the ", counts.missing + counts.resident + counts.damaged,
            " tiles that are asked for are not there; ask for a smaller region")),
        "MAP_NOT_WHOLE", {{"map", snapshot.name}});
  }
  residency_.Wake();
  return TilesLoadingError(snapshot.name, DescribeMissing(snapshot.name, counts));
}

bool ResidencyCheck::FitsInMemory(const MapView& view, const Eigen::Vector2d& min,
                                  const Eigen::Vector2d& max) const {
  const TileResidency& residency = *view.snapshot->residency;
  if (residency.all().resident == 0) return true;
  const Eigen::Vector2d reach = Eigen::Vector2d::Constant(options_.map_radius_m);
  const auto wanted = residency.Touching(min - reach, max + reach);
  const double bytes_per_tile =
      static_cast<double>(view.MemoryBytes()) / static_cast<double>(residency.all().resident);
  return bytes_per_tile * static_cast<double>(wanted.resident + wanted.missing) <=
         static_cast<double>(residency_.max_bytes());
}

std::string DescribeMissing(absl::string_view map, const TileResidency::Counts& counts) {
  return absl::StrCat("map ", map, " is being loaded there: ", counts.missing, " of ",
                      counts.missing + counts.resident + counts.damaged, " tiles are missing");
}

absl::Status TilesLoadingError(absl::string_view map, absl::string_view detail) {
  return WithRetryAfter(
      WithReason(absl::UnavailableError(detail), "MAP_LOADING", {{"map", std::string(map)}}),
      kRetryS);
}

}  // namespace voxloc::server
