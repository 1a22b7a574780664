// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/recovery.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "core/text/number_range.h"

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

absl::Status ValidateRecoveryOptions(const RecoveryOptions& options) {
  VOXLOC_TRY(CheckRanges(
      {{"lost_after_scans", options.lost_after_scans, AtLeast(1)},
       {"initial_radius_m", options.initial_radius_m, Over(0.0)},
       {"radius_growth", options.radius_growth, Over(1.0)},
       {"candidates", options.candidates, FromTo(1, kMaxRecoveryCandidates)},
       {"all_around_share", options.all_around_share, FromTo(0.0, 1.0)},
       {"heading_spread_rad", options.heading_spread_rad, FromTo(0.0, M_PI)},
       {"min_matched_ratio", options.min_matched_ratio, FromTo(0.0, 1.0)},
       {"min_confidence", options.min_confidence, FromTo(0.0, 1.0)},
       {"same.distance_m", options.same.distance_m, Over(0.0)},
       {"same.angle_rad", options.same.angle_rad, Over(0.0)},
       {"min_confirmation_travel_m", options.min_confirmation_travel_m, AtLeast(0.0)}}));
  VOXLOC_TRY(ValidateSequentialTestOptions(options.confirmation));
  VOXLOC_TRY(ValidateHypothesisOptions(options.hypotheses));
  if (options.max_radius_m >= options.initial_radius_m && std::isfinite(options.max_radius_m)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("max_radius_m must be finite and at least initial_radius_m, ",
                   options.initial_radius_m, " (got ", options.max_radius_m, ")"));
}

void RecoveryPolicy::Found(const Pose& map_T_base, const std::optional<Pose>& odometry_T_base) {
  Reset();
  good_ = {map_T_base, odometry_T_base};
}

void RecoveryPolicy::Reset() {
  missed_ = 0;
  searches_ = 0;
  good_.reset();
}

std::optional<Pose> RecoveryPolicy::Expected(const std::optional<Pose>& odometry_T_base) const {
  if (!good_) return std::nullopt;
  return good_->At(odometry_T_base);
}

std::optional<RecoverySearch> RecoveryPolicy::NextSearch(
    const std::optional<Pose>& odometry_T_base) {
  const std::optional<Pose> expected = Expected(odometry_T_base);
  if (!lost() || !expected) return std::nullopt;
  const double grown = std::pow(options_.radius_growth, static_cast<double>(searches_));
  RecoverySearch search;
  search.map_T_base = *expected;
  search.radius_m = std::min(options_.initial_radius_m * grown, options_.max_radius_m);
  search.number = searches_++;
  return search;
}

void RecoveryPolicy::UndoSearch() {
  // The vehicle may have been found since, and no search be counted any more.
  if (searches_ > 0) --searches_;
}

}  // namespace voxloc
