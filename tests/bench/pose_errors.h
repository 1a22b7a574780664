// SPDX-License-Identifier: Apache-2.0
//
// Errors of alignments against the truth.

#ifndef VOXLOC_TESTS_BENCH_POSE_ERRORS_H_
#define VOXLOC_TESTS_BENCH_POSE_ERRORS_H_

#include <CLI/CLI.hpp>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/engine/align.h"
#include "core/geometry/pose.h"

namespace voxloc::bench {

// A pose counts as beyond if either error is over its limit.
struct ErrorLimits {
  double distance_m;
  double angle_deg;
};

// What docs/accuracy.md calls lost.
constexpr ErrorLimits kLost = {0.15, 0.3};

struct PoseErrors {
  std::vector<double> translation_m;
  std::vector<double> rotation_deg;
  std::array<std::vector<double>, 3> body_m;  // absolute, along the true base's x, y and z
  std::vector<double> iterations;
  // Of engines only; peers do not report these.
  std::vector<double> evaluations;
  size_t accepted = 0;
  size_t beyond = 0;  // the limits

  void Add(const AlignResult& result, const Profile& profile, const Pose& true_map_T_base,
           const ErrorLimits& limits);
  // The pose that a peer found.
  void AddPose(const Pose& map_T_base, int iterations_taken, const Pose& true_map_T_base,
               const ErrorLimits& limits);
  [[nodiscard]] size_t count() const { return translation_m.size(); }
};

[[nodiscard]] nlohmann::json ToJson(const PoseErrors& errors);

// --limit-distance and --limit-angle; `what` says what an error over them means.
void AddLimitFlags(CLI::App& app, ErrorLimits& limits, const char* what);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_POSE_ERRORS_H_
