// SPDX-License-Identifier: Apache-2.0
//
// The session of the commands that send a recorded drive, as their flags ask for it.

#ifndef VOXLOC_CLIENTS_CLI_COMMANDS_REPLAY_SESSION_H_
#define VOXLOC_CLIENTS_CLI_COMMANDS_REPLAY_SESSION_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/replay_flags.h"
#include "clients/cli/replay/replay_results.h"
#include "clients/cli/replay/replay_runner.h"
#include "clients/cpp/channel.h"
#include "clients/cpp/session.h"
#include "clients/dataset/trajectory_file.h"
#include "core/geometry/pose.h"
#include "voxloc/v1/scan.pb.h"
#include "voxloc/v1/session.pb.h"

namespace voxloc::cli {

// `vehicle`: the name of the session's vehicle where the flags give none.
[[nodiscard]] v1::ScanSetup ReplaySetupOf(const char* vehicle, const ReplayFlags& options,
                                          const std::optional<Pose>& base_T_sensor);

[[nodiscard]] absl::StatusOr<std::unique_ptr<client::LocalizationSession>> OpenReplaySession(
    const ReplayFlags& options, const client::Channel& channel, const v1::ScanSetup& setup);

// What the run is made with, by its flags and the server.
[[nodiscard]] ReplaySetting ReplaySettingOf(const ReplayFlags& options,
                                            const v1::SessionOpened& opened);

// Of --references; none where it was not given. The error names the file and what is wrong.
[[nodiscard]] absl::StatusOr<std::vector<StampedPose>> ReadReferences(const ReplayFlags& options);

// After RunReplay: prints what the session rejected and closes it. Where the drive of `planned`
// scans ended early, `outcome` and `setting` get a message that names the server.
void EndReplay(const ReplayFlags& options, const client::Channel& channel, size_t planned,
               client::LocalizationSession* session, ReplayOutcome* outcome,
               ReplaySetting* setting);

// After what was done has been written: `code` of a drive that ended well; otherwise that of an
// interrupt, or the error `end`.
[[nodiscard]] absl::StatusOr<ExitCode> ReplayExitCode(const absl::Status& end, ExitCode code);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_COMMANDS_REPLAY_SESSION_H_
