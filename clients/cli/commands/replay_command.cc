// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/replay_flags.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/cli/replay/capture_replay.h"
#include "clients/cli/replay/replay_drive.h"
#include "clients/cli/replay/replay_results.h"
#include "clients/cli/replay/replay_runner.h"
#include "clients/cli/report/report.h"
#include "clients/cpp/messages.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

// Points of each scan that the report's map is drawn from, and that a scan's own view has.
constexpr size_t kPicturePoints = kMaxViewPoints;

// Scans that are read before they are due, in open loop.
constexpr size_t kScansAhead = 64;

v1::ScanSetup SetupOf(const ReplayFlags& options, const std::optional<Pose>& base_T_sensor) {
  v1::ScanSetup setup;
  options.map.AddTo("voxloc replay", &setup);
  options.alignment.AddTo(&setup);
  // What is moved to the stamp can be thinned only after that.
  if (PointTimesOf(options).has_value()) options.scan.AddTo(setup.mutable_filter());
  if (base_T_sensor.has_value()) client::EncodePose(*base_T_sensor, setup.mutable_base_t_sensor());
  options.estimate.AddTo(setup.mutable_options(), setup.mutable_output());
  setup.mutable_output()->set_diagnostics(options.diagnostics);
  setup.mutable_output()->set_trace(options.trace);
  return setup;
}

absl::StatusOr<std::unique_ptr<client::LocalizationSession>> OpenSession(
    const ReplayFlags& options, const client::Channel& channel, const v1::ScanSetup& setup) {
  client::SessionOptions session;
  *session.open.mutable_setup() = setup;
  if (!options.recovery.empty()) SetFields(options.recovery, session.open.mutable_recovery());
  if (const auto fusion = FusionOptionsOf(options)) *session.open.mutable_fusion() = *fusion;
  session.open_timeout_s = options.server.timeout_s;
  session.max_outstanding = 4096;
  return client::LocalizationSession::Open(channel, session);
}

ReplaySetting SettingOf(const ReplayFlags& options, const v1::SessionOpened& opened) {
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
  setting.filtered_by_server = PointTimesOf(options).has_value();
  setting.rate_hz = options.rate_hz;
  return setting;
}

// After what was done has been written.
absl::StatusOr<ExitCode> ReplayExitCode(const absl::Status& end, const ReplaySummary& summary) {
  if (absl::IsCancelled(end) && Interrupt::Requested()) {
    absl::FPrintF(stderr, "voxloc: %s\n", end.message());
    return ExitCode::kInterrupted;
  }
  if (!end.ok()) return end;
  return summary.accepted > 0 && !MapWasMissing(summary) ? ExitCode::kOk : ExitCode::kNotAccepted;
}

