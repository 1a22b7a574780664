// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench coverage`: calibration of covariances. Aligns scans with known poses and counts
// how often the error lies inside the 1, 2 and 3 sigma ellipsoids of each method, jointly (against
// the quantiles of chi squared with six degrees of freedom) and axis by axis.

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/engine/profile.h"
#include "core/estimate/covariance/covariance_estimator.h"
#include "core/geometry/covariance.h"
#include "core/geometry/euler.h"
#include "tests/bench/bench_data.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/data_set.h"

namespace voxloc::bench {
namespace {

constexpr size_t kAxes = 6;
constexpr std::array<const char*, kAxes> kAxisNames = {"x", "y", "z", "rx", "ry", "rz"};
constexpr size_t kLevels = 3;
// Quantiles of chi squared, six degrees of freedom, of 68.27, 95.45 and 99.73 %.
constexpr std::array<double, kLevels> kJointQuantiles = {7.0384, 12.8489, 20.0621};
// Scans whose covariances are estimated in one call.
constexpr size_t kBatch = 64;

struct Method {
  CovarianceMethod method;
  const char* name;
};
constexpr std::array<Method, 5> kMethods = {{{CovarianceMethod::kFixed, "fixed"},
                                             {CovarianceMethod::kLaplace, "laplace"},
                                             {CovarianceMethod::kMultiNdt, "multi_ndt"},
                                             {CovarianceMethod::kMultiNdtScore, "multi_ndt_score"},
                                             {CovarianceMethod::kCalibrated, "calibrated"}}};

struct CoverageFlags {
  EngineOptions engine;
  MapOptions map;
  ScanOptions scans;
  std::string profile = "autoware";
  size_t repeats = 1;
  // Of all three axes.
  std::optional<double> systematic_position_m;
  std::optional<double> systematic_rotation_deg;
  std::optional<double> systematic_time_s;
  std::optional<double> systematic_skew_s;
  std::string json;
  std::string dump;
};

SystematicError SystematicErrorOf(const CoverageFlags& flags) {
  SystematicError error;
  if (flags.systematic_position_m) error.position_sigma_m.setConstant(*flags.systematic_position_m);
  if (flags.systematic_rotation_deg) {
    error.rotation_sigma_rad.setConstant(*flags.systematic_rotation_deg * kRadiansPerDegree);
  }
  if (flags.systematic_time_s) error.time_sigma_s = *flags.systematic_time_s;
  if (flags.systematic_skew_s) error.skew_sigma_s = *flags.systematic_skew_s;
  return error;
}

using Vector6 = Eigen::Matrix<double, 6, 1>;

// What one method says of many errors.
struct Coverage {
  size_t count = 0;
  size_t not_positive_definite = 0;  // outside every ellipsoid
  std::array<size_t, kLevels> inside{};
  std::array<std::array<size_t, kLevels>, kAxes> inside_axis{};
  std::array<std::vector<double>, kAxes> sigma;

  void Add(const Vector6& error, const Matrix6& covariance) {
    ++count;
    const Eigen::LLT<Matrix6> factor(covariance);
    const bool definite = factor.info() == Eigen::Success;
    if (!definite) ++not_positive_definite;
    const double distance = definite ? error.dot(factor.solve(error)) : INFINITY;
    for (size_t level = 0; level < kLevels; ++level) {
      if (distance <= kJointQuantiles[level]) ++inside[level];
    }
    for (size_t axis = 0; axis < kAxes; ++axis) {
      const auto i = static_cast<Eigen::Index>(axis);
      const double s = std::sqrt(std::max(0.0, covariance(i, i)));
      sigma[axis].push_back(s);
      for (size_t level = 0; level < kLevels; ++level) {
        if (std::abs(error[i]) <= static_cast<double>(level + 1) * s) ++inside_axis[axis][level];
      }
    }
  }

