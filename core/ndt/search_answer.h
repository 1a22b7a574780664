// SPDX-License-Identifier: Apache-2.0
//
// SearchAnswer: a pose that a search may end with; BestAnswer: the best one so far, by the rules of
// judgement; SecondAttempt: when a judged search begins once more at its guess, and which of two
// answers stays.

#ifndef VOXLOC_CORE_NDT_SEARCH_ANSWER_H_
#define VOXLOC_CORE_NDT_SEARCH_ANSWER_H_

#include "core/ndt/host_device.h"
#include "core/ndt/search_rules.h"
#include "core/ndt/termination.h"

namespace voxloc::ndt {

template <typename Score>
struct SearchAnswer {
  double chart[6] = {};
  Score score;            // there, under the cells of the score stage
  int stage = -1;         // that ended there; -1: none, it is the guess
  bool repeated = false;  // that stage had begun at the guess again
  Termination termination = Termination::kNoImprovement;
  int oscillations = 0;  // of that stage
  bool reached_iteration_limit = false;
};

template <typename Score>
class BestAnswer {
 public:
  // Begins with the guess, a pose that no stage has ended at.
  VOXLOC_HD void Begin(const double (&guess)[6], const Score& score) {
    answer_ = SearchAnswer<Score>();
    for (int i = 0; i < 6; ++i) answer_.chart[i] = guess[i];
    answer_.score = score;
    highest_ = score.BestSum();
  }

  // Takes the pose where a stage has ended, or leaves it.
  VOXLOC_HD bool Offer(const SearchRules& rules, const SearchAnswer<Score>& offered) {
    if (rules.judgement.judged) {
      const double sum = offered.score.BestSum();
      const bool must_raise = offered.stage < rules.score_stage && !offered.repeated;
      const double least = highest_ * (1.0 - rules.judgement.allowed_loss);
      if (must_raise ? !(sum > highest_) : !(sum >= least)) return false;
      if (sum > highest_) highest_ = sum;
    }
    answer_ = offered;
    return true;
  }

  // Takes an answer whatever it scores.
  VOXLOC_HD void Keep(const SearchAnswer<Score>& answer) { answer_ = answer; }

  VOXLOC_HD const SearchAnswer<Score>& answer() const { return answer_; }

 private:
  SearchAnswer<Score> answer_;
  double highest_ = 0.0;  // sum of the answers so far
};

// Where soft stages have led far from the guess, there may be a place near it that explains the
// scan as well: the cells before the score stage can be larger than the distance between
// look-alikes such as the storeys of a garage. The search then runs a second time, from the guess
// and entered at the score stage, which finds what lies near. The answers are weighed by the sum of
// each point's best pair where the last stage ended, under its cells, also where that stage was
// undone: the sharpest cells tell look-alikes apart, which those of the score stage may rank
// wrongly by several percent.
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

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_SEARCH_ANSWER_H_
