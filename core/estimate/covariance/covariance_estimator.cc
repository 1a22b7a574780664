// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/covariance_estimator.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/estimate/covariance/reference_covariance.h"

namespace voxloc {
namespace {

Eigen::Vector2d PositionOf(const Pose& map_T_base) { return map_T_base.translation.head<2>(); }

// The main result's position, then these.
std::vector<Eigen::Vector2d> PositionsOf(const AlignResult& result,
                                         const std::vector<Pose>& map_T_base) {
  std::vector<Eigen::Vector2d> positions = {PositionOf(result.map_T_base)};
  for (const Pose& pose : map_T_base) positions.push_back(PositionOf(pose));
  return positions;
}

CovarianceReport FixedReport(const CovarianceOptions& options, const Pose& map_T_base,
                             absl::Status why) {
  CovarianceReport fixed;
  fixed.status = std::move(why);
  fixed.covariance = RotateFixedCovariance(options.fixed, map_T_base);
  return fixed;
}

// Of a covariance about fixed map axes, along and about the base's axes.
Vector6 VariancesInBase(const Matrix6& covariance, const Pose& map_T_base) {
  const Eigen::Matrix3d map_R_base = map_T_base.rotation.toRotationMatrix();
  const auto turned = [&map_R_base](const Eigen::Matrix3d& block) -> Eigen::Vector3d {
    return (map_R_base.transpose() * block * map_R_base).diagonal().cwiseMax(0.0);
  };
  Vector6 variances;
  variances << turned(covariance.topLeftCorner<3, 3>()),
      turned(covariance.bottomRightCorner<3, 3>());
  return variances;
}

// The requests of one method, by their places, and their reports.
class MethodBatch {
 public:
  MethodBatch(absl::Span<const CovarianceRequest> requests, CovarianceMethod method,
              std::vector<CovarianceReport>& reports)
      : requests_(requests), reports_(reports) {
    for (size_t i = 0; i < requests.size(); ++i) {
      if (requests[i].options->method == method) places_.push_back(i);
    }
  }

  [[nodiscard]] size_t size() const { return places_.size(); }
  [[nodiscard]] const CovarianceRequest& request(size_t i) const { return requests_[places_[i]]; }
  [[nodiscard]] const CovarianceOptions& options(size_t i) const { return *request(i).options; }
  [[nodiscard]] const AlignJob& job(size_t i) const { return *request(i).scan.job; }
  [[nodiscard]] const AlignResult& result(size_t i) const { return *request(i).scan.result; }
  [[nodiscard]] CovarianceReport& report(size_t i) { return reports_[places_[i]]; }

  // Reports the fixed covariance in place of the method's, which this prevents.
  void FallBack(size_t i, absl::Status why) {
    report(i) = FixedReport(options(i), result(i).map_T_base, std::move(why));
  }

  void ReportPosition(size_t i, const Eigen::Matrix2d& estimate) {
    report(i).covariance = CovarianceWithPosition(estimate, result(i).map_T_base, options(i));
  }

