// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/search_client.h"

#include <grpcpp/support/sync_stream.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cpp/align.h"
#include "clients/cpp/calls.h"
#include "voxloc/v1/localization_service.grpc.pb.h"

namespace voxloc::client {

using LocalizationStub = v1::LocalizationService::Stub;

absl::StatusOr<v1::SearchResult> EstimateInitialPose(const Channel& channel,
                                                     const v1::EstimateInitialPoseRequest& request,
                                                     const SearchObserver& observer,
                                                     double timeout_s) {
  const auto deadline = DeadlineAfter(timeout_s);
  const auto search = [&](const Endpoint& endpoint,
                          bool* /*began*/) -> absl::StatusOr<v1::SearchResult> {
    const absl::string_view call = "EstimateInitialPose";
    const std::unique_ptr<grpc::ClientContext> context = ContextFor(channel, request);
    context->set_deadline(deadline);
    const std::unique_ptr<grpc::ClientReader<v1::EstimateInitialPoseResponse>> reader =
        LocalizationStub(endpoint.channel).EstimateInitialPose(context.get(), request);
    std::optional<v1::SearchResult> result;
    bool wanted = true;
    v1::EstimateInitialPoseResponse response;
    while (reader->Read(&response)) {
      if (response.has_result()) {
        result = std::move(*response.mutable_result());
      } else if (response.has_progress() && wanted && observer && !observer(response.progress())) {
        wanted = false;
        context->TryCancel();
      }
    }
    const grpc::Status status = reader->Finish();
    if (!wanted) {
      return absl::CancelledError(absl::StrCat(endpoint.address, " ", call, ": given up"));
    }
    if (!status.ok()) return channel.impl().StatusOf(endpoint, call, status);
    if (!result.has_value()) {
      return absl::InternalError(
          absl::StrCat(endpoint.address, " ", call, ": the stream ended before its result"));
    }
    return *std::move(result);
  };
  return TryEach(channel, search);
}

absl::StatusOr<v1::AlignmentResult> AlignScan(const Channel& channel,
                                              const v1::AlignScanRequest& request,
                                              double timeout_s) {
  return MessageIn(
      CallWithFailover(channel, "AlignScan", &LocalizationStub::AlignScan, request, timeout_s),
      &v1::AlignScanResponse::mutable_result);
}

}  // namespace voxloc::client
