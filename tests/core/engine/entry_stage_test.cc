// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>

#include "core/cloud/point_cloud.h"
#include "core/engine/search_rules.h"
#include "tests/support/diagonal_covariance.h"
#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

// By drawing guesses and moving points with them.
TEST(EntryStageTest, TheDisplacementBoundsWhatGuessesDrawnFromTheCovarianceDo) {
  RandomNumbers random(11);
  PointCloud scan;
  for (int i = 0; i < 200; ++i) {
    const Eigen::Vector3d p = random.InBox(20.0);
    scan.PushBack(static_cast<float>(p.x()), static_cast<float>(p.y()), static_cast<float>(p.z()));
  }
  const double scale_m = RootMeanSquareRange(scan);
  for (const auto& [sigma_m, sigma_rad] : {std::pair(0.5, 0.0), std::pair(0.1, 0.03)}) {
    double squares = 0.0;
    int count = 0;
    for (int draw = 0; draw < 500; ++draw) {
      const Eigen::Vector3d shift = sigma_m * random.NormalVector();
      const Eigen::Vector3d turn = sigma_rad * random.NormalVector();
      for (size_t i = 0; i < scan.size(); i += 10) {
        squares += (shift + turn.cross(scan.Point(i))).squaredNorm();
        ++count;
      }
    }
    const double drawn_m = std::sqrt(squares / count);
    const double bound_m = GuessDisplacement(DiagonalCovariance(sigma_m, sigma_rad), scale_m);
    EXPECT_GE(bound_m, 0.95 * drawn_m);
    EXPECT_LE(bound_m, 1.4 * drawn_m);
  }
}

TEST(EntryStageTest, TheBetterTheGuessTheSmallerTheFirstCells) {
  const Profile profile = PreciseProfile();
  EXPECT_EQ(EntryStage(profile, std::nullopt, 30.0), 0u);
  EXPECT_EQ(EntryStage(profile, DiagonalCovariance(2.0, 0.1), 30.0), 0u);
  EXPECT_EQ(EntryStage(profile, DiagonalCovariance(0.4, 0.01), 30.0), 1u);
  EXPECT_EQ(EntryStage(profile, DiagonalCovariance(0.05, 0.003), 30.0), 2u);
  // Never after the score stage.
  EXPECT_EQ(EntryStage(profile, DiagonalCovariance(0.0, 0.0), 30.0), 2u);
}

TEST(EntryStageTest, CellsLargerThanWhatTheScanSeesAreLeftOut) {
  const Profile profile = PreciseProfile();
  EXPECT_EQ(EntryStage(profile, std::nullopt, 4.1), 0u);
  EXPECT_EQ(EntryStage(profile, std::nullopt, 3.9), 1u);
  EXPECT_EQ(EntryStage(profile, std::nullopt, 1.5), 2u);
}

TEST(EntryStageTest, AProfileThatIsNotJudgedBeginsWithItsFirstStage) {
  Profile profile = PreciseProfile();
  profile.judged = false;
  EXPECT_EQ(EntryStage(profile, DiagonalCovariance(0.0, 0.0), 1.0), 0u);
  EXPECT_EQ(EntryStage(AutowareProfile(), DiagonalCovariance(0.0, 0.0), 1.0), 0u);
}

}  // namespace
}  // namespace voxloc
