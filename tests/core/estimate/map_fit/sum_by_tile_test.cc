// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <vector>

#include "core/estimate/map_fit/scan_fit.h"

namespace voxloc {
namespace {

Bounds BoxOf(double x0, double x1, double z0 = 0.0, double z1 = 10.0) {
  Bounds bounds;
  bounds.min = {x0, 0.0, z0};
  bounds.max = {x1, 10.0, z1};
  bounds.finite_points = 1;
  return bounds;
}

FitObservation At(double x, double z, FitKind kind, bool raised = false, float distance_m = 0.0F) {
  FitObservation observation;
  observation.place_map = {x, 5.0, z};
  observation.kind = kind;
  observation.raised = raised;
  observation.distance_m = distance_m;
  return observation;
}

TEST(SumByTile, EveryKindIsCountedWhereItBelongs) {
  const std::vector<FitObservation> seen = {
      At(1.0, 1.0, FitKind::kExplained, false, 0.3F), At(2.0, 1.0, FitKind::kExplained, true, 0.4F),
      At(3.0, 1.0, FitKind::kUnexplained, true),      At(4.0, 1.0, FitKind::kConfirmed, true),
      At(5.0, 1.0, FitKind::kConfirmed, false),       At(6.0, 1.0, FitKind::kSeenThrough, true)};
  const auto fits = SumByTile(seen, {BoxOf(0.0, 10.0)}, 0.5);
  ASSERT_EQ(fits.size(), 1U);
  const TileFit& fit = fits[0];
  EXPECT_EQ(fit.scans, 1.0);
  EXPECT_EQ(fit.points.all, 3.0);
  EXPECT_EQ(fit.points.mismatched, 1.0);
  EXPECT_EQ(fit.raised_points.all, 2.0);
  EXPECT_EQ(fit.raised_points.mismatched, 1.0);
  EXPECT_EQ(fit.solid.all, 3.0);
  EXPECT_EQ(fit.solid.mismatched, 1.0);
  EXPECT_EQ(fit.raised_solid.all, 2.0);
  EXPECT_EQ(fit.raised_solid.mismatched, 1.0);
  EXPECT_NEAR(fit.squared_distances_m2, 0.25, 1e-6);
}

TEST(SumByTile, EachTileThatHoldsAPlaceGetsItElseTheNearestWithinTheMargin) {
  const std::vector<Bounds> overlapping = {BoxOf(0.0, 10.0), BoxOf(8.0, 20.0), BoxOf(30.0, 40.0)};
  const std::vector<Bounds> stacked = {BoxOf(0.0, 10.0, 0.0, 3.0), BoxOf(0.0, 10.0, 4.0, 8.0)};
  const std::vector<Bounds> apart = {BoxOf(0.0, 10.0), BoxOf(10.7, 20.0)};
  const struct {
    double x, z;
    const std::vector<Bounds>& tiles;
    std::vector<double> points;  // of each tile
  } rows[] = {{9.0, 1.0, overlapping, {1.0, 1.0, 0.0}},
              {5.0, 7.0, stacked, {0.0, 1.0}},
              {10.3, 1.0, apart, {1.0, 0.0}},
              {20.6, 1.0, apart, {0.0, 0.0}}};
  for (const auto& row : rows) {
    const auto fits = SumByTile({At(row.x, row.z, FitKind::kUnexplained)}, row.tiles, 0.5);
    ASSERT_EQ(fits.size(), row.points.size());
    for (size_t i = 0; i < fits.size(); ++i) {
      EXPECT_EQ(fits[i].points.mismatched, row.points[i]) << row.x << " " << i;
      EXPECT_EQ(fits[i].scans, row.points[i]) << row.x << " " << i;
    }
  }
}

TEST(SumByTile, WithoutTilesOrObservationsThereIsNothing) {
  EXPECT_TRUE(SumByTile({At(1.0, 1.0, FitKind::kExplained)}, {}, 0.5).empty());
  EXPECT_EQ(SumByTile({}, {BoxOf(0.0, 1.0)}, 0.5)[0].scans, 0.0);
}

}  // namespace
}  // namespace voxloc
