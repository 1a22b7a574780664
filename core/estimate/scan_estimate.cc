// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/scan_estimate.h"

#include "core/estimate/covariance/calibrated_covariance.h"

namespace voxloc {
namespace {

constexpr DegeneracyLimits kDegeneracyLimits = {/*weak_ratio=*/1e-2, /*unobserved_ratio=*/1e-4};

}  // namespace

std::vector<ScanEstimate> EstimateScans(Engine& engine,
                                        absl::Span<const EstimateRequest> requests) {
  std::vector<CovarianceRequest> covariance_requests;
  std::vector<AlignedScan> scans;
  for (const EstimateRequest& request : requests) {
    covariance_requests.push_back({request.scan, &request.options->covariance});
    scans.push_back(request.scan);
  }
  std::vector<CovarianceReport> reports = EstimateCovariances(engine, covariance_requests);
  const std::vector<CalibratedCovariance> calibrated = CalibrateCovariances(engine, scans);

  std::vector<ScanEstimate> estimates(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const EstimateRequest& request = requests[i];
    ScanEstimate& estimate = estimates[i];
    estimate.covariance = std::move(reports[i]);
    estimate.degeneracy = AnalyzeDegeneracy(calibrated[i].information,
                                            calibrated[i].rotation_scale_m, kDegeneracyLimits);
    if (request.options->confidence) {
      Confidence confidence;
      confidence.signals.matched_ratio = request.scan.result->after.matched_ratio();
      confidence.signals.matched_points = request.scan.result->after.matched_points;
      confidence.signals.nvtl = request.scan.result->after.nearest_voxel_likelihood;
      confidence.signals.condition = estimate.degeneracy.condition;
      confidence.value = ConfidenceOf(confidence.signals);
      estimate.confidence = confidence;
    }
    if (request.options->no_ground_z_margin_m.has_value()) {
      absl::StatusOr<NoGroundScores> scores =
          ScoreWithoutGround(engine, *request.scan.job, request.scan.result->map_T_base,
                             *request.options->no_ground_z_margin_m);
      if (scores.ok()) estimate.no_ground = *std::move(scores);
    }
  }
  return estimates;
}

}  // namespace voxloc
