// SPDX-License-Identifier: Apache-2.0
//
// ResidencyCheck: checks whether the part of a map that a request needs is in memory, and requests
// the missing tiles. Cheap if the map is fully resident. Thread-safe.

#ifndef VOXLOC_SERVER_MAPS_RESIDENCY_RESIDENCY_CHECK_H_
#define VOXLOC_SERVER_MAPS_RESIDENCY_RESIDENCY_CHECK_H_

#include <Eigen/Core>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/map/tile_catalogue.h"
#include "server/config/config.h"
#include "server/maps/residency/places_in_use.h"
#include "server/maps/residency/residency.h"
#include "server/maps/resident_maps.h"

namespace voxloc::server {

class ResidencyCheck {
 public:
  ResidencyCheck(const ResidencyOptions& options, PlacesInUse& places, Residency& residency)
      : options_(options), places_(places), residency_(residency) {}

  // For a session on this map: its tiles stay in memory, as far as they fit, until the result is
  // destroyed.
  [[nodiscard]] std::shared_ptr<void> Hold(absl::string_view map) {
    residency_.Wake();
    return places_.Hold(map);
  }

  // Records a vehicle's position and velocity (map frame, m/s; zero: unknown), and counts the tiles
  // within lidar_radius_m. All counts are zero if the map is fully resident.
  [[nodiscard]] TileResidency::Counts Record(const MapView& view,
                                             const Eigen::Vector3d& position_map,
                                             const Eigen::Vector3d& velocity_map);

  // Ok where all tiles within lidar_radius_m of the box are in memory, as far as they can be.
  // Unavailable, with a time to try again after: they are being loaded. FailedPrecondition: there
  // is no memory for so many.
  [[nodiscard]] absl::Status EnsureResident(const MapView& view, const Eigen::Vector2d& min,
                                            const Eigen::Vector2d& max);

 private:
  // Whether the tiles around the box could be in memory together, as far as is known.
  [[nodiscard]] bool FitsInMemory(const MapView& view, const Eigen::Vector2d& min,
                                  const Eigen::Vector2d& max) const;

  const ResidencyOptions options_;
  PlacesInUse& places_;
  Residency& residency_;
};

// A message text.
[[nodiscard]] std::string DescribeMissing(absl::string_view map,
                                          const TileResidency::Counts& counts);
// The error of a request that needs tiles not yet loaded: Unavailable with a retry delay.
[[nodiscard]] absl::Status TilesLoadingError(absl::string_view map, absl::string_view detail);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_RESIDENCY_RESIDENCY_CHECK_H_
