// SPDX-License-Identifier: Apache-2.0
//
// SecondAttempt: when a judged search begins once more at its guess, and which of two answers
// stays.
//
// Where soft stages have led far from the guess, there may be a place near it that explains the
// scan as well: the cells before the score stage can be larger than the distance between
// look-alikes such as the storeys of a garage. The search then runs a second time, from the guess
// and entered at the score stage, which finds what lies near. The answers are weighed by the sum of
// each point's best pair where the last stage ended, under its cells, also where that stage was
// undone: the sharpest cells tell look-alikes apart, which those of the score stage may rank
// wrongly by several percent.

#ifndef VOXLOC_CORE_NDT_SECOND_ATTEMPT_H_
#define VOXLOC_CORE_NDT_SECOND_ATTEMPT_H_

#include "core/ndt/host_device.h"
#include "core/ndt/search_answer.h"
#include "core/ndt/search_rules.h"

namespace voxloc {
namespace ndt {

template <typename Score>
class SecondAttempt {
 public:
  // With the answer of the first attempt and its weight.
  VOXLOC_HD void Begin(const SearchAnswer<Score>& first, double weight) {
    begun_ = true;
    first_ = first;
    first_weight_ = weight;
  }
  VOXLOC_HD bool begun() const { return begun_; }
  VOXLOC_HD const SearchAnswer<Score>& first() const { return first_; }

  // Whether the first answer stays beside one of this weight. Weights that differ by no more than
  // the allowed loss are taken for equal, and the second answer is then nearer to what is known.
  VOXLOC_HD bool FirstOutweighs(const SearchRules& rules, double second_weight) const {
    return first_weight_ * (1.0 - rules.judgement.allowed_loss) > second_weight;
  }

 private:
  bool begun_ = false;
  SearchAnswer<Score> first_;
  double first_weight_ = 0.0;
};

}  // namespace ndt
}  // namespace voxloc

#endif  // VOXLOC_CORE_NDT_SECOND_ATTEMPT_H_
