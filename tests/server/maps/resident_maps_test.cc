// SPDX-License-Identifier: Apache-2.0

#include "server/maps/resident_maps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "tests/server/maps/fake_map.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

// Reports through `freed` the thread that frees it.
class FreedMap : public FakeMap {
 public:
  explicit FreedMap(std::atomic<std::thread::id>* freed) : freed_(freed) {}
  ~FreedMap() override {
    if (freed_ != nullptr) *freed_ = std::this_thread::get_id();
  }

 private:
  std::atomic<std::thread::id>* const freed_;
};

MapSnapshot Snapshot(const std::string& name, uint64_t revision, uint64_t tiles = 1,
                     std::atomic<std::thread::id>* freed = nullptr) {
  MapSnapshot snapshot;
  snapshot.name = name;
  snapshot.revision = revision;
  snapshot.resident = std::make_shared<FreedMap>(freed);
  TileCatalogue::Change change;
  for (uint64_t i = 0; i < tiles; ++i) {
    MapTile tile;
    tile.points = 10;
    tile.resident = std::make_shared<FakeTile>();
    change.emplace(absl::StrCat("tile", i), tile);
  }
  snapshot.tiles = TileCatalogue().With(change);
  return snapshot;
}

class ResidentMapsTest : public ::testing::Test {
 protected:
  // Activates a snapshot with so many tiles.
  static MapView Activate(ResidentMaps& maps, const std::string& name, uint64_t revision,
                          uint64_t tiles = 1) {
    return maps.Activate(Snapshot(name, revision, tiles), MapFacts());
  }
  // Returns when the queue has run all tasks that it had before.
  void AwaitQueue() {
    absl::Notification done;
    ASSERT_TRUE(mapping_.Post([&done] { done.Notify(); }));
    done.WaitForNotification();
  }

  Metrics metrics_;
  WorkQueue mapping_{"mapping", 4096, metrics_.mapping_queue};
};

TEST_F(ResidentMapsTest, ActiveMapsAreFoundAndListedByName) {
  ResidentMaps maps(4, metrics_, mapping_);
  EXPECT_TRUE(maps.List().empty());
  Activate(maps, "town", 1);
  Activate(maps, "port", 1);
  const auto found = maps.Find("town").value();
  EXPECT_EQ(found.snapshot->name, "town");
  const auto list = maps.List();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(maps.size(), 2u);
  EXPECT_EQ(list[0].snapshot->name, "port");
  EXPECT_EQ(list[1].snapshot->name, "town");
}

TEST_F(ResidentMapsTest, AViewHasWhatBelongsToItsRevision) {
  ResidentMaps maps(4, metrics_, mapping_);
  MapFacts facts;
  facts.build = std::make_shared<const MapBuild>();
  facts.restorable_revisions = {1, 2};
  const MapView view = maps.Activate(Snapshot("town", 3, 2), facts);
  EXPECT_EQ(view.snapshot->revision, 3u);
  EXPECT_EQ(view.facts->build, facts.build);
  EXPECT_EQ(view.facts->restorable_revisions, facts.restorable_revisions);
  EXPECT_EQ(view.snapshot->tiles.points(), 20u);
  EXPECT_EQ(view.MemoryBytes(), 1000u + 2 * 100u);
}

TEST_F(ResidentMapsTest, AnUnknownNameIsAnsweredWithTheNamesThereAre) {
  ResidentMaps maps(4, metrics_, mapping_);
  EXPECT_EQ(maps.Find("town").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(maps.Find("town").status().message()), HasSubstr("has none"));
  Activate(maps, "port", 1);
  Activate(maps, "yard", 1);
  EXPECT_THAT(std::string(maps.Find("town").status().message()), HasSubstr("port, yard"));
}

