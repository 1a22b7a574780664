// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench protection`: whether protection levels hold. Aligns scans in which one cluster of
// points is wrong, and counts errors over their level, by how large the levels are.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/engine/profile.h"
#include "core/engine/search_rules.h"
#include "core/estimate/covariance/cluster_covariance.h"
#include "core/estimate/scan_estimate.h"
#include "core/geometry/euler.h"
#include "core/parallel/processors.h"
#include "core/parallel/thread_pool.h"
#include "core/tracking/verdict.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/data_set.h"
#include "tests/bench/faulty_scan.h"
#include "tests/bench/stanford_diagram.h"

namespace voxloc::bench {
namespace {

constexpr size_t kProtectedBatch = 64;
// How far starts are from the truth, as in the other benchmarks of docs/accuracy.md.
constexpr double kStartM = 0.44;
constexpr double kStartRad = 2.0 * kRadiansPerDegree;
// sigma_angle / sigma_position of a guess, rad per m: 2 degrees with 0.35 m.
constexpr double kGuessRadPerM = 0.1;
// Alarm limits, metres: for staying in a lane, the same minus the car's width, in a parking bay.
constexpr std::array<double, 4> kAlarmLimitsM = {1.5, 0.75, 0.3, 0.15};

struct ProtectionFlags {
  EngineOptions engine;
  std::vector<std::string> sets;
  size_t stride = 1;
  size_t repeats = 10;
  std::string profile = "precise";
  bool no_fault = false;
  double guess_sigma_m = 0.0;  // 0: guesses have no covariance
  ScanProtectionOptions protection;
  std::string diagram;
  std::string json;
};

// Of one direction: along the ground, or upwards.
struct Levels {
  size_t bounded = 0;
  size_t misleading = 0;
  std::vector<double> levels_m;  // infinite ones too
  StanfordDiagram diagram;

