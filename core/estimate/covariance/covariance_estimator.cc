// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/covariance/covariance_estimator.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "core/text/number_range.h"

namespace voxloc {
namespace {

Eigen::Matrix3d Turned(const Eigen::Matrix3d& map_R_base, const Eigen::Vector3d& sigma_base) {
  const Eigen::Matrix3d turned =
      map_R_base * sigma_base.cwiseAbs2().asDiagonal() * map_R_base.transpose();
  return 0.5 * (turned + turned.transpose());
}

constexpr double kSymmetryTolerance = 1e-9;

// Of the matrix scaled to a unit diagonal, whose eigenvalues then do not depend on units: what is
// below this cannot be distinguished from zero.
constexpr double kMinEigenvalue = 1e-12;

}  // namespace

SystematicParts SystematicCovariance(const SystematicError& error, const Pose& map_T_base,
                                     const std::optional<Twist>& base_twist) {
  const Eigen::Matrix3d map_R_base = map_T_base.rotation.toRotationMatrix();
  SystematicParts parts;
  parts.map_and_mounting.topLeftCorner<3, 3>() = Turned(map_R_base, error.position_sigma_m);
  parts.map_and_mounting.bottomRightCorner<3, 3>() = Turned(map_R_base, error.rotation_sigma_rad);
  if (base_twist.has_value()) {
    const Vector6 moved = error.time_sigma_s * FixedAxesRate(*base_twist, map_T_base);
    parts.time = moved * moved.transpose();
    const double sheared_m = error.skew_sigma_s * base_twist->linear_m_s.norm();
    const double sheared_rad = sheared_m / kSkewRangeM;
    parts.sweep.diagonal().head<3>().setConstant(sheared_m * sheared_m);
    parts.sweep.diagonal().tail<3>().setConstant(sheared_rad * sheared_rad);
  }
  return parts;
}

absl::Status ValidateSystematicError(const SystematicError& error) {
  constexpr NumberRange kMetres = FromTo(0.0, 100.0);
  constexpr NumberRange kRadians = FromTo(0.0, 3.2);
  constexpr NumberRange kSeconds = FromTo(0.0, kMaxTimeSigmaS);
  for (int axis = 0; axis < 3; ++axis) {
    VOXLOC_TRY(
        CheckRanges({{"systematic_position_sigma_m", error.position_sigma_m[axis], kMetres},
                     {"systematic_rotation_sigma_rad", error.rotation_sigma_rad[axis], kRadians}}));
  }
  return CheckRanges({{"systematic_time_sigma_s", error.time_sigma_s, kSeconds},
                      {"systematic_skew_sigma_s", error.skew_sigma_s, kSeconds}});
}

Matrix6 CovarianceOptions::DefaultFixedCovariance() {
  Matrix6 covariance = Matrix6::Zero();
  covariance.diagonal() << 0.0225, 0.0225, 0.0225, 0.000625, 0.000625, 0.000625;
  return covariance;
}

absl::Status CheckPositiveDefinite(const Matrix6& covariance, absl::string_view name) {
  const double largest = covariance.cwiseAbs().maxCoeff();
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) {
      const double value = covariance(i, j);
      if (!std::isfinite(value)) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, " (", i, ", ", j, ") must be finite (got ", value, ")"));
      }
      if (std::abs(value - covariance(j, i)) > kSymmetryTolerance * largest) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, " must be symmetric (got ", value, " at (", i, ", ", j, ") and ",
                         covariance(j, i), " at (", j, ", ", i, "))"));
      }
    }
    if (!(covariance(i, i) > 0.0)) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " (", i, ", ", i, ") must be over 0 (got ", covariance(i, i), ")"));
    }
  }
  const Vector6 scale = covariance.diagonal().cwiseSqrt().cwiseInverse();
  const Matrix6 correlation = scale.asDiagonal() * covariance * scale.asDiagonal();
  const double least = DecomposeSymmetric(correlation).values[0];
  if (least > kMinEigenvalue) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " must be positive definite: the smallest eigenvalue of its correlations must be over ",
      kMinEigenvalue, " (got ", least, ")"));
}

