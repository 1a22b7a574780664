// SPDX-License-Identifier: Apache-2.0
//
// How scans fitted the tiles, in the store.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/maps/store/store_fixture.h"

namespace voxloc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

StoredTileFit FitOfTile(const std::string& map, const std::string& tile_id, uint8_t digest,
                        int64_t last_used_unix_ns) {
  StoredTileFit stored;
  stored.map = map;
  stored.tile_id = tile_id;
  stored.digest.fill(digest);
  stored.last_used_unix_ns = last_used_unix_ns;
  stored.fit.scans = 1.5;
  stored.fit.squared_distances_m2 = 0.25;
  stored.fit.points = {100.0, 10.5};
  stored.fit.raised_points = {50.0, 4.5};
  stored.fit.solid = {40.0, 3.5};
  stored.fit.raised_solid = {20.0, 2.5};
  return stored;
}

std::vector<double> NumbersOf(const TileFit& fit) {
  std::vector<double> numbers = {fit.scans, fit.squared_distances_m2};
  for (const auto& part : {fit.points, fit.raised_points, fit.solid, fit.raised_solid}) {
    numbers.insert(numbers.end(), {part.all, part.mismatched});
  }
  return numbers;
}

std::vector<std::string> TileIds(const std::vector<StoredTileFit>& fits) {
  std::vector<std::string> ids;
  for (const StoredTileFit& fit : fits) ids.push_back(fit.tile_id);
  return ids;
}

class FitStoreTest : public StoreTest {
 protected:
  void MakeMap(const std::string& map) {
    ASSERT_TRUE(store_->Commit(CommitOf(*store_, map, 0, {{"a", 1}})).ok());
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, FitStoreTest, AllStores(), NameOf);

TEST_P(FitStoreTest, TheLastSavedOneOfAContentIsRead) {
  MakeMap("town");
  MakeMap("harbour");
  const StoredTileFit first = FitOfTile("town", "a", 1, 5);
  StoredTileFit second = FitOfTile("town", "a", 1, 6);
  second.fit.scans = 2.5;
  ASSERT_TRUE(store_->SaveTileFits({first, FitOfTile("harbour", "a", 1, 7)}).ok());
  ASSERT_TRUE(store_->SaveTileFits({second, FitOfTile("town", "a", 2, 8)}).ok());
  const auto fits = store_->ListTileFits("town").value();
  ASSERT_EQ(fits.size(), 2U);
  const StoredTileFit& read = fits.front();
  EXPECT_EQ(read.map, "town");
  EXPECT_EQ(read.tile_id, "a");
  EXPECT_EQ(read.digest, first.digest);
  EXPECT_EQ(read.last_used_unix_ns, 6);
  EXPECT_EQ(NumbersOf(read.fit), NumbersOf(second.fit));
  EXPECT_EQ(fits.back().digest[0], 2);
  EXPECT_EQ(store_->ListTileFits("harbour")->size(), 1U);
}

TEST_P(FitStoreTest, SurviveTheEndOfTheProcess) {
  if (!Lasts()) GTEST_SKIP() << "a store in memory keeps nothing";
  MakeMap("town");
  ASSERT_TRUE(store_->SaveTileFits({FitOfTile("town", "a", 1, 5)}).ok());
  Close();
  Open(options_);
  EXPECT_THAT(TileIds(*store_->ListTileFits("town")), ElementsAre("a"));
}

TEST_P(FitStoreTest, GoWithTheirMapAndDoNotComeBack) {
  MakeMap("town");
  ASSERT_TRUE(store_->SaveTileFits({FitOfTile("town", "a", 1, 5)}).ok());
  ASSERT_TRUE(store_->DeleteMap("town", 0).ok());
  EXPECT_THAT(*store_->ListTileFits("town"), IsEmpty());
  // Of a scan that was compared while the map was deleted.
  ASSERT_TRUE(store_->SaveTileFits({FitOfTile("town", "a", 1, 6)}).ok());
  EXPECT_THAT(*store_->ListTileFits("town"), IsEmpty());
  MakeMap("town");
  EXPECT_THAT(*store_->ListTileFits("town"), IsEmpty());
}

TEST_P(FitStoreTest, OverTheLimitThoseUsedLongestAgoAreCollected) {
  options_.max_tile_fits = 2;
  Close();
  Open(options_);
  MakeMap("town");
  ASSERT_TRUE(store_
                  ->SaveTileFits({FitOfTile("town", "a", 1, 30), FitOfTile("town", "b", 1, 10),
                                  FitOfTile("town", "c", 1, 20), FitOfTile("town", "d", 1, 40)})
                  .ok());
  CollectAll(*store_);
  EXPECT_THAT(TileIds(*store_->ListTileFits("town")), ElementsAre("a", "d"));
}

}  // namespace
}  // namespace voxloc::server
