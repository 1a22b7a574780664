// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/calibrated_covariance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>

#include "core/engine/job_check.h"
#include "core/engine/search_rules.h"
#include "core/estimate/covariance/cluster_covariance.h"
#include "core/geometry/covariance.h"

namespace voxloc {
namespace {

// A search that went farther than this along a gated direction is not followed.
constexpr double kGateTravelM = 0.3;
// Offset of a cell's mean from the surface, over the square of the cell size, 1/m. It grows with
// the square because surfaces are curved: 0.8 mm in cells of 2 m is what the errors in z of the
// autoware profile over simulated towns have in common.
constexpr double kSurfaceCurvature = 2e-4;
// The observed directions follow a null-space extent by at most this share of its length; more is a
// bad measurement, which is then known to be no better than this.
constexpr double kMaxFollowRatio = 0.05;
// Newton steps by which an extent follows the map; shortened, since the Hessian is that of the
// result.
constexpr int kExtentRounds = 8;
constexpr double kExtentDamping = 0.6;
// Scans that are evaluated in one call of the engine.
constexpr size_t kScansPerCall = 64;

double MatchedPoints(absl::Span<const GroupSums> clusters) {
  double matched = 0.0;
  for (const GroupSums& cluster : clusters) matched += cluster.score.matched_points;
  return matched;
}

// One scan on its way from a result to a covariance.
class Calibration {
 public:
  explicit Calibration(const CalibrationRequest& request)
      : job_(*request.scan.job),
        result_(*request.scan.result),
        wants_covariance_(request.covariance),
        stage_(job_.profile.stages[static_cast<size_t>(result_.stage)]),
        map_T_base_(result_.map_T_base) {}

  // One job, where the alignment did not bring the sums along.
  void AddClusterJob(std::vector<AlignJob>& jobs) {
    if (HasClusterSums()) {
      groups_ = job_.passes[kClusterPass].groups;
      return;
    }
    groups_ = std::make_shared<const PointGroups>(ClusterPoints(*job_.scan));
    AddJob(map_T_base_, jobs);
  }

  void SetClusters(absl::Span<const AlignResult> results) {
    for (const AlignResult& result : results) status_.Update(result.status);
    if (!status_.ok()) return;
    rotation_scale_m_ = RotationScaleOf(*job_.scan);
    scale_.tail<3>().setConstant(1.0 / rotation_scale_m_);
    const PassResult& pass =
        HasClusterSums() ? result_.passes[kClusterPass] : results[0].passes[kClusterPass];
    clusters_.reserve(pass.groups.size());
    for (const GroupSums& cluster : pass.groups) clusters_.push_back(ScaledTerms(cluster, scale_));
    matched_points_ = MatchedPoints(pass.groups);
    spectrum_ = DecomposeInformation(clusters_);
    GateLongTravel();
    if (wants_covariance_) BeginExtents();
  }

  // Two jobs an extent, one at each of its ends.
  void AddExtentJobs(std::vector<AlignJob>& jobs) {
    if (!status_.ok()) return;
    for (Eigen::Index k = 0; k < extents_.cols(); ++k) {
      AddJob(Moved(extents_.col(k)), jobs);
      AddJob(Moved(-extents_.col(k)), jobs);
    }
  }

  // Lets the observed directions follow what the map shows at the ends.
  void UpdateExtents(absl::Span<const AlignResult> results) {
    for (const AlignResult& result : results) status_.Update(result.status);
    if (!status_.ok()) return;
    for (size_t k = 0; 2 * k < results.size(); ++k) {
      const AlignResult& ahead = results[2 * k];
      const AlignResult& behind = results[2 * k + 1];
      // Off the map there is nothing to follow.
      if (2.0 * std::min(MatchedPoints(ahead.passes[kClusterPass].groups),
                         MatchedPoints(behind.passes[kClusterPass].groups)) <
          matched_points_) {
        continue;
      }
      auto extent = extents_.col(static_cast<Eigen::Index>(k));
      const double most_m = kMaxFollowRatio * extent.norm();
      const Vector6 followed =
          kExtentDamping * Follow(0.5 * (GradientOf(ahead) - GradientOf(behind)), most_m);
      extent += followed;
      settling_residuals_.col(static_cast<Eigen::Index>(k)) = followed;
      curvature_biases_.col(static_cast<Eigen::Index>(k)) =
          Follow(0.5 * (GradientOf(ahead) + GradientOf(behind)), most_m);
    }
  }

