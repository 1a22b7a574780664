// SPDX-License-Identifier: Apache-2.0

#include "server/convert/scan.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "server/convert/cloud.h"
#include "server/convert/options.h"
#include "server/convert/pose.h"
#include "server/convert/range.h"

namespace voxloc::server {
namespace {

absl::Status PrefixCloud(int index, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat("clouds[", index, "]: ", status.message()));
}

absl::Status CheckMountAndStamp(const v1::Scan& scan, const v1::SensorCloud& cloud) {
  if (cloud.has_base_t_sensor()) {
    if (auto mount = MountFromProto(cloud.base_t_sensor()); !mount.ok()) return mount.status();
  }
  const double offset_s = CloudOffsetS(scan, cloud);
  if (std::abs(offset_s) <= kMaxCloudOffsetS) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("stamp_ns must be at most ", kMaxCloudOffsetS,
                                                 " s from the scan's stamp (got ", offset_s,
                                                 " s)"));
}

}  // namespace

absl::StatusOr<size_t> CheckScanClouds(const v1::Scan& scan, uint64_t max_points) {
  if (scan.clouds_size() > kMaxClouds) {
    return absl::InvalidArgumentError(absl::StrCat("the scan must have at most ", kMaxClouds,
                                                   " clouds (got ", scan.clouds_size(), ")"));
  }
  size_t points = 0;
  for (int i = 0; i < scan.clouds_size(); ++i) {
    const v1::SensorCloud& cloud = scan.clouds(i);
    auto count = CheckScanCloud(cloud.cloud(), max_points);
    absl::Status status = count.status();
    if (status.ok()) status = CheckMountAndStamp(scan, cloud);
    if (!status.ok()) return scan.clouds_size() == 1 ? status : PrefixCloud(i, status);
    points += *count;
  }
  if (points > max_points) {
    return absl::InvalidArgumentError(absl::StrCat("the clouds of the scan must have at most ",
                                                   max_points, " points (got ", points, ")"));
  }
  return points;
}

bool HasPointData(const v1::Scan& scan) {
  return std::any_of(scan.clouds().begin(), scan.clouds().end(),
                     [](const v1::SensorCloud& cloud) { return !cloud.cloud().data().empty(); });
}

double CloudOffsetS(const v1::Scan& scan, const v1::SensorCloud& cloud) {
  if (cloud.stamp_ns() == 0) return 0.0;
  // Stamps of any two clocks may be so far apart that their difference overflows.
  const double apart_s =
      (static_cast<double>(cloud.stamp_ns()) - static_cast<double>(scan.stamp_ns())) * 1e-9;
  if (std::abs(apart_s) > 2.0 * kMaxCloudOffsetS) return apart_s;
  return static_cast<double>(cloud.stamp_ns() - scan.stamp_ns()) * 1e-9;
}

absl::StatusOr<ScanHints> ScanHintsFromProto(const v1::Scan& scan) {
  ScanHints hints;
  if (scan.has_guess_map_t_base()) {
    VOXLOC_ASSIGN_OR_RETURN(
        auto covariance,
        CovarianceFromProto(scan.guess_map_t_base().covariance(), "guess_map_t_base.covariance"));
    VOXLOC_ASSIGN_OR_RETURN(hints.guess_map_T_base,
                            PoseFromProto(scan.guess_map_t_base().pose(), "guess_map_t_base.pose"));
    hints.guess_covariance = covariance;
  }
  if (scan.has_odom_t_base()) {
    VOXLOC_ASSIGN_OR_RETURN(hints.odom_T_base, PoseFromProto(scan.odom_t_base(), "odom_t_base"));
  }
  if (scan.has_base_twist()) {
    VOXLOC_ASSIGN_OR_RETURN(hints.base_twist, TwistFromProto(scan.base_twist(), "base_twist"));
  }
  if (scan.has_reference_position()) {
    VOXLOC_ASSIGN_OR_RETURN(hints.reference_map,
                            VectorFromProto(scan.reference_position(), "reference_position"));
  }
  VOXLOC_TRY(CheckSeconds("timeout_s", scan.timeout_s()));
  VOXLOC_TRY(CheckSeconds("age_s", scan.age_s()));
  hints.timeout_s = scan.timeout_s();
  hints.age_s = scan.age_s();
  return hints;
}

}  // namespace voxloc::server
