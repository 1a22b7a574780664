// SPDX-License-Identifier: Apache-2.0
//
// PlacesInUse: per map, when it was used last, and the places where vehicles are, were recently, or
// are searched for. A place is a grid square, anonymous, so that a fleet in one street is one
// place. Bounded and thread-safe. PlanResidency: the tiles that are needed there.

#ifndef VOXLOC_SERVER_MAPS_RESIDENCY_PLACES_IN_USE_H_
#define VOXLOC_SERVER_MAPS_RESIDENCY_PLACES_IN_USE_H_

#include <Eigen/Core>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
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

  // Keeps the map in use until the result is destroyed, which must be before this object is.
  [[nodiscard]] std::shared_ptr<void> Hold(absl::string_view map);
  // When the map was used last, by a place or a hold: max() while it is held, min() if that is not
  // known.
  [[nodiscard]] Clock::time_point LastUse(absl::string_view map) const;

  // Those seen since, the latest first.
  [[nodiscard]] std::vector<PlaceInUse> List(absl::string_view map, Clock::time_point since) const;

  // Removes, on all maps, the places not seen since, and forgets maps not used since `used_since`.
  void EvictBefore(Clock::time_point since, Clock::time_point used_since);

  // Of a box: 1.3 km x 1.3 km of squares of 20 m.
  static constexpr size_t kMaxPerBox = 4096;
  // Of a map: more than a fleet has vehicles. Beyond it, new ones are not noted until old ones have
  // been forgotten.
  static constexpr size_t kMaxPerMap = 65'536;

 private:
  using Square = std::pair<int64_t, int64_t>;
  struct MapUse {
    absl::flat_hash_map<Square, PlaceInUse> places;
    size_t holds = 0;
    Clock::time_point last = Clock::time_point::min();  // without holds
  };

  [[nodiscard]] Square SquareOf(const Eigen::Vector2d& position) const;

  const double square_m_;
  mutable absl::Mutex mutex_;
  std::map<std::string, MapUse, std::less<>> maps_ ABSL_GUARDED_BY(mutex_);
};

// Which tiles of a map the vehicles on it need in memory: numbers of tiles, each once. First those
// around where vehicles are, nearest first, as Autoware's dynamic map loading has it (map_radius),
// then those around where they will be soon. A pure function.
[[nodiscard]] std::vector<uint32_t> PlanResidency(const TileLayout& layout,
                                                  absl::Span<const PlaceInUse> places,
                                                  const ResidencyOptions& options);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_RESIDENCY_PLACES_IN_USE_H_
