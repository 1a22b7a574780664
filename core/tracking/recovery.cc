// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/recovery.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace voxloc {
namespace {

absl::Status CheckWithin(absl::string_view field, double value, double low, double high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " must be from ", low, " to ", high, " (got ", value, ")"));
}

}  // namespace

absl::Status ValidateRecoveryOptions(const RecoveryOptions& options) {
  if (options.lost_after_scans < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("lost_after_scans must be at least 1 (got ", options.lost_after_scans, ")"));
  }
  if (!(options.initial_radius_m > 0.0 && std::isfinite(options.initial_radius_m))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "initial_radius_m must be finite and over 0 (got ", options.initial_radius_m, ")"));
  }
  if (!(options.max_radius_m >= options.initial_radius_m && std::isfinite(options.max_radius_m))) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_radius_m must be finite and at least initial_radius_m, ",
                     options.initial_radius_m, " (got ", options.max_radius_m, ")"));
  }
  if (!(options.radius_growth > 1.0 && std::isfinite(options.radius_growth))) {
    return absl::InvalidArgumentError(
        absl::StrCat("radius_growth must be finite and over 1 (got ", options.radius_growth, ")"));
  }
  if (options.candidates < 1 || options.candidates > kMaxRecoveryCandidates) {
    return absl::InvalidArgumentError(absl::StrCat("candidates must be from 1 to ",
                                                   kMaxRecoveryCandidates, " (got ",
                                                   options.candidates, ")"));
  }
  const struct {
    absl::string_view field;
    double value;
    double high;
  } ranges[] = {
      {"all_around_share", options.all_around_share, 1.0},
      {"heading_spread_rad", options.heading_spread_rad, M_PI},
      {"min_matched_ratio", options.min_matched_ratio, 1.0},
      {"min_confidence", options.min_confidence, 1.0},
  };
  for (const auto& range : ranges) {
    if (absl::Status status = CheckWithin(range.field, range.value, 0.0, range.high);
        !status.ok()) {
      return status;
    }
  }
  if (!(options.same.distance_m > 0.0 && std::isfinite(options.same.distance_m))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "same.distance_m must be finite and over 0 (got ", options.same.distance_m, ")"));
  }
  if (!(options.same.angle_rad > 0.0 && std::isfinite(options.same.angle_rad))) {
    return absl::InvalidArgumentError(absl::StrCat("same.angle_rad must be finite and over 0 (got ",
                                                   options.same.angle_rad, ")"));
  }
  if (!(options.min_confirmation_travel_m >= 0.0 &&
        std::isfinite(options.min_confirmation_travel_m))) {
    return absl::InvalidArgumentError(
        absl::StrCat("min_confirmation_travel_m must be finite and at least 0 (got ",
                     options.min_confirmation_travel_m, ")"));
  }
  if (absl::Status status = ValidateSequentialTestOptions(options.confirmation); !status.ok()) {
    return status;
  }
  return ValidateHypothesisOptions(options.hypotheses);
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

void RecoveryPolicy::NotSearched() {
  // The vehicle may have been found since, and no search be counted any more.
  if (searches_ > 0) --searches_;
}

}  // namespace voxloc
