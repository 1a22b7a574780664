// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/search_client.h"

#include <grpcpp/support/sync_stream.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cpp/channel_impl.h"
#include "clients/cpp/rpc_status.h"
#include "clients/cpp/unary.h"
#include "voxloc/v1/localization_service.grpc.pb.h"

namespace voxloc::client {
namespace {

constexpr char kSearchCall[] = "EstimateInitialPose";

}  // namespace

absl::StatusOr<v1::SearchResult> EstimateInitialPose(const Channel& channel,
                                                     const v1::EstimateInitialPoseRequest& request,
                                                     const SearchObserver& observer,
                                                     double timeout_s) {
  const auto stub = v1::LocalizationService::NewStub(channel.impl().channel);
  grpc::ClientContext context;
  SetDeadline(&context, timeout_s);
  const std::unique_ptr<grpc::ClientReader<v1::EstimateInitialPoseResponse>> reader =
      stub->EstimateInitialPose(&context, request);
  std::optional<v1::SearchResult> result;
  bool wanted = true;
  v1::EstimateInitialPoseResponse response;
  while (reader->Read(&response)) {
    if (response.has_result()) {
      result = std::move(*response.mutable_result());
    } else if (response.has_progress() && wanted && observer && !observer(response.progress())) {
      wanted = false;
      context.TryCancel();
    }
  }
  const grpc::Status status = reader->Finish();
  if (!wanted) {
    return absl::CancelledError(absl::StrCat(channel.server(), " ", kSearchCall, ": given up"));
  }
  if (!status.ok()) return ToAbslStatus(status, channel.server(), kSearchCall);
  if (!result.has_value()) {
    return absl::InternalError(
        absl::StrCat(channel.server(), " ", kSearchCall, ": the stream ended before its result"));
  }
  return *std::move(result);
}

}  // namespace voxloc::client
