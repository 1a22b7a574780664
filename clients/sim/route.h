// SPDX-License-Identifier: Apache-2.0
//
// Route: a line to drive along. The right lanes of a random walk through the streets, joined in the
// junctions by turns whose curvature is continuous and zero at both ends.

#ifndef VOXLOC_CLIENTS_SIM_ROUTE_H_
#define VOXLOC_CLIENTS_SIM_ROUTE_H_

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <vector>

#include "clients/sim/random.h"
#include "clients/sim/street_network.h"

namespace voxloc::sim {

// Samples follow each other by about a quarter of a metre.
struct RoutePoint {
  double arc_m = 0.0;  // from the start of the route
  Eigen::Vector2d position = Eigen::Vector2d::Zero();
  double heading_rad = 0.0;  // unwrapped: no jumps by full turns
  double curvature = 0.0;    // 1/m, positive to the left
  double elevation_m = 0.0;  // of the floor above the ground
};

class RouteBuilder {
 public:
  // `streets` must outlive the builder. The walk starts on a random street, or at one of the ends
  // of streets in a line, and never turns back.
  RouteBuilder(const StreetNetwork& streets, uint64_t seed);

  // Appends the next junction and street. False at a dead end, where it appends nothing.
  bool Extend();

  [[nodiscard]] const std::vector<RoutePoint>& points() const { return points_; }

 private:
  struct Leg {
    int street;
    bool forward;
  };
  struct Lane {
    Eigen::Vector2d start;
    Eigen::Vector2d end;
    Eigen::Vector2d direction;
    double start_elevation_m;
    double end_elevation_m;
  };
  [[nodiscard]] Lane LaneOf(const Leg& leg) const;
  [[nodiscard]] std::optional<Leg> ChooseNext();
  void Append(const Eigen::Vector2d& position, const Eigen::Vector2d& heading, double curvature,
              double elevation_m);
  void AppendLane(const Lane& lane);
  void AppendTurn(const Lane& from, const Lane& to);

  const StreetNetwork& streets_;
  Random random_;
  Leg leg_;
  std::vector<int> visits_;  // per street
  std::vector<RoutePoint> points_;
};

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_ROUTE_H_
