// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/commands/replay_session.h"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/output/terminal.h"
#include "clients/cli/results/result_files.h"
#include "clients/cpp/messages.h"
#include "clients/dataset/trajectory_file.h"
#include "clients/pointcloud2/point_cloud2.h"
#include "core/status/try.h"

namespace voxloc::cli {

absl::StatusOr<ReplayDrive> OpenReplayDrive(const ReplayFlags& options) {
  ReplayDrive drive;
  if (!options.alignment.base_T_sensor.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(drive.base_T_sensor, ParsePoseText(options.alignment.base_T_sensor));
  }
  if (options.bag.paths.empty()) {
    ReplayFiles files = options.files;
    files.read = options.scan.read();
    VOXLOC_ASSIGN_OR_RETURN(drive.input, ReadReplayInput(files));
    // With a mount the poses may be those of a camera.
    if (drive.base_T_sensor.has_value()) drive.input.notes.warnings.clear();
    PrintNotes(drive.input.notes);
    drive.scans = FileScans(drive.input.scans, files.read, PointTimesOf(options));
    return drive;
  }
  bag::DriveOptions of_bag = options.bag;
  of_bag.poses_file = options.files.poses;
  of_bag.max_scans = options.files.max_scans;
  VOXLOC_ASSIGN_OR_RETURN(drive.bag, OpenDrive(std::move(of_bag), options.alignment.base_T_sensor));
  drive.base_T_sensor = drive.bag->base_T_sensor();
  for (const bag::DriveScan& scan : drive.bag->scans()) {
    drive.input.scans.push_back(SecondsFromNanoseconds(scan.stamp_ns));
    drive.input.truth.push_back({scan.stamp_ns, scan.map_T_base});
    if (!options.bag.guesses_topic.empty()) drive.input.guesses.push_back(scan.guess_map_T_base);
  }
  VOXLOC_ASSIGN_OR_RETURN(std::unique_ptr<bag::DriveClouds> clouds, drive.bag->ReadClouds());
  // Functions can be copied, which an owner cannot.
  const std::shared_ptr<bag::DriveClouds> shared = std::move(clouds);
  drive.scans = [shared, times = PointTimesOf(options)]() -> absl::StatusOr<SourceScan> {
    SourceScan scan;
    if (!times.has_value()) {
      VOXLOC_ASSIGN_OR_RETURN(scan.cloud, shared->Next());
      return scan;
    }
    VOXLOC_ASSIGN_OR_RETURN(scan.timed, shared->NextWithTimes(*times));
    VOXLOC_TRY(client::DecodePoints(*scan.timed, &scan.cloud));
    return scan;
  };
  return drive;
}

v1::ScanSetup ReplaySetupOf(const char* vehicle, const ReplayFlags& options,
                            const std::optional<Pose>& base_T_sensor) {
  v1::ScanSetup setup;
  options.map.AddTo(vehicle, &setup);
  options.alignment.AddTo(&setup);
  // What is moved to the stamp can be thinned only after that.
  if (PointTimesOf(options).has_value()) options.scan.AddTo(setup.mutable_filter());
  if (base_T_sensor.has_value()) client::EncodePose(*base_T_sensor, setup.mutable_base_t_sensor());
  options.estimate.AddTo(setup.mutable_options(), setup.mutable_output());
  setup.mutable_output()->set_diagnostics(options.diagnostics);
  setup.mutable_output()->set_trace(options.trace);
  AddResultOutputs(options.output, setup.mutable_output());
  return setup;
}

absl::StatusOr<std::unique_ptr<client::LocalizationSession>> OpenReplaySession(
    const ReplayFlags& options, const client::Channel& channel, const v1::ScanSetup& setup) {
  client::SessionOptions session;
  *session.open.mutable_setup() = setup;
  if (!options.recovery.empty()) SetFields(options.recovery, session.open.mutable_recovery());
  if (const auto fusion = FusionOptionsOf(options)) *session.open.mutable_fusion() = *fusion;
  session.open_timeout_s = options.server.timeout_s;
  session.max_outstanding = 4096;
  return client::LocalizationSession::Open(channel, session);
}

ReplaySetting ReplaySettingOf(const ReplayFlags& options, const v1::SessionOpened& opened) {
  ReplaySetting setting;
  setting.started_at = absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone());
  setting.command_line = options.command_line;
  setting.client_version = VOXLOC_VERSION;
  setting.server = options.server.server;
  setting.server_version = opened.server_version();
  setting.engine = opened.engine();
  setting.map = options.map.map;
  setting.profile = opened.profile().name();
  setting.scans = options.files.scans;
  setting.guess = options.guess;
  if (GuessKindOf(options) == GuessSource::Kind::kFile) {
    setting.guess = options.bag.paths.empty() ? options.files.guesses : options.bag.guesses_topic;
  }
  if (!options.bag.paths.empty()) setting.scans = absl::StrJoin(options.bag.paths, " ");
  setting.odometry = options.odometry;
  setting.fusion = FusionOptionsOf(options);
  setting.perturb = options.perturb;
  setting.filter = options.scan;
  setting.filtered_by_server = PointTimesOf(options).has_value();
  setting.rate_hz = options.rate_hz;
  return setting;
}

void EndReplay(const ReplayFlags& options, const client::Channel& channel, size_t planned,
               client::LocalizationSession* session, ReplayOutcome* outcome,
               ReplaySetting* setting) {
  setting->planned_scans = planned;
  if (!outcome->end.ok()) {
    const bool of_session =
        absl::IsDeadlineExceeded(outcome->end) || session->AwaitEnd(client::kNoWait_s).has_value();
    setting->ended_early = EndedEarlyText(outcome->end, outcome->rows.size(), planned,
                                          of_session ? channel.server() : "");
    outcome->end = absl::Status(outcome->end.code(), setting->ended_early);
  }
  while (const std::optional<v1::RequestRejected> rejected = session->TakeRejection()) {
    absl::FPrintF(stderr, "warning: a pose or reference was rejected: %s\n", rejected->detail());
  }
  // The results are here; how the session ends no longer matters.
  if (outcome->end.ok()) session->Close(options.server.timeout_s).IgnoreError();
}

absl::StatusOr<ExitCode> ReplayExitCode(const absl::Status& end, ExitCode code) {
  if (absl::IsCancelled(end) && Interrupt::Requested()) {
    absl::FPrintF(stderr, "voxloc: %s\n", end.message());
    return ExitCode::kInterrupted;
  }
  if (!end.ok()) return end;
  return code;
}

}  // namespace voxloc::cli
