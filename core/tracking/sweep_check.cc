// SPDX-License-Identifier: Apache-2.0

#include "core/tracking/sweep_check.h"

#include <cmath>

namespace voxloc {

SweepReport SweepCheck::Add(const SweepPull& pull) {
  pulls_.push_back(pull);
  if (pulls_.size() > kSweepWindow) pulls_.pop_front();
  SweepReport report = ReportOfWindow();
  report.begins = report.suspect && !suspect_;
  suspect_ = report.suspect;
  return report;
}

void SweepCheck::Clear() {
  pulls_.clear();
  suspect_ = false;
}

// The slopes are taken as share * curvature and an error: the share is the ratio of the sums, in
// which a scan counts by its curvature, and the errors are what is left of each slope.
SweepReport SweepCheck::ReportOfWindow() const {
  SweepReport report;
  report.scans = pulls_.size();
  double slope = 0.0;
  double curvature = 0.0;
  for (const SweepPull& of_scan : pulls_) {
    slope += of_scan.slope;
    curvature += of_scan.curvature;
  }
  if (!(curvature > 0.0) || !std::isfinite(slope / curvature)) return report;
  report.unexplained_motion = slope / curvature;
  if (pulls_.size() < 2) return report;
  double squares = 0.0;
  for (const SweepPull& of_scan : pulls_) {
    const double error = of_scan.slope - report.unexplained_motion * of_scan.curvature;
    squares += error * error;
  }
  const auto scans = static_cast<double>(pulls_.size());
  report.sigma = std::sqrt(squares * scans / (scans - 1.0)) / curvature;
  const double share = std::abs(report.unexplained_motion);
  report.suspect = report.scans >= kFewestSweeps && share > kSuspectShare &&
                   share > kSuspectSigmas * report.sigma;
  return report;
}

}  // namespace voxloc
