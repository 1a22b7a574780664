// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/search_client.h"

#include <grpcpp/support/sync_stream.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cpp/align.h"
#include "clients/cpp/channel_impl.h"
#include "clients/cpp/unary.h"
#include "core/status/try.h"
#include "voxloc/v1/localization_service.grpc.pb.h"

namespace voxloc::client {
namespace {

constexpr char kSearchCall[] = "EstimateInitialPose";

absl::StatusOr<v1::SearchResult> SearchAt(const Channel& channel, const Endpoint& endpoint,
                                          const v1::EstimateInitialPoseRequest& request,
                                          const SearchObserver& observer,
                                          std::chrono::system_clock::time_point deadline) {
  const std::unique_ptr<grpc::ClientContext> context = channel.impl().NewContext();
  context->set_deadline(deadline);
  const auto stub = v1::LocalizationService::NewStub(endpoint.channel);
  const std::unique_ptr<grpc::ClientReader<v1::EstimateInitialPoseResponse>> reader =
      stub->EstimateInitialPose(context.get(), request);
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
    return absl::CancelledError(absl::StrCat(endpoint.address, " ", kSearchCall, ": given up"));
  }
  if (!status.ok()) return channel.impl().StatusOf(endpoint, kSearchCall, status);
  if (!result.has_value()) {
    return absl::InternalError(
        absl::StrCat(endpoint.address, " ", kSearchCall, ": the stream ended before its result"));
  }
  return *std::move(result);
}

}  // namespace

absl::StatusOr<v1::SearchResult> EstimateInitialPose(const Channel& channel,
                                                     const v1::EstimateInitialPoseRequest& request,
                                                     const SearchObserver& observer,
                                                     double timeout_s) {
  const auto deadline = DeadlineAfter(timeout_s);
  return TryEach(channel, [&](const Endpoint& endpoint, bool* /*began*/) {
    return SearchAt(channel, endpoint, request, observer, deadline);
  });
}

absl::StatusOr<v1::AlignmentResult> AlignScan(const Channel& channel,
                                              const v1::AlignScanRequest& request,
                                              double timeout_s) {
  VOXLOC_ASSIGN_OR_RETURN(
      v1::AlignScanResponse response,
      CallWithFailover<v1::LocalizationService>(
          channel, "AlignScan", &v1::LocalizationService::Stub::AlignScan, request, timeout_s));
  return std::move(*response.mutable_result());
}

}  // namespace voxloc::client
