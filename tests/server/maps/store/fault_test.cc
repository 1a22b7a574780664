// SPDX-License-Identifier: Apache-2.0
//
// What the store does where the disk, or what is on it, is not as it should be.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/checksum/crc32c.h"
#include "server/maps/store/contents.h"
#include "tests/server/maps/store/faulty_disk.h"
#include "tests/server/maps/store/store_dump.h"
#include "tests/server/maps/store/store_fixture.h"
#include "tests/support/random_numbers.h"

namespace voxloc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class FaultTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string directory() const { return scratch_.Path("data"); }
  [[nodiscard]] std::string database() const { return directory() + "/maps.db"; }
  [[nodiscard]] absl::StatusOr<std::unique_ptr<MapStore>> Open() const {
    return OpenSqliteMapStore(directory(), MapStoreOptions());
  }
  // Opens the store, or fails the test.
  void Start() {
    store_.reset();
    auto store = Open();
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  // Something done to the database behind the back of the store, which is closed.
  void Tamper(const std::string& sql) {
    store_.reset();
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(database().c_str(), &handle), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(handle);
    ASSERT_EQ(sqlite3_close(handle), SQLITE_OK);
  }

  ScratchDir scratch_;
  std::unique_ptr<MapStore> store_;
};

TEST_F(FaultTest, AFullDiskIsReportedAndHarmsNothing) {
  FaultyDisk disk;
  Start();
  ASSERT_TRUE(store_->Commit(CommitOf(*store_, "town", 0, {{"a", 1}})).ok());
  RevisionCommit commit = CommitOf(*store_, "town", 1, {{"a", 2}});
  const std::string before = DumpOf(*store_);
  disk.SetRoom(0);
  // The log has room of its own for a while.
  absl::Status full;
  for (uint64_t seed = 10; seed < 100 && full.ok(); ++seed) {
    full = UploadBytes(*store_, PointBytes(seed, 100000)).status();
  }
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted) << full;
  EXPECT_THAT(full.message(), HasSubstr("maps.db"));
  EXPECT_THAT(full.message(), testing::Not(HasSubstr(directory())));  // clients see it
  EXPECT_EQ(store_->Commit(commit).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(DumpOf(*store_), before);
  disk.SetRoom(1 << 30);
  EXPECT_TRUE(store_->Commit(commit).ok());
  EXPECT_EQ(store_->GetMap("town")->active_revision, 2U);
  store_.reset();
  EXPECT_EQ(FaultsOf(directory()), "");
}

// A small file system of its own, where mounting is permitted.
class Mounted {
 public:
  explicit Mounted(std::string path) : path_(std::move(path)) {
    std::filesystem::create_directories(path_);
    mounted_ = ::mount("none", path_.c_str(), "tmpfs", 0, "size=3m") == 0;
  }
  Mounted(const Mounted&) = delete;
  Mounted& operator=(const Mounted&) = delete;
  ~Mounted() {
    if (mounted_) ::umount(path_.c_str());
  }
  [[nodiscard]] bool ok() const { return mounted_; }
  [[nodiscard]] bool Remount(unsigned long flags, const char* options) const {
    return ::mount("none", path_.c_str(), "tmpfs", MS_REMOUNT | flags, options) == 0;
  }

 private:
  const std::string path_;
  bool mounted_ = false;
};