absl::Status ValidateCovarianceOptions(const CovarianceOptions& options) {
  VOXLOC_TRY(CheckPositiveDefinite(options.fixed, "the fixed covariance"));
  for (size_t i = 0; i < options.offsets_base.size(); ++i) {
    const Eigen::Vector2d& offset = options.offsets_base[i];
    if (offset.allFinite()) continue;
    return absl::InvalidArgumentError(absl::StrCat("offset pose ", i, " must be finite (got (",
                                                   offset.x(), ", ", offset.y(), "))"));
  }
  VOXLOC_TRY(CheckRanges({{"the number of offset poses", options.offsets_base.size(),
                           FromTo(1, kMaxCovarianceOffsets)},
                          {"temperature", options.temperature, Over(0.0)},
                          {"scale_factor", options.scale_factor, Over(0.0)}}));
  return ValidateSystematicError(options.systematic);
}

namespace {

Eigen::Vector2d PositionOf(const Pose& map_T_base) { return map_T_base.translation.head<2>(); }

// The main result's position, then these.
std::vector<Eigen::Vector2d> PositionsOf(const AlignResult& result,
                                         const std::vector<Pose>& map_T_base) {
  std::vector<Eigen::Vector2d> positions = {PositionOf(result.map_T_base)};
  for (const Pose& pose : map_T_base) positions.push_back(PositionOf(pose));
  return positions;
}

// The fixed covariance; `why` is not ok where something prevents the method's.
CovarianceReport FixedReport(const CovarianceRequest& request, absl::Status why) {
  CovarianceReport fixed;
  fixed.status = std::move(why);
  fixed.covariance = RotateFixedCovariance(request.options->fixed, request.scan.result->map_T_base);
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

void ReportPosition(const CovarianceRequest& request, const Eigen::Matrix2d& estimate,
                    CovarianceReport& report) {
  report.covariance =
      CovarianceWithPosition(estimate, request.scan.result->map_T_base, *request.options);
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

void EstimateMultiNdt(Engine& engine, absl::Span<const CovarianceRequest> requests,
                      const std::vector<size_t>& places, std::vector<CovarianceReport>& reports) {
  std::vector<AlignJob> jobs;
  for (const size_t i : places) {
    reports[i].offset_map_T_base =
        OffsetPoses(requests[i].scan.result->map_T_base, requests[i].options->offsets_base);
    AlignJob job = *requests[i].scan.job;
    job.passes.clear();
    for (AlignJob& from_offset : JobsFrom(std::move(job), reports[i].offset_map_T_base)) {
      jobs.push_back(std::move(from_offset));
    }
  }
  if (jobs.empty()) return;
  const std::vector<AlignResult> results = engine.Align(jobs);
  size_t next = 0;
  for (const size_t i : places) {
    CovarianceReport& report = reports[i];
    absl::Status status;
    const size_t offsets = report.offset_map_T_base.size();
    for (size_t k = 0; k < offsets; ++k) {
      const AlignResult& aligned = results[next++];
      status.Update(CheckOffsetAlignment(aligned));
      report.aligned_map_T_base.push_back(aligned.map_T_base);
      report.nvtl.push_back(aligned.after.nearest_voxel_likelihood);
    }
    if (!status.ok()) {
      report = FixedReport(requests[i], status);
      continue;
    }
    const auto positions = PositionsOf(*requests[i].scan.result, report.aligned_map_T_base);
    ReportPosition(requests[i], MomentsOf(positions).covariance, report);
  }
}

void EstimateMultiNdtScore(Engine& engine, const CovarianceRequest& request,
                           CovarianceReport& report) {
  const AlignJob& job = *request.scan.job;
  const AlignResult& result = *request.scan.result;
  report.offset_map_T_base = OffsetPoses(result.map_T_base, request.options->offsets_base);
  ScoreRequest score_request;
  score_request.map = job.map;
  score_request.scan = job.scan;
  score_request.map_T_base = report.offset_map_T_base;
  score_request.stage = job.profile.stages[job.profile.score_stage];
  score_request.work_class = job.work_class;
  score_request.stop = job.stop;
  const absl::StatusOr<ScoreResult> scores = engine.Score(score_request);
  if (!scores.ok()) {
    report = FixedReport(request, scores.status());
    return;
  }
  std::vector<double> nvtl = {result.after.nearest_voxel_likelihood};
  for (const PoseScore& score : scores->poses) {
    report.nvtl.push_back(score.nearest_voxel_likelihood);
    nvtl.push_back(score.nearest_voxel_likelihood);
  }
  const std::vector<double> weights = SoftmaxWeights(nvtl, request.options->temperature);
  const auto positions = PositionsOf(result, report.offset_map_T_base);
  ReportPosition(request, WeightedMoments(positions, weights).covariance, report);
}

// The fixed covariance where the calibration has failed.
CovarianceReport ReportCalibrated(const CovarianceRequest& request,
                                  const CalibratedCovariance& calibrated) {
  const CovarianceOptions& options = *request.options;
  const Pose& map_T_base = request.scan.result->map_T_base;
  if (!calibrated.status.ok()) return FixedReport(request, calibrated.status);
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

// A determinant below this share of the product of its largest factors is rounding.
constexpr double kSingular = 1e-12;

// How base x and y lie in the map's plane: not quite a rotation where the base is tilted.
Eigen::Matrix2d PlaneRotation(const Pose& map_T_base) {
  return map_T_base.rotation.toRotationMatrix().topLeftCorner<2, 2>();
}

}  // namespace

std::optional<CovarianceReport> EstimateWithoutEngine(const CovarianceRequest& request) {
  switch (request.options->method) {
    case CovarianceMethod::kFixed:
      return FixedReport(request, absl::OkStatus());
    case CovarianceMethod::kLaplace: {
      const auto estimate = LaplaceCovariance(request.scan.result->hessian);
      if (!estimate.ok()) return FixedReport(request, estimate.status());
      CovarianceReport report;
      report.method = CovarianceMethod::kLaplace;
      ReportPosition(request, *estimate, report);
      return report;
    }
    case CovarianceMethod::kCalibrated:
      if (request.calibrated == nullptr) return std::nullopt;
      return ReportCalibrated(request, *request.calibrated);
    case CovarianceMethod::kMultiNdt:
    case CovarianceMethod::kMultiNdtScore:
      break;
  }
  return std::nullopt;
}

std::vector<CovarianceReport> EstimateCovariances(Engine& engine,
                                                  absl::Span<const CovarianceRequest> requests) {
  std::vector<CovarianceReport> reports(requests.size());
  std::vector<size_t> to_align;      // their places, of kMultiNdt
  std::vector<size_t> to_calibrate;  // of kCalibrated
  std::vector<CalibrationRequest> calibrations;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (std::optional<CovarianceReport> report = EstimateWithoutEngine(requests[i])) {
      reports[i] = *std::move(report);
      continue;
    }
    reports[i].method = requests[i].options->method;
    if (reports[i].method == CovarianceMethod::kMultiNdt) {
      to_align.push_back(i);
    } else if (reports[i].method == CovarianceMethod::kMultiNdtScore) {
      EstimateMultiNdtScore(engine, requests[i], reports[i]);
    } else {
      to_calibrate.push_back(i);
      calibrations.push_back({requests[i].scan});
    }
  }
  EstimateMultiNdt(engine, requests, to_align, reports);
  const std::vector<CalibratedCovariance> found = CalibrateCovariances(engine, calibrations);
  for (size_t k = 0; k < found.size(); ++k) {
    reports[to_calibrate[k]] = ReportCalibrated(requests[to_calibrate[k]], found[k]);
  }
  return reports;
}

Matrix6 RotateFixedCovariance(const Matrix6& fixed, const Pose& map_T_base) {
  const Eigen::Matrix3d map_R_base = map_T_base.rotation.toRotationMatrix();
  Matrix6 covariance = fixed;
  const Eigen::Matrix3d turned = map_R_base * fixed.topLeftCorner<3, 3>() * map_R_base.transpose();
  covariance.topLeftCorner<3, 3>() = 0.5 * (turned + turned.transpose());
  return covariance;
}

absl::StatusOr<Eigen::Matrix2d> LaplaceCovariance(const Matrix6& hessian) {
  const Eigen::Matrix2d block = hessian.topLeftCorner<2, 2>();
  const double largest = block.cwiseAbs().maxCoeff();
  const double determinant = block.determinant();
  if (!block.allFinite() || !(std::abs(determinant) > kSingular * largest * largest)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the x, y block of the Hessian, (", block(0, 0), ", ", block(0, 1), ", ",
                     block(1, 0), ", ", block(1, 1), "), has no inverse"));
  }
  return Eigen::Matrix2d(-block.inverse());
}

std::vector<Pose> OffsetPoses(const Pose& map_T_base,
                              absl::Span<const Eigen::Vector2d> offsets_base) {
  const Eigen::Matrix2d rotation = PlaneRotation(map_T_base);
  std::vector<Pose> poses(offsets_base.size(), map_T_base);
  for (size_t i = 0; i < poses.size(); ++i) {
    poses[i].translation.head<2>() += rotation * offsets_base[i];
  }
  return poses;
}

PositionMoments MomentsOf(absl::Span<const Eigen::Vector2d> positions) {
  const auto count = static_cast<double>(positions.size());
  PositionMoments moments =
      WeightedMoments(positions, std::vector<double>(positions.size(), 1.0 / count));
  moments.covariance *= (count - 1.0) / count;
  return moments;
}

PositionMoments WeightedMoments(absl::Span<const Eigen::Vector2d> positions,
                                absl::Span<const double> weights) {
  // Around the first: map coordinates may be large.
  PositionMoments moments;
  for (size_t i = 0; i < positions.size(); ++i) {
    moments.mean += weights[i] * (positions[i] - positions[0]);
  }
  moments.mean += positions[0];
  for (size_t i = 0; i < positions.size(); ++i) {
    const Eigen::Vector2d d = positions[i] - moments.mean;
    moments.covariance += weights[i] * d * d.transpose();
  }
  return moments;
}

std::vector<double> SoftmaxWeights(absl::Span<const double> scores, double temperature) {
  const double best = *std::max_element(scores.begin(), scores.end());
  std::vector<double> weights;
  double sum = 0.0;
  for (const double score : scores) {
    weights.push_back(std::exp((score - best) / temperature));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

Eigen::Matrix2d RaiseDiagonal(const Eigen::Matrix2d& covariance, double least_xx, double least_yy) {
  Eigen::Matrix2d raised = covariance;
  raised(0, 0) = std::max(raised(0, 0), least_xx);
  raised(1, 1) = std::max(raised(1, 1), least_yy);
  return raised;
}

Matrix6 CovarianceWithPosition(const Eigen::Matrix2d& estimate, const Pose& map_T_base,
                               const CovarianceOptions& options) {
  const Eigen::Matrix2d rotation = PlaneRotation(map_T_base);
  const Eigen::Matrix2d in_base =
      rotation.transpose() * (options.scale_factor * estimate) * rotation;
  const Eigen::Matrix2d in_map = rotation *
                                 RaiseDiagonal(in_base, options.fixed(0, 0), options.fixed(1, 1)) *
                                 rotation.transpose();
  Matrix6 covariance = RotateFixedCovariance(options.fixed, map_T_base);
  covariance.topLeftCorner<2, 2>() = 0.5 * (in_map + in_map.transpose());
  return covariance;
}

}  // namespace voxloc
