// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench quality`: whether confidence tells right poses from wrong ones, beside TP and NVTL:
// the area under the ROC curve over poses of many kinds, all at once and kind by kind.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/engine/profile.h"
#include "core/estimate/scan_estimate.h"
#include "core/geometry/angles.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/data_set.h"
#include "tests/support/random_numbers.h"

namespace voxloc::bench {
namespace {

// A pose is wrong when it is farther from the truth than either.
constexpr double kWrongM = 0.5;
constexpr double kWrongRad = 2.0 * kRadiansPerDegree;
// Another place is at least so far away.
constexpr double kElsewhereM = 15.0;
// Alignments started at other places, the best of which is taken for a wrong street.
constexpr size_t kStreets = 6;

struct QualityFlags {
  EngineOptions engine;
  std::vector<std::string> sets;
  size_t stride = 1;
  std::string profile = "autoware";
  std::string dump;
  std::string json;
};

struct QualityRow {
  std::string kind;
  bool right = false;
  double confidence = 0.0;
  double transform_probability = 0.0;
  QualitySignals signals;
};

// Share of pairs of a right and a wrong pose of which the right one has the higher value.
double AreaUnderCurve(std::vector<std::pair<double, bool>> values) {
  std::sort(values.begin(), values.end());
  double area = 0.0;
  double right = 0.0;
  double wrong = 0.0;
  for (size_t begin = 0; begin < values.size();) {
    size_t end = begin;
    double equal_right = 0.0;
    double equal_wrong = 0.0;
    for (; end < values.size() && values[end].first == values[begin].first; ++end) {
      (values[end].second ? equal_right : equal_wrong) += 1.0;
    }
    area += equal_right * (wrong + 0.5 * equal_wrong);
    right += equal_right;
    wrong += equal_wrong;
    begin = end;
  }
  return right > 0.0 && wrong > 0.0 ? area / (right * wrong) : NAN;
}

std::shared_ptr<const PointCloud> HalfOf(const PointCloud& scan, double from_rad) {
  auto half = std::make_shared<PointCloud>();
  half->origin = scan.origin;
  for (size_t i = 0; i < scan.size(); ++i) {
    const Eigen::Vector3d point = scan.Point(i);
    if (WrapAngle(std::atan2(point.y(), point.x()) - from_rad) < 0.0) continue;
    half->PushBack(scan.x[i], scan.y[i], scan.z[i]);
  }
  return half;
}

Pose Shifted(const Pose& map_T_base, double distance_m, RandomNumbers& random) {
  const double heading = random.Uniform(-M_PI, M_PI);
  Pose shifted = map_T_base;
  shifted.translation += distance_m * Eigen::Vector3d(std::cos(heading), std::sin(heading), 0.0);
  return shifted;
}

Pose TurnedPose(const Pose& map_T_base, double yaw_rad) {
  Pose turned = map_T_base;
  turned.rotation =
      (Eigen::AngleAxisd(yaw_rad, Eigen::Vector3d::UnitZ()) * map_T_base.rotation).normalized();
  return turned;
}

// The poses of one scan that are to be judged.
class ScanCases {
 public:
  ScanCases(const LoadedSet& set, const Profile& profile, size_t index)
      : set_(set), profile_(profile), index_(index), random_(1000 + index) {}

  void Add() {
    const BenchScan& scan = set_.scans[index_];
    const Pose& truth = scan.map_T_base;
    const auto half = HalfOf(*scan.cloud, random_.Uniform(-M_PI, M_PI));
    Job("tracking", scan.cloud, Near(truth));
    Job("half occluded", half, Near(truth));
    for (const double distance_m : {1.0, 2.0, 3.0, 4.5, 6.0}) {
      Job("shifted", scan.cloud, Near(Shifted(truth, distance_m, random_)));
      if (distance_m > 4.0) continue;
      Frozen("frozen", scan.cloud, Shifted(truth, distance_m, random_));
    }
    Frozen("frozen", scan.cloud, Shifted(truth, random_.Uniform(0.0, 0.1), random_));
    Job("half occluded", half, Near(Shifted(truth, random_.Uniform(2.0, 6.0), random_)));
    if (const Pose* other = Elsewhere()) {
      Job("kidnapped", scan.cloud, TurnedPose(*other, random_.Uniform(-M_PI, M_PI)));
      Job("half occluded", half, TurnedPose(*other, random_.Uniform(-M_PI, M_PI)));
    }
  }

