// SPDX-License-Identifier: Apache-2.0
//
// The line that a replay prints once a second: how far it is, and what the last second was like.

#ifndef VOXLOC_CLIENTS_CLI_REPLAY_LIVE_REPORT_H_
#define VOXLOC_CLIENTS_CLI_REPLAY_LIVE_REPORT_H_

#include <string>

#include "clients/cli/output/progress.h"
#include "clients/cli/replay/replay_row.h"

namespace voxloc::cli {

class LiveReport {
 public:
  explicit LiveReport(size_t scans) : scans_(scans) {}

  void Add(const ReplayRow& row);

 private:
  std::string Text() const;

  size_t scans_;
  LiveLine line_{1.0, 1.0};
  size_t replies_ = 0;
  size_t accepted_ = 0;
  // Since the last line.
  size_t recent_ = 0;
  size_t recent_poses_ = 0;
  double translation_error_m_ = 0.0;
  double rotation_error_deg_ = 0.0;
  double latency_ms_ = 0.0;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPLAY_LIVE_REPORT_H_