  void Add(double error_m, double level_m) {
    levels_m.push_back(level_m);
    diagram.Add(error_m, level_m);
    if (!std::isfinite(level_m)) return;
    ++bounded;
    if (error_m > level_m) ++misleading;
  }
};

struct ProtectionCounts {
  size_t aligned = 0;
  size_t accepted = 0;
  size_t faults_detected = 0;
  size_t excluded = 0;
  Levels horizontal;
  Levels vertical;
};

// Upper 95 % confidence bound of a share (Clopper and Pearson): the p with
// P(X <= misleading) = 0.05 for X ~ Binomial(all, p), by bisection.
double UpperConfidenceBound(size_t misleading, size_t all) {
  double low = 0.0;
  double high = 1.0;
  const auto n = static_cast<double>(all);
  for (int i = 0; i < 60; ++i) {
    const double p = 0.5 * (low + high);
    double below = 0.0;
    for (size_t k = 0; k <= misleading; ++k) {
      const auto at = static_cast<double>(k);
      below += std::exp(std::lgamma(n + 1.0) - std::lgamma(at + 1.0) - std::lgamma(n - at + 1.0) +
                        at * std::log(p) + (n - at) * std::log1p(-p));
    }
    (below > 0.05 ? low : high) = p;
  }
  return high;
}

AlignJob FaultyJob(const LoadedSet& set, const BenchScan& scan, const Profile& profile,
                   const ProtectionFlags& flags, RandomNumbers& random) {
  AlignJob job;
  job.map = set.map;
  job.scan =
      flags.no_fault ? scan.cloud : WithFault(*scan.cloud, ClusterPoints(*scan.cloud), random);
  job.profile = profile;
  const double heading = random.Uniform(-M_PI, M_PI);
  job.map_T_base_guess = scan.map_T_base;
  job.map_T_base_guess.translation +=
      kStartM * Eigen::Vector3d(std::cos(heading), std::sin(heading), 0.0);
  if (flags.guess_sigma_m > 0.0) {
    job.guess_covariance = flags.guess_sigma_m * flags.guess_sigma_m * Matrix6::Identity();
    job.guess_covariance->bottomRightCorner<3, 3>() *= kGuessRadPerM * kGuessRadPerM;
  }
  const Eigen::AngleAxisd turn(random.Uniform(-kStartRad, kStartRad), Eigen::Vector3d::UnitZ());
  job.map_T_base_guess.rotation = (turn * job.map_T_base_guess.rotation).normalized();
  return job;
}

// Whether a session with the default gate would accept the result.
bool IsAccepted(const AlignResult& result, const ScanEstimate& estimate, const Profile& profile) {
  return JudgeResult(result, &estimate, profile, GateOptions(), AcceptanceLimits()).accepted;
}

absl::Status AddProtectedBatch(Engine& engine, ThreadPool& pool, const std::vector<AlignJob>& given,
                               const std::vector<Pose>& truths, const EstimateOptions& options,
                               ProtectionCounts& counts) {
  std::vector<AlignJob> jobs = given;
  std::vector<EstimateRequest> requests(jobs.size());
  pool.ParallelFor(jobs.size(), [&](size_t i) {
    requests[i].options = &options;
    requests[i].features =
        ComputeScanFeatures(*jobs[i].scan, ScanRays(), jobs[i].map_T_base_guess, options);
    RequestPasses(*requests[i].features, jobs[i]);
  });
  const std::vector<AlignResult> results = engine.Align(jobs);
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (!results[i].status.ok()) return results[i].status;
    requests[i].scan = {&jobs[i], &results[i]};
  }
  const std::vector<ScanEstimate> estimates = EstimateScans(engine, requests, &pool);
  for (size_t i = 0; i < jobs.size(); ++i) {
    ++counts.aligned;
    if (!IsAccepted(results[i], estimates[i], jobs[i].profile)) continue;
    ++counts.accepted;
    if (!estimates[i].protection.has_value()) continue;
    const ScanProtection& protection = *estimates[i].protection;
    counts.faults_detected += protection.fault_detected ? 1 : 0;
    counts.excluded += protection.excluded_points > 0 ? 1 : 0;
    const Eigen::Vector3d error = protection.map_T_base.translation - truths[i].translation;
    counts.horizontal.Add(error.head<2>().norm(), protection.horizontal_m);
    counts.vertical.Add(std::abs(error.z()), protection.vertical_m);
  }
  return absl::OkStatus();
}

absl::Status AddProtectedSet(Engine& engine, ThreadPool& pool, const LoadedSet& set,
                             const Profile& profile, const ProtectionFlags& flags,
                             ProtectionCounts& counts) {
  EstimateOptions options;
  options.confidence = false;
  options.protection = flags.protection;
  RandomNumbers random(17);
  std::vector<AlignJob> jobs;
  std::vector<Pose> truths;
  for (size_t repeat = 0; repeat < flags.repeats; ++repeat) {
    for (const BenchScan& scan : set.scans) {
      jobs.push_back(FaultyJob(set, scan, profile, flags, random));
      truths.push_back(scan.map_T_base);
      if (jobs.size() < kProtectedBatch) continue;
      if (absl::Status status = AddProtectedBatch(engine, pool, jobs, truths, options, counts);
          !status.ok()) {
        return status;
      }
      jobs.clear();
      truths.clear();
    }
  }
  return jobs.empty() ? absl::OkStatus()
                      : AddProtectedBatch(engine, pool, jobs, truths, options, counts);
}

nlohmann::json ReportLevels(const char* name, Levels& levels) {
  std::vector<double>& values = levels.levels_m;
  std::sort(values.begin(), values.end());
  const double misleading = static_cast<double>(levels.misleading) /
                            std::max<double>(1.0, static_cast<double>(levels.bounded));
  const double upper =
      levels.bounded == 0 ? 1.0 : UpperConfidenceBound(levels.misleading, levels.bounded);
  std::printf("%-11s misleading %zu of %zu (%.3f %%, at most %.3f %%); level p50 %.3f, p95 %.3f m;",
              name, levels.misleading, levels.bounded, 100.0 * misleading, 100.0 * upper,
              NearestRank(values, 50.0), NearestRank(values, 95.0));
  nlohmann::json available = nlohmann::json::array();
  for (const double limit_m : kAlarmLimitsM) {
    const auto within = std::upper_bound(values.begin(), values.end(), limit_m) - values.begin();
    const double share =
        static_cast<double>(within) / std::max<double>(1.0, static_cast<double>(values.size()));
    std::printf(" %.0f %% up to %g m", 100.0 * share, limit_m);
    available.push_back({{"limit_m", limit_m}, {"share", share}});
  }
  std::printf("\n");
  return {{"misleading", levels.misleading},    {"bounded", levels.bounded},
          {"misleading_upper_95", upper},       {"p50_m", NearestRank(values, 50.0)},
          {"p95_m", NearestRank(values, 95.0)}, {"available", available}};
}

nlohmann::json ReportSet(const std::string& name, ProtectionCounts& counts) {
  std::printf("%s: %zu accepted of %zu, a fault detected in %zu, points left out in %zu\n",
              name.c_str(), counts.accepted, counts.aligned, counts.faults_detected,
              counts.excluded);
  return {{"set", name},
          {"aligned", counts.aligned},
          {"accepted", counts.accepted},
          {"faults_detected", counts.faults_detected},
          {"excluded", counts.excluded},
          {"horizontal", ReportLevels("  horizontal", counts.horizontal)},
          {"vertical", ReportLevels("  vertical", counts.vertical)}};
}

absl::Status WriteDiagram(const std::string& path, const Levels& levels) {
  if (path.empty()) return absl::OkStatus();
  std::ofstream file(path);
  file << levels.diagram.Svg("horizontal error and protection level");
  file.close();
  if (!file) return absl::InternalError(absl::StrCat("cannot write ", path));
  return absl::OkStatus();
}

void Add(const Levels& more, Levels& levels) {
  levels.bounded += more.bounded;
  levels.misleading += more.misleading;
  levels.levels_m.insert(levels.levels_m.end(), more.levels_m.begin(), more.levels_m.end());
  levels.diagram.Add(more.diagram);
}

absl::Status RunProtection(const ProtectionFlags& options) {
  if (absl::Status status = ValidateScanProtectionOptions(options.protection); !status.ok()) {
    return status;
  }
  auto engine = MakeEngine(options.engine);
  if (!engine.ok()) return engine.status();
  const auto profile = ProfileOf(options.profile);
  if (!profile.ok()) return profile.status();
  const auto sets = ParseSets(options.sets);
  if (!sets.ok()) return sets.status();
  ThreadPool pool(options.engine.threads == 0 ? UsableProcessors() : options.engine.threads);
  nlohmann::json reports = nlohmann::json::array();
  ProtectionCounts all;
  for (const DataSet& set : *sets) {
    const auto loaded = LoadSet(**engine, set, {*profile}, options.stride);
    if (!loaded.ok()) return loaded.status();
    ProtectionCounts counts;
    const absl::Status status = AddProtectedSet(**engine, pool, *loaded, *profile, options, counts);
    if (!status.ok()) return status;
    all.aligned += counts.aligned;
    all.accepted += counts.accepted;
    all.faults_detected += counts.faults_detected;
    all.excluded += counts.excluded;
    Add(counts.horizontal, all.horizontal);
    Add(counts.vertical, all.vertical);
    reports.push_back(ReportSet(set.name, counts));
  }
  if (sets->size() > 1) reports.push_back(ReportSet("all", all));
  if (absl::Status status = WriteDiagram(options.diagram, all.horizontal); !status.ok()) {
    return status;
  }
  return WriteJson(options.json, {{"profile", profile->name},
                                  {"risk", options.protection.risk},
                                  {"fault_probability", options.protection.fault_probability},
                                  {"sets", reports}});
}

}  // namespace

