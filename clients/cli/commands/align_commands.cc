// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/output/message_text.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/result_text.h"
#include "clients/cli/output/terminal.h"
#include "clients/cli/results/result_files.h"
#include "clients/cpp/align.h"
#include "clients/cpp/messages.h"
#include "clients/cpp/score_client.h"
#include "clients/cpp/search_client.h"
#include "clients/dataset/trajectory_file.h"
#include "core/geometry/euler.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

struct AlignFlags {
  ServerFlags server;
  MapFlags map;
  ScanFlags scan;
  AlignmentFlags alignment;
  EstimateFlags estimate;
  OutputFlags output;
  std::vector<std::string> result_files;
  std::string guess = "0,0,0,0,0,0";
  std::string file;
};

std::string ResultText(const v1::AlignmentResult& result, const absl::StatusOr<Pose>& pose,
                       double round_trip_ms) {
  std::string text;
  const auto line = [&text](absl::string_view key, absl::string_view value) {
    absl::StrAppendFormat(&text, "%-9s %s\n", key, value);
  };
  const std::string status = client::StatusName(result.status());
  line("status", result.detail().empty() ? status : absl::StrCat(status, ": ", result.detail()));
  if (pose.ok()) line("pose", PoseText(*pose));
  if (const std::string sigma = SigmaText(result); !sigma.empty()) line("sigma", sigma);
  if (const std::string shares = SigmaSharesText(SharesOf(result)); !shares.empty()) {
    line("", shares);
  }
  if (const std::string trust = ConfidenceText(result); !trust.empty()) line("trust", trust);
  const v1::Scores& scores = result.scores();
  line("scores", absl::StrFormat("NVTL %.3f   TP %.3f   matched %.1f %%", scores.nvtl(),
                                 scores.transform_probability(), 100.0 * scores.matched_ratio()));
  line("work", absl::StrFormat("%d iterations, %s   %s of %s points", result.iterations(),
                               client::TerminationName(result.termination_reason()),
                               GroupDigits(result.points().used()),
                               GroupDigits(result.points().received())));
  line("time", absl::StrFormat("%.2f ms round trip, %.2f ms engine (%s)", round_trip_ms,
                               1e3 * result.timings().align_s(), result.engine()));
  line("map", absl::StrCat(result.map(), ", revision ", result.map_revision()));
  if (result.has_no_ground()) {
    const v1::Scores& raised = result.no_ground().scores();
    line("no ground",
         absl::StrFormat("NVTL %.3f   TP %.3f   %s points", raised.nvtl(),
                         raised.transform_probability(), GroupDigits(result.no_ground().points())));
  }
  if (!result.omitted().empty()) line("omitted", absl::StrJoin(result.omitted(), ", "));
  if (result.has_diagnostics()) absl::StrAppend(&text, DiagnosticsText(result.diagnostics()));
  if (result.has_trace()) absl::StrAppend(&text, "\n", TraceText(result.trace()));
  return text;
}

Json ResultJson(const v1::AlignmentResult& result, const absl::StatusOr<Pose>& pose,
                double round_trip_ms) {
  return {
      {"status", client::StatusName(result.status())},
      {"detail", result.detail()},
      {"accepted", result.accepted()},
      {"pose", pose.ok() ? PoseJson(*pose) : Json(nullptr)},
      {"pose_rpy_deg", pose.ok() ? Json(RosNumbers(*pose)) : Json(nullptr)},
      {"covariance", result.map_t_base().covariance()},
      {"sigma_shares", SigmaSharesJson(SharesOf(result))},
      {"confidence", result.has_confidence() ? Json(result.confidence().value()) : Json(nullptr)},
      {"protection", ProtectionJson(result)},
      {"unobserved_axes", AxesWith(v1::AXIS_VERDICT_UNOBSERVED, result)},
      {"scores", ScoresJson(result.scores())},
      {"iterations", result.iterations()},
      {"evaluations", result.evaluations()},
      {"termination", client::TerminationName(result.termination_reason())},
      {"points_received", result.points().received()},
      {"points_used", result.points().used()},
      {"map", result.map()},
      {"map_revision", result.map_revision()},
      {"engine", result.engine()},
      {"latency_ms", round_trip_ms},
      {"engine_ms", 1e3 * result.timings().align_s()},
      {"trace", TraceJson(result)},
      {"diagnostics", DiagnosticsJson(result)},
      {"points_map", AlignedPointsJson(result)},
      {"point_scores", PointScoresJson(result)},
      {"no_ground", NoGroundJson(result)},
      {"omitted", result.omitted()}};
}

