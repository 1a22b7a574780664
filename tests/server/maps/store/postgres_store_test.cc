// SPDX-License-Identifier: Apache-2.0
//
// What the store on PostgreSQL alone has: several servers on one database, and its faults.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/maps/store/postgres_map_store.h"
#include "tests/server/maps/store/store_dump.h"
#include "tests/server/maps/store/store_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres_server.h"

namespace voxloc::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class PostgresStoreTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    if (!IsSkipped()) postgres_ = PostgresServer::Shared();
  }
  // In the test's own schema.
  std::string Sql(const std::string& statement) const {
    return postgres_->Sql(absl::StrCat("SET search_path = ", Schema(), "; ", statement));
  }
  std::string Schema() const { return database_.url.substr(database_.url.rfind("%3D") + 3); }
  absl::Status Reopen() {
    store_.reset();
    auto store = OpenPostgresMapStore(database_, options_);
    if (store.ok()) store_ = *std::move(store);
    return store.status();
  }
  uint64_t CommitNext(MapStore& store, uint64_t base) {
    const auto committed = store.Commit(CommitOf(store, "town", base, {{"a", base + 1}}));
    EXPECT_TRUE(committed.ok()) << committed.status();
    return committed.ok() ? committed->revision.revision : 0;
  }

  PostgresServer* postgres_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Kinds, PostgresStoreTest, ::testing::Values(StoreKind::kPostgres), NameOf);

TEST_P(PostgresStoreTest, OthersAreNotifiedOfAChange) {
  const std::unique_ptr<MapStore> other = OpenAnother(options_);
  const std::unique_ptr<StoreWatch> watch = other->Watch();
  ASSERT_NE(watch, nullptr);
  const auto before = watch->Next(absl::ZeroDuration()).value();
  EXPECT_FALSE(before.maps.has_value());
  EXPECT_EQ(watch->Next(absl::ZeroDuration())->fingerprint, before.fingerprint);
  // Only the change ends this wait.
  auto told = std::async(std::launch::async, [&] { return watch->Next(absl::Hours(1)); });
  CommitNext(*store_, 0);
  const auto after = told.get();
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_NE(after->fingerprint, before.fingerprint);
  EXPECT_EQ(after->maps, std::vector<std::string>{"town"});
  // Other changes leave the fingerprint as it is.
  ASSERT_TRUE(UploadBytes(*store_, "content").ok());
  LastPose pose;
  pose.vehicle = "bus";
  pose.map = "town";
  ASSERT_TRUE(store_->SaveLastPoses({pose}).ok());
  EXPECT_EQ(watch->Next(absl::ZeroDuration())->fingerprint, after->fingerprint);
}

// What is announced in another schema of the database, by an older program, or not at all, is no
// reason to overlook a map.
TEST_P(PostgresStoreTest, OthersAreNotifiedWhichMapsChangedWhereKnown) {
  const std::unique_ptr<StoreWatch> watch = store_->Watch();
  ASSERT_TRUE(watch->Next(absl::ZeroDuration()).ok());
  std::string fingerprint;
  // Until the last of these changes has come here.
  const auto next = [&] {
    const auto change = watch->Next(kTestTimeout);
    EXPECT_TRUE(change.ok()) << change.status();
    EXPECT_NE(change->fingerprint, fingerprint);
    fingerprint = change->fingerprint;
    return change->maps;
  };
  const auto commit_city = [&](uint64_t base) {
    EXPECT_TRUE(store_->Commit(CommitOf(*store_, "city", base, {{"a", 1}})).ok());
  };
  commit_city(0);
  EXPECT_EQ(next(), std::vector<std::string>{"city"});
  const int64_t generation = std::stoll(Sql("SELECT generation FROM store_state"));
  // As an older program, whose announcements have the name alone.
  ASSERT_EQ(Sql("UPDATE store_state SET generation = generation + 1; NOTIFY voxloc_maps, 'town'"),
            "");
  EXPECT_FALSE(next().has_value());
  // Of another schema with the same number.
  ASSERT_EQ(Sql("UPDATE store_state SET generation = generation + 1; NOTIFY voxloc_maps, 'other " +
                std::to_string(generation + 2) + " town'"),
            "");
  EXPECT_FALSE(next().has_value());
  // Not announced, and another change that is.
  ASSERT_EQ(Sql("UPDATE store_state SET generation = generation + 1"), "");
  commit_city(1);
  EXPECT_FALSE(next().has_value());
  commit_city(2);
  EXPECT_EQ(next(), std::vector<std::string>{"city"});
  // A backup was restored, with a number that goes on from there.
  ASSERT_EQ(
      Sql("UPDATE store_state SET generation = 1; NOTIFY voxloc_maps, '" + Schema() + " 1 x'"), "");
  EXPECT_FALSE(next().has_value());
  commit_city(3);
  EXPECT_EQ(next(), std::vector<std::string>{"city"});
}

