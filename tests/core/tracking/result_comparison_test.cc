// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "core/tracking/recovery.h"

namespace voxloc {
namespace {

AlignResult Result(double nvtl, size_t matched_points, double x = 0.0) {
  AlignResult result;
  result.after.points = 1000;
  result.after.matched_points = matched_points;
  result.after.nearest_voxel_likelihood = nvtl;
  result.map_T_base.translation.x() = x;
  return result;
}

TEST(TwoGuessesTest, AnAcceptedResultIsBetterThanAnyOther) {
  const Profile profile = AutowareProfile();  // threshold 2.3
  const AlignResult accepted = Result(2.4, 500);
  const AlignResult low = Result(2.2, 1000);
  AlignResult limited = Result(4.0, 1000);
  limited.termination = Termination::kMaxIterations;
  limited.reached_iteration_limit = true;
  AlignResult failed = Result(4.0, 1000);
  failed.status = absl::InternalError("none");
  const AlignResult order[] = {accepted, low, limited, failed};
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < 4; ++j) {
      EXPECT_EQ(IsBetter(order[i], order[j], profile), i < j) << i << " " << j;
    }
  }
  limited.oscillations = 11;  // around an optimum
  EXPECT_TRUE(IsBetter(limited, accepted, profile));
  EXPECT_FALSE(IsBetter(limited, accepted, profile, 11));
}

TEST(TwoGuessesTest, OfTwoAcceptedOnesThePointsSumDecides) {
  const Profile profile = AutowareProfile();
  // Few points that fit well say less than many that fit.
  EXPECT_TRUE(IsBetter(Result(3.0, 900), Result(4.0, 300), profile));
  EXPECT_FALSE(IsBetter(Result(4.0, 300), Result(3.0, 900), profile));
  EXPECT_FALSE(IsBetter(Result(3.0, 900), Result(3.0, 900), profile));
}

TEST(TwoGuessesTest, AResultConfirmsAnotherWhereItIsAcceptedAtTheSamePose) {
  const Profile profile = AutowareProfile();
  const PoseTolerance same;
  const AlignResult best = Result(3.0, 900);
  EXPECT_TRUE(AgreesWith(best, best, profile, same));
  EXPECT_TRUE(AgreesWith(Result(2.5, 900, 0.4), best, profile, same));
  EXPECT_FALSE(AgreesWith(Result(2.5, 900, 0.6), best, profile, same));
  EXPECT_FALSE(AgreesWith(Result(2.2, 900), best, profile, same));
  AlignResult turned = best;
  turned.map_T_base.rotation = Eigen::AngleAxisd(0.1, Eigen::Vector3d::UnitZ());
  EXPECT_FALSE(AgreesWith(turned, best, profile, same));
  AlignResult failed = best;
  failed.status = absl::InternalError("none");
  EXPECT_FALSE(AgreesWith(failed, best, profile, same));
}

}  // namespace
}  // namespace voxloc
