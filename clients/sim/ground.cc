// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/ground.h"

#include <algorithm>
#include <cmath>

namespace voxloc::sim {

Ground::Ground(double half_size_m)
    : Ground(half_size_m, half_size_m, [](double, double) { return 0.0; }) {}

Ground::Ground(double half_size_m, double cell_m,
               const std::function<double(double, double)>& height_m)
    : cell_m_(cell_m) {
  cells_per_side_ = std::max(1, static_cast<int>(std::ceil(2.0 * half_size_m / cell_m - 1e-9)));
  half_size_m_ = 0.5 * cells_per_side_ * cell_m;
  const int nodes = cells_per_side_ + 1;
  std::vector<double> heights;
  heights.reserve(static_cast<size_t>(nodes) * static_cast<size_t>(nodes));
  for (int row = 0; row < nodes; ++row) {
    for (int column = 0; column < nodes; ++column) {
      heights.push_back(height_m(column * cell_m - half_size_m_, row * cell_m - half_size_m_));
    }
  }
  top_m_ = *std::max_element(heights.begin(), heights.end());
  cells_.reserve(static_cast<size_t>(cells_per_side_) * static_cast<size_t>(cells_per_side_));
  for (int row = 0; row < cells_per_side_; ++row) {
    for (int column = 0; column < cells_per_side_; ++column) {
      const size_t i =
          static_cast<size_t>(row) * static_cast<size_t>(nodes) + static_cast<size_t>(column);
      const double h00 = heights[i];
      const double h10 = heights[i + 1];
      const double h01 = heights[i + static_cast<size_t>(nodes)];
      const double h11 = heights[i + static_cast<size_t>(nodes) + 1];
      cells_.push_back({h00, h10 - h00, h01 - h00, h11 - h10 - h01 + h00,
                        std::max(std::max(h00, h10), std::max(h01, h11))});
    }
  }
}

Ground::Coordinate Ground::Locate(double position_m) const {
  const double cells =
      std::clamp((position_m + half_size_m_) / cell_m_, 0.0, static_cast<double>(cells_per_side_));
  const int cell = std::min(static_cast<int>(cells), cells_per_side_ - 1);
  return {cell, cells - cell};
}

double Ground::Height(double x_m, double y_m) const {
  const Coordinate u = Locate(x_m);
  const Coordinate v = Locate(y_m);
  const Cell& cell = At(u.cell, v.cell);
  return cell.base + cell.slope_u * u.fraction + cell.slope_v * v.fraction +
         cell.twist * u.fraction * v.fraction;
}

Eigen::Vector3d Ground::Normal(double x_m, double y_m) const {
  const Coordinate u = Locate(x_m);
  const Coordinate v = Locate(y_m);
  const Cell& cell = At(u.cell, v.cell);
  const double slope_x = (cell.slope_u + cell.twist * v.fraction) / cell_m_;
  const double slope_y = (cell.slope_v + cell.twist * u.fraction) / cell_m_;
  return Eigen::Vector3d(-slope_x, -slope_y, 1.0).normalized();
}

double Ground::IntersectCell(int column, int row, const Ray& ray, double from_t,
                             double to_t) const {
  const Cell& cell = At(column, row);
  const double z_from = ray.origin.z() + from_t * ray.direction.z();
  const double z_to = ray.origin.z() + to_t * ray.direction.z();
  if (std::min(z_from, z_to) > cell.top) return kNoHit;
  // The height above the ground at from_t + s is a s^2 + b s + c.
  const double u = (ray.origin.x() + from_t * ray.direction.x() + half_size_m_) / cell_m_ - column;
  const double v = (ray.origin.y() + from_t * ray.direction.y() + half_size_m_) / cell_m_ - row;
  const double du = ray.direction.x() / cell_m_;
  const double dv = ray.direction.y() / cell_m_;
  const double a = -cell.twist * du * dv;
  const double b =
      ray.direction.z() - cell.slope_u * du - cell.slope_v * dv - cell.twist * (u * dv + v * du);
  const double c = z_from - cell.base - cell.slope_u * u - cell.slope_v * v - cell.twist * u * v;
  if (c <= 0.0) return b < 0.0 && c > -1e-9 ? from_t : kNoHit;
  const double discriminant = b * b - 4.0 * a * c;
  if (discriminant < 0.0) return kNoHit;
  // With c > 0 the first descent through zero is this root, in the form that does not cancel.
  const double denominator = -b + std::sqrt(discriminant);
  if (denominator <= 0.0) return kNoHit;
  const double s = 2.0 * c / denominator;
  return s <= to_t - from_t + 1e-9 ? from_t + s : kNoHit;
}

double Ground::Intersect(const Ray& ray, double max_t) const {
  double from_t = 0.0;
  double to_t = max_t;
  if (ray.direction.z() < 0.0) {
    from_t = std::max(0.0, (top_m_ - ray.origin.z()) / ray.direction.z());
  } else if (ray.origin.z() > top_m_) {
    return kNoHit;
  } else if (ray.direction.z() > 0.0) {
    to_t = std::min(to_t, (top_m_ - ray.origin.z()) / ray.direction.z());
  }
  for (int axis = 0; axis < 2; ++axis) {
    const double o = ray.origin[axis];
    const double d = ray.direction[axis];
    if (std::abs(d) < 1e-12) {
      if (std::abs(o) > half_size_m_) return kNoHit;
      continue;
    }
    const double near = (-std::copysign(half_size_m_, d) - o) / d;
    const double far = (std::copysign(half_size_m_, d) - o) / d;
    from_t = std::max(from_t, near);
    to_t = std::min(to_t, far);
  }
  if (from_t > to_t) return kNoHit;

  int cell[2];
  int step[2];
  double next_t[2];
  double delta_t[2];
  for (int axis = 0; axis < 2; ++axis) {
    const double d = ray.direction[axis];
    cell[axis] = Locate(ray.origin[axis] + from_t * d).cell;
    step[axis] = d > 0.0 ? 1 : -1;
    if (std::abs(d) < 1e-12) {
      next_t[axis] = kNoHit;
      delta_t[axis] = 0.0;
      continue;
    }
    const double border = (cell[axis] + (d > 0.0 ? 1 : 0)) * cell_m_ - half_size_m_;
    next_t[axis] = (border - ray.origin[axis]) / d;
    delta_t[axis] = cell_m_ / std::abs(d);
  }
  while (from_t <= to_t) {
    const int axis = next_t[0] < next_t[1] ? 0 : 1;
    const double leave_t = std::max(from_t, std::min(next_t[axis], to_t));
    const double hit = IntersectCell(cell[0], cell[1], ray, from_t, leave_t);
    if (hit <= max_t) return hit;
    if (leave_t >= to_t) return kNoHit;
    from_t = leave_t;
    next_t[axis] += delta_t[axis];
    cell[axis] += step[axis];
    if (cell[axis] < 0 || cell[axis] >= cells_per_side_) return kNoHit;
  }
  return kNoHit;
}

GroundWaves::GroundWaves(std::initializer_list<double> wavelengths_m,
                         const std::function<double(double wavelength_m)>& amplitude_m,
                         Random random) {
  for (const double wavelength_m : wavelengths_m) {
    const double heading = random.Uniform(0.0, 2.0 * M_PI);
    const double k = 2.0 * M_PI / wavelength_m;
    waves_.push_back({amplitude_m(wavelength_m), k * std::cos(heading), k * std::sin(heading),
                      random.Uniform(0.0, 2.0 * M_PI)});
  }
}

double GroundWaves::AddTo(double height_m, double x_m, double y_m) const {
  for (const Wave& wave : waves_) {
    height_m += wave.amplitude_m * std::sin(wave.kx * x_m + wave.ky * y_m + wave.phase);
  }
  return height_m;
}

Ground RollingGround(double half_size_m, double relief_m, Random random) {
  constexpr double kReliefCell_m = 2.0;
  // Long waves carry most of the height; the slopes stay those of streets.
  const GroundWaves waves(
      {260.0, 210.0, 160.0, 110.0, 75.0},
      [&](double wavelength_m) { return relief_m * wavelength_m / 1630.0; }, random);
  const double middle = waves.AddTo(0.0, 0.0, 0.0);
  return Ground(half_size_m, kReliefCell_m,
                [&](double x, double y) { return waves.AddTo(0.0, x, y) - middle; });
}

}  // namespace voxloc::sim
