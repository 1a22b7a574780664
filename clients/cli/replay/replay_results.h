// SPDX-License-Identifier: Apache-2.0
//
// What became of the scans of a replay: of each, and in numbers over all of them, for people and as
// JSON; and those of the last second during the replay.

#ifndef VOXLOC_CLIENTS_CLI_REPLAY_REPLAY_RESULTS_H_
#define VOXLOC_CLIENTS_CLI_REPLAY_REPLAY_RESULTS_H_

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/result_text.h"
#include "clients/cli/output/terminal.h"
#include "clients/cli/replay/fused_row.h"
#include "clients/cli/replay/position_error.h"
#include "clients/dataset/summary.h"
#include "core/geometry/pose.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/session.pb.h"

namespace voxloc::cli {

// What became of one scan.
struct ReplayRow {
  size_t index = 0;
  std::string file;  // the name without its directory
  int64_t stamp_ns = 0;
  Pose truth_map_T_base;
  // As sent; of a scan that was sent without one the server's, where it names it.
  std::optional<Pose> guess_map_T_base;
  // The first scan's truth, carried on by the odometry alone; nullopt: no odometry.
  std::optional<Pose> dead_reckoned_map_T_base;
  double sent_s = 0.0;  // since the replay began

  bool answered = false;  // with anything but SUPERSEDED
  bool accepted = false;  // as the server says
  std::string status;     // "OK", "SUPERSEDED", ...; empty: no reply
  v1::AlignmentResult result;
  uint64_t map_revision = 0;
  std::optional<FusedRow> fused;  // nullopt: the answer has no pose of the session's filter

  std::optional<Pose> map_T_base;          // with every scan that was aligned
  PoseError error;                         // meaningful with map_T_base, as are those below
  std::optional<double> position_sigma_m;  // in the worst direction; nullopt: no covariance
  SigmaShares sigma_shares{};              // all zeros: none

  double latency_ms = 0.0;  // from before the scan is encoded until its reply is decoded
  double engine_ms = 0.0;   // the engine's call
  double queue_ms = 0.0;    // waiting in the server
  double server_ms = 0.0;   // from receipt to reply, the two above included
};

// Takes the reply over. `row` has index, truth and guess already.
void FillRow(const v1::AlignmentResult& result, double latency_ms, ReplayRow* row);

// What the replay ran on.
struct ReplaySetting {
  std::string started_at;      // UTC, ISO 8601
  std::string command_line;    // as CommandLineText gives it
  std::string client_version;  // of this program
  std::string server;
  std::string server_version;
  std::string engine;
  std::string map;
  std::string profile;
  std::string scans;                        // the directory
  std::string scan_order;                   // of its files, in words; empty: a bag
  std::string guess;                        // "truth", "previous", "odometry", or the file
  std::string odometry;                     // the file; empty: none was sent
  std::optional<v1::FusionOptions> fusion;  // of the session's filter; nullopt: it has none
  std::string perturb;                      // as typed; empty: none
  ScanFlags filter;
  bool filtered_by_server = false;
  double rate_hz = 0.0;  // 0: closed loop
  double elapsed_s = 0.0;
  size_t planned_scans = 0;  // of the drive
  std::string ended_early;   // why not all of them were answered; empty: they were
};

// A pose that is farther from the truth is in another place.
constexpr double kWrongFromM = 1.0;
constexpr double kWrongFromDeg = 10.0;

// How far the odometry alone is from the truth, as ReplayRow::dead_reckoned_map_T_base.
struct DeadReckoningSummary {
  double end_error_m = 0.0;  // at the last scan
  double max_error_m = 0.0;
  Eigen::Vector3d end_error_base_m = Eigen::Vector3d::Zero();  // along the axes of position_error.h
};

struct ReplaySummary {
  size_t scans = 0;
  size_t answered = 0;  // replies other than SUPERSEDED
  size_t accepted = 0;  // as the server says
  // Accepted poses more than kWrongFromM or kWrongFromDeg from the truth.
  size_t accepted_wrong = 0;
  size_t superseded = 0;
  std::map<std::string, size_t> statuses;
  // Revisions of the map in the answers that name one; 0: none does.
  uint64_t lowest_revision = 0;
  uint64_t highest_revision = 0;

  // Over the answers that have a pose, with any verdict.
  PoseErrorSummary error;
  Summary iterations;
  Summary nvtl;
  Summary points_used;
  Summary position_sigma_m;  // in the worst direction
  // Along the least certain of the base's axes x, y and z; see result_text.h.
  std::array<Summary, kSigmaShares> sigma_shares_m;
  Summary confidence;
  ErrorConsistency consistency;                        // of the accepted answers
  std::optional<DeadReckoningSummary> dead_reckoning;  // nullopt: no odometry
  std::optional<FusedSummary> fused;                   // nullopt: no answer has such a pose
  // Over the answered scans.
  Summary latency_ms;
  Summary engine_ms;
  Summary server_ms;
  Summary queue_ms;
  Summary overhead_ms;  // round trip minus the engine's call
};

// Whether the server had no map for more than half of the scans that it answered.
[[nodiscard]] bool MapWasMissing(const ReplaySummary& summary);

[[nodiscard]] ReplaySummary SummarizeReplay(const std::vector<ReplayRow>& rows);

// "LOW_SCORE 2, OK 118"
[[nodiscard]] std::string StatusesText(const std::map<std::string, size_t>& statuses);

// ReplaySetting::ended_early of a drive that ended after `done` of its scans. `server`: the address
// where the session was the cause, which need not say it; otherwise empty.
[[nodiscard]] std::string EndedEarlyText(const absl::Status& end, size_t done, size_t planned,
                                         const std::string& server);

// The table at the end of a replay.
[[nodiscard]] std::string SummaryText(const ReplaySetting& setting, const ReplaySummary& summary);

// docs/cli.md describes every key.
[[nodiscard]] Json ReplayJson(const ReplaySetting& setting, const ReplaySummary& summary,
                              const std::vector<ReplayRow>& rows);

// The line that a replay prints once a second: how far it is, and what the last second was like.
class LiveReport {
 public:
  explicit LiveReport(size_t scans) : scans_(scans) {}

  void Add(const ReplayRow& row);

 private:
  struct Recent {
    size_t replies = 0;
    size_t poses = 0;
    double translation_error_m = 0.0;
    double rotation_error_deg = 0.0;
    double latency_ms = 0.0;
  };

  size_t scans_;
  LiveLine line_{1.0, 1.0};
  size_t replies_ = 0;
  size_t accepted_ = 0;
  Recent recent_;  // sums since the last line
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPLAY_REPLAY_RESULTS_H_
