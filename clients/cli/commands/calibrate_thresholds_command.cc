// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/cli/calibrate/displaced_starts.h"
#include "clients/cli/calibrate/threshold_report.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/replay_flags.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "clients/cli/replay/replay_drive.h"
#include "clients/cpp/admin_client.h"
#include "clients/cpp/align.h"
#include "clients/cpp/messages.h"
#include "core/geometry/euler.h"
#include "core/parallel/thread_pool.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

// Fewer right answers say little: of 20 that are all over a threshold, the interval of the share
// begins at 84 %.
constexpr size_t kLeastRightAnswers = 20;

// In flight at a time, so that the server uses several of its threads.
constexpr size_t kSearchesAtOnce = 4;

struct ThresholdsFlags {
  ServerFlags server;
  MapFlags map;
  DriveFlags drive;
  ScanFlags scan;
  AlignmentFlags alignment;
  std::string sensor;
  ThresholdCriteria criteria;
  std::string name;
  std::string out;
};

// As the server does. Empty: it is allowed.
std::string CheckProfileName(const std::string& name) {
  const bool allowed =
      !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' ||
               c == '-';
      });
  return allowed
             ? ""
             : absl::StrCat("must be 1 to 64 letters, digits, '.', '_' and '-' (got '", name, "')");
}

// The server refuses a file whose profile has such a name.
absl::Status CheckNewName(const std::string& name, const v1::Profile& profile,
                          const v1::GetServerInfoResponse& info) {
  for (const v1::Profile& other : info.profiles()) {
    const bool built_in = other.name() == "autoware" || other.name() == "precise";
    if (other.name() != name || (name == profile.name() && !built_in)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--name must be a name that no other profile of the server and no built-in "
                     "profile has (got '",
                     name, "')"));
  }
  return absl::OkStatus();
}

// Whether the score was compared with the threshold: see AlignmentStatus.
bool IsJudgedByScore(v1::AlignmentStatus status) {
  switch (status) {
    case v1::ALIGNMENT_STATUS_OK:
    case v1::ALIGNMENT_STATUS_LOW_SCORE:
    case v1::ALIGNMENT_STATUS_LOW_OVERLAP:
    case v1::ALIGNMENT_STATUS_LOW_CONFIDENCE:
    case v1::ALIGNMENT_STATUS_AMBIGUOUS:
    case v1::ALIGNMENT_STATUS_DEGENERATE:
      return true;
    default:
      return false;
  }
}

// With the profile as it is, except that every score is over the threshold.
v1::AlignScanRequest RequestFor(const ThresholdsFlags& options,
                                const std::optional<Pose>& base_T_sensor) {
  v1::AlignScanRequest request;
  v1::ScanSetup& setup = *request.mutable_setup();
  options.map.AddTo("voxloc calibrate", &setup);
  options.alignment.AddTo(&setup);
  setup.mutable_options()->set_sensor(options.sensor);
  setup.mutable_options()->mutable_gate()->mutable_score_threshold()->set_value(-kMaxScore);
  if (base_T_sensor.has_value()) client::EncodePose(*base_T_sensor, setup.mutable_base_t_sensor());
  return request;
}

absl::Status AddResult(const v1::AlignmentResult& result, const Pose& known_map_T_base,
                       bool from_pose, const ThresholdCriteria& criteria, DriveScores* scores) {
  const double nvtl = result.scores().nvtl();
  const double tp = result.scores().transform_probability();
  if (!IsJudgedByScore(result.status()) || !(std::max(std::abs(nvtl), std::abs(tp)) < kMaxScore)) {
    ++scores->left_out[client::StatusName(result.status())];
    return absl::OkStatus();
  }
  VOXLOC_ASSIGN_OR_RETURN(const Pose map_T_base, client::DecodePose(result.map_t_base().pose()));
  // 1 where the answer begins to be wrong.
  const double error =
      std::max(TranslationDistance(map_T_base, known_map_T_base) / criteria.wrong_distance_m,
               RotationDistance(map_T_base, known_map_T_base) /
                   (criteria.wrong_angle_deg * kRadiansPerDegree));
  const bool right = error <= 0.5;
  // Answers that came back from displaced starts would count one scan several times.
  if (right ? !from_pose : error <= 1.0) {
    ++scores->not_used;
    return absl::OkStatus();
  }
  auto& answers = right ? scores->right : scores->wrong;
  answers[v1::SCORE_TYPE_NVTL].push_back({nvtl, result.accepted()});
  answers[v1::SCORE_TYPE_TRANSFORM_PROBABILITY].push_back({tp, result.accepted()});
  if (from_pose && !right) ++scores->wrong_from_pose;
  return absl::OkStatus();
}

