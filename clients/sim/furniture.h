// SPDX-License-Identifier: Apache-2.0
//
// What stands in scenes, made of solids: houses and what else there is in a street.

#ifndef VOXLOC_CLIENTS_SIM_FURNITURE_H_
#define VOXLOC_CLIENTS_SIM_FURNITURE_H_

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cmath>
#include <vector>

#include "clients/sim/random.h"
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

// A place in the world to build at: x to the right along a street or a facade, y towards the
// street, z up (or along the ground's normal).
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
  [[nodiscard]] LocalFrame Rotated(const Eigen::Vector3d& local, double angle,
                                   const Eigen::Vector3d& axis) const {
    return {ToMap(local), rotation * Eigen::AngleAxisd(angle, axis).toRotationMatrix()};
  }
};

// Adds solids with one label in the coordinates of a frame. The list must outlive the builder.
struct Builder {
  LocalFrame frame;
  Label label;
  std::vector<Solid>& solids;

  [[nodiscard]] Builder At(const Eigen::Vector3d& local, double yaw = 0.0) const {
    return {frame.At(local, yaw), label, solids};
  }
  [[nodiscard]] Builder Rotated(const Eigen::Vector3d& local, double angle,
                                const Eigen::Vector3d& axis) const {
    return {frame.Rotated(local, angle, axis), label, solids};
  }
  [[nodiscard]] Builder As(Label other) const { return {frame, other, solids}; }

  void Box(const Eigen::Vector3d& min, const Eigen::Vector3d& max) const {
    Add(Shape::kBox, 0.5 * (min + max), 0.5 * (max - min));
  }
  // Along the frame's z, standing on `foot`.
  void Cylinder(const Eigen::Vector3d& foot, double radius, double height) const {
    Add(Shape::kCylinder, foot + Eigen::Vector3d(0.0, 0.0, 0.5 * height),
        {radius, radius, 0.5 * height});
  }
  void Ellipsoid(const Eigen::Vector3d& middle, const Eigen::Vector3d& radii) const {
    Add(Shape::kEllipsoid, middle, radii);
  }

 private:
  void Add(Shape shape, const Eigen::Vector3d& middle, const Eigen::Vector3d& half_extent) const {
    solids.push_back({shape, label, frame.ToMap(middle), frame.rotation, half_extent});
  }
};

// Buildings: houses whose facades have depth. Windows lie back between piers and bands, with a
// period, a recess and heights of each house's own; doors, plinths, cornices, balconies, bay
// windows, awnings, drainpipes and roofs come and go by chance. No two stretches of a street look
// the same.

// The frame's origin is the middle of the front at street level, y towards the street: the house
// stands on [-width/2, width/2] x [-depth, 0].
struct BuildingPlot {
  LocalFrame frame;
  double width_m = 10.0;
  double depth_m = 10.0;
  double foundation_m = 1.0;  // how far below street level the walls go on
};

void AddBuilding(const BuildingPlot& plot, Random random, std::vector<Solid>& solids);

// In a street, each on its frame's origin: x along the street, y towards it (for cars and people x
// is the heading), z up.

// A trunk and a crown of randomised blobs; `height_m` is about that of the crown's middle.
void AddTree(const LocalFrame& frame, double height_m, Random random, std::vector<Solid>& solids);
void AddLampPost(const LocalFrame& frame, Random random, std::vector<Solid>& solids);
void AddTrafficSign(const LocalFrame& frame, Random random, std::vector<Solid>& solids);
void AddBin(const LocalFrame& frame, Random random, std::vector<Solid>& solids);
// Along x, `length_m` long, centred on the origin.
void AddHedge(const LocalFrame& frame, double length_m, Random random, std::vector<Solid>& solids);
void AddFence(const LocalFrame& frame, double length_m, Random random, std::vector<Solid>& solids);
// Three cars in ten have dark paint.
void AddCar(const LocalFrame& frame, Label label, Random random, std::vector<Solid>& solids);
void AddPedestrian(const LocalFrame& frame, Label label, Random random, std::vector<Solid>& solids);

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_FURNITURE_H_