  // Starts at other places with the vehicle's own heading.
  std::vector<AlignJob> StreetJobs() {
    std::vector<AlignJob> starts;
    for (size_t i = 0; i < kStreets; ++i) {
      const Pose* other = Elsewhere();
      if (other == nullptr) break;
      Pose guess = *other;
      guess.rotation = set_.scans[index_].map_T_base.rotation;
      starts.push_back(MakeJob(set_.scans[index_].cloud, guess));
    }
    return starts;
  }

  std::vector<std::string> kinds;
  std::vector<AlignJob> jobs;

 private:
  Pose Near(const Pose& pose) {
    return TurnedPose(Shifted(pose, random_.Uniform(0.0, 0.5), random_),
                      random_.Uniform(-0.03, 0.03));
  }

  const Pose* Elsewhere() {
    for (int attempt = 0; attempt < 100; ++attempt) {
      const auto i = static_cast<size_t>(random_.Index(static_cast<int>(set_.scans.size())));
      const Pose& other = set_.scans[i].map_T_base;
      if (TranslationDistance(other, set_.scans[index_].map_T_base) > kElsewhereM) return &other;
    }
    return nullptr;
  }

  AlignJob MakeJob(std::shared_ptr<const PointCloud> scan, const Pose& guess) const {
    AlignJob job;
    job.map = set_.map;
    job.scan = std::move(scan);
    job.map_T_base_guess = guess;
    job.profile = profile_;
    job.work_class = WorkClass::kTracking;
    job.want_point_scores = true;
    return job;
  }

  void Job(const char* kind, std::shared_ptr<const PointCloud> scan, const Pose& guess) {
    kinds.emplace_back(kind);
    jobs.push_back(MakeJob(std::move(scan), guess));
  }

  // Judged where it is: every stage stays.
  void Frozen(const char* kind, std::shared_ptr<const PointCloud> scan, const Pose& pose) {
    Job(kind, std::move(scan), pose);
    for (Stage& stage : jobs.back().profile.stages) {
      stage.max_iterations = 1;
      stage.max_step = 1e-9;
      stage.step_floor = false;
    }
  }