absl::StatusOr<ExitCode> Align(const AlignFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(const Pose guess, ParsePoseText(options.guess));
  VOXLOC_ASSIGN_OR_RETURN(const PointCloud scan, LoadScan(options.file, options.scan));
  VOXLOC_ASSIGN_OR_RETURN(client::Channel channel, Connect(options.server));
  v1::AlignScanRequest request;
  v1::ScanSetup& setup = *request.mutable_setup();
  options.map.AddTo("voxloc align", &setup);
  options.alignment.AddTo(&setup);
  options.estimate.AddTo(setup.mutable_options(), setup.mutable_output());
  options.output.AddTo(setup.mutable_output());
  AddResultOutputs(options.result_files, setup.mutable_output());
  client::EncodeCloud(scan, request.mutable_scan()->add_clouds()->mutable_cloud());
  client::EncodePose(guess, request.mutable_scan()->mutable_guess_map_t_base()->mutable_pose());
  const Stopwatch watch;
  VOXLOC_ASSIGN_OR_RETURN(v1::AlignmentResult result,
                          client::AlignScan(channel, request, options.server.timeout_s));
  const double round_trip_ms = 1e3 * watch.seconds();
  VOXLOC_TRY(WriteResultFiles(options.result_files, channel, options.map,
                              RowOf(options.file, result, round_trip_ms),
                              options.server.timeout_s));
  absl::StatusOr<Pose> pose = absl::NotFoundError("no pose");
  if (result.has_map_t_base()) pose = client::DecodePose(result.map_t_base().pose());
  return Report(options.server.json, ResultText(result, pose, round_trip_ms),
                ResultJson(result, pose, round_trip_ms),
                result.accepted() ? ExitCode::kOk : ExitCode::kNotAccepted);
}

struct ScoreFlags {
  ServerFlags server;
  MapFlags map;
  ScanFlags scan;
  AlignmentFlags alignment;
  bool point_scores = false;
  int stage = -1;  // the profile's score stage
  std::string at = "0,0,0,0,0,0";
  std::string poses;
  std::string pose_format = "kitti";
  std::string file;
};

absl::StatusOr<std::vector<Pose>> PosesOf(const ScoreFlags& options) {
  if (options.poses.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(const Pose pose, ParsePoseText(options.at));
    return std::vector<Pose>{pose};
  }
  VOXLOC_ASSIGN_OR_RETURN(const TrajectoryFormat format,
                          TrajectoryFormatNamed(options.pose_format));
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<StampedPose> trajectory,
                          ReadTrajectory(options.poses, format));
  std::vector<Pose> poses;
  for (const StampedPose& stamped : trajectory) poses.push_back(stamped.pose);
  return poses;
}

// `points`: scores that each pose has for points, 0 where none were asked for.
absl::Status CheckSizes(const v1::PoseScores& scores, size_t poses, size_t points) {
  const auto count = static_cast<int>(poses);
  if (scores.score_size() == count && scores.transform_probability_size() == count &&
      scores.nvtl_size() == count && scores.matched_ratio_size() == count &&
      static_cast<size_t>(scores.point_scores_size()) == poses * points) {
    return absl::OkStatus();
  }
  return absl::InternalError(
      absl::StrCat("the server scored ", scores.score_size(), " of ", poses, " poses"));
}

std::string ScoresText(const std::vector<Pose>& poses, const v1::PoseScores& scores) {
  TextTable table(">pose|>x|>y|>z|>yaw|>NVTL|>TP|>matched");
  for (size_t i = 0; i < poses.size(); ++i) {
    const std::array<double, 6> numbers = RosNumbers(poses[i]);
    const auto at = static_cast<int>(i);
    table.AddRow({absl::StrCat(i), absl::StrFormat("%.3f", numbers[0]),
                  absl::StrFormat("%.3f", numbers[1]), absl::StrFormat("%.3f", numbers[2]),
                  absl::StrFormat("%.2f", numbers[5]), absl::StrFormat("%.3f", scores.nvtl(at)),
                  absl::StrFormat("%.3f", scores.transform_probability(at)),
                  absl::StrFormat("%.1f %%", 100.0 * scores.matched_ratio(at))});
  }
  return table.Text();
}