TEST_P(PostgresStoreTest, AWaitForChangesIsEndedByAnotherThread) {
  const std::unique_ptr<StoreWatch> watch = store_->Watch();
  const auto before = watch->Next(absl::ZeroDuration());
  auto woken = std::async(std::launch::async, [&] { return watch->Next(absl::Hours(1)); });
  watch->Wake();
  EXPECT_EQ(woken.get()->fingerprint, before->fingerprint);
}

TEST_P(PostgresStoreTest, PosesOfOtherServersAreFoundByTheTimeTheyWereSaved) {
  const std::unique_ptr<MapStore> other = OpenAnother(options_);
  LastPose pose;
  pose.map = "town";
  for (const char* const vehicle : {"bus", "tram"}) {
    pose.vehicle = vehicle;
    ASSERT_TRUE(other->SaveLastPoses({pose}).ok());
    now_ns_ += kSecondNs;
  }
  const auto all = store_->ListPosesSavedSince(0).value();
  EXPECT_EQ(all.latest_unix_ns, kTestStartNs + kSecondNs);
  ASSERT_EQ(all.poses.size(), 2U);
  const auto later = store_->ListPosesSavedSince(kTestStartNs);
  ASSERT_EQ(later->poses.size(), 1U);
  EXPECT_EQ(later->poses[0].vehicle, "tram");
}

TEST_P(PostgresStoreTest, ACollectionLeavesTheUploadsOfOthersAlone) {
  const std::unique_ptr<MapStore> other = OpenAnother(options_);
  auto upload = other->Upload();
  ASSERT_TRUE(upload.ok());
  const std::string content = PointBytes(1, 500000);  // three pieces
  ASSERT_TRUE((*upload)->Append(absl::string_view(content).substr(0, 5000000)).ok());
  EXPECT_EQ(CollectAll(*store_).contents, 0U);
  ASSERT_TRUE((*upload)->Append(absl::string_view(content).substr(5000000)).ok());
  const auto digest = (*upload)->Finish().value();
  EXPECT_TRUE(ReadBytes(*store_, digest).value() == content);
}

TEST_P(PostgresStoreTest, WhatAServerThatDiedHasUploadedExpires) {
  ASSERT_EQ(Sql("INSERT INTO contents (bytes, stored_bytes, pieces, uses, created_unix_ns, "
                "wanted_unix_ns, quarantined) VALUES (1, 1, 0, 0, " +
                absl::StrCat(kTestStartNs, ", ", kTestStartNs) + ", 0)"),
            "");
  EXPECT_EQ(CollectAll(*store_).contents, 0U);
  now_ns_ += 25 * kHourNs;
  EXPECT_EQ(CollectAll(*store_).contents, 1U);
}

TEST_P(PostgresStoreTest, TimesAreThoseOfTheDatabaseWhateverTheServersClocksSay) {
  options_.unix_ns = nullptr;
  ASSERT_TRUE(Reopen().ok());
  const auto committed = store_->Commit(CommitOf(*store_, "town", 0, {{"a", 1}}));
  ASSERT_TRUE(committed.ok()) << committed.status();
  const int64_t told =
      std::atoll(Sql("SELECT committed_unix_ns / 1000000000 FROM revisions").c_str());
  const int64_t now = std::atoll(Sql("SELECT EXTRACT(EPOCH FROM now())::bigint").c_str());
  EXPECT_NEAR(static_cast<double>(told), static_cast<double>(now), 60.0);
  EXPECT_EQ(committed->revision.committed_unix_ns / kSecondNs, told);
}

TEST_P(PostgresStoreTest, AnOlderSchemaIsBroughtForwardAndANewerOneIsLeftAlone) {
  CommitNext(*store_, 0);
  ASSERT_EQ(Sql("DROP TABLE tile_fits; UPDATE store_state SET version = 1"), "");
  ASSERT_TRUE(Reopen().ok());
  EXPECT_TRUE(store_->ListTileFits("town").ok());
  EXPECT_EQ(store_->GetMap("town")->active_revision, 1U);
  // A server that is running goes on reading, and writes nothing.
  ASSERT_EQ(Sql("UPDATE store_state SET version = 99"), "");
  EXPECT_THAT(
      store_->Commit(CommitOf(*store_, "city", 0, {})).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("newer version of voxlocd")));
  EXPECT_EQ(store_->GetMap("town")->active_revision, 1U);
  const absl::Status status = Reopen();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("version 99"), HasSubstr("up to 2")));
}

