// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/quality_cases.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "core/engine/search_rules.h"
#include "core/estimate/covariance/calibrated_covariance.h"
#include "core/estimate/initial_pose/pose_search.h"
#include "core/geometry/covariance.h"
#include "core/geometry/euler.h"
#include "tests/support/random_numbers.h"

namespace voxloc::bench {
namespace {

constexpr double kRightM = 0.15;
constexpr double kRightRad = 0.5 * kRadiansPerDegree;
// Another place is at least so far away.
constexpr double kMinDistantM = 15.0;
// Alignments from other places; the best one is the case `wrong street`.
constexpr size_t kStreets = 4;
// Between two storeys of a garage or a flat.
constexpr double kStoreyM = 2.7;
// A distinct place with at least this share of the likelihood at the truth is indistinguishable
// from it: right answers differ by up to 2 % themselves.
constexpr double kIndistinguishableRatio = 0.98;

// The scan without its points in the half turn from the angle on, or without the other half if that
// leaves nearly nothing.
std::shared_ptr<const PointCloud> KeepHalfTurn(const PointCloud& scan, double from_rad) {
  const auto visible = [&](double side) {
    auto half = std::make_shared<PointCloud>();
    half->origin = scan.origin;
    for (size_t i = 0; i < scan.size(); ++i) {
      const Eigen::Vector3d point = scan.Point(i);
      if (side * WrapAngle(std::atan2(point.y(), point.x()) - from_rad) < 0.0) continue;
      half->PushBack(scan.x[i], scan.y[i], scan.z[i]);
    }
    return half;
  };
  const auto half = visible(1.0);
  return 4 * half->size() >= scan.size() ? half : visible(-1.0);
}

// The direction of a point of the scan: a sensor may not see all around.
double RandomDirection(const PointCloud& scan, RandomNumbers& random) {
  const Eigen::Vector3d point =
      scan.Point(static_cast<size_t>(random.Index(static_cast<int>(scan.size()))));
  return std::atan2(point.y(), point.x());
}

Pose Shifted(const Pose& map_T_base, const Eigen::Vector3d& by_m) {
  return {map_T_base.translation + by_m, map_T_base.rotation};
}

Pose RotatedPose(const Pose& map_T_base, const Eigen::Vector3d& axis, double angle_rad) {
  const Eigen::Quaterniond turn(Eigen::AngleAxisd(angle_rad, axis.normalized()));
  return {map_T_base.translation, (turn * map_T_base.rotation).normalized()};
}

// The cases of one scan.
class ScanCases {
 public:
  ScanCases(Engine& engine, const LoadedSet& set, const Profile& profile, size_t index)
      : engine_(engine),
        set_(set),
        profile_(profile),
        scan_(set.scans[index]),
        truth_(scan_.map_T_base),
        random_(1000 + index),
        half_(KeepHalfTurn(*scan_.cloud, RandomDirection(*scan_.cloud, random_))) {
    options_.covariance.method = CovarianceMethod::kFixed;
  }

  absl::Status AddTo(std::vector<QualityCase>& cases) {
    Plan();
    if (absl::Status status = AlignAll(); !status.ok()) return status;
    if (absl::Status status = AddStreet(); !status.ok()) return status;
    if (absl::Status status = AddDisplaced(); !status.ok()) return status;
    return Judge(cases);
  }

 private:
  // Values at the true pose, for all or half of the points.
  struct TruthReference {
    double nvtl = 0.0;
    std::optional<Degeneracy> degeneracy;
  };

  void Plan() {
    Align("tracking", scan_.cloud, Perturb(truth_));
    Align("half occluded", half_, Perturb(truth_));
    Align("half occluded", half_,
          Perturb(Shifted(truth_, RandomOffset(random_.Uniform(2.0, 6.0)))));
    Align("wrong storey", scan_.cloud,
          Perturb(Shifted(truth_, {0.0, 0.0, random_.Index(2) == 0 ? kStoreyM : -kStoreyM})));
    for (int i = 0; i < 2; ++i) {
      Align("shifted", scan_.cloud, Perturb(Shifted(truth_, RandomOffset(LogUniform(0.5, 6.0)))));
    }
    if (const Pose* other = RandomDistantPose()) {
      const Eigen::Vector3d up = Eigen::Vector3d::UnitZ();
      Align("kidnapped", scan_.cloud, RotatedPose(*other, up, random_.Uniform(-M_PI, M_PI)));
      Align("half occluded", half_, RotatedPose(*other, up, random_.Uniform(-M_PI, M_PI)));
    }
  }