  // Whether the alignment brought the clusters' sums along.
  [[nodiscard]] bool HasClusterSums() const { return result_.passes.size() > kClusterPass; }

  // Whether a covariance is wanted and a direction is not observed: it takes evaluations.
  [[nodiscard]] bool HasExtents() const { return extents_.cols() > 0; }

  [[nodiscard]] CalibratedCovariance Finish() const {
    CalibratedCovariance calibrated;
    calibrated.status = status_;
    if (!status_.ok()) return calibrated;
    calibrated.rotation_scale_m = rotation_scale_m_;
    const Vector6 unscale = scale_.cwiseInverse();
    const Matrix6 information =
        unscale.asDiagonal() * spectrum_.InformationMatrix() * unscale.asDiagonal();
    calibrated.information = 0.5 * (information + information.transpose());
    if (!wants_covariance_) return calibrated;
    const double cell_m = stage_.cells.cell_size_m;
    SandwichOptions options;
    options.unobserved_ratio = kDegeneracyLimits.unobserved_ratio;
    options.surface_offset_m = kSurfaceCurvature * cell_m * cell_m;
    options.largest_sigma_m = kUnobservedSigmaM;
    for (Eigen::Index k = 0; k < extents_.cols(); ++k) {
      options.largest_sigma_m = std::max(options.largest_sigma_m, extents_.col(k).norm());
    }
    // A curvature bias grows with the square of an extent; of a normal number that has the mean
    // square 3.
    const Matrix6 extent_covariance = settling_residuals_ * settling_residuals_.transpose() +
                                      3.0 * curvature_biases_ * curvature_biases_.transpose();
    const Matrix6 covariance =
        scale_.asDiagonal() *
        SandwichCovariance(clusters_, spectrum_, extents_, extent_covariance, options) *
        scale_.asDiagonal();
    calibrated.covariance = 0.5 * (covariance + covariance.transpose());
    return calibrated;
  }

 private:
  // An evaluation of the clusters at a pose, if there is still time for it.
  void AddJob(const Pose& map_T_base, std::vector<AlignJob>& jobs) {
    status_.Update(CheckStopped(job_.stop, "estimating a covariance"));
    if (!status_.ok()) return;
    AlignJob& evaluation = jobs.emplace_back();  // without the stop token of the job
    evaluation.map = job_.map;
    evaluation.scan = job_.scan;
    evaluation.map_T_base_guess = map_T_base;
    evaluation.profile.name = job_.profile.name;
    evaluation.profile.stages = {stage_};
    evaluation.work_class = job_.work_class;
    evaluation.passes_only = true;
    evaluation.passes.resize(1);
    evaluation.passes[kClusterPass].groups = groups_;
  }

  // Of the scan, at the pose of an evaluation.
  [[nodiscard]] Vector6 GradientOf(const AlignResult& evaluation) const {
    Vector6 gradient = Vector6::Zero();
    for (const GroupSums& cluster : evaluation.passes[kClusterPass].groups) {
      for (int i = 0; i < 6; ++i) gradient[i] += scale_[i] * cluster.derivatives.gradient[i];
    }
    return gradient;
  }

  // Of the guess along a direction of scaled axes.
  [[nodiscard]] double GuessSigma(const Vector6& direction) const {
    if (!job_.guess_covariance.has_value()) return kUnobservedSigmaM;
    const Vector6 along = direction.cwiseQuotient(scale_);
    return std::sqrt(std::max(0.0, along.dot(*job_.guess_covariance * along)));
  }

