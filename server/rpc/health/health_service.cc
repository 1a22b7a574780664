// SPDX-License-Identifier: Apache-2.0

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "server/errors/error_details.h"
#include "server/rpc/services.h"
#include "server/rpc/support/method_handler.h"
#include "server/security/call_access.h"

namespace voxloc::server {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using ServingStatus = HealthCheckResponse::ServingStatus;

constexpr absl::string_view kLocalization = "voxloc.v1.LocalizationService";
// How soon those who watch learn of a change.
constexpr std::chrono::milliseconds kWatchPeriod{100};

ServingStatus Serving(const absl::Status& status) {
  if (absl::IsNotFound(status)) return HealthCheckResponse::SERVICE_UNKNOWN;
  return status.ok() ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
}

// The caller, and the service that it asks about.
struct HealthQuestion {
  std::string name;
  CallerCredentials credentials;
};

ServingStatus StatusOf(Readiness& readiness, const AccessControl& access,
                       const HealthQuestion& question) {
  absl::string_view name = question.name;
  if (name.empty() || name == "voxloc.v1.AdminService") return HealthCheckResponse::SERVING;
  readiness.RecordProbe();
  if (name == kLocalization || name == "voxloc.v1.MapService") return Serving(readiness.Check());
  if (absl::ConsumePrefix(&name, kLocalization) && absl::ConsumePrefix(&name, "/")) {
    if (!MaySeeMap(access, question.credentials, std::string(name))) {
      return HealthCheckResponse::SERVICE_UNKNOWN;
    }
    return Serving(readiness.CheckMap(name));
  }
  return HealthCheckResponse::SERVICE_UNKNOWN;
}

// One call of Watch: looks at the status at intervals, and sends it when it has changed and the
// client has taken the one before.
class HealthWatchCall : public grpc::ServerWriteReactor<HealthCheckResponse>,
                        public TimeoutWatch::Watched {
 public:
  HealthWatchCall(Readiness& readiness, std::shared_ptr<const AccessControl> access,
                  HealthQuestion question, Admission::Pass pass)
      : readiness_(readiness),
        access_(std::move(access)),
        question_(std::move(question)),
        pass_(std::move(pass)) {}

  static grpc::ServerWriteReactor<HealthCheckResponse>* Launch(
      TimeoutWatch& watch, std::shared_ptr<HealthWatchCall> call) {
    HealthWatchCall* const reactor = call.get();
    reactor->watched_ = watch.Add(call, Clock::now() + kWatchPeriod);
    reactor->self_ = std::move(call);
    reactor->Look();
    return reactor;
  }

 private:
  using Clock = TimeoutWatch::Clock;

  void Look() {
    const ServingStatus status = StatusOf(readiness_, *access_, question_);
    const absl::MutexLock lock(&mutex_);
    if (writing_ || finished_ || status == message_.status()) return;
    message_.set_status(status);
    writing_ = true;
    StartWrite(&message_);
  }

  void End() {
    const absl::MutexLock lock(&mutex_);
    if (std::exchange(finished_, true)) return;
    Finish(grpc::Status::CANCELLED);
  }

  Clock::time_point Poll(Clock::time_point now) override {
    Look();
    return now + kWatchPeriod;
  }

  void OnWriteDone(bool ok) override {
    {
      const absl::MutexLock lock(&mutex_);
      writing_ = false;
    }
    if (!ok) End();
  }

  void OnCancel() override { End(); }

  void OnDone() override {
    watched_.reset();
    pass_.reset();  // the watch may hold the call for longer than there is an Admission
    const std::shared_ptr<HealthWatchCall> last = std::move(self_);
  }

  Readiness& readiness_;
  const std::shared_ptr<const AccessControl> access_;
  const HealthQuestion question_;
  Admission::Pass pass_;
  std::unique_ptr<TimeoutWatch::Entry> watched_;
  std::shared_ptr<HealthWatchCall> self_;
  absl::Mutex mutex_;
  // UNKNOWN until the first is sent; not touched while it is written.
  HealthCheckResponse message_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

class HealthService : public grpc::health::v1::Health::CallbackService {
 public:
  explicit HealthService(Runtime& runtime) : watchers_(runtime.live_config.limits()->max_watchers) {
    const auto refusal = [](grpc::CallbackServerContext& /*context*/) {
      return ToGrpcStatus(MalformedMessage());
    };
    const auto check = [&runtime](grpc::CallbackServerContext* context,
                                  const HealthCheckRequest* request,
                                  HealthCheckResponse* response) {
      const ServingStatus status = StatusOf(*runtime.readiness, *runtime.access,
                                            {request->service(), CredentialsOf(*context)});
      grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
      if (status == HealthCheckResponse::SERVICE_UNKNOWN) {
        reactor->Finish({grpc::StatusCode::NOT_FOUND, "no service of this name"});
      } else {
        response->set_status(status);
        reactor->Finish(grpc::Status::OK);
      }
      return reactor;
    };
    const auto watch =
        [this, &runtime](
            grpc::CallbackServerContext* context,
            const HealthCheckRequest* request) -> grpc::ServerWriteReactor<HealthCheckResponse>* {
      watchers_.set_limit(runtime.live_config.limits()->max_watchers);
      Admission::Pass pass = watchers_.Enter();
      if (pass == nullptr) {
        return new RefusedStream<HealthCheckResponse>(ToGrpcStatus(
            LimitReached(watchers_.limit(), "watchers of its health", "TOO_MANY_WATCHERS")));
      }
      HealthQuestion question{request->service(), CredentialsOf(*context)};
      return HealthWatchCall::Launch(runtime.timeouts, std::make_shared<HealthWatchCall>(
                                                           *runtime.readiness, runtime.access,
                                                           std::move(question), std::move(pass)));
    };
    // In the order of the service.
    MarkMethodCallback(0,
                       MakeUnaryHandler<HealthCheckRequest, HealthCheckResponse>(check, refusal));
    MarkMethodCallback(1,
                       MakeWriteHandler<HealthCheckRequest, HealthCheckResponse>(watch, refusal));
  }

 private:
  Admission watchers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeHealthService(Runtime& runtime) {
  return std::make_unique<HealthService>(runtime);
}

}  // namespace voxloc::server
