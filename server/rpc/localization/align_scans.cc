// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/status/try.h"
#include "server/convert/map.h"
#include "server/convert/options.h"
#include "server/convert/pose.h"
#include "server/errors/error_details.h"
#include "server/localization/scan_work.h"
#include "server/observe/logging.h"
#include "server/observe/version.h"
#include "server/rpc/services.h"
#include "server/rpc/support/bidi_stream.h"
#include "server/session/session_answers.h"
#include "server/session/session_setup.h"

namespace voxloc::server {
namespace {

// Streams open within a round trip or two.
constexpr double kUnopenedRetryAfterS = 1.0;
// A server takes some seconds to start again.
constexpr double kEngineLostRetryAfterS = 5.0;

class AlignScansStream : public BidiStream<v1::AlignScansRequest, v1::AlignScansResponse>,
                         public ScanClient,
                         public RegisteredSession,
                         public std::enable_shared_from_this<AlignScansStream> {
 public:
  using BidiStream::BidiStream;

  void Answer(std::unique_ptr<v1::AlignmentResult> result) override {
    const v1::AlignmentStatus status = result->status();
    const bool accepted = result->accepted();
    {
      const absl::MutexLock lock(&mutex_);
      RecordAnswer(*result, absl::GetCurrentTimeNanos(), info_);
    }
    auto response = std::make_unique<v1::AlignScansResponse>();
    response->set_allocated_result(result.release());
    Send(std::move(response));
    if (status == v1::ALIGNMENT_STATUS_ENGINE_FAULT && !runtime_.engine->Health().ok() &&
        !engine_loss_notified_.exchange(true)) {
      // Once: another server may have an engine that works.
      OnDraining({kEngineLostRetryAfterS, 0.0, "the engine has failed permanently"});
    }
    const absl::MutexLock lock(&mutex_);
    info_.set_unanswered(info_.unanswered() - 1);
    if (status != v1::ALIGNMENT_STATUS_SUPERSEDED && !ended_) SetLocalized(accepted);
    if (info_.unanswered() > 0) return;
    if (half_closed_) End(absl::OkStatus());
    if (drain_status_.has_value()) End(*drain_status_);
  }

  void AnswerCancelled() override { End(absl::CancelledError("cancelled")); }

  v1::SessionInfo Info() const override {
    const absl::MutexLock lock(&mutex_);
    return info_;
  }

  void OnDraining(const DrainNotice& notice) override {
    auto response = std::make_unique<v1::AlignScansResponse>();
    v1::SessionDraining& draining = *response->mutable_draining();
    draining.set_reconnect_after_s(notice.reconnect_after_s);
    draining.set_remaining_s(notice.remaining_s);
    draining.set_reason(notice.reason);
    Send(std::move(response));
  }

  // A stream without a session would get none any more.
  void OnDrainStarted(const absl::Status& why) override {
    const absl::MutexLock lock(&mutex_);
    if (info_.session().empty()) End(why);
  }

  // The scans that have been received are answered first.
  void OnDrainDeadline(const absl::Status& why) override {
    const absl::MutexLock lock(&mutex_);
    drain_status_ = why;
    if (info_.unanswered() == 0) End(why);
  }

 protected:
  absl::Status Begin() override {
    VOXLOC_TRY(runtime_.sessions.Admit());
    const absl::Status status =
        RetainPass(runtime_.unopened_streams, runtime_.metrics.rejected_unopened,
                   "streams that have not sent `open`", "TOO_MANY_UNOPENED_STREAMS");
    return status.ok() ? status : WithRetryAfter(status, kUnopenedRetryAfterS);
  }

  void OnRequest(std::unique_ptr<v1::AlignScansRequest> request) override {
    if (absl::Status status = Dispatch(std::move(request)); !status.ok()) {
      End(status);
      return;
    }
    ReadNext();
  }

  void OnHalfClose() override {
    const absl::MutexLock lock(&mutex_);
    half_closed_ = true;
    if (info_.unanswered() == 0) End(absl::OkStatus());
  }

  void OnEnded() override {
    if (lane_ == nullptr) return;
    runtime_.scheduler.Close(*lane_);
    const absl::MutexLock lock(&mutex_);
    ended_ = true;
    SetLocalized(false);
    LogRateLimited(
        LogLevel::kInfo, "session_closed",
        {{"session", source_->session}, {"map", source_->map}, {"answered", info_.answered()}});
  }

 private:
  void SetLocalized(bool localized) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (std::exchange(localized_, localized) == localized) return;
    runtime_.metrics.sessions_localized.Add(localized ? 1.0 : -1.0);
  }