 private:
  absl::Span<const CovarianceRequest> requests_;
  std::vector<CovarianceReport>& reports_;
  std::vector<size_t> places_;
};

void EstimateFixed(MethodBatch batch) {
  for (size_t i = 0; i < batch.size(); ++i) {
    batch.report(i).covariance =
        RotateFixedCovariance(batch.options(i).fixed, batch.result(i).map_T_base);
  }
}

void EstimateLaplace(MethodBatch batch) {
  for (size_t i = 0; i < batch.size(); ++i) {
    const absl::StatusOr<Eigen::Matrix2d> estimate = LaplaceCovariance(batch.result(i).hessian);
    if (estimate.ok()) {
      batch.ReportPosition(i, *estimate);
    } else {
      batch.FallBack(i, estimate.status());
    }
  }
}

// Ok: where the alignment ended says something about the main result's uncertainty.
absl::Status CheckOffsetAlignment(const AlignResult& result) {
  if (!result.status.ok()) return result.status;
  if (result.termination == Termination::kCancelled) {
    return absl::CancelledError("the alignment from an offset pose was cancelled");
  }
  if (result.termination == Termination::kDeadline) {
    return absl::DeadlineExceededError("the deadline passed while aligning from an offset pose");
  }
  return absl::OkStatus();
}

void EstimateMultiNdt(Engine& engine, MethodBatch batch) {
  std::vector<AlignJob> jobs;
  for (size_t i = 0; i < batch.size(); ++i) {
    batch.report(i).offset_map_T_base =
        OffsetPoses(batch.result(i).map_T_base, batch.options(i).offsets_base);
    AlignJob job = batch.job(i);
    job.passes.clear();
    for (AlignJob& from_offset : JobsFrom(std::move(job), batch.report(i).offset_map_T_base)) {
      jobs.push_back(std::move(from_offset));
    }
  }
  if (jobs.empty()) return;
  const std::vector<AlignResult> results = engine.Align(jobs);
  size_t next = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    CovarianceReport& report = batch.report(i);
    absl::Status status;
    const size_t offsets = report.offset_map_T_base.size();
    for (size_t k = 0; k < offsets; ++k) {
      const AlignResult& aligned = results[next++];
      status.Update(CheckOffsetAlignment(aligned));
      report.aligned_map_T_base.push_back(aligned.map_T_base);
      report.nvtl.push_back(aligned.after.nearest_voxel_likelihood);
    }
    if (!status.ok()) {
      batch.FallBack(i, status);
      continue;
    }
    batch.ReportPosition(
        i, MomentsOf(PositionsOf(batch.result(i), report.aligned_map_T_base)).covariance);
  }
}

void EstimateMultiNdtScore(Engine& engine, MethodBatch batch) {
  for (size_t i = 0; i < batch.size(); ++i) {
    const AlignJob& job = batch.job(i);
    CovarianceReport& report = batch.report(i);
    report.offset_map_T_base =
        OffsetPoses(batch.result(i).map_T_base, batch.options(i).offsets_base);
    ScoreRequest request;
    request.map = job.map;
    request.scan = job.scan;
    request.map_T_base = report.offset_map_T_base;
    request.stage = job.profile.stages[job.profile.score_stage];
    request.work_class = job.work_class;
    request.stop = job.stop;
    const absl::StatusOr<ScoreResult> scores = engine.Score(request);
    if (!scores.ok()) {
      batch.FallBack(i, scores.status());
      continue;
    }
    std::vector<double> nvtl = {batch.result(i).after.nearest_voxel_likelihood};
    for (const PoseScore& score : scores->poses) {
      report.nvtl.push_back(score.nearest_voxel_likelihood);
      nvtl.push_back(score.nearest_voxel_likelihood);
    }
    const std::vector<double> weights = SoftmaxWeights(nvtl, batch.options(i).temperature);
    batch.ReportPosition(
        i, WeightedMoments(PositionsOf(batch.result(i), report.offset_map_T_base), weights)
               .covariance);
  }
}

// The fixed covariance where the calibration has failed.
CovarianceReport ReportCalibrated(const CovarianceRequest& request,
                                  const CalibratedCovariance& calibrated) {
  const CovarianceOptions& options = *request.options;
  const Pose& map_T_base = request.scan.result->map_T_base;
  if (!calibrated.status.ok()) return FixedReport(options, map_T_base, calibrated.status);
  CovarianceReport report;
  report.method = CovarianceMethod::kCalibrated;
  const Matrix6 of_scan = options.scale_factor * calibrated.covariance;
  const SystematicParts systematic =
      SystematicCovariance(options.systematic, map_T_base, request.base_twist);
  report.covariance = of_scan + systematic.Sum();
  report.shares = {VariancesInBase(of_scan, map_T_base),
                   VariancesInBase(systematic.map_and_mounting, map_T_base),
                   VariancesInBase(systematic.time, map_T_base),
                   VariancesInBase(systematic.sweep, map_T_base)};
  return report;
}

void EstimateCalibrated(Engine& engine, MethodBatch batch) {
  std::vector<CalibrationRequest> missing;
  for (size_t i = 0; i < batch.size(); ++i) {
    if (batch.request(i).calibrated == nullptr) missing.push_back({batch.request(i).scan});
  }
  const std::vector<CalibratedCovariance> found = CalibrateCovariances(engine, missing);
  size_t next = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    const CovarianceRequest& request = batch.request(i);
    batch.report(i) = ReportCalibrated(
        request, request.calibrated != nullptr ? *request.calibrated : found[next++]);
  }
}

}  // namespace

std::optional<CovarianceReport> EstimateWithoutEngine(const CovarianceRequest& request) {
  const CovarianceMethod method = request.options->method;
  if (method == CovarianceMethod::kCalibrated && request.calibrated != nullptr) {
    return ReportCalibrated(request, *request.calibrated);
  }
  if (method != CovarianceMethod::kFixed && method != CovarianceMethod::kLaplace) {
    return std::nullopt;
  }
  std::vector<CovarianceReport> reports(1);
  reports.front().method = method;
  EstimateFixed({{&request, 1}, CovarianceMethod::kFixed, reports});
  EstimateLaplace({{&request, 1}, CovarianceMethod::kLaplace, reports});
  return std::move(reports.front());
}

std::vector<CovarianceReport> EstimateCovariances(Engine& engine,
                                                  absl::Span<const CovarianceRequest> requests) {
  std::vector<CovarianceReport> reports(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) reports[i].method = requests[i].options->method;
  EstimateFixed({requests, CovarianceMethod::kFixed, reports});
  EstimateLaplace({requests, CovarianceMethod::kLaplace, reports});
  EstimateMultiNdt(engine, {requests, CovarianceMethod::kMultiNdt, reports});
  EstimateMultiNdtScore(engine, {requests, CovarianceMethod::kMultiNdtScore, reports});
  EstimateCalibrated(engine, {requests, CovarianceMethod::kCalibrated, reports});
  return reports;
}

}  // namespace voxloc
