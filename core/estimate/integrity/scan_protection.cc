// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/integrity/scan_protection.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/estimate/covariance/sandwich.h"
#include "core/estimate/integrity/protection_levels.h"
#include "core/geometry/covariance.h"
#include "core/status/try.h"
#include "core/text/number_range.h"

namespace voxloc {
namespace {

// Points about one standard deviation off their cell have a gradient but no information. With noise
// in proportion to the information alone, separations were up to 107 of their standard deviations
// in scans without a fault, although the median was right.
constexpr double kEvenNoiseShare = 0.5;
// Separations have longer tails than normal numbers. In 96 scans without a fault (clean-town-101,
// clean-garage-106 and clean-forest-107 of the choosing list, and a small town) the largest was 5.2
// of its standard deviations; a normal one is over 4.6 in one scan of a thousand.
constexpr double kTailFactor = 1.25;

// The share of the largest information up to which a direction has no level of its own, such that
// all have none that the covariance takes for not observed: it may doubt more of them than their
// information tells. Weakly observed ones have none either: in a tunnel, 80 of 90 levels along such
// directions were too small, where the search had slid by metres.
double UnobservedRatio(const Spectrum& plain, const CalibratedCovariance& calibrated,
                       const Vector6& scale) {
  const ScoreTerms judged = {Vector6::Zero(),
                             scale.asDiagonal() * calibrated.information * scale.asDiagonal()};
  const Spectrum spectrum = DecomposeInformation({&judged, 1});
  int unobserved = 0;
  for (int i = 0; i < 6; ++i) {
    if (!spectrum.Observes(i, kDegeneracyLimits.weak_ratio)) ++unobserved;
  }
  const double largest = plain.information.maxCoeff();
  if (unobserved == 0 || !(largest > 0.0)) return kDegeneracyLimits.weak_ratio;
  return std::clamp(plain.information[unobserved - 1] / largest, kDegeneracyLimits.weak_ratio,
                    0.999);
}

Eigen::Vector3d CenterOf(const PointGroups& groups, size_t k, const PointCloud& cloud) {
  Eigen::Vector3d sum = Eigen::Vector3d::Zero();
  const size_t begin = k == 0 ? 0 : groups.ends[k - 1];
  for (size_t i = begin; i < groups.ends[k]; ++i) sum += cloud.Point(groups.places[i]);
  return sum / static_cast<double>(groups.ends[k] - begin);
}

ProtectionOptions MakeProtectionOptions(const ScanProtectionOptions& options) {
  ProtectionOptions settings;
  settings.risk = options.risk;
  settings.false_alarm = options.false_alarm;
  settings.separation.even_noise_share = kEvenNoiseShare;
  settings.separation.tail_factor = kTailFactor;
  return settings;
}

}  // namespace

absl::Status ValidateScanProtectionOptions(const ScanProtectionOptions& options) {
  if (absl::Status status =
          CheckRanges({{"fault_probability", options.fault_probability, FromTo(0.0, 1.0)}});
      !status.ok()) {
    return status;
  }
  return ValidateProtectionOptions(MakeProtectionOptions(options));
}

absl::StatusOr<ScanProtection> ProtectScan(const AlignedScan& scan,
                                           const CalibratedCovariance& calibrated,
                                           const Matrix6& scan_covariance,
                                           const Matrix6& systematic_covariance,
                                           const ScanProtectionOptions& options) {
  VOXLOC_TRY(ValidateScanProtectionOptions(options));
  if (!calibrated.status.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the covariance of the scan has failed: ", calibrated.status.message()));
  }
  if (scan.result->passes.size() <= kClusterPass || scan.job->passes.size() <= kClusterPass ||
      scan.job->passes[kClusterPass].groups == nullptr) {
    return absl::FailedPreconditionError("the result has no sums over the clusters of the scan");
  }
  Vector6 scale = Vector6::Ones();
  scale.tail<3>().setConstant(1.0 / calibrated.rotation_scale_m);
  const Vector6 unscale = scale.cwiseInverse();
  std::vector<ScoreTerms> clusters;
  for (const GroupSums& cluster : scan.result->passes[kClusterPass].groups) {
    clusters.push_back(ScaledTerms(cluster, scale));
  }
  const std::vector<double> probabilities(
      clusters.size(),
      options.fault_probability / static_cast<double>(std::max<size_t>(1, clusters.size())));

  ProtectionInput input;
  input.clusters = clusters;
  input.fault_probabilities = probabilities;
  input.scan_covariance = unscale.asDiagonal() * scan_covariance * unscale.asDiagonal();
  input.systematic_covariance = unscale.asDiagonal() * systematic_covariance * unscale.asDiagonal();
  const Pose& map_T_base = scan.result->map_T_base;
  if (scan.job->guess_covariance.has_value()) {
    PosePrior& prior = input.prior.emplace();
    prior.offset =
        unscale.cwiseProduct(FixedAxesDifference(map_T_base, scan.job->map_T_base_guess));
    prior.covariance = unscale.asDiagonal() * *scan.job->guess_covariance * unscale.asDiagonal();
  }
  ProtectionOptions settings = MakeProtectionOptions(options);
  settings.separation.unobserved_ratio =
      UnobservedRatio(DecomposeInformation(clusters), calibrated, scale);
  VOXLOC_ASSIGN_OR_RETURN(const auto levels, ComputeProtectionLevels(input, settings));

  ScanProtection protection;
  protection.horizontal_m = levels.horizontal_m;
  protection.vertical_m = levels.vertical_m;
  protection.fault_detected = levels.fault_detected;
  protection.map_T_base = MovedByFixedAxes(map_T_base, scale.cwiseProduct(levels.shift));
  if (levels.excluded_cluster.has_value()) {
    const size_t k = *levels.excluded_cluster;
    const PointGroups& groups = *scan.job->passes[kClusterPass].groups;
    protection.excluded_points = groups.ends[k] - (k == 0 ? 0 : groups.ends[k - 1]);
    protection.excluded_center_map = protection.map_T_base * CenterOf(groups, k, *scan.job->scan);
  }
  return protection;
}

}  // namespace voxloc
