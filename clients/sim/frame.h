// SPDX-License-Identifier: Apache-2.0
//
// LocalFrame: a place in the world to build at. x to the right along a street or a facade, y
// towards the street, z up (or along the ground's normal). Boxes, cylinders and ellipsoids are
// added in its coordinates.

#ifndef VOXLOC_CLIENTS_SIM_FRAME_H_
#define VOXLOC_CLIENTS_SIM_FRAME_H_

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cmath>
#include <vector>

#include "clients/sim/solid.h"

namespace voxloc::sim {

// Rotation about z.
[[nodiscard]] inline Eigen::Matrix3d YawRotation(double yaw) {
  return Eigen::AngleAxisd(yaw, Eigen::Vector3d::UnitZ()).toRotationMatrix();
}

// z along `up`, x as near to the heading `yaw` as that allows.
[[nodiscard]] inline Eigen::Matrix3d TiltedRotation(double yaw, const Eigen::Vector3d& up) {
  const Eigen::Vector3d heading(std::cos(yaw), std::sin(yaw), 0.0);
  Eigen::Matrix3d rotation;
  rotation.col(2) = up;
  rotation.col(1) = up.cross(heading).normalized();
  rotation.col(0) = rotation.col(1).cross(up);
  return rotation;
}

struct LocalFrame {
  Eigen::Vector3d origin = Eigen::Vector3d::Zero();
  Eigen::Matrix3d rotation = Eigen::Matrix3d::Identity();

  [[nodiscard]] Eigen::Vector3d ToMap(const Eigen::Vector3d& local) const {
    return origin + rotation * local;
  }
  // A frame at `local`, turned by yaw about z.
  [[nodiscard]] LocalFrame At(const Eigen::Vector3d& local, double yaw = 0.0) const {
    return {ToMap(local), rotation * YawRotation(yaw)};
  }
  // A frame at `local`, turned by `angle` about one of this frame's axes.
  [[nodiscard]] LocalFrame Turned(const Eigen::Vector3d& local, double angle,
                                  const Eigen::Vector3d& axis) const {
    return {ToMap(local), rotation * Eigen::AngleAxisd(angle, axis).toRotationMatrix()};
  }
};

inline void AddBox(const LocalFrame& frame, Label label, const Eigen::Vector3d& min,
                   const Eigen::Vector3d& max, std::vector<Solid>& solids) {
  solids.push_back(
      {Shape::kBox, label, frame.ToMap(0.5 * (min + max)), frame.rotation, 0.5 * (max - min)});
}

// Along the frame's z, standing on `foot`.
inline void AddCylinder(const LocalFrame& frame, Label label, const Eigen::Vector3d& foot,
                        double radius, double height, std::vector<Solid>& solids) {
  solids.push_back({Shape::kCylinder, label,
                    frame.ToMap(foot + Eigen::Vector3d(0.0, 0.0, 0.5 * height)), frame.rotation,
                    Eigen::Vector3d(radius, radius, 0.5 * height)});
}

inline void AddEllipsoid(const LocalFrame& frame, Label label, const Eigen::Vector3d& middle,
                         const Eigen::Vector3d& radii, std::vector<Solid>& solids) {
  solids.push_back({Shape::kEllipsoid, label, frame.ToMap(middle), frame.rotation, radii});
}

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_FRAME_H_
