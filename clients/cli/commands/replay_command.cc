// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <memory>

#include "absl/strings/str_format.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/replay_flags.h"
#include "clients/cli/commands/replay_session.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/cli/replay/capture_replay.h"
#include "clients/cli/replay/replay_drive.h"
#include "clients/cli/replay/replay_results.h"
#include "clients/cli/replay/replay_runner.h"
#include "clients/cli/report/report.h"
#include "clients/cli/results/result_files.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

// Points of each scan that the report's map is drawn from, and that a scan's own view has.
constexpr size_t kPicturePoints = kMaxViewPoints;

// Scans that are read before they are due, in open loop.
constexpr size_t kScansAhead = 64;

// Cells of the score stage around the drive.
void AddCells(const ReplayFlags& options, const client::Channel& channel,
              const v1::Profile& profile, const std::vector<StampedPose>& truth,
              ResultFiles* files) {
  std::vector<Pose> poses;
  for (const StampedPose& stamped : truth) poses.push_back(stamped.pose);
  files->AddCellsAlong(channel, {options.map.map, profile.name(), profile.score_stage()},
                       truth.empty() ? 0 : truth.front().stamp_ns, poses, options.server.timeout_s);
}

absl::StatusOr<ExitCode> Replay(const ReplayFlags& options) {
  const Interrupt interrupt;
  VOXLOC_ASSIGN_OR_RETURN(ReplayDrive drive, OpenReplayDrive(options.drive, options.scan.read(),
                                                             options.alignment.base_T_sensor,
                                                             PointTimesOf(options.point_times)));
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
  const v1::ScanSetup setup = ReplaySetupOf("voxloc replay", options, drive.base_T_sensor);
  VOXLOC_ASSIGN_OR_RETURN(const std::unique_ptr<client::LocalizationSession> session,
                          OpenReplaySession(options, channel, setup));
  ReplaySetting setting = ReplaySettingOf(options, session->opened());
  setting.scan_order = input.order;
  VOXLOC_ASSIGN_OR_RETURN(ResultFiles files, ResultFiles::Open(options.output));
  AddCells(options, channel, session->opened().profile(), input.truth, &files);

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
      files.Add(row, &row.truth_map_T_base);
      if (!row.map_T_base.has_value()) return;
      if (row.accepted) content.picture.Add(*row.map_T_base * base_T_sensor, cloud);
      choice.Offer(row.index, row.error.translation_m, cloud);
    };
    ScanLoader loader(std::move(drive.scans), input.scans, options.scan.filter(),
                      options.report.empty() ? 0 : kPicturePoints,
                      options.rate_hz > 0.0 ? kScansAhead : 0);
    outcome = RunReplay(input, guesses, replay, &loader, session.get());
  }
  setting.elapsed_s = watch.seconds();
  EndReplay(options, channel, input.scans.size(), session.get(), &outcome, &setting);

  VOXLOC_TRY(files.Close(rows));
  const ReplaySummary summary = SummarizeReplay(rows);
  const ExitCode code =
      summary.accepted > 0 && !MapWasMissing(summary) ? ExitCode::kOk : ExitCode::kNotAccepted;
  if (rows.empty() && !outcome.end.ok()) return ReplayExitCode(outcome.end, code);
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
  return ReplayExitCode(outcome.end, code);
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
