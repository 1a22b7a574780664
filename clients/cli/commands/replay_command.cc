// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/cli/replay/capture_replay.h"
#include "clients/cli/replay/replay_results.h"
#include "clients/cli/replay/replay_runner.h"
#include "clients/cli/report/report.h"
#include "clients/cpp/messages.h"
#include "clients/dataset/bag/drive.h"
#include "clients/pointcloud2/point_cloud2.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

struct ReplayFlags {
  std::vector<std::string> captures;
  bag::DriveOptions bag;
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
  ReplayFiles files;
  std::string guess = "truth";
  std::string perturb;
  std::string guess_sigma;
  std::string odometry;  // a file; empty: none
  double rate_hz = 0.0;
  std::string report;
  size_t report_scans = 6;
  std::string compare;  // the JSON of another replay; empty: none
  std::string command_line;
};

// Points of each scan that the report's map is drawn from, and that a scan's own view has.
constexpr size_t kPicturePoints = kMaxViewPoints;

// Each scan with its points takes about 100 kB of the report.
constexpr int kMaxReportScans = 50;

// Scans that are read before they are due, in open loop.
constexpr size_t kScansAhead = 64;

bool HasGuesses(const ReplayFlags& options) {
  return !options.files.guesses.empty() || !options.bag.guesses_topic.empty();
}

// Checks combinations of flags. `has_guess`: --guess was given.
absl::Status CheckReplayFlags(const ReplayFlags& options, bool has_guess) {
  if (options.guess == "odometry") {
    if (options.odometry.empty()) {
      return absl::InvalidArgumentError("--guess odometry must come with --odometry");
    }
    if (options.session_poses) {
      return absl::InvalidArgumentError("--guess odometry must not come with --session-poses");
    }
  } else if (has_guess && HasGuesses(options)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--guess must be odometry with --guesses or --guesses-topic (got ", options.guess, ")"));
  }
  return absl::OkStatus();
}

GuessSource::Kind KindOf(const ReplayFlags& options) {
  if (options.guess == "odometry") return GuessSource::Kind::kOdometry;
  if (HasGuesses(options)) return GuessSource::Kind::kFile;
  return options.guess == "previous" ? GuessSource::Kind::kPrevious : GuessSource::Kind::kTruth;
}

// nullopt: none.
std::optional<ros::PointTimeChoice> PointTimesOf(const ReplayFlags& options) {
  if (options.point_times == "none") return std::nullopt;
  if (options.point_times == "auto") return ros::PointTimeChoice{true, ""};
  return ros::PointTimeChoice{false, options.point_times};
}

// The scans and their poses, and where the scans come from.
struct ReplayDrive {
  std::unique_ptr<bag::Drive> bag;  // nullptr: files
  ReplayInput input;
  ScanSource scans;
  std::optional<Pose> base_T_sensor;
};

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
    drive.scans = FileScans(drive.input.scans, files.read);
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
  setting.scans = options.files.scans;
  setting.guess = options.guess;
  if (KindOf(options) == GuessSource::Kind::kFile) {
    setting.guess = options.bag.paths.empty() ? options.files.guesses : options.bag.guesses_topic;
  }
  if (!options.bag.paths.empty()) setting.scans = absl::StrJoin(options.bag.paths, " ");
  setting.odometry = options.odometry;
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
  VOXLOC_ASSIGN_OR_RETURN(ReplayDrive drive, OpenReplayDrive(options));
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
  const GuessSource guesses(input, KindOf(options), perturbation, options.scan.seed);
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
      choice.Offer(row.index, row.translation_error_m, cloud);
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

constexpr char kReplayManual[] =
    R"(Files of poses have one map_T_base per line, for every scan in the numeric order of the names
(2.pcd before 10.pcd):
  kitti  12 numbers of a 3x4 row-major matrix; scan i has the stamp 0.1 s * i
  tum    stamp x y z qx qy qz qw
