// SPDX-License-Identifier: Apache-2.0
//
// Captured scans, aligned again, and how the answers differ from the captured ones.

#ifndef VOXLOC_CLIENTS_CLI_REPLAY_CAPTURE_REPLAY_H_
#define VOXLOC_CLIENTS_CLI_REPLAY_CAPTURE_REPLAY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/output/output.h"
#include "voxloc/v1/admin_service.pb.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/capture.pb.h"

namespace voxloc::cli {

// A voxloc.v1.Capture as `voxloc admin captures get` writes it. The errors name the file.
[[nodiscard]] absl::StatusOr<v1::Capture> ReadCapture(const std::string& path);

// What of a server decides whether it finds the same pose.
struct ReplayServer {
  std::string version;
  std::string git_revision;
};

// How an answer compares with the captured one.
struct CaptureComparison {
  bool has_pose = false;   // both have one
  bool same_pose = false;  // to the last bit, or neither has one
  double translation_m = 0.0;
  double rotation_deg = 0.0;
  std::string status;  // of the answer; of an error, the status that AlignScans would have
  bool same_status = false;
  std::vector<std::string> warnings;  // why the answers may differ

  [[nodiscard]] bool same() const { return same_pose && same_status; }
};

// `answer`: of AlignScan. Where AlignScan answers a captured status by an error (INVALID_INPUT,
// NO_PRIOR, NO_MAP), that error is the same answer; any other is returned.
[[nodiscard]] absl::StatusOr<CaptureComparison> CompareWithCapture(
    const v1::Capture& capture, const absl::StatusOr<v1::AlignmentResult>& answer,
    const ReplayServer& server);

// Some lines for people.
[[nodiscard]] std::string ComparisonText(const v1::Capture& capture,
                                         const CaptureComparison& comparison);
[[nodiscard]] Json ComparisonJson(const v1::Capture& capture, const CaptureComparison& comparison);

// Reads captures, aligns them again one after another, and prints how the answers compare with the
// captured ones. Files that cannot be read and answers that are errors do not keep the others from
// being sent. `map`: replaces the captures' own; empty: theirs.
[[nodiscard]] absl::StatusOr<ExitCode> ReplayCaptures(const std::vector<std::string>& paths,
                                                      const std::string& map,
                                                      const ServerFlags& flags);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPLAY_CAPTURE_REPLAY_H_
