// SPDX-License-Identifier: Apache-2.0
//
// SearchCandidate: a pose that a search may end with. BestCandidate: the best one so far by the
// rules of judgement. SecondAttempt: the decision between the candidates of the two attempts of a
// search.

#ifndef VOXLOC_CORE_NDT_SEARCH_CANDIDATE_H_
#define VOXLOC_CORE_NDT_SEARCH_CANDIDATE_H_

#include "core/ndt/host_device.h"
#include "core/ndt/search_rules.h"
#include "core/ndt/termination.h"

namespace voxloc::ndt {

template <typename Score>
struct SearchCandidate {
  double chart[6] = {};
  Score score;            // there, under the cells of the score stage
  int stage = -1;         // that ended there; -1: the guess
  bool repeated = false;  // that stage had been restarted at the guess
  Termination termination = Termination::kNoImprovement;
  int oscillations = 0;  // of that stage
  bool reached_iteration_limit = false;
};

template <typename Score>
class BestCandidate {
 public:
  // Begins with the guess, a pose that no stage has ended at.
  VOXLOC_HD void Begin(const double (&guess)[6], const Score& score) {
    candidate_ = SearchCandidate<Score>();
    for (int i = 0; i < 6; ++i) candidate_.chart[i] = guess[i];
    candidate_.score = score;
    highest_ = score.BestSum();
  }

  // Replaces the best by the end of a stage if the rules accept that; returns whether they do.
  VOXLOC_HD bool TryReplace(const SearchRules& rules, const SearchCandidate<Score>& offered) {
    if (rules.judgement.judged) {
      const double sum = offered.score.BestSum();
      const bool must_raise = offered.stage < rules.score_stage && !offered.repeated;
      const double least = highest_ * (1.0 - rules.judgement.allowed_loss);
      if (must_raise ? !(sum > highest_) : !(sum >= least)) return false;
      if (sum > highest_) highest_ = sum;
    }
    candidate_ = offered;
    return true;
  }

  // Sets the best whatever it scores.
  VOXLOC_HD void Replace(const SearchCandidate<Score>& candidate) { candidate_ = candidate; }

  VOXLOC_HD const SearchCandidate<Score>& candidate() const { return candidate_; }

 private:
  SearchCandidate<Score> candidate_;
  double highest_ = 0.0;  // sum of the answers so far
};

// If coarse stages have led far from the guess, a pose near the guess may explain the scan equally
// well: cells before the score stage can be larger than the distance between look-alike places,
// such as the storeys of a garage. The search then runs a second time, from the guess and from the
// score stage on, to find a pose nearby. The weight of an attempt is the sum of each point's best
// pair at the end of the last stage under its cells, even if that stage was undone: the finest
// cells discriminate look-alikes, which those of the score stage may rank wrongly by several
// percent.
template <typename Score>
class SecondAttempt {
 public:
  // With the result of the first attempt and its weight.
  VOXLOC_HD void Begin(const SearchCandidate<Score>& first, double weight) {
    begun_ = true;
    first_ = first;
    first_weight_ = weight;
  }
  VOXLOC_HD bool begun() const { return begun_; }
  VOXLOC_HD const SearchCandidate<Score>& first() const { return first_; }

  // Whether the first attempt wins against one of this weight. Weights that differ by no more than
  // the allowed loss count as equal: the second attempt, nearer to the guess, then wins.
  VOXLOC_HD bool FirstOutweighs(const SearchRules& rules, double second_weight) const {
    return first_weight_ * (1.0 - rules.judgement.allowed_loss) > second_weight;
  }

 private:
  bool begun_ = false;
  SearchCandidate<Score> first_;
  double first_weight_ = 0.0;
};

}  // namespace voxloc::ndt

#endif  // VOXLOC_CORE_NDT_SEARCH_CANDIDATE_H_