  absl::Status AlignAll() {
    results_ = engine_.Align(jobs_);
    for (const AlignResult& result : results_) {
      if (!result.status.ok()) return result.status;
    }
    return absl::OkStatus();
  }

  // From starts at other places with the vehicle's own heading.
  absl::Status AddStreet() {
    std::vector<AlignJob> starts;
    for (size_t i = 0; i < kStreets; ++i) {
      const Pose* other = RandomDistantPose();
      if (other == nullptr) return absl::OkStatus();
      starts.push_back(JobOf(scan_.cloud, {other->translation, truth_.rotation}));
    }
    const std::vector<AlignResult> results = engine_.Align(starts);
    size_t best = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].status.ok()) return results[i].status;
      if (results[i].after.nearest_voxel_likelihood >
          results[best].after.nearest_voxel_likelihood) {
        best = i;
      }
    }
    kinds_.emplace_back("wrong street");
    jobs_.push_back(starts[best]);
    results_.push_back(results[best]);
    return absl::OkStatus();
  }

  // Not aligned; as if the search had ended there.
  absl::Status AddDisplaced() {
    const auto turn = [&](double degrees) { return degrees * kRadiansPerDegree; };
    const Eigen::Vector3d axis = random_.NormalVector();
    const std::vector<Pose> beside = {
        Shifted(truth_, RandomOffset(LogUniform(kRightM, 1.0))),
        RotatedPose(Shifted(truth_, LogUniform(kRightM, 1.0) * random_.NormalVector().normalized()),
                    axis, random_.Uniform(0.0, turn(2.0))),
        RotatedPose(truth_, Eigen::Vector3d::UnitZ() + 0.1 * random_.NormalVector(),
                    LogUniform(kRightRad, turn(5.0)))};
    for (const Pose& pose : beside) AddUnaligned("beside", scan_.cloud, pose);
    return absl::OkStatus();
  }

  absl::Status Judge(std::vector<QualityCase>& cases) {
    const size_t poses = jobs_.size();
    AddUnaligned("", scan_.cloud, truth_);
    AddUnaligned("", half_, truth_);
    if (absl::Status status = ScoreUnaligned(); !status.ok()) return status;
    std::vector<EstimateRequest> requests(jobs_.size());
    for (size_t k = 0; k < jobs_.size(); ++k) {
      requests[k].scan = {&jobs_[k], &results_[k]};
      requests[k].options = &options_;
    }
    const std::vector<ScanEstimate> estimates = EstimateScans(engine_, requests);
    const TruthReference full = {results_[poses].after.nearest_voxel_likelihood,
                                 estimates[poses].degeneracy};
    const TruthReference half = {results_[poses + 1].after.nearest_voxel_likelihood,
                                 estimates[poses + 1].degeneracy};
    for (size_t k = 0; k < poses; ++k) {
      const TruthReference& truth_reference = jobs_[k].scan == half_ ? half : full;
      if (!estimates[k].confidence.has_value() || !truth_reference.degeneracy.has_value()) continue;
      QualityCase& found = cases.emplace_back();
      found.set = set_.name;
      found.kind = kinds_[k];
      found.confidence = *estimates[k].confidence;
      found.transform_probability = results_[k].after.transform_probability;
      found.nvtl = results_[k].after.nearest_voxel_likelihood;
      found.likelihood_share = found.nvtl / truth_reference.nvtl;
      found.degenerate = truth_reference.degeneracy->degenerate();
      Compare(results_[k].map_T_base, *truth_reference.degeneracy, found);
    }
    return absl::OkStatus();
  }

  void Compare(const Pose& map_T_base, const Degeneracy& degeneracy, QualityCase& found) const {
    using Column6 = Eigen::Matrix<double, 6, 1>;
    Column6 error = FixedAxesDifference(truth_, map_T_base);
    error.tail<3>() *= degeneracy.rotation_scale_m;
    Column6 observed = Column6::Zero();
    const double least = kDegeneracyLimits.unobserved_ratio * degeneracy.eigenvalues[5];
    for (int i = 0; i < 6; ++i) {
      if (!(degeneracy.eigenvalues[i] > least)) continue;
      const Column6 direction = degeneracy.eigenvectors.col(i);
      observed += direction.dot(error) * direction;
    }
    found.distance_m = observed.head<3>().norm();
    found.angle_rad = observed.tail<3>().norm() / degeneracy.rotation_scale_m;
    const HypothesisOptions distinct;
    const bool elsewhere = TranslationDistance(map_T_base, truth_) >= distinct.min_separation_m ||
                           RotationDistance(map_T_base, truth_) >= distinct.min_separation_rad;
    const bool right = found.distance_m <= kRightM && found.angle_rad <= kRightRad;
    const double least_share = elsewhere ? 1.0 - distinct.ambiguity_gap : 1.0;
    found.explains_as_well = !right && found.likelihood_share >= least_share;
    if (elsewhere && (right || found.likelihood_share >= kIndistinguishableRatio)) {
      found.truth = Truth::kIndistinguishable;
    } else if (found.kind == "beside" && right) {
      found.truth = Truth::kExcluded;
    } else {
      found.truth = right ? Truth::kRight : Truth::kWrong;
    }
  }

  Pose Perturb(const Pose& pose) {
    return RotatedPose(Shifted(pose, RandomOffset(random_.Uniform(0.0, 0.5))),
                       Eigen::Vector3d::UnitZ(), random_.Uniform(-2.0, 2.0) * kRadiansPerDegree);
  }

  Eigen::Vector3d RandomOffset(double distance_m) {
    const double heading = random_.Uniform(-M_PI, M_PI);
    return distance_m * Eigen::Vector3d(std::cos(heading), std::sin(heading), 0.0);
  }

  double LogUniform(double low, double high) {
    return std::exp(random_.Uniform(std::log(low), std::log(high)));
  }

  const Pose* RandomDistantPose() {
    for (int attempt = 0; attempt < 100; ++attempt) {
      const auto i = static_cast<size_t>(random_.Index(static_cast<int>(set_.scans.size())));
      const Pose& other = set_.scans[i].map_T_base;
      if (TranslationDistance(other, truth_) > kMinDistantM) return &other;
    }
    return nullptr;
  }

  [[nodiscard]] AlignJob JobOf(std::shared_ptr<const PointCloud> scan, const Pose& guess) const {
    AlignJob job;
    job.map = set_.map;
    job.scan = std::move(scan);
    job.map_T_base_guess = guess;
    job.profile = profile_;
    job.work_class = WorkClass::kTracking;
    return job;
  }

  void Align(const char* kind, std::shared_ptr<const PointCloud> scan, const Pose& guess) {
    kinds_.emplace_back(kind);
    jobs_.push_back(JobOf(std::move(scan), guess));
  }

  void AddUnaligned(const char* kind, std::shared_ptr<const PointCloud> scan, const Pose& pose) {
    Align(kind, std::move(scan), pose);
    AlignResult& result = results_.emplace_back();
    result.map_T_base = pose;
    result.stage = static_cast<int>(profile_.stages.size()) - 1;
    unaligned_.push_back(results_.size() - 1);
  }

  absl::Status ScoreUnaligned() {
    for (const size_t k : unaligned_) {
      ScoreRequest request;
      request.map = set_.map;
      request.scan = jobs_[k].scan;
      request.map_T_base = {results_[k].map_T_base};
      request.stage = profile_.stages[profile_.score_stage];
      const absl::StatusOr<ScoreResult> scores = engine_.Score(request);
      if (!scores.ok()) return scores.status();
      results_[k].before = results_[k].after = scores->poses[0];
    }
    return absl::OkStatus();
  }

  Engine& engine_;
  const LoadedSet& set_;
  const Profile& profile_;
  const BenchScan& scan_;
  const Pose truth_;
  RandomNumbers random_;
  const std::shared_ptr<const PointCloud> half_;
  EstimateOptions options_;
  std::vector<std::string> kinds_;
  std::vector<AlignJob> jobs_;
  std::vector<AlignResult> results_;
  std::vector<size_t> unaligned_;
};

}  // namespace

const std::vector<std::string> kQualityKinds = {
    "tracking", "half occluded", "beside", "wrong storey", "shifted", "kidnapped", "wrong street"};

absl::StatusOr<std::vector<QualityCase>> QualityCasesOf(Engine& engine, const LoadedSet& set,
                                                        const Profile& profile) {
  std::vector<QualityCase> cases;
  for (size_t i = 0; i < set.scans.size(); ++i) {
    const absl::Status status = ScanCases(engine, set, profile, i).AddTo(cases);
    if (!status.ok()) return status;
  }
  return cases;
}

}  // namespace voxloc::bench
