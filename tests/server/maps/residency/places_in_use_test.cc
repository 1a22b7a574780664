// SPDX-License-Identifier: Apache-2.0

#include "server/maps/residency/places_in_use.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>

namespace voxloc::server {
namespace {

using Clock = PlacesInUse::Clock;

PlaceInUse At(double x, double y, Clock::time_point seen) {
  PlaceInUse place;
  place.position = {x, y};
  place.seen = seen;
  return place;
}

TEST(PlacesInUseTest, KeepTheLatestOfEachSquare) {
  PlacesInUse places(20.0);
  const Clock::time_point start = Clock::now();
  EXPECT_TRUE(places.Record("town", At(1.0, 1.0, start)));
  EXPECT_FALSE(places.Record("town", At(19.0, 2.0, start + std::chrono::seconds(1))));
  EXPECT_TRUE(places.Record("town", At(-1.0, 1.0, start)));
  EXPECT_TRUE(places.Record("port", At(1.0, 1.0, start)));
  const auto listed = places.List("town", start);
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0].position, Eigen::Vector2d(19.0, 2.0));
  EXPECT_EQ(listed[1].position, Eigen::Vector2d(-1.0, 1.0));
}

TEST(PlacesInUseTest, ForgetWhatHasNotBeenSeenSince) {
  PlacesInUse places(20.0);
  const Clock::time_point start = Clock::now();
  places.Record("town", At(1.0, 1.0, start));
  places.Record("town", At(101.0, 1.0, start + std::chrono::seconds(9)));
  EXPECT_EQ(places.List("town", start + std::chrono::seconds(5)).size(), 1u);
  EXPECT_EQ(places.List("town", start).size(), 2u);
  places.EvictBefore(start + std::chrono::seconds(5), start);
  EXPECT_EQ(places.List("town", start).size(), 1u);
  EXPECT_TRUE(places.Record("town", At(1.0, 1.0, start)));  // it is new again
  places.EvictBefore(start + std::chrono::seconds(50), start);
  EXPECT_TRUE(places.List("town", start).empty());
}

TEST(PlacesInUseTest, KnowWhenAMapWasUsedLast) {
  PlacesInUse places(20.0);
  const Clock::time_point start = Clock::now();
  const Clock::time_point later = start + std::chrono::seconds(9);
  EXPECT_EQ(places.LastUse("town"), Clock::time_point::min());
  places.Record("town", At(1.0, 1.0, later));
  places.Record("town", At(50.0, 1.0, start));
  EXPECT_EQ(places.LastUse("town"), later);
  EXPECT_EQ(places.LastUse("port"), Clock::time_point::min());
  places.EvictBefore(later + std::chrono::seconds(1), later);
  EXPECT_EQ(places.LastUse("town"), later);
  places.EvictBefore(later + std::chrono::seconds(1), later + std::chrono::seconds(1));
  EXPECT_EQ(places.LastUse("town"), Clock::time_point::min());

  std::shared_ptr<void> one = places.Hold("port");
  std::shared_ptr<void> other = places.Hold("port");
  one.reset();
  places.EvictBefore(Clock::time_point::max(), Clock::time_point::max());
  EXPECT_EQ(places.LastUse("port"), Clock::time_point::max());
  other.reset();
  EXPECT_GE(places.LastUse("port"), start);
  EXPECT_LE(places.LastUse("port"), Clock::now());
}

TEST(PlacesInUseTest, CoverABoxUpToALimit) {
  PlacesInUse places(20.0);
  const Clock::time_point now = Clock::now();
  EXPECT_TRUE(places.RecordBox("town", {5.0, 5.0}, {45.0, 25.0}, now));
  // Squares 0 to 2 along x, 0 and 1 along y.
  EXPECT_EQ(places.List("town", now).size(), 6u);
  EXPECT_FALSE(places.RecordBox("town", {0.0, 0.0}, {1e5, 1e5}, now));
  EXPECT_EQ(places.List("town", now).size(), 6u);
  EXPECT_TRUE(places.RecordBox("port", {5.0, 5.0}, {5.0, 5.0}, now));
  EXPECT_EQ(places.List("port", now).size(), 1u);
}

TEST(PlacesInUseTest, AreBoundedAndTakeFinitePositionsOnly) {
  PlacesInUse places(1.0);
  const Clock::time_point now = Clock::now();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(places.Record("town", At(nan, 0.0, now)));
  EXPECT_FALSE(places.Record("town", At(1e300, 0.0, now)));
  for (size_t i = 0; i < PlacesInUse::kMaxPerMap + 100; ++i) {
    places.Record("town", At(static_cast<double>(i), 0.0, now));
  }
  EXPECT_EQ(places.List("town", now).size(), PlacesInUse::kMaxPerMap);
}

}  // namespace
}  // namespace voxloc::server
