// SPDX-License-Identifier: Apache-2.0
//
// How far a point is from a surface of a scene, by distance functions that share nothing with the
// simulator's ray casting.

#ifndef VOXLOC_TESTS_CLIENTS_SIM_SURFACE_DISTANCE_H_
#define VOXLOC_TESTS_CLIENTS_SIM_SURFACE_DISTANCE_H_

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "clients/sim/world.h"

namespace voxloc::sim {

// Negative inside. Exact for boxes and round cylinders, to first order near ellipsoids.
inline double SignedDistance(const Solid& solid, const Eigen::Vector3d& point) {
  const Eigen::Vector3d p = solid.map_R_local.transpose() * (point - solid.center);
  const Eigen::Vector3d& h = solid.half_extent;
  switch (solid.shape) {
    case Shape::kBox: {
      const Eigen::Vector3d q = p.cwiseAbs() - h;
      return q.cwiseMax(0.0).norm() + std::min(q.maxCoeff(), 0.0);
    }
    case Shape::kCylinder: {
      const Eigen::Vector2d q(p.head<2>().norm() - h.x(), std::abs(p.z()) - h.z());
      return q.cwiseMax(0.0).norm() + std::min(q.maxCoeff(), 0.0);
    }
    case Shape::kEllipsoid: {
      const double scaled = p.cwiseQuotient(h).norm();
      const double gradient = p.cwiseQuotient(h.cwiseProduct(h)).norm();
      return gradient > 0.0 ? (scaled - 1.0) * scaled / gradient : -h.minCoeff();
    }
  }
  return std::numeric_limits<double>::infinity();
}

// To the nearest surface of the ground or a solid.
inline double SurfaceDistance(const Scene& scene, const std::vector<Solid>& moving,
                              const Eigen::Vector3d& point) {
  const Eigen::Vector3d normal = scene.ground().Normal(point.x(), point.y());
  double nearest = std::abs(point.z() - scene.ground().Height(point.x(), point.y())) * normal.z();
  for (const std::vector<Solid>* solids : {&scene.solids(), &moving}) {
    for (const Solid& solid : *solids) {
      nearest = std::min(nearest, std::abs(SignedDistance(solid, point)));
    }
  }
  return nearest;
}

}  // namespace voxloc::sim

#endif  // VOXLOC_TESTS_CLIENTS_SIM_SURFACE_DISTANCE_H_