The search for each scan starts at its guess: the truth, the pose of the previous answer
(the truth for the first scan), or a pose of --guesses. --perturb then moves every guess by
the given amounts, with signs that depend on the seed. One scan is in flight at a time.
With --odometry every scan also brings odom_T_base. With --guess odometry the server carries
its last accepted answer on by the odometry; before it has one, scans bring the first guess, of
the truth or of --guesses, carried on by the odometry.
With --rate, scans are sent on schedule, and scans that the server skips are counted as
SUPERSEDED. Percentiles are by nearest rank. The exit code is 4 if no scan was accepted, or if
the server had no map for more than half of them.
Where a drive ends early, by Ctrl-C or by a fault, summary, JSON and report are those of the
scans up to the last answer, and the exit code is not 0. A second Ctrl-C ends at once.

With --capture, scans that a server has captured (`voxloc admin captures get`) are aligned
again, each with the guess, the motion and the options that it was aligned with, and compared
with the captured answers. A server of the same version, with the same engine and the same
revision of the map, finds the same pose to the last bit; warnings say where it is another.
--map names the map where it has another name here. The exit code is 4 if a pose or a status
differs.

With --bag, scans, stamps and poses come from a recording of ROS 1 or ROS 2; no ROS is needed.
Topics are found by their types, and the command says which it took; `voxloc bag info` lists
them. The pose at a scan's stamp is interpolated between poses at most 1 s apart; scans
without one are left out and counted. Where the sensor sits on the vehicle comes from the
transforms of the bag, or from --base-t-sensor. --poses FILE (tum) takes the place of the
bag's poses, and --guesses-topic starts each search at a pose of another topic, such as a
filter's. --point-times sends the times of the points too; scans are then thinned by the
server, after it has deskewed them.

Examples:
  voxloc replay --map town --scans drive/scans --poses drive/poses.txt --points 1500 \
      --guess previous --perturb 0.3,0.3,0.1,0.5,0.5,1 --report report.html
  voxloc replay --map tunnel --scans scans --poses poses.txt --pose-format tum \
      --odometry odometry.txt --guess odometry --covariance calibrated --json tunnel.json
  voxloc replay --map yard --scans scans --poses poses.txt --leaf 1.5 --rate 10 --json -
  voxloc replay --map yard --bag drive.mcap --guess previous --report report.html
  voxloc replay --map yard --bag drive.bag --poses-topic /tf --map-frame map \
      --base-frame base_link
  voxloc replay --capture bad.capture --server localhost:50051)";

void AddFileFlags(CLI::App* command, ReplayFlags* options) {
  AddOption(command, "--scans", options->files.scans, "DIR",
            "Send the scans of this directory: PCD, PLY or KITTI .bin")
      ->required();
  AddOption(command, "--poses", options->files.poses, "FILE",
            "Read the true pose of every scan from FILE; with --bag poses by their stamps, format "
            "tum, in place of the bag's")
      ->required();
  AddPoseFormatFlag(command, "--pose-format", "Set the format of the files of poses and guesses",
                    &options->files.pose_format);
  AddCalibrationFlag(command, &options->files.calibration);
  command->add_option("--guess", options->guess, "Start the search for each scan here")
      ->check(CLI::IsMember({"truth", "previous", "odometry"}))
      ->capture_default_str();
  AddOption(command, "--guesses", options->files.guesses, "FILE",
            "Read the guess of every scan from FILE, in the format of --poses");
  AddOption(command, "--odometry", options->odometry, "FILE",
            "Send the odometry in FILE with every scan: poses odom_T_base by their stamps, format "
            "tum, at most 1 s apart around each scan");
  AddDefaulted(command, "--max-scans", options->files.max_scans, "N", "Stop after N scans; 0: all");
}

// The flags of a bag, which replaces the files.
void AddReplayBagFlags(CLI::App* command, ReplayFlags* options) {
  CLI::Option* bag = AddBagFlags(command, &options->bag);
  AddOption(command, "--guesses-topic", options->bag.guesses_topic, "TOPIC",
            "Take the guess of every scan from this topic of poses or odometry")
      ->needs(bag);
  AddDefaulted(command, "--point-times", options->point_times, "FIELD",
               "Send the times of the points, so that the server deskews the scans: `auto` for the "
               "first field that is known, or the name of a field; `none` for no times")
      ->needs(bag);
  for (const char* name : {"--scans", "--guesses", "--pose-format", "--calib"}) {
    bag->excludes(command->get_option(name));
  }
  bag->each([command](const std::string& /*path*/) {
    for (const char* name : {"--scans", "--poses"}) command->get_option(name)->required(false);
  });
}

