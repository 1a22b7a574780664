// SPDX-License-Identifier: Apache-2.0
//
// Solids: the convex primitives that a world is made of, each an affine image of a unit shape, so
// that a ray's first hit has a closed form.
//
//   kBox        |x/hx| <= 1, |y/hy| <= 1, |z/hz| <= 1
//   kCylinder   (x/hx)^2 + (y/hy)^2 <= 1, |z/hz| <= 1     axis along local z
//   kEllipsoid  (x/hx)^2 + (y/hy)^2 + (z/hz)^2 <= 1
//
// in the solid's local frame. Metres. Plain values and pure functions.

#ifndef VOXLOC_CLIENTS_SIM_SOLID_H_
#define VOXLOC_CLIENTS_SIM_SOLID_H_

#include <Eigen/Core>
#include <cstdint>
#include <limits>
#include <vector>

namespace voxloc::sim {

enum class Shape : uint8_t { kBox, kCylinder, kEllipsoid };

// What a solid is part of. The ground is no solid; hits on it carry kGround.
enum class Label : uint8_t {
  kGround,
  kPavement,
  kBuilding,
  kTree,
  kPole,
  kFence,
  kParkedCar,
  kMovingObject
};

// How a surface throws light back.
enum class Material : uint8_t { kMatt, kGlass, kDarkPaint };

struct Solid {
  Shape shape = Shape::kBox;
  Label label = Label::kBuilding;
  Eigen::Vector3d center = Eigen::Vector3d::Zero();
  Eigen::Matrix3d map_R_local = Eigen::Matrix3d::Identity();
  Eigen::Vector3d half_extent = Eigen::Vector3d::Ones();  // hx, hy, hz
  Material material = Material::kMatt;
};

struct Ray {
  Eigen::Vector3d origin;
  Eigen::Vector3d direction;  // unit length
};

constexpr double kNoHit = std::numeric_limits<double>::infinity();

struct Aabb {
  Eigen::Vector3d min = Eigen::Vector3d::Constant(std::numeric_limits<double>::infinity());
  Eigen::Vector3d max = Eigen::Vector3d::Constant(-std::numeric_limits<double>::infinity());

  void Extend(const Aabb& other) {
    min = min.cwiseMin(other.min);
    max = max.cwiseMax(other.max);
  }
};

// The distance along the ray of the first point of the solid's surface ahead of the origin, or
// kNoHit. From inside, that is where the ray leaves.
[[nodiscard]] double IntersectSolid(const Solid& solid, const Ray& ray);

// The outward unit normal at a point of the solid's surface.
[[nodiscard]] Eigen::Vector3d SurfaceNormal(const Solid& solid, const Eigen::Vector3d& point);

// The tight axis-aligned bounds of the solid.
[[nodiscard]] Aabb BoundsOf(const Solid& solid);

// Bvh: a hierarchy of boxes over solids, for rays.
//
// The boxes are float32 and a little too large, so that a solid is never missed; the hits
// themselves come from the solids' closed forms in double. Immutable after construction; any number
// of threads may cast rays. Solids keep no order: hits name them by their position in the list
// given.
class Bvh {
 public:
  struct Hit {
    double t = kNoHit;
    uint32_t solid = 0;  // where t is finite
  };

  Bvh() = default;
  explicit Bvh(const std::vector<Solid>& solids);

  // The nearest hit with t < max_t; t is kNoHit when there is none.
  [[nodiscard]] Hit Closest(const Ray& ray, double max_t) const;
  // Whether any solid is hit before max_t.
  [[nodiscard]] bool AnyBefore(const Ray& ray, double max_t) const;

 private:
  struct Node {
    float min[3];
    float max[3];
    uint32_t first = 0;  // leaf: first item; inner: right child (the left one follows the node)
    uint16_t count = 0;  // leaf: number of items; inner: 0
    uint16_t axis = 0;   // inner: the axis along which the children were split
  };
  struct Item;

  void BuildNode(std::vector<Item>& items, size_t begin, size_t end, int depth);
  template <bool kAny>
  [[nodiscard]] Hit Traverse(const Ray& ray, double max_t) const;

  std::vector<Node> nodes_;
  std::vector<Solid> solids_;        // in leaf order
  std::vector<uint32_t> positions_;  // of each in the list given
};

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_SOLID_H_
