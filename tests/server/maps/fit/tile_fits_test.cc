// SPDX-License-Identifier: Apache-2.0

#include "server/maps/fit/tile_fits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/maps/store/sqlite_map_store.h"

namespace voxloc::server {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kDayNs = 24 * 3600 * kSecondNs;
constexpr int64_t kStartNs = 20'000 * kDayNs;

Sha256Digest DigestOf(uint8_t value) {
  Sha256Digest digest;
  digest.fill(value);
  return digest;
}

// What a scan showed: points, one in ten of which nothing explains.
TileObservation Seen(const std::string& tile_id, uint8_t digest, double points) {
  TileObservation seen;
  seen.tile_id = tile_id;
  seen.digest = DigestOf(digest);
  seen.fit.scans = 1.0;
  seen.fit.points = {points, 0.1 * points};
  return seen;
}

std::unique_ptr<MapStore> StoreWithTown(const MapStoreOptions& options = {}) {
  auto store = MakeMemoryMapStore(options);
  EXPECT_TRUE(store.ok());
  RevisionCommit commit;
  commit.map = "town";
  EXPECT_TRUE((*store)->Commit(commit).ok());
  return *std::move(store);
}

TEST(TileFits, SumUpWhatScansShowedOfAContent) {
  TileFits fits(100, Gauge());
  fits.Add("town", {Seen("a", 1, 100.0), Seen("b", 1, 10.0)}, kStartNs);
  fits.Add("town", {Seen("a", 1, 50.0)}, kStartNs + kSecondNs);
  const auto record = fits.Find("town", "a", DigestOf(1));
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->last_used_unix_ns, kStartNs + kSecondNs);
  // One of 32 parts of the first scan is forgotten.
  EXPECT_NEAR(record->fit.scans, 31.0 / 32.0 + 1.0, 1e-6);
  EXPECT_NEAR(record->fit.points.all, 100.0 * 31.0 / 32.0 + 50.0, 1e-3);
  EXPECT_NEAR(record->fit.points.ratio(), 0.1, 1e-12);
  EXPECT_EQ(fits.Find("town", "b", DigestOf(1))->fit.points.all, 10.0);
  EXPECT_FALSE(fits.Find("town", "c", DigestOf(1)).has_value());
  EXPECT_FALSE(fits.Find("port", "a", DigestOf(1)).has_value());
}

TEST(TileFits, OtherContentOfATileBeginsAnewAndTheOldIsFoundAgain) {
  TileFits fits(100, Gauge());
  fits.Add("town", {Seen("a", 1, 100.0)}, kStartNs);
  EXPECT_FALSE(fits.Find("town", "a", DigestOf(2)).has_value());
  fits.Add("town", {Seen("a", 2, 7.0)}, kStartNs);
  EXPECT_EQ(fits.Find("town", "a", DigestOf(2))->fit.points.all, 7.0);
  EXPECT_EQ(fits.Find("town", "a", DigestOf(1))->fit.points.all, 100.0);
}

TEST(TileFits, WhatIsLongAgoIsForgottenExponentially) {
  TileFits fits(100, Gauge());
  fits.Add("town", {Seen("a", 1, 1000.0)}, kStartNs);
  fits.Add("town", {Seen("a", 1, 0.0)}, kStartNs + 30 * kDayNs);
  EXPECT_NEAR(fits.Find("town", "a", DigestOf(1))->fit.points.all,
              1000.0 * std::exp(-1.0) * 31.0 / 32.0, 1e-6);
}

TEST(TileFits, AClockThatIsSetBackForgetsNothingAndMakesNothingOlder) {
  TileFits fits(100, Gauge());
  fits.Add("town", {Seen("a", 1, 32.0)}, kStartNs);
  fits.Add("town", {Seen("a", 1, 1.0)}, kStartNs - 30 * kDayNs);
  const auto record = fits.Find("town", "a", DigestOf(1));
  EXPECT_NEAR(record->fit.points.all, 32.0, 1e-9);
  EXPECT_EQ(record->last_used_unix_ns, kStartNs);
}