  [[nodiscard]] double Percent(size_t inside_count) const {
    return 100.0 * static_cast<double>(inside_count) /
           static_cast<double>(std::max<size_t>(1, count));
  }
};

struct Study {
  size_t scans = 0;
  size_t accepted = 0;
  std::string rows;                              // of --dump
  std::array<std::vector<double>, kAxes> error;  // absolute
  std::array<Coverage, kMethods.size()> methods;
};

// Error, covariance and twist in base axes: 6, 36 and 6 numbers; the twist is empty where it is not
// known.
void AddRow(const BenchScan& scan, const Vector6& error, const Matrix6& covariance,
            std::string& rows) {
  const Eigen::Matrix3d base_R_map = scan.map_T_base.rotation.conjugate().toRotationMatrix();
  const Matrix6 turned = RotateCovariance(base_R_map, covariance);
  std::vector<std::string> numbers;
  const auto add = [&](const Eigen::Vector3d& v) {
    for (const double value : v) numbers.push_back(absl::StrFormat("%.9g", value));
  };
  add(base_R_map * error.head<3>());
  add(base_R_map * error.tail<3>());
  for (int row = 0; row < 6; ++row) {
    add(turned.row(row).head<3>());
    add(turned.row(row).tail<3>());
  }
  if (scan.base_twist.has_value()) {
    add(scan.base_twist->linear_m_s);
    add(scan.base_twist->angular_rad_s);
  }
  absl::StrAppend(&rows, absl::StrJoin(numbers, " "), "\n");
}

absl::Status AddRound(Engine& engine, const std::shared_ptr<const ResidentMap>& map,
                      const Profile& profile, const SystematicError& systematic,
                      const std::vector<BenchScan>& scans, Study& study) {
  for (size_t begin = 0; begin < scans.size(); begin += kBatch) {
    const std::vector<AlignJob> jobs =
        AlignJobs(map, absl::MakeConstSpan(scans).subspan(begin, kBatch), profile);
    const std::vector<AlignResult> results = engine.Align(jobs);
    std::vector<size_t> accepted;
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].status.ok()) return results[i].status;
      if (Judge(results[i], profile) == Acceptance::kAccepted) accepted.push_back(i);
    }
    study.scans += results.size();
    study.accepted += accepted.size();
    for (size_t m = 0; m < kMethods.size(); ++m) {
      CovarianceOptions options;
      options.method = kMethods[m].method;
      options.systematic = systematic;
      std::vector<CovarianceRequest> requests;
      for (const size_t i : accepted) {
        requests.push_back({{&jobs[i], &results[i]}, &options, scans[begin + i].base_twist});
      }
      const std::vector<CovarianceReport> reports = EstimateCovariances(engine, requests);
      for (size_t k = 0; k < accepted.size(); ++k) {
        const size_t i = accepted[k];
        const BenchScan& scan = scans[begin + i];
        const Vector6 error = FixedAxesDifference(scan.map_T_base, results[i].map_T_base);
        study.methods[m].Add(error, reports[k].covariance);
        if (options.method == CovarianceMethod::kCalibrated) {
          AddRow(scan, error, reports[k].covariance, study.rows);
        }
      }
    }
    for (const size_t i : accepted) {
      const Vector6 error = FixedAxesDifference(scans[begin + i].map_T_base, results[i].map_T_base);
      for (size_t axis = 0; axis < kAxes; ++axis) {
        study.error[axis].push_back(std::abs(error[static_cast<Eigen::Index>(axis)]));
      }
    }
  }
  return absl::OkStatus();
}

nlohmann::json ReportMethod(const char* name, const Coverage& coverage) {
  nlohmann::json json = {{"name", name}, {"not_positive_definite", coverage.not_positive_definite}};
  std::printf("%-16s", name);
  const auto print = [](const char* what, const std::array<double, kLevels>& percent) {
    std::printf(" | %s %5.1f %5.1f %5.1f", what, percent[0], percent[1], percent[2]);
  };
  std::array<double, kLevels> percent{};
  for (size_t level = 0; level < kLevels; ++level) {
    percent[level] = coverage.Percent(coverage.inside[level]);
  }
  print("joint", percent);
  json["joint_percent"] = percent;
  for (size_t axis = 0; axis < kAxes; ++axis) {
    for (size_t level = 0; level < kLevels; ++level) {
      percent[level] = coverage.Percent(coverage.inside_axis[axis][level]);
    }
    print(kAxisNames[axis], percent);
    json["axis_percent"][kAxisNames[axis]] = percent;
    json["sigma"][kAxisNames[axis]] = ToJson(Summarize(coverage.sigma[axis]));
  }
  std::printf("\n");
  return json;
}

