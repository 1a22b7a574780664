// SPDX-License-Identifier: Apache-2.0
//
// The guess of a search as part of its cost (maximum a posteriori), along the directions that the
// scan does not observe.
//
// Everywhere else than on long walls and open ground, a scan knows its pose far better than the
// guess, and guesses are often worse than they claim. So the prior is taken along the weak
// directions alone, limited, and given up where the search has left it behind. With d the chart
// less that of the guess, C the covariance of d, and D the inverse of C's diagonal, the score loses
//
//   d' W d / (2 + 2 d' D d / kTail).
//
// With H the curvature of the score where the stage begins, lengths and angles made comparable (a
// radian counts as rotation_scale_m metres), n = independent_share and
// t = observed_share trace(H),
//
//   W = [(I + H / t) (n C + I / t) (I + H / t)]^-1.
//
// Along a direction whose share s of the curvature is well below observed_share, that is the
// inverse of n C, at most t. Along one well above, it is smaller by (observed_share / s)^2. The
// formula needs no eigen decomposition, and is continuous in all that enters.

#ifndef VOXLOC_CORE_NDT_GUESS_PRIOR_H_
#define VOXLOC_CORE_NDT_GUESS_PRIOR_H_

#include "core/ndt/host_device.h"
#include "core/ndt/newton.h"
#include "core/ndt/search_rules.h"

namespace voxloc::ndt {

// Twice the mean of d' D d for a true guess. With three times as much, guesses in garages of the
// choosing list that claim a tenth of their error held a search back; with less, corrections in
// distorted maps give up the prior of a tunnel.
constexpr double kTail = 12.0;

// W of a stage that begins with these derivatives. `hessian` is that of the score, which is
// maximised: H is its negative, positive semidefinite as Curvature::kReweighted has it. Zero where
// it is not, and where the scan has no curvature, which would say what it observes.
VOXLOC_HD_RARE Matrix6x6 WeightOfGuess(const GuessPrior& prior, const Matrix6x6& hessian) {
  double scale[6];  // of the chart's axes, metres
  double inverse_scale[6];
  for (int i = 0; i < 6; ++i) {
    scale[i] = i < 3 ? 1.0 : prior.rotation_scale_m;
    inverse_scale[i] = 1.0 / scale[i];
  }
  double trace = 0.0;
  for (int i = 0; i < 6; ++i) trace -= hessian.m[i][i] * inverse_scale[i] * inverse_scale[i];
  Matrix6x6 weight = {};
  const double threshold = prior.observed_share * trace;
  if (!(threshold > 0.0)) return weight;
  const double inverse_threshold = 1.0 / threshold;
  double a[6][6];  // I + H / t
  double c[6][6];  // n C + I / t
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) {
      a[i][j] = -hessian.m[i][j] * inverse_scale[i] * inverse_scale[j] * inverse_threshold;
      c[i][j] = prior.covariance[i][j] * scale[i] * scale[j] * prior.independent_share;
    }
    a[i][i] += 1.0;
    c[i][i] += inverse_threshold;
  }
  double half[6][6];
  double product[6][6];  // its lower triangle
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) {
      half[i][j] = 0.0;
      for (int k = 0; k < 6; ++k) half[i][j] += c[i][k] * a[k][j];
    }
  }
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j <= i; ++j) {
      product[i][j] = 0.0;
      for (int k = 0; k < 6; ++k) product[i][j] += a[i][k] * half[k][j];
    }
  }
  // The product is L L' (Cholesky), with the inverse of L's diagonal kept on its diagonal.
  double(&l)[6][6] = product;
  for (int j = 0; j < 6; ++j) {
    for (int k = 0; k < j; ++k) l[j][j] -= l[j][k] * l[j][k];
    if (!(l[j][j] > 0.0)) return weight;
    l[j][j] = LengthOf(l[j][j]).inverse;
    for (int i = j + 1; i < 6; ++i) {
      for (int k = 0; k < j; ++k) l[i][j] -= l[i][k] * l[j][k];
      l[i][j] *= l[j][j];
    }
  }
  // Its inverse is R' R with R = L^-1, column by column.
  double(&r)[6][6] = half;
  for (int j = 0; j < 6; ++j) {
    for (int i = j; i < 6; ++i) {
      r[i][j] = i == j ? 1.0 : 0.0;
      for (int k = j; k < i; ++k) r[i][j] -= l[i][k] * r[k][j];
      r[i][j] *= l[i][i];
    }
  }
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j <= i; ++j) {
      double sum = 0.0;
      for (int k = i; k < 6; ++k) sum += r[k][i] * r[k][j];
      weight.m[i][j] = weight.m[j][i] = sum * scale[i] * scale[j];
    }
  }
  return weight;
}

// Adds `sign` times the prior of this weight at the pose `chart`. What it adds to the Hessian is
// that of reweighted least squares, nowhere positive.
VOXLOC_HD_RARE void AddGuessPrior(const GuessPrior& prior, const Matrix6x6& weight, double sign,
                                  const double (&guess)[6], const double (&chart)[6],
                                  Derivatives& derivatives) {
  double pull[6];          // W d
  double quadratic = 0.0;  // d' W d
  double distance = 0.0;   // d' D d
  for (int i = 0; i < 6; ++i) {
    pull[i] = 0.0;
    for (int j = 0; j < 6; ++j) pull[i] += weight.m[i][j] * (chart[j] - guess[j]);
    const double d = chart[i] - guess[i];
    quadratic += pull[i] * d;
    distance += d * d * prior.inverse_variance[i];
  }
  const double share = 1.0 / (1.0 + distance * (1.0 / kTail));
  const double tail = quadratic * share * share * (1.0 / kTail);
  derivatives.score -= 0.5 * sign * share * quadratic;
  for (int i = 0; i < 6; ++i) {
    const double d = chart[i] - guess[i];
    derivatives.gradient[i] -= sign * (share * pull[i] - tail * d * prior.inverse_variance[i]);
    for (int j = 0; j < 6; ++j) derivatives.hessian.m[i][j] -= sign * share * weight.m[i][j];
  }
}

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_GUESS_PRIOR_H_
