// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/status/try.h"
#include "server/localization/search_work.h"
#include "server/observe/logging.h"
#include "server/rpc/services.h"
#include "server/rpc/support/write_stream.h"

namespace voxloc::server {
namespace {

// Checked on gRPC's thread, run on the searching queue. The call ends when the search has ended and
// all messages are sent. A cancellation or the end of a drain stops a running search soon, and a
// queued one at once.
class EstimateInitialPoseStream
    : public WriteStream<v1::EstimateInitialPoseRequest, v1::EstimateInitialPoseResponse>,
      public std::enable_shared_from_this<EstimateInitialPoseStream> {
 public:
  using WriteStream::WriteStream;

  // A search that waits is not begun; one that runs is cut short.
  void OnDrainDeadline(const absl::Status& why) override {
    StopWork();
    End(why);
  }

 private:
  absl::Status Begin(const v1::EstimateInitialPoseRequest& request) override {
    VOXLOC_TRY(access().UseMapAs(request.setup().map(), request.setup().vehicle()));
    VOXLOC_TRY(runtime_.sessions.Admit());
    work_ = std::make_unique<SearchWork>(WorkPartsOf(runtime_), runtime_.global_search, request);
    VOXLOC_TRY(work_->Open(stop_.cancelled));
    VOXLOC_TRY(RetainPass(runtime_.searches, runtime_.metrics.rejected_searches, "searches at once",
                          "TOO_MANY_SEARCHES"));
    if (!runtime_.searching.Post([self = shared_from_this()] { self->Run(); })) {
      return LimitReached(runtime_.searches.limit(), "searches waiting", "TOO_MANY_SEARCHES");
    }
    return absl::OkStatus();
  }

  void OnCaughtUp() override {
    const absl::MutexLock lock(&mutex_);
    sending_ = false;
    SendNext();
  }

  void OnEnded() override { work_.reset(); }  // its turn has not come

  // On the searching queue.
  void Run() {
    if (!BeginWork()) return;
    const ScopedLogTrace log_trace(trace());
    std::unique_ptr<SearchWork> work = std::move(work_);
    auto result = work->Run([this](v1::SearchProgress progress) {
      if (!access().Check().ok()) StopWork();
      const absl::MutexLock lock(&mutex_);
      outbox_.Put(std::move(progress));
      SendNext();
    });
    work.reset();
    if (absl::Status status = access().Check(); !status.ok()) result = std::move(status);
    if (result.ok()) {
      const absl::MutexLock lock(&mutex_);
      result_ = std::make_unique<v1::EstimateInitialPoseResponse>();
      *result_->mutable_result() = *std::move(result);
      SendNext();
    } else {
      End(result.status());
    }
    EndWork();
  }

  // Unless the message before has not been taken.
  void SendNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (sending_) return;
    if (!outbox_.empty()) {
      auto response = std::make_unique<v1::EstimateInitialPoseResponse>();
      *response->mutable_progress() = outbox_.Take();
      sending_ = true;
      Send(std::move(response));
    } else if (result_ != nullptr) {
      Send(std::move(result_));
      End(absl::OkStatus());
    }
  }

  std::unique_ptr<SearchWork> work_;  // until its turn, or the end of the call
  absl::Mutex mutex_;
  ProgressOutbox outbox_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<v1::EstimateInitialPoseResponse> result_ ABSL_GUARDED_BY(mutex_);
  bool sending_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

MethodHandler* MakeEstimateInitialPoseHandler(Runtime& runtime, RpcMethod method) {
  return MakeWriteStreamHandler<EstimateInitialPoseStream>(runtime, method);
}

}  // namespace voxloc::server
