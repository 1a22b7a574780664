// SPDX-License-Identifier: Apache-2.0
//
// The command line of `voxloc replay`.

#ifndef VOXLOC_CLIENTS_CLI_COMMANDS_REPLAY_FLAGS_H_
#define VOXLOC_CLIENTS_CLI_COMMANDS_REPLAY_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/replay/replay_drive.h"
#include "clients/cli/replay/replay_input.h"
#include "clients/pointcloud2/point_cloud2.h"
#include "voxloc/v1/session.pb.h"

namespace voxloc::cli {

struct ReplayFlags {
  std::vector<std::string> captures;
  DriveFlags drive;
  std::string point_times = "none";
  ServerFlags server;
  MapFlags map;
  ScanFlags scan;
  AlignmentFlags alignment;
  EstimateFlags estimate;
  bool diagnostics = false;
  bool trace = false;
  bool session_poses = false;
  std::string references;
  std::vector<std::string> recovery;  // KEY=VALUE of v1::RecoveryOptions; empty: off
  bool fusion = false;
  std::vector<std::string> fusion_options;  // KEY=VALUE of v1::FusionOptions
  std::string guess = "truth";
  std::string perturb;
  std::string guess_sigma;
  std::string odometry;  // a file; empty: none
  double rate_hz = 0.0;
  std::vector<std::string> output;  // of AddResultFilesFlag
  std::string report;
  size_t report_scans = 6;
  std::string compare;  // the JSON of another replay; empty: none
  std::string command_line;
};

// --scans, --poses, --pose-format, --calib and --max-scans, or --bag with its topics and frames.
// `poses` is the help text of --poses. Returns --bag.
CLI::Option* AddDriveFlags(CLI::App* command, const std::string& poses, DriveFlags* flags);

// --references.
void AddReferencesFlag(CLI::App* command, ReplayFlags* flags);

// All but --help. `flags` must outlive the command.
void AddReplayFlags(CLI::App* command, ReplayFlags* flags);

// Checks combinations of flags, and fills those that follow from others. `has_guess`: --guess was
// given.
[[nodiscard]] absl::Status CheckReplayFlags(bool has_guess, ReplayFlags* flags);

// Of flags that are checked.
[[nodiscard]] GuessSource::Kind GuessKindOf(const ReplayFlags& flags);

// nullopt: the session has no filter.
[[nodiscard]] std::optional<v1::FusionOptions> FusionOptionsOf(const ReplayFlags& flags);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_COMMANDS_REPLAY_FLAGS_H_
