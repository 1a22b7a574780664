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

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

class FakeTile : public ResidentTile {
 public:
  size_t points() const override { return 10; }
  size_t not_finite() const override { return 0; }
  size_t cells() const override { return 3; }
  size_t MemoryBytes() const override { return 100; }
};

// Reports through `freed` the thread that frees it.
class FakeMap : public ResidentMap {
 public:
  explicit FakeMap(std::atomic<std::thread::id>* freed = nullptr) : freed_(freed) {}
  ~FakeMap() override {
    if (freed_ != nullptr) *freed_ = std::this_thread::get_id();
  }
  const std::vector<CellStatistics>& statistics() const override { return statistics_; }
  size_t cells(size_t /*statistics_index*/) const override { return 7; }
  size_t MemoryBytes() const override { return 1000; }
  absl::StatusOr<std::vector<MapCell>> CellsInBox(size_t /*statistics_index*/,
                                                  const Eigen::Vector3d& /*min*/,
                                                  const Eigen::Vector3d& /*max*/,
                                                  size_t /*max_cells*/) const override {
    return std::vector<MapCell>();
  }

 private:
  std::atomic<std::thread::id>* const freed_;
  const std::vector<CellStatistics> statistics_ = std::vector<CellStatistics>(1);
};

MapSnapshot Snapshot(const std::string& name, uint64_t tiles = 1,
                     std::atomic<std::thread::id>* freed = nullptr) {
  MapSnapshot snapshot;
  snapshot.name = name;
  snapshot.resident = std::make_shared<FakeMap>(freed);
  for (uint64_t i = 0; i < tiles; ++i) {
    MapTile tile;
    tile.points = 10;
    tile.resident = std::make_shared<FakeTile>();
    snapshot.tiles.emplace(absl::StrCat("tile", i), tile);
  }
  return snapshot;
}

class ResidentMapsTest : public ::testing::Test {
 protected:
  // Publishes a snapshot with so many tiles.
  static absl::StatusOr<MapView> Publish(ResidentMaps& maps, const std::string& name,
                                         uint64_t base_revision, uint64_t tiles = 1) {
    return maps.Publish(Snapshot(name, tiles), std::make_shared<const MapBuild>(), {},
                        base_revision);
  }

  // Returns when the queue has run all tasks that it had before.
  void AwaitQueue() {
    absl::Notification done;
    ASSERT_TRUE(mapping_.Post([&done] { done.Notify(); }));
    done.WaitForNotification();
  }

  Metrics metrics_{"cpu"};
  WorkQueue mapping_{"mapping", 4096, metrics_.depth_mapping};
};

TEST_F(ResidentMapsTest, PublishedMapsAreFoundAndListedByName) {
  ResidentMaps maps(4, metrics_, mapping_);
  EXPECT_TRUE(maps.List().empty());
  ASSERT_TRUE(Publish(maps, "town", 0).ok());
  ASSERT_TRUE(Publish(maps, "port", 0).ok());
  const auto found = maps.Find("town");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->snapshot->name, "town");
  const auto list = maps.List();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(maps.size(), 2u);
  EXPECT_EQ(list[0].snapshot->name, "port");
  EXPECT_EQ(list[1].snapshot->name, "town");
}

TEST_F(ResidentMapsTest, AViewHasTheFactsOfItsRevision) {
  ResidentMaps maps(4, metrics_, mapping_);
  const auto build = std::make_shared<const MapBuild>();
  auto published = maps.Publish(Snapshot("town", 2), build, {{"tile0", 17u}}, 0);
  ASSERT_TRUE(published.ok()) << published.status();
  EXPECT_EQ(published->snapshot->revision, 1u);
  EXPECT_GT(published->snapshot->committed_unix_ns, 0);
  EXPECT_EQ(published->facts->build, build);
  EXPECT_EQ(published->facts->checksums.at("tile0"), 17u);
  EXPECT_EQ(published->facts->points, 20u);
  EXPECT_EQ(published->facts->memory_bytes, 1000u + 2 * 100u);
}

TEST_F(ResidentMapsTest, ATileKeepsTheRevisionAtWhichItCame) {
  ResidentMaps maps(4, metrics_, mapping_);
  const auto first = Publish(maps, "town", 0);
  ASSERT_TRUE(first.ok());
  MapSnapshot next = Snapshot("town", 2);
  next.tiles["tile0"] = first->snapshot->tiles.at("tile0");
  const auto second = maps.Publish(std::move(next), first->facts->build, {}, 1);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->snapshot->tiles.at("tile0").revision, 1u);
  EXPECT_EQ(second->snapshot->tiles.at("tile1").revision, 2u);
}

TEST_F(ResidentMapsTest, AnUnknownNameIsAnsweredWithTheNamesThereAre) {
  ResidentMaps maps(4, metrics_, mapping_);
  EXPECT_EQ(maps.Find("town").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(maps.Find("town").status().message()), HasSubstr("has none"));
  ASSERT_TRUE(Publish(maps, "port", 0).ok());
  ASSERT_TRUE(Publish(maps, "yard", 0).ok());
  EXPECT_THAT(std::string(maps.Find("town").status().message()), HasSubstr("port, yard"));
}