absl::Status RunCoverage(const CoverageFlags& options) {
  const auto bench = MakeBench(options.engine, options.profile, options.map);
  if (!bench.ok()) return bench.status();
  Engine& engine = *bench->engine;
  const Profile& profile = bench->profile;
  const BuiltMap& map = bench->map;

  Study study;
  for (size_t round = 0; round < options.repeats; ++round) {
    ScanOptions scan_options = options.scans;
    scan_options.seed += round;
    const auto scans = LoadScans(scan_options);
    if (!scans.ok()) return scans.status();
    const absl::Status status =
        AddRound(engine, map.resident, profile, SystematicErrorOf(options), *scans, study);
    if (!status.ok()) return status;
  }

  std::printf("profile %s: %zu of %zu alignments accepted\n", profile.name.c_str(), study.accepted,
              study.scans);
  std::printf("inside 1, 2, 3 sigma, %%; nominal 68.3 95.4 99.7\n");
  nlohmann::json methods = nlohmann::json::array();
  for (size_t m = 0; m < kMethods.size(); ++m) {
    methods.push_back(ReportMethod(kMethods[m].name, study.methods[m]));
  }
  nlohmann::json errors;
  std::printf("%-16s", "error p50, p95");
  for (size_t axis = 0; axis < kAxes; ++axis) {
    const Summary error = Summarize(study.error[axis]);
    errors[kAxisNames[axis]] = ToJson(error);
    std::printf(" | %s %.3g %.3g", kAxisNames[axis], 1e3 * error.p50, 1e3 * error.p95);
  }
  std::printf(" mm, mrad\n%-16s", "calibrated sigma");
  for (size_t axis = 0; axis < kAxes; ++axis) {
    const Summary sigma = Summarize(study.methods.back().sigma[axis]);
    std::printf(" | %s %.3g %.3g", kAxisNames[axis], 1e3 * sigma.p50, 1e3 * sigma.p95);
  }
  std::printf(" mm, mrad\n");
  if (!options.dump.empty() && !(std::ofstream(options.dump) << study.rows << std::flush)) {
    return absl::UnavailableError(absl::StrCat("cannot write ", options.dump));
  }
  return WriteJson(options.json, {{"profile", profile.name},
                                  {"alignments", study.scans},
                                  {"accepted", study.accepted},
                                  {"error", errors},
                                  {"methods", methods}});
}

}  // namespace

Command AddCoverageCommand(CLI::App& program) {
  auto options = std::make_shared<CoverageFlags>();
  CLI::App* app = program.add_subcommand(
      "coverage", "Count how many true errors are inside the ellipsoids of the covariances");
  AddEngineFlags(*app, options->engine);
  AddMapFlags(*app, options->map);
  AddScanFlags(*app, options->scans);
  RequireMapAndScans(*app);
  AddProfileFlag(*app, options->profile);
  app->add_option(
         "--repeats", options->repeats,
         "Run this many rounds over all scans, each with the next seed for points and start poses")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app->add_option(
         "--systematic-position", options->systematic_position_m,
         "Add this systematic standard deviation to CALIBRATED, m; default: as shipped; 0: "
         "judge the scan part alone")
      ->check(CLI::Range(0.0, 100.0));
  app->add_option("--systematic-rotation", options->systematic_rotation_deg,
                  "The same about each axis, deg")
      ->check(CLI::Range(0.0, 180.0));
  app->add_option("--systematic-time", options->systematic_time_s,
                  "The same of the time, s; counts where the poses have stamps (--pose-format tum)")
      ->check(CLI::Range(0.0, 10.0));
  app->add_option("--systematic-skew", options->systematic_skew_s,
                  "The same of the motion within a sweep, s; counts as --systematic-time does")
      ->check(CLI::Range(0.0, 10.0));
  app->add_option("--dump", options->dump,
                  "Write each accepted result to FILE, one a line: error (x y z rx ry rz), "
                  "covariance of CALIBRATED (36 values) and twist (6, where known), in base axes")
      ->type_name("FILE");
  AddJsonFlag(*app, options->json);
  return {app, [options] { return RunCoverage(*options); }};
}

}  // namespace voxloc::bench
