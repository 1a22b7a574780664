// SPDX-License-Identifier: Apache-2.0

#include "server/maps/moments/moments_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/checksum/sha256.h"
#include "tests/support/engine_test.h"
#include "tests/support/eventually.h"
#include "tests/support/forwarding_engine.h"
#include "tests/support/gate.h"
#include "tests/support/result_bits.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/synthetic_scene.h"

namespace voxloc::server {
namespace {

using Tile = std::shared_ptr<const ResidentTile>;

Sha256Digest DigestOf(int number) {
  Sha256Digest digest;
  digest.fill(static_cast<uint8_t>(number));
  return digest;
}

class MomentsCacheTest : public EngineTest {
 protected:
  void SetUp() override { tile_ = Build(all_); }

  [[nodiscard]] std::unique_ptr<MomentsCache> Open() { return Open(engine()); }
  [[nodiscard]] std::unique_ptr<MomentsCache> Open(Engine& engine) {
    return std::make_unique<MomentsCache>(options_, engine, metrics_);
  }
  // The scene, or a strip of it.
  static Tile Build(absl::Span<const CellStatistics> statistics, int strip = -1) {
    PointCloud cloud = SceneMap();
    if (strip >= 0) cloud = CutIntoTiles(cloud, 3, 1, {-31.0, -31.0}, {20.7, 62.0})[strip];
    auto tile = engine().BuildTile(cloud, statistics);
    EXPECT_TRUE(tile.ok()) << tile.status();
    return *std::move(tile);
  }
  static std::string Export(const Tile& tile) {
    if (tile == nullptr) return "no tile";
    auto bytes = engine().ExportTile(*tile);
    return bytes.ok() ? *std::move(bytes) : bytes.status().ToString();
  }
  [[nodiscard]] std::vector<std::filesystem::path> Files() const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(options_.path)) {
      files.push_back(entry.path());
    }
    return files;
  }
  // As if all files had been used two hours earlier.
  void Age() const {
    for (const std::filesystem::path& file : Files()) {
      std::filesystem::last_write_time(
          file, std::filesystem::last_write_time(file) - std::chrono::hours(2));
    }
  }
  // In the middle of every file.
  void FlipBits() const {
    ASSERT_FALSE(Files().empty());
    for (const std::filesystem::path& path : Files()) {
      std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
      file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(path) / 2));
      file.write("\x00\xff", 2);
    }
  }

  Metrics metrics_;
  ScratchDir directory_;
  MomentsCacheOptions options_ = [this] {
    MomentsCacheOptions options;
    options.path = directory_.Path("moments");
    return options;
  }();
  const std::vector<CellStatistics> all_ = AllStatistics();
  Tile tile_;  // of the whole scene and all statistics
};
VOXLOC_INSTANTIATE_ON_ENGINES(MomentsCacheTest);

TEST_P(MomentsCacheTest, ATileComesBackToTheBit) {
  Open()->Put(DigestOf(1), all_, tile_);
  const auto cache = Open();
  const Tile found = cache->Find(DigestOf(1), tile_->points(), all_);
  ASSERT_NE(found, nullptr);
  EXPECT_NE(found, tile_);
  EXPECT_EQ(Export(found), Export(tile_));
  EXPECT_EQ(metrics_.moments_hits.Value(), 1.0);
  EXPECT_EQ(cache->Find(DigestOf(2), tile_->points(), all_), nullptr);
  EXPECT_EQ(metrics_.moments_misses.Value(), 1.0);
}

TEST_P(MomentsCacheTest, AMapOfFoundTilesAnswersAsOneOfBuiltTiles) {
  std::vector<Tile> built;
  {
    const auto cache = Open();
    for (int strip = 0; strip < 3; ++strip) {
      built.push_back(Build(all_, strip));
      cache->Put(DigestOf(strip), all_, built.back());
    }
  }
  const auto cache = Open();
  std::vector<Tile> found;
  for (int strip = 0; strip < 3; ++strip) {
    found.push_back(cache->Find(DigestOf(strip), built[strip]->points(), all_));
    ASSERT_NE(found.back(), nullptr);
  }
  std::vector<std::string> answers;
  for (const auto& tiles : {built, found}) {
    const auto map = engine().Compose(tiles, all_, nullptr);
    ASSERT_TRUE(map.ok()) << map.status();
    AlignJob job = SceneJob(PreciseProfile());
    job.map = *map;
    const AlignResult result = AlignOne(engine(), job);
    ASSERT_TRUE(result.status.ok()) << result.status;
    answers.push_back(Bits(result));
  }
  EXPECT_EQ(answers[0], answers[1]);
}

