// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/output/message_text.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/result_text.h"
#include "clients/cli/output/terminal.h"
#include "clients/cli/results/result_files.h"
#include "clients/cpp/messages.h"
#include "clients/cpp/search_client.h"
#include "core/geometry/euler.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

constexpr char kSigmaNames[] = "SX,SY,SZ,SROLL,SPITCH,SYAW";
constexpr char kCircleNames[] = "LAT,LON,RADIUS";

// Seconds that the answer may take beyond the search's own time.
constexpr double kGraceS = 10.0;

struct LocateFlags {
  LocateFlags() { server.timeout_s = 60.0; }

  ServerFlags server;
  MapFlags map;
  ScanFlags scan;
  AlignmentFlags alignment;
  std::string prior;
  std::string sigma = "2,2,0.5,1,1,10";
  std::string region;
  std::string region_wgs84;
  double yaw_deg = 0.0;
  double yaw_range_deg = 180.0;
  uint32_t particles = 0;
  uint32_t hypotheses = 0;
  bool report_particles = false;
  std::vector<std::string> result_files;
  std::string file;
};

absl::Status SetPrior(const LocateFlags& options, v1::PoseWithCovariance* prior) {
  VOXLOC_ASSIGN_OR_RETURN(const Pose pose, ParsePoseText(options.prior));
  client::EncodePose(pose, prior->mutable_pose());
  VOXLOC_ASSIGN_OR_RETURN(auto sigmas, ParseSixNumbers(options.sigma, kSigmaNames));
  for (size_t axis = 3; axis < 6; ++axis) sigmas[axis] *= kRadiansPerDegree;
  for (size_t i = 0; i < 36; ++i) {
    prior->add_covariance(i % 7 == 0 ? sigmas[i / 7] * sigmas[i / 7] : 0.0);
  }
  return absl::OkStatus();
}

absl::Status SetRegion(const LocateFlags& options, v1::SearchRegion* region) {
  if (!options.region.empty()) {
    VOXLOC_TRY(ParseBox(options.region, region->mutable_box()));
  } else {
    VOXLOC_ASSIGN_OR_RETURN(const auto numbers,
                            ParseNumbers(options.region_wgs84, kCircleNames, 3, 3));
    region->mutable_wgs84_circle()->set_latitude_deg(numbers[0]);
    region->mutable_wgs84_circle()->set_longitude_deg(numbers[1]);
    region->mutable_wgs84_circle()->set_radius_m(numbers[2]);
  }
  region->set_yaw_rad(options.yaw_deg * kRadiansPerDegree);
  if (options.yaw_range_deg < 180.0) {
    region->set_yaw_half_range_rad(options.yaw_range_deg * kRadiansPerDegree);
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::EstimateInitialPoseRequest> RequestOf(const LocateFlags& options) {
  v1::EstimateInitialPoseRequest request;
  options.map.AddTo("voxloc locate", request.mutable_setup());
  options.alignment.AddTo(request.mutable_setup());
  request.set_report_particles(options.report_particles);
  request.mutable_search()->set_particles(options.particles);
  request.mutable_search()->set_max_hypotheses(options.hypotheses);
  request.mutable_search()->set_seed(options.scan.seed);
  request.set_timeout_s(options.server.timeout_s);
  if (!options.prior.empty()) {
    VOXLOC_TRY(SetPrior(options, request.mutable_prior()));
  } else if (!options.region.empty() || !options.region_wgs84.empty()) {
    VOXLOC_TRY(SetRegion(options, request.mutable_region()));
  } else {
    request.mutable_whole_map();
  }
  return request;
}

absl::StatusOr<ExitCode> Locate(const LocateFlags& options) {
  VOXLOC_ASSIGN_OR_RETURN(v1::EstimateInitialPoseRequest request, RequestOf(options));
  VOXLOC_ASSIGN_OR_RETURN(const PointCloud scan, LoadScan(options.file, options.scan));
  client::EncodeCloud(scan, request.mutable_scan()->add_clouds()->mutable_cloud());
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(options.server));
  const Stopwatch watch;
  std::optional<LiveLine> line(std::in_place, 3.0, 0.1);
  Json particles = Json::array();
  const auto show = [&line, &particles](const v1::SearchProgress& progress) {
    for (const v1::SearchParticle& particle : progress.particles()) {
      particles.push_back(MessageJson(particle));
    }
    if (line->due()) line->Show(SearchProgressText(progress));
    return true;
  };
  const double timeout_s = options.server.timeout_s;
  const absl::StatusOr<v1::SearchResult> result = client::EstimateInitialPose(
      channel, request, show, timeout_s > 0.0 ? timeout_s + kGraceS : 0.0);
  line.reset();  // ends it
  if (!result.ok()) return result.status();
  const double elapsed_s = watch.seconds();
  VOXLOC_TRY(WriteResultFiles(options.result_files, channel, options.map,
                              RowOf(options.file, *result, 1e3 * elapsed_s),
                              options.server.timeout_s));
  Json json = SearchResultJson(*result, elapsed_s);
  json["particles"] = options.report_particles ? particles : Json(nullptr);
  return Report(options.server.json, SearchResultText(*result, elapsed_s), json,
                Located(*result) ? ExitCode::kOk : ExitCode::kNotAccepted);
}

constexpr char kLocateManual[] =
    R"(The search covers the surroundings of a prior, a region or, without both, the whole map. It
returns the poses that explain the scan, best first. Around a prior, every yaw is searched.
A region can be given by latitude and longitude where the map's frame is known (voxloc map
info). When --timeout has passed, the best poses so far are returned. The exit code is 4 if (no)
reliable pose was found, or if another pose explains the scan nearly as well.

