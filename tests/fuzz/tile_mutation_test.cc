// SPDX-License-Identifier: Apache-2.0
//
// An exported tile with bytes changed, cut, doubled and put in, and the same with a checksum that
// is right again, thousands of times from fixed seeds. None is taken for a tile unless it is a
// sound one, and none makes the decoder allocate more than the bytes stand for; a sanitizer build
// sees reads out of bounds.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/checksum/crc32c.h"
#include "core/map/cells.h"
#include "core/map/tile_codec.h"
#include "gtest/gtest.h"
#include "tests/fuzz/mutation.h"
#include "tests/support/allocation_hooks.h"

namespace voxloc {
namespace {

std::string ExportedTile() {
  std::mt19937_64 random(3);
  const auto coordinate = [&random] { return static_cast<float>(random() % 2000) * 0.005F - 5.0F; };
  PointCloud cloud;
  for (int i = 0; i < 60; ++i) {
    const float x = coordinate();
    const float y = coordinate();
    cloud.PushBack(x, y, 0.2F * coordinate());
  }
  const TileMoments fine = *BuildTileMoments(cloud, 0.5, {false});
  const TileMoments coarse = *BuildTileMoments(cloud, 2.0);
  return *EncodeTile({&fine, &coarse});
}

std::string Sealed(std::string bytes) {
  if (bytes.size() < 4) return bytes;
  bytes.resize(bytes.size() - 4);
  const uint32_t crc = Crc32c(bytes);
  bytes.append(reinterpret_cast<const char*>(&crc), sizeof(crc));
  return bytes;
}

// In memory of exactly this size, so that a sanitizer sees any byte read beside it.
absl::StatusOr<std::vector<TileMoments>> DecodeExact(const std::string& bytes) {
  const std::vector<char> exact(bytes.begin(), bytes.end());
  ResetAllocationCounts();
  auto decoded = DecodeTile(absl::string_view(exact.data(), exact.size()));
  // An entry of 16 bytes becomes one of 20; errors have their text.
  EXPECT_LE(CountedAllocations().largest_bytes, 2 * exact.size() + 512);
  return decoded;
}

// What a map does with it must be in bounds.
void Compose(const std::vector<TileMoments>& lattices) {
  for (const TileMoments& lattice : lattices) {
    CellStatistics statistics;
    statistics.cell_size_m = lattice.cell_size_m;
    statistics.merge_tiles = lattice.float_sums.empty();
    statistics.float_index = !lattice.float_sums.empty();
    std::vector<MapCell> cells;
    for (const TileMoments::Block& block : lattice.blocks) {
      const CellSource source = {&lattice, block.begin, block.end};
      ComposeBlock(block.key, {&source, 1}, statistics, cells);
    }
    for (const MapCell& cell : cells) {
      ASSERT_TRUE(cell.index.allFinite());
      (void)CellOf(cell.index, lattice.cell_size_m);
    }
  }
}

TEST(TileMutationTest, EveryTruncationIsRefused) {
  const std::string bytes = ExportedTile();
  ASSERT_TRUE(DecodeExact(bytes).ok());
  for (size_t size = 0; size < bytes.size(); ++size) {
    for (const std::string& cut : {bytes.substr(0, size), Sealed(bytes.substr(0, size))}) {
      ASSERT_EQ(DecodeExact(cut).status().code(), absl::StatusCode::kDataLoss) << size;
    }
  }
}

TEST(TileMutationTest, EveryFlippedBitIsRefused) {
  const std::string bytes = ExportedTile();
  for (size_t i = 0; i < 8 * bytes.size(); ++i) {
    std::string flipped = bytes;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << i % 8));
    ASSERT_EQ(DecodeTile(flipped).status().code(), absl::StatusCode::kDataLoss) << i;
  }
}

TEST(TileMutationTest, EveryMutationIsRefusedAndWithItsChecksumRefusedOrSound) {
  const std::string bytes = ExportedTile();
  size_t refused = 0;
  size_t sound = 0;
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    std::mt19937_64 random(seed);
    const std::string mutated = Mutate(bytes, random);
    if (mutated != bytes) {
      ASSERT_EQ(DecodeExact(mutated).status().code(), absl::StatusCode::kDataLoss) << seed;
    }
    const auto decoded = DecodeExact(Sealed(mutated));
    ++(decoded.ok() ? sound : refused);
    if (decoded.ok()) Compose(*decoded);
    if (HasFailure()) return;
  }
  // Both happen, or the mutations test nothing.
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(sound, 1000u);
}

}  // namespace
}  // namespace voxloc
