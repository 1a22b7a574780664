// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/street_network.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace voxloc::sim {
namespace {

// Positions of the grid's lines: evenly spaced, the inner ones moved a little.
std::vector<double> LinePositions(double half_size_m, double spacing_m, Random& random) {
  const int count = std::max(2, static_cast<int>(std::lround(2.0 * half_size_m / spacing_m)) + 1);
  const double step = 2.0 * half_size_m / (count - 1);
  std::vector<double> positions;
  for (int i = 0; i < count; ++i) {
    const bool inner = i > 0 && i + 1 < count;
    positions.push_back(-half_size_m + i * step + (inner ? random.Uniform(-0.1, 0.1) * step : 0.0));
  }
  return positions;
}

}  // namespace

double Street::DistanceTo(const Eigen::Vector2d& point) const {
  const double along = std::clamp((point - start).dot(direction), 0.0, length_m);
  return (point - start - along * direction).norm();
}

double Street::ElevationAt(double along_m) const {
  if (from_elevation_m == to_elevation_m) return from_elevation_m;
  const double fraction = std::clamp((along_m - clear_m) / (length_m - 2.0 * clear_m), 0.0, 1.0);
  return from_elevation_m + fraction * (to_elevation_m - from_elevation_m);
}

double Street::ElevationSlope() const {
  if (from_elevation_m == to_elevation_m) return 0.0;
  return (to_elevation_m - from_elevation_m) / (length_m - 2.0 * clear_m);
}

StreetNetwork::StreetNetwork(double half_size_m, double spacing_m, double missing, Random random) {
  const double jitter_m = std::min(6.0, 0.06 * spacing_m);
  const double reach_m = half_size_m - jitter_m;
  const std::vector<double> xs = LinePositions(reach_m, spacing_m, random);
  const std::vector<double> ys = LinePositions(reach_m, spacing_m, random);
  const int columns = static_cast<int>(xs.size());
  for (const double y : ys) {
    for (const double x : xs) {
      const double dx_m = random.Uniform(-jitter_m, jitter_m);
      junctions_.emplace_back(x + dx_m, y + random.Uniform(-jitter_m, jitter_m));
    }
  }

  struct Link {
    int from;
    int to;
    bool border;
  };
  std::vector<Link> links;
  const int rows = static_cast<int>(ys.size());
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const int junction = row * columns + column;
      if (column + 1 < columns) {
        links.push_back({junction, junction + 1, row == 0 || row + 1 == rows});
      }
      if (row + 1 < rows) {
        links.push_back({junction, junction + columns, column == 0 || column + 1 == columns});
      }
    }
  }
  std::vector<int> degree(junctions_.size(), 0);
  for (const Link& link : links) {
    ++degree[static_cast<size_t>(link.from)];
    ++degree[static_cast<size_t>(link.to)];
  }
  for (const Link& link : links) {
    int& degree_from = degree[static_cast<size_t>(link.from)];
    int& degree_to = degree[static_cast<size_t>(link.to)];
    const bool removable = !link.border && degree_from > 2 && degree_to > 2;
    if (random.Chance(missing) && removable) {
      --degree_from;
      --degree_to;
      continue;
    }
    Street street;
    street.from = link.from;
    street.to = link.to;
    street.parking = {random.Chance(0.6), random.Chance(0.6)};
    street.pavement_m = random.Uniform(1.6, 3.0);
    streets_.push_back(street);
  }
  JoinStreets();
}

StreetNetwork::StreetNetwork(Street street) : streets_at_({{0}, {0}}) {
  street.from = 0;
  street.to = 1;
  junctions_ = {street.start, street.start + street.length_m * street.direction};
  streets_.push_back(street);
  IndexStreets();
}

StreetNetwork::StreetNetwork(std::vector<Eigen::Vector2d> junctions, std::vector<Street> streets)
    : junctions_(std::move(junctions)), streets_(std::move(streets)) {
  JoinStreets();
}

void StreetNetwork::JoinStreets() {
  streets_at_.resize(junctions_.size());
  for (size_t i = 0; i < streets_.size(); ++i) {
    Street& street = streets_[i];
    street.start = junctions_[static_cast<size_t>(street.from)];
    const Eigen::Vector2d span = junctions_[static_cast<size_t>(street.to)] - street.start;
    street.length_m = span.norm();
    street.direction = span / street.length_m;
    streets_at_[static_cast<size_t>(street.from)].push_back(static_cast<int>(i));
    streets_at_[static_cast<size_t>(street.to)].push_back(static_cast<int>(i));
  }
  IndexStreets();
}

bool StreetNetwork::IsLine() const {
  for (size_t i = 0; i < streets_.size(); ++i) {
    if (streets_[i].from != static_cast<int>(i) || streets_[i].to != static_cast<int>(i) + 1) {
      return false;
    }
  }
  return true;
}

void StreetNetwork::IndexStreets() {
  // About a block of a town.
  constexpr double kSquare_m = 100.0;
  double half_size_m = 0.0;
  for (const Eigen::Vector2d& junction : junctions_) {
    half_size_m = std::max(half_size_m, junction.cwiseAbs().maxCoeff());
  }
  index_ = SquareIndex(half_size_m, kSquare_m);
  for (size_t i = 0; i < streets_.size(); ++i) {
    const Street& street = streets_[i];
    const Eigen::Vector2d end = street.start + street.length_m * street.direction;
    index_.Add(i, street.start.cwiseMin(end), street.start.cwiseMax(end));
    for (const Side side : {kLeft, kRight}) {
      widest_half_m_ = std::max(widest_half_m_, street.KerbOffset(side) + street.pavement_m);
    }
  }
}

bool StreetNetwork::IsNear(const Eigen::Vector2d& point, double distance_m) const {
  bool near = false;
  index_.VisitOutwards(
      point, [&](size_t i) { near = near || streets_[i].DistanceTo(point) <= distance_m; },
      [&](double ring_m) { return near || ring_m > distance_m; });
  return near;
}

double StreetNetwork::DistanceToStreets(const Eigen::Vector2d& point) const {
  double nearest = std::numeric_limits<double>::infinity();
  index_.VisitOutwards(
      point, [&](size_t i) { nearest = std::min(nearest, streets_[i].DistanceTo(point)); },
      [&](double distance_m) { return nearest <= distance_m; });
  return nearest;
}

double StreetNetwork::ClearanceFromStreets(const Eigen::Vector2d& point) const {
  double nearest = std::numeric_limits<double>::infinity();
  index_.VisitOutwards(
      point,
      [&](size_t i) {
        const Street& street = streets_[i];
        const Eigen::Vector2d offset = point - street.start;
        const Side side =
            street.direction.x() * offset.y() > street.direction.y() * offset.x() ? kLeft : kRight;
        const double half_width = street.KerbOffset(side) + street.pavement_m;
        nearest = std::min(nearest, street.DistanceTo(point) - half_width);
      },
      [&](double distance_m) { return nearest <= distance_m - widest_half_m_; });
  return nearest;
}

}  // namespace voxloc::sim
