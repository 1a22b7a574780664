// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/commands/replay_session.h"

#include <cstdio>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/output/terminal.h"
#include "clients/cli/results/result_files.h"
#include "clients/cpp/messages.h"

namespace voxloc::cli {

v1::ScanSetup ReplaySetupOf(const char* vehicle, const ReplayFlags& options,
                            const std::optional<Pose>& base_T_sensor) {
  v1::ScanSetup setup;
  options.map.AddTo(vehicle, &setup);
  options.alignment.AddTo(&setup);
  // What is moved to the stamp can be thinned only after that.
  if (PointTimesOf(options.point_times).has_value()) options.scan.AddTo(setup.mutable_filter());
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
  setting.scans = options.drive.Name();
  setting.guess = options.guess;
  if (GuessKindOf(options) == GuessSource::Kind::kFile) {
    setting.guess = options.drive.bag.paths.empty() ? options.drive.files.guesses
                                                    : options.drive.bag.guesses_topic;
  }
  setting.odometry = options.odometry;
  setting.fusion = FusionOptionsOf(options);
  setting.perturb = options.perturb;
  setting.filter = options.scan;
  setting.filtered_by_server = PointTimesOf(options.point_times).has_value();
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
