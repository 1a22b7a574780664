// SPDX-License-Identifier: Apache-2.0
//
// FakeMap and FakeTile: a resident map without cells and a tile, of no engine. Thread-safe:
// constant.

#ifndef VOXLOC_TESTS_SERVER_MAPS_FAKE_MAP_H_
#define VOXLOC_TESTS_SERVER_MAPS_FAKE_MAP_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "core/map/cells.h"

namespace voxloc::server {

class FakeMap : public ResidentMap {
 public:
  explicit FakeMap(std::vector<CellStatistics> statistics = std::vector<CellStatistics>(1))
      : statistics_(std::move(statistics)) {}
  const std::vector<CellStatistics>& statistics() const override { return statistics_; }
  size_t cells(size_t /*statistics_index*/) const override { return 7; }
  size_t MemoryBytes() const override { return 1000; }
  absl::StatusOr<std::vector<MapCell>> CellsInBox(size_t /*statistics_index*/,
                                                  const Eigen::Vector3d& /*min*/,
                                                  const Eigen::Vector3d& /*max*/,
                                                  size_t /*max_cells*/) const override {
    return std::vector<MapCell>();
  }

 private:
  const std::vector<CellStatistics> statistics_;
};

class FakeTile : public ResidentTile {
 public:
  size_t points() const override { return 10; }
  size_t not_finite() const override { return 0; }
  size_t cells() const override { return 3; }
  size_t MemoryBytes() const override { return 100; }
};

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_MAPS_FAKE_MAP_H_
