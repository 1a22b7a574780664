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
// With H the curvature of the score where the stage begins, M the diagonal matrix that makes
// lengths and angles comparable (1, and 1 / rotation_scale_m^2 for angles), n = independent_share
// and t = observed_share trace(H M),
//
//   W = [(I + M H / t) (n C + M / t) (I + H M / t)]^-1.
//
// Along a direction whose share s of the curvature is well below observed_share, that is the
// inverse of n C, at most t. Along one well above, it is smaller by (observed_share / s)^2. The
// formula needs no eigen decomposition, and is continuous in all that enters.

#ifndef VOXLOC_CORE_NDT_GUESS_PRIOR_H_
#define VOXLOC_CORE_NDT_GUESS_PRIOR_H_

#include "core/ndt/host_device.h"
#include "core/ndt/lanes.h"
#include "core/ndt/newton.h"
#include "core/ndt/search_rules.h"

namespace voxloc::ndt {

// Twice the mean of d' D d for a true guess. With three times as much, guesses in garages of the
// choosing list that claim a tenth of their error held a search back; with less, corrections in
// distorted maps give up the prior of a tunnel.
constexpr double kTail = 12.0;

// W of a stage that begins with these derivatives, a column a lane. `hessian` is that of the score,
// which is maximised: H is its negative, positive semidefinite as Curvature::kReweighted has it.
// Zero where it is not, and where the scan has no curvature, which would say what it observes.
template <typename Lanes>
VOXLOC_HD_RARE void WeighGuess(const GuessPrior& prior, const Matrix6x6& hessian, Lanes lanes,
                               Matrix6x6& weight) {
  const double angle = Reciprocal(prior.rotation_scale_m * prior.rotation_scale_m);
  double trace = 0.0;
  for (int i = 0; i < 6; ++i) trace -= (i < 3 ? 1.0 : angle) * hessian.m[i][i];
  const double threshold = prior.observed_share * trace;
  const double length_share = threshold > 0.0 ? Reciprocal(threshold) : 0.0;  // of M / t
  const double angle_share = length_share * angle;
  for (int j = lanes.index; j < 6; j += Lanes::kCount) {
    double column[6];  // of I + H M / t
    for (int i = 0; i < 6; ++i) {
      column[i] = (i == j ? 1.0 : 0.0) - (j < 3 ? length_share : angle_share) * hessian.m[i][j];
    }
    double product[6];  // with n C + M / t
    for (int i = 0; i < 6; ++i) {
      double sum = 0.0;
      for (int k = 0; k < 6; ++k) sum += prior.covariance[i][k] * column[k];
      product[i] = prior.independent_share * sum + (i < 3 ? length_share : angle_share) * column[i];
    }
    for (int i = 0; i < 6; ++i) {
      double sum = 0.0;
      for (int k = 0; k < 6; ++k) sum += hessian.m[i][k] * product[k];
      weight.m[i][j] = product[i] - (i < 3 ? length_share : angle_share) * sum;
    }
  }
  lanes.Sync();
  constexpr int kColumns = (6 + Lanes::kCount - 1) / Lanes::kCount;  // of a lane
  double inverse[kColumns][6];
  for (int c = 0; c < kColumns; ++c) {
    double minus_unit[6];
    for (int i = 0; i < 6; ++i) minus_unit[i] = i == lanes.index + c * Lanes::kCount ? -1.0 : 0.0;
    if (!(threshold > 0.0) ||
        !SolveByFactorization<Definite::kPositive>(weight, minus_unit, inverse[c])) {
      for (double& entry : inverse[c]) entry = 0.0;
    }
  }
  lanes.Sync();
  for (int c = 0; c < kColumns; ++c) {
    const int j = lanes.index + c * Lanes::kCount;
    for (int i = 0; i < 6; ++i) {
      if (i >= j) weight.m[i][j] = weight.m[j][i] = inverse[c][i];
    }
  }
  lanes.Sync();
}

// What the prior adds to the derivatives at one pose: score, gradient, and this much of -W to the
// Hessian. That is reweighted least squares: nowhere positive.
struct GuessPull {
  double score;
  double gradient[6];
  double share;
};

template <typename Lanes>
VOXLOC_HD_RARE void PullToGuess(const GuessPrior& prior, const Matrix6x6& weight,
                                const double (&guess)[6], const double (&chart)[6], Lanes lanes,
                                GuessPull& pull) {
  for (int i = lanes.index; i < 6; i += Lanes::kCount) {
    double sum = 0.0;  // W d
    for (int j = 0; j < 6; ++j) sum += weight.m[i][j] * (chart[j] - guess[j]);
    pull.gradient[i] = sum;
  }
  lanes.Sync();
  if (lanes.index == 0) {
    double quadratic = 0.0;  // d' W d
    double distance = 0.0;   // d' D d
    for (int i = 0; i < 6; ++i) {
      const double d = chart[i] - guess[i];
      quadratic += pull.gradient[i] * d;
      distance += d * d * prior.inverse_variance[i];
    }
    const double share = 1.0 / (1.0 + distance * (1.0 / kTail));
    const double tail = quadratic * share * share * (1.0 / kTail);
    pull.score = -0.5 * share * quadratic;
    pull.share = share;
    for (int i = 0; i < 6; ++i) {
      const double d = chart[i] - guess[i];
      pull.gradient[i] = tail * d * prior.inverse_variance[i] - share * pull.gradient[i];
    }
  }
  lanes.Sync();
}

// Adds `sign` times the pull.
template <typename Lanes>
VOXLOC_HD void AddPull(const GuessPull& pull, const Matrix6x6& weight, double sign, Lanes lanes,
                       Derivatives& derivatives) {
  for (int entry = lanes.index; entry < 36; entry += Lanes::kCount) {
    derivatives.hessian.m[entry / 6][entry % 6] -=
        sign * pull.share * weight.m[entry / 6][entry % 6];
  }
  for (int i = lanes.index; i < 6; i += Lanes::kCount) {
    derivatives.gradient[i] += sign * pull.gradient[i];
  }
  if (lanes.index == 0) derivatives.score += sign * pull.score;
}

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_GUESS_PRIOR_H_
