// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/result_comparison.h"

namespace voxloc {
namespace {

int Rank(const AlignResult& result, const Profile& profile, int max_oscillations) {
  if (!result.status.ok()) return 0;
  switch (JudgeInDetail(result, profile, max_oscillations).acceptance) {
    case Acceptance::kNotConverged:
      return 1;
    case Acceptance::kLowScore:
      return 2;
    case Acceptance::kAccepted:
      return 3;
  }
  return 0;
}

}  // namespace

bool IsBetter(const AlignResult& one, const AlignResult& other, const Profile& profile,
              int max_oscillations) {
  const int rank = Rank(one, profile, max_oscillations);
  const int other_rank = Rank(other, profile, max_oscillations);
  if (rank != other_rank) return rank > other_rank;
  return one.after.BestSum() > other.after.BestSum();
}

bool AgreesWith(const AlignResult& other, const AlignResult& best, const Profile& profile,
                const PoseTolerance& same, int max_oscillations) {
  return other.status.ok() &&
         JudgeInDetail(other, profile, max_oscillations).acceptance == Acceptance::kAccepted &&
         same.Matches(other.map_T_base, best.map_T_base);
}

}  // namespace voxloc
