// SPDX-License-Identifier: Apache-2.0
//
// Bounding in host memory. Thread-safe: no shared state; a grid is immutable.

#ifndef VOXLOC_CORE_ENGINE_CPU_HOST_BOUND_H_
#define VOXLOC_CORE_ENGINE_CPU_HOST_BOUND_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "core/engine/bound.h"

namespace voxloc {

// A grid in host memory, for engines that compute there.
class HostBoundGrid : public ResidentBoundGrid {
 public:
  explicit HostBoundGrid(BoundGrid grid) : grid_(std::move(grid)) {}
  [[nodiscard]] const BoundGrid& grid() const { return grid_; }
  [[nodiscard]] const BoundGridShape& shape() const override { return grid_.shape(); }
  [[nodiscard]] size_t MemoryBytes() const override { return grid_.MemoryBytes(); }

 private:
  const BoundGrid grid_;
};

// Calls body(0) to body(count - 1), in any order, perhaps in several threads at once.
using ForEachIndex = absl::FunctionRef<void(size_t count, absl::FunctionRef<void(size_t)> body)>;

// Engine::DoBound with a HostBoundGrid. What `for_each` throws passes through.
[[nodiscard]] absl::StatusOr<std::vector<BoundHit>> BoundOnHost(const BoundRequest& request,
                                                                ForEachIndex for_each);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_CPU_HOST_BOUND_H_
