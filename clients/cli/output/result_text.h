// SPDX-License-Identifier: Apache-2.0
//
// Results as people and scripts read them: poses, how sure they are, scores, and what they carry on
// request; and searches for a vehicle. Pure functions.

#ifndef VOXLOC_CLIENTS_CLI_OUTPUT_RESULT_TEXT_H_
#define VOXLOC_CLIENTS_CLI_OUTPUT_RESULT_TEXT_H_

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "clients/cli/output/output.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::cli {

// Angles of poses are those of ROS (R = Rz(yaw) Ry(pitch) Rx(roll)).

// x, y, z in metres, roll, pitch, yaw in degrees.
[[nodiscard]] std::array<double, 6> RosNumbers(const Pose& pose);

// "x 1.234  y 5.678  z 0.012 m   roll 0.12  pitch -0.03  yaw 91.50 deg"
[[nodiscard]] std::string PoseText(const Pose& pose);

// Which share of a result's standard deviation comes from where: the contract's SigmaShares.
constexpr size_t kSigmaShares = 4;

// In the order of the contract's fields: their names there, and for people.
constexpr std::array<const char*, kSigmaShares> kSigmaShareKeys = {"scan", "map_and_mounting",
                                                                   "time", "sweep"};
constexpr std::array<const char*, kSigmaShares> kSigmaShareNames = {
    "scan", "map and mounting", "time of the stamps", "motion in the sweep"};

// Standard deviations of each share along and about the base's axes x y z rx ry rz, metres and
// radians.
using SigmaShares = std::array<std::array<double, 6>, kSigmaShares>;

// All zeros without a covariance of the method CALIBRATED.
[[nodiscard]] SigmaShares SharesOf(const v1::AlignmentResult& result);

// The one of the axes x, y and z along which the shares are largest together.
[[nodiscard]] size_t LeastCertainAxis(const SigmaShares& shares);

// An object with a list of six a share; null where all are zero.
[[nodiscard]] Json SigmaSharesJson(const SigmaShares& shares);

// "along the base's x 0.205 m: scan 0.004, map and mounting 0.040, time of the stamps 0.200,
// motion in the sweep 0.020", of the least certain axis; empty where all are zero.
[[nodiscard]] std::string SigmaSharesText(const SigmaShares& shares);

// Axes, of x y z rx ry rz, of which the scan says nothing (UNOBSERVED) or little (WEAK).
[[nodiscard]] std::vector<std::string> AxesWith(v1::AxisVerdict verdict,
                                                const v1::AlignmentResult& result);

// "x 0.012  y 0.010  z 0.021 m   rx 0.05  ry 0.04  rz 0.03 deg"; empty without a covariance.
[[nodiscard]] std::string SigmaText(const v1::AlignmentResult& result);

// The levels of a result, null where it has none; a level without a bound is null too. `pose` is
// the one that the levels are about; null: not known.
[[nodiscard]] Json ProtectionJson(const v1::AlignmentResult& result);

// "confidence 0.93   all axes observed"; empty where nothing is known.
[[nodiscard]] std::string ConfidenceText(const v1::AlignmentResult& result);

// `score`, `transform_probability`, `nvtl`, `matched_ratio`.
[[nodiscard]] Json ScoresJson(const v1::Scores& scores);

// A table with a line for each Newton step: where it began, the scores there, and the step.
[[nodiscard]] std::string TraceText(const v1::AlignmentTrace& trace);

// The level with its message, and a line for each of Autoware's keys.
[[nodiscard]] std::string DiagnosticsText(const v1::Diagnostics& diagnostics);

// [[x, y, z], ...].
[[nodiscard]] Json PointsJson(const PointCloud& cloud);

// What a result carries on request; null where it does not. The fields of the contract's
// TraceIteration for each step.
[[nodiscard]] Json TraceJson(const v1::AlignmentResult& result);
// `level`, `message` and `values` by Autoware's keys.
[[nodiscard]] Json DiagnosticsJson(const v1::AlignmentResult& result);
// The points that were used, map frame, and a score for each of them.
[[nodiscard]] Json AlignedPointsJson(const v1::AlignmentResult& result);
[[nodiscard]] Json PointScoresJson(const v1::AlignmentResult& result);
// `scores` and `points`.
[[nodiscard]] Json NoGroundJson(const v1::AlignmentResult& result);

// Whether the best hypothesis is one to act on: reliable, and not ambiguous.
[[nodiscard]] bool Located(const v1::SearchResult& result);

// A search for a vehicle in progress, in one line.
[[nodiscard]] std::string SearchProgressText(const v1::SearchProgress& progress);

// A verdict, a table of hypotheses, and what it took.
[[nodiscard]] std::string SearchResultText(const v1::SearchResult& result, double elapsed_s);

[[nodiscard]] Json SearchResultJson(const v1::SearchResult& result, double elapsed_s);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_OUTPUT_RESULT_TEXT_H_
