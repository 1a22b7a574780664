// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/calibrated_covariance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>

#include "core/engine/job_check.h"
#include "core/engine/search_rules.h"
#include "core/estimate/covariance/cluster_evaluation.h"
#include "core/estimate/covariance/point_clusters.h"
#include "core/estimate/covariance/sandwich.h"
#include "core/geometry/pose_difference.h"

namespace voxloc {
namespace {

// Along doubted directions the search is not followed farther than that.
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
// Scans that are evaluated in one call of the engine.
constexpr size_t kScansPerCall = 64;

// One scan on its way from a result to a covariance.
class Calibration {
 public:
  explicit Calibration(const AlignedScan& scan)
      : job_(*scan.job),
        result_(*scan.result),
        stage_(job_.profile.stages[static_cast<size_t>(scan.result->stage)]),
        map_T_base_(scan.result->map_T_base) {}

  // One job, where the alignment did not bring the sums along.
  void AddClusterJob(std::vector<AlignJob>& jobs) {
    if (HasClusterSums()) {
      groups_ = job_.passes[kClusterPass].groups;
      return;
    }
    groups_ = std::make_shared<const PointGroups>(ClusterPoints(*job_.scan));
    AddJob(map_T_base_, jobs);
  }

  void TakeClusters(absl::Span<const AlignResult> results) {
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
    DoubtLongTravel();
    BeginSlides();
  }

  // Two jobs a slide.
  void AddSlideJobs(std::vector<AlignJob>& jobs) {
    if (!status_.ok()) return;
    for (Eigen::Index k = 0; k < slides_.cols(); ++k) {
      AddJob(Moved(slides_.col(k)), jobs);
      AddJob(Moved(-slides_.col(k)), jobs);
    }
  }

  // Lets the observed directions follow.
  void TakeSlides(absl::Span<const AlignResult> results) {
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
      auto slide = slides_.col(static_cast<Eigen::Index>(k));
      const double steepest_m = kSteepestSlide * slide.norm();
      const Vector6 followed =
          kSlideDamping * Follow(0.5 * (GradientOf(ahead) - GradientOf(behind)), steepest_m);
      slide += followed;
      unsettled_.col(static_cast<Eigen::Index>(k)) = followed;
      bends_.col(static_cast<Eigen::Index>(k)) =
          Follow(0.5 * (GradientOf(ahead) + GradientOf(behind)), steepest_m);
    }
  }

  // Whether the alignment brought the clusters' sums along.
  [[nodiscard]] bool HasClusterSums() const { return result_.passes.size() > kClusterPass; }

  // Whether any direction is not observed.
  [[nodiscard]] bool IsSliding() const { return slides_.cols() > 0; }

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
  // An evaluation of the clusters at a pose, if there is still time for it.
  void AddJob(const Pose& map_T_base, std::vector<AlignJob>& jobs) {
    status_.Update(CheckStopped(job_.stop, "estimating a covariance"));
    if (status_.ok()) jobs.push_back(ClusterJob(job_, stage_, groups_, map_T_base));
  }

  // Of the scan, at the pose of an evaluation.
  [[nodiscard]] Vector6 GradientOf(const AlignResult& evaluation) const {
    return ScaledGradient(evaluation.passes[kClusterPass].groups, scale_);
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

  // One along each direction that is not observed.
  void BeginSlides() {
    const Vector6 travel = Travel();
    for (int i = 0; i < 6; ++i) {
      if (Observes(i)) continue;
      const Vector6 direction = spectrum_.directions.col(i);
      slides_.conservativeResize(6, slides_.cols() + 1);
      slides_.rightCols<1>() = std::hypot(GuessSigma(direction), travel.dot(direction)) * direction;
    }
    unsettled_ = bends_ = Slides::Zero(6, slides_.cols());
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
    return MovedByFixedAxes(map_T_base_, scale_.cwiseProduct(scaled));
  }

  const AlignJob& job_;
  const AlignResult& result_;
  const Stage stage_;  // whose search ended at the pose
  const Pose map_T_base_;
  double rotation_scale_m_ = 1.0;
  Vector6 scale_ = Vector6::Ones();
  std::shared_ptr<const PointGroups> groups_;
  absl::Status status_;
  std::vector<ScoreTerms> clusters_;
  double matched_points_ = 0.0;
  Spectrum spectrum_;
  Slides slides_{6, 0};
  Slides unsettled_{6, 0};  // what the last round changed of them
  Slides bends_{6, 0};      // what both ends of a slide have in common: it is not straight
};

// Scans on their way, a call of the engine and then the threads of a pool at a time.
class Calibrations {
 public:
  Calibrations(Engine& engine, absl::Span<const AlignedScan> scans, ThreadPool* pool)
      : engine_(engine), pool_(pool), scans_(scans.begin(), scans.end()) {}

