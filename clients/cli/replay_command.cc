// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>

#include "absl/strings/str_format.h"
#include "clients/cli/alignment_flags.h"
#include "clients/cli/commands.h"
#include "clients/cli/estimate_flags.h"
#include "clients/cli/field_flag.h"
#include "clients/cli/map_flags.h"
#include "clients/cli/output_flags.h"
#include "clients/cli/replay/live_report.h"
#include "clients/cli/replay/replay_runner.h"
#include "clients/cli/replay/replay_summary.h"
#include "clients/cli/report/report.h"
#include "clients/cli/scan_flags.h"
#include "clients/cli/server_flags.h"

namespace voxloc::cli {
namespace {

struct ReplayFlags {
  ServerFlags server;
  MapFlags map;
  ScanFlags scan;
  AlignmentFlags alignment;
  EstimateFlags estimate;
  bool diagnostics = false;
  bool session_poses = false;
  std::string references;
  std::vector<std::string> recovery;  // KEY=VALUE of v1::RecoveryOptions; empty: off
  ReplayFiles files;
  std::string guess = "truth";
  std::string perturb;
  double rate_hz = 0.0;
  std::string report;
};

// Points of each scan that the report's map is drawn from.
constexpr size_t kPicturePoints = 6000;

// Scans that are read before they are due, in open loop.
constexpr size_t kScansAhead = 64;

GuessSource::Kind KindOf(const ReplayFlags& options) {
  if (!options.files.guesses.empty()) return GuessSource::Kind::kFile;
  return options.guess == "previous" ? GuessSource::Kind::kPrevious : GuessSource::Kind::kTruth;
}

absl::StatusOr<std::unique_ptr<client::LocalizationSession>> OpenSession(
    const ReplayFlags& options) {
  absl::StatusOr<client::Channel> channel = Connect(options.server);
  if (!channel.ok()) return channel.status();
  client::SessionOptions session;
  v1::ScanSetup& setup = *session.open.mutable_setup();
  setup.set_vehicle("voxloc replay");
  setup.set_map(options.map.map);
  setup.mutable_options()->set_profile(options.map.profile);
  options.alignment.AddTo(&setup);
  options.estimate.AddTo(setup.mutable_options(), setup.mutable_output());
  setup.mutable_output()->set_diagnostics(options.diagnostics);
  if (!options.recovery.empty()) SetFields(options.recovery, session.open.mutable_recovery());
  session.open_timeout_s = options.server.timeout_s;
  session.max_outstanding = 4096;
  return client::LocalizationSession::Open(*channel, session);
}

// Poses and references that the server has not taken.
void ReportRejections(client::LocalizationSession* session) {
  while (const std::optional<v1::RequestRejected> rejected = session->TakeRejection()) {
    absl::FPrintF(stderr, "warning: a pose or reference was rejected: %s\n", rejected->detail());
  }
}

ReplaySetting SettingOf(const ReplayFlags& options, const v1::SessionOpened& opened) {
  ReplaySetting setting;
  setting.server = options.server.server;
  setting.server_version = opened.server_version();
  setting.engine = opened.engine();
  setting.map = options.map.map;
  setting.profile = opened.profile().name();
  setting.scans = options.files.scans;
  setting.guess = options.files.guesses.empty() ? options.guess : options.files.guesses;
  setting.perturb = options.perturb;
  setting.rate_hz = options.rate_hz;
  return setting;
}

absl::StatusOr<ExitCode> Replay(const ReplayFlags& options) {
  const absl::StatusOr<ReplayInput> input = ReadReplayInput(options.files);
  if (!input.ok()) return input.status();
  std::optional<Perturbation> perturbation;
  if (!options.perturb.empty()) {
    const absl::StatusOr<Perturbation> parsed = ParsePerturbation(options.perturb);
    if (!parsed.ok()) return parsed.status();
    perturbation = *parsed;
  }
  std::vector<StampedPose> references;
  if (!options.references.empty()) {
    absl::StatusOr<std::vector<StampedPose>> read =
        ReadTrajectory(options.references, TrajectoryFormat::kTum);
    if (!read.ok()) return read.status();
    references = *std::move(read);
  }
  const GuessSource guesses(*input, KindOf(options), perturbation, options.scan.seed);
  const absl::StatusOr<std::unique_ptr<client::LocalizationSession>> session = OpenSession(options);
  if (!session.ok()) return session.status();
  ReplaySetting setting = SettingOf(options, (*session)->opened());

  MapPicture picture;
  ReplayOptions replay;
  replay.rate_hz = options.rate_hz;
  replay.timeout_s = options.server.timeout_s;
  replay.session_poses = options.session_poses;
  replay.references = std::move(references);
  const auto start = std::chrono::steady_clock::now();
  absl::StatusOr<std::vector<ReplayRow>> rows = absl::InternalError("not run");
  {
    LiveReport live(input->scans.size());
    replay.on_reply = [&live, &picture](const ReplayRow& row, const PointCloud& cloud) {
      live.Add(row);
      if (row.accepted && row.map_T_base.has_value()) picture.Add(*row.map_T_base, cloud);
    };
    ScanLoader loader(input->scans, options.scan.filter(),
                      options.report.empty() ? 0 : kPicturePoints,
                      options.rate_hz > 0.0 ? kScansAhead : 0);
    rows = RunReplay(*input, guesses, replay, &loader, session->get());
  }
  if (!rows.ok()) return rows.status();
  setting.elapsed_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ReportRejections(session->get());
  // The results are here; how the session ends no longer matters.
  (*session)->Close(options.server.timeout_s).IgnoreError();

  const ReplaySummary summary = SummarizeReplay(*rows);
  if (options.server.prints_text()) std::fputs(SummaryText(setting, summary).c_str(), stdout);
  const Json json = ReplayJson(setting, summary, *rows);
  if (absl::Status status = WriteJson(options.server.json, json); !status.ok()) return status;
  if (!options.report.empty()) {
    if (absl::Status status = WriteReport(options.report, json, picture); !status.ok()) {
      return status;
    }
    if (options.server.prints_text()) absl::PrintF("\nreport: %s\n", options.report);
  }
  return summary.accepted > 0 ? ExitCode::kOk : ExitCode::kNotAccepted;
}

constexpr char kReplayManual[] =
    "Files of poses have one map_T_base per line, for every scan in the order of the names:\n"
    "  kitti  12 numbers of a 3x4 row-major matrix; scan i has the stamp 0.1 s * i\n"
    "  tum    stamp x y z qx qy qz qw\n"
    "The search for each scan starts at its guess: the truth, the pose of the previous answer\n"
    "(the truth for the first scan), or a pose of --guesses. --perturb then moves every guess by\n"
    "the given amounts, with signs that depend on the seed. One scan is in flight at a time.\n"
    "With --rate, scans are sent on schedule, and scans that the server skips are counted as\n"
    "SUPERSEDED. Percentiles are by nearest rank. The exit code is 4 if no scan was accepted.\n\n"
    "Examples:\n"
    "  voxloc replay --map town --scans drive/scans --poses drive/poses.txt --points 1500 \\\n"
    "      --guess previous --perturb 0.3,0.3,0.1,0.5,0.5,1 --report report.html\n"
    "  voxloc replay --map yard --scans scans --poses poses.txt --leaf 1.5 --rate 10 --json -";

void AddFileFlags(CLI::App* command, ReplayFlags* options) {
  command
      ->add_option("--scans", options->files.scans,
                   "Send the scans of this directory: PCD, PLY or KITTI .bin")
      ->type_name("DIR")
      ->required();
  command->add_option("--poses", options->files.poses, "Read the true pose of every scan from FILE")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--pose-format", options->files.pose_format,
                   "Set the format of the files of poses and guesses")
      ->check(CLI::IsMember({"kitti", "tum"}))
      ->capture_default_str();
  CLI::Option* guess =
      command->add_option("--guess", options->guess, "Start the search for each scan here")
          ->check(CLI::IsMember({"truth", "previous"}))
          ->capture_default_str();
  command
      ->add_option("--guesses", options->files.guesses,
                   "Read the guess of every scan from FILE, in the format of --poses")
      ->type_name("FILE")
      ->excludes(guess);
  command->add_option("--max-scans", options->files.max_scans, "Stop after N scans; 0: all")
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace

void AddReplayCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<ReplayFlags>();
  CLI::App* command = parent->add_subcommand(
      "replay", "Send a recorded drive and compare the results with the truth");
  command->footer(kReplayManual);
  AddMapFlags(command, &options->map);
  AddFileFlags(command, options.get());
  command
      ->add_option("--perturb", options->perturb,
                   "Move each guess by metres along the map's axes and degrees about them")
      ->type_name("DX,DY,DZ,DROLL,DPITCH,DYAW")
      ->check([](const std::string& text) {
        return std::string(ParsePerturbation(text).status().message());
      });
  command
      ->add_option(
          "--rate", options->rate_hz,
          "Send HZ scans per second without waiting for answers; 0: one scan in flight at a time")
      ->type_name("HZ")
      ->check(CLI::Range(0.0, 1e5))
      ->capture_default_str();
  command->add_option("--report", options->report, "Write an HTML report that needs no network")
      ->type_name("FILE");
  command->add_flag("--session-poses", options->session_poses,
                    "Send each guess as a pose of the session, and scans without a guess");
  command
      ->add_option("--references", options->references,
                   "Send the positions in FILE as reference positions, such as GNSS, for the "
                   "regularization; format tum, orientations are not used")
      ->type_name("FILE");
  AddFieldFlag(command, "--recovery",
               "Let the server search for the vehicle once lost, with these options, SI units",
               v1::RecoveryOptions::default_instance(), &options->recovery);
  AddDiagnosticsFlag(command, &options->diagnostics);
  AddScanFlags(command, &options->scan);
  AddAlignmentFlags(command, &options->alignment);
  AddEstimateFlags(command, &options->estimate);
  AddServerFlags(command, &options->server);
  command->callback([options, chosen] { *chosen = [options] { return Replay(*options); }; });
}

}  // namespace voxloc::cli
