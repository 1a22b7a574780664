// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/sweep_check.h"

#include <cmath>

namespace voxloc {

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