  void TakeClusters() { RunTogether(&Calibration::AddClusterJob, &Calibration::TakeClusters); }
  void FollowSlides() {
    const bool any = std::any_of(scans_.begin(), scans_.end(),
                                 [](const Calibration& scan) { return scan.IsSliding(); });
    if (!any) return;
    for (int round = 0; round < kSlideRounds; ++round) {
      RunTogether(&Calibration::AddSlideJobs, &Calibration::TakeSlides);
    }
  }
  // What a function makes of each.
  template <typename Result>
  void Finish(Result (Calibration::*finish)() const, absl::Span<Result> results) {
    ParallelFor(pool_, scans_.size(), [&](size_t i) { results[i] = (scans_[i].*finish)(); });
  }

 private:
  using Add = void (Calibration::*)(std::vector<AlignJob>&);
  using Take = void (Calibration::*)(absl::Span<const AlignResult>);

  // Runs the jobs of all scans as one batch, and lets each take its results.
  void RunTogether(Add add, Take take) {
    std::vector<AlignJob> jobs;
    std::vector<size_t> begins;
    for (Calibration& scan : scans_) {
      begins.push_back(jobs.size());
      (scan.*add)(jobs);
    }
    begins.push_back(jobs.size());
    std::vector<AlignResult> results;
    if (!jobs.empty()) results = engine_.Align(jobs);
    ParallelFor(pool_, scans_.size(), [&](size_t i) {
      (scans_[i].*take)(absl::MakeConstSpan(results).subspan(begins[i], begins[i + 1] - begins[i]));
    });
  }

  Engine& engine_;
  ThreadPool* const pool_;
  std::vector<Calibration> scans_;
};

}  // namespace

std::optional<CalibratedCovariance> CalibrateFromPasses(const AlignedScan& scan) {
  Calibration calibration(scan);
  if (!calibration.HasClusterSums()) return std::nullopt;
  calibration.TakeClusters({});
  if (calibration.IsSliding()) return std::nullopt;
  return calibration.Finish();
}

std::optional<ObservedInformation> ObserveFromPasses(const AlignedScan& scan) {
  Calibration calibration(scan);
  if (!calibration.HasClusterSums()) return std::nullopt;
  calibration.TakeClusters({});
  return calibration.Observed();
}

std::vector<ObservedInformation> ObserveInformation(Engine& engine,
                                                    absl::Span<const AlignedScan> scans,
                                                    ThreadPool* pool) {
  std::vector<ObservedInformation> observed(scans.size());
  Calibrations calibrations(engine, scans, pool);
  calibrations.TakeClusters();
  calibrations.Finish(&Calibration::Observed, absl::MakeSpan(observed));
  return observed;
}

std::vector<CalibratedCovariance> CalibrateCovariances(Engine& engine,
                                                       absl::Span<const AlignedScan> scans,
                                                       ThreadPool* pool) {
  std::vector<CalibratedCovariance> calibrated(scans.size());
  for (size_t begin = 0; begin < scans.size(); begin += kScansPerCall) {
    const absl::Span<const AlignedScan> part = scans.subspan(begin, kScansPerCall);
    Calibrations calibrations(engine, part, pool);
    calibrations.TakeClusters();
    calibrations.FollowSlides();
    calibrations.Finish(&Calibration::Finish,
                        absl::MakeSpan(calibrated).subspan(begin, part.size()));
  }
  return calibrated;
}

}  // namespace voxloc
