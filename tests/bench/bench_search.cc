// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench search`: time and success rate of the search of the whole map without a prior.

#include <cmath>
#include <cstdio>
#include <memory>

#include "absl/time/clock.h"
#include "core/engine/profile.h"
#include "core/estimate/global_search/global_search.h"
#include "core/geometry/euler.h"
#include "tests/bench/bench_data.h"
#include "tests/bench/bench_options.h"

namespace voxloc::bench {
namespace {

// Turns from scan to scan by the golden angle: evenly over all headings, no two alike.
constexpr double kGoldenAngle = 2.399963229728653;

struct SearchFlags {
  EngineOptions engine;
  MapOptions map;
  ScanOptions scans;
  std::string profile = "precise";
  bool turn = false;
  double max_tilt_deg = 5.0;
  double max_translation_m = 0.5;
  double max_rotation_deg = 2.0;
  double timeout_s = 0.0;
  size_t cache_mb = 1024;
  std::string json;
};

// The scan as a vehicle that stands turned about its own z axis would see it.
BenchScan RotatedScan(const BenchScan& scan, double angle_rad) {
  const Pose base_T_turned = {Eigen::Vector3d::Zero(), Eigen::Quaterniond(Eigen::AngleAxisd(
                                                           angle_rad, Eigen::Vector3d::UnitZ()))};
  BenchScan turned;
  turned.cloud =
      std::make_shared<const PointCloud>(Transform(base_T_turned.Inverse(), *scan.cloud));
  turned.map_T_base = scan.map_T_base * base_T_turned;
  return turned;
}

struct Counts {
  size_t right = 0;
  size_t ambiguous = 0;
  size_t wrong_and_sure = 0;
  size_t among_hypotheses = 0;
};

absl::Status RunSearch(const SearchFlags& options) {
  const auto bench = MakeBench(options.engine, options.profile, options.map);
  if (!bench.ok()) return bench.status();
  Engine& engine = *bench->engine;
  const Profile& profile = bench->profile;
  const BuiltMap& map = bench->map;
  auto scans = LoadScans(options.scans);
  if (!scans.ok()) return scans.status();

  PoseRegion region;
  region.max_tilt_rad = options.max_tilt_deg / kDegreesPerRadian;
  GlobalSearch search(engine, options.cache_mb << 20);
  PoseSearchJob job;
  job.map = map.resident;
  job.profile = profile;
  // The first search fills the grid cache; it is timed separately and its answer is not counted.
  job.scan = scans->front().cloud;
  absl::Status status;
  const double first_ms = TimeMs([&] { status = search.Search(job, region, nullptr).status(); });
  if (!status.ok()) return status;

  Counts counts;
  std::vector<double> search_ms, translation, rotation;
  nlohmann::json rows = nlohmann::json::array();
  for (size_t i = 0; i < scans->size(); ++i) {
    const BenchScan scan = options.turn
                               ? RotatedScan((*scans)[i], kGoldenAngle * static_cast<double>(i))
                               : (*scans)[i];
    job.scan = scan.cloud;
    if (options.timeout_s > 0.0) job.stop.deadline = absl::Now() + absl::Seconds(options.timeout_s);
    absl::StatusOr<PoseSearchResult> found;
    search_ms.push_back(TimeMs([&] { found = search.Search(job, region, nullptr); }));
    if (!found.ok()) return found.status();
    bool right = false;
    bool among = false;
    double first_translation_m = INFINITY;
    double first_rotation_deg = INFINITY;
    const auto& hypotheses = found->ranked.hypotheses;
    for (size_t k = 0; k < hypotheses.size(); ++k) {
      const Pose& pose = hypotheses[k].result.map_T_base;
      const double translation_m = TranslationDistance(pose, scan.map_T_base);
      const double rotation_deg = RotationDistance(pose, scan.map_T_base) * kDegreesPerRadian;
      const bool near =
          translation_m <= options.max_translation_m && rotation_deg <= options.max_rotation_deg;
      among = among || near;
      if (k > 0) continue;
      right = near;
      first_translation_m = translation_m;
      first_rotation_deg = rotation_deg;
    }
    const bool ambiguous = hypotheses.empty() || found->ranked.ambiguous;
    counts.right += right ? 1 : 0;
    counts.ambiguous += ambiguous ? 1 : 0;
    counts.wrong_and_sure += !right && !ambiguous ? 1 : 0;
    counts.among_hypotheses += among ? 1 : 0;
    if (right) {
      translation.push_back(first_translation_m);
      rotation.push_back(first_rotation_deg);
    }
    rows.push_back({{"search_ms", search_ms.back()},
                    {"right", right},
                    {"ambiguous", ambiguous},
                    {"among_hypotheses", among},
                    {"timed_out", found->timed_out},
                    {"hypotheses", hypotheses.size()},
                    {"ambiguity_gap", found->ranked.ambiguity_gap},
                    {"translation_error_m", first_translation_m},
                    {"rotation_error_deg", first_rotation_deg},
                    {"points", scan.cloud->size()},
                    {"nodes", found->candidates_scored},
                    {"aligned", found->candidates_aligned}});
  }
  const Summary time_ms = Summarize(search_ms);
  const Summary translation_m = Summarize(translation);
  const Summary rotation_deg = Summarize(rotation);
  std::printf("engine        %s\n", engine.Info().device.c_str());
  std::printf("map           %zu points, built in %.0f ms; first search %.0f ms\n", map.points,
              map.build_ms, first_ms);
  std::printf("search        mean %.1f  p50 %.1f  p95 %.1f  max %.1f ms\n", time_ms.mean,
              time_ms.p50, time_ms.p95, time_ms.max);
  std::printf("right         %zu of %zu (within %.2f m and %.1f deg), %zu among the hypotheses\n",
              counts.right, scans->size(), options.max_translation_m, options.max_rotation_deg,
              counts.among_hypotheses);
  std::printf("ambiguous     %zu; wrong and not ambiguous %zu\n", counts.ambiguous,
              counts.wrong_and_sure);
  std::printf("translation   p50 %.1f  p95 %.1f  max %.1f mm, of the right ones\n",
              translation_m.p50 * 1e3, translation_m.p95 * 1e3, translation_m.max * 1e3);
  return WriteJson(options.json, {{"engine", engine.Info().name},
                                  {"device", engine.Info().device},
                                  {"profile", profile.name},
                                  {"scans", scans->size()},
                                  {"build_ms", map.build_ms},
                                  {"first_search_ms", first_ms},
                                  {"search_ms", ToJson(time_ms)},
                                  {"right", counts.right},
                                  {"ambiguous", counts.ambiguous},
                                  {"wrong_and_not_ambiguous", counts.wrong_and_sure},
                                  {"among_hypotheses", counts.among_hypotheses},
                                  {"translation_error_m", ToJson(translation_m)},
                                  {"rotation_error_deg", ToJson(rotation_deg)},
                                  {"results", rows}});
}

}  // namespace

Command AddSearchCommand(CLI::App& program) {
  auto options = std::make_shared<SearchFlags>();
  CLI::App* app = program.add_subcommand("search", "Find scans in the whole map without a prior");
  AddEngineFlags(*app, options->engine);
  AddMapFlags(*app, options->map);
  AddScanFlags(*app, options->scans);
  RequireMapAndScans(*app);
  AddProfileFlag(*app, options->profile);
  app->add_flag("--turn", options->turn, "Turn each scan by another angle about its z axis");
  app->add_option("--max-tilt", options->max_tilt_deg,
                  "Search roll and pitch up to this angle, deg")
      ->check(CLI::Range(0.0, 28.0))
      ->capture_default_str();
  app->add_option("--right-within", options->max_translation_m,
                  "Count a result as right up to this error, m")
      ->capture_default_str();
  app->add_option("--right-within-angle", options->max_rotation_deg,
                  "Count a result as right up to this error, deg")
      ->capture_default_str();
  app->add_option("--timeout", options->timeout_s, "End a search after this time, s; 0: no limit")
      ->capture_default_str();
  app->add_option("--cache", options->cache_mb, "Limit the memory of the search grids, MiB")
      ->capture_default_str();
  AddJsonFlag(*app, options->json);
  return {app, [options] { return RunSearch(*options); }};
}

}  // namespace voxloc::bench
