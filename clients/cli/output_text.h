// SPDX-License-Identifier: Apache-2.0
//
// What results carry on request, for people and as JSON. Pure functions.

#ifndef VOXLOC_CLIENTS_CLI_OUTPUT_TEXT_H_
#define VOXLOC_CLIENTS_CLI_OUTPUT_TEXT_H_

#include <string>

#include "clients/cli/json_output.h"
#include "core/cloud/point_cloud.h"
#include "voxloc/v1/alignment.pb.h"

namespace voxloc::cli {

// A table with a line for each Newton step: where it began, the scores there, and the step.
[[nodiscard]] std::string TraceText(const v1::AlignmentTrace& trace);

// The fields of the contract's TraceIteration for each step; null where the result has no trace.
[[nodiscard]] Json TraceJson(const v1::AlignmentResult& result);

// The level with its message, and a line for each of Autoware's keys.
[[nodiscard]] std::string DiagnosticsText(const v1::Diagnostics& diagnostics);

// `level`, `message` and `values` by Autoware's keys; null where the result has none.
[[nodiscard]] Json DiagnosticsJson(const v1::AlignmentResult& result);

// [[x, y, z], ...].
[[nodiscard]] Json PointsJson(const PointCloud& cloud);

// The points that were used, map frame; null where the result has none.
[[nodiscard]] Json AlignedPointsJson(const v1::AlignmentResult& result);

// A score for each of them; null where the result has none.
[[nodiscard]] Json AlignedPointsJson(const v1::AlignmentResult& result);
[[nodiscard]] Json PointScoresJson(const v1::AlignmentResult& result);

// `scores` and `points`; null where the result has none.
[[nodiscard]] Json NoGroundJson(const v1::AlignmentResult& result);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_OUTPUT_TEXT_H_