// After all options of drives, which do not go with it, and before those of the server.
void AddCaptureFlag(CLI::App* command, std::vector<std::string>* captures) {
  const std::vector<CLI::Option*> others = command->get_options();
  CLI::Option* capture = AddOption(command, "--capture", *captures, "FILE...",
                                   "Align these captured scans again, and compare the answers");
  for (CLI::Option* other : others) {
    if (other->get_name() != "--map" && other != command->get_help_ptr()) capture->excludes(other);
  }
  capture->each([command](const std::string& /*path*/) {
    for (const char* name : {"--map", "--scans", "--poses"}) {
      command->get_option(name)->required(false);
    }
  });
}

}  // namespace

void AddReplayCommand(CLI::App* parent, const std::string& command_line, Work* chosen) {
  auto options = std::make_shared<ReplayFlags>();
  options->command_line = command_line;
  CLI::App* command = parent->add_subcommand(
      "replay", "Send a recorded drive and compare the results with the truth");
  command->footer(kReplayManual);
  AddMapFlags(command, &options->map);
  AddFileFlags(command, options.get());
  AddReplayBagFlags(command, options.get());
  AddPerturbFlag(command, &options->perturb);
  AddOption(command, "--guess-sigma", options->guess_sigma, "SX,SY,SZ,SROLL,SPITCH,SYAW",
            "Tell the server how good the guesses are: standard deviations in metres along the "
            "map's axes and degrees about them, over 0; default: not sent")
      ->check([](const std::string& text) {
        return std::string(ParsePoseSigma(text).status().message());
      });
  AddDefaulted(
      command, "--rate", options->rate_hz, "HZ",
      "Send HZ scans per second without waiting for answers; 0: one scan in flight at a time")
      ->check(CLI::Range(0.0, 1e5));
  CLI::Option* report = AddOutputFile(command, "--report", &options->report,
                                      "Write an HTML report that needs no network");
  AddDefaulted(command, "--report-scans", options->report_scans, "N",
               "Show the points of N scans over the map's cells in the report; 0: none")
      ->check(CLI::Range(0, kMaxReportScans))
      ->needs(report);
  AddOption(command, "--compare", options->compare, "FILE",
            "Compare with another run over the same scans in the report: the JSON that its --json "
            "wrote to FILE")
      ->needs(report);
  command->add_flag("--session-poses", options->session_poses,
                    "Send each guess as a pose of the session, and scans without a guess");
  AddOption(command, "--references", options->references, "FILE",
            "Send the positions in FILE as reference positions, such as GNSS, for the "
            "regularization; format tum, orientations are not used");
  AddFieldFlag(command, "--recovery",
               "Let the server search for the vehicle once lost, with these options, SI units",
               v1::RecoveryOptions::default_instance(), &options->recovery);
  AddDiagnosticsFlag(command, &options->diagnostics);
  AddTraceFlag(command, &options->trace);
  AddScanFlags(command, &options->scan);
  AddAlignmentFlags(command, &options->alignment);
  command->get_option("--calib")->excludes(command->get_option("--base-t-sensor"));
  AddEstimateFlags(command, &options->estimate);
  AddCaptureFlag(command, &options->captures);
  AddServerFlags(command, &options->server);
  command->callback([options, chosen, command] {
    const absl::Status status = CheckReplayFlags(*options, command->count("--guess") > 0);
    if (!status.ok()) throw CLI::ValidationError(std::string(status.message()));
    *chosen = [options] {
      return options->captures.empty()
                 ? Replay(*options)
                 : ReplayCaptures(options->captures, options->map.map, options->server);
    };
  });
}

}  // namespace voxloc::cli
