// SPDX-License-Identifier: Apache-2.0

#include "server/maps/moments/moments_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "tests/support/scratch_dir.h"

namespace voxloc::server {
namespace {

constexpr uint32_t kVersion = 7;

MomentsKey KeyOf(uint8_t number, const std::string& lattices = "1,2f") {
  MomentsKey key;
  key.digest.fill(number);
  key.lattices = lattices;
  return key;
}

class MomentsFileTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<MomentsFile> Open(uint32_t version = kVersion) const {
    auto file = MomentsFile::Open(path_, version);
    EXPECT_TRUE(file.ok()) << file.status();
    return file.ok() ? *std::move(file) : nullptr;
  }
  // The bytes of an entry, or what is in their place.
  static std::string BytesOf(MomentsFile& file, const MomentsKey& key) {
    const auto entry = file.Read(key);
    if (!entry.ok()) return entry.status().ToString();
    return entry->has_value() ? (*entry)->bytes : "none";
  }

  ScratchDir directory_;
  const std::string path_ = directory_.Path("moments.db");
};

TEST_F(MomentsFileTest, EntriesLast) {
  const std::string large(3'000'000, 'x');
  {
    const auto file = Open();
    ASSERT_TRUE(file->Write(KeyOf(1), "one", 5).ok());
    ASSERT_TRUE(file->Write(KeyOf(1, "4"), "other lattices", 5).ok());
    ASSERT_TRUE(file->Write(KeyOf(2), large, 6).ok());
    ASSERT_TRUE(file->Write(KeyOf(1), "one again", 5).ok());
  }
  const auto file = Open();
  EXPECT_EQ(BytesOf(*file, KeyOf(1)), "one again");
  EXPECT_EQ(BytesOf(*file, KeyOf(1, "4")), "other lattices");
  EXPECT_EQ(BytesOf(*file, KeyOf(2)), large);
  EXPECT_EQ(BytesOf(*file, KeyOf(3)), "none");
  EXPECT_GE(file->bytes(), large.size());
  EXPECT_LT(file->bytes(), large.size() + 1000);
}

TEST_F(MomentsFileTest, TheOldestGoFirst) {
  const std::string bytes(10'000, 'x');
  const auto file = Open();
  for (uint8_t i = 1; i <= 4; ++i) ASSERT_TRUE(file->Write(KeyOf(i), bytes, i).ok());
  const auto oldest = file->Read(KeyOf(1));
  ASSERT_TRUE(oldest.ok() && oldest->has_value());
  EXPECT_EQ((*oldest)->used_unix_s, 1);
  ASSERT_TRUE(file->SetUsed({(*oldest)->id, 1234}, 10).ok());
  const auto removed = file->Shrink(25'000).value();
  EXPECT_EQ(removed, 2u);
  EXPECT_EQ(BytesOf(*file, KeyOf(1)), bytes);
  EXPECT_EQ(BytesOf(*file, KeyOf(2)), "none");
  EXPECT_EQ(BytesOf(*file, KeyOf(3)), "none");
  EXPECT_EQ(BytesOf(*file, KeyOf(4)), bytes);
  EXPECT_LE(file->bytes(), 25'000u);
}

TEST_F(MomentsFileTest, ShrinksByManyEntriesAndToNothing) {
  const auto file = Open();
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(file->Write(KeyOf(static_cast<uint8_t>(i)), "few bytes", 1).ok());
  }
  const auto removed = file->Shrink(0).value();
  EXPECT_EQ(removed, 200u);
  EXPECT_EQ(file->bytes(), 0u);
}

TEST_F(MomentsFileTest, RoomOfRemovedEntriesIsUsedAgain) {
  const std::string bytes(1'000'000, 'x');
  const auto file = Open();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(file->Write(KeyOf(static_cast<uint8_t>(i)), bytes, i).ok());
    ASSERT_TRUE(file->Shrink(4'000'000).ok());
  }
  // The log has its 16 MiB beside it.
  EXPECT_LT(std::filesystem::file_size(path_), 8'000'000u);
  EXPECT_LT(std::filesystem::file_size(path_ + "-wal"), 40'000'000u);
}

TEST_F(MomentsFileTest, ErasedEntriesAreGone) {
  const auto file = Open();
  ASSERT_TRUE(file->Write(KeyOf(1), "one", 1).ok());
  ASSERT_TRUE(file->Write(KeyOf(2), "two", 1).ok());
  const auto entry = file->Read(KeyOf(1));
  ASSERT_TRUE(entry.ok() && entry->has_value());
  ASSERT_TRUE(file->Erase({(*entry)->id, 99}).ok());
  EXPECT_EQ(BytesOf(*file, KeyOf(1)), "none");
  EXPECT_EQ(BytesOf(*file, KeyOf(2)), "two");
}

TEST_F(MomentsFileTest, AnEntryOfAnotherKeyIsDamage) {
  {
    const auto file = Open();
    ASSERT_TRUE(file->Write(KeyOf(1), "one", 1).ok());
  }
  {
    // What a write that was lost in a power cut can leave.
    auto database = SqliteDatabase::Open(path_, SqliteDatabase::Access::kWrite);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE((*database)->Run("UPDATE moments SET digest = ?1", KeyOf(2).digest).ok());
  }
  const auto file = Open();
  EXPECT_EQ(file->Read(KeyOf(2)).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(MomentsFileTest, AnotherVersionIsRefusedUntilTheFileIsRemoved) {
  ASSERT_TRUE(Open()->Write(KeyOf(1), "one", 1).ok());
  for (const uint32_t version : {kVersion - 1, kVersion + 1}) {
    EXPECT_EQ(MomentsFile::Open(path_, version).status().code(),
              absl::StatusCode::kFailedPrecondition);
  }
  ASSERT_TRUE(MomentsFile::Remove(path_).ok());
  EXPECT_EQ(BytesOf(*Open(kVersion + 1), KeyOf(1)), "none");
}

TEST_F(MomentsFileTest, AKilledWriterLeavesWhatItWrote) {
  // As a process that was killed leaves it: the log is not moved into the file.
  const std::string copy = directory_.Path("copy.db");
  const auto file = Open();
  ASSERT_TRUE(file->Write(KeyOf(1), "one", 1).ok());
  std::filesystem::copy(path_, copy);
  std::filesystem::copy(path_ + "-wal", copy + "-wal");
  auto again = MomentsFile::Open(copy, kVersion).value();
  EXPECT_EQ(BytesOf(*again, KeyOf(1)), "one");
}

}  // namespace
}  // namespace voxloc::server
