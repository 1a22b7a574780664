// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/flags/scan_flags.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/flags/value_flag.h"
#include "clients/cli/output/output_file.h"
#include "clients/cli/output/result_text.h"
#include "clients/cli/output/text_table.h"
#include "clients/cpp/align.h"
#include "clients/cpp/messages.h"
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
  std::string guess = "0,0,0,0,0,0";
  std::string file;
};

std::string ResultText(const v1::AlignmentResult& result, const absl::StatusOr<Pose>& pose,
                       double round_trip_ms) {
  std::string text;
  const auto line = [&text](absl::string_view key, absl::string_view value) {
    absl::StrAppend(&text, absl::StrFormat("%-9s %s\n", key, value));
  };
  const std::string status = client::StatusName(result.status());
  line("status", result.detail().empty() ? status : absl::StrCat(status, ": ", result.detail()));
  if (pose.ok()) line("pose", PoseText(*pose));
  if (const std::string sigma = SigmaText(result); !sigma.empty()) line("sigma", sigma);
  if (const std::string shares = SigmaSharesText(SharesOf(result)); !shares.empty()) {
    line("", shares);
  }
  if (const std::string trust = TrustText(result); !trust.empty()) line("trust", trust);
  const v1::Scores& scores = result.scores();
  line("scores", absl::StrFormat("NVTL %.3f   TP %.3f   matched %.1f %%", scores.nvtl(),
                                 scores.transform_probability(), 100.0 * scores.matched_ratio()));
  line("work",
       absl::StrFormat("%d iterations, %s   %s of %s points", result.iterations(),
                       client::TerminationName(result.termination_reason()),
                       Grouped(result.points().used()), Grouped(result.points().received())));
  line("time", absl::StrFormat("%.2f ms round trip, %.2f ms engine (%s)", round_trip_ms,
                               1e3 * result.timings().align_s(), result.engine()));
  line("map", absl::StrCat(result.map(), ", revision ", result.map_revision()));
  if (result.has_no_ground()) {
    const v1::Scores& raised = result.no_ground().scores();
    line("no ground",
         absl::StrFormat("NVTL %.3f   TP %.3f   %s points", raised.nvtl(),
                         raised.transform_probability(), Grouped(result.no_ground().points())));
  }
  if (!result.omitted().empty()) line("omitted", absl::StrJoin(result.omitted(), ", "));
  if (result.has_diagnostics()) absl::StrAppend(&text, DiagnosticsText(result.diagnostics()));
  if (result.has_trace()) absl::StrAppend(&text, "\n", TraceText(result.trace()));
  return text;
}

Json ResultJson(const v1::AlignmentResult& result, const absl::StatusOr<Pose>& pose,
                double round_trip_ms) {
  Json rpy = nullptr;
  if (pose.ok()) rpy = RosNumbers(*pose);
  return {
      {"status", client::StatusName(result.status())},
      {"detail", result.detail()},
      {"accepted", result.accepted()},
      {"pose", pose.ok() ? PoseJson(*pose) : Json(nullptr)},
      {"pose_rpy_deg", rpy},
      {"covariance", result.map_t_base().covariance()},
      {"sigma_shares", SigmaSharesJson(SharesOf(result))},
      {"confidence", result.has_confidence() ? Json(result.confidence().value()) : Json(nullptr)},
      {"protection", ProtectionJson(result)},
      {"unobserved_axes", UnobservedAxes(result)},
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
  setup.set_map(options.map.map);
  setup.set_vehicle("voxloc align");
  setup.mutable_options()->set_profile(options.map.profile);
  options.alignment.AddTo(&setup);
  options.estimate.AddTo(setup.mutable_options(), setup.mutable_output());
  options.output.AddTo(setup.mutable_output());
  client::EncodeCloud(scan, request.mutable_scan()->add_clouds()->mutable_cloud());
  client::EncodePose(guess, request.mutable_scan()->mutable_guess_map_t_base()->mutable_pose());
  const auto sent = std::chrono::steady_clock::now();
  VOXLOC_ASSIGN_OR_RETURN(v1::AlignmentResult result,
                          client::AlignScan(channel, request, options.server.timeout_s));
  const double round_trip_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - sent).count();
  absl::StatusOr<Pose> pose = absl::NotFoundError("no pose");
  if (result.has_map_t_base()) pose = client::DecodePose(result.map_t_base().pose());
  return Report(options.server.json, ResultText(result, pose, round_trip_ms),
                ResultJson(result, pose, round_trip_ms),
                result.accepted() ? ExitCode::kOk : ExitCode::kNotAccepted);
}

}  // namespace

void AddAlignCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<AlignFlags>();
  CLI::App* command = parent->add_subcommand("align", "Find the pose of one scan in a map");
  command->footer(R"(The exit code is 4 if the pose is not accepted.

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
  AddServerFlags(command, &options->server);
  AddScanFile(command, &options->file);
  command->callback([options, chosen] { *chosen = [options] { return Align(*options); }; });
}

}  // namespace voxloc::cli
