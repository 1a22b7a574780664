// SPDX-License-Identifier: Apache-2.0

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/cli/calibrate/calibration_report.h"
#include "clients/cli/calibrate/innovations.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/result_text.h"
#include "clients/cli/output/terminal.h"
#include "clients/cpp/messages.h"
#include "clients/cpp/session.h"
#include "clients/dataset/cloud_sources.h"
#include "clients/dataset/trajectory_file.h"
#include "core/estimate/calibration/sensor_calibration.h"
#include "core/geometry/euler.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

struct CalibrateFlags {
  ServerFlags server;
  MapFlags map;
  ScanFlags scan;
  AlignmentFlags alignment;
  std::string scans;
  std::string odometry;
  std::string odometry_format = "tum";
  std::string calibration;
  std::string guess;
  std::string sensor;
  std::string out;
  double odometry_drift_percent = 1.0;
  double odometry_turn_deg_per_m = 0.01;
  size_t max_scans = 0;
};

struct CalibrationScan {
  std::string path;
  int64_t stamp_ns = 0;
  Pose odometry_T_base;
};

absl::StatusOr<std::vector<CalibrationScan>> ReadDrive(const CalibrateFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(const TrajectoryFormat format,
                          TrajectoryFormatNamed(options.odometry_format));
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<std::string> files, ListClouds(options.scans));
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<StampedPose> poses,
                          ReadPoses(options.odometry, format, options.calibration));
  if (poses.size() != files.size()) {
    return absl::InvalidArgumentError(absl::StrCat(files.size(), " scans in ", options.scans,
                                                   ", but ", poses.size(), " poses in ",
                                                   options.odometry));
  }
  VOXLOC_ASSIGN_OR_RETURN(const std::string order, PairingOrder(files));
  InputNotes notes{DescribeClouds(files, options.scan.read()), {}};
  notes.remarks.push_back(absl::StrCat("the odometry is paired with the scans ", order));
  if (options.calibration.empty() && options.alignment.base_T_sensor.empty()) {
    if (auto warning = AxesWarning(poses)) notes.warnings.push_back(*std::move(warning));
  }
  PrintNotes(notes);
  std::vector<CalibrationScan> scans;
  for (size_t i = 0; i < files.size(); ++i) {
    if (options.max_scans > 0 && i == options.max_scans) break;
    scans.push_back({files[i], poses[i].stamp_ns, poses[i].pose});
  }
  return scans;
}

// For the scan part of the covariance alone.
absl::StatusOr<std::unique_ptr<client::LocalizationSession>> OpenScanPartSession(
    const CalibrateFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(client::Channel channel, Connect(options.server));
  client::SessionOptions session;
  v1::ScanSetup& setup = *session.open.mutable_setup();
  options.map.AddTo("voxloc calibrate", &setup);
  options.alignment.AddTo(&setup);
  setup.mutable_output()->set_no_confidence(true);
  v1::CovarianceOptions& covariance = *setup.mutable_options()->mutable_covariance();
  covariance.set_method(v1::COVARIANCE_METHOD_CALIBRATED);
  covariance.mutable_scale_factor()->set_value(1.0);
  for (int axis = 0; axis < 3; ++axis) {
    covariance.add_systematic_position_sigma_m(0.0);
    covariance.add_systematic_rotation_sigma_rad(0.0);
  }
  covariance.mutable_systematic_time_sigma_s()->set_value(0.0);
  covariance.mutable_systematic_skew_sigma_s()->set_value(0.0);
  session.open_timeout_s = options.server.timeout_s;
  return client::LocalizationSession::Open(channel, session);
}

struct DriveResult {
  std::vector<DriveAnswer> scans;    // accepted ones that observe all axes
  std::vector<HalvesAnswer> halves;  // where both were accepted as well
  size_t accepted = 0;
};

struct Answer {
  std::optional<Pose> map_T_base;         // nullopt: not accepted
  std::optional<UncertainPose> observed;  // with a covariance, and no axis unobserved
};

// Runs a recorded drive through a session: each scan as it is, then each of its halves, from the
// pose that the scan was found at. The guess of a scan is the last accepted answer, moved by the
// odometry since. One scan is in flight at a time. The session gives the scan part of the
// calibrated covariance alone.
class DriveRunner {
 public:
  DriveRunner(const CalibrateFlags& options, const Pose& first_guess_map_T_base,
              client::LocalizationSession& session)
      : options_(options), first_guess_map_T_base_(first_guess_map_T_base), session_(session) {}

