// SPDX-License-Identifier: Apache-2.0
//
// Two libraries of maps on one database, as two servers have them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "core/engine/cpu/cpu_engine.h"
#include "server/maps/map_transaction.h"
#include "server/maps/store/postgres_map_store.h"
#include "server/maps/store_upkeep.h"
#include "server/maps/tile_loader.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres_server.h"

namespace voxloc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<FailoverEngine> OneEngine() {
  std::vector<std::unique_ptr<Engine>> engines;
  engines.push_back(MakeCpuEngine({1}));
  return std::make_unique<FailoverEngine>(std::move(engines));
}

// A wall of points whose place follows from the seed.
PointCloud Wall(int seed) {
  PointCloud cloud;
  for (int i = 0; i < 400; ++i) {
    cloud.PushBack(static_cast<float>(i % 20) * 0.2F, static_cast<float>(seed),
                   static_cast<float>(i / 20) * 0.2F);
  }
  return cloud;
}

// What of a server has to do with maps, without the rest of it.
class Library {
 public:
  Library(std::unique_ptr<MapStore> store, uint32_t max_maps, absl::Duration poll_period)
      : store_(std::move(store)), engine_(OneEngine()), maps_(max_maps, metrics_, mapping_) {
    watch_ = events_.Watch(
        [this](const MapEvent& event) {
          const absl::MutexLock lock(&mutex_);
          told_.push_back(
              absl::StrCat(event.map, " ", static_cast<int>(event.kind), " ", event.revision));
        },
        [] {});
    const auto names = library_.Register();
    EXPECT_TRUE(names.ok()) << names.status();
    for (const std::string& map : *names) {
      const absl::Status loaded = OnQueue([&] {
        library_.Load(map);
        return absl::OkStatus();
      });
      EXPECT_TRUE(loaded.ok());
    }
    follower_ = std::make_unique<StoreFollower>(
        StoreFollower::Parts{library_, mapping_, metrics_, poll_period});
  }
  ~Library() {
    follower_.reset();
    mapping_.Stop();
  }

  absl::Status OnQueue(const std::function<absl::Status()>& task) {
    absl::Status status;
    absl::Notification done;
    EXPECT_TRUE(mapping_.Post([&] {
      status = task();
      done.Notify();
    }));
    done.WaitForNotification();
    return status;
  }

  absl::Status Commit(const std::string& map, const std::string& tile, int seed,
                      uint64_t base_revision = 0, TransactionCommit commit = {}) {
    return OnQueue([&] {
      TransactionBegin begin;
      begin.map = map;
      begin.create = true;
      begin.base_revision = base_revision;
      auto transaction = MapTransaction::Open(library_, begin);
      if (!transaction.ok()) return transaction.status();
      TileChunk chunk;
      chunk.tile_id = tile;
      chunk.points = Wall(seed);
      chunk.sent = chunk.total_points = chunk.points.size();
      chunk.last = true;
      if (auto added = (*transaction)->AddChunk(std::move(chunk)); !added.ok()) {
        return added.status();
      }
      return (*transaction)->Commit(commit).status();
    });
  }
  // Revision and the number of points of its tiles; 0, 0: there is none.
  std::pair<uint64_t, uint64_t> Active(const std::string& map) const {
    const auto held = maps_.FindEntry(map);
    if (!held.has_value() || held->active.snapshot == nullptr) return {0, 0};
    return {held->active.snapshot->revision, held->active.snapshot->tiles.points()};
  }
  // Also opens the map, as the residency does when its tiles are there.
  bool EventuallyAt(const std::string& map, uint64_t revision) {
    const bool there = Eventually([&] { return Active(map).first == revision; });
    maps_.Open(map);
    return there;
  }
  // All that watchers were told, once the last of it is this: a map is changed first, and they are
  // told after that.
  std::vector<std::string> ToldUpTo(const std::string& last) {
    const absl::MutexLock lock(&mutex_);
    const auto is_told = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !told_.empty() && told_.back() == last;
    };
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&is_told), kTestTimeout)) << last;
    return told_;
  }

  const ResidentMaps& maps() const { return maps_; }
  MapLibrary& library() { return library_; }

 private:
  const Metrics metrics_;
  const EffectiveConfig defaults_;
  const LiveConfig config_{defaults_};
  const std::unique_ptr<MapStore> store_;
  const std::unique_ptr<FailoverEngine> engine_;
  std::atomic<uint64_t> max_bytes_{uint64_t{1} << 30};
  WorkQueue mapping_{"mapping", 100, metrics_.mapping_queue};
  ResidentMaps maps_;
  MapEvents events_;
  MapLibrary library_{{*store_, *engine_, maps_, events_, config_, metrics_, max_bytes_}};
  absl::Mutex mutex_;
  std::vector<std::string> told_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<void> watch_;
  std::unique_ptr<StoreFollower> follower_;
};

class StoreFollowerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!PostgresServer::Installed()) GTEST_SKIP() << PostgresServer::kMissingReason;
    postgres_ = PostgresServer::Shared();
    ASSERT_NE(postgres_, nullptr);
    schema_ = postgres_->NewSchema();
    ASSERT_NE(schema_, "");
    first_ = NewLibrary();
    second_ = NewLibrary();
  }
  std::unique_ptr<Library> NewLibrary(uint32_t max_maps = 10,
                                      absl::Duration poll_period = absl::Milliseconds(200)) const {
    PostgresOptions database;
    database.url = postgres_->Url(schema_);
    database.request_timeout = kTestTimeout;
    database.connect_timeout = kTestTimeout;
    return std::make_unique<Library>(OpenPostgresMapStore(database, {}).value(), max_maps,
                                     poll_period);
  }
  std::string Sql(const std::string& statement) const {
    return postgres_->Sql(absl::StrCat("SET search_path = ", schema_, "; ", statement));
  }
  static std::string Told(MapEventKind kind, uint64_t revision) {
    return absl::StrCat("town ", static_cast<int>(kind), " ", revision);
  }

  PostgresServer* postgres_ = nullptr;
  std::string schema_;
  std::unique_ptr<Library> first_;
  std::unique_ptr<Library> second_;
};

TEST_F(StoreFollowerTest, WhatOneCommitsTheOtherServesAndItsWatchersAreNotified) {
  ASSERT_TRUE(first_->Commit("town", "a", 1).ok());
  ASSERT_TRUE(second_->EventuallyAt("town", 1));
  ASSERT_TRUE(second_->Commit("town", "b", 2).ok());
  ASSERT_TRUE(first_->EventuallyAt("town", 2));
  EXPECT_EQ(first_->Active("town"), second_->Active("town"));
  EXPECT_EQ(first_->Active("town").second, 800U);
  for (Library* const library : {first_.get(), second_.get()}) {
    EXPECT_THAT(library->ToldUpTo(Told(MapEventKind::kUpdated, 2)),
                ElementsAre(Told(MapEventKind::kCreated, 1), Told(MapEventKind::kUpdated, 2)));
  }
  // A tile that both have is in the memory of both with the cells of its points.
  const auto held = first_->maps().FindEntry("town");
  EXPECT_EQ(held->active.snapshot->tiles.resident(), 2U);
  // One that starts later has it as well.
  EXPECT_TRUE(NewLibrary()->EventuallyAt("town", 2));
}