  // From the guess to the result.
  [[nodiscard]] Vector6 Travel() const {
    Vector6 travel = FixedAxesDifference(job_.map_T_base_guess, map_T_base_);
    travel.tail<3>() *= rotation_scale_m_;
    return travel;
  }

  [[nodiscard]] bool Observes(int i) const {
    return spectrum_.Observes(i, kDegeneracyLimits.unobserved_ratio);
  }

  // Gating: a direction of little information along which the search went far is not observed.
  void GateLongTravel() {
    const Vector6 travel = Travel();
    const double largest = spectrum_.information.maxCoeff();
    for (int i = 0; i < 6; ++i) {
      if (spectrum_.information[i] < kGatedRatio * largest &&
          std::abs(travel.dot(spectrum_.directions.col(i))) > kGateTravelM) {
        spectrum_.information[i] =
            std::min(spectrum_.information[i], 0.5 * kDegeneracyLimits.unobserved_ratio * largest);
      }
    }
  }

  // One along each direction that is not observed.
  void BeginExtents() {
    const Vector6 travel = Travel();
    for (int i = 0; i < 6; ++i) {
      if (Observes(i)) continue;
      const Vector6 direction = spectrum_.directions.col(i);
      extents_.conservativeResize(6, extents_.cols() + 1);
      extents_.rightCols<1>() =
          std::hypot(GuessSigma(direction), travel.dot(direction)) * direction;
    }
    settling_residuals_ = curvature_biases_ = NullSpaceExtents::Zero(6, extents_.cols());
  }

  // Where a gradient draws the observed directions to, each by at most so much.
  [[nodiscard]] Vector6 Follow(const Vector6& gradient, double most_m) const {
    Vector6 followed = Vector6::Zero();
    for (int i = 0; i < 6; ++i) {
      if (!Observes(i)) continue;
      const Vector6 direction = spectrum_.directions.col(i);
      const double step_m = direction.dot(gradient) / spectrum_.information[i];
      if (!std::isfinite(step_m)) continue;
      followed += std::clamp(step_m, -most_m, most_m) * direction;
    }
    return followed;
  }

  // The pose moved in scaled axes.
  [[nodiscard]] Pose Moved(const Vector6& scaled) const {
    return ApplyFixedAxesDifference(map_T_base_, scale_.cwiseProduct(scaled));
  }