// `sent`: the points of the scan. Those that the server has used are all of them, in their order,
// unless it has left some out.
Json PoseScoresJson(const ScoreFlags& options, const v1::ScoreReady& ready, const PointCloud& sent,
                    const std::vector<Pose>& poses, const v1::PoseScores& scores) {
  Json rows = Json::array();
  for (size_t i = 0; i < poses.size(); ++i) {
    const auto at = static_cast<int>(i);
    rows.push_back({{"pose", PoseJson(poses[i])},
                    {"score", scores.score(at)},
                    {"transform_probability", scores.transform_probability(at)},
                    {"nvtl", scores.nvtl(at)},
                    {"matched_ratio", scores.matched_ratio(at)},
                    {"point_scores", nullptr}});
    if (!options.point_scores) continue;
    const auto points = static_cast<std::ptrdiff_t>(ready.points().used());
    const auto first = scores.point_scores().begin() + static_cast<std::ptrdiff_t>(i) * points;
    rows.back()["point_scores"] = std::vector<float>(first, first + points);
  }
  return {{"map", options.map.map},
          {"map_revision", ready.map_revision()},
          {"engine", ready.engine()},
          {"points_used", ready.points().used()},
          {"points_sensor", options.point_scores && sent.size() == ready.points().used()
                                ? PointsJson(sent)
                                : Json(nullptr)},
          {"poses", poses.size()},
          {"results", rows}};
}

absl::StatusOr<ExitCode> Score(const ScoreFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<Pose> poses, PosesOf(options));
  VOXLOC_ASSIGN_OR_RETURN(const PointCloud scan, LoadScan(options.file, options.scan));
  VOXLOC_ASSIGN_OR_RETURN(client::Channel channel, Connect(options.server));
  v1::ScoreSetup setup;
  options.map.AddTo("voxloc score", setup.mutable_setup());
  options.alignment.AddTo(setup.mutable_setup());
  setup.mutable_setup()->mutable_output()->set_point_scores(options.point_scores);
  if (options.stage >= 0) setup.mutable_stage()->set_value(static_cast<uint32_t>(options.stage));
  client::EncodeCloud(scan, setup.mutable_scan()->add_clouds()->mutable_cloud());
  VOXLOC_ASSIGN_OR_RETURN(std::unique_ptr<client::ScoreClient> scorer,
                          client::ScoreClient::Open(channel, setup, options.server.timeout_s));
  VOXLOC_ASSIGN_OR_RETURN(v1::PoseScores scores, scorer->Score(poses));
  const size_t points = options.point_scores ? scorer->ready().points().used() : 0;
  VOXLOC_TRY(CheckSizes(scores, poses.size(), points));
  return Report(options.server.json, ScoresText(poses, scores),
                PoseScoresJson(options, scorer->ready(), scan, poses, scores));
}

}  // namespace

void AddAlignCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] =
      AddCommand(parent, chosen, &Align, "align", "Find the pose of one scan in a map",
                 R"(The exit code is 4 if the pose is not accepted.

Examples:
  voxloc align --map town --guess 12.5,-3,0,0,0,90 --leaf 1.5 scans/000042.pcd
  voxloc align --map town --guess 12.5,-3,0,0,0,90 --override max_iterations=40 \
      --gate score_threshold=2.5 --trace --diagnostics scans/000042.pcd)");
  AddMapFlags(command, &options->map);
  AddPoseFlag(command, "--guess", "Start the search at this pose, metres and degrees, ROS angles",
              &options->guess);
  AddScanFlags(command, &options->scan);
  AddAlignmentFlags(command, &options->alignment);
  AddEstimateFlags(command, &options->estimate);
  AddOutputFlags(command, &options->output);
  AddResultFilesFlag(command, &options->result_files);
  AddServerFlags(command, &options->server);
  AddScanFile(command, &options->file);
}

void AddScoreCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &Score, "score", "Report how well a scan fits a map at given poses",
      R"(The poses are scored without an alignment. Of the overrides, outlier_ratio and search_method
have an effect.

Examples:
  voxloc score --map town --at 12.5,-3,0,0,0,90 scans/000042.pcd
  voxloc score --map town --poses candidates.txt --json scores.json scans/000042.pcd)");
  AddMapFlags(command, &options->map);
  AddDefaulted(command, "--stage", options->stage, "N",
               "Score with the cells of stage N of the profile; -1: its score stage")
      ->check(CLI::Range(-1, 1000));
  AddPoseFlag(command, "--at", "Score this pose, metres and degrees, ROS angles", &options->at);
  AddOption(command, "--poses", options->poses, "FILE", "Score every pose of FILE")
      ->excludes("--at");
  AddPoseFormatFlag(command, "--pose-format", "Set the format of the file", &options->pose_format);
  AddPointScoresFlag(command, &options->point_scores);
  AddScanFlags(command, &options->scan);
  AddScoringFlags(command, &options->alignment);
  AddServerFlags(command, &options->server);
  AddScanFile(command, &options->file);
}

}  // namespace voxloc::cli