TEST_F(FaultTest, ASmallFileSystemFillsUp) {
  const Mounted mounted(directory());
  if (!mounted.ok()) GTEST_SKIP() << "mounting is not permitted";
  Start();
  uint64_t revision = 0;
  absl::Status full;
  while (full.ok() && revision < 100) {
    const std::string bytes = PointBytes(revision, 20000);
    const auto digest = UploadBytes(*store_, bytes);
    full = digest.status();
    if (!full.ok()) break;
    RevisionCommit commit;
    commit.map = "town";
    commit.base_revision = revision;
    TileRecord tile;
    tile.digest = *digest;
    tile.points = 20000;
    tile.crc32c = Crc32c(bytes);
    commit.change[absl::StrCat(revision)] = tile;
    full = store_->Commit(commit).status();
    if (full.ok()) ++revision;
  }
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted) << full;
  ASSERT_GT(revision, 2U);
  const std::string before = DumpOf(*store_);
  EXPECT_THAT(before, HasSubstr(absl::StrCat("town at ", revision)));
  EXPECT_THAT(before, Not(HasSubstr("another")));
  store_.reset();
  ASSERT_TRUE(mounted.Remount(0, "size=16m"));
  Start();
  EXPECT_EQ(DumpOf(*store_), before);
  EXPECT_TRUE(store_->Commit(CommitOf(*store_, "town", revision, {{"a", 1}})).ok());
  store_.reset();
}

// All that is left of the disk.
void Fill(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  for (std::string bytes(1 << 16, 'x'); !bytes.empty(); bytes.resize(bytes.size() / 2)) {
    while (::write(file, bytes.data(), bytes.size()) > 0) {
    }
  }
  ::close(file);
}

TEST_F(FaultTest, AFullDiskIsReadFromTheStartOn) {
  const Mounted mounted(directory());
  if (!mounted.ok()) GTEST_SKIP() << "mounting is not permitted";
  Start();
  const RevisionCommit first = CommitOf(*store_, "town", 0, {{"a", 1}});
  ASSERT_TRUE(store_->Commit(first).ok());
  const RevisionCommit second = CommitOf(*store_, "town", 1, {{"b", 2}});
  const std::string before = DumpOf(*store_);
  for (const bool index_is_gone : {false, true}) {
    SCOPED_TRACE(index_is_gone ? "without the index of the log" : "as it was left");
    store_.reset();
    if (index_is_gone) std::filesystem::remove(database() + "-shm");
    Fill(directory() + "/fill");
    Start();
    EXPECT_EQ(DumpOf(*store_), before);
    EXPECT_EQ(ReadBytes(*store_, first.change.at("a")->digest).value(), PointBytes(1, 100));
    Fill(directory() + "/fill");
    EXPECT_EQ(store_->Commit(second).status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(DumpOf(*store_), before);
    std::filesystem::remove(directory() + "/fill");
  }
  // Writing goes on once there is room, with the store that was opened without.
  EXPECT_TRUE(store_->Commit(second).ok());
  EXPECT_EQ(store_->GetMap("town")->active_revision, 2U);
  const std::string after = DumpOf(*store_);
  Start();
  EXPECT_EQ(DumpOf(*store_), after);
  store_.reset();
  EXPECT_EQ(FaultsOf(directory()), "");
}

// What a wrong clock has dated is corrected by the first write for which there is room.
TEST_F(FaultTest, AFullDiskIsReadThoughTheClockWasWrong) {
  FaultyDisk disk;
  Start();
  ASSERT_TRUE(store_->Commit(CommitOf(*store_, "town", 0, {{"a", 1}})).ok());
  const RevisionCommit second = CommitOf(*store_, "town", 1, {{"b", 2}});
  const std::string before = DumpOf(*store_);
  Tamper("UPDATE revisions SET changed_unix_ns = 9000000000000000000");
  disk.SetRoom(0);
  Start();
  EXPECT_EQ(DumpOf(*store_), before);
  EXPECT_EQ(store_->Commit(second).status().code(), absl::StatusCode::kResourceExhausted);
  disk.SetRoom(1 << 30);
  EXPECT_TRUE(store_->Commit(second).ok());
  store_.reset();
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(database().c_str(), &handle), SQLITE_OK);
  int64_t latest = 0;
  const auto take = [](void* into, int /*columns*/, char** values, char** /*names*/) {
    *static_cast<int64_t*>(into) = std::stoll(values[0]);
    return 0;
  };
  EXPECT_EQ(
      sqlite3_exec(handle, "SELECT MAX(changed_unix_ns) FROM revisions", take, &latest, nullptr),
      SQLITE_OK);
  EXPECT_LT(latest, int64_t{9'000'000'000'000'000'000});
  ASSERT_EQ(sqlite3_close(handle), SQLITE_OK);
}

