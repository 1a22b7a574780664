// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/calibrated_covariance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>

#include "core/engine/search_rules.h"
#include "core/estimate/covariance/point_clusters.h"
#include "core/estimate/covariance/sandwich.h"
#include "core/geometry/euler.h"
#include "core/geometry/pose_difference.h"

namespace voxloc {
namespace {

// Directions of less than this share of the largest information are probed.
constexpr double kProbedRatio = 0.03;
// How far, as a share of the cell size: far enough for points to change cells.
constexpr double kProbeShare = 0.05;
// Up to this share of the largest information the search is not followed farther than that. In
// simulated corridors and tunnels poses are wrong up to 2.6e-3, by metres; right ones in towns of
// few houses begin at 5.6e-3.
constexpr double kDoubtedRatio = 3.5e-3;
constexpr double kBelievedTravelM = 0.3;
// Offset of a cell's mean from the surface, over the square of the cell size, 1/m. It grows with
// the square because surfaces bend: 0.8 mm in cells of 2 m is what the errors in z of the autoware
// profile over simulated towns have in common.
constexpr double kSurfaceBend = 2e-4;
// A slide moves the observed directions by at most this share of itself; more is a bad measurement,
// which is then known to be no better than this.
constexpr double kSteepestSlide = 0.05;
// Newton steps that make a slide follow the map; shortened, since the Hessian is that of the
// result.
constexpr int kSlideRounds = 8;
constexpr double kSlideDamping = 0.6;
// The longest step of an evaluation that is not meant to move.
constexpr double kNoStep = 1e-12;
// Scans whose clusters are evaluated in one call of the engine.
constexpr size_t kScansPerCall = 64;

// Derivatives of the score at a pose, of the exact score of one stage, with all points.
AlignJob EvaluationJob(const AlignJob& job, Stage stage, std::shared_ptr<const PointCloud> points,
                       const Pose& map_T_base) {
  AlignJob evaluation;
  evaluation.map = job.map;
  evaluation.scan = std::move(points);
  evaluation.map_T_base_guess = map_T_base;
  stage.point_voxel_m = 0.0;
  stage.curvature = Curvature::kExact;
  stage.max_step = kNoStep;
  stage.max_iterations = 1;
  stage.step_floor = false;
  stage.line_search = false;
  stage.observed_ratio = 0.0;
  evaluation.profile.name = job.profile.name;
  evaluation.profile.stages = {stage};
  evaluation.work_class = job.work_class;
  evaluation.stop = job.stop;
  return evaluation;
}

absl::Status CheckEvaluation(const AlignResult& result) {
  if (!result.status.ok()) return result.status;
  if (result.termination == Termination::kCancelled) return absl::CancelledError("cancelled");
  if (result.termination == Termination::kDeadline) {
    return absl::DeadlineExceededError("the deadline passed while a covariance was estimated");
  }
  return absl::OkStatus();
}

// One scan on its way from a result to a covariance.
class Calibration {
 public:
  explicit Calibration(const AlignedScan& scan)
      : job_(*scan.job),
        result_(*scan.result),
        stage_(job_.profile.stages[static_cast<size_t>(scan.result->stage)]),
        map_T_base_(scan.result->map_T_base),
        rotation_scale_m_(RotationScaleOf(*job_.scan)) {
    const ChartVector chart = ChartFromPose(map_T_base_);
    Vector6 scale = Vector6::Ones();
    scale.tail<3>().setConstant(1.0 / rotation_scale_m_);
    // d(chart) / d(scaled fixed axes).
    chart_from_scaled_ =
        FixedAxesFromChartJacobian(chart[3], chart[4]).inverse() * scale.asDiagonal();
    scale_ = scale;
  }

  [[nodiscard]] size_t AddClusterJobs(std::vector<AlignJob>& jobs) const {
    const size_t before = jobs.size();
    for (std::shared_ptr<const PointCloud>& points : ClusterPoints(*job_.scan)) {
      jobs.push_back(EvaluationJob(job_, stage_, std::move(points), map_T_base_));
    }
    return jobs.size() - before;
  }

