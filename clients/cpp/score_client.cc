// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/score_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cpp/calls.h"
#include "clients/cpp/channel_impl.h"
#include "core/status/try.h"
#include "voxloc/v1/localization_service.grpc.pb.h"

namespace voxloc::client {
namespace {

// Poses of one set: 56 kB.
constexpr size_t kPosesPerSet = 1000;

void AddPose(const Pose& pose, v1::PoseSet* set) {
  for (const double value : pose.translation) set->add_map_t_base(value);
  for (const double value : pose.rotation.coeffs()) set->add_map_t_base(value);  // x y z w
}

}  // namespace

struct ScoreClient::Impl
    : DuplexCall<v1::LocalizationService::Stub, v1::ScorePosesRequest, v1::ScorePosesResponse> {
  using DuplexCall::DuplexCall;

  absl::Status Begin(const v1::ScoreSetup& setup) {
    const CancelAfter deadline(context.get(), timeout_s);
    Start(&v1::LocalizationService::Stub::ScorePoses);
    v1::ScorePosesRequest request;
    *request.mutable_setup() = setup;
    VOXLOC_TRY(Write(request, deadline));
    v1::ScorePosesResponse response;
    VOXLOC_TRY(Read(&response, deadline));
    if (!response.has_ready()) return Unexpected("`setup` was not answered by `ready`");
    ready = response.ready();
    return absl::OkStatus();
  }

  absl::Status ScoreSet(const v1::ScorePosesRequest& request, v1::PoseScores* all) {
    const CancelAfter deadline(context.get(), timeout_s);
    VOXLOC_TRY(Write(request, deadline));
    v1::ScorePosesResponse response;
    do {
      VOXLOC_TRY(Read(&response, deadline));
      const v1::PoseScores& part = response.scores();
      if (!response.has_scores() || part.sequence() != request.poses().sequence()) {
        return Unexpected("an answer that nothing was asked for");
      }
      if (!part.detail().empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat(endpoint.address, " ", call, ": ", part.detail()));
      }
      all->mutable_score()->MergeFrom(part.score());
      all->mutable_transform_probability()->MergeFrom(part.transform_probability());
      all->mutable_nvtl()->MergeFrom(part.nvtl());
      all->mutable_matched_points()->MergeFrom(part.matched_points());
      all->mutable_matched_ratio()->MergeFrom(part.matched_ratio());
      all->mutable_point_scores()->MergeFrom(part.point_scores());
      *all->mutable_timings() = part.timings();
    } while (!response.scores().last());
    return absl::OkStatus();
  }

  v1::ScoreReady ready;
  uint64_t last_sequence = 0;
};

ScoreClient::ScoreClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ScoreClient::~ScoreClient() = default;

absl::StatusOr<std::unique_ptr<ScoreClient>> ScoreClient::Open(const Channel& channel,
                                                               const v1::ScoreSetup& setup,
                                                               double timeout_s) {
  using Client = absl::StatusOr<std::unique_ptr<ScoreClient>>;
  return TryEach(channel, [&](const Endpoint& endpoint, bool* /*began*/) -> Client {
    std::unique_ptr<ScoreClient> client(new ScoreClient(
        std::make_unique<Impl>(channel, endpoint, "ScorePoses", setup, timeout_s, "its answer")));
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