TEST_P(PostgresStoreTest, TablesOfAnotherProgramAreNotTouched) {
  Close();
  database_.url = postgres_->Url(NewPostgresSchema());
  ASSERT_EQ(Sql("CREATE TABLE maps (title TEXT)"), "");
  const absl::Status status = Reopen();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("another program"));
  EXPECT_EQ(Sql("SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema()"), "1");
}

TEST_P(PostgresStoreTest, SaysWhyItCannotConnect) {
  Close();
  database_.url = postgres_->GuardedUrl();
  ::setenv("PGPASSWORD", "wrong password", 1);
  absl::Status status = Reopen();
  ::unsetenv("PGPASSWORD");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("password authentication failed for user \"guarded\""),
                    HasSubstr("PGPASSFILE"), Not(HasSubstr("wrong password"))));
  EXPECT_THAT(Reopen().message(), HasSubstr("no password supplied"));

  database_.url = "postgresql://voxloc@127.0.0.1:1/voxloc";
  status = Reopen();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("Connection refused"));

  database_.url = postgres_->Url();
  database_.url.replace(database_.url.rfind("/voxloc"), 7, "/absent");
  EXPECT_THAT(Reopen().message(), HasSubstr("database \"absent\" does not exist"));
  // The right one, from the file.
  const std::string passwords = scratch_.Write("passwords", "*:*:*:*:secret\n");
  std::filesystem::permissions(passwords, std::filesystem::perms::owner_read);
  database_.url = postgres_->GuardedUrl(NewPostgresSchema());
  ::setenv("PGPASSFILE", passwords.c_str(), 1);
  status = Reopen();
  ::unsetenv("PGPASSFILE");
  EXPECT_TRUE(status.ok()) << status;
}

TEST_P(PostgresStoreTest, ARestartOfTheDatabaseIsNotNoticedAfterwards) {
  CommitNext(*store_, 0);
  ASSERT_TRUE(ReadBytes(*store_, UploadTile(*store_, 1).digest).ok());
  const std::string before = DumpOf(*store_);
  postgres_->Stop();
  ASSERT_TRUE(postgres_->Start());
  // Connections that were lost are replaced without an error, for writing as for reading.
  EXPECT_EQ(DumpOf(*store_), before);
  EXPECT_EQ(CommitNext(*store_, 1), 2U);
}

TEST_P(PostgresStoreTest, WhatWasAcknowledgedSurvivesAKillAndMeanwhileWritesAreRefused) {
  const std::unique_ptr<StoreWatch> watch = store_->Watch();
  ASSERT_TRUE(watch->Next(absl::ZeroDuration()).ok());
  for (uint64_t base = 0; base < 5; ++base) CommitNext(*store_, base);
  const RevisionCommit waiting = CommitOf(*store_, "town", 5, {{"a", 9}});
  const std::string before = DumpOf(*store_);
  postgres_->Kill();
  const auto refused = store_->Commit(waiting);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable) << refused.status();
  // The second one knows already; clients are not told where the database is.
  EXPECT_THAT(store_->GetMap("town").status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("the database of the maps"), Not(HasSubstr("PGSQL")))));
  EXPECT_EQ(watch->Next(absl::Seconds(1)).status().code(), absl::StatusCode::kUnavailable);
  ASSERT_TRUE(postgres_->Start());
  ASSERT_TRUE(Eventually([&] { return watch->Next(absl::ZeroDuration()).ok(); }));
  // From here on without waiting: the watch has told the others.
  EXPECT_EQ(DumpOf(*store_), before);
  // What no revision held when it was killed may be gone.
  const auto committed = store_->Commit(waiting);
  if (!committed.ok()) {
    EXPECT_EQ(committed.status().code(), absl::StatusCode::kNotFound) << committed.status();
    EXPECT_EQ(CommitNext(*store_, 5), 6U);
  }
}

