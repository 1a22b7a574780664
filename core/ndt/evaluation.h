// SPDX-License-Identifier: Apache-2.0
//
// Evaluation: a scan at one pose, under the cells of one stage.

#ifndef VOXLOC_CORE_NDT_EVALUATION_H_
#define VOXLOC_CORE_NDT_EVALUATION_H_

#include "core/ndt/host_device.h"
#include "core/ndt/newton.h"
#include "core/ndt/regularization.h"
#include "core/ndt/search_rules.h"

namespace voxloc {
namespace ndt {

// Engines fill it without regularisation, which the search adds. Score is PoseScore, or PoseSums
// where divisions are to wait.
//
// derivatives.score is what the search maximises, in the units of the gradient and with the
// regularisation. `score` is what is reported (transform probability, NVTL); it contains the
// regularisation only where rules.score_includes_regularization asks for it.
template <typename Score>
struct Evaluation {
  Derivatives derivatives;
  Score score;
  bool finite = false;  // IsFinite(derivatives)
};

// Adds the pull of the reference position at the pose `chart` that was evaluated.
template <typename Score>
VOXLOC_HD_RARE void Regularize(const SearchRules& rules, const double (&chart)[6],
                               Evaluation<Score>& evaluation) {
  const double weight = rules.regularization_scale * static_cast<double>(evaluation.score.pairs);
  const double added = AddRegularization(rules.reference_x, rules.reference_y, chart, weight,
                                         evaluation.derivatives);
  if (rules.score_includes_regularization) evaluation.score.AddToScore(added);
}

}  // namespace ndt
}  // namespace voxloc

#endif  // VOXLOC_CORE_NDT_EVALUATION_H_
