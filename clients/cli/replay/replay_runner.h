// SPDX-License-Identifier: Apache-2.0
//
// Sends the scans of a replay through a session and collects what becomes of them; and asks the
// server for what a report shows of single scans: the cells of the map around them, and the scores
// of their points.
//
// Closed loop: one scan is in flight at a time. Open loop: scan i leaves i / rate seconds after the
// first, without waiting for answers, and what the server cannot keep up with is answered
// SUPERSEDED.

#ifndef VOXLOC_CLIENTS_CLI_REPLAY_REPLAY_RUNNER_H_
#define VOXLOC_CLIENTS_CLI_REPLAY_REPLAY_RUNNER_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "clients/cli/replay/replay_input.h"
#include "clients/cli/replay/replay_results.h"
#include "clients/cli/report/report.h"
#include "clients/cpp/channel.h"
#include "clients/cpp/session.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::cli {

struct ReplayOptions {
  double rate_hz = 0.0;     // 0: closed loop
  double timeout_s = 10.0;  // for each answer; 0: no limit
  // Guesses go as poses of the session, each before its scan, which then has none.
  bool session_poses = false;
  // Of the guesses, about fixed map axes, as for GuessSource::CovarianceFor; nullopt: not sent.
  std::optional<Matrix6> guess_covariance;
  // Reference positions in the order of their stamps. Before each scan go those up to the first one
  // that is not before it, so that the server can interpolate.
  std::vector<StampedPose> references;
  // Called after each reply, one at a time, with the scan's row, and its picture points where the
  // loader keeps them. The row has its aligned points during the call alone. In open loop by a
  // thread of the replay's own.
  std::function<void(const ReplayRow& row, const PointCloud& picture)> on_reply;
  // Asked before each scan, and about ten times a second while an answer is waited for: whether to
  // end early.
  std::function<bool()> stop;
};

struct ReplayOutcome {
  // In the order of sending, up to the last scan that was answered. Where an earlier one was not,
  // its row has the status UNANSWERED.
  std::vector<ReplayRow> rows;
  // OK: every scan was answered. Otherwise what ended the replay: a scan's file, the session, an
  // answer that did not come, or `stop` (Cancelled).
  absl::Status end;
};

// The session stays open.
[[nodiscard]] ReplayOutcome RunReplay(const ReplayInput& input, const GuessSource& guesses,
                                      const ReplayOptions& options, ScanLoader* loader,
                                      client::LocalizationSession* session);

struct ScanViewSetting {
  v1::ScanSetup setup;      // as of the replay's session
  v1::Profile profile;      // in effect
  double timeout_s = 10.0;  // of each call; 0: no limit
};

// The chosen scans at their results. Data that the server denies, such as cells to a caller without
// map_read, is left out, and the views have the reason; after the first denial no further call is
// made. The rows of `chosen` must have poses.
[[nodiscard]] ScanViews ViewScans(const client::Channel& channel, const ScanViewSetting& setting,
                                  const std::vector<ChosenScan>& chosen,
                                  const std::vector<ReplayRow>& rows, const Pose& base_T_sensor);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPLAY_REPLAY_RUNNER_H_
