// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/replay_flags.h"
#include "clients/cli/commands/replay_session.h"
#include "clients/cli/compare/comparison.h"
#include "clients/cli/compare/recorded_run.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/cli/replay/replay_drive.h"
#include "clients/cli/report/report.h"
#include "clients/dataset/bag/bag.h"
#include "clients/dataset/bag/messages.h"
#include "clients/dataset/trajectory_file.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

constexpr char kCompareManual[] =
    R"(The drive of --bag, in which Autoware's ndt_scan_matcher ran, is sent through a server: every
scan starts at the guess that the node had for it, and voxloc's answer stands beside the node's.
No ROS is needed. Topics are found by the ends of their names and their types:
  scans     .../util/downsample/pointcloud or points_raw, or the only topic with clouds
  poses     ndt_pose_with_covariance, ndt_pose, pose_estimator/pose_with_covariance
  guesses   initial_pose_with_covariance, or the filter's ekf_pose_with_covariance,
            .../biased_pose_with_covariance, interpolated at the scan's stamp
  values    transform_probability, nearest_voxel_transformation_likelihood, iteration_num and
            exe_time_ms in the node's namespace, and /diagnostics; each may be missing
A pose at the stamp of a scan means that the node accepted its result. A scan for which the
node published nothing was not aligned by it and has no verdict.

Without a bag, --scans has the clouds, --guesses one guess for each in their order (tum: stamp x
y z qx qy qz qw), whose stamps are the scans', and --poses the other localizer's accepted poses
by these stamps. --values is a table of numbers separated by commas, whose first line names the
columns: stamp, and any of transform_probability, nvtl, iterations, time_ms.

Differences are voxloc minus recorded, along the axes of the base. The comparison is passed
where the percentile of the differences of position and rotation, the share of scans with the
same verdict, and the share of scans that could be compared are within the thresholds. The exit
code is 4 where they are not. A drive that ends early is not passed.

Examples:
  voxloc compare --map town --bag drive.mcap --report compare.html
  voxloc compare --map town --bag drive --max-position-m 0.05 --json compare.json
  voxloc compare --map town --scans scans --guesses guesses.txt --poses autoware.txt)";

struct CompareFlags {
  ReplayFlags replay;
  RecordedNames names;
  std::string poses;  // files; empty: none
  std::string guesses;
  std::string values;
  CompareThresholds thresholds;
};

// What was recorded. `options`: gets the topics of the scans and the guesses.
absl::StatusOr<RecordedRun> ReadRecordedRun(const CompareFlags& flags, ReplayFlags* options) {
  RecordedRun run;
  if (!options->drive.bag.paths.empty()) {
    RecordedNames names = flags.names;
    names.points_topic = options->drive.bag.points_topic;
    names.poses_topic = std::exchange(options->drive.bag.poses_topic, "");
    VOXLOC_ASSIGN_OR_RETURN(const std::unique_ptr<bag::Bag> bag,
                            bag::OpenBag(options->drive.bag.paths));
    const bag::BagContents& contents = bag->contents();
    VOXLOC_ASSIGN_OR_RETURN(
        const RecordedTopics topics,
        ChooseRecordedTopics(contents, names, flags.poses.empty(), flags.guesses.empty()));
    options->drive.bag.points_topic = contents.topics[topics.points].name;
    if (topics.guesses.has_value()) {
      options->drive.bag.poses_topic = contents.topics[*topics.guesses].name;
    }
    if (topics.poses.has_value()) {
      run.poses = contents.topics[*topics.poses].name;
      absl::FPrintF(stderr, "recorded poses from %s\n",
                    bag::TopicText(contents.topics[*topics.poses]));
    }
    VOXLOC_TRY(ReadRecordedTopics(*bag, topics, &run));
  }
  if (!flags.poses.empty()) {
    run.poses = flags.poses;
    VOXLOC_TRY(ReadRecordedPoses(flags.poses, &run));
  }
  if (!flags.values.empty()) VOXLOC_TRY(ReadRecordedValues(flags.values, &run));
  return run;
}

