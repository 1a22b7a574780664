// SPDX-License-Identifier: Apache-2.0
//
// Options on the wire, checked value by value, and profiles. Thread-safe: no shared state.
//
// Errors: InvalidArgument names the field, its value and what is allowed.

#ifndef VOXLOC_SERVER_CONVERT_OPTIONS_H_
#define VOXLOC_SERVER_CONVERT_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/engine/profile.h"
#include "core/tracking/recovery.h"
#include "core/tracking/scan_history.h"
#include "server/config/config.h"
#include "server/convert/scan_recipe.h"
#include "voxloc/v1/options.pb.h"
#include "voxloc/v1/scan.pb.h"
#include "voxloc/v1/session.pb.h"

namespace voxloc::server {

// In the order of the contract.
inline constexpr CovarianceMethod kCovarianceMethods[] = {
    CovarianceMethod::kFixed, CovarianceMethod::kLaplace, CovarianceMethod::kMultiNdt,
    CovarianceMethod::kMultiNdtScore, CovarianceMethod::kCalibrated};

[[nodiscard]] absl::StatusOr<AlignOptions> AlignOptionsFromProto(
    const v1::AlignmentOptions& options, const Config& config);

[[nodiscard]] absl::StatusOr<ScanFilters> ScanFiltersFromProto(const v1::ScanFilter& filter);

[[nodiscard]] absl::StatusOr<OutputChoice> OutputFromProto(const v1::OutputOptions& output);

// Sets recipe.estimate from `align` and `output`. InvalidArgument: these contradict each other.
[[nodiscard]] absl::Status CompleteRecipe(ScanRecipe& recipe);

[[nodiscard]] absl::StatusOr<ScanRecipe> RecipeFromProto(const Config& config,
                                                         const v1::ScanSetup& setup);

// InvalidArgument: longer than 128 bytes.
[[nodiscard]] absl::Status CheckVehicle(const std::string& vehicle);

[[nodiscard]] absl::StatusOr<RecoveryOptions> RecoveryOptionsFromProto(
    const v1::RecoveryOptions& options, const Limits& limits);

[[nodiscard]] absl::StatusOr<AccumulationOptions> AccumulationFromProto(
    const v1::ScanAccumulation& options, const Limits& limits);

void ProfileToProto(const Profile& profile, v1::Profile& proto);
void StageToProto(const Stage& stage, v1::ProfileStage& proto);
void CellStatisticsToProto(const CellStatistics& statistics, v1::CellStatistics& proto);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_OPTIONS_H_
