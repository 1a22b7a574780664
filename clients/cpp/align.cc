// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/align.h"

#include <utility>

#include "clients/cpp/unary.h"
#include "voxloc/v1/localization_service.grpc.pb.h"

namespace voxloc::client {

absl::StatusOr<v1::AlignmentResult> AlignScan(const Channel& channel,
                                              const v1::AlignScanRequest& request,
                                              double timeout_s) {
  using Stub = v1::LocalizationService::Stub;
  absl::StatusOr<v1::AlignScanResponse> response =
      CallAny<v1::LocalizationService>(channel, "AlignScan", &Stub::AlignScan, request, timeout_s);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_result());
}

}  // namespace voxloc::client
