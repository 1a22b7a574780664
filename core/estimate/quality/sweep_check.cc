// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/quality/sweep_check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "core/estimate/covariance/cluster_covariance.h"
#include "core/geometry/covariance.h"

namespace voxloc {
namespace {

// Of a slice. A point bends a score along one direction, and there are six.
constexpr size_t kMinSlicePoints = 6;

// Metres that a radian counts as, where lengths and angles share the eigenvectors of a Hessian: the
// reach of most points of a scan.
constexpr double kRadianM = 10.0;

}  // namespace

std::optional<SweepSlices> SliceSweep(absl::Span<const float> time_s) {
  const size_t points = time_s.size();
  if (points < kMinSlicePoints * kSweepSlices) return std::nullopt;
  std::vector<uint32_t> places(points);
  std::iota(places.begin(), places.end(), 0U);
  std::stable_sort(places.begin(), places.end(),
                   [&](uint32_t a, uint32_t b) { return time_s[a] < time_s[b]; });
  if (time_s[places.front()] == time_s[places.back()]) return std::nullopt;
  SweepSlices slices;
  auto groups = std::make_shared<PointGroups>();
  size_t begin = 0;
  for (size_t slice = 0; slice < kSweepSlices; ++slice) {
    const size_t end = points * (slice + 1) / kSweepSlices;
    double sum_s = 0.0;
    for (size_t i = begin; i < end; ++i) sum_s += static_cast<double>(time_s[places[i]]);
    slices.time_s.push_back(sum_s / static_cast<double>(end - begin));
    groups->ends.push_back(static_cast<uint32_t>(end));
    begin = end;
  }
  groups->places = std::move(places);
  slices.groups = std::move(groups);
  const double mean_s =
      std::accumulate(slices.time_s.begin(), slices.time_s.end(), 0.0) / double{kSweepSlices};
  for (double& time : slices.time_s) time -= mean_s;
  return slices;
}

double MotionOver(const SweepSlices& slices, const Twist& base_twist) {
  return base_twist.linear_m_s.norm() * (slices.time_s.back() - slices.time_s.front());
}

size_t RequestSweepPass(const SweepSlices& slices, std::shared_ptr<const PointCloud> scan_base,
                        AlignJob& job) {
  EvaluationPass& pass = job.passes.emplace_back();
  pass.cloud = std::move(scan_base);
  pass.groups = slices.groups;
  pass.score_stage = true;
  return job.passes.size() - 1;
}

SweepDerivatives ComputeSweepDerivatives(const SweepSlices& slices,
                                         absl::Span<const GroupSums> groups,
                                         const Twist& base_twist, const Pose& map_T_base) {
  const Vector6 rate = FixedAxesRate(base_twist, map_T_base);
  Vector6 scale = Vector6::Ones();  // of the map axes' coordinates: lengths for angles
  scale.tail<3>().setConstant(1.0 / kRadianM);
  const Vector6 scaled_rate = rate.cwiseQuotient(scale);
  SweepDerivatives pull;
  for (size_t i = 0; i < groups.size(); ++i) {
    const ScoreTerms terms = ScaledTerms(groups[i], scale);
    const SymmetricEigen<6> eigen = DecomposeSymmetric(terms.information);
    const Vector6 along = eigen.vectors.transpose() * scaled_rate;
    const double time_s = slices.time_s[i];
    pull.slope += time_s * scaled_rate.dot(terms.gradient);
    pull.curvature += time_s * time_s * along.cwiseAbs2().dot(eigen.values.cwiseAbs());
  }
  return pull;
}

SweepReport SweepCheck::Add(const SweepDerivatives& pull) {
  window_.push_back(pull);
  if (window_.size() > kSweepWindow) window_.pop_front();
  SweepReport report = WindowReport();
  report.newly_suspect = report.suspect && !suspect_;
  suspect_ = report.suspect;
  return report;
}

void SweepCheck::Clear() {
  window_.clear();
  suspect_ = false;
}

// The slopes are taken as share * curvature and an error: the share is the ratio of the sums, in
// which a scan counts by its curvature, and the errors are what is left of each slope.
SweepReport SweepCheck::WindowReport() const {
  SweepReport report;
  report.scans = window_.size();
  double slope = 0.0;
  double curvature = 0.0;
  for (const SweepDerivatives& of_scan : window_) {
    slope += of_scan.slope;
    curvature += of_scan.curvature;
  }
  if (!(curvature > 0.0) || !std::isfinite(slope / curvature)) return report;
  report.unexplained_motion = slope / curvature;
  if (window_.size() < 2) return report;
  double squares = 0.0;
  for (const SweepDerivatives& of_scan : window_) {
    const double error = of_scan.slope - report.unexplained_motion * of_scan.curvature;
    squares += error * error;
  }
  const auto scans = static_cast<double>(window_.size());
  report.sigma = std::sqrt(squares * scans / (scans - 1.0)) / curvature;
  const double share = std::abs(report.unexplained_motion);
  report.suspect =
      report.scans >= kMinSweeps && share > kSuspectShare && share > kSuspectSigmas * report.sigma;
  return report;
}

}  // namespace voxloc