TEST_P(MomentsCacheTest, LatticesHaveEntriesOfTheirOwn) {
  const std::vector<CellStatistics> one = RequiredStatistics({AutowareProfile()});
  const Tile of_one = Build(one);
  {
    const auto cache = Open();
    cache->Put(DigestOf(1), all_, tile_);
    EXPECT_EQ(cache->Find(DigestOf(1), of_one->points(), one), nullptr);
    cache->Put(DigestOf(1), one, of_one);
  }
  const auto cache = Open();
  EXPECT_EQ(Export(cache->Find(DigestOf(1), tile_->points(), all_)), Export(tile_));
  EXPECT_EQ(Export(cache->Find(DigestOf(1), of_one->points(), one)), Export(of_one));
  EXPECT_NE(Export(of_one), Export(tile_));
}

TEST_P(MomentsCacheTest, AnotherVersionBeginsWithNothing) {
  Open()->Put(DigestOf(1), all_, tile_);
  ++options_.version;
  EXPECT_EQ(Open()->Find(DigestOf(1), tile_->points(), all_), nullptr);
  Open()->Put(DigestOf(1), all_, tile_);
  EXPECT_EQ(Export(Open()->Find(DigestOf(1), tile_->points(), all_)), Export(tile_));
}

TEST_P(MomentsCacheTest, ADamagedEntryIsRemoved) {
  Open()->Put(DigestOf(1), all_, tile_);
  FlipBits();
  EXPECT_EQ(Open()->Find(DigestOf(1), tile_->points(), all_), nullptr);
  EXPECT_EQ(metrics_.moments_damaged.Value(), 1.0);
  // The cache that found it has removed it.
  EXPECT_EQ(Open()->Find(DigestOf(1), tile_->points(), all_), nullptr);
  EXPECT_EQ(metrics_.moments_damaged.Value(), 1.0);
  Open()->Put(DigestOf(1), all_, tile_);
  EXPECT_EQ(Export(Open()->Find(DigestOf(1), tile_->points(), all_)), Export(tile_));
}

TEST_P(MomentsCacheTest, MomentsOfOtherPointsAreNotTaken) {
  Open()->Put(DigestOf(1), all_, tile_);
  EXPECT_EQ(Open()->Find(DigestOf(1), tile_->points() + 1, all_), nullptr);
  EXPECT_EQ(metrics_.moments_damaged.Value(), 1.0);
}

