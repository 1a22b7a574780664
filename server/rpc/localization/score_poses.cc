// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/status/try.h"
#include "server/localization/score_work.h"
#include "server/observe/logging.h"
#include "server/rpc/services.h"
#include "server/rpc/support/bidi_stream.h"

namespace voxloc::server {
namespace {

// Works in steps on the scoring queue, at most one posted at a time: a message or a slice of a pose
// set. Other streams run between two steps. The next message is read when the last one is done, and
// steps wait while the client does not read its scores.
class ScorePosesStream : public BidiStream<v1::ScorePosesRequest, v1::ScorePosesResponse>,
                         public std::enable_shared_from_this<ScorePosesStream> {
 public:
  using BidiStream::BidiStream;

 protected:
  absl::Status Begin() override {
    return RetainPass(runtime_.scoring_streams, runtime_.metrics.rejected_scoring,
                      "scoring streams open", "TOO_MANY_SCORING_STREAMS");
  }

  void OnRequest(std::unique_ptr<v1::ScorePosesRequest> request) override {
    request_ = std::move(request);
    PostStep();
  }

  // Comes between two messages, so all sets have been scored.
  void OnHalfClose() override { End(absl::OkStatus()); }

  void OnCaughtUp() override { PostStep(); }

 private:
  void PostStep() {
    if (!runtime_.scoring.Post([self = shared_from_this()] { self->Step(); })) {
      End(LimitReached(runtime_.scoring_streams.limit(), "scoring streams waiting",
                       "TOO_MANY_SCORING_STREAMS"));
    }
  }

  // On the scoring queue.
  void Step() {
    if (ended()) return;
    const ScopedLogTrace log_trace(trace());
    auto response = std::make_unique<v1::ScorePosesResponse>();
    absl::Status status;
    if (request_ != nullptr) {
      const std::unique_ptr<v1::ScorePosesRequest> request = std::move(request_);
      status = Dispatch(*request, *response);
    } else if (next_ < poses_.size()) {
      status = ScoreSlice(*response->mutable_scores());
    }
    if (!status.ok()) {
      End(status);
      return;
    }
    // A set whose scoring begins has no response yet.
    const bool is_set = response->response_case() != v1::ScorePosesResponse::RESPONSE_NOT_SET;
    if (is_set && !Send(std::move(response))) return;  // until OnCaughtUp
    if (next_ < poses_.size()) {
      PostStep();
    } else {
      ReadNext();
    }
  }

  absl::Status Dispatch(const v1::ScorePosesRequest& request, v1::ScorePosesResponse& response) {
    if (request.has_setup()) return HandleSetup(request.setup(), *response.mutable_ready());
    if (request.has_poses()) return HandlePoses(request.poses(), response);
    return absl::InvalidArgumentError("a message of no kind");
  }

  absl::Status HandleSetup(const v1::ScoreSetup& setup, v1::ScoreReady& ready) {
    VOXLOC_TRY(access().UseMapAs(setup.setup().map(), setup.setup().vehicle()));
    VOXLOC_TRY(runtime_.sessions.Admit());
    work_ = std::make_unique<ScoreWork>(WorkPartsOf(runtime_));
    VOXLOC_TRY(work_->Open(setup, stop_));
    work_->DescribeTo(ready);
    return absl::OkStatus();
  }

  absl::Status HandlePoses(const v1::PoseSet& set, v1::ScorePosesResponse& response) {
    if (work_ == nullptr) return absl::FailedPreconditionError("the first message must be setup");
    sequence_ = set.sequence();
    next_ = 0;
    auto poses = work_->ParsePoses(set);
    if (poses.ok()) {
      poses_ = *std::move(poses);
      return absl::OkStatus();
    }
    poses_.clear();
    response.mutable_scores()->set_sequence(sequence_);
    response.mutable_scores()->set_last(true);
    response.mutable_scores()->set_detail(std::string(poses.status().message()));
    return absl::OkStatus();
  }

  absl::Status ScoreSlice(v1::PoseScores& scores) {
    const size_t size = std::min(work_->SliceSize(), poses_.size() - next_);
    scores.set_sequence(sequence_);
    scores.set_first_pose(static_cast<uint32_t>(next_));
    VOXLOC_TRY(work_->Score(absl::MakeConstSpan(poses_).subspan(next_, size), scores));
    next_ += size;
    scores.set_last(next_ == poses_.size());
    return absl::OkStatus();
  }

  // Used by one step after another: a step begins when the message before it, or the step, is done.
  std::unique_ptr<v1::ScorePosesRequest> request_;
  std::unique_ptr<ScoreWork> work_;
  std::vector<Pose> poses_;
  uint64_t sequence_ = 0;
  size_t next_ = 0;  // of poses_
};

}  // namespace

MethodHandler* MakeScorePosesHandler(Runtime& runtime, RpcMethod method) {
  return MakeBidiStreamHandler<ScorePosesStream>(runtime, method);
}

}  // namespace voxloc::server
