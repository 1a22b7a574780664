// SPDX-License-Identifier: Apache-2.0
//
// The map of a world: points spread evenly over the surfaces that a mapping vehicle could see from
// the streets, with a little noise. Insides, undersides, back yards and what is hidden are left
// out, and so is everything that moves.
//
// Each patch of surface draws its points from the seed and its own number: the same map on any
// number of threads.

#ifndef VOXLOC_CLIENTS_SIM_MAP_SAMPLER_H_
#define VOXLOC_CLIENTS_SIM_MAP_SAMPLER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "clients/sim/options.h"
#include "clients/sim/world.h"
#include "core/cloud/point_cloud.h"
#include "core/parallel/thread_pool.h"

namespace voxloc::sim {

struct MapSamplingOptions {
  uint64_t seed = 1;
  double spacing_m = 0.1;  // from point to point, about: spacing^-2 points a m^2, [0.01, 2]
  double noise_m = 0.01;   // standard deviation across the surface, [0, 1]
  double view_distance_m =
      45.0;  // surfaces farther than this from every street are left out, [5, 200]
  // Of 12 bytes on the disk while a map is cut into tiles, and again in its tiles.
  size_t max_points = 1'000'000'000;
};

[[nodiscard]] OptionRows ListOptions(const MapSamplingOptions& options);

// done of total work items; called from any thread, one call at a time.
using SampleProgress = std::function<void(size_t done, size_t total)>;

// Takes the next points of a map; an error ends the sampling with it.
using PointReceiver = std::function<absl::Status(PointCloud part)>;

// Hands the map to `receive` part after part, in the world's frame, around a zero origin; memory
// holds a few million points at a time. ResourceExhausted when the map would have more than
// max_points.
[[nodiscard]] absl::Status SampleMapInParts(const World& world, const MapSamplingOptions& options,
                                            ThreadPool& pool, const PointReceiver& receive,
                                            const SampleProgress& progress = nullptr);

// 0: as many as the machine has cores.
[[nodiscard]] inline size_t ThreadCount(int threads) {
  return threads > 0 ? static_cast<size_t>(threads)
                     : std::max<size_t>(1, std::thread::hardware_concurrency());
}

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_MAP_SAMPLER_H_