// A commit that the next start would not find is not acknowledged.
TEST_F(FaultTest, NothingIsCommittedToFilesThatWereTakenAway) {
  const std::vector<std::pair<std::string, std::function<void()>>> deeds = {
      {"maps.db was removed", [this] { std::filesystem::remove(database()); }},
      {"maps.db was removed",
       [this] { std::filesystem::rename(database(), directory() + "/away.db"); }},
      {"maps.db was removed or replaced",
       [this] {
         std::filesystem::copy_file(database(), directory() + "/other.db");
         std::filesystem::rename(directory() + "/other.db", database());
       }},
      {"maps.db-wal was removed", [this] { std::filesystem::remove(database() + "-wal"); }},
  };
  for (const auto& [what, deed] : deeds) {
    SCOPED_TRACE(what);
    store_.reset();
    std::filesystem::remove_all(directory());
    Start();
    ASSERT_TRUE(store_->Commit(CommitOf(*store_, "town", 0, {{"a", 1}})).ok());
    const RevisionCommit commit = CommitOf(*store_, "town", 1, {{"a", 2}});
    const std::string before = DumpOf(*store_);
    deed();
    for (int i = 0; i < 2; ++i) {
      const absl::Status refused = store_->Commit(commit).status();
      EXPECT_THAT(refused, StatusIs(absl::StatusCode::kInternal, HasSubstr(what)));
      EXPECT_THAT(std::string(refused.message()), Not(HasSubstr(directory())));
    }
    EXPECT_FALSE(UploadBytes(*store_, "content").ok());
    EXPECT_EQ(DumpOf(*store_), before);
  }
}

TEST_F(FaultTest, ADirectoryIsLockedThoughItsLockFileIsRemoved) {
  Start();
  std::filesystem::remove(directory() + "/lock");
  EXPECT_THAT(Open().status(),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("is in use by")));
  std::filesystem::remove(directory() + "/lock");
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kAlreadyExists);
  store_.reset();
  EXPECT_TRUE(Open().ok());
}

TEST_F(FaultTest, ADirectoryThatCannotBeWrittenIsReported) {
  const Mounted mounted(directory());
  if (mounted.ok()) {
    ASSERT_TRUE(mounted.Remount(MS_RDONLY, nullptr));
  } else if (::geteuid() != 0) {
    ASSERT_EQ(::chmod(directory().c_str(), 0555), 0);
  } else {
    GTEST_SKIP() << "root may write everywhere, and mounting is not permitted";
  }
  EXPECT_THAT(Open().status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(directory())));
  const auto nowhere = OpenSqliteMapStore(directory() + "/absent/data", MapStoreOptions());
  EXPECT_EQ(nowhere.status().code(), absl::StatusCode::kFailedPrecondition) << nowhere.status();
}

TEST_F(FaultTest, AnotherVersionOrProgramIsRefusedByName) {
  Start();
  Tamper("PRAGMA user_version = 99");
  auto store = Open();
  EXPECT_THAT(store.status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       ::testing::AllOf(HasSubstr("newer version"), HasSubstr("99"))));
  Tamper("PRAGMA application_id = 7");
  EXPECT_THAT(Open().status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another program")));
}

TEST_F(FaultTest, AnEmptyDatabaseIsBroughtForward) {
  std::filesystem::create_directories(directory());
  std::ofstream(database()).flush();
  Start();
  EXPECT_TRUE(store_->Commit(CommitOf(*store_, "town", 0, {{"a", 1}})).ok());
}

TEST_F(FaultTest, WhatIsNoDatabaseNamesTheRemedy) {
  std::filesystem::create_directories(directory());
  std::ofstream(database()) << PointBytes(1, 1000);
  EXPECT_THAT(Open().status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("voxlocd restore --data-dir DIR")));
}