  // A status that is not ok ends the stream.
  absl::Status Dispatch(std::unique_ptr<v1::AlignScansRequest> request) {
    if (request->has_open()) return Open(request->open());
    if (request->request_case() == v1::AlignScansRequest::REQUEST_NOT_SET) {
      return absl::InvalidArgumentError("a message of no kind");
    }
    if (lane_ == nullptr) {
      return WithReason(absl::FailedPreconditionError("the first message must be open"),
                        "OUT_OF_ORDER");
    }
    if (request->has_configure()) {
      Configure(request->configure());
    } else if (request->has_pose()) {
      HandlePose(request->pose());
    } else if (request->has_reference()) {
      HandleReference(request->reference());
    } else if (request->has_activate()) {
      Activate(request->activate());
    } else if (request->has_scan()) {
      HandleScan(std::move(request));
    } else {
      return absl::InvalidArgumentError("a message of an unknown kind");
    }
    return absl::OkStatus();
  }

  absl::Status Open(const v1::OpenSession& open) {
    if (lane_ != nullptr) {
      return WithReason(absl::FailedPreconditionError("the session is open already"),
                        "OUT_OF_ORDER");
    }
    VOXLOC_TRY(access().UseMapAs(open.setup().map(), open.setup().vehicle()));
    VOXLOC_TRY(runtime_.sessions.Admit());
    if (!runtime_.engine->Health().ok()) {
      return WithRetryAfter(runtime_.engine_faults.Error(), kEngineLostRetryAfterS);
    }
    VOXLOC_ASSIGN_OR_RETURN(auto opened, OpenSession(*runtime_.live_config.Get(), runtime_.maps,
                                                     runtime_.last_poses, open));
    VOXLOC_ASSIGN_OR_RETURN(auto slot, runtime_.sessions.Open(weak_from_this()));
    opened.source.session =
        absl::StrCat("s", absl::Hex(runtime_.started_unix_ns / 1'000'000), "-", *slot);
    // Of the registry, and of the map.
    using Places = std::pair<std::shared_ptr<SessionSlot>, std::shared_ptr<void>>;
    RetainUntilEnd(std::make_shared<Places>(std::move(slot),
                                            runtime_.residency_check.Hold(opened.source.map)));
    source_ = std::make_shared<const ScanSource>(opened.source);
    lane_ = runtime_.scheduler.OpenLane(opened.max_waiting_scans, SessionSchedulingKey(access()));
    {
      const absl::MutexLock lock(&mutex_);
      info_.set_session(source_->session);
      info_.set_vehicle(source_->vehicle);
      info_.set_peer(call_.peer());
      info_.set_map(source_->map);
      info_.set_profile(source_->recipe.align.profile.name);
      info_.set_active(!open.start_inactive());
      info_.set_opened_at_ns(absl::GetCurrentTimeNanos());
    }
    LogRateLimited(LogLevel::kInfo, "session_opened",
                   {{"session", source_->session},
                    {"map", source_->map},
                    {"revision", opened.map.snapshot->revision},
                    {"vehicle", source_->vehicle},
                    {"profile", source_->recipe.align.profile.name},
                    {"peer", call_.peer()}});

    auto response = std::make_unique<v1::AlignScansResponse>();
    v1::SessionOpened& reply = *response->mutable_opened();
    reply.set_session(source_->session);
    reply.set_map_revision(opened.map.snapshot->revision);
    if (opened.last_pose.has_value()) {
      LastPoseToProto(*opened.last_pose, absl::GetCurrentTimeNanos(), *reply.mutable_last_pose());
    }
    reply.set_engine(runtime_.engine->name());
    reply.mutable_limits()->set_max_points_per_scan(static_cast<uint32_t>(source_->max_points));
    reply.mutable_limits()->set_max_waiting_scans(opened.max_waiting_scans);
    reply.mutable_limits()->set_timeout_s(source_->timeout_s);
    reply.mutable_limits()->set_max_delay_s(source_->max_delay_s);
    ProfileToProto(opened.profile_on_map, *reply.mutable_profile());
    reply.set_max_message_bytes(runtime_.live_config.limits()->max_message_bytes);
    reply.set_server_version(kVersion);
    Send(std::move(response));
    return absl::OkStatus();
  }

