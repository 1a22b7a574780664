// SPDX-License-Identifier: Apache-2.0
//
// Evaluation: score and derivatives of a scan at one pose, under the cells of one stage, and the
// regularisation by a reference position.

#ifndef VOXLOC_CORE_NDT_EVALUATION_H_
#define VOXLOC_CORE_NDT_EVALUATION_H_

#include <cmath>

#include "core/ndt/host_device.h"
#include "core/ndt/newton.h"
#include "core/ndt/search_rules.h"

namespace voxloc::ndt {

// Engines fill it without prior and regularisation, which the search adds. Score is PoseScore, or
// PoseSums to defer the divisions.
//
// derivatives.score is what the search maximises, in the units of the gradient, with the prior and
// the regularisation. `score` is what is reported (transform probability, NVTL); it contains the
// regularisation only where rules.score_includes_regularization asks for it.
template <typename Score>
struct Evaluation {
  Derivatives derivatives;
  Score score;
  bool finite = false;  // IsFinite(derivatives)
};

// A pull towards a reference position along the vehicle's heading (GNSS regularisation): with
// L = (t - p) . (cos yaw, sin yaw) the score gains -lambda M L^2, M being the number of point-cell
// pairs and yaw the chart's third angle. Derivatives by z and the angles are unaffected.
//
// `weight` is lambda M. Adds to score, gradient and Hessian; returns what it added to the score.
VOXLOC_HD double AddRegularization(double reference_x, double reference_y, const double (&chart)[6],
                                   double weight, Derivatives& derivatives) {
  const double c = std::cos(chart[5]);
  const double s = std::sin(chart[5]);
  const double along = (reference_x - chart[0]) * c + (reference_y - chart[1]) * s;
  const double score = -weight * along * along;
  derivatives.score += score;
  derivatives.gradient[0] += 2.0 * weight * c * along;
  derivatives.gradient[1] += 2.0 * weight * s * along;
  derivatives.hessian.m[0][0] -= 2.0 * weight * c * c;
  derivatives.hessian.m[0][1] -= 2.0 * weight * c * s;
  derivatives.hessian.m[1][0] -= 2.0 * weight * c * s;
  derivatives.hessian.m[1][1] -= 2.0 * weight * s * s;
  return score;
}

// Adds the pull of the reference position at the pose `chart` that was evaluated.
template <typename Score>
VOXLOC_HD_RARE void Regularize(const SearchRules& rules, const double (&chart)[6],
                               Evaluation<Score>& evaluation) {
  const double weight = rules.regularization_scale * static_cast<double>(evaluation.score.pairs);
  const double added = AddRegularization(rules.reference_x, rules.reference_y, chart, weight,
                                         evaluation.derivatives);
  if (rules.score_includes_regularization) evaluation.score.AddToScore(added);
}

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_EVALUATION_H_