TEST_F(FaultTest, DamagedContentIsQuarantinedAndUploadedAnew) {
  const auto other = PackPiece(PointBytes(7, 100)).value();
  const std::vector<std::string> damages = {
      // A flipped bit.
      "UPDATE pieces SET data = CAST(SUBSTR(data, 1, 99) || CHAR(1) || SUBSTR(data, 101) AS BLOB) "
      "WHERE content_id = 1",
      "DELETE FROM pieces WHERE content_id = 1",
      // A whole piece, but of other content.
      absl::StrCat("UPDATE pieces SET crc32c = ", other.crc32c,
                   ", data = (SELECT data FROM pieces "
                   "WHERE crc32c = ",
                   other.crc32c, ") WHERE content_id = 1"),
      "UPDATE pieces SET raw_bytes = 1000000000000 WHERE content_id = 1"};
  for (const std::string& damage : damages) {
    SCOPED_TRACE(damage);
    store_.reset();
    std::filesystem::remove_all(directory());
    Start();
    const RevisionCommit commit =
        CommitOf(*store_, "town", 0, {{"3_4", 5}, {"5_6", 6}, {"7_8", 7}});
    ASSERT_TRUE(store_->Commit(commit).ok());
    const Sha256Digest digest = commit.change.at("3_4")->digest;
    Tamper(damage);
    Start();
    const Manifest manifest = store_->GetManifest("town", 1).value();
    EXPECT_EQ(manifest.size(), 3U);
    EXPECT_THAT(store_->HasContent({digest}).value(), ElementsAre(true));

    EXPECT_THAT(ReadBytes(*store_, digest).status(),
                StatusIs(absl::StatusCode::kDataLoss,
                         ::testing::AllOf(HasSubstr("tile \"3_4\" of map \"town\""),
                                          HasSubstr(ToHex(digest)))));
    EXPECT_THAT(store_->HasContent({digest}).value(), ElementsAre(false));
    EXPECT_THAT(ReadBytes(*store_, digest).status(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("tile \"3_4\" of map \"town\"")));
    RevisionCommit again = CommitOf(*store_, "town", 1, {});
    again.change["9_9"] = commit.change.at("3_4");
    EXPECT_EQ(store_->Commit(again).status().code(), absl::StatusCode::kNotFound);
    // The rest goes on.
    EXPECT_TRUE(ReadBytes(*store_, commit.change.at("5_6")->digest).ok());
    EXPECT_EQ(store_->GetManifest("town", 1).value().size(), 3U);

    EXPECT_EQ(UploadTile(*store_, 5).digest, digest);
    EXPECT_THAT(DumpOf(*store_), Not(HasSubstr(": ")));
    EXPECT_TRUE(store_->Commit(again).ok());
    EXPECT_EQ(CollectAll(*store_).contents, 1U);  // the damaged one
    store_.reset();
    EXPECT_EQ(FaultsOf(directory()), "");
  }
}

TEST_F(FaultTest, ARowThatWasChangedIsNoticed) {
  for (const char* const damage :
       {"UPDATE tiles SET points = points + 1 WHERE tile_id = 'a'",
        "UPDATE tiles SET min_x = 7 WHERE tile_id = 'a'",
        "UPDATE tiles SET tile_id = 'c' WHERE tile_id = 'a'",
        "UPDATE tiles SET content_id = 2 WHERE tile_id = 'a'",
        "PRAGMA foreign_keys = OFF; UPDATE tiles SET content_id = 77 WHERE tile_id = 'a'",
        "DELETE FROM tiles WHERE tile_id = 'a'",
        "UPDATE tiles SET to_revision = 1 WHERE tile_id = 'a'"}) {
    SCOPED_TRACE(damage);
    store_.reset();
    std::filesystem::remove_all(directory());
    Start();
    ASSERT_TRUE(store_->Commit(CommitOf(*store_, "town", 0, {{"a", 1}, {"b", 2}})).ok());
    ASSERT_TRUE(store_->Commit(CommitOf(*store_, "city", 0, {{"x", 3}, {"y", 4}})).ok());
    Tamper(damage);
    Start();
    EXPECT_THAT(
        store_->GetManifest("town", 1).status(),
        StatusIs(absl::StatusCode::kDataLoss,
                 ::testing::AllOf(HasSubstr("map \"town\""), HasSubstr("voxlocd restore"))));
    EXPECT_TRUE(store_->GetManifest("city", 1).ok());
  }
}