  // The error is one of the scan's file or of the session, or says that an answer is missing.
  absl::Status Add(const CalibrationScan& scan) {
    VOXLOC_ASSIGN_OR_RETURN(const PointCloud cloud, ReadScan(scan.path, options_.scan));
    VOXLOC_ASSIGN_OR_RETURN(const Answer whole, Align(scan, cloud, GuessFor(scan)));
    if (!whole.map_T_base.has_value()) return absl::OkStatus();
    ++answers_.accepted;
    last_map_T_base_ = whole.map_T_base;
    last_odometry_T_base_ = scan.odometry_T_base;
    if (!whole.observed.has_value()) return absl::OkStatus();
    answers_.scans.push_back({scan.stamp_ns, scan.odometry_T_base, *whole.observed});
    return AddHalves(scan, cloud, *whole.map_T_base);
  }

  DriveResult TakeAnswers() { return std::move(answers_); }

 private:
  Pose GuessFor(const CalibrationScan& scan) const {
    if (!last_map_T_base_.has_value()) return first_guess_map_T_base_;
    return *last_map_T_base_ * (last_odometry_T_base_.Inverse() * scan.odometry_T_base);
  }

  absl::Status AddHalves(const CalibrationScan& scan, const PointCloud& cloud,
                         const Pose& map_T_base) {
    const auto [first, second] = SplitInHalves(cloud);
    if (first.empty() || second.empty()) return absl::OkStatus();
    VOXLOC_ASSIGN_OR_RETURN(const Answer one, Align(scan, first, map_T_base));
    VOXLOC_ASSIGN_OR_RETURN(const Answer other, Align(scan, second, map_T_base));
    if (one.observed.has_value() && other.observed.has_value()) {
      answers_.halves.push_back({*one.observed, *other.observed});
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Answer> Align(const CalibrationScan& scan, const PointCloud& cloud,
                               const Pose& guess) {
    client::ScanInput message;
    message.stamp_ns = scan.stamp_ns;
    message.cloud = &cloud;
    message.guess_map_T_base = guess;
    VOXLOC_ASSIGN_OR_RETURN(const uint64_t sequence, session_.Send(message));
    VOXLOC_ASSIGN_OR_RETURN(const v1::AlignmentResult result,
                            session_.ReceiveResultOf(sequence, options_.server.timeout_s));
    Answer answer;
    if (!result.accepted() || !result.has_map_t_base()) return answer;
    VOXLOC_ASSIGN_OR_RETURN(answer.map_T_base, client::DecodePose(result.map_t_base().pose()));
    if (result.map_t_base().covariance_size() == 36 &&
        AxesWith(v1::AXIS_VERDICT_UNOBSERVED, result).empty()) {
      using RowMajor6 = Eigen::Matrix<double, 6, 6, Eigen::RowMajor>;
      answer.observed = {*answer.map_T_base,
                         Eigen::Map<const RowMajor6>(result.map_t_base().covariance().data())};
    }
    return answer;
  }

  const CalibrateFlags& options_;
  const Pose first_guess_map_T_base_;
  client::LocalizationSession& session_;
  DriveResult answers_;
  std::optional<Pose> last_map_T_base_;
  Pose last_odometry_T_base_;
};

absl::StatusOr<DriveResult> RunCalibrationDrive(const CalibrateFlags& options,
                                                const std::vector<CalibrationScan>& scans) {
  Pose first_guess_map_T_base = scans.front().odometry_T_base;
  if (!options.guess.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(first_guess_map_T_base, ParsePoseText(options.guess));
  }
  VOXLOC_ASSIGN_OR_RETURN(const auto session, OpenScanPartSession(options));
  ProgressBar bar("calibrating", "scans", scans.size());
  DriveRunner runner(options, first_guess_map_T_base, *session);
  for (size_t i = 0; i < scans.size(); ++i) {
    VOXLOC_TRY(runner.Add(scans[i]));
    bar.Update(i + 1);
  }
  // The results are here; how the session ends no longer matters.
  session->Close(options.server.timeout_s).IgnoreError();
  return runner.TakeAnswers();
}

absl::StatusOr<ExitCode> Calibrate(const CalibrateFlags& options) {
  SensorCalibrations calibrations;
  if (std::filesystem::exists(options.out)) {
    VOXLOC_ASSIGN_OR_RETURN(calibrations, ReadCalibrationFile(options.out));
  }
  SensorCalibration known;
  if (auto found = calibrations.Find(options.sensor); found.ok()) known = *std::move(found);
  known.name = options.sensor;
  if (absl::Status status = ValidateSensorCalibration(known); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--sensor: ", status.message()));
  }
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<CalibrationScan> scans, ReadDrive(options));
  VOXLOC_ASSIGN_OR_RETURN(const DriveResult answers, RunCalibrationDrive(options, scans));

  const OdometryNoise noise = {0.01 * options.odometry_drift_percent,
                               options.odometry_turn_deg_per_m * kRadiansPerDegree};
  VOXLOC_ASSIGN_OR_RETURN(SystematicEstimate systematic, EstimateSystematic(answers.scans, noise));
  CalibrationEstimate estimates;
  estimates.drive = absl::StrCat(options.scans, " in map ", options.map.map, ", ",
                                 absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone()));
  estimates.scans = scans.size();
  estimates.accepted = answers.accepted;
  estimates.observed = answers.scans.size();
  estimates.halves = answers.halves.size();
  if (estimates.halves > 0) estimates.scan_part_factor = ScanPartFactor(answers.halves);
  estimates.systematic = std::move(systematic);

