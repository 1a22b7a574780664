// SPDX-License-Identifier: Apache-2.0
//
// Ground: the height field under a world, bilinear between the nodes of a regular grid, so that a
// ray's hit in a cell is the root of a quadratic: exact, and the same for scans and map points.
//
// Immutable after construction; any number of threads may use one.

#ifndef VOXLOC_CLIENTS_SIM_GROUND_H_
#define VOXLOC_CLIENTS_SIM_GROUND_H_

#include <Eigen/Core>
#include <functional>
#include <initializer_list>
#include <vector>

#include "clients/sim/random.h"
#include "clients/sim/solid.h"

namespace voxloc::sim {

class Ground {
 public:
  // Flat at height 0 on [-half_size_m, half_size_m]^2.
  explicit Ground(double half_size_m);
  // height_m(x, y) tabulated every `cell_m` metres on at least [-half_size_m, half_size_m]^2.
  Ground(double half_size_m, double cell_m, const std::function<double(double, double)>& height_m);

  // Clamped to the border outside of the square (where rays hit nothing).
  [[nodiscard]] double Height(double x_m, double y_m) const;
  [[nodiscard]] Eigen::Vector3d PointAt(const Eigen::Vector2d& place) const {
    return {place.x(), place.y(), Height(place.x(), place.y())};
  }
  // The upward unit normal.
  [[nodiscard]] Eigen::Vector3d Normal(double x_m, double y_m) const;

  // The distance at which the ray first comes down through the ground, at most max_t, or kNoHit.
  [[nodiscard]] double Intersect(const Ray& ray, double max_t) const;

  [[nodiscard]] double half_size_m() const { return half_size_m_; }
  [[nodiscard]] double cell_m() const { return cell_m_; }

 private:
  struct Cell {
    double base;     // height at the low corner
    double slope_u;  // per cell
    double slope_v;
    double twist;
    double top;  // the highest corner
  };
  // Where x_m (or y_m) falls: the cell's index and the fraction in it.
  struct Coordinate {
    int cell;
    double fraction;
  };
  [[nodiscard]] Coordinate Locate(double position_m) const;
  [[nodiscard]] const Cell& At(int column, int row) const {
    return cells_[static_cast<size_t>(row) * static_cast<size_t>(cells_per_side_) +
                  static_cast<size_t>(column)];
  }
  [[nodiscard]] double IntersectCell(int column, int row, const Ray& ray, double from_t,
                                     double to_t) const;

  double half_size_m_ = 0.0;
  double cell_m_ = 1.0;
  int cells_per_side_ = 0;
  double top_m_ = 0.0;  // highest node
  std::vector<Cell> cells_;
};

// Waves of random directions and phases.
class GroundWaves {
 public:
  GroundWaves(std::initializer_list<double> wavelengths_m,
              const std::function<double(double wavelength_m)>& amplitude_m, Random random);

  // The height with the waves' at a place added.
  [[nodiscard]] double AddTo(double height_m, double x_m, double y_m) const;

 private:
  struct Wave {
    double amplitude_m;
    double kx;
    double ky;
    double phase;
  };
  std::vector<Wave> waves_;
};

// Ground that rises and falls in long waves, zero in the middle: a square with half the edge
// `half_size_m`; from its lowest to its highest place it is about `relief_m`.
[[nodiscard]] Ground RollingGround(double half_size_m, double relief_m, Random random);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_GROUND_H_
