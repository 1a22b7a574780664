// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/recovery.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/estimate/initial_pose/prior_search.h"
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

// Why the client's own result is a rival of the proposal; empty: it is not.
std::string RivalOf(const AlignResult& result, const AlignResult& own,
                    const HypothesisOptions& options) {
  const double distance_m = TranslationDistance(own.map_T_base, result.map_T_base);
  const bool distinct =
      distance_m >= options.min_separation_m ||
      RotationDistance(own.map_T_base, result.map_T_base) >= options.min_separation_rad;
  if (!own.status.ok() || own.after.matched_points == 0 || !distinct) return "";
  const double nvtl = result.after.nearest_voxel_likelihood;
  const double own_nvtl = own.after.nearest_voxel_likelihood;
  if (nvtl - own_nvtl >= options.ambiguity_gap * nvtl) return "";
  return absl::StrCat("the guess leads to a pose ", distance_m, " m away, whose nvtl is ", own_nvtl,
                      "; that of the expected pose is ", nvtl);
}

// Why the best candidate is not proposed; empty: it is.
std::string SearchRejectReason(const RecoveryReport& report, const AlignResult& best,
                               const Profile& profile, const RecoveryOptions& options) {
  std::string reason = RejectReason(best, report.confidence, profile, options);
  if (reason.empty() && report.ranked.ambiguous) {
    reason = absl::StrCat("the two best hypotheses are ambiguous: their gap is ",
                          report.ranked.ambiguity_gap, "; it must be at least ",
                          options.hypotheses.ambiguity_gap);
  }
  return reason;
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

std::string RejectReason(const AlignResult& result, std::optional<double> confidence,
                         const Profile& profile, const RecoveryOptions& options) {
  const Judgement judgement = JudgeInDetail(result, profile);
  if (judgement.acceptance == Acceptance::kNotConverged) {
    return absl::StrCat("the alignment did not converge: ", ToString(result.termination));
  }
  if (judgement.acceptance == Acceptance::kLowScore) {
    return absl::StrCat("the alignment's score is ", judgement.score, "; it must be over ",
                        profile.acceptance_threshold);
  }
  if (result.after.matched_ratio() < options.min_matched_ratio) {
    return absl::StrCat("the alignment's matched ratio is ", result.after.matched_ratio(),
                        "; it must be at least ", options.min_matched_ratio);
  }
  if (confidence && *confidence < options.min_confidence) {
    return absl::StrCat("the alignment's confidence is ", *confidence, "; it must be at least ",
                        options.min_confidence);
  }
  return "";
}

ProposalCheck CheckProposal(Engine& engine, const AlignJob& job, const Pose& expected_map_T_base,
                            const AlignResult* own, const RecoveryOptions& options,
                            const ConfidenceFunction& confidence) {
  AlignJob expected = WithGuess(job, expected_map_T_base);
  expected.work_class = WorkClass::kSearching;
  expected.with_trace = false;
  ProposalCheck check;
  check.result = std::move(engine.Align({&expected, 1}).front());
  const AlignResult& result = check.result;
  if (!result.status.ok()) {
    check.detail = result.status.ToString();
    return check;
  }
  if (!options.same.Matches(result.map_T_base, expected_map_T_base)) {
    check.detail = absl::StrCat("the alignment ends ",
                                TranslationDistance(result.map_T_base, expected_map_T_base),
                                " m and ", RotationDistance(result.map_T_base, expected_map_T_base),
                                " rad from the expected pose; allowed are ",
                                options.same.distance_m, " m and ", options.same.angle_rad, " rad");
    return check;
  }
  check.detail = RejectReason(result, std::nullopt, job.profile, options);
  if (check.agrees() && own != nullptr) check.detail = RivalOf(result, *own, options.hypotheses);
  if (check.agrees() && confidence) {
    check.confidence = confidence({&expected, &result});
    check.detail = RejectReason(result, check.confidence, job.profile, options);
  }
  return check;
}

std::vector<Pose> MakeRecoveryCandidates(const RecoverySearch& search,
                                         const RecoveryOptions& options) {
  // Along a spiral of the golden angle, equal areas of the disc get equally many points.
  const double golden_angle = M_PI * (3.0 - std::sqrt(5.0));
  RandomDraws random(search.number);
  const double phase = 2.0 * M_PI * random.Uniform(0.0, 1.0);
  std::vector<Pose> poses;
  poses.reserve(options.candidates);
  poses.push_back(search.map_T_base);
  for (size_t i = 1; i < options.candidates; ++i) {
    const auto index = static_cast<double>(i);
    const double share = index / static_cast<double>(options.candidates - 1);
    const double angle = phase + index * golden_angle;
    const double reach_m = search.radius_m * std::sqrt(share);
    // Those with any heading are spread evenly over all candidates.
    const bool any_heading = std::floor((index + 1.0) * options.all_around_share) >
                             std::floor(index * options.all_around_share);
    const double spread = any_heading ? M_PI : options.heading_spread_rad;
    const Eigen::Quaterniond turn(Eigen::AngleAxisd(spread * (2.0 * random.Uniform(0.0, 1.0) - 1.0),
                                                    Eigen::Vector3d::UnitZ()));
    Pose pose = {search.map_T_base.translation, (turn * search.map_T_base.rotation).normalized()};
    pose.translation.x() += reach_m * std::cos(angle);
    pose.translation.y() += reach_m * std::sin(angle);
    poses.push_back(pose);
  }
  return poses;
}

RecoveryReport SearchForVehicle(Engine& engine, const AlignJob& job, const RecoverySearch& search,
                                const RecoveryOptions& options,
                                const ConfidenceFunction& confidence) {
  RecoveryReport report;
  report.radius_m = search.radius_m;
  AlignJob searching = job;
  searching.work_class = WorkClass::kSearching;
  const std::vector<AlignResult> results =
      engine.Align(JobsFrom(searching, MakeRecoveryCandidates(search, options)));
  report.candidates = results.size();
  report.ranked = RankHypotheses(results, options.hypotheses);
  if (report.ranked.hypotheses.empty()) {
    const absl::Status& status = results.front().status;
    report.detail = status.ok() ? "no candidate has a map cell near it" : status.ToString();
    return report;
  }
  AlignResult best = report.ranked.hypotheses.front().result;
  report.detail = SearchRejectReason(report, best, job.profile, options);
  if (!report.detail.empty()) return report;

  if (confidence) {
    // Once more from where it ended, for what the confidence is computed from.
    const AlignJob again = WithGuess(searching, best.map_T_base);
    best = std::move(engine.Align({&again, 1}).front());
    if (!best.status.ok()) {
      report.detail = best.status.ToString();
      return report;
    }
    report.confidence = confidence({&again, &best});
    report.detail = SearchRejectReason(report, best, job.profile, options);
    if (!report.detail.empty()) return report;
  }
  report.proposal = std::move(best);
  return report;
}

}  // namespace voxloc