// A store of this much, whose database file is returned.
struct Expected {
  std::string database;
  std::map<std::string, Manifest> manifests;  // of maps, at their active revision
  std::map<Sha256Digest, std::string> contents;
};

TEST_F(FaultTest, ADamagedPageIsNeverTakenForGood) {
  const FaultyDisk quick;  // does not sync
  Start();
  Expected expected;
  for (const char* const map : {"city", "town"}) {
    RevisionCommit commit;
    commit.map = map;
    for (uint64_t seed = 0; seed < 60; ++seed) {
      const size_t points = seed == 0 ? 300000 : 20;
      commit.change[absl::StrCat("tile ", seed)] = UploadTile(*store_, seed, points);
    }
    ASSERT_TRUE(store_->Commit(commit).ok());
    expected.manifests[map] = store_->GetManifest(map, 1).value();
  }
  for (const auto& [id, tile] : expected.manifests["town"]) {
    expected.contents[tile.digest] = ReadBytes(*store_, tile.digest).value();
  }
  store_.reset();
  expected.database = BytesOfFile(database());
  constexpr size_t kPage = 4096;
  const size_t pages = expected.database.size() / kPage;
  // Of the pages of the big content a few are enough.
  const size_t stride_from = 80;
  RandomNumbers random(4);
  int refused = 0;
  int in_parts = 0;
  int unnoticed = 0;
  int tried = 0;
  for (const bool whole_page : {true, false}) {
    for (size_t page = 0; page < pages; page += page < stride_from ? 1 : 97) {
      SCOPED_TRACE(absl::StrCat(whole_page ? "page " : "bit of page ", page));
      ++tried;
      std::string bytes = expected.database;
      if (whole_page) {
        bytes.replace(page * kPage, kPage, PointBytes(page, kPage / 12 + 1), 0, kPage);
      } else {
        const auto bit = static_cast<size_t>(random.Index(kPage * 8));
        bytes[page * kPage + bit / 8] =
            static_cast<char>(bytes[page * kPage + bit / 8] ^ (1 << (bit % 8)));
      }
      for (const char* const suffix : {"", "-wal", "-shm"}) {
        std::filesystem::remove(database() + suffix);
      }
      scratch_.Write("data/maps.db", bytes);
      auto store = Open();
      if (!store.ok()) {
        ++refused;
        if (whole_page) {
          EXPECT_EQ(store.status().code(), absl::StatusCode::kDataLoss) << store.status();
          EXPECT_THAT(store.status().message(), HasSubstr("voxlocd restore"));
        }
        continue;
      }
      bool noticed = !(*store)->damage().empty();
      if (noticed) {
        ++in_parts;
        EXPECT_EQ((*store)->SaveLastPoses({}).code(), absl::StatusCode::kDataLoss);
      }
      for (const auto& [map, manifest] : expected.manifests) {
        const auto read = (*store)->GetManifest(map, 1);
        EXPECT_TRUE(!read.ok() || *read == manifest);
        noticed = noticed || !read.ok();
      }
      for (const auto& [digest, content] : expected.contents) {
        const auto read = ReadBytes(**store, digest);
        EXPECT_TRUE(!read.ok() || *read == content);
        noticed = noticed || !read.ok();
      }
      if (!noticed) ++unnoticed;
    }
  }
  // Free space and numbers that nobody asks for can be damaged unnoticed.
  std::cout << tried << " damages: " << refused << " refused, " << in_parts
            << " readable in parts, " << unnoticed << " without consequence\n";
  EXPECT_GT(refused, 0);
  EXPECT_GT(in_parts, 0);
}

}  // namespace
}  // namespace voxloc::server