absl::StatusOr<ExitCode> Replay(const ReplayFlags& options) {
  const Interrupt interrupt;
  VOXLOC_ASSIGN_OR_RETURN(ReplayDrive drive,
                          OpenReplayDrive(options.drive, options.scan.read(),
                                          options.alignment.base_T_sensor, PointTimesOf(options)));
  if (!options.odometry.empty()) VOXLOC_TRY(ReadOdometry(options.odometry, &drive.input));
  const ReplayInput& input = drive.input;
  std::optional<Perturbation> perturbation;
  if (!options.perturb.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(perturbation, ParsePerturbation(options.perturb));
  }
  ReplayOptions replay;
  replay.rate_hz = options.rate_hz;
  replay.timeout_s = options.server.timeout_s;
  replay.session_poses = options.session_poses;
  replay.stop = &Interrupt::Requested;
  if (!options.guess_sigma.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(replay.guess_covariance, ParsePoseSigma(options.guess_sigma));
  }
  if (!options.references.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(replay.references,
                            ReadTrajectory(options.references, TrajectoryFormat::kTum));
  }
  const GuessSource guesses(input, GuessKindOf(options), perturbation, options.scan.seed);
  Json other;  // null: no other run
  if (!options.compare.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(other, ReadRun(options.compare));
  }
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  const v1::ScanSetup setup = SetupOf(options, drive.base_T_sensor);
  VOXLOC_ASSIGN_OR_RETURN(const std::unique_ptr<client::LocalizationSession> session,
                          OpenSession(options, channel, setup));
  ReplaySetting setting = SettingOf(options, session->opened());
  setting.scan_order = input.order;

  ReportContent content;
  ScanChoice choice(input.scans.size(), options.report.empty() ? 0 : options.report_scans);
  const Pose base_T_sensor = drive.base_T_sensor.value_or(Pose());
  const Stopwatch watch;
  ReplayOutcome outcome;
  const std::vector<ReplayRow>& rows = outcome.rows;
  {
    LiveReport live(input.scans.size());
    replay.on_reply = [&](const ReplayRow& row, const PointCloud& cloud) {
      live.Add(row);
      if (!row.map_T_base.has_value()) return;
      if (row.accepted) content.picture.Add(*row.map_T_base * base_T_sensor, cloud);
      choice.Offer(row.index, row.error.translation_m, cloud);
    };
    ScanLoader loader(std::move(drive.scans), input.scans, options.scan.filter(),
                      options.report.empty() ? 0 : kPicturePoints,
                      options.rate_hz > 0.0 ? kScansAhead : 0);
    outcome = RunReplay(input, guesses, replay, &loader, session.get());
  }
  if (!outcome.end.ok()) {
    const bool of_session =
        absl::IsDeadlineExceeded(outcome.end) || session->AwaitEnd(client::kNoWait_s).has_value();
    setting.ended_early = EndedEarlyText(outcome.end, rows.size(), input.scans.size(),
                                         of_session ? channel.server() : "");
    outcome.end = absl::Status(outcome.end.code(), setting.ended_early);
  }
  setting.planned_scans = input.scans.size();
  setting.elapsed_s = watch.seconds();
  while (const std::optional<v1::RequestRejected> rejected = session->TakeRejection()) {
    absl::FPrintF(stderr, "warning: a pose or reference was rejected: %s\n", rejected->detail());
  }
  // The results are here; how the session ends no longer matters.
  if (outcome.end.ok()) session->Close(options.server.timeout_s).IgnoreError();

  const ReplaySummary summary = SummarizeReplay(rows);
  if (rows.empty() && !outcome.end.ok()) return ReplayExitCode(outcome.end, summary);
  if (options.server.prints_text()) std::fputs(SummaryText(setting, summary).c_str(), stdout);
  const Json json = ReplayJson(setting, summary, rows);
  VOXLOC_TRY(WriteJson(options.server.json, json));
  if (!options.report.empty()) {
    const ScanViewSetting views{setup, session->opened().profile(), options.server.timeout_s};
    content.views = ViewScans(channel, views, choice.Take(), rows, base_T_sensor);
    if (!other.is_null()) {
      VOXLOC_ASSIGN_OR_RETURN(content.compared, CompareRuns(json, other, options.compare));
    }
    const std::string page = ReportHtml(json, content);
    VOXLOC_TRY(WriteTextFile(options.report, page));
    if (options.server.prints_text()) absl::PrintF("\nreport: %s\n", options.report);
  }
  if (const auto missing = summary.statuses.find("NO_MAP"); missing != summary.statuses.end()) {
    absl::FPrintF(stderr, "warning: the server had no map for %d of %d scans\n", missing->second,
                  summary.answered);
  }
  return ReplayExitCode(outcome.end, summary);
}

}  // namespace

void AddReplayCommand(CLI::App* parent, const std::string& command_line, Work* chosen) {
  auto options = std::make_shared<ReplayFlags>();
  options->command_line = command_line;
  CLI::App* command = parent->add_subcommand(
      "replay", "Send a recorded drive and compare the results with the truth");
  AddReplayFlags(command, options.get());
  command->callback([options, chosen, command] {
    const absl::Status status = CheckReplayFlags(command->count("--guess") > 0, options.get());
    if (!status.ok()) throw CLI::ValidationError(std::string(status.message()));
    *chosen = [options] {
      return options->captures.empty()
                 ? Replay(*options)
                 : ReplayCaptures(options->captures, options->map.map, options->server);
    };
  });
}

}  // namespace voxloc::cli