Examples:
  voxloc locate --map town --points 1500 --min-range 1 scans/000042.pcd
  voxloc locate --map town --prior 12,-3,0,0,0,90 --sigma 5,5,0.5,1,1,20 scans/000042.pcd
  voxloc locate --map town --region -50,-50,-2,50,50,5 --yaw 90 --yaw-range 30 \
      --json found.json scans/000042.pcd
  voxloc locate --map town --region-wgs84 48.13743,11.57549,50 scans/000042.pcd)";

}  // namespace

void AddLocateCommand(CLI::App* parent, Work* chosen) {
  auto options = std::make_shared<LocateFlags>();
  CLI::App* command =
      parent->add_subcommand("locate", "Find a vehicle with an inaccurate prior or none");
  command->footer(kLocateManual);
  AddMapFlags(command, &options->map);
  CLI::Option* prior =
      AddPoseFlag(command, "--prior", "Search around this pose, metres and degrees, ROS angles",
                  &options->prior);
  AddNumbersFlag(command, "--sigma", kSigmaNames, 6, 6,
                 "Set the standard deviations of the prior, metres and degrees, each over 0",
                 &options->sigma)
      ->needs(prior);
  CLI::Option* region = AddBoxFlag(
      command, "--region", "Search in this box, given by its lower and its upper corner, metres",
      &options->region);
  region->excludes(prior);
  AddNumbersFlag(command, "--region-wgs84", kCircleNames, 3, 3,
                 "Search in the square around this circle: latitude and longitude in degrees "
                 "(WGS84), radius in metres",
                 &options->region_wgs84)
      ->excludes(prior)
      ->excludes(region);
  AddDefaulted(command, "--yaw", options->yaw_deg, "Y",
               "Search headings around this one in the region, degrees")
      ->check(CLI::Range(-360.0, 360.0));
  AddDefaulted(command, "--yaw-range", options->yaw_range_deg, "R",
               "Search headings at most R degrees from --yaw; 180: all")
      ->check(CLI::Range(0.01, 180.0));
  AddDefaulted(command, "--particles", options->particles, "N",
               "Align this many candidates around the prior; 0: the server's default, 200")
      ->needs(prior);
  AddDefaulted(command, "--hypotheses", options->hypotheses, "N",
               "Return at most this many poses; 0: the server's default, 5");
  command->add_flag("--report-particles", options->report_particles,
                    "Write every candidate that was aligned to the JSON");
  AddResultFilesFlag(command, &options->result_files);
  AddScanFlags(command, &options->scan);
  AddAlignmentFlags(command, &options->alignment);
  AddServerFlags(command, &options->server);
  AddScanFile(command, &options->file);
  command->callback([options, chosen, command] {
    for (const char* name : {"--yaw", "--yaw-range"}) {
      if (command->count(name) > 0 && options->region.empty() && options->region_wgs84.empty()) {
        throw CLI::RequiresError(name, "--region or --region-wgs84");
      }
    }
    *chosen = [options] { return Locate(*options); };
  });
}

}  // namespace voxloc::cli
