// SPDX-License-Identifier: Apache-2.0

#include "clients/sim/street_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace voxloc::sim {
namespace {

// The nearest of all streets, one after another.
double SlowDistance(const StreetNetwork& streets, const Eigen::Vector2d& point) {
  double nearest = std::numeric_limits<double>::infinity();
  for (const Street& street : streets.streets()) {
    nearest = std::min(nearest, street.DistanceTo(point));
  }
  return nearest;
}

double SlowClearance(const StreetNetwork& streets, const Eigen::Vector2d& point) {
  double nearest = std::numeric_limits<double>::infinity();
  for (const Street& street : streets.streets()) {
    const Eigen::Vector2d right(street.direction.y(), -street.direction.x());
    const Side side = (point - street.start).dot(right) < 0.0 ? kLeft : kRight;
    nearest =
        std::min(nearest, street.DistanceTo(point) - street.KerbOffset(side) - street.pavement_m);
  }
  return nearest;
}

TEST(StreetNetworkTest, FindsTheNearestStreetWithoutLookingAtAll) {
  Random random(7);
  for (const double half_size_m : {90.0, 700.0}) {
    const StreetNetwork town(half_size_m, 80.0, 0.5, Random(3));
    Street alone;
    alone.start = {-40.0, 10.0};
    alone.length_m = 500.0;
    const StreetNetwork line(alone);
    for (int i = 0; i < 2000; ++i) {
      // Also far outside.
      const double reach_m = i % 4 == 0 ? 5.0 * half_size_m : half_size_m;
      const Eigen::Vector2d point(random.Uniform(-reach_m, reach_m),
                                  random.Uniform(-reach_m, reach_m));
      for (const StreetNetwork* streets : {&town, &line}) {
        ASSERT_EQ(streets->DistanceToStreets(point), SlowDistance(*streets, point));
        ASSERT_NEAR(streets->ClearanceFromStreets(point), SlowClearance(*streets, point), 1e-9);
        for (const double near_m : {5.0, 45.0, 200.0}) {
          ASSERT_EQ(streets->IsNear(point, near_m), SlowDistance(*streets, point) <= near_m);
        }
      }
    }
  }
}

}  // namespace
}  // namespace voxloc::sim
