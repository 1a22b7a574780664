// SPDX-License-Identifier: Apache-2.0

#include "server/maps/residency/places_in_use.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <tuple>

namespace voxloc::server {

PlacesInUse::Square PlacesInUse::SquareOf(const Eigen::Vector2d& position) const {
  return {std::llround(std::floor(position.x() / square_m_)),
          std::llround(std::floor(position.y() / square_m_))};
}

bool PlacesInUse::Record(absl::string_view map, const PlaceInUse& place) {
  // What lies beyond the range of the squares is on no map.
  if (!(place.position.cwiseAbs().maxCoeff() < 1e15)) return false;
  const absl::MutexLock lock(&mutex_);
  MapUse& use = maps_[std::string(map)];
  use.last = std::max(use.last, place.seen);
  auto& places = use.places;
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

std::shared_ptr<void> PlacesInUse::Hold(absl::string_view map) {
  const absl::MutexLock lock(&mutex_);
  const auto use = maps_.try_emplace(std::string(map)).first;  // stays while it is held
  ++use->second.holds;
  return {nullptr, [this, use](void* /*nothing*/) {
            const absl::MutexLock releasing(&mutex_);
            --use->second.holds;
            use->second.last = Clock::now();
          }};
}

PlacesInUse::Clock::time_point PlacesInUse::LastUse(absl::string_view map) const {
  const absl::MutexLock lock(&mutex_);
  const auto use = maps_.find(map);
  if (use == maps_.end()) return Clock::time_point::min();
  return use->second.holds > 0 ? Clock::time_point::max() : use->second.last;
}

std::vector<PlaceInUse> PlacesInUse::List(absl::string_view map, Clock::time_point since) const {
  std::vector<PlaceInUse> listed;
  {
    const absl::MutexLock lock(&mutex_);
    const auto use = maps_.find(map);
    if (use == maps_.end()) return listed;
    for (const auto& [square, place] : use->second.places) {
      if (place.seen >= since) listed.push_back(place);
    }
  }
  std::sort(listed.begin(), listed.end(), [](const PlaceInUse& a, const PlaceInUse& b) {
    return std::make_tuple(b.seen, a.position.x(), a.position.y()) <
           std::make_tuple(a.seen, b.position.x(), b.position.y());
  });
  return listed;
}

void PlacesInUse::EvictBefore(Clock::time_point since, Clock::time_point used_since) {
  const absl::MutexLock lock(&mutex_);
  for (auto of_map = maps_.begin(); of_map != maps_.end();) {
    MapUse& use = of_map->second;
    absl::erase_if(use.places, [&](const auto& entry) { return entry.second.seen < since; });
    const bool forgotten = use.places.empty() && use.holds == 0 && use.last < used_since;
    of_map = forgotten ? maps_.erase(of_map) : std::next(of_map);
  }
}

namespace {

constexpr double kNowhere = std::numeric_limits<double>::infinity();

// Appends the tiles around these positions that have not been taken, nearest first.
void AppendAround(const TileLayout& layout, absl::Span<const Eigen::Vector2d> positions,
                  double radius_m, std::vector<bool>& taken, std::vector<uint32_t>& numbers) {
  std::vector<double> squared_m(layout.size(), kNowhere);
  std::vector<std::pair<double, uint32_t>> found;
  for (const Eigen::Vector2d& position : positions) {
    layout.tree().ForEachWithin(position, radius_m, [&](const BoundsTree::Box& box) {
      if (taken[box.number]) return;
      const Eigen::Vector2d nearest = position.cwiseMax(box.min).cwiseMin(box.max);
      double& least = squared_m[box.number];
      if (least == kNowhere) found.emplace_back(0.0, box.number);
      least = std::min(least, (nearest - position).squaredNorm());
    });
  }
  for (auto& [distance, number] : found) distance = squared_m[number];
  std::sort(found.begin(), found.end());
  for (const auto& [distance, number] : found) {
    taken[number] = true;
    numbers.push_back(number);
  }
}

}  // namespace

std::vector<uint32_t> PlanResidency(const TileLayout& layout, absl::Span<const PlaceInUse> places,
                                    const ResidencyOptions& options) {
  std::vector<Eigen::Vector2d> now;
  std::vector<Eigen::Vector2d> soon;
  now.reserve(places.size());
  for (const PlaceInUse& place : places) {
    now.push_back(place.position);
    const Eigen::Vector2d ahead_m = place.velocity * options.ahead_s;
    if (ahead_m.squaredNorm() > 0.0) soon.push_back(place.position + ahead_m);
  }
  std::vector<uint32_t> numbers;
  std::vector<bool> taken(layout.size());
  AppendAround(layout, now, options.map_radius_m, taken, numbers);
  AppendAround(layout, soon, options.map_radius_m, taken, numbers);
  return numbers;
}

}  // namespace voxloc::server
