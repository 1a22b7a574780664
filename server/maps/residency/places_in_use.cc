// SPDX-License-Identifier: Apache-2.0

#include "server/maps/residency/places_in_use.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace voxloc::server {

PlacesInUse::Square PlacesInUse::SquareOf(const Eigen::Vector2d& position) const {
  return {std::llround(std::floor(position.x() / square_m_)),
          std::llround(std::floor(position.y() / square_m_))};
}

bool PlacesInUse::Record(absl::string_view map, const PlaceInUse& place) {
  // What lies beyond the range of the squares is on no map.
  if (!(place.position.cwiseAbs().maxCoeff() < 1e15)) return false;
  const absl::MutexLock lock(&mutex_);
  auto of_map = places_.find(map);
  if (of_map == places_.end()) of_map = places_.emplace(map, Places()).first;
  Places& places = of_map->second;
  const Square square = SquareOf(place.position);
  if (const auto it = places.find(square); it != places.end()) {
    it->second = place;
    return false;
  }
  if (places.size() >= kMaxPerMap) return false;
  places.emplace(square, place);
  return true;
}

bool PlacesInUse::RecordBox(absl::string_view map, const Eigen::Vector2d& min,
                            const Eigen::Vector2d& max, Clock::time_point seen) {
  const Eigen::Array2d squares = ((max - min).array() / square_m_).ceil() + 1.0;
  if (!(squares.prod() <= static_cast<double>(kMaxPerBox))) return false;
  for (double y = min.y(); y < max.y() + square_m_; y += square_m_) {
    for (double x = min.x(); x < max.x() + square_m_; x += square_m_) {
      PlaceInUse place;
      place.position = Eigen::Vector2d(x, y).cwiseMin(max);
      place.seen = seen;
      Record(map, place);
    }
  }
  return true;
}

std::vector<PlaceInUse> PlacesInUse::List(absl::string_view map, Clock::time_point since) const {
  std::vector<PlaceInUse> listed;
  {
    const absl::MutexLock lock(&mutex_);
    const auto of_map = places_.find(map);
    if (of_map == places_.end()) return listed;
    for (const auto& [square, place] : of_map->second) {
      if (place.seen >= since) listed.push_back(place);
    }
  }
  std::sort(listed.begin(), listed.end(), [](const PlaceInUse& a, const PlaceInUse& b) {
    if (a.seen != b.seen) return a.seen > b.seen;
    return std::make_pair(a.position.x(), a.position.y()) <
           std::make_pair(b.position.x(), b.position.y());
  });
  return listed;
}

void PlacesInUse::EvictBefore(Clock::time_point since) {
  const absl::MutexLock lock(&mutex_);
  for (auto of_map = places_.begin(); of_map != places_.end();) {
    absl::erase_if(of_map->second, [&](const auto& entry) { return entry.second.seen < since; });
    of_map = of_map->second.empty() ? places_.erase(of_map) : std::next(of_map);
  }
}

}  // namespace voxloc::server
