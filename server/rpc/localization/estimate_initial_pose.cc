// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/localization/estimate_initial_pose.h"

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "server/convert/status.h"
#include "server/errors/error_details.h"
#include "server/observe/logging.h"
#include "server/rpc/localization/align_scan.h"
#include "server/rpc/support/admit.h"
#include "server/rpc/support/call_scope.h"
#include "server/rpc/support/stream_timeouts.h"
#include "server/scheduling/timeout_watch.h"
#include "server/search/progress_outbox.h"
#include "server/search/search_work.h"

namespace voxloc::server {
namespace {

// Checked on gRPC's thread, run on the searching queue. The call ends when the search has ended,
// which a cancellation brings soon, and everything before the end has been sent; a search whose
// turn has not come ends at once. A client that takes nothing is given up after
// Limits.idle_timeout_s.
class EstimateInitialPoseCall : public grpc::ServerWriteReactor<v1::EstimateInitialPoseResponse>,
                                public TimeoutWatch::Watched,
                                public DrainedCall,
                                public std::enable_shared_from_this<EstimateInitialPoseCall> {
 public:
  EstimateInitialPoseCall(Runtime& runtime, grpc::CallbackServerContext& context)
      : runtime_(runtime),
        call_(runtime, RpcMethod::kEstimateInitialPose, context),
        context_(context),
        timeouts_(*runtime.live.limits()) {
    timeouts_.ReadingEnded();
  }

  // The request is gRPC's: what is used later is copied.
  void Start(const v1::EstimateInitialPoseRequest& request) {
    self_ = shared_from_this();
    const LogTrace log_trace(call_.trace());
    call_.Received(request);
    watched_ = runtime_.timeouts.Add(weak_from_this(), FirstCheck());
    known_ = runtime_.calls.Add(weak_from_this());
    if (absl::Status status = Enqueue(request); !status.ok()) EndUnlessRunning(status);
  }

  void OnWriteDone(bool ok) override {
    const absl::MutexLock lock(&mutex_);
    timeouts_.WritingEnded();
    writing_.reset();
    if (!ok) {  // the connection is gone
      cancelled_->store(true, std::memory_order_relaxed);
      broken_ = true;
    }
    Proceed();
  }

  void OnCancel() override {
    cancelled_->store(true, std::memory_order_relaxed);
    EndUnlessRunning(absl::CancelledError("cancelled"));
  }

  TimeoutWatch::Clock::time_point CheckTime(TimeoutWatch::Clock::time_point now) override {
    const absl::MutexLock lock(&mutex_);
    if (finished_) return TimeoutWatch::kNever;
    if (!timeouts_.TakesNothing(now)) return timeouts_.NextCheck(now);
    runtime_.metrics.timed_out_replies.Increment();
    context_.TryCancel();
    return TimeoutWatch::kNever;
  }

  // A search that waits is not begun; one that runs is cut short.
  void OnDrainOver(const absl::Status& why) override {
    cancelled_->store(true, std::memory_order_relaxed);
    {
      const absl::MutexLock lock(&mutex_);
      drained_ = ToGrpcStatus(why);
    }
    EndUnlessRunning(why);
  }
  void CancelForDrain() override {
    cancelled_->store(true, std::memory_order_relaxed);
    const absl::MutexLock lock(&mutex_);
    if (!finished_) context_.TryCancel();
  }

  void OnDone() override {
    {
      const absl::MutexLock lock(&mutex_);
      call_.Ended(*end_);
    }
    watched_.reset();
    known_.reset();
    const std::shared_ptr<EstimateInitialPoseCall> last = std::move(self_);
  }

 private:
  [[nodiscard]] TimeoutWatch::Clock::time_point FirstCheck() const {
    const absl::MutexLock lock(&mutex_);
    return timeouts_.NextCheck(TimeoutWatch::Clock::now());
  }

  absl::Status Enqueue(const v1::EstimateInitialPoseRequest& request) {
    if (absl::Status status = AdmitSetup(call_.access(), request.setup()); !status.ok()) {
      return status;
    }
    if (absl::Status status = runtime_.sessions.Admit(); !status.ok()) return status;
    auto work =
        SearchWork::Open(WorkPartsOf(runtime_), runtime_.global_search, request, cancelled_);
    if (!work.ok()) return work.status();
    std::unique_ptr<Admission::Pass> pass = runtime_.searches.Enter();
    if (pass == nullptr) {
      runtime_.metrics.rejected_searches.Increment();
      return WithReason(
          absl::ResourceExhaustedError(absl::StrCat("the server has ", runtime_.searches.limit(),
                                                    " searches at once, its limit")),
          "TOO_MANY_SEARCHES", {{"limit", absl::StrCat(runtime_.searches.limit())}});
    }
    {
      const absl::MutexLock lock(&mutex_);
      work_ = *std::move(work);
      pass_ = std::move(pass);
    }
    if (!runtime_.searching.Post([self = shared_from_this()] { self->Run(); })) {
      return WithReason(absl::ResourceExhaustedError("too many searches wait"),
                        "TOO_MANY_SEARCHES");
    }
    return absl::OkStatus();
  }

  // On the searching queue.
  void Run() {
    const LogTrace log_trace(call_.trace());
    std::unique_ptr<SearchWork> work;
    {
      const absl::MutexLock lock(&mutex_);
      if (end_.has_value()) return;
      running_ = true;
      work = std::move(work_);
    }
    auto result = work->Run([this](v1::SearchProgress progress) {
      if (!call_.access().Check().ok()) {
        cancelled_->store(true, std::memory_order_relaxed);
        return;
      }
      const absl::MutexLock lock(&mutex_);
      outbox_.Put(std::move(progress));
      Proceed();
    });
    work.reset();
    if (absl::Status status = call_.access().Check(); !status.ok()) result = std::move(status);
    const absl::MutexLock lock(&mutex_);
    end_ = ToGrpcStatus(result.status());
    if (result.ok()) {
      result_ = std::make_unique<v1::EstimateInitialPoseResponse>();
      *result_->mutable_result() = *std::move(result);
    } else {
      if (drained_.has_value()) end_ = drained_;
      outbox_.Clear();
    }
    Proceed();
  }

  void EndUnlessRunning(const absl::Status& status) {
    const absl::MutexLock lock(&mutex_);
    if (running_ || end_.has_value()) return;
    end_ = ToGrpcStatus(status);
    work_.reset();
    Proceed();
  }

  // Sends what is next, unless it has to wait for the write before.
  void Proceed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ != nullptr || finished_) return;
    if (!broken_ && !outbox_.empty()) {
      writing_ = std::make_unique<v1::EstimateInitialPoseResponse>();
      *writing_->mutable_progress() = outbox_.Take();
      StartWriting();
    } else if (!broken_ && result_ != nullptr) {
      writing_ = std::move(result_);
      StartWriting();
    } else if (end_.has_value()) {
      if (broken_) end_ = grpc::Status(grpc::StatusCode::CANCELLED, "cancelled");
      finished_ = true;
      pass_.reset();
      Finish(*end_);
    }
  }

