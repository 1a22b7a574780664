// SPDX-License-Identifier: Apache-2.0
//
// StreetNetwork: where streets run. Junctions joined by straight streets of two lanes: on an
// irregular grid, some left out so that T-junctions appear, none of them a dead end; one after
// another in a line; or as given.
//
// Cross-section from the centre line outwards, on each side: a lane (traffic keeps right), a
// parking strip (or none), the kerb, a pavement. Near a junction, within its clear radius, there is
// nothing but ground. World frame, metres. Immutable; any number of threads may use one.

#ifndef VOXLOC_CLIENTS_SIM_STREET_NETWORK_H_
#define VOXLOC_CLIENTS_SIM_STREET_NETWORK_H_

#include <Eigen/Core>
#include <array>
#include <limits>
#include <vector>

#include "clients/sim/random.h"
#include "clients/sim/square_index.h"

namespace voxloc::sim {

constexpr double kLaneWidth_m = 3.2;
constexpr double kParkingWidth_m = 2.1;
constexpr double kJunctionClearRadius_m = 9.0;

// Sides of a street seen along it from `from` to `to`.
enum Side : int { kLeft = 0, kRight = 1 };

struct Street {
  int from = 0;  // junctions
  int to = 0;
  Eigen::Vector2d start = Eigen::Vector2d::Zero();
  Eigen::Vector2d direction = Eigen::Vector2d::UnitX();
  double length_m = 0.0;
  std::array<bool, 2> parking = {false, false};
  double pavement_m = 2.0;
  double clear_m = kJunctionClearRadius_m;  // its lanes begin and end this far from its ends
  double lane_width_m = kLaneWidth_m;
  double lane_offset_m = 0.5 * kLaneWidth_m;  // from the centre line to the middle of a lane
  // The floor's height above the ground, at the start and at the end of the lanes; it changes
  // evenly along the lanes.
  double from_elevation_m = 0.0;
  double to_elevation_m = 0.0;
  bool one_way = false;  // driven from `from` to `to` only
  double speed_limit_mps = std::numeric_limits<double>::infinity();

  [[nodiscard]] double KerbOffset(Side side) const {
    return lane_offset_m + 0.5 * lane_width_m +
           (parking[static_cast<size_t>(side)] ? kParkingWidth_m : 0.0);
  }
  // The floor's height above the ground at `along_m` from the start.
  [[nodiscard]] double ElevationAt(double along_m) const;
  // The rise of the floor above the ground from the start to the end of the lanes, m per m.
  [[nodiscard]] double ElevationSlope() const;
  // The point `along_m` from the start, `right_m` to the right of the centre line.
  [[nodiscard]] Eigen::Vector2d PointAt(double along_m, double right_m) const {
    return start + along_m * direction + right_m * Eigen::Vector2d(direction.y(), -direction.x());
  }
  // From the centre line, both ends included.
  [[nodiscard]] double DistanceTo(const Eigen::Vector2d& point) const;
};

class StreetNetwork {
 public:
  // Junctions lie within [-half_size_m, half_size_m]^2, about spacing_m apart. A street that could
  // go without making a dead end is left out with the probability `missing`.
  StreetNetwork(double half_size_m, double spacing_m, double missing, Random random);
  // One street with two dead ends.
  explicit StreetNetwork(Street street);
  // `streets` name their junctions; start, direction and length follow from these.
  StreetNetwork(std::vector<Eigen::Vector2d> junctions, std::vector<Street> streets);

  [[nodiscard]] const std::vector<Eigen::Vector2d>& junctions() const { return junctions_; }
  [[nodiscard]] const std::vector<Street>& streets() const { return streets_; }
  // Whether the streets follow each other from one dead end to another, in their order.
  [[nodiscard]] bool IsLine() const;
  // Indices of the streets that meet at a junction.
  [[nodiscard]] const std::vector<int>& StreetsAt(int junction) const {
    return streets_at_[static_cast<size_t>(junction)];
  }
  // Whether a centre line is at most so far away.
  [[nodiscard]] bool IsNear(const Eigen::Vector2d& point, double distance_m) const;
  // From the nearest centre line.
  [[nodiscard]] double DistanceToStreets(const Eigen::Vector2d& point) const;
  // By how far the point is outside the kerbs and pavements of every street; negative on them.
  [[nodiscard]] double ClearanceFromStreets(const Eigen::Vector2d& point) const;

 private:
  std::vector<Eigen::Vector2d> junctions_;
  std::vector<Street> streets_;
  // Sets what follows from the junctions that the streets name.
  void JoinStreets();
  void IndexStreets();

  std::vector<std::vector<int>> streets_at_;
  SquareIndex index_{0.0, 1.0};  // of streets
  double widest_half_m_ = 0.0;   // from a centre line to the end of a pavement
};

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_STREET_NETWORK_H_