TEST_F(ResidentMapsTest, AClientsLookUpChecksNameAndRevision) {
  ResidentMaps maps(4, metrics_, mapping_);
  Activate(maps, "town", 1);
  EXPECT_TRUE(maps.FindAtLeast("town", 0).ok());
  EXPECT_TRUE(maps.FindAtLeast("town", 1).ok());
  EXPECT_EQ(maps.FindAtLeast("town", 2).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(maps.FindAtLeast("port", 0).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(maps.FindAtLeast("a/b", 0).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ResidentMapsTest, TheLimitCountsMapsAndNotRevisions) {
  ResidentMaps maps(2, metrics_, mapping_);
  EXPECT_TRUE(maps.Register("a").ok());
  Activate(maps, "b", 1);
  EXPECT_EQ(maps.CheckCapacity("c").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(maps.Register("c").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(maps.CheckCapacity("b").ok());
  maps.Remove("b");
  EXPECT_TRUE(maps.CheckCapacity("c").ok());
}

TEST_F(ResidentMapsTest, AnAnnouncedMapSaysHowFarItIs) {
  ResidentMaps maps(2, metrics_, mapping_);
  ASSERT_TRUE(maps.Register("town").ok());
  EXPECT_TRUE(maps.IsLoading("town"));
  absl::Status status = maps.Find("town").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("0 %"));
  // Three of five tiles are missing.
  MapSnapshot part = Snapshot("town", 5, 5);
  TileCatalogue::Change change;
  for (const char* id : {"tile1", "tile2", "tile4"}) change.emplace(id, MapTile());
  part.tiles = part.tiles.With(change);
  maps.Activate(std::move(part), MapFacts());
  status = maps.Find("town").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("40 %"));
  EXPECT_TRUE(maps.List().empty());
  EXPECT_EQ(maps.Views("town").size(), 1u);
  maps.Fail("town", absl::ResourceExhaustedError("no memory"));
  status = maps.Find("town").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no memory"));
  maps.Open("town");
  EXPECT_FALSE(maps.IsLoading("town"));
  EXPECT_TRUE(maps.Find("town").ok());
  EXPECT_EQ(maps.List().size(), 1u);
}

TEST_F(ResidentMapsTest, ARevisionIsReplacedByItselfWithOtherTiles) {
  ResidentMaps maps(2, metrics_, mapping_);
  MapFacts facts;
  facts.restorable_revisions = {1};
  maps.Activate(Snapshot("town", 2, 1), facts);
  maps.Stage(Snapshot("town", 3, 1), MapFacts(), {"van"});
  const size_t before = maps.MemoryBytes();
  maps.UpdateResidency(Snapshot("town", 2, 4));
  EXPECT_EQ(maps.Find("town")->snapshot->tiles.size(), 4u);
  EXPECT_EQ(maps.Find("town")->facts->restorable_revisions, facts.restorable_revisions);
  EXPECT_EQ(maps.MemoryBytes(), before + 3 * 100u);
  maps.UpdateResidency(Snapshot("town", 3, 2));
  EXPECT_EQ(maps.Find("town", "van")->snapshot->tiles.size(), 2u);
  // One that is gone stays so.
  maps.Unstage("town", 3);
  maps.UpdateResidency(Snapshot("town", 3, 5));
  maps.UpdateResidency(Snapshot("port", 1, 1));
  EXPECT_EQ(maps.Views("town").size(), 1u);
  EXPECT_EQ(maps.size(), 1u);
}

TEST_F(ResidentMapsTest, AStagedRevisionIsForThoseWhoTryIt) {
  ResidentMaps maps(2, metrics_, mapping_);
  Activate(maps, "town", 1);
  maps.Stage(Snapshot("town", 2), MapFacts(), {"shuttle", "van"});
  maps.Stage(Snapshot("town", 3), MapFacts(), {"van"});
  EXPECT_EQ(maps.Find("town")->snapshot->revision, 1u);
  EXPECT_EQ(maps.Find("town", "bus")->snapshot->revision, 1u);
  EXPECT_EQ(maps.Find("town", "shuttle")->snapshot->revision, 2u);
  EXPECT_EQ(maps.Find("town", "van")->snapshot->revision, 3u);
  EXPECT_EQ(maps.FindRevision("town", 2)->snapshot->revision, 2u);
  EXPECT_EQ(maps.FindRevision("town", 9).status().code(), absl::StatusCode::kNotFound);

  maps.SetCanary("town", 3, {"bus"});
  EXPECT_EQ(maps.Find("town", "bus")->snapshot->revision, 3u);
  EXPECT_EQ(maps.Find("town", "van")->snapshot->revision, 2u);
  maps.Unstage("town", 3);
  EXPECT_EQ(maps.Find("town", "bus")->snapshot->revision, 1u);
  maps.Activate(*maps.FindRevision("town", 2)->snapshot, MapFacts());
  EXPECT_EQ(maps.Find("town")->snapshot->revision, 2u);
  EXPECT_EQ(maps.Find("town", "van")->snapshot->revision, 2u);
}

TEST_F(ResidentMapsTest, AMapMayHaveStagedRevisionsAlone) {
  ResidentMaps maps(2, metrics_, mapping_);
  maps.Stage(Snapshot("town", 1), MapFacts(), {"van"});
  EXPECT_EQ(maps.Find("town").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(maps.Find("town", "van").ok());
  EXPECT_TRUE(maps.List().empty());
  maps.Unstage("town", 1);
  EXPECT_EQ(maps.Find("town").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ResidentMapsTest, ARemovedMapIsGoneButLivesForThoseWhoHoldIt) {
  ResidentMaps maps(2, metrics_, mapping_);
  Activate(maps, "town", 1);
  const auto held = maps.Find("town");
  ASSERT_TRUE(held.ok());
  maps.Remove("town");
  EXPECT_EQ(maps.Find("town").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(held->snapshot->tiles.points(), 10u);
}

TEST_F(ResidentMapsTest, AReplacedRevisionIsFreedWithItsLastOwnerOnTheQueue) {
  std::thread::id queue_thread;
  ASSERT_TRUE(mapping_.Post([&queue_thread] { queue_thread = std::this_thread::get_id(); }));
  AwaitQueue();
  std::atomic<std::thread::id> freed{};
  ResidentMaps maps(2, metrics_, mapping_);
  maps.Activate(Snapshot("town", 1, 1, &freed), MapFacts());
  std::shared_ptr<const ResidentMap> held = maps.Find("town")->resident();
  Activate(maps, "town", 2);
  AwaitQueue();
  EXPECT_EQ(freed.load(), std::thread::id());
  held.reset();
  AwaitQueue();
  EXPECT_EQ(freed.load(), queue_thread);
}

TEST_F(ResidentMapsTest, ReadersSeeWholeRevisionsInTheirOrder) {
  constexpr uint64_t kRevisions = 300;
  ResidentMaps maps(4, metrics_, mapping_);
  Activate(maps, "town", 1);
  std::atomic<int> faults{0};
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r) {
    readers.emplace_back([&] {
      uint64_t last = 0;
      while (last < kRevisions) {
        const auto view = maps.Find("town");
        if (!view.ok() || view->snapshot->revision < last ||
            view->snapshot->tiles.size() != view->snapshot->revision || maps.List().size() != 1) {
          ++faults;
          return;
        }
        last = view->snapshot->revision;
      }
    });
  }
  for (uint64_t revision = 2; revision <= kRevisions; ++revision) {
    Activate(maps, "town", revision, revision);
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(faults, 0);
}

}  // namespace
}  // namespace voxloc::server