// Aligns each scan from its known pose and from around it. The rest of `scores` is filled already.
absl::Status ScoreDrive(const ThresholdsFlags& options, const client::Channel& channel,
                        ReplayDrive drive, DriveScores* scores) {
  const double cell_size_m =
      scores->profile.stages(static_cast<int>(scores->profile.score_stage())).cells().cell_size_m();
  v1::AlignScanRequest request = RequestFor(options, drive.base_T_sensor);
  v1::Cloud& cloud = *request.mutable_scan()->add_clouds()->mutable_cloud();
  ProgressBar bar("scoring", "scans", drive.input.scans.size());
  ScanLoader loader(std::move(drive.scans), drive.input.scans, options.scan.filter(), 0, 0);
  ThreadPool pool(kSearchesAtOnce);
  for (const StampedPose& known : drive.input.truth) {
    VOXLOC_ASSIGN_OR_RETURN(const LoadedScan scan, loader.Next());
    cloud.Clear();
    client::EncodeCloud(scan.cloud, &cloud);
    std::vector<Pose> starts =
        DisplacedStarts(known.pose, scores->scans, cell_size_m, options.criteria.farthest_m);
    starts.insert(starts.begin(), known.pose);
    std::vector<absl::StatusOr<v1::AlignmentResult>> results(starts.size());
    pool.ParallelFor(starts.size(), [&](size_t i) {
      v1::AlignScanRequest search = request;
      client::EncodePose(starts[i],
                         search.mutable_scan()->mutable_guess_map_t_base()->mutable_pose());
      results[i] = client::AlignScan(channel, search, options.server.timeout_s);
    });
    for (size_t i = 0; i < results.size(); ++i) {
      VOXLOC_TRY(results[i].status());
      VOXLOC_TRY(AddResult(*results[i], known.pose, i == 0, options.criteria, scores));
    }
    bar.Update(++scores->scans);
  }
  return absl::OkStatus();
}

absl::Status CheckRightAnswers(const DriveScores& scores) {
  const auto found = scores.right.find(scores.profile.score_type());
  const size_t right = found == scores.right.end() ? 0 : found->second.size();
  if (right >= kLeastRightAnswers) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "at least ", kLeastRightAnswers, " scans must be found again from their known poses (got ",
      right, " of ", scores.scans, "; ", scores.wrong_from_pose,
      " ended at a wrong pose; statuses of all searches that have no valid score: ",
      scores.left_out.empty() ? "none"
                              : absl::StrJoin(scores.left_out, ", ", absl::PairFormatter(" ")),
      "). Give a longer drive, or see with voxloc replay why its scans are not found"));
}

absl::StatusOr<ExitCode> CalibrateThresholds(const ThresholdsFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  VOXLOC_ASSIGN_OR_RETURN(const v1::GetServerInfoResponse info,
                          client::GetServerInfo(channel, options.server.timeout_s));
  DriveScores scores;
  scores.drive = options.drive.Name();
  scores.map = options.map.map;
  VOXLOC_ASSIGN_OR_RETURN(scores.profile, ProfileNamed(info, options.map.profile));
  if (!options.out.empty()) VOXLOC_TRY(CheckNewName(options.name, scores.profile, info));
  VOXLOC_ASSIGN_OR_RETURN(ReplayDrive drive, OpenReplayDrive(options.drive, options.scan.read(),
                                                             options.alignment.base_T_sensor));
  VOXLOC_TRY(ScoreDrive(options, channel, std::move(drive), &scores));
  VOXLOC_TRY(CheckRightAnswers(scores));

  const std::vector<ThresholdFinding> findings = FindThresholds(scores, options.criteria);
  const bool recommends = findings.front().recommended.has_value();
  std::string text = ThresholdText(scores, options.criteria, findings);
  if (!options.out.empty() && recommends) {
    const std::string date = absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone());
    VOXLOC_TRY(WriteTextFile(options.out,
                             ProfileWithThreshold(scores, findings.front(), options.name, date)));
  }
  if (!options.out.empty()) {
    absl::StrAppend(&text, "\nprofile ", options.name,
                    recommends ? " written to " : " NOT written to ", options.out, "\n");
  }
  return Report(options.server.json, text, ThresholdJson(scores, options.criteria, findings),
                recommends ? ExitCode::kOk : ExitCode::kNotAccepted);
}