TEST_P(PostgresStoreTest, ADatabaseThatDoesNotAnswerIsGivenUpInTime) {
  CommitNext(*store_, 0);
  const RevisionCommit waiting = CommitOf(*store_, "town", 1, {{"a", 2}});
  const std::string before = DumpOf(*store_);
  // With a time that requests on a busy machine may take, too: all that has to succeed is tried
  // again, or made by a store that waits longer.
  const PostgresOptions patient = database_;
  database_.request_timeout = absl::Seconds(1);
  database_.connect_timeout = absl::Seconds(1);
  ASSERT_TRUE(Eventually([&] { return Reopen().ok(); }));
  postgres_->Freeze();
  const auto refused = store_->Commit(waiting);
  const auto read = store_->GetMap("town");
  postgres_->Thaw();
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable) << refused.status();
  EXPECT_EQ(read.status().code(), absl::StatusCode::kUnavailable) << read.status();
  // It comes back, and a transaction that hung holds up nobody.
  ASSERT_TRUE(Eventually([&] { return store_->GetMap("town").ok(); }));
  database_ = patient;
  const std::unique_ptr<MapStore> other = OpenAnother(options_);
  EXPECT_EQ(DumpOf(*other), before);
  absl::StatusOr<CommittedRevision> committed = refused.status();
  ASSERT_TRUE(Eventually([&] { return (committed = store_->Commit(waiting)).ok(); }))
      << committed.status();
}

TEST_P(PostgresStoreTest, AnotherWriterIsWaitedForAndThenNamed) {
  const RevisionCommit commit = CommitOf(*store_, "town", 0, {{"a", 1}});
  const std::unique_ptr<MapStore> reader = OpenAnother(options_);
  database_.request_timeout = absl::Seconds(1);
  ASSERT_TRUE(Eventually([&] { return Reopen().ok(); }));
  auto holds = std::async(std::launch::async, [this] {
    return Sql("BEGIN; SELECT version FROM store_state FOR UPDATE; SELECT pg_sleep(100); COMMIT");
  });
  // On a busy machine the time for the statement may be over before that for the lock.
  absl::Status status;
  EXPECT_TRUE(Eventually([&] {
    status = store_->SaveLastPoses({});
    return absl::StrContains(status.message(), "lock");
  }));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_TRUE(reader->ListMaps().ok());  // who reads does not wait
  Sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity "
      "WHERE query LIKE '%pg_sleep%' AND pid <> pg_backend_pid()");
  holds.get();
  EXPECT_TRUE(reader->Commit(commit).ok());
}

TEST_P(PostgresStoreTest, ItsOwnBackupBringsItBackAfterAllIsLost) {
  CommitNext(*store_, 0);
  RevisionCommit staged = CommitOf(*store_, "town", 1, {{"b", 2}});
  staged.stage = true;
  ASSERT_TRUE(store_->Commit(staged).ok());
  const std::string before = DumpOf(*store_);
  const std::string backup = postgres_->Path("backup.dump");
  const ProcessResult dumped = postgres_->Run(
      "pg_dump", {"--format=custom", "--no-owner", "--schema", Schema(), "--file", backup});
  ASSERT_EQ(dumped.exit_code, 0) << dumped.error;
  CommitNext(*store_, 1);  // after the backup: lost
  const std::string fingerprint = store_->Watch()->Next(absl::ZeroDuration())->fingerprint;

  postgres_->Kill();
  ASSERT_TRUE(postgres_->Recreate());
  ASSERT_TRUE(postgres_->Start());
  const ProcessResult restored =
      postgres_->Run("pg_restore", {"--no-owner", "--single-transaction", backup});
  ASSERT_EQ(restored.exit_code, 0) << restored.error;
  // The store that was open goes on with what was restored, and its watch tells that.
  absl::StatusOr<StoreChange> after;
  ASSERT_TRUE(Eventually([&] {
    after = store_->Watch()->Next(absl::ZeroDuration());
    return after.ok();
  })) << after.status();
  EXPECT_NE(after->fingerprint, fingerprint);
  EXPECT_EQ(DumpOf(*store_), before);
  EXPECT_EQ(CommitNext(*store_, 1), 3U);
}

TEST_P(PostgresStoreTest, ValuesThatCannotBeKeptAreRefused) {
  RevisionCommit commit = CommitOf(*store_, "town", 0, {{"a", 1}});
  commit.comment = std::string("a\0b", 3);
  EXPECT_EQ(store_->Commit(commit).status().code(), absl::StatusCode::kInvalidArgument);
  commit.comment = "\xff";
  EXPECT_EQ(store_->Commit(commit).status().code(), absl::StatusCode::kInvalidArgument);
  commit.comment = "";
  EXPECT_TRUE(store_->Commit(commit).ok());
}

TEST_P(PostgresStoreTest, ItIsNotBackedUpToAFile) {
  const auto none = [](double) { return true; };
  EXPECT_EQ(store_->Backup(scratch_.Path("copy"), none).code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace voxloc::server
