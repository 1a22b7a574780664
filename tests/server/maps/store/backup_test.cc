// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/server/maps/store/store_dump.h"
#include "tests/server/maps/store/store_fixture.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class BackupTest : public StoreTest {
 protected:
  [[nodiscard]] std::string DumpAt(const std::string& directory) const {
    return DumpOf(*OpenSqliteMapStore(directory, options_).value());
  }
  [[nodiscard]] absl::Status Backup(const std::string& path) {
    return store_->Backup(path, [](double) { return true; });
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, BackupTest, ::testing::Values(StoreKind::kFile, StoreKind::kMemory),
                         NameOf);

TEST_P(BackupTest, ABackupIsRestored) {
  ASSERT_TRUE(store_->Commit(CommitOf(*store_, "town", 0, {{"a", 1}, {"b", 2}})).ok());
  const std::string dump = DumpOf(*store_);
  const std::string backup = scratch_.Path("backups/one.db");
  double last = 0.0;
  ASSERT_TRUE(store_
                  ->Backup(backup,
                           [&last](double part) {
                             EXPECT_GE(part, last);
                             EXPECT_LE(part, 1.0);
                             last = part;
                             return true;
                           })
                  .ok());
  EXPECT_EQ(last, 1.0);
  EXPECT_EQ(Backup(backup).code(), absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(store_->Commit(CommitOf(*store_, "town", 1, {{"a", 3}})).ok());
  // Into a new directory.
  const std::string elsewhere = scratch_.Path("elsewhere");
  EXPECT_EQ(RestoreMapStore(backup, elsewhere).value(), "");
  auto restored = OpenSqliteMapStore(elsewhere, options_).value();
  EXPECT_EQ(DumpOf(*restored), dump);
  EXPECT_EQ(RestoreMapStore(backup, elsewhere).status().code(), absl::StatusCode::kAlreadyExists);
  // Over a database, which is kept with its log.
  ASSERT_TRUE(restored->Commit(CommitOf(*restored, "town", 1, {{"a", 4}})).ok());
  const std::string replaced = DumpOf(*restored);
  restored.reset();
  const std::string kept = RestoreMapStore(backup, elsewhere).value();
  EXPECT_EQ(DumpAt(elsewhere), dump);
  ASSERT_TRUE(std::filesystem::exists(kept)) << kept;
  const std::string third = scratch_.Path("third");
  std::filesystem::create_directories(third);
  std::filesystem::copy_file(kept, third + "/maps.db");
  EXPECT_EQ(DumpAt(third), replaced);
}

TEST_P(BackupTest, ADamagedBackupIsRefusedAndNothingIsReplaced) {
  ASSERT_TRUE(store_->Commit(CommitOf(*store_, "town", 0, {{"a", 1}, {"b", 2}})).ok());
  const std::string backup = scratch_.Path("backup.db");
  ASSERT_TRUE(Backup(backup).ok());
  const std::string target = scratch_.Path("target");
  ASSERT_TRUE(RestoreMapStore(backup, target).ok());
  const std::string dump = DumpAt(target);

  std::fstream file(backup, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096);
  file << std::string(8192, 'x');
  file.close();
  EXPECT_THAT(RestoreMapStore(backup, target).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(backup)));
  for (const char* const text : {"no backup at all", ""}) {
    EXPECT_EQ(RestoreMapStore(scratch_.Write("text", text), target).status().code(),
              absl::StatusCode::kDataLoss);
  }
  EXPECT_FALSE(RestoreMapStore(scratch_.Path("absent"), target).ok());
  EXPECT_EQ(DumpAt(target), dump);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(target)) {
    if (entry.path().filename().string().find("restored") != std::string::npos) ++files;
  }
  EXPECT_EQ(files, 0U);
}

TEST_P(BackupTest, OneThatIsEndedLeavesNoFile) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(UploadBytes(*store_, PointBytes(static_cast<uint64_t>(i), 200000)).ok());
  }
  const std::string backup = scratch_.Path("ended/one.db");
  int steps = 0;
  const absl::Status ended = store_->Backup(backup, [&steps](double) { return ++steps < 2; });
  EXPECT_EQ(ended.code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(std::filesystem::is_empty(scratch_.Path("ended")));
  EXPECT_TRUE(Backup(backup).ok());
  EXPECT_FALSE(Backup(scratch_.Path("ended") + "/absent/one.db").ok());
}

TEST_P(BackupTest, OthersWriteMeanwhile) {
  ASSERT_TRUE(store_->Commit(CommitOf(*store_, "town", 0, {{"a", 1}})).ok());
  ASSERT_TRUE(UploadBytes(*store_, PointBytes(1, 500000)).ok());
  std::atomic<bool> done{false};
  std::atomic<uint64_t> revision{1};
  std::thread writer([&] {
    for (uint64_t i = 0; i < 200 && !done; ++i) {
      const auto commit =
          store_->Commit(CommitOf(*store_, "town", revision, {{absl::StrCat("tile ", i % 10), i}}));
      ASSERT_TRUE(commit.ok()) << commit.status();
      revision = commit->revision.revision;
    }
  });
  const uint64_t before = revision;
  const std::string backup = scratch_.Path("backup.db");
  const absl::Status status = Backup(backup);
  const uint64_t after = revision + 1;
  done = true;
  writer.join();
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_TRUE(RestoreMapStore(backup, scratch_.Path("copy")).ok());
  auto copy = OpenSqliteMapStore(scratch_.Path("copy"), options_).value();
  EXPECT_GE(copy->GetMap("town")->active_revision, before);
  EXPECT_LE(copy->GetMap("town")->active_revision, after);
  EXPECT_THAT(DumpOf(*copy), Not(HasSubstr(": ")));
  EXPECT_THAT(DumpOf(*copy), Not(HasSubstr("another")));
  copy.reset();
  EXPECT_EQ(FaultsOf(scratch_.Path("copy")), "");
}

}  // namespace
}  // namespace voxloc::server