TEST_P(MomentsCacheTest, AFileThatIsLostOrDamagedIsMadeAnew) {
  const auto refill = [&] {
    Open()->Put(DigestOf(1), all_, tile_);
    ASSERT_EQ(Export(Open()->Find(DigestOf(1), tile_->points(), all_)), Export(tile_));
    ASSERT_EQ(Files().size(), 1u);
  };
  refill();
  std::filesystem::remove(Files().front());
  EXPECT_EQ(Open()->Find(DigestOf(1), tile_->points(), all_), nullptr);
  for (const double part : {0.9, 0.5, 0.01, 0.0}) {
    refill();
    const auto size = static_cast<double>(std::filesystem::file_size(Files().front()));
    std::filesystem::resize_file(Files().front(), static_cast<uintmax_t>(part * size));
    EXPECT_EQ(Open()->Find(DigestOf(1), tile_->points(), all_), nullptr) << part;
    EXPECT_TRUE(Files().empty()) << part;
  }
  refill();
  std::ofstream(Files().front(), std::ios::binary) << std::string(100'000, 'x');
  EXPECT_EQ(Open()->Find(DigestOf(1), tile_->points(), all_), nullptr);
  refill();
  std::filesystem::remove_all(options_.path);
  EXPECT_EQ(Open()->Find(DigestOf(1), tile_->points(), all_), nullptr);
  refill();
}

TEST_P(MomentsCacheTest, WhatIsDamagedMeanwhileIsMadeAnew) {
  const auto cache = Open();
  for (int i = 0; i < 3; ++i) Open()->Put(DigestOf(i), all_, tile_);
  ASSERT_EQ(Files().size(), 3u);
  for (const std::filesystem::path& file : Files()) {
    std::ofstream(file, std::ios::binary) << std::string(100'000, 'x');
  }
  EXPECT_EQ(cache->Find(DigestOf(0), tile_->points(), all_), nullptr);
  EXPECT_TRUE(Eventually([&] {
    cache->Put(DigestOf(0), all_, tile_);
    return cache->Find(DigestOf(0), tile_->points(), all_) != nullptr;
  }));
}

TEST_P(MomentsCacheTest, AnEarlierDatabaseIsRemoved) {
  for (const char* const end : {".db", ".db-wal", ".db-shm"}) {
    std::ofstream(options_.path + end) << "SQLite format 3";
  }
  Open()->Put(DigestOf(1), all_, tile_);
  for (const char* const end : {".db", ".db-wal", ".db-shm"}) {
    EXPECT_FALSE(std::filesystem::exists(options_.path + end)) << end;
  }
  EXPECT_EQ(Export(Open()->Find(DigestOf(1), tile_->points(), all_)), Export(tile_));
}

TEST_P(MomentsCacheTest, ALowerLimitHoldsFromTheOpeningOn) {
  for (const int number : {1, 2, 3}) {
    Open()->Put(DigestOf(number), all_, tile_);
    Age();
  }
  options_.max_bytes = 3 * Export(tile_).size() / 2;
  const auto cache = Open();
  EXPECT_EQ(metrics_.moments_evicted.Value(), 2.0);
  EXPECT_NE(cache->Find(DigestOf(3), tile_->points(), all_), nullptr);
}

TEST_P(MomentsCacheTest, WithoutAFolderNothingIsKept) {
  options_.path = directory_.Path("missing/folder") + "/there/moments";
  const auto cache = Open();
  cache->Put(DigestOf(1), all_, tile_);
  EXPECT_EQ(cache->Find(DigestOf(1), tile_->points(), all_), nullptr);
}

TEST_P(MomentsCacheTest, TilesThatWereUsedLongestAgoGoFirst) {
  options_.max_bytes = 5 * Export(tile_).size() / 2;
  const auto find = [&](int number) {
    return Open()->Find(DigestOf(number), tile_->points(), all_) != nullptr;
  };
  for (const int number : {1, 2}) {
    Open()->Put(DigestOf(number), all_, tile_);
    Age();
  }
  ASSERT_TRUE(find(1));
  Open()->Put(DigestOf(3), all_, tile_);
  EXPECT_TRUE(find(1));
  EXPECT_FALSE(find(2));
  EXPECT_TRUE(find(3));
  EXPECT_EQ(metrics_.moments_evicted.Value(), 1.0);
}

TEST_P(MomentsCacheTest, ATileBeyondTheLimitIsNotKept) {
  options_.max_bytes = Export(tile_).size() / 2;
  Open()->Put(DigestOf(1), all_, tile_);
  EXPECT_EQ(Open()->Find(DigestOf(1), tile_->points(), all_), nullptr);
  EXPECT_EQ(metrics_.moments_not_kept.Value() + metrics_.moments_evicted.Value(), 1.0);
}

// Holds exports up, or fails them.
class SlowExports : public ForwardingEngine {
 public:
  using ForwardingEngine::ForwardingEngine;

  absl::StatusOr<std::string> DoExportTile(const ResidentTile& tile_) override {
    gate.Pass(1);
    if (failing) return absl::ResourceExhaustedError("no memory to export");
    return ForwardingEngine::DoExportTile(tile_);
  }

  Gate gate;
  std::atomic<bool> failing = false;
};

TEST_P(MomentsCacheTest, WhatIsToBeWrittenIsBounded) {
  options_.max_waiting_bytes = 2 * tile_->MemoryBytes();
  SlowExports slow(engine());
  {
    const auto cache = Open(slow);
    slow.gate.Close();
    cache->Put(DigestOf(1), all_, tile_);
    slow.gate.AwaitBatches(1);  // it is being written, and waits no more
    for (const int number : {2, 3, 4, 5}) cache->Put(DigestOf(number), all_, tile_);
    EXPECT_EQ(metrics_.moments_not_kept.Value(), 2.0);
    // Nobody who looks for a tile waits for it.
    EXPECT_EQ(cache->Find(DigestOf(1), tile_->points(), all_), nullptr);
    slow.gate.Open();
  }
  const auto cache = Open();
  for (const int number : {1, 2, 3}) {
    EXPECT_NE(cache->Find(DigestOf(number), tile_->points(), all_), nullptr) << number;
  }
  EXPECT_EQ(cache->Find(DigestOf(4), tile_->points(), all_), nullptr);
}

TEST_P(MomentsCacheTest, AFailingExportKeepsNothingAndHarmsNothing) {
  SlowExports engine_without_memory(engine());
  engine_without_memory.failing = true;
  {
    const auto cache = Open(engine_without_memory);
    cache->Put(DigestOf(1), all_, tile_);
    ASSERT_TRUE(Eventually([&] { return metrics_.moments_not_kept.Value() == 1.0; }));
    engine_without_memory.failing = false;
    cache->Put(DigestOf(2), all_, tile_);
  }
  const auto cache = Open();
  EXPECT_EQ(cache->Find(DigestOf(1), tile_->points(), all_), nullptr);
  EXPECT_NE(cache->Find(DigestOf(2), tile_->points(), all_), nullptr);
}

TEST_P(MomentsCacheTest, ServesSeveralThreadsAtOnce) {
  const Tile tile = Build(all_, 0);
  const auto cache = Open();
  std::atomic<int> found = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const int number = (t + i) % 5;
        const Tile there = cache->Find(DigestOf(number), tile->points(), all_);
        if (there == nullptr) {
          cache->Put(DigestOf(number), all_, tile);
        } else {
          EXPECT_EQ(there->cells(), tile->cells());
          ++found;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(
      Eventually([&] { return cache->Find(DigestOf(0), tile->points(), all_) != nullptr; }));
  EXPECT_EQ(metrics_.moments_damaged.Value(), 0.0);
}

}  // namespace
}  // namespace voxloc::server
