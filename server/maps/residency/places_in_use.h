// SPDX-License-Identifier: Apache-2.0
//
// PlacesInUse: per map, the places where vehicles are, were recently, or are searched for. A place
// is a grid square, anonymous, so that a fleet in one street is one place. Bounded and
// thread-safe. PlanResidency: the tiles that are needed there.

#ifndef VOXLOC_SERVER_MAPS_RESIDENCY_PLACES_IN_USE_H_
#define VOXLOC_SERVER_MAPS_RESIDENCY_PLACES_IN_USE_H_

#include <Eigen/Core>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/map/tile_catalogue.h"
#include "server/config/config.h"

namespace voxloc::server {

// Seen from above, map frame.
struct PlaceInUse {
  using Clock = std::chrono::steady_clock;

  Eigen::Vector2d position = Eigen::Vector2d::Zero();  // m
  Eigen::Vector2d velocity = Eigen::Vector2d::Zero();  // m/s; zero: unknown
  Clock::time_point seen;
};

class PlacesInUse {
 public:
  using Clock = PlaceInUse::Clock;

  // How large a square is, metres.
  explicit PlacesInUse(double square_m) : square_m_(square_m) {}

  // Replaces the entry of the same square. Returns whether the square is new. Positions that are
  // not finite are ignored.
  bool Record(absl::string_view map, const PlaceInUse& place);
  // Every square of a box. False, and nothing is noted: there would be more than kMaxPerBox.
  bool RecordBox(absl::string_view map, const Eigen::Vector2d& min, const Eigen::Vector2d& max,
                 Clock::time_point seen);

  // Those seen since, the latest first.
  [[nodiscard]] std::vector<PlaceInUse> List(absl::string_view map, Clock::time_point since) const;

  // Removes, on all maps, the places not seen since.
  void EvictBefore(Clock::time_point since);

  // Of a box: 1.3 km x 1.3 km of squares of 20 m.
  static constexpr size_t kMaxPerBox = 4096;
  // Of a map: more than a fleet has vehicles. Beyond it, new ones are not noted until old ones have
  // been forgotten.
  static constexpr size_t kMaxPerMap = 65'536;

 private:
  using Square = std::pair<int64_t, int64_t>;
  using Places = absl::flat_hash_map<Square, PlaceInUse>;

  [[nodiscard]] Square SquareOf(const Eigen::Vector2d& position) const;

  const double square_m_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Places, std::less<>> places_ ABSL_GUARDED_BY(mutex_);  // by map
};

// Which tiles of a map the vehicles on it need in memory: numbers of tiles, each once. First those
// around where vehicles are, nearest first, as Autoware's dynamic map loading has it (map_radius),
// then those around where they will be soon. A pure function.
[[nodiscard]] std::vector<uint32_t> PlanResidency(const TileLayout& layout,
                                                  absl::Span<const PlaceInUse> places,
                                                  const ResidencyOptions& options);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_RESIDENCY_PLACES_IN_USE_H_
