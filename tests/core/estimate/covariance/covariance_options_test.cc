// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/estimate/covariance/covariance_estimator.h"
#include "tests/core/tracking/refused_options.h"
#include "tests/support/random_numbers.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(CovarianceOptionsTest, AbsurdValuesAreRefusedByName) {
  std::vector<BadOption<CovarianceOptions>> rows = {
      {[](auto& o) { o.offsets_base.clear(); }, "offset poses must be from 1 to 64 (got 0)"},
      {[](auto& o) {
         o.offsets_base.resize(65, {0.1, 0.0});
       },
       "(got 65)"},
      {[](auto& o) { o.offsets_base[3].y() = kNaN; }, "offset pose 3"},
      {[](auto& o) { o.offsets_base[3].y() = kInfinity; }, "offset pose 3"},
      {[](auto& o) { o.fixed(2, 2) = 0.0; }, "the fixed covariance (2, 2) must be over 0 (got 0)"},
      {[](auto& o) { o.fixed(5, 5) = -1.0; }, "(5, 5) must be over 0 (got -1)"},
      {[](auto& o) { o.fixed(1, 4) = kNaN; }, "(1, 4) must be finite (got nan)"},
      {[](auto& o) { o.fixed(0, 0) = kInfinity; }, "(0, 0) must be finite (got inf)"},
      {[](auto& o) { o.fixed(0, 1) = 1e-6; }, "must be symmetric"},
      // Correlated by more than one; and by exactly one, without volume.
      {[](auto& o) { o.fixed(0, 1) = o.fixed(1, 0) = 0.03; }, "must be positive definite"},
      {[](auto& o) { o.fixed(0, 1) = o.fixed(1, 0) = 0.0225; }, "must be positive definite"}};
  for (const double value : {0.0, -0.05, kNaN, kInfinity}) {
    rows.push_back(
        {[=](auto& o) { o.temperature = value; }, "temperature must be finite and over 0"});
    rows.push_back(
        {[=](auto& o) { o.scale_factor = value; }, "scale_factor must be finite and over 0"});
  }
  ExpectRefused(ValidateCovarianceOptions, rows);
}

TEST(CovarianceOptionsTest, ValuesAtTheLimitsAreAllowed) {
  CovarianceOptions options;
  options.offsets_base.assign(kMaxCovarianceOffsets, {0.1, 0.0});
  EXPECT_TRUE(ValidateCovarianceOptions(options).ok());
  options.offsets_base.assign(1, {0.1, 0.0});
  options.temperature = 1e-6;
  options.scale_factor = 1e6;
  // Nearly fully correlated, and of units far apart.
  options.fixed(0, 0) = 1e8;
  options.fixed(5, 5) = 1e-12;
  options.fixed(0, 5) = options.fixed(5, 0) = 0.999 * std::sqrt(1e8 * 1e-12);
  EXPECT_TRUE(ValidateCovarianceOptions(options).ok()) << ValidateCovarianceOptions(options);
}

TEST(CovarianceOptionsTest, OnlyMatricesWithPositiveEigenvaluesAreDefinite) {
  RandomNumbers random(71);
  for (int trial = 0; trial < 100; ++trial) {
    Eigen::Matrix<double, 6, 1> values;
    for (double& value : values) value = random.Uniform(0.1, 10.0);
    const bool definite = trial % 2 == 0;
    if (!definite) values[random.Index(6)] *= -1.0;
    const Matrix6 axes = random.Orthogonal<6>();
    Matrix6 matrix = axes * values.asDiagonal() * axes.transpose();
    matrix = (0.5 * (matrix + matrix.transpose())).eval();
    const absl::Status status = CheckPositiveDefinite(matrix, "prior");
    EXPECT_EQ(status.ok(), definite) << values.transpose();
    if (!definite) {
      EXPECT_THAT(std::string(status.message()), HasSubstr("prior"));
    }
  }
}

}  // namespace
}  // namespace voxloc
