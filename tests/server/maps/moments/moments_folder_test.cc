// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/maps/moments/moments_cache.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::server {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kVersion = 7;

CellStatistics WithCells(double cell_size_m, bool float_index) {
  CellStatistics statistics;
  statistics.cell_size_m = cell_size_m;
  statistics.float_index = float_index;
  statistics.merge_tiles = !float_index;
  return statistics;
}

std::string KeyOf(uint8_t number, const std::vector<CellStatistics>& statistics = {}) {
  Sha256Digest digest;
  digest.fill(number);
  return MomentsKey(digest, statistics);
}

// The lattices in a key.
std::string LatticesOf(const std::vector<CellStatistics>& statistics) {
  return KeyOf(1, statistics).substr(KeyOf(1).size());
}

TEST(MomentsKey, NamesEachLatticeOnce) {
  EXPECT_EQ(LatticesOf({WithCells(2.0, false), WithCells(0.5, false), WithCells(2.0, true)}),
            "-0.5,2f");
  EXPECT_EQ(LatticesOf({WithCells(2.0, true), WithCells(2.0, false), WithCells(0.5, false)}),
            "-0.5,2f");
}

TEST(MomentsKey, IgnoresWhatBecomesOfMomentsAfterwards) {
  CellStatistics other = WithCells(2.0, false);
  other.gaussian.min_points = 9;
  other.gaussian.eigenvalue_ratio = 0.5;
  other.merge_tiles = false;
  EXPECT_EQ(KeyOf(1, {other}), KeyOf(1, {WithCells(2.0, false)}));
}

TEST(MomentsKey, TellsCellSizesApartThatPrintAlike) {
  const double size = 1.1;
  EXPECT_NE(KeyOf(1, {WithCells(size, false)}),
            KeyOf(1, {WithCells(std::nextafter(size, 2.0), false)}));
}

class MomentsFolderTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<MomentsFolder> Open(uint32_t version = kVersion) const {
    auto folder = MomentsFolder::Open(path_, version);
    EXPECT_TRUE(folder.ok()) << folder.status();
    return folder.ok() ? *std::move(folder) : nullptr;
  }
  // The bytes of a file, or what is in their place.
  static std::string BytesOf(const MomentsFolder& folder, const std::string& key) {
    const auto bytes = folder.Read(key);
    if (!bytes.ok()) return bytes.status().ToString();
    return bytes->value_or("none");
  }
  [[nodiscard]] std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(path_)) files.push_back(entry.path());
    return files;
  }

  // As if all files had been used so much earlier.
  void Age(std::chrono::minutes by) const {
    for (const fs::path& file : Files()) fs::last_write_time(file, fs::last_write_time(file) - by);
  }

  ScratchDir directory_;
  const std::string path_ = directory_.Path("moments");
};

TEST_F(MomentsFolderTest, FilesLast) {
  const std::string large(3'000'000, 'x');
  {
    const auto folder = Open();
    ASSERT_TRUE(folder->Write(KeyOf(1), "one").ok());
    ASSERT_TRUE(folder->Write(KeyOf(1, {WithCells(4.0, false)}), "other lattices").ok());
    ASSERT_TRUE(folder->Write(KeyOf(2), large).ok());
    ASSERT_TRUE(folder->Write(KeyOf(1), "one again").ok());
  }
  const auto folder = Open();
  EXPECT_EQ(BytesOf(*folder, KeyOf(1)), "one again");
  EXPECT_EQ(BytesOf(*folder, KeyOf(1, {WithCells(4.0, false)})), "other lattices");
  EXPECT_EQ(BytesOf(*folder, KeyOf(2)), large);
  EXPECT_EQ(BytesOf(*folder, KeyOf(3)), "none");
  EXPECT_GE(folder->bytes(), large.size());
  EXPECT_LT(folder->bytes(), large.size() + 1000);
  EXPECT_EQ(Files().size(), 3u);
}