TEST_F(StoreFollowerTest, AWriterIsGivenTheNewestRevisionAndALateOneIsRefused) {
  ASSERT_TRUE(first_->Commit("town", "a", 1).ok());
  ASSERT_TRUE(second_->EventuallyAt("town", 1));
  // Each looks before it begins, whether or not it has noticed what the other one did.
  for (uint64_t base = 1; base < 6; ++base) {
    Library& writer = base % 2 == 0 ? *first_ : *second_;
    const absl::Status status =
        writer.Commit("town", absl::StrCat(base), static_cast<int>(base), base);
    ASSERT_TRUE(status.ok()) << status;
  }
  const absl::Status late = first_->Commit("town", "b", 3, /*base_revision=*/5);
  EXPECT_EQ(late.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(late.message(), HasSubstr("is at revision 6"));
}

TEST_F(StoreFollowerTest, StagedRevisionsAndDeletionsAreFollowed) {
  ASSERT_TRUE(first_->Commit("town", "a", 1).ok());
  ASSERT_TRUE(second_->EventuallyAt("town", 1));
  TransactionCommit staged;
  staged.stage = true;
  staged.canary_vehicles = {"bus"};
  ASSERT_TRUE(first_->Commit("town", "b", 2, 0, staged).ok());
  const auto tries = [&](const std::string& vehicle, uint64_t revision) {
    return Eventually([&] {
      const auto held = second_->maps().FindEntry("town");
      return held.has_value() && held->staged.size() == 1 &&
             held->staged[0].view.snapshot->revision == revision &&
             held->staged[0].vehicles == std::vector<std::string>{vehicle};
    });
  };
  ASSERT_TRUE(tries("bus", 2));
  ASSERT_TRUE(
      first_->OnQueue([&] { return first_->library().SetCanary("town", 2, {"tram"}).status(); })
          .ok());
  ASSERT_TRUE(tries("tram", 2));
  // The second one has it from the first, and activates it.
  ASSERT_TRUE(
      second_->OnQueue([&] { return second_->library().Activate("town", 2).status(); }).ok());
  ASSERT_TRUE(first_->EventuallyAt("town", 2));
  EXPECT_TRUE(first_->maps().FindEntry("town")->staged.empty());
  ASSERT_TRUE(first_->Commit("town", "c", 3, 0, staged).ok());
  ASSERT_TRUE(tries("bus", 3));
  ASSERT_TRUE(first_->OnQueue([&] { return first_->library().Withdraw("town", 3).status(); }).ok());
  ASSERT_TRUE(Eventually([&] { return second_->maps().FindEntry("town")->staged.empty(); }));
  second_->ToldUpTo(Told(MapEventKind::kWithdrawn, 3));
  ASSERT_TRUE(first_->OnQueue([&] { return first_->library().Delete("town", 0).status(); }).ok());
  ASSERT_TRUE(Eventually([&] { return !second_->maps().FindEntry("town").has_value(); }));
  second_->ToldUpTo(Told(MapEventKind::kDeleted, 2));
}

TEST_F(StoreFollowerTest, AnUnannouncedChangeIsFoundByPolling) {
  ASSERT_TRUE(first_->Commit("town", "a", 1).ok());
  ASSERT_TRUE(second_->EventuallyAt("town", 1));
  const auto committed = [](const Library& library) {
    return library.maps().FindEntry("town")->active.snapshot->committed_unix_ns;
  };
  const int64_t before = committed(*second_);
  // Another revision of the same number, as after a backup was restored.
  ASSERT_EQ(Sql("UPDATE revisions SET committed_unix_ns = committed_unix_ns + 1; "
                "UPDATE store_state SET generation = generation + 1"),
            "");
  for (const Library* const library : {first_.get(), second_.get()}) {
    EXPECT_TRUE(Eventually([&] { return committed(*library) == before + 1; }));
  }
}

// What is announced is read, and nothing else: `city` has changed without a trace here, which shows
// that it was not looked at until somebody announced a change of nobody knows what.
TEST_F(StoreFollowerTest, OnlyTheMapThatHasChangedIsRead) {
  const std::unique_ptr<Library> told = NewLibrary(/*max_maps=*/10, /*poll_period=*/absl::Hours(1));
  ASSERT_TRUE(first_->Commit("city", "a", 1).ok());
  ASSERT_TRUE(first_->Commit("town", "a", 1).ok());
  ASSERT_TRUE(told->EventuallyAt("city", 1));
  ASSERT_TRUE(told->EventuallyAt("town", 1));
  const auto committed = [&] {
    return told->maps().FindEntry("city")->active.snapshot->committed_unix_ns;
  };
  const int64_t before = committed();
  ASSERT_EQ(Sql("UPDATE revisions SET committed_unix_ns = committed_unix_ns + 1 WHERE map_id = "
                "(SELECT id FROM maps WHERE name = 'city')"),
            "");
  for (uint64_t revision = 2; revision <= 4; ++revision) {
    ASSERT_TRUE(first_->Commit("town", absl::StrCat(revision), 2).ok());
    ASSERT_TRUE(told->EventuallyAt("town", revision));
    EXPECT_EQ(committed(), before);
  }
  ASSERT_EQ(Sql("UPDATE store_state SET generation = generation + 1; NOTIFY voxloc_maps, 'city'"),
            "");
  EXPECT_TRUE(Eventually([&] { return committed() == before + 1; }));
}

TEST_F(StoreFollowerTest, AMapThatOneCannotServeIsServedByTheOthers) {
  const std::unique_ptr<Library> small = NewLibrary(/*max_maps=*/1);
  ASSERT_TRUE(first_->Commit("town", "a", 1).ok());
  ASSERT_TRUE(small->EventuallyAt("town", 1));
  ASSERT_TRUE(first_->Commit("city", "a", 1).ok());
  ASSERT_TRUE(second_->EventuallyAt("city", 1));
  EXPECT_FALSE(small->maps().FindEntry("city").has_value());
  // As one that a newer program has built: who starts now cannot serve it.
  ASSERT_EQ(Sql("UPDATE maps SET build = convert_to('{\"profiles\": [\"future\"]}', 'UTF8') "
                "WHERE name = 'city'; UPDATE store_state SET generation = generation + 1"),
            "");
  const std::unique_ptr<Library> older = NewLibrary();
  EXPECT_THAT(older->maps().Find("city").status().message(), HasSubstr("could not be loaded"));
  EXPECT_EQ(second_->Active("city").first, 1U);
  ASSERT_TRUE(older->EventuallyAt("town", 1));
  ASSERT_TRUE(first_->Commit("town", "b", 2).ok());
  EXPECT_TRUE(second_->EventuallyAt("town", 2));
  EXPECT_TRUE(older->EventuallyAt("town", 2));
}

}  // namespace
}  // namespace voxloc::server
