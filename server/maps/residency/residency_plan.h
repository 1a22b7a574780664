// SPDX-License-Identifier: Apache-2.0
//
// Which tiles of a map the vehicles on it need in memory, in which order: around where each is, as
// Autoware's dynamic map loading has it (map_radius), and around where it will be soon. A pure
// function.

#ifndef VOXLOC_SERVER_MAPS_RESIDENCY_RESIDENCY_PLAN_H_
#define VOXLOC_SERVER_MAPS_RESIDENCY_RESIDENCY_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/map/tile_residency.h"
#include "server/config/config.h"
#include "server/maps/residency/places_in_use.h"

namespace voxloc::server {

// Numbers of tiles, each once: those around where vehicles are, nearest first, then those around
// where they will be.
[[nodiscard]] std::vector<uint32_t> PlanResidency(const TileLayout& layout,
                                                  absl::Span<const PlaceInUse> places,
                                                  const ResidencyOptions& options);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_RESIDENCY_RESIDENCY_PLAN_H_