constexpr char kThresholdsManual[] =
    R"(A result is accepted only if its score is over the profile's score_threshold. How high right
answers score depends on the sensor, the map and the cells of the profile. This command aligns
every scan of a drive whose poses you know to be right, from its pose, and from 11 starts around
it, up to --farthest and 180 degrees off, so that some searches end at wrong poses. If the largest
threshold that keeps --keep of the right answers accepts at most --max-wrong of the wrong ones,
the command recommends the midpoint between that threshold and the highest score of a wrong answer
below it. That leaves room for drives on which right answers score lower. Otherwise it says what
would be lost, writes no profile, and the exit code is 4. The poses may be a trajectory that voxloc
found and you have checked.

Give --points, --leaf and the ranges that your vehicles use: scores depend on them. Guesses have
no covariance and there is no odometry, so that a strict profile accepts fewer answers here than
in a session.

Files of poses are those of voxloc replay, and so is --bag.

Example:
  voxloc calibrate thresholds --map town --profile precise --scans drive/scans \
      --poses drive/poses.txt --points 1500 --min-range 1 --name town --out town.yaml
  voxlocd --profile-files=town.yaml
A map that the server had before serves the new profile once it was deleted and loaded again.)";

}  // namespace

void AddCalibrateThresholdsCommand(CLI::App* calibrate, Work* chosen) {
  const auto [command, options] = AddCommand(
      calibrate, chosen, &CalibrateThresholds, "thresholds",
      "Find the score threshold of a profile from a drive with known poses", kThresholdsManual);
  command->preparse_callback([calibrate](size_t /*arguments*/) {
    for (CLI::Option* option : calibrate->get_options()) {
      if (option->count() > 0) {
        throw CLI::ValidationError(option->get_name(), "must come after the word thresholds");
      }
      option->required(false);
    }
  });
  AddMapFlags(command, &options->map);
  AddDriveFlags(command, "Read the right pose of every scan from FILE", &options->drive);
  AddDefaulted(command, "--keep", options->criteria.keep_percent, "PERCENT",
               "Keep this share of the right answers, over 0 to 100 %")
      ->check(CLI::Range(1e-3, 100.0));
  AddDefaulted(command, "--max-wrong", options->criteria.max_wrong_percent, "PERCENT",
               "Recommend a threshold only if at most this share of the wrong answers is accepted "
               "with it, 0 to 100 %")
      ->check(CLI::Range(0.0, 100.0));
  AddDefaulted(command, "--wrong-distance", options->criteria.wrong_distance_m, "M",
               "Take an answer to be wrong if it is farther than M metres from the right pose, and "
               "right within half of that, 0.01 to 100")
      ->check(CLI::Range(0.01, 100.0));
  AddDefaulted(command, "--wrong-angle", options->criteria.wrong_angle_deg, "DEG",
               "The same of its angle, degrees, 0.01 to 90")
      ->check(CLI::Range(0.01, 90.0));
  AddDefaulted(command, "--farthest", options->criteria.farthest_m, "M",
               "Start searches up to M metres from the pose")
      ->check(CLI::Range(0.01, 1e3));
  CLI::Option* out = AddOutputFile(command, "--out", &options->out,
                                   "Write the profile with the threshold to FILE, YAML");
  CLI::Option* name = AddOption(command, "--name", options->name, "NAME",
                                "Give the written profile this name: 1 to 64 letters, digits, "
                                "points, underscores and hyphens")
                          ->check(CheckProfileName);
  out->needs(name);
  name->needs(out);
  AddOptional(command, "--sensor", options->sensor, "NAME",
              "Use the server's calibration of this sensor; default: default");
  AddScanFlags(command, &options->scan);
  AddVehicleFlags(command, &options->alignment);
  command->get_option("--calib")->excludes(command->get_option("--base-t-sensor"));
  AddServerFlags(command, &options->server);
}

}  // namespace voxloc::cli