Command AddProtectionCommand(CLI::App& program) {
  auto options = std::make_shared<ProtectionFlags>();
  CLI::App* app = program.add_subcommand(
      "protection", "Count errors over their protection level, in scans with a wrong cluster");
  AddEngineFlags(*app, options->engine);
  AddSetFlag(*app, options->sets);
  app->add_option("--stride", options->stride, "Use every Nth scan")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app->add_option("--repeats", options->repeats, "Align each scan so many times, with other faults")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  AddProfileFlag(*app, options->profile);
  app->add_flag("--no-fault", options->no_fault, "Leave the scans as they are");
  app->add_option("--guess-sigma", options->guess_sigma_m,
                  "Give guesses a covariance: this standard deviation of each coordinate, m, and a "
                  "tenth of it in radians of each angle; 0: none")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  app->add_option("--risk", options->protection.risk, "Compute levels for this probability")
      ->capture_default_str();
  app->add_option("--fault-probability", options->protection.fault_probability,
                  "Assume a wrong cluster in this share of the scans")
      ->capture_default_str();
  app->add_option("--diagram", options->diagram,
                  "Write a Stanford diagram of the horizontal levels to this SVG file");
  AddJsonFlag(*app, options->json);
  return {app, [options] { return RunProtection(*options); }};
}

}  // namespace voxloc::bench