TEST_F(MomentsFolderTest, TheOldestGoFirst) {
  const std::string bytes(10'000, 'x');
  const auto folder = Open();
  for (uint8_t i = 1; i <= 4; ++i) {
    ASSERT_TRUE(folder->Write(KeyOf(i), bytes).ok());
    Age(std::chrono::hours(2));
  }
  EXPECT_EQ(BytesOf(*folder, KeyOf(1)), bytes);
  EXPECT_EQ(folder->Shrink(25'000), 2u);
  EXPECT_EQ(BytesOf(*folder, KeyOf(1)), bytes);
  EXPECT_EQ(BytesOf(*folder, KeyOf(2)), "none");
  EXPECT_EQ(BytesOf(*folder, KeyOf(3)), "none");
  EXPECT_EQ(BytesOf(*folder, KeyOf(4)), bytes);
  EXPECT_LE(folder->bytes(), 25'000u);
}

TEST_F(MomentsFolderTest, AUseIsNotedOnceAnHour) {
  const auto folder = Open();
  ASSERT_TRUE(folder->Write(KeyOf(1), "one").ok());
  for (const bool noted : {false, true}) {
    Age(std::chrono::minutes(noted ? 60 : 1));
    const auto before = fs::last_write_time(Files().front());
    EXPECT_EQ(BytesOf(*folder, KeyOf(1)), "one");
    EXPECT_EQ(fs::last_write_time(Files().front()) != before, noted);
  }
}

TEST_F(MomentsFolderTest, ShrinksByManyFilesAndToNothing) {
  const auto folder = Open();
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(folder->Write(KeyOf(static_cast<uint8_t>(i)), "few bytes").ok());
  }
  EXPECT_EQ(folder->Shrink(0), 200u);
  EXPECT_EQ(folder->bytes(), 0u);
  EXPECT_TRUE(Files().empty());
}

TEST_F(MomentsFolderTest, StaysWithinItsLimit) {
  const std::string bytes(1'000'000, 'x');
  const auto folder = Open();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(folder->Write(KeyOf(static_cast<uint8_t>(i)), bytes).ok());
    static_cast<void>(folder->Shrink(4'000'000));
    uint64_t there = 0;
    for (const fs::path& file : Files()) there += fs::file_size(file);
    EXPECT_LE(there, 4'000'000u);
    EXPECT_EQ(there, folder->bytes());
  }
}

TEST_F(MomentsFolderTest, WithinTheLimitNothingGoes) {
  const auto folder = Open();
  ASSERT_TRUE(folder->Write(KeyOf(1), std::string(1000, 'x')).ok());
  EXPECT_EQ(folder->Shrink(folder->bytes()), 0u);
  EXPECT_NE(BytesOf(*folder, KeyOf(1)), "none");
}

TEST_F(MomentsFolderTest, RemovedFilesAreGone) {
  const auto folder = Open();
  ASSERT_TRUE(folder->Write(KeyOf(1), "one").ok());
  ASSERT_TRUE(folder->Write(KeyOf(2), "two").ok());
  folder->Remove(KeyOf(1));
  folder->Remove(KeyOf(99));
  EXPECT_EQ(BytesOf(*folder, KeyOf(1)), "none");
  EXPECT_EQ(BytesOf(*folder, KeyOf(2)), "two");
}

TEST_F(MomentsFolderTest, AFileOfAnotherKeyIsDamage) {
  // What a power cut can leave: the blocks of another file, or none.
  for (const bool empty : {false, true}) {
    const auto folder = Open();
    ASSERT_TRUE(folder->Write(KeyOf(1), "one").ok());
    const fs::path one = Files().front();
    std::string two = one.string();
    two.replace(two.rfind("v7-") + 3, KeyOf(2).size(), KeyOf(2));
    fs::rename(one, two);
    if (empty) fs::resize_file(two, 0);
    EXPECT_EQ(folder->Read(KeyOf(2)).status().code(), absl::StatusCode::kDataLoss);
    fs::remove(two);
  }
}

TEST_F(MomentsFolderTest, FilesOfAnotherVersionAndUnfinishedOnesAreRemoved) {
  for (const uint32_t version : {kVersion - 1, kVersion + 1}) {
    ASSERT_TRUE(Open()->Write(KeyOf(1), "one").ok());
    std::ofstream(path_ + "/123-1.moments.new") << "half of a f";
    std::ofstream(path_ + "/README") << "somebody's";
    const auto other = Open(version);
    EXPECT_EQ(other->outdated(), 1u);
    EXPECT_EQ(other->bytes(), 0u);
    EXPECT_EQ(BytesOf(*other, KeyOf(1)), "none");
    EXPECT_EQ(Files().size(), 1u);
  }
}

TEST_F(MomentsFolderTest, AFolderThatCannotBeMadeIsAnError) {
  EXPECT_EQ(MomentsFolder::Open(directory_.Path("missing/folder") + "/there/moments", kVersion)
                .status()
                .code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(MomentsFolderTest, ServesTwoProcessesAtOnce) {
  // Two of them as two processes have them: they share nothing but the folder.
  const std::string bytes(100'000, 'x');
  std::atomic<int> found = 0;
  const std::unique_ptr<MomentsFolder> folders[] = {Open(), Open()};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      const auto& folder = folders[t];
      for (int i = 0; i < 300; ++i) {
        const std::string key = KeyOf(static_cast<uint8_t>((i * (t + 1)) % 7));
        const std::string there = BytesOf(*folder, key);
        if (there == bytes) ++found;
        if (there == "none") {
          EXPECT_TRUE(folder->Write(key, bytes).ok());
        } else {
          EXPECT_EQ(there, bytes);
        }
        static_cast<void>(folder->Shrink(500'000));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace voxloc::server
