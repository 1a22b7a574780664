// SPDX-License-Identifier: Apache-2.0
//
// What became of one scan of a replay.

#ifndef VOXLOC_CLIENTS_CLI_REPLAY_REPLAY_ROW_H_
#define VOXLOC_CLIENTS_CLI_REPLAY_REPLAY_ROW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "clients/cli/output/output_file.h"
#include "clients/cli/output/result_text.h"
#include "core/geometry/pose.h"
#include "voxloc/v1/alignment.pb.h"

namespace voxloc::cli {

struct ReplayRow {
  size_t index = 0;
  std::string file;  // the name without its directory
  int64_t stamp_ns = 0;
  Pose truth_map_T_base;
  Pose guess_map_T_base;
  double sent_s = 0.0;  // since the replay began

  bool answered = false;  // with anything but SUPERSEDED
  bool accepted = false;  // as the server says
  std::string status;     // "OK", "SUPERSEDED", ...; empty: no reply
  std::string detail;

  std::optional<Pose> map_T_base;    // with every scan that was aligned
  double translation_error_m = 0.0;  // meaningful with map_T_base
  double rotation_error_deg = 0.0;

  std::vector<double> covariance;    // 36 values, row-major; empty: none
  double position_sigma_m = 0.0;     // in the worst direction; meaningful with a covariance
  SigmaShares sigma_shares{};        // all zeros: none
  std::optional<double> confidence;  // nullopt: none
  Json protection;                   // null: none
  Json diagnostics;                  // as DiagnosticsJson; null: not asked for
  Json trace;                        // as TraceJson; null: not asked for
  Json recovery;                     // the contract's RecoveryProposal; null: nothing was done
  std::vector<std::string> unobserved_axes;
  std::vector<std::string> weak_axes;
  Json least_observed;  // as LeastObservedJson

  double score = 0.0;
  double transform_probability = 0.0;
  double nvtl = 0.0;
  double matched_ratio = 0.0;
  uint32_t iterations = 0;
  uint32_t evaluations = 0;
  std::string termination;
  uint32_t points_used = 0;
  uint64_t map_revision = 0;
  uint32_t tiles_missing = 0;  // near the guess
  std::string engine;

  double latency_ms = 0.0;  // from before the scan is encoded until its reply is decoded
  double engine_ms = 0.0;   // the engine's call
  double queue_ms = 0.0;    // waiting in the server
  double server_ms = 0.0;   // from receipt to reply, the two above included
};

// Takes the reply over. `row` has index, truth and guess already.
void FillRow(const v1::AlignmentResult& result, double latency_ms, ReplayRow* row);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPLAY_REPLAY_ROW_H_
