// SPDX-License-Identifier: Apache-2.0
//
// Scans of a pass through a simulated town whose map is as the town is, so that the poses that they
// were aligned at are right.

#include "core/map_update/scan_motions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tests/support/aged_town.h"
#include "tests/support/engine_test.h"

namespace voxloc {
namespace {

class ScanMotionsTest : public EngineTest {
 protected:
  void SetUp() override {
    AgedTownOptions options;
    options.seed = 92;
    options.sensor = "spinning-16";
    options.size_m = 100.0;
    options.drive_s = 8.0;
    options.missing_structures = options.moved_structures = options.drift_sigma_m = 0.0;
    auto town = AgedTown::Make(engine(), profile_, options);
    ASSERT_TRUE(town.ok()) << town.status();
    ASSERT_TRUE((*town)->Drive().ok());
    for (const UpdateScan& scan : (*town)->scans()) {
      scans_.push_back({scan.points_base, scan.map_T_base});
    }
    ASSERT_GT(scans_.size(), 10U);
  }

  const Profile profile_ = PreciseProfile();
  std::vector<ScanInPass> scans_;
};

VOXLOC_INSTANTIATE_ON_ENGINES(ScanMotionsTest);

TEST_P(ScanMotionsTest, AgreeWithTheAlignedPosesWhateverTheGuess) {
  std::vector<ScanInPass> guessed = scans_;
  for (size_t i = 0; i < guessed.size(); i += 2) guessed[i].map_T_base.translation.y() += 0.3;
  for (const TiltPoints tilt_points : {TiltPoints::kAboveGround, TiltPoints::kAll}) {
    const auto motions = MeasureMotions(engine(), profile_, guessed, tilt_points);
    ASSERT_TRUE(motions.ok()) << motions.status();
    ASSERT_EQ(motions->size(), scans_.size());
    EXPECT_FALSE(motions->back().has_value());
    std::vector<double> errors;
    for (size_t i = 0; i + 1 < scans_.size(); ++i) {
      if (!(*motions)[i].has_value()) continue;
      const Pose truth = scans_[i].map_T_base.Inverse() * scans_[i + 1].map_T_base;
      errors.push_back(((*motions)[i]->translation - truth.translation).head<2>().norm());
    }
    EXPECT_GT(errors.size(), scans_.size() * 8 / 10);
    std::sort(errors.begin(), errors.end());
    EXPECT_LT(errors[errors.size() / 2], 0.02);
    EXPECT_LT(errors.back(), 0.08);
  }
}

TEST_P(ScanMotionsTest, AreNotKnownByTheGroundAlone) {
  auto ground = std::make_shared<PointCloud>();
  for (int i = 0; i < 4000; ++i) {
    ground->PushBack(0.3F * static_cast<float>(i % 80), 0.3F * static_cast<float>(i / 80), 0.0F);
  }
  const auto motions =
      MeasureMotions(engine(), profile_,
                     std::vector<ScanInPass>{{ground, Pose()}, {ground, Pose()}}, TiltPoints::kAll);
  ASSERT_TRUE(motions.ok()) << motions.status();
  EXPECT_FALSE((*motions)[0].has_value());
}

TEST_P(ScanMotionsTest, AreNotKnownBetweenScansFarApart) {
  ScanInPass far = scans_[0];
  far.map_T_base.translation.x() += 16.0;
  const std::vector<ScanInPass> two = {scans_[0], far};
  const auto motions = MeasureMotions(engine(), profile_, two, TiltPoints::kAll);
  ASSERT_TRUE(motions.ok()) << motions.status();
  EXPECT_FALSE((*motions)[0].has_value());
}

}  // namespace
}  // namespace voxloc
