// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/session_requests.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cpp/messages.h"

namespace voxloc::client {
namespace {

void EncodeCovariance(const Matrix6& covariance, google::protobuf::RepeatedField<double>* field) {
  for (int row = 0; row < 6; ++row) {
    for (int column = 0; column < 6; ++column) field->Add(covariance(row, column));
  }
}

}  // namespace

absl::StatusOr<v1::AlignScansRequest> ScanRequest(const ScanInput& scan) {
  if ((scan.cloud == nullptr) == (scan.encoded_cloud == nullptr)) {
    return absl::InvalidArgumentError(absl::StrCat("the scan must have one cloud (got ",
                                                   scan.cloud == nullptr ? "none" : "two", ")"));
  }
  v1::AlignScansRequest request;
  v1::Scan* message = request.mutable_scan();
  message->set_stamp_ns(scan.stamp_ns);
  message->set_timeout_s(scan.timeout_s);
  message->set_age_s(scan.age_s);
  v1::Cloud* cloud = message->add_clouds()->mutable_cloud();
  if (scan.cloud != nullptr) {
    EncodeCloud(*scan.cloud, cloud);
  } else {
    *cloud = *scan.encoded_cloud;
  }
  if (scan.guess_map_T_base.has_value()) {
    v1::PoseWithCovariance& guess = *message->mutable_guess_map_t_base();
    EncodePose(*scan.guess_map_T_base, guess.mutable_pose());
    if (scan.guess_covariance.has_value()) {
      EncodeCovariance(*scan.guess_covariance, guess.mutable_covariance());
    }
  }
  if (scan.odom_T_base.has_value()) EncodePose(*scan.odom_T_base, message->mutable_odom_t_base());
  if (scan.base_twist.has_value()) {
    EncodeVector(scan.base_twist->linear_m_s, message->mutable_base_twist()->mutable_linear());
    EncodeVector(scan.base_twist->angular_rad_s, message->mutable_base_twist()->mutable_angular());
  }
  return request;
}

v1::AlignScansRequest PoseRequest(int64_t stamp_ns, const Pose& map_T_base,
                                  const std::optional<Matrix6>& covariance) {
  v1::AlignScansRequest request;
  request.mutable_pose()->set_stamp_ns(stamp_ns);
  v1::PoseWithCovariance* message = request.mutable_pose()->mutable_map_t_base();
  EncodePose(map_T_base, message->mutable_pose());
  if (covariance.has_value()) EncodeCovariance(*covariance, message->mutable_covariance());
  return request;
}

v1::AlignScansRequest ReferenceRequest(int64_t stamp_ns, const Eigen::Vector3d& position_map) {
  v1::AlignScansRequest request;
  request.mutable_reference()->set_stamp_ns(stamp_ns);
  EncodeVector(position_map, request.mutable_reference()->mutable_position());
  return request;
}

v1::AlignmentResult LocalOutcome(const v1::Scan& scan, v1::AlignmentStatus status,
                                 absl::string_view detail) {
  v1::AlignmentResult result;
  result.set_sequence(scan.sequence());
  result.set_stamp_ns(scan.stamp_ns());
  result.set_status(status);
  result.set_detail(std::string(detail));
  return result;
}

v1::AlignScansRequest ConfigureRequest(const v1::ScanSetup& setup) {
  v1::AlignScansRequest request;
  *request.mutable_configure()->mutable_setup() = setup;
  return request;
}

v1::AlignScansRequest ActivateRequest(bool active) {
  v1::AlignScansRequest request;
  request.mutable_activate()->set_active(active);
  return request;
}

}  // namespace voxloc::client