  void TakeClusters(absl::Span<const AlignResult> results) {
    for (const AlignResult& result : results) {
      status_.Update(CheckEvaluation(result));
      clusters_.push_back(Scaled(result));
    }
    if (status_.ok()) spectrum_ = DecomposeInformation(clusters_);
  }

  // In place of clusters, where no covariance is wanted: one job, or none.
  [[nodiscard]] size_t AddWholeJob(std::vector<AlignJob>& jobs) const {
    if (HasDerivatives()) return 0;
    jobs.push_back(EvaluationJob(job_, stage_, job_.scan, map_T_base_));
    return 1;
  }

  void TakeWhole(absl::Span<const AlignResult> results) {
    TakeClusters(HasDerivatives() ? absl::MakeConstSpan(&result_, 1) : results);
  }

  // Two jobs a probed direction.
  [[nodiscard]] size_t AddProbeJobs(std::vector<AlignJob>& jobs) {
    if (!status_.ok()) return 0;
    const double largest = spectrum_.curvature.maxCoeff();
    for (int i = 0; i < 6; ++i) {
      const double curvature = spectrum_.curvature[i];
      // What is not observed by its curvature needs no probe.
      if (curvature > kDegeneracyLimits.unobserved_ratio * largest &&
          curvature < kProbedRatio * largest) {
        probed_.push_back(i);
        const Vector6 probe = probe_m() * spectrum_.directions.col(i);
        jobs.push_back(EvaluationJob(job_, stage_, job_.scan, Moved(probe)));
        jobs.push_back(EvaluationJob(job_, stage_, job_.scan, Moved(-probe)));
      }
    }
    return 2 * probed_.size();
  }

  void TakeProbes(absl::Span<const AlignResult> results) {
    for (size_t k = 0; k < probed_.size(); ++k) {
      const AlignResult& ahead = results[2 * k];
      const AlignResult& behind = results[2 * k + 1];
      status_.Update(CheckEvaluation(ahead));
      status_.Update(CheckEvaluation(behind));
      const int i = probed_[k];
      const Vector6 change = Scaled(ahead).gradient - Scaled(behind).gradient;
      const double information = -change.dot(spectrum_.directions.col(i)) / (2.0 * probe_m());
      if (std::isfinite(information)) {
        spectrum_.information[i] = std::min(spectrum_.information[i], information);
      }
    }
    DoubtLongTravel();
  }

  // Begins a slide along each direction that is not observed.
  void BeginSlides() {
    if (!status_.ok()) return;
    const Vector6 travel = Travel();
    for (int i = 0; i < 6; ++i) {
      if (Observes(i)) continue;
      const Vector6 direction = spectrum_.directions.col(i);
      slides_.conservativeResize(6, slides_.cols() + 1);
      slides_.rightCols<1>() = std::hypot(kUnobservedSigmaM, travel.dot(direction)) * direction;
    }
    unsettled_ = bends_ = Slides::Zero(6, slides_.cols());
  }

  // Two jobs a slide.
  [[nodiscard]] size_t AddSlideJobs(std::vector<AlignJob>& jobs) const {
    if (!status_.ok()) return 0;
    for (Eigen::Index k = 0; k < slides_.cols(); ++k) {
      jobs.push_back(EvaluationJob(job_, stage_, job_.scan, Moved(slides_.col(k))));
      jobs.push_back(EvaluationJob(job_, stage_, job_.scan, Moved(-slides_.col(k))));
    }
    return 2 * static_cast<size_t>(slides_.cols());
  }

  // Lets the observed directions follow.
  void TakeSlides(absl::Span<const AlignResult> results) {
    for (size_t k = 0; 2 * k < results.size(); ++k) {
      const AlignResult& ahead = results[2 * k];
      const AlignResult& behind = results[2 * k + 1];
      status_.Update(CheckEvaluation(ahead));
      status_.Update(CheckEvaluation(behind));
      // Off the map there is nothing to follow.
      if (2 * std::min(ahead.after.matched_points, behind.after.matched_points) <
          result_.after.matched_points) {
        continue;
      }
      auto slide = slides_.col(static_cast<Eigen::Index>(k));
      const double steepest_m = kSteepestSlide * slide.norm();
      const Vector6 followed =
          kSlideDamping *
          Follow(0.5 * (Scaled(ahead).gradient - Scaled(behind).gradient), steepest_m);
      slide += followed;
      unsettled_.col(static_cast<Eigen::Index>(k)) = followed;
      bends_.col(static_cast<Eigen::Index>(k)) =
          Follow(0.5 * (Scaled(ahead).gradient + Scaled(behind).gradient), steepest_m);
    }
  }

