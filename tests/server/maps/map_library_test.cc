// SPDX-License-Identifier: Apache-2.0
//
// A library over a store in memory, as the one thread of a server has it.

#include "server/maps/map_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/cpu/cpu_engine.h"
#include "server/maps/map_transaction.h"
#include "server/maps/store/sqlite_map_store.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<FailoverEngine> EngineOfOne() {
  std::vector<std::unique_ptr<Engine>> engines;
  engines.push_back(MakeCpuEngine({1}));
  return std::make_unique<FailoverEngine>(std::move(engines));
}

class MapLibraryTest : public ::testing::Test {
 protected:
  ~MapLibraryTest() override { mapping_.Stop(); }

  absl::StatusOr<CommitReceipt> Commit(MapLibrary& library, const std::string& tile, bool stage,
                                       const std::string& request_id = "") {
    TransactionBegin begin;
    begin.map = "town";
    begin.create = true;
    begin.request_id = request_id;
    auto transaction = MapTransaction::Open(library, begin);
    if (!transaction.ok()) return transaction.status();
    TileChunk chunk;
    chunk.tile_id = tile;
    for (int i = 0; i < 400; ++i) {
      chunk.points.PushBack(static_cast<float>(i % 20) * 0.2F, 1.0F,
                            static_cast<float>(i / 20) * 0.2F);
    }
    chunk.sent = chunk.total_points = chunk.points.size();
    chunk.last = true;
    if (auto added = (*transaction)->AddChunk(std::move(chunk)); !added.ok()) {
      return added.status();
    }
    TransactionCommit commit;
    commit.stage = stage;
    return (*transaction)->Commit(commit);
  }

  const Metrics metrics_;
  const EffectiveConfig defaults_{};
  const LiveConfig config_{defaults_};
  const std::unique_ptr<MapStore> store_ = MakeMemoryMapStore({}).value();
  const std::unique_ptr<FailoverEngine> engine_ = EngineOfOne();
  std::atomic<uint64_t> max_bytes_{uint64_t{1} << 30};
  WorkQueue mapping_{"mapping", 100, metrics_.mapping_queue};
  ResidentMaps maps_{10, metrics_, mapping_};
  MapEvents events_;
  MapLibrary library_{{*store_, *engine_, maps_, events_, config_, metrics_, max_bytes_}};
};

// As when another server commits a request between the look for it here and the commit.
TEST_F(MapLibraryTest, ARequestThatTheStoreHasChangesNothingHere) {
  ASSERT_TRUE(Commit(library_, "a", /*stage=*/false, "first").ok());
  ASSERT_TRUE(Commit(library_, "b", /*stage=*/false).ok());
  const MapView now = maps_.Find("town").value();
  RevisionDraft draft;
  draft.stored.map = "town";
  draft.stored.base_revision = 2;
  draft.stored.request_id = "first";
  draft.build = now.facts->build;
  draft.change.emplace("a", std::nullopt);
  const auto receipt = library_.Commit(draft);
  ASSERT_TRUE(receipt.ok()) << receipt.status();
  EXPECT_TRUE(receipt->repeated);
  EXPECT_EQ(receipt->added, 1U);
  EXPECT_EQ(receipt->view.snapshot->revision, 2U);
  EXPECT_EQ(maps_.Find("town")->snapshot, now.snapshot);
  EXPECT_EQ(store_->GetMap("town")->active_revision, 2U);
}

TEST_F(MapLibraryTest, ARevisionThatIsNotLoadedYetIsNotActivated) {
  ASSERT_TRUE(Commit(library_, "a", /*stage=*/false).ok());
  ASSERT_TRUE(Commit(library_, "b", /*stage=*/true).ok());
  // A server that starts on the same store.
  ResidentMaps maps(10, metrics_, mapping_);
  MapLibrary library({*store_, *engine_, maps, events_, config_, metrics_, max_bytes_});
  ASSERT_TRUE(library.Register().ok());
  for (const uint64_t revision : {1, 2}) {
    const absl::Status early = library.Activate("town", revision).status();
    EXPECT_EQ(early.code(), absl::StatusCode::kUnavailable) << early;
    EXPECT_THAT(early.message(), HasSubstr("map town is being loaded"));
    EXPECT_EQ(store_->GetMap("town")->active_revision, 1U);
  }
  EXPECT_EQ(library.Activate("town", 7).status().code(), absl::StatusCode::kNotFound);
  library.Load("town");
  maps.Open("town");
  const auto activated = library.Activate("town", 2);
  ASSERT_TRUE(activated.ok()) << activated.status();
  EXPECT_EQ(maps.Find("town")->snapshot->revision, 2U);
  EXPECT_EQ(store_->GetMap("town")->active_revision, 2U);
}

TEST_F(MapLibraryTest, AMapThatIsDeletedBeforeItIsLoadedIsNotWaitedFor) {
  ASSERT_TRUE(Commit(library_, "a", /*stage=*/false).ok());
  ResidentMaps maps(10, metrics_, mapping_);
  MapLibrary library({*store_, *engine_, maps, events_, config_, metrics_, max_bytes_});
  ASSERT_TRUE(library.Register().ok());
  EXPECT_EQ(maps.Loading().size(), 1U);
  ASSERT_TRUE(store_->DeleteMap("town", 0).ok());
  library.Load("town");
  EXPECT_TRUE(maps.Loading().empty());
  EXPECT_TRUE(absl::IsNotFound(maps.Find("town").status()));
}

}  // namespace
}  // namespace voxloc::server
