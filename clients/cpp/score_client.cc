// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/score_client.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cpp/channel_impl.h"
#include "clients/cpp/unary.h"
#include "core/status/try.h"
#include "voxloc/v1/localization_service.grpc.pb.h"

namespace voxloc::client {
namespace {

// Poses of one set: 56 kB.
constexpr size_t kPosesPerSet = 1000;

constexpr char kScoreCall[] = "ScorePoses";

void AddPose(const Pose& pose, v1::PoseSet* set) {
  for (int i = 0; i < 3; ++i) set->add_map_t_base(pose.translation[i]);
  set->add_map_t_base(pose.rotation.x());
  set->add_map_t_base(pose.rotation.y());
  set->add_map_t_base(pose.rotation.z());
  set->add_map_t_base(pose.rotation.w());
}

}  // namespace

struct ScoreClient::Impl {
  Impl(const Channel& a_channel, const Endpoint& an_endpoint, double a_timeout_s)
      : channel(a_channel),
        endpoint(an_endpoint),
        timeout_s(a_timeout_s),
        stub(v1::LocalizationService::NewStub(an_endpoint.channel)),
        context(a_channel.impl().NewContext()) {}

  absl::Status Begin(const v1::ScoreSetup& setup);
  absl::Status Exchange(const v1::ScorePosesRequest& request, v1::ScorePosesResponse* response,
                        const CancelAfter& deadline);
  absl::Status Fail(const CancelAfter& deadline);
  absl::Status ScoreSet(const v1::ScorePosesRequest& request, v1::PoseScores* all);

  const Channel channel;
  const Endpoint& endpoint;
  const double timeout_s;
  const std::unique_ptr<v1::LocalizationService::Stub> stub;
  const std::unique_ptr<grpc::ClientContext> context;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ScorePosesRequest, v1::ScorePosesResponse>> rpc;
  v1::ScoreReady ready;
  uint64_t last_sequence = 0;
  bool finished = false;  // Finish was called
  absl::Status error;     // what ended the stream
};

absl::Status ScoreClient::Impl::Begin(const v1::ScoreSetup& setup) {
  const CancelAfter deadline(context.get(), timeout_s);
  rpc = stub->ScorePoses(context.get());
  v1::ScorePosesRequest request;
  *request.mutable_setup() = setup;
  v1::ScorePosesResponse response;
  VOXLOC_TRY(Exchange(request, &response, deadline));
  if (!response.has_ready()) {
    return absl::InternalError(
        absl::StrCat(endpoint.address, " ", kScoreCall, ": `setup` was not answered by `ready`"));
  }
  ready = response.ready();
  return absl::OkStatus();
}

absl::Status ScoreClient::Impl::Fail(const CancelAfter& deadline) {
  error = channel.impl().StatusOf(endpoint, kScoreCall, rpc->Finish());
  finished = true;
  if (deadline.fired()) {
    error = absl::DeadlineExceededError(
        absl::StrCat(endpoint.address, " ", kScoreCall, ": no answer in ", timeout_s, " s"));
  } else if (error.ok()) {
    error = absl::InternalError(
        absl::StrCat(endpoint.address, " ", kScoreCall, ": the stream ended before its answer"));
  }
  return error;
}

absl::Status ScoreClient::Impl::Exchange(const v1::ScorePosesRequest& request,
                                         v1::ScorePosesResponse* response,
                                         const CancelAfter& deadline) {
  if (!rpc->Write(request) || !rpc->Read(response)) return Fail(deadline);
  return absl::OkStatus();
}

absl::Status ScoreClient::Impl::ScoreSet(const v1::ScorePosesRequest& request,
                                         v1::PoseScores* all) {
  const CancelAfter deadline(context.get(), timeout_s);
  v1::ScorePosesResponse response;
  VOXLOC_TRY(Exchange(request, &response, deadline));
  while (true) {
    if (!response.has_scores() || response.scores().sequence() != request.poses().sequence()) {
      context->TryCancel();
      error = absl::InternalError(absl::StrCat(endpoint.address, " ", kScoreCall,
                                               ": an answer that nothing was asked for"));
      return error;
    }
    const v1::PoseScores& part = response.scores();
    if (!part.detail().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(endpoint.address, " ", kScoreCall, ": ", part.detail()));
    }
    all->mutable_score()->MergeFrom(part.score());
    all->mutable_transform_probability()->MergeFrom(part.transform_probability());
    all->mutable_nvtl()->MergeFrom(part.nvtl());
    all->mutable_matched_points()->MergeFrom(part.matched_points());
    all->mutable_matched_ratio()->MergeFrom(part.matched_ratio());
    all->mutable_point_scores()->MergeFrom(part.point_scores());
    *all->mutable_timings() = part.timings();
    if (part.last()) return absl::OkStatus();
    if (!rpc->Read(&response)) return Fail(deadline);
  }
}

ScoreClient::ScoreClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ScoreClient::~ScoreClient() {
  if (impl_->rpc == nullptr || impl_->finished) return;
  impl_->context->TryCancel();
  impl_->rpc->Finish();
}

absl::StatusOr<std::unique_ptr<ScoreClient>> ScoreClient::Open(const Channel& channel,
                                                               const v1::ScoreSetup& setup,
                                                               double timeout_s) {
  using Client = absl::StatusOr<std::unique_ptr<ScoreClient>>;
  return TryEach(channel, [&](const Endpoint& endpoint, bool* /*began*/) -> Client {
    std::unique_ptr<ScoreClient> client(
        new ScoreClient(std::make_unique<Impl>(channel, endpoint, timeout_s)));
    VOXLOC_TRY(client->impl_->Begin(setup));
    return client;
  });
}

const v1::ScoreReady& ScoreClient::ready() const { return impl_->ready; }

absl::StatusOr<v1::PoseScores> ScoreClient::Score(const std::vector<Pose>& map_T_base) {
  Impl& impl = *impl_;
  if (!impl.error.ok()) return impl.error;
  v1::PoseScores all;
  for (size_t first = 0; first < map_T_base.size(); first += kPosesPerSet) {
    const size_t end = std::min(map_T_base.size(), first + kPosesPerSet);
    v1::ScorePosesRequest request;
    request.mutable_poses()->set_sequence(++impl.last_sequence);
    for (size_t i = first; i < end; ++i) AddPose(map_T_base[i], request.mutable_poses());
    VOXLOC_TRY(impl.ScoreSet(request, &all));
  }
  all.set_last(true);
  return all;
}

}  // namespace voxloc::client