  const AlignJob& job_;
  const AlignResult& result_;
  const bool wants_covariance_;
  const Stage stage_;  // whose search ended at the pose
  const Pose map_T_base_;
  double rotation_scale_m_ = 1.0;
  Vector6 scale_ = Vector6::Ones();
  std::shared_ptr<const PointGroups> groups_;
  absl::Status status_;
  std::vector<ScoreTerms> clusters_;
  double matched_points_ = 0.0;
  Spectrum spectrum_;
  NullSpaceExtents extents_{6, 0};
  NullSpaceExtents settling_residuals_{6, 0};  // what the last round changed of them
  NullSpaceExtents curvature_biases_{6, 0};    // what both ends have in common: none is straight
};

using AddJobs = void (Calibration::*)(std::vector<AlignJob>&);
using ApplyResults = void (Calibration::*)(absl::Span<const AlignResult>);

// Runs the jobs of all scans as one batch, and lets each take its results.
void RunBatched(Engine& engine, ThreadPool* pool, std::vector<Calibration>& scans, AddJobs add,
                ApplyResults take) {
  std::vector<AlignJob> jobs;
  std::vector<size_t> begins;
  for (Calibration& scan : scans) {
    begins.push_back(jobs.size());
    (scan.*add)(jobs);
  }
  begins.push_back(jobs.size());
  std::vector<AlignResult> results;
  if (!jobs.empty()) results = engine.Align(jobs);
  ParallelFor(pool, scans.size(), [&](size_t i) {
    (scans[i].*take)(absl::MakeConstSpan(results).subspan(begins[i], begins[i + 1] - begins[i]));
  });
}

// See Degeneracy::axes.
constexpr double kLargePart = 0.1;

}  // namespace

std::optional<CalibratedCovariance> CalibrateFromPasses(const CalibrationRequest& request) {
  Calibration calibration(request);
  if (!calibration.HasClusterSums()) return std::nullopt;
  calibration.SetClusters({});
  if (calibration.HasExtents()) return std::nullopt;
  return calibration.Finish();
}

std::vector<CalibratedCovariance> CalibrateCovariances(
    Engine& engine, absl::Span<const CalibrationRequest> requests, ThreadPool* pool) {
  std::vector<CalibratedCovariance> calibrated(requests.size());
  for (size_t begin = 0; begin < requests.size(); begin += kScansPerCall) {
    const absl::Span<const CalibrationRequest> part = requests.subspan(begin, kScansPerCall);
    std::vector<Calibration> scans(part.begin(), part.end());
    RunBatched(engine, pool, scans, &Calibration::AddClusterJob, &Calibration::SetClusters);
    const bool any_extents = std::any_of(scans.begin(), scans.end(),
                                         [](const Calibration& scan) { return scan.HasExtents(); });
    for (int round = 0; any_extents && round < kExtentRounds; ++round) {
      RunBatched(engine, pool, scans, &Calibration::AddExtentJobs, &Calibration::UpdateExtents);
    }
    ParallelFor(pool, scans.size(), [&](size_t i) { calibrated[begin + i] = scans[i].Finish(); });
  }
  return calibrated;
}

bool Degeneracy::degenerate() const {
  return std::find(axes.begin(), axes.end(), AxisObservation::kUnobserved) != axes.end();
}

Degeneracy AnalyzeDegeneracy(const Matrix6& information, double rotation_scale_m,
                             const DegeneracyLimits& limits) {
  Degeneracy degeneracy;
  degeneracy.rotation_scale_m = rotation_scale_m;
  degeneracy.condition = std::numeric_limits<double>::infinity();
  degeneracy.axes.fill(AxisObservation::kUnobserved);
  Vector6 scale = Vector6::Ones();
  scale.tail<3>().setConstant(1.0 / rotation_scale_m);
  const Matrix6 scaled = scale.asDiagonal() * information * scale.asDiagonal();
  if (!scaled.allFinite()) return degeneracy;

  const SymmetricEigen<6> eigen = DecomposeSymmetric(scaled);
  degeneracy.eigenvalues = eigen.values;
  degeneracy.eigenvectors = eigen.vectors;
  const double smallest = degeneracy.eigenvalues[0];
  const double largest = degeneracy.eigenvalues[5];
  if (!(largest > 0.0)) return degeneracy;
  if (smallest > 0.0) degeneracy.condition = largest / smallest;

  degeneracy.unobserved_directions = 0;
  while (degeneracy.unobserved_directions < 6 &&
         degeneracy.eigenvalues[degeneracy.unobserved_directions] <=
             limits.unobserved_ratio * largest) {
    ++degeneracy.unobserved_directions;
  }

  // The part of an axis that lies in the directions with eigenvalues up to a share of the largest.
  const auto part_below = [&](int axis, double ratio) {
    double part = 0.0;
    for (int k = 0; k < 6; ++k) {
      if (degeneracy.eigenvalues[k] > ratio * largest) break;
      part += degeneracy.eigenvectors(axis, k) * degeneracy.eigenvectors(axis, k);
    }
    return part;
  };
  for (int axis = 0; axis < 6; ++axis) {
    AxisObservation& verdict = degeneracy.axes[static_cast<size_t>(axis)];
    verdict = part_below(axis, limits.unobserved_ratio) >= kLargePart ? AxisObservation::kUnobserved
              : part_below(axis, limits.weak_ratio) >= kLargePart     ? AxisObservation::kWeak
                                                                      : AxisObservation::kObserved;
  }
  return degeneracy;
}

}  // namespace voxloc