  [[nodiscard]] ObservedInformation Observed() const {
    ObservedInformation observed;
    observed.status = status_;
    if (!status_.ok()) return observed;
    observed.rotation_scale_m = rotation_scale_m_;
    const Vector6 unscale = scale_.cwiseInverse();
    const Matrix6 information =
        unscale.asDiagonal() * spectrum_.InformationMatrix() * unscale.asDiagonal();
    observed.information = 0.5 * (information + information.transpose());
    return observed;
  }

  [[nodiscard]] CalibratedCovariance Finish() const {
    CalibratedCovariance calibrated{Observed(), Matrix6::Zero()};
    if (!status_.ok()) return calibrated;
    const double cell_m = stage_.cells.cell_size_m;
    SandwichOptions options;
    options.unobserved_ratio = kDegeneracyLimits.unobserved_ratio;
    options.surface_offset_m = kSurfaceBend * cell_m * cell_m;
    options.largest_sigma_m = kUnobservedSigmaM;
    for (Eigen::Index k = 0; k < slides_.cols(); ++k) {
      options.largest_sigma_m = std::max(options.largest_sigma_m, slides_.col(k).norm());
    }
    // A bend grows with the square of a slide; of a normal number that has the mean square 3.
    const Matrix6 looseness =
        unsettled_ * unsettled_.transpose() + 3.0 * bends_ * bends_.transpose();
    const Matrix6 covariance =
        scale_.asDiagonal() *
        SandwichCovariance(clusters_, spectrum_, slides_, looseness, options) * scale_.asDiagonal();
    calibrated.covariance = 0.5 * (covariance + covariance.transpose());
    return calibrated;
  }

 private:
  [[nodiscard]] double probe_m() const { return kProbeShare * stage_.cells.cell_size_m; }

