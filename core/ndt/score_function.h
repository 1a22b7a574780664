// SPDX-License-Identifier: Apache-2.0
//
// The constants of the NDT score of one point under one cell: s = -d1 exp(-d2/2 q'Bq), the Gaussian
// that Magnusson 2009 (equations 6.8 to 6.10) fits to a mixture of a normal distribution and a
// uniform one of outliers. q is the point minus the cell's mean, B the inverse covariance.

#ifndef VOXLOC_CORE_NDT_SCORE_FUNCTION_H_
#define VOXLOC_CORE_NDT_SCORE_FUNCTION_H_

#include <cmath>

namespace voxloc::ndt {

struct ScoreConstants {
  double d1 = 0.0;  // negative; -d1 is the largest score of a pair
  double d2 = 0.0;  // positive
};

// `outlier_ratio` in (0, 1), `cell_size_m` positive.
inline ScoreConstants ComputeScoreConstants(double outlier_ratio, double cell_size_m) {
  const double c1 = 10.0 * (1.0 - outlier_ratio);
  const double c2 = outlier_ratio / (cell_size_m * cell_size_m * cell_size_m);
  const double d3 = -std::log(c2);
  ScoreConstants constants;
  constants.d1 = -std::log(c1 + c2) - d3;
  constants.d2 = -2.0 * std::log((-std::log(c1 * std::exp(-0.5) + c2) - d3) / constants.d1);
  return constants;
}

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_SCORE_FUNCTION_H_