TEST(TileFits, OverTheLimitThoseUsedLongestAgoAreForgotten) {
  TileFits fits(100, Gauge());
  for (int i = 0; i <= 100; ++i) {
    fits.Add(i % 2 == 0 ? "town" : "port", {Seen(absl::StrCat("t", i), 1, 1.0)}, kStartNs + i);
  }
  size_t kept = 0;
  for (int i = 0; i <= 100; ++i) {
    const bool there =
        fits.Find(i % 2 == 0 ? "town" : "port", absl::StrCat("t", i), DigestOf(1)).has_value();
    EXPECT_EQ(there, i >= 10) << i;
    kept += there ? 1 : 0;
  }
  EXPECT_EQ(kept, 91U);
}

TEST(TileFits, ManyOfOneTimeDoNotAllGo) {
  TileFits fits(10, Gauge());
  std::vector<TileObservation> seen;
  for (int i = 0; i < 11; ++i) seen.push_back(Seen(absl::StrCat("t", i), 1, 1.0));
  fits.Add("town", seen, kStartNs);
  size_t kept = 0;
  for (const TileObservation& tile : seen) {
    kept += fits.Find("town", tile.tile_id, tile.digest).has_value() ? 1 : 0;
  }
  EXPECT_EQ(kept, 10U);
}

TEST(TileFits, ComeBackFromTheStore) {
  const auto store = StoreWithTown();
  TileFits fits(100, Gauge());
  fits.Add("town", {Seen("a", 1, 100.0), Seen("a", 2, 50.0)}, kStartNs);
  ASSERT_TRUE(fits.Save(*store).ok());
  fits.Add("town", {Seen("a", 1, 10.0)}, kStartNs + kSecondNs);
  ASSERT_TRUE(fits.Save(*store).ok());
  TileFits later(100, Gauge());
  ASSERT_TRUE(later.Load(*store).ok());
  for (const uint8_t digest : {uint8_t{1}, uint8_t{2}}) {
    const auto before = fits.Find("town", "a", DigestOf(digest));
    const auto after = later.Find("town", "a", DigestOf(digest));
    ASSERT_TRUE(after.has_value());
    EXPECT_EQ(after->last_used_unix_ns, before->last_used_unix_ns);
    EXPECT_EQ(after->fit.points.all, before->fit.points.all);
    EXPECT_EQ(after->fit.scans, before->fit.scans);
  }
}

TEST(TileFits, OfADeletedMapAreForgotten) {
  const auto store = StoreWithTown();
  TileFits fits(100, Gauge());
  fits.Add("town", {Seen("a", 1, 100.0)}, kStartNs);
  fits.Add("port", {Seen("a", 1, 100.0)}, kStartNs);
  fits.RemoveMap("town");
  EXPECT_FALSE(fits.Find("town", "a", DigestOf(1)).has_value());
  EXPECT_TRUE(fits.Find("port", "a", DigestOf(1)).has_value());
  ASSERT_TRUE(fits.Save(*store).ok());
  EXPECT_TRUE(store->ListTileFits("town")->empty());
}

TEST(TileFits, AreSavedOnceAndAgainOnlyAfterAChange) {
  const auto store = StoreWithTown();
  TileFits fits(100, Gauge());
  fits.Add("town", {Seen("a", 1, 100.0)}, kStartNs);
  ASSERT_TRUE(fits.Save(*store).ok());
  ASSERT_TRUE(store->DeleteMap("town", 0).ok());
  RevisionCommit commit;
  commit.map = "town";
  ASSERT_TRUE(store->Commit(commit).ok());
  ASSERT_TRUE(fits.Save(*store).ok());
  EXPECT_TRUE(store->ListTileFits("town")->empty());
  fits.Add("town", {Seen("a", 1, 100.0)}, kStartNs);
  ASSERT_TRUE(fits.Save(*store).ok());
  EXPECT_EQ(store->ListTileFits("town")->size(), 1U);
}

}  // namespace
}  // namespace voxloc::server