  const LoadedSet& set_;
  const Profile& profile_;
  const size_t index_;
  RandomNumbers random_;
};

absl::Status AddSet(Engine& engine, const LoadedSet& set, const Profile& profile,
                    std::vector<QualityRow>& rows) {
  EstimateOptions options;
  for (size_t i = 0; i < set.scans.size(); ++i) {
    ScanCases cases(set, profile, i);
    cases.Add();
    std::vector<AlignResult> results = engine.Align(cases.jobs);
    const std::vector<AlignJob> streets = cases.StreetJobs();
    const std::vector<AlignResult> street_results = engine.Align(streets);
    if (!streets.empty()) {
      size_t best = 0;
      for (size_t k = 1; k < streets.size(); ++k) {
        if (street_results[k].after.nearest_voxel_likelihood >
            street_results[best].after.nearest_voxel_likelihood) {
          best = k;
        }
      }
      cases.kinds.emplace_back("wrong street");
      cases.jobs.push_back(streets[best]);
      results.push_back(street_results[best]);
    }
    std::vector<EstimateRequest> requests;
    for (size_t k = 0; k < results.size(); ++k) {
      if (!results[k].status.ok()) return results[k].status;
      EstimateRequest& request = requests.emplace_back();
      request.scan = {&cases.jobs[k], &results[k]};
      request.options = &options;
    }
    const std::vector<ScanEstimate> estimates = EstimateScans(engine, requests);
    const Pose& truth = set.scans[i].map_T_base;
    for (size_t k = 0; k < results.size(); ++k) {
      if (!estimates[k].confidence.has_value()) continue;
      QualityRow& row = rows.emplace_back();
      row.kind = cases.kinds[k];
      row.right = TranslationDistance(results[k].map_T_base, truth) <= kWrongM &&
                  RotationDistance(results[k].map_T_base, truth) <= kWrongRad;
      row.confidence = estimates[k].confidence->value;
      row.signals = estimates[k].confidence->signals;
      row.transform_probability = results[k].after.transform_probability;
    }
  }
  return absl::OkStatus();
}

// Areas of confidence, TP and NVTL. `kind` decides the wrong poses; right ones are all of these.
nlohmann::json ReportKind(const std::vector<QualityRow>& rows, const std::string& kind) {
  std::array<std::vector<std::pair<double, bool>>, 3> values;
  size_t right = 0;
  size_t wrong = 0;
  for (const QualityRow& row : rows) {
    if (!kind.empty() && row.kind != kind && !(row.kind == "tracking" && row.right)) continue;
    ++(row.right ? right : wrong);
    values[0].emplace_back(row.confidence, row.right);
    values[1].emplace_back(row.transform_probability, row.right);
    values[2].emplace_back(row.signals.nvtl, row.right);
  }
  const std::array<double, 3> area = {AreaUnderCurve(values[0]), AreaUnderCurve(values[1]),
                                      AreaUnderCurve(values[2])};
  std::printf("%-16s %6zu %6zu   %.4f  %.4f  %.4f\n", kind.empty() ? "all" : kind.c_str(), right,
              wrong, area[0], area[1], area[2]);
  return {{"kind", kind.empty() ? "all" : kind},
          {"right", right},
          {"wrong", wrong},
          {"confidence", area[0]},
          {"tp", area[1]},
          {"nvtl", area[2]}};
}

absl::Status WriteDump(const std::string& path, const std::vector<QualityRow>& rows) {
  if (path.empty()) return absl::OkStatus();
  std::ofstream file(path);
  file << "kind right confidence tp nvtl matched_ratio matched_points mean_fit residual_ratio "
          "sharp_ratio raised_points raised_ratio sector_coverage sector_agreement rays "
          "seen_through_ratio condition\n";
  for (const QualityRow& row : rows) {
    const QualitySignals& s = row.signals;
    std::string kind = row.kind;
    std::replace(kind.begin(), kind.end(), ' ', '_');
    file << kind << ' ' << row.right << ' ' << row.confidence << ' ' << row.transform_probability
         << ' ' << s.nvtl << ' ' << s.matched_ratio << ' ' << s.matched_points << ' ' << s.mean_fit
         << ' ' << s.residual_ratio << ' ' << s.sharp_ratio << ' ' << s.raised_points << ' '
         << s.raised_ratio << ' ' << s.sector_coverage << ' ' << s.sector_agreement << ' ' << s.rays
         << ' ' << s.seen_through_ratio << ' ' << s.condition << '\n';
  }
  file.close();
  if (!file) return absl::InternalError(absl::StrCat("cannot write ", path));
  return absl::OkStatus();
}

absl::Status RunQuality(const QualityFlags& options) {
  auto engine = MakeEngine(options.engine);
  if (!engine.ok()) return engine.status();
  const auto profile = ProfileOf(options.profile);
  if (!profile.ok()) return profile.status();
  const auto sets = ParseSets(options.sets);
  if (!sets.ok()) return sets.status();
  std::vector<QualityRow> rows;
  for (const DataSet& set : *sets) {
    const auto loaded = LoadSet(**engine, set, {*profile}, options.stride);
    if (!loaded.ok()) return loaded.status();
    const absl::Status status = AddSet(**engine, *loaded, *profile, rows);
    if (!status.ok()) return status;
  }
  std::printf("profile %s; area under the ROC curve\n", profile->name.c_str());
  std::printf("%-16s %6s %6s   %-6s  %-6s  %-6s\n", "wrong poses", "right", "wrong", "conf.", "TP",
              "NVTL");
  nlohmann::json kinds = nlohmann::json::array();
  for (const char* kind : {"", "kidnapped", "wrong street", "half occluded", "shifted", "frozen"}) {
    kinds.push_back(ReportKind(rows, kind));
  }
  if (absl::Status status = WriteDump(options.dump, rows); !status.ok()) return status;
  return WriteJson(options.json, {{"profile", profile->name}, {"kinds", kinds}});
}

}  // namespace

Command AddQualityCommand(CLI::App& program) {
  auto options = std::make_shared<QualityFlags>();
  CLI::App* app = program.add_subcommand(
      "quality", "Compare how well confidence, TP and NVTL separate right poses from wrong ones");
  AddEngineFlags(*app, options->engine);
  AddSetFlag(*app, options->sets);
  app->add_option("--stride", options->stride, "Use every Nth scan")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  AddProfileFlag(*app, options->profile);
  app->add_option("--dump", options->dump, "Write one line per pose with all signals to this file");
  AddJsonFlag(*app, options->json);
  return {app, [options] { return RunQuality(*options); }};
}

}  // namespace voxloc::bench
