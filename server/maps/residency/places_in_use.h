// SPDX-License-Identifier: Apache-2.0
//
// PlacesInUse: where on each map vehicles are, were lately, and are looked for. A place is a
// square, so that a fleet in one street is one place, and nobody has a name here. Bounded and
// thread-safe.

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

  // Replaces what was noted in the same square. False: there was something. A position that is not
  // finite is not noted.
  bool Note(absl::string_view map, const PlaceInUse& place);
  // Every square of a box. False, and nothing is noted: there would be more than kMostInBox.
  bool NoteBox(absl::string_view map, const Eigen::Vector2d& min, const Eigen::Vector2d& max,
               Clock::time_point seen);

  // Those seen since, the latest first.
  [[nodiscard]] std::vector<PlaceInUse> List(absl::string_view map, Clock::time_point since) const;

  // Of all maps, those that have not been seen since.
  void Forget(Clock::time_point since);

  // Of a box: 1.3 km x 1.3 km of squares of 20 m.
  static constexpr size_t kMostInBox = 4096;
  // Of a map: more than a fleet has vehicles. Beyond it, new ones are not noted until old ones have
  // been forgotten.
  static constexpr size_t kMostOfMap = 65'536;

 private:
  using Square = std::pair<int64_t, int64_t>;
  using Places = absl::flat_hash_map<Square, PlaceInUse>;

  [[nodiscard]] Square SquareOf(const Eigen::Vector2d& position) const;

  const double square_m_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Places, std::less<>> places_ ABSL_GUARDED_BY(mutex_);  // by map
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_RESIDENCY_PLACES_IN_USE_H_