  void StartWriting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    timeouts_.WritingSince(TimeoutWatch::Clock::now());
    call_.Sent(writing_->ByteSizeLong());
    StartWrite(writing_.get());
  }

  Runtime& runtime_;
  CallScope call_;
  grpc::CallbackServerContext& context_;  // until the call is finished
  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<EstimateInitialPoseCall> self_;
  std::unique_ptr<TimeoutWatch::Entry> watched_;
  std::unique_ptr<ActiveCalls::Entry> known_;
  mutable absl::Mutex mutex_;
  StreamTimeouts timeouts_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<SearchWork> work_ ABSL_GUARDED_BY(mutex_);  // until its turn
  std::unique_ptr<Admission::Pass> pass_ ABSL_GUARDED_BY(mutex_);
  ProgressOutbox outbox_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<v1::EstimateInitialPoseResponse> writing_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<v1::EstimateInitialPoseResponse> result_ ABSL_GUARDED_BY(mutex_);
  std::optional<grpc::Status> end_ ABSL_GUARDED_BY(mutex_);
  std::optional<grpc::Status> drained_ ABSL_GUARDED_BY(mutex_);  // the end of one cut short
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;  // nothing more can be sent
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

grpc::ServerWriteReactor<v1::EstimateInitialPoseResponse>* StartEstimateInitialPose(
    Runtime& runtime, grpc::CallbackServerContext& context,
    const v1::EstimateInitialPoseRequest& request) {
  auto call = std::make_shared<EstimateInitialPoseCall>(runtime, context);
  call->Start(request);
  return call.get();
}

}  // namespace voxloc::server
