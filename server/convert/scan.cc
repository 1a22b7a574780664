// SPDX-License-Identifier: Apache-2.0

#include "server/convert/scan.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/convert/cloud.h"
#include "server/convert/options.h"
#include "server/convert/pose.h"
#include "server/convert/range.h"

namespace voxloc::server {
namespace {

absl::Status InCloud(int index, const absl::Status& status) {
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
    if (!status.ok()) return scan.clouds_size() == 1 ? status : InCloud(i, status);
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
    auto covariance =
        CovarianceFromProto(scan.guess_map_t_base().covariance(), "guess_map_t_base.covariance");
    if (!covariance.ok()) return covariance.status();
    auto guess = PoseFromProto(scan.guess_map_t_base().pose(), "guess_map_t_base.pose");
    if (!guess.ok()) return guess.status();
    hints.guess_map_T_base = *guess;
    hints.guess_covariance = *covariance;
  }
  if (scan.has_odom_t_base()) {
    auto odometry = PoseFromProto(scan.odom_t_base(), "odom_t_base");
    if (!odometry.ok()) return odometry.status();
    hints.odom_T_base = *odometry;
  }
  if (scan.has_base_twist()) {
    auto twist = TwistFromProto(scan.base_twist(), "base_twist");
    if (!twist.ok()) return twist.status();
    hints.base_twist = *twist;
  }
  if (scan.has_reference_position()) {
    auto reference = VectorFromProto(scan.reference_position(), "reference_position");
    if (!reference.ok()) return reference.status();
    hints.reference_map = *reference;
  }
  if (absl::Status status = CheckSeconds("timeout_s", scan.timeout_s()); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckSeconds("age_s", scan.age_s()); !status.ok()) return status;
  hints.timeout_s = scan.timeout_s();
  hints.age_s = scan.age_s();
  return hints;
}

}  // namespace voxloc::server