  [[nodiscard]] ScoreTerms Scaled(const AlignResult& result) const {
    ScoreTerms terms;
    terms.gradient = chart_from_scaled_.transpose() * result.gradient;
    const Matrix6 hessian = chart_from_scaled_.transpose() * result.hessian * chart_from_scaled_;
    terms.information = -0.5 * (hessian + hessian.transpose());
    return terms;
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

  void DoubtLongTravel() {
    const Vector6 travel = Travel();
    const double largest = spectrum_.information.maxCoeff();
    for (int i = 0; i < 6; ++i) {
      if (spectrum_.information[i] < kDoubtedRatio * largest &&
          std::abs(travel.dot(spectrum_.directions.col(i))) > kBelievedTravelM) {
        spectrum_.information[i] =
            std::min(spectrum_.information[i], 0.5 * kDegeneracyLimits.unobserved_ratio * largest);
      }
    }
  }

  // Where a gradient draws the observed directions to, each by at most so much.
  [[nodiscard]] Vector6 Follow(const Vector6& gradient, double most_m) const {
    Vector6 followed = Vector6::Zero();
    for (int i = 0; i < 6; ++i) {
      if (!Observes(i)) continue;
      const Vector6 direction = spectrum_.directions.col(i);
      const double follows_m = direction.dot(gradient) / spectrum_.information[i];
      if (!std::isfinite(follows_m)) continue;
      followed += std::clamp(follows_m, -most_m, most_m) * direction;
    }
    return followed;
  }

  // The pose moved in scaled axes.
  [[nodiscard]] Pose Moved(const Vector6& scaled) const {
    const Vector6 by = scale_.cwiseProduct(scaled);
    const double angle = by.tail<3>().norm();
    Pose moved = map_T_base_;
    moved.translation += by.head<3>();
    if (angle > 0.0) {
      const Eigen::Vector3d axis = by.tail<3>() / angle;
      const Eigen::Quaterniond turn(Eigen::AngleAxisd(angle, axis));
      moved.rotation = (turn * moved.rotation).normalized();
    }
    return moved;
  }

  // Whether the search ended with the derivatives that an evaluation would give.
  [[nodiscard]] bool HasDerivatives() const {
    return job_.profile.stages.size() == 1 && stage_.curvature == Curvature::kExact &&
           !job_.regularization_position_map.has_value();
  }

  const AlignJob& job_;
  const AlignResult& result_;
  const Stage stage_;  // whose search ended at the pose
  const Pose map_T_base_;
  const double rotation_scale_m_;
  Vector6 scale_;
  Matrix6 chart_from_scaled_;
  absl::Status status_;
  std::vector<ScoreTerms> clusters_;
  Spectrum spectrum_;
  std::vector<int> probed_;
  Slides slides_{6, 0};
  Slides unsettled_{6, 0};  // what the last round changed of them
  Slides bends_{6, 0};      // what both ends of a slide have in common: it is not straight
};

// Runs the jobs of many scans as one batch.
template <typename Add, typename Take>
void RunTogether(Engine& engine, std::vector<Calibration>& calibrations, Add add, Take take) {
  std::vector<AlignJob> jobs;
  std::vector<size_t> counts;
  for (Calibration& calibration : calibrations) counts.push_back(add(calibration, jobs));
  std::vector<AlignResult> results;
  if (!jobs.empty()) results = engine.Align(jobs);
  absl::Span<const AlignResult> rest(results);
  for (size_t i = 0; i < calibrations.size(); ++i) {
    take(calibrations[i], rest.subspan(0, counts[i]));
    rest.remove_prefix(counts[i]);
  }
}

void RunProbes(Engine& engine, std::vector<Calibration>& calibrations) {
  RunTogether(
      engine, calibrations,
      [](Calibration& c, std::vector<AlignJob>& jobs) { return c.AddProbeJobs(jobs); },
      [](Calibration& c, absl::Span<const AlignResult> results) { c.TakeProbes(results); });
}

std::vector<Calibration> BeginCalibrations(absl::Span<const AlignedScan> scans) {
  return {scans.begin(), scans.end()};
}

}  // namespace

std::vector<ObservedInformation> ObserveInformation(Engine& engine,
                                                    absl::Span<const AlignedScan> scans) {
  std::vector<Calibration> calibrations = BeginCalibrations(scans);
  RunTogether(
      engine, calibrations,
      [](Calibration& c, std::vector<AlignJob>& jobs) { return c.AddWholeJob(jobs); },
      [](Calibration& c, absl::Span<const AlignResult> results) { c.TakeWhole(results); });
  RunProbes(engine, calibrations);
  std::vector<ObservedInformation> observed;
  observed.reserve(scans.size());
  for (const Calibration& calibration : calibrations) observed.push_back(calibration.Observed());
  return observed;
}

std::vector<CalibratedCovariance> CalibrateCovariances(Engine& engine,
                                                       absl::Span<const AlignedScan> scans) {
  std::vector<CalibratedCovariance> calibrated;
  calibrated.reserve(scans.size());
  for (size_t begin = 0; begin < scans.size(); begin += kScansPerCall) {
    std::vector<Calibration> calibrations = BeginCalibrations(scans.subspan(begin, kScansPerCall));
    RunTogether(
        engine, calibrations,
        [](Calibration& c, std::vector<AlignJob>& jobs) { return c.AddClusterJobs(jobs); },
        [](Calibration& c, absl::Span<const AlignResult> results) { c.TakeClusters(results); });
    RunProbes(engine, calibrations);
    for (Calibration& calibration : calibrations) calibration.BeginSlides();
    for (int round = 0; round < kSlideRounds; ++round) {
      RunTogether(
          engine, calibrations,
          [](Calibration& c, std::vector<AlignJob>& jobs) { return c.AddSlideJobs(jobs); },
          [](Calibration& c, absl::Span<const AlignResult> results) { c.TakeSlides(results); });
    }
    for (const Calibration& calibration : calibrations) calibrated.push_back(calibration.Finish());
  }
  return calibrated;
}

}  // namespace voxloc