absl::Status CheckFrames(const RecordedRun& recorded, const ReplayDrive& drive) {
  const std::string frame = drive.bag == nullptr ? "" : drive.bag->map_frame();
  if (recorded.frame.empty() || frame.empty() || recorded.frame == frame) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("poses and guesses must be in one frame (got '",
                                                 recorded.frame, "' in ", recorded.poses, " and '",
                                                 frame, "' in the guesses)"));
}

// The drive's poses were its guesses. Where the recorded localizer has a pose, it takes the place
// of the truth, from which the lines during the replay give the distance.
void SetGuessesApart(const RecordedRun& recorded, ReplayInput* input) {
  for (StampedPose& pose : input->truth) {
    input->guesses.push_back(pose.pose);
    const std::optional<RecordedScan> scan = recorded.At(pose.stamp_ns);
    if (scan.has_value() && scan->map_T_base.has_value()) pose.pose = *scan->map_T_base;
  }
}

absl::StatusOr<ExitCode> Compare(const CompareFlags& flags) {
  const Interrupt interrupt;
  ReplayFlags options = flags.replay;
  VOXLOC_ASSIGN_OR_RETURN(const RecordedRun recorded, ReadRecordedRun(flags, &options));
  options.drive.files.poses = flags.guesses;
  VOXLOC_ASSIGN_OR_RETURN(ReplayDrive drive, OpenReplayDrive(options.drive, options.scan.read(),
                                                             options.alignment.base_T_sensor));
  VOXLOC_TRY(CheckFrames(recorded, drive));
  SetGuessesApart(recorded, &drive.input);
  const size_t planned = drive.input.scans.size();
  VOXLOC_ASSIGN_OR_RETURN(std::vector<StampedPose> references, ReadReferences(options));

  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  const v1::ScanSetup setup = ReplaySetupOf("voxloc compare", options, drive.base_T_sensor);
  VOXLOC_ASSIGN_OR_RETURN(const std::unique_ptr<client::LocalizationSession> session,
                          OpenReplaySession(options, channel, setup));
  ReplaySetting setting = ReplaySettingOf(options, session->opened());
  setting.guess = flags.guesses.empty() ? options.drive.bag.poses_topic : flags.guesses;
  const GuessSource guesses(drive.input, GuessSource::Kind::kFile, std::nullopt, options.scan.seed);
  const Stopwatch watch;
  ReplayOutcome outcome;
  {
    LiveReport live(planned);
    ReplayOptions replay;
    replay.timeout_s = options.server.timeout_s;
    replay.stop = &Interrupt::Requested;
    replay.references = std::move(references);
    replay.on_reply = [&live](const ReplayRow& row, const PointCloud&) { live.Add(row); };
    ScanLoader loader(std::move(drive.scans), drive.input.scans, options.scan.filter(), 0, 0);
    outcome = RunReplay(drive.input, guesses, replay, &loader, session.get());
  }
  setting.elapsed_s = watch.seconds();
  EndReplay(options, channel, planned, session.get(), &outcome, &setting);

  const Comparison comparison = CompareWithRecorded(outcome.rows, recorded, flags.thresholds);
  const ExitCode code = comparison.Passed(setting) ? ExitCode::kOk : ExitCode::kNotAccepted;
  if (outcome.rows.empty() && !outcome.end.ok()) return ReplayExitCode(outcome.end, code);
  const Json json = ComparisonJson(setting, recorded, comparison);
  VOXLOC_TRY(
      Report(options.server.json, ComparisonText(setting, recorded, comparison), json).status());
  if (!options.report.empty()) VOXLOC_TRY(WriteTextFile(options.report, CompareHtml(json)));
  return ReplayExitCode(outcome.end, code);
}

