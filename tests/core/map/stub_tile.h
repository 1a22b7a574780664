// SPDX-License-Identifier: Apache-2.0
//
// A tile of no engine, for what tells tiles apart without looking into them.

#ifndef VOXLOC_TESTS_CORE_MAP_STUB_TILE_H_
#define VOXLOC_TESTS_CORE_MAP_STUB_TILE_H_

#include <cstddef>

#include "core/map/cells.h"

namespace voxloc {

struct StubTile : public ResidentTile {
  size_t points() const override { return 10; }
  size_t not_finite() const override { return 0; }
  size_t cells() const override { return 3; }
  size_t MemoryBytes() const override { return 100; }
};

}  // namespace voxloc

#endif  // VOXLOC_TESTS_CORE_MAP_STUB_TILE_H_
