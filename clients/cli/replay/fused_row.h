// SPDX-License-Identifier: Apache-2.0
//
// What a replay shows of the poses by the filter of its session: of each answer, and over all of
// them.

#ifndef VOXLOC_CLIENTS_CLI_REPLAY_FUSED_ROW_H_
#define VOXLOC_CLIENTS_CLI_REPLAY_FUSED_ROW_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "clients/cli/output/output.h"
#include "clients/cli/replay/position_error.h"
#include "core/geometry/pose.h"
#include "voxloc/v1/alignment.pb.h"

namespace voxloc::cli {

struct ReplayRow;

// The pose by the filter, measured against the truth.
struct FusedRow {
  Pose map_T_base;
  PoseError error;
};

// nullopt: the pose is no pose.
[[nodiscard]] std::optional<FusedRow> FusedRowOf(const v1::FusedPose& fused,
                                                 const Pose& truth_map_T_base);

// Over the answers that have such a pose, with any verdict.
struct FusedSummary {
  size_t poses = 0;
  size_t scans_used = 0;  // whose result has entered the filter
  uint32_t resets = 0;    // at the last answer
  PoseErrorSummary error;
  ErrorConsistency consistency;
  // Accepted answers whose pose by the filter is not consistent along some axis.
  size_t accepted_inconsistent = 0;
  PoseError end_error;  // at the last answer
  // By how much the pose is farther from the truth than dead reckoning at the same scan, at the
  // most, metres; negative where it is always nearer. nullopt: no odometry.
  std::optional<double> beyond_dead_reckoning_m;
};

// nullopt: no answer has such a pose.
[[nodiscard]] std::optional<FusedSummary> SummarizeFused(const std::vector<ReplayRow>& rows);

// Some lines for people.
[[nodiscard]] std::string FusedText(const FusedSummary& summary);

// docs/cli.md describes every key.
[[nodiscard]] Json FusedJson(const v1::FusedPose& fused, const FusedRow& row);
[[nodiscard]] Json FusedSummaryJson(const FusedSummary& summary);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPLAY_FUSED_ROW_H_
