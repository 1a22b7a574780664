// SPDX-License-Identifier: Apache-2.0
//
// Bvh: a hierarchy of boxes over solids, for rays.
//
// The boxes are float32 and a little too large, so that a solid is never missed; the hits
// themselves come from the solids' closed forms in double. Immutable after construction; any number
// of threads may cast rays. Solids keep no order: hits name them by their position in the list
// given.

#ifndef VOXLOC_CLIENTS_SIM_BVH_H_
#define VOXLOC_CLIENTS_SIM_BVH_H_

#include <cstdint>
#include <vector>

#include "clients/sim/solid.h"

namespace voxloc::sim {

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

#endif  // VOXLOC_CLIENTS_SIM_BVH_H_