void AddRecordedFlags(CLI::App* command, CompareFlags* flags) {
  AddOption(command, "--scans", flags->replay.drive.files.scans, "DIR",
            "Send the scans of this directory, clouds in any format of `voxloc map load`")
      ->required();
  CLI::Option* const poses =
      AddOption(command, "--poses", flags->poses, "FILE",
                "Compare with the poses in FILE, by their stamps; format tum");
  poses->required();
  CLI::Option* const guesses = AddOption(
      command, "--guesses", flags->guesses, "FILE",
      "Start each scan at a pose in FILE, format tum; without a bag one for each scan, in order");
  guesses->required();
  AddOption(command, "--values", flags->values, "FILE",
            "Compare with the values in FILE too, a table by stamps");
  CLI::Option* const bag = AddBagFlags(command, &flags->replay.drive.bag);
  command->get_option("--points-topic")
      ->description(
          "Take the scans from this topic (sensor_msgs/PointCloud2); default: the cloud that "
          "Autoware's node receives, or the only one");
  command->get_option("--poses-topic")
      ->description(
          "Compare with the poses of this topic (PoseStamped, PoseWithCovarianceStamped); "
          "default: those of Autoware's node")
      ->excludes(poses);
  AddOption(command, "--guesses-topic", flags->names.guesses_topic, "TOPIC",
            "Start each scan at a pose of this topic; default: the guesses of Autoware's node, or "
            "its filter's poses")
      ->needs(bag)
      ->excludes(guesses);
  AddOption(command, "--node-namespace", flags->names.node_namespace, "NAME",
            "Take the scan matcher in this namespace; default: the only one")
      ->needs(bag);
  bag->excludes(command->get_option("--scans"));
  bag->each([command](const std::string& /*path*/) {
    for (const char* name : {"--scans", "--poses", "--guesses"}) {
      command->get_option(name)->required(false);
    }
  });
}

void AddThresholdFlags(CLI::App* command, CompareThresholds* thresholds) {
  AddDefaulted(command, "--max-position-m", thresholds->max_position_m, "M",
               "Pass differences of position up to M metres")
      ->check(CLI::Range(0.0, 1e6));
  AddDefaulted(command, "--max-rotation-deg", thresholds->max_rotation_deg, "DEG",
               "Pass differences of rotation up to DEG degrees")
      ->check(CLI::Range(0.0, 180.0));
  AddDefaulted(command, "--percentile", thresholds->percentile, "P",
               "Apply both to this percentile of the differences, by nearest rank")
      ->check(CLI::Range(0.0, 100.0));
  AddDefaulted(command, "--min-verdict-agreement", thresholds->min_verdict_agreement, "RATIO",
               "Pass if at least this share of the scans has the same verdict")
      ->check(CLI::Range(0.0, 1.0));
  AddDefaulted(command, "--min-compared", thresholds->min_compared, "RATIO",
               "Pass if at least this share of the scans has verdicts of both")
      ->check(CLI::Range(0.0, 1.0));
}

}  // namespace

void AddCompareCommand(CLI::App* parent, const std::string& command_line, Work* chosen) {
  const auto [command, flags] =
      AddCommand(parent, chosen, &Compare, "compare",
                 "Compare voxloc with the localizer that ran in a recorded drive", kCompareManual);
  ReplayFlags& replay = flags->replay;
  replay.command_line = command_line;
  replay.map.profile = "autoware";
  replay.drive.files.pose_format = "tum";
  replay.drive.bag.poses_are = "guesses";
  replay.drive.bag.frames.base = "base_link";  // Autoware's, where poses do not name it
  AddMapFlags(command, &replay.map);
  command->get_option("--profile")->capture_default_str();
  AddRecordedFlags(command, flags);
  command->get_option("--base-frame")->capture_default_str();
  AddReferencesFlag(command, &replay);
  AddThresholdFlags(command, &flags->thresholds);
  AddDefaulted(command, "--max-scans", replay.drive.files.max_scans, "N",
               "Stop after N scans; 0: all");
  AddOutputFile(command, "--report", &replay.report, "Write an HTML report that needs no network");
  AddScanFlags(command, &replay.scan);
  AddAlignmentFlags(command, &replay.alignment);
  AddServerFlags(command, &replay.server);
}

}  // namespace voxloc::cli
