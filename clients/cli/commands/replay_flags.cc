// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/commands/replay_flags.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/output/output.h"
#include "clients/cli/results/result_files.h"
#include "core/status/try.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::cli {
namespace {

// Each scan with its points takes about 100 kB of the report.
constexpr int kMaxReportScans = 50;

bool HasGuesses(const ReplayFlags& flags) {
  return !flags.drive.files.guesses.empty() || !flags.drive.bag.guesses_topic.empty();
}

bool IsOrLiesIn(const std::string& output, const std::string& input) {
  std::error_code error;  // of files that are not there, which are not the same
  return std::filesystem::equivalent(output, input, error) ||
         std::filesystem::equivalent(FileBehind(output).parent_path(), input, error);
}

// What is read must not be replaced by what is written. A recording may be a folder.
absl::Status CheckOutputs(const ReplayFlags& flags) {
  std::vector<std::string> inputs = {flags.drive.files.poses, flags.drive.files.guesses,
                                     flags.odometry, flags.references};
  inputs.insert(inputs.end(), flags.drive.bag.paths.begin(), flags.drive.bag.paths.end());
  for (const std::string& output : flags.output) {
    for (const std::string& input : inputs) {
      if (!IsOrLiesIn(output, input)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "--output must be another file than those that are read, and not in a folder that is "
          "read (got ",
          output, ")"));
    }
  }
  return absl::OkStatus();
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
the truth or of --guesses, carried on by the odometry. With --fusion the session fuses its
accepted results with the odometry in a filter, the filter gives the guesses, and every answer
also has the filter's pose.
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
  voxloc replay --map tunnel --scans scans --poses poses.txt --pose-format tum \
      --odometry odometry.txt --fusion --guess-sigma 0.1,0.1,0.1,0.5,0.5,0.5 --json fused.json
  voxloc replay --map yard --scans scans --poses poses.txt --leaf 1.5 --rate 10 --json -
  voxloc replay --map yard --bag drive.mcap --guess previous --report report.html
  voxloc replay --map yard --bag drive.bag --poses-topic /tf --map-frame map \
      --base-frame base_link
  voxloc replay --capture bad.capture --server localhost:50051)";

