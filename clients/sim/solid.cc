// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/solid.h"

#include <algorithm>
#include <cmath>

namespace voxloc::sim {
namespace {

// The part [enter, exit] of a line that lies in a convex set; empty when enter > exit.
struct Interval {
  double enter = -kNoHit;
  double exit = kNoHit;

  void Clip(double from, double to) {
    enter = std::max(enter, from);
    exit = std::min(exit, to);
  }
};

constexpr Interval kEmpty = {kNoHit, -kNoHit};

// |origin + t * direction| <= half.
void ClipSlab(double origin, double direction, double half, Interval& interval) {
  if (std::abs(direction) < 1e-300) {
    if (std::abs(origin) > half) interval = kEmpty;
    return;
  }
  const double inverse = 1.0 / direction;
  const double a = (-half - origin) * inverse;
  const double b = (half - origin) * inverse;
  interval.Clip(std::min(a, b), std::max(a, b));
}

// |origin + t * direction|^2 <= 1 for vectors scaled to the unit sphere or circle. Solved relative
// to the point of closest approach, so that the root is accurate far from the solid.
template <typename Vector>
void ClipUnitBall(const Vector& origin, const Vector& direction, Interval& interval) {
  const double a = direction.squaredNorm();
  if (a < 1e-300) {
    if (origin.squaredNorm() > 1.0) interval = kEmpty;
    return;
  }
  const double middle = -origin.dot(direction) / a;
  const double gap = 1.0 - (origin + middle * direction).squaredNorm();
  if (gap < 0.0) {
    interval = kEmpty;
    return;
  }
  const double half_chord = std::sqrt(gap / a);
  interval.Clip(middle - half_chord, middle + half_chord);
}

}  // namespace

double IntersectSolid(const Solid& solid, const Ray& ray) {
  const Eigen::Vector3d o = solid.map_R_local.transpose() * (ray.origin - solid.center);
  const Eigen::Vector3d d = solid.map_R_local.transpose() * ray.direction;
  const Eigen::Vector3d& h = solid.half_extent;
  Interval interval;
  switch (solid.shape) {
    case Shape::kBox:
      ClipSlab(o.x(), d.x(), h.x(), interval);
      ClipSlab(o.y(), d.y(), h.y(), interval);
      ClipSlab(o.z(), d.z(), h.z(), interval);
      break;
    case Shape::kCylinder:
      ClipUnitBall<Eigen::Vector2d>(o.head<2>().cwiseQuotient(h.head<2>()),
                                    d.head<2>().cwiseQuotient(h.head<2>()), interval);
      ClipSlab(o.z(), d.z(), h.z(), interval);
      break;
    case Shape::kEllipsoid:
      ClipUnitBall<Eigen::Vector3d>(o.cwiseQuotient(h), d.cwiseQuotient(h), interval);
      break;
  }
  if (interval.enter > interval.exit || interval.exit < 0.0) return kNoHit;
  return interval.enter >= 0.0 ? interval.enter : interval.exit;
}

Eigen::Vector3d SurfaceNormal(const Solid& solid, const Eigen::Vector3d& point) {
  const Eigen::Vector3d p = solid.map_R_local.transpose() * (point - solid.center);
  const Eigen::Vector3d& h = solid.half_extent;
  Eigen::Vector3d normal = Eigen::Vector3d::Zero();
  switch (solid.shape) {
    case Shape::kBox: {
      Eigen::Index axis = 0;
      (p.cwiseAbs() - h).maxCoeff(&axis);
      normal[axis] = std::copysign(1.0, p[axis]);
      break;
    }
    case Shape::kCylinder: {
      const double inside = 1.0 - p.head<2>().cwiseQuotient(h.head<2>()).norm();
      if (h.z() - std::abs(p.z()) < inside * std::min(h.x(), h.y())) {
        normal.z() = std::copysign(1.0, p.z());
      } else {
        normal.head<2>() = p.head<2>().cwiseQuotient(h.head<2>().cwiseAbs2());
      }
      break;
    }
    case Shape::kEllipsoid:
      normal = p.cwiseQuotient(h.cwiseAbs2());
      break;
  }
  return solid.map_R_local * normal.normalized();
}

Aabb BoundsOf(const Solid& solid) {
  const Eigen::Vector3d& h = solid.half_extent;
  const Eigen::Matrix3d scaled = solid.map_R_local * h.asDiagonal();
  Eigen::Vector3d reach = Eigen::Vector3d::Zero();
  switch (solid.shape) {
    case Shape::kBox:
      reach = scaled.cwiseAbs().rowwise().sum();
      break;
    case Shape::kCylinder:
      reach = scaled.leftCols<2>().rowwise().norm() + scaled.col(2).cwiseAbs();
      break;
    case Shape::kEllipsoid:
      reach = scaled.rowwise().norm();
      break;
  }
  return {solid.center - reach, solid.center + reach};
}

}  // namespace voxloc::sim
