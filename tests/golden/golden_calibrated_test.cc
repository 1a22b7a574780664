// SPDX-License-Identifier: Apache-2.0
//
// Calibrated covariances on every golden set, the degenerate one included.

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <string>

#include "core/estimate/covariance/calibrated_covariance.h"
#include "tests/golden/golden_fixture.h"

namespace voxloc::golden {
namespace {

class GoldenCalibratedTest : public GoldenTest {};
VOXLOC_INSTANTIATE_ON_ENGINES(GoldenCalibratedTest);

TEST_P(GoldenCalibratedTest, IsPositiveDefiniteOnGoldenSets) {
  ForEachGoldenSet([](const LoadedSet& loaded) {
    const AlignJob job = loaded.MakeJob(Pose());
    const AlignResult result = loaded.engine->Align({&job, 1})[0];
    ASSERT_TRUE(result.status.ok()) << result.status;
    const CalibrationRequest request = {{&job, &result}};
    const CalibratedCovariance calibrated = CalibrateCovariances(*loaded.engine, {&request, 1})[0];
    ASSERT_TRUE(calibrated.status.ok()) << calibrated.status;
    EXPECT_TRUE(calibrated.information.allFinite());
    EXPECT_EQ(calibrated.covariance, Matrix6(calibrated.covariance.transpose()));
    EXPECT_EQ(Eigen::LLT<Matrix6>(calibrated.covariance).info(), Eigen::Success)
        << calibrated.covariance;
  });
}

}  // namespace
}  // namespace voxloc::golden