// How each search starts, and what is sent beside the scans. `bag` is --bag.
void AddGuessFlags(CLI::App* command, CLI::Option* bag, ReplayFlags* flags) {
  command->add_option("--guess", flags->guess, "Start the search for each scan here")
      ->check(CLI::IsMember({"truth", "previous", "odometry"}))
      ->capture_default_str();
  AddOption(command, "--guesses", flags->drive.files.guesses, "FILE",
            "Read the guess of every scan from FILE, in the format of --poses")
      ->excludes(bag);
  AddOption(command, "--guesses-topic", flags->drive.bag.guesses_topic, "TOPIC",
            "Take the guess of every scan from this topic of poses or odometry")
      ->needs(bag);
  AddDefaulted(command, "--point-times", flags->point_times, "FIELD",
               "Send the times of the points, so that the server deskews the scans: `auto` for the "
               "first field that is known, or the name of a field; `none` for no times. Of files, "
               "PCD of DATA binary");
  AddOption(command, "--odometry", flags->odometry, "FILE",
            "Send the odometry in FILE with every scan: poses odom_T_base by their stamps, format "
            "tum, at most 1 s apart around each scan");
  command->add_flag("--fusion", flags->fusion,
                    "Let the session fuse its results with --odometry in a filter, which also "
                    "gives the guesses: implies --guess odometry");
  AddFieldFlag(command, "--fusion-option",
               "Describe the odometry's errors to the filter of --fusion, SI units",
               v1::FusionOptions::default_instance(), &flags->fusion_options)
      ->needs("--fusion");
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

CLI::Option* AddDriveFlags(CLI::App* command, const std::string& poses, DriveFlags* flags) {
  AddOption(command, "--scans", flags->files.scans, "DIR",
            "Send the scans of this directory, clouds in any format of `voxloc map load`")
      ->required();
  AddOption(command, "--poses", flags->files.poses, "FILE",
            absl::StrCat(poses,
                         "; with --bag poses by their stamps, format tum, in place of the "
                         "bag's"))
      ->required();
  AddPoseFormatFlag(command, "--pose-format", "Set the format of the files of poses",
                    &flags->files.pose_format);
  AddCalibrationFlag(command, &flags->files.calibration);
  AddDefaulted(command, "--max-scans", flags->files.max_scans, "N", "Stop after N scans; 0: all");
  CLI::Option* bag = AddBagFlags(command, &flags->bag);
  for (const char* name : {"--scans", "--pose-format", "--calib"}) {
    bag->excludes(command->get_option(name));
  }
  return bag->each([command](const std::string& /*path*/) {
    for (const char* name : {"--scans", "--poses"}) command->get_option(name)->required(false);
  });
}

void AddReferencesFlag(CLI::App* command, ReplayFlags* flags) {
  AddOption(command, "--references", flags->references, "FILE",
            "Send the positions in FILE as reference positions, such as GNSS, for the "
            "regularization; format tum, orientations are not used");
}

void AddReplayFlags(CLI::App* command, ReplayFlags* flags) {
  command->footer(kReplayManual);
  AddMapFlags(command, &flags->map);
  CLI::Option* bag =
      AddDriveFlags(command, "Read the true pose of every scan from FILE", &flags->drive);
  AddGuessFlags(command, bag, flags);
  AddPerturbFlag(command, &flags->perturb);
  AddOption(command, "--guess-sigma", flags->guess_sigma, "SX,SY,SZ,SROLL,SPITCH,SYAW",
            "Tell the server how good the guesses are: standard deviations in metres along the "
            "map's axes and degrees about them, over 0; default: not sent")
      ->check([](const std::string& text) {
        return std::string(ParsePoseSigma(text).status().message());
      });
  AddDefaulted(
      command, "--rate", flags->rate_hz, "HZ",
      "Send HZ scans per second without waiting for answers; 0: one scan in flight at a time")
      ->check(CLI::Range(0.0, 1e5));
  AddResultFilesFlag(command, &flags->output);
  CLI::Option* report = AddOutputFile(command, "--report", &flags->report,
                                      "Write an HTML report that needs no network");
  AddDefaulted(command, "--report-scans", flags->report_scans, "N",
               "Show the points of N scans over the map's cells in the report; 0: none")
      ->check(CLI::Range(0, kMaxReportScans))
      ->needs(report);
  AddOption(command, "--compare", flags->compare, "FILE",
            "Compare with another run over the same scans in the report: the JSON that its --json "
            "wrote to FILE")
      ->needs(report);
  command->add_flag("--session-poses", flags->session_poses,
                    "Send each guess as a pose of the session, and scans without a guess");
  AddReferencesFlag(command, flags);
  AddFieldFlag(command, "--recovery",
               "Let the server search for the vehicle once lost, with these options, SI units",
               v1::RecoveryOptions::default_instance(), &flags->recovery);
  AddDiagnosticsFlag(command, &flags->diagnostics);
  AddTraceFlag(command, &flags->trace);
  AddScanFlags(command, &flags->scan);
  AddAlignmentFlags(command, &flags->alignment);
  command->get_option("--calib")->excludes(command->get_option("--base-t-sensor"));
  AddEstimateFlags(command, &flags->estimate);
  AddCaptureFlag(command, &flags->captures);
  AddServerFlags(command, &flags->server);
}

absl::Status CheckReplayFlags(bool has_guess, ReplayFlags* flags) {
  VOXLOC_TRY(CheckOutputs(*flags));
  if (flags->fusion) {
    if (flags->odometry.empty()) {
      return absl::InvalidArgumentError("--fusion must come with --odometry");
    }
    if (!has_guess) flags->guess = "odometry";
    if (flags->guess != "odometry") {
      return absl::InvalidArgumentError(
          absl::StrCat("--guess must be odometry with --fusion (got ", flags->guess, ")"));
    }
  }
  if (flags->guess == "odometry") {
    if (flags->odometry.empty()) {
      return absl::InvalidArgumentError("--guess odometry must come with --odometry");
    }
    if (flags->session_poses) {
      return absl::InvalidArgumentError("--guess odometry must not come with --session-poses");
    }
  } else if (has_guess && HasGuesses(*flags)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--guess must be odometry with --guesses or --guesses-topic (got ", flags->guess, ")"));
  }
  return absl::OkStatus();
}

GuessSource::Kind GuessKindOf(const ReplayFlags& flags) {
  if (flags.guess == "odometry") return GuessSource::Kind::kOdometry;
  if (HasGuesses(flags)) return GuessSource::Kind::kFile;
  return flags.guess == "previous" ? GuessSource::Kind::kPrevious : GuessSource::Kind::kTruth;
}

std::optional<v1::FusionOptions> FusionOptionsOf(const ReplayFlags& flags) {
  if (!flags.fusion) return std::nullopt;
  v1::FusionOptions options;
  SetFields(flags.fusion_options, &options);
  return options;
}

}  // namespace voxloc::cli