  void HandleScan(std::unique_ptr<v1::AlignScansRequest> request) {
    {
      const absl::MutexLock lock(&mutex_);
      if (drain_status_.has_value()) return;  // it came too late
      info_.set_unanswered(info_.unanswered() + 1);
    }
    for (const v1::PoseSample& pose : request->scan().poses()) HandlePose(pose);
    ScanMessage message{std::unique_ptr<v1::Scan>(request->release_scan())};
    auto work = std::make_unique<ScanWork>(ScanPartsOf(runtime_), source_, shared_from_this(),
                                           std::move(message), stop_, trace());
    if (work->Check()) runtime_.scheduler.Submit(lane_, std::move(work));
  }

  void Configure(const v1::ConfigureSession& configure) {
    auto changed =
        ConfigureSession(*runtime_.live_config.Get(), runtime_.maps, *source_, configure);
    if (!changed.ok()) {
      Reject(v1::SESSION_REQUEST_KIND_CONFIGURE, changed.status(), configure.sequence(), 0);
      return;
    }
    source_ = std::make_shared<const ScanSource>(*std::move(changed));
    {
      const absl::MutexLock lock(&mutex_);
      info_.set_profile(source_->recipe.align.profile.name);
    }
    auto response = std::make_unique<v1::AlignScansResponse>();
    response->mutable_configured()->set_sequence(configure.sequence());
    ProfileToProto(CurrentProfile(runtime_.maps, *source_),
                   *response->mutable_configured()->mutable_profile());
    Send(std::move(response));
  }

  void HandlePose(const v1::PoseSample& sample) {
    auto pose = StampedPoseFromProto(sample);
    const absl::Status status = pose.ok() ? source_->state->AddPose(*pose) : pose.status();
    if (!status.ok()) Reject(v1::SESSION_REQUEST_KIND_POSE, status, 0, sample.stamp_ns());
  }

  void HandleReference(const v1::ReferenceSample& sample) {
    auto position = ReferenceFromProto(sample);
    const absl::Status status = position.ok()
                                    ? source_->state->AddReference(sample.stamp_ns(), *position)
                                    : position.status();
    if (!status.ok()) Reject(v1::SESSION_REQUEST_KIND_REFERENCE, status, 0, sample.stamp_ns());
  }

  void Activate(const v1::ActivateSession& activate) {
    source_->state->Activate(activate.active());
    {
      const absl::MutexLock lock(&mutex_);
      info_.set_active(activate.active());
    }
    auto response = std::make_unique<v1::AlignScansResponse>();
    response->mutable_activated()->set_sequence(activate.sequence());
    response->mutable_activated()->set_active(activate.active());
    Send(std::move(response));
  }

  void Reject(v1::SessionRequestKind kind, const absl::Status& why, uint64_t sequence,
              int64_t stamp_ns) {
    auto response = std::make_unique<v1::AlignScansResponse>();
    v1::RequestRejected& rejected = *response->mutable_rejected();
    rejected.set_kind(kind);
    rejected.set_reason(v1::REJECTION_REASON_INVALID);
    rejected.set_detail(std::string(why.message()));
    rejected.set_sequence(sequence);
    rejected.set_stamp_ns(stamp_ns);
    Send(std::move(response));
  }

  std::atomic<bool> engine_loss_notified_{false};

  // Used by OnRequest alone, and by OnEnded after it.
  std::shared_ptr<const ScanSource> source_;
  std::shared_ptr<Scheduler::Lane> lane_;  // null until the session is open

  mutable absl::Mutex mutex_;
  // Its name is empty until the session is open.
  v1::SessionInfo info_ ABSL_GUARDED_BY(mutex_);
  bool half_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool localized_ ABSL_GUARDED_BY(mutex_) = false;  // as voxloc_sessions_localized counts it
  std::optional<absl::Status> drain_status_
      ABSL_GUARDED_BY(mutex_);  // what the stream is to end with
};

}  // namespace

MethodHandler* MakeAlignScansHandler(Runtime& runtime, RpcMethod method) {
  return MakeBidiStreamHandler<AlignScansStream>(runtime, method);
}

}  // namespace voxloc::server
