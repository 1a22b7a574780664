// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench initial-pose`: how often, and how fast, the search around a prior finds a vehicle,
// by the number of particles that its guided phase proposes at a time.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "core/engine/profile.h"
#include "core/estimate/initial_pose/prior_search.h"
#include "core/geometry/euler.h"
#include "tests/bench/bench_data.h"
#include "tests/bench/bench_options.h"
#include "tests/support/random_numbers.h"

namespace voxloc::bench {
namespace {

constexpr double kFoundM = 0.5;
constexpr double kFoundRad = 2.0 * kRadiansPerDegree;

struct InitialPoseFlags {
  EngineOptions engine;
  MapOptions map;
  ScanOptions scans;
  std::string profile = "autoware";
  size_t particles = 200;
  size_t startup_trials = 100;
  std::vector<size_t> guided_batches = {1, 10, 20, 50};
  size_t priors = 1;
  double sigma_xy_m = 2.0;
  double sigma_z_m = 0.1;
  double sigma_tilt_deg = 1.0;
  std::string json;
};

// One search with its options and the true pose.
struct SearchCase {
  PoseSearchJob job;
  PriorSearchOptions search;
  Pose map_T_base;
};

// Every scan with `priors` priors, each displaced by a sample of its covariance. Its yaw, which the
// search ignores, is uniform.
std::vector<SearchCase> MakeCases(const std::vector<BenchScan>& scans,
                                  const std::shared_ptr<const ResidentMap>& map,
                                  const Profile& profile, const InitialPoseFlags& options) {
  ParzenPrior::Vector5 sigma;
  sigma << options.sigma_xy_m, options.sigma_xy_m, options.sigma_z_m,
      options.sigma_tilt_deg * kRadiansPerDegree, options.sigma_tilt_deg * kRadiansPerDegree;
  RandomNumbers random(options.scans.seed);
  std::vector<SearchCase> cases;
  for (const BenchScan& scan : scans) {
    for (size_t i = 0; i < options.priors; ++i) {
      SearchCase one;
      one.job.map = map;
      one.job.scan = scan.cloud;
      one.job.profile = profile;
      one.job.seed = options.scans.seed + cases.size();
      one.map_T_base = scan.map_T_base;
      PoseParameters prior = ParametersFromPose(scan.map_T_base);
      for (int axis = 0; axis < 5; ++axis) prior[axis] += sigma[axis] * random.Normal();
      prior[5] = random.Uniform(-M_PI, M_PI);
      one.search.map_T_base = PoseFromParameters(prior);
      one.search.covariance = Matrix6::Identity();
      one.search.covariance.diagonal().head<5>() = sigma.cwiseAbs2();
      one.search.particles = options.particles;
      cases.push_back(std::move(one));
    }
  }
  return cases;
}

struct Shares {
  size_t found = 0;      // the best hypothesis is right
  size_t listed = 0;     // one of the hypotheses is
  size_t deceived = 0;   // the best is wrong, and neither called ambiguous nor unreliable
  size_t ambiguous = 0;  // called so, right or wrong
  double calls = 0.0;    // of the engine
  double evaluations = 0.0;
  std::vector<double> search_ms;
};

bool IsRight(const PoseHypothesis& hypothesis, const Pose& map_T_base) {
  return TranslationDistance(hypothesis.result.map_T_base, map_T_base) < kFoundM &&
         RotationDistance(hypothesis.result.map_T_base, map_T_base) < kFoundRad;
}

absl::StatusOr<Shares> RunCases(Engine& engine, const std::vector<SearchCase>& cases,
                                size_t startup_trials, size_t guided_batch) {
  Shares shares;
  for (const SearchCase& one : cases) {
    PriorSearchOptions search = one.search;
    search.startup_trials = startup_trials;
    search.guided_batch = guided_batch;
    const auto count = [&shares](const PoseSearchProgress& progress) {
      shares.calls += 1.0;
      for (const SearchParticle& particle : progress.particles) {
        shares.evaluations += particle.result.evaluations;
      }
    };
    absl::StatusOr<PoseSearchResult> found;
    shares.search_ms.push_back(
        TimeMs([&] { found = SearchAroundPrior(engine, one.job, search, count); }));
    if (!found.ok()) return found.status();
    const std::vector<PoseHypothesis>& hypotheses = found->ranked.hypotheses;
    const auto right = [&one](const PoseHypothesis& h) { return IsRight(h, one.map_T_base); };
    const bool best_is_right = !hypotheses.empty() && right(hypotheses.front());
    shares.found += best_is_right ? 1 : 0;
    shares.listed += std::any_of(hypotheses.begin(), hypotheses.end(), right) ? 1 : 0;
    shares.deceived += !best_is_right && found->reliable && !found->ranked.ambiguous ? 1 : 0;
    shares.ambiguous += found->ranked.ambiguous ? 1 : 0;
  }
  return shares;
}

absl::Status RunInitialPose(const InitialPoseFlags& options) {
  const auto bench = MakeBench(options.engine, options.profile, options.map);
  if (!bench.ok()) return bench.status();
  Engine& engine = *bench->engine;
  const Profile& profile = bench->profile;
  const BuiltMap& map = bench->map;
  const auto scans = LoadScans(options.scans);
  if (!scans.ok()) return scans.status();
  const std::vector<SearchCase> cases = MakeCases(*scans, map.resident, profile, options);

  std::printf("engine  %s\n", engine.Info().device.c_str());
  std::printf("%zu searches of %zu particles, found within %g m and 2 degrees\n", cases.size(),
              options.particles, kFoundM);
  std::printf("%-10s %7s %7s %9s %9s %7s %9s %9s\n", "method", "found", "listed", "deceived",
              "ambiguous", "calls", "mean ms", "evals");
  const double searches = static_cast<double>(cases.size());
  nlohmann::json rows = nlohmann::json::array();
  // No batch: all particles are drawn from the prior.
  std::vector<size_t> methods = {0};
  methods.insert(methods.end(), options.guided_batches.begin(), options.guided_batches.end());
  for (const size_t guided_batch : methods) {
    const bool random = guided_batch == 0;
    const auto shares = RunCases(engine, cases, random ? options.particles : options.startup_trials,
                                 random ? 1 : guided_batch);
    if (!shares.ok()) return shares.status();
    const std::string name = random ? "random" : absl::StrCat("q=", guided_batch);
    const Summary search_ms = Summarize(shares->search_ms);
    const auto share = [searches](size_t count) { return static_cast<double>(count) / searches; };
    std::printf("%-10s %7.3f %7.3f %9.3f %9.3f %7.1f %9.1f %9.0f\n", name.c_str(),
                share(shares->found), share(shares->listed), share(shares->deceived),
                share(shares->ambiguous), shares->calls / searches, search_ms.mean,
                shares->evaluations / searches);
    rows.push_back({{"method", name},
                    {"found", share(shares->found)},
                    {"listed", share(shares->listed)},
                    {"deceived", share(shares->deceived)},
                    {"ambiguous", share(shares->ambiguous)},
                    {"calls", shares->calls / searches},
                    {"evaluations", shares->evaluations / searches},
                    {"search_ms", ToJson(search_ms)}});
  }
  return WriteJson(options.json, {{"engine", engine.Info().name},
                                  {"device", engine.Info().device},
                                  {"profile", profile.name},
                                  {"searches", cases.size()},
                                  {"particles", options.particles},
                                  {"startup_trials", options.startup_trials},
                                  {"sigma_xy_m", options.sigma_xy_m},
                                  {"sigma_z_m", options.sigma_z_m},
                                  {"sigma_tilt_deg", options.sigma_tilt_deg},
                                  {"methods", rows}});
}

}  // namespace

Command AddInitialPoseCommand(CLI::App& program) {
  auto options = std::make_shared<InitialPoseFlags>();
  CLI::App* app = program.add_subcommand(
      "initial-pose", "Search around priors and compare the results with the truth");
  AddEngineFlags(*app, options->engine);
  AddMapFlags(*app, options->map);
  AddScanFlags(*app, options->scans);
  RequireMapAndScans(*app);
  AddProfileFlag(*app, options->profile);
  app->add_option("--particles", options->particles, "Align this many particles in a search")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app->add_option("--startup", options->startup_trials,
                  "Draw this many of the particles from the prior")
      ->capture_default_str();
  app->add_option("--batches", options->guided_batches,
                  "Compare these batch sizes of the guided phase")
      ->delimiter(',')
      ->capture_default_str();
  app->add_option("--priors", options->priors, "Search from this many priors for each scan")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app->add_option("--sigma-xy", options->sigma_xy_m,
                  "Set the standard deviation of x and y of the priors, m")
      ->capture_default_str();
  app->add_option("--sigma-z", options->sigma_z_m,
                  "Set the standard deviation of z of the priors, m")
      ->capture_default_str();
  app->add_option("--sigma-tilt", options->sigma_tilt_deg,
                  "Set the standard deviation of roll and pitch of the priors, deg")
      ->capture_default_str();
  AddJsonFlag(*app, options->json);
  return {app, [options] { return RunInitialPose(*options); }};
}

}  // namespace voxloc::bench
