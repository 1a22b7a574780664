// SPDX-License-Identifier: Apache-2.0

#include "clients/sim/solid.h"

#include <algorithm>
#include <array>
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

constexpr size_t kLeafItems = 2;
constexpr int kBins = 16;
// Median splits take over below this depth, which bounds the traversal stack.
constexpr int kSweepDepth = 40;
constexpr int kStackSize = 96;

double HalfArea(const Aabb& box) {
  const Eigen::Vector3d edge = (box.max - box.min).cwiseMax(0.0);
  return edge.x() * edge.y() + edge.y() * edge.z() + edge.z() * edge.x();
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

struct Bvh::Item {
  Aabb bounds;
  Eigen::Vector3d middle;
  uint32_t position;
};

Bvh::Bvh(const std::vector<Solid>& solids) {
  if (solids.empty()) return;
  std::vector<Item> items;
  items.reserve(solids.size());
  for (const Solid& solid : solids) {
    const Aabb bounds = BoundsOf(solid);
    items.push_back({bounds, 0.5 * (bounds.min + bounds.max), static_cast<uint32_t>(items.size())});
  }
  nodes_.reserve(2 * solids.size());
  BuildNode(items, 0, items.size(), 0);
  solids_.reserve(solids.size());
  positions_.reserve(solids.size());
  for (const Item& item : items) {
    solids_.push_back(solids[item.position]);
    positions_.push_back(item.position);
  }
}

void Bvh::BuildNode(std::vector<Item>& items, size_t begin, size_t end, int depth) {
  Aabb bounds;
  Aabb middles;
  for (size_t i = begin; i < end; ++i) {
    bounds.Extend(items[i].bounds);
    middles.Extend({items[i].middle, items[i].middle});
  }
  const size_t index = nodes_.size();
  nodes_.emplace_back();
  // Enough for the rounding of float32 arithmetic on the coordinates at hand.
  const double slack =
      1e-3 + 2e-6 * std::max(bounds.min.cwiseAbs().maxCoeff(), bounds.max.cwiseAbs().maxCoeff());
  for (int axis = 0; axis < 3; ++axis) {
    nodes_[index].min[axis] = static_cast<float>(bounds.min[axis] - slack);
    nodes_[index].max[axis] = static_cast<float>(bounds.max[axis] + slack);
  }
  const size_t count = end - begin;
  if (count <= kLeafItems) {
    nodes_[index].first = static_cast<uint32_t>(begin);
    nodes_[index].count = static_cast<uint16_t>(count);
    return;
  }

  // The split with the least expected cost (surface area heuristic) over bins of all three axes.
  int best_axis = 0;
  int best_bin = -1;
  double best_cost = kNoHit;
  const Eigen::Vector3d extent = middles.max - middles.min;
  const auto bin_of = [&](const Item& item, int axis) {
    const double position = (item.middle[axis] - middles.min[axis]) / extent[axis] * kBins;
    return std::min(kBins - 1, static_cast<int>(position));
  };
  for (int axis = 0; axis < 3 && depth < kSweepDepth; ++axis) {
    if (extent[axis] < 1e-9) continue;
    std::array<Aabb, kBins> boxes;
    std::array<size_t, kBins> counts{};
    for (size_t i = begin; i < end; ++i) {
      const size_t bin = static_cast<size_t>(bin_of(items[i], axis));
      boxes[bin].Extend(items[i].bounds);
      ++counts[bin];
    }
    std::array<double, kBins> cost_right{};
    Aabb box;
    size_t total = 0;
    for (size_t bin = kBins; bin-- > 1;) {
      box.Extend(boxes[bin]);
      total += counts[bin];
      cost_right[bin] = HalfArea(box) * static_cast<double>(total);
    }
    box = Aabb();
    total = 0;
    for (size_t bin = 0; bin + 1 < kBins; ++bin) {
      box.Extend(boxes[bin]);
      total += counts[bin];
      const double cost = HalfArea(box) * static_cast<double>(total) + cost_right[bin + 1];
      if (total > 0 && total < count && cost < best_cost) {
        best_cost = cost;
        best_axis = axis;
        best_bin = static_cast<int>(bin);
      }
    }
  }

  const auto first = items.begin() + static_cast<ptrdiff_t>(begin);
  const auto last = items.begin() + static_cast<ptrdiff_t>(end);
  auto middle = first + static_cast<ptrdiff_t>(count / 2);
  if (best_bin >= 0) {
    middle = std::stable_partition(
        first, last, [&](const Item& item) { return bin_of(item, best_axis) <= best_bin; });
  } else {
    extent.maxCoeff(&best_axis);
    std::nth_element(first, middle, last, [&](const Item& a, const Item& b) {
      return a.middle[best_axis] != b.middle[best_axis] ? a.middle[best_axis] < b.middle[best_axis]
                                                        : a.position < b.position;
    });
  }
  const size_t split = static_cast<size_t>(middle - items.begin());
  BuildNode(items, begin, split, depth + 1);
  nodes_[index].first = static_cast<uint32_t>(nodes_.size());
  nodes_[index].axis = static_cast<uint16_t>(best_axis);
  BuildNode(items, split, end, depth + 1);
}

template <bool kAny>
Bvh::Hit Bvh::Traverse(const Ray& ray, double max_t) const {
  Hit hit;
  if (nodes_.empty()) return hit;
  float origin[3];
  float inverse[3];
  for (int axis = 0; axis < 3; ++axis) {
    const double d = ray.direction[axis];
    origin[axis] = static_cast<float>(ray.origin[axis]);
    inverse[axis] = static_cast<float>(1.0 / (std::abs(d) < 1e-9 ? std::copysign(1e-9, d) : d));
  }
  const auto enters = [&](const Node& node, float limit) {
    float enter = 0.0F;
    float exit = limit;
    for (int axis = 0; axis < 3; ++axis) {
      const float a = (node.min[axis] - origin[axis]) * inverse[axis];
      const float b = (node.max[axis] - origin[axis]) * inverse[axis];
      enter = std::max(enter, std::min(a, b));
      exit = std::min(exit, std::max(a, b));
    }
    return enter <= exit * 1.00001F;
  };
  double best_t = max_t;
  float limit = static_cast<float>(max_t) * 1.00001F;
  uint32_t stack[kStackSize];
  int depth = 0;
  uint32_t index = 0;
  while (true) {
    const Node& node = nodes_[index];
    if (enters(node, limit)) {
      if (node.count == 0) {
        const bool backwards = inverse[node.axis] < 0.0F;
        stack[depth++] = backwards ? index + 1 : node.first;
        index = backwards ? node.first : index + 1;
        continue;
      }
      for (uint32_t i = node.first; i < node.first + node.count; ++i) {
        const double t = IntersectSolid(solids_[i], ray);
        if (t < best_t) {
          best_t = t;
          limit = static_cast<float>(t) * 1.00001F;
          hit = {t, positions_[i]};
          if (kAny) return hit;
        }
      }
    }
    if (depth == 0) return hit;
    index = stack[--depth];
  }
}

Bvh::Hit Bvh::Closest(const Ray& ray, double max_t) const { return Traverse<false>(ray, max_t); }

bool Bvh::AnyBefore(const Ray& ray, double max_t) const {
  return Traverse<true>(ray, max_t).t < kNoHit;
}

}  // namespace voxloc::sim
