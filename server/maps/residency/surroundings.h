// SPDX-License-Identifier: Apache-2.0
//
// Surroundings: asks, for a request, whether the part of a map that it needs is in memory, and has
// what is missing loaded. Costs next to nothing where the map is there whole. Thread-safe.

#ifndef VOXLOC_SERVER_MAPS_RESIDENCY_SURROUNDINGS_H_
#define VOXLOC_SERVER_MAPS_RESIDENCY_SURROUNDINGS_H_

#include <Eigen/Core>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/geometry/pose.h"
#include "core/map/tile_residency.h"
#include "server/config/config.h"
#include "server/maps/residency/places_in_use.h"
#include "server/maps/residency/residency.h"
#include "server/maps/resident_maps.h"

namespace voxloc::server {

class Surroundings {
 public:
  Surroundings(const ResidencyOptions& options, PlacesInUse& places, Residency& residency)
      : options_(options), places_(places), residency_(residency) {}

  // Of a scan: notes that a vehicle is here, at this velocity (map frame, m/s; zero: not known),
  // and counts the tiles within lidar_radius_m. All zero where the map is in memory whole.
  [[nodiscard]] TileResidency::Counts Note(const MapView& view, const Eigen::Vector3d& position_map,
                                           const Eigen::Vector3d& velocity_map);

  // Ok where all tiles within lidar_radius_m of the box are in memory, as far as they can be.
  // Unavailable, with a time to try again after: they are being loaded. FailedPrecondition: there
  // is no memory for so many.
  [[nodiscard]] absl::Status Require(const MapView& view, const Eigen::Vector2d& min,
                                     const Eigen::Vector2d& max);

 private:
  // Whether the tiles around the box could be in memory together, as far as is known.
  [[nodiscard]] bool CanHold(const MapView& view, const Eigen::Vector2d& min,
                             const Eigen::Vector2d& max) const;

  const ResidencyOptions options_;
  PlacesInUse& places_;
  Residency& residency_;
};

// For people.
[[nodiscard]] std::string DescribeMissing(absl::string_view map,
                                          const TileResidency::Counts& counts);
// What a request is answered that needs tiles which are not there yet: Unavailable, with a time to
// try again after.
[[nodiscard]] absl::Status TilesBeingLoaded(absl::string_view map, absl::string_view detail);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_RESIDENCY_SURROUNDINGS_H_