  const SensorCalibration written = ApplyEstimate(estimates, std::move(known));
  calibrations.Set(written);
  if (!(std::ofstream(options.out) << CalibrationsText(calibrations) << std::flush)) {
    return absl::UnknownError(absl::StrCat("cannot write ", options.out));
  }
  return Report(options.server.json,
                absl::StrCat(CalibrationText(estimates, written), "\nsensor ", options.sensor,
                             " written to ", options.out, "\n"),
                CalibrationJson(estimates));
}

constexpr char kCalibrateManual[] =
    R"(Learns the systematic part of a sensor's covariance from a drive of your own, without a truth:
every scan is aligned from the last answer, moved by the odometry since, and answers are
compared with what earlier ones and the odometry say. It needs odometry that is better than
the errors it is to show over a few metres: say how good yours is. The better it is, the
longer the stretches that are compared, and the more of the map's bend is seen. The time of
the stamps and the skew of the sweeps show where speeds differ: drive slowly and fast. Halves
of each scan judge the scan part of the covariance. What all scans have in common cannot be
seen: configure it.

The odometry has a pose for every scan in the numeric order of the names (2.pcd before
10.pcd), in any fixed frame:
  tum    stamp x y z qx qy qz qw
  kitti  12 numbers of a 3x4 row-major matrix; scan i has the stamp 0.1 s * i
The entry --sensor of the file --out is replaced or added; others stay. Start the server with
--sensor-calibration=FILE, and name the sensor with --sensor or options.sensor.

Example:
  voxloc calibrate --map town --scans drive/scans --odometry drive/odometry.txt \
      --guess 12.5,3.1,1.8,0,0,90 --points 1500 --sensor roof --out sensors.json)";

}  // namespace

void AddCalibrateCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &Calibrate, "calibrate",
      "Learn how large the errors are that the scans of a sensor share", kCalibrateManual);
  AddMapFlags(command, &options->map);
  AddOption(command, "--scans", options->scans, "DIR",
            "Send the scans of this directory, clouds in any format of `voxloc map load`")
      ->required();
  AddOption(command, "--odometry", options->odometry, "FILE",
            "Read the odometry of every scan from FILE")
      ->required();
  AddPoseFormatFlag(command, "--odometry-format", "Set the format of the file of odometry",
                    &options->odometry_format);
  AddCalibrationFlag(command, &options->calibration);
  AddDefaulted(command, "--odometry-drift", options->odometry_drift_percent, "PERCENT",
               "Take the odometry to be wrong by this share of the way along each axis, one "
               "standard deviation, %")
      ->check(CLI::Range(0.0, 100.0));
  AddDefaulted(command, "--odometry-turn", options->odometry_turn_deg_per_m, "DEG",
               "Take it to turn wrongly by this about each axis, deg/m")
      ->check(CLI::Range(0.0, 10.0));
  AddPoseFlag(command, "--guess",
              "Start the search for the first scan here; default: its pose in the odometry",
              &options->guess);
  AddDefaulted(command, "--max-scans", options->max_scans, "N", "Stop after N scans; 0: all");
  AddOption(command, "--sensor", options->sensor, "NAME", "Write the entry of this name")
      ->required();
  AddOutputFile(command, "--out", &options->out, "Write the calibration to this file, JSON")
      ->required();
  AddScanFlags(command, &options->scan);
  AddAlignmentFlags(command, &options->alignment);
  command->get_option("--calib")->excludes(command->get_option("--base-t-sensor"));
  AddServerFlags(command, &options->server);
  AddCalibrateThresholdsCommand(command, chosen);
}

}  // namespace voxloc::cli