TEST_F(ResidentMapsTest, AClientsLookUpChecksNameAndRevision) {
  ResidentMaps maps(4, metrics_, mapping_);
  ASSERT_TRUE(Publish(maps, "town", 0).ok());
  EXPECT_TRUE(maps.FindAtLeast("town", 0).ok());
  EXPECT_TRUE(maps.FindAtLeast("town", 1).ok());
  EXPECT_EQ(maps.FindAtLeast("town", 2).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(maps.FindAtLeast("port", 0).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(maps.FindAtLeast("a/b", 0).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ResidentMapsTest, ARevisionFollowsTheOneItIsBasedOn) {
  ResidentMaps maps(4, metrics_, mapping_);
  ASSERT_TRUE(Publish(maps, "town", 0).ok());
  const auto second = Publish(maps, "town", 1);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->snapshot->revision, 2u);

  // Based on a revision that has been replaced.
  const absl::Status conflict = Publish(maps, "town", 1).status();
  EXPECT_EQ(conflict.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(conflict.message()), HasSubstr("at revision 2"));
  // Meant as new, but there already.
  EXPECT_EQ(Publish(maps, "town", 0).status().code(), absl::StatusCode::kAborted);
  // Based on a map that is not there.
  EXPECT_EQ(Publish(maps, "port", 2).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(maps.Find("town")->snapshot->revision, 2u);
}

TEST_F(ResidentMapsTest, TheLimitCountsMapsAndNotRevisions) {
  ResidentMaps maps(2, metrics_, mapping_);
  ASSERT_TRUE(Publish(maps, "a", 0).ok());
  ASSERT_TRUE(Publish(maps, "b", 0).ok());
  EXPECT_EQ(Publish(maps, "c", 0).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Publish(maps, "a", 1).ok());
  ASSERT_TRUE(maps.Remove("b", 0).ok());
  EXPECT_TRUE(Publish(maps, "c", 0).ok());
}

TEST_F(ResidentMapsTest, ARemovedMapIsGoneButLivesForThoseWhoHoldIt) {
  ResidentMaps maps(2, metrics_, mapping_);
  ASSERT_TRUE(Publish(maps, "town", 0).ok());
  const auto held = maps.Find("town");
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(maps.Remove("town", 2).status().code(), absl::StatusCode::kAborted);
  const auto removed = maps.Remove("town", 1);
  ASSERT_TRUE(removed.ok());
  EXPECT_EQ(*removed, 1u);
  EXPECT_EQ(maps.Find("town").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(maps.Remove("town", 0).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(held->snapshot->tiles.size(), 1u);
  EXPECT_EQ(held->facts->points, 10u);
  // An update based on it comes too late.
  EXPECT_EQ(Publish(maps, "town", 1).status().code(), absl::StatusCode::kAborted);
}

TEST_F(ResidentMapsTest, AReplacedRevisionIsFreedWithItsLastOwnerOnTheQueue) {
  std::thread::id queue_thread;
  ASSERT_TRUE(mapping_.Post([&queue_thread] { queue_thread = std::this_thread::get_id(); }));
  AwaitQueue();
  std::atomic<std::thread::id> freed{};
  ResidentMaps maps(2, metrics_, mapping_);
  const auto build = std::make_shared<const MapBuild>();
  ASSERT_TRUE(maps.Publish(Snapshot("town", 1, &freed), build, {}, 0).ok());
  std::shared_ptr<const ResidentMap> held = maps.Find("town")->resident();
  ASSERT_TRUE(Publish(maps, "town", 1).ok());
  AwaitQueue();
  EXPECT_EQ(freed.load(), std::thread::id());
  held.reset();
  AwaitQueue();
  EXPECT_EQ(freed.load(), queue_thread);
}

TEST_F(ResidentMapsTest, ReadersSeeWholeRevisionsInTheirOrder) {
  constexpr uint64_t kRevisions = 300;
  ResidentMaps maps(4, metrics_, mapping_);
  ASSERT_TRUE(Publish(maps, "town", 0).ok());
  std::atomic<int> faults{0};
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r) {
    readers.emplace_back([&] {
      uint64_t last = 0;
      while (last < kRevisions) {
        const auto view = maps.Find("town");
        if (!view.ok() || view->snapshot->revision < last ||
            view->snapshot->tiles.size() != view->snapshot->revision ||
            view->facts->points != 10 * view->snapshot->revision || maps.List().size() != 1) {
          ++faults;
          return;
        }
        last = view->snapshot->revision;
      }
    });
  }
  // Two writers race for every revision; one of them wins it.
  std::atomic<uint64_t> published{0};
  std::vector<std::thread> writers;
  for (int w = 0; w < 2; ++w) {
    writers.emplace_back([&] {
      for (uint64_t base = 1; base < kRevisions;) {
        const absl::Status status = Publish(maps, "town", base, base + 1).status();
        if (status.ok()) ++published;
        if (!status.ok() && status.code() != absl::StatusCode::kAborted) ++faults;
        base = maps.Find("town")->snapshot->revision;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(faults, 0);
  EXPECT_EQ(published, kRevisions - 1);
}

}  // namespace
}  // namespace voxloc::server
