// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cpp/error_details.h"
#include "clients/cpp/messages.h"
#include "clients/cpp/session_impl.h"
#include "core/status/try.h"

namespace voxloc::client {
namespace {

// Poses of 20 s at 50 Hz: older ones are of no use to a server that has not had them.
constexpr size_t kMaxOthers = 1000;

constexpr size_t kMaxRejections = 64;

}  // namespace

absl::Status SessionStream::Open(const v1::OpenSession& open, v1::SessionOpened* opened) {
  const CancelAfter deadline(context.get(), timeout_s);
  Start(&v1::LocalizationService::Stub::AlignScans);
  v1::AlignScansRequest request;
  *request.mutable_open() = open;
  v1::AlignScansResponse response;
  absl::Status status = Write(request, deadline);
  if (status.ok()) status = Read(&response, deadline);
  if (!status.ok() && deadline.fired()) {
    return absl::DeadlineExceededError(
        absl::StrCat(endpoint.address, " ", call, ": no answer to `open` in ", timeout_s, " s"));
  }
  VOXLOC_TRY(status);
  if (!response.has_opened()) return Unexpected("`open` was not answered by `opened`");
  *opened = response.opened();
  return absl::OkStatus();
}

SessionReconnectPolicy::SessionReconnectPolicy(const Channel& channel,
                                               const ReconnectOptions& reconnect)
    : channel_(channel), round_(channel_), backoff_(reconnect) {}

std::optional<double> SessionReconnectPolicy::NextAttempt(const StreamEnd& end) {
  error_ = end.status;
  return end.was_open ? AfterStream(end) : AfterRefusal(end.status);
}

std::optional<double> SessionReconnectPolicy::AfterStream(const StreamEnd& end) {
  opened_once_ = true;
  backoff_.Reset();
  const bool drained = end.drain_wait_s.has_value();
  const bool endpoint_gone = drained || IsConnectionLoss(end.status);
  if (!endpoint_gone && !IsIdleTimeout(end.status)) return std::nullopt;
  if (endpoint_gone) channel_.impl().FailOver(endpoint());
  if (!backoff_.CanRetry()) return std::nullopt;
  const double wait_s = backoff_.NextWait(RetryAfterS(end.status).value_or(0.0));
  round_ = AddressRound(channel_);
  drain_wait_s_ = end.drain_wait_s.value_or(0.0);
  // When a server drains, another one is available, possibly under the same name.
  const bool elsewhere = drained || (endpoint_gone && channel_.impl().endpoints.size() > 1);
  return elsewhere ? 0.0 : wait_s;
}

std::optional<double> SessionReconnectPolicy::AfterRefusal(const absl::Status& refusal) {
  const bool silent =
      refusal.code() == absl::StatusCode::kDeadlineExceeded && channel_.impl().endpoints.size() > 1;
  if (silent) channel_.impl().FailOver(endpoint());
  if (!silent && refusal.code() != absl::StatusCode::kUnavailable &&
      !IsRetryableElsewhere(refusal)) {
    return std::nullopt;
  }
  if (round_.Next(refusal)) return 0.0;
  error_ = round_.Refusal();
  if (!opened_once_ || !backoff_.CanRetry()) return std::nullopt;
  const double min_wait_s = std::max(round_.RetryAfter_s(), std::exchange(drain_wait_s_, 0.0));
  round_ = AddressRound(channel_);
  return backoff_.NextWait(min_wait_s);
}

absl::Status SessionReconnectPolicy::error() const {
  if (error_.code() != absl::StatusCode::kUnavailable || backoff_.attempts() == 0) return error_;
  return absl::UnavailableError(absl::StrCat(error_.message(), " (gave up after ",
                                             backoff_.attempts(), " attempts to reconnect)"));
}

SessionOutbox::SessionOutbox() : writer_([this] { Run(); }) {}

SessionOutbox::~SessionOutbox() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  writer_.join();
}

void SessionOutbox::Attach(std::shared_ptr<SessionStream> stream, std::deque<SharedRequest> first,
                           size_t max_unsent_scans) {
  const std::lock_guard<std::mutex> lock(mutex_);
  stream_ = std::move(stream);
  waiting_ = std::move(first);
  waiting_scans_ = static_cast<size_t>(
      std::count_if(waiting_.begin(), waiting_.end(),
                    [](const SharedRequest& request) { return request->has_scan(); }));
  max_unsent_scans_ = std::max<size_t>(max_unsent_scans, 1);
  finish_ = false;
  changed_.notify_all();
}

void SessionOutbox::Detach() {
  std::unique_lock<std::mutex> lock(mutex_);
  stream_.reset();
  waiting_.clear();
  waiting_scans_ = 0;
  changed_.wait(lock, [this] { return !writing_; });
}

std::optional<uint64_t> SessionOutbox::PutScan(SharedRequest request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stream_ == nullptr) return std::nullopt;
  std::optional<uint64_t> dropped;
  if (waiting_scans_ >= max_unsent_scans_) dropped = DropOldest(/*scan=*/true);
  waiting_.push_back(std::move(request));
  ++waiting_scans_;
  changed_.notify_all();
  return dropped;
}

void SessionOutbox::Put(SharedRequest request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stream_ == nullptr) return;
  if (waiting_.size() - waiting_scans_ >= kMaxOthers) DropOldest(/*scan=*/false);
  waiting_.push_back(std::move(request));
  changed_.notify_all();
}

void SessionOutbox::FinishWrites() {
  const std::lock_guard<std::mutex> lock(mutex_);
  finish_ = true;
  changed_.notify_all();
}

std::optional<uint64_t> SessionOutbox::DropOldest(bool scan) {
  const auto oldest =
      std::find_if(waiting_.begin(), waiting_.end(),
                   [scan](const SharedRequest& request) { return request->has_scan() == scan; });
  if (oldest == waiting_.end()) return std::nullopt;
  const uint64_t sequence = (*oldest)->scan().sequence();
  waiting_.erase(oldest);
  if (!scan) return std::nullopt;
  --waiting_scans_;
  return sequence;
}

void SessionOutbox::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] {
      return stopping_ || (stream_ != nullptr && (!waiting_.empty() || finish_));
    });
    if (stopping_) return;
    const std::shared_ptr<SessionStream> stream = stream_;
    SharedRequest next;
    if (!waiting_.empty()) {
      next = std::move(waiting_.front());
      waiting_.pop_front();
      if (next->has_scan()) --waiting_scans_;
    }
    writing_ = true;
    lock.unlock();
    const bool goes_on =
        next != nullptr ? stream->rpc->Write(*next) : (stream->rpc->WritesDone(), false);
    lock.lock();
    writing_ = false;
    // After a failed write the reader gets the end of the stream and its status.
    if (!goes_on && stream_ == stream) stream_.reset();
    changed_.notify_all();
  }
}

void LocalizationSession::Impl::Run() {
  SessionReconnectPolicy policy(channel, options.reconnect);
  while (true) {
    const StreamEnd stream_end = RunStream(policy.endpoint());
    const std::optional<double> wait_s = policy.NextAttempt(stream_end);
    std::unique_lock<std::mutex> lock(mutex);
    writable = false;
    drain_wait_s.reset();
    lost = stream_end.status;
    if (wait_s.has_value() && !closing) {
      const auto until = std::chrono::steady_clock::now() +
                         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                             std::chrono::duration<double>(*wait_s));
      if (!changed.wait_until(lock, until, [this] { return closing; })) continue;
    }
    end = policy.error();
    // Closed before another server had them.
    if (end.ok()) {
      Results left;
      AbandonScansBefore(last_sequence + 1, &left);
      lock.unlock();
      Notify(left);
      lock.lock();
    }
    ended = true;
    changed.notify_all();
    return;
  }
}

StreamEnd LocalizationSession::Impl::RunStream(const Endpoint& endpoint) {
  auto new_stream = std::make_shared<SessionStream>(channel, endpoint, options.open_timeout_s);
  StreamEnd result;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (closing) {
      result.status = absl::CancelledError("the session was closed while it reconnected");
      return result;
    }
    stream = new_stream;
  }
  v1::SessionOpened answer;
  result.status = new_stream->Open(options.open, &answer);
  if (!result.status.ok()) return result;
  result.was_open = true;
  OnStreamOpened(new_stream, std::move(answer));
  v1::AlignScansResponse response;
  while (new_stream->rpc->Read(&response)) {
    if (response.has_result()) OnMessage(std::move(*response.mutable_result()));
    if (response.has_rejected()) OnMessage(std::move(*response.mutable_rejected()));
    if (response.has_draining()) OnDraining(response.draining());
  }
  outbox.Detach();
  result.status = new_stream->StatusOf(new_stream->Finish());
  const std::lock_guard<std::mutex> lock(mutex);
  result.drain_wait_s = drain_wait_s;
  return result;
}

void LocalizationSession::Impl::OnStreamOpened(const std::shared_ptr<SessionStream>& new_stream,
                                               v1::SessionOpened answer) {
  Results stale;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    opened = std::move(answer);
    if (opened_once) {
      ++reconnects;
      guess_from_last_pose = true;
    }
    opened_once = true;
    std::deque<SharedRequest> first;
    if (configuration != nullptr) first.push_back(configuration);
    if (activation != nullptr) first.push_back(activation);
    if (!unanswered.empty()) {
      AbandonScansBefore(unanswered.rbegin()->first, &stale);
      first.push_back(WithGuess(unanswered.rbegin()->second));
    }
    // As many as may wait at the server, and the one that it works on.
    const size_t granted = opened.limits().max_waiting_scans();
    outbox.Attach(new_stream, std::move(first),
                  granted == 0 ? options.max_outstanding : granted + 1);
    if (closing) outbox.FinishWrites();
    writable = true;
    changed.notify_all();
  }
  Notify(stale);
}

void LocalizationSession::Impl::OnDraining(const v1::SessionDraining& notice) {
  const std::lock_guard<std::mutex> lock(mutex);
  drain_wait_s = notice.reconnect_after_s();
  writable = false;
  outbox.FinishWrites();
}

void LocalizationSession::Impl::Complete(v1::AlignmentResult result, Results* completed) {
  unanswered.erase(result.sequence());
  if (options.on_result) {
    completed->push_back(std::move(result));
    return;
  }
  results.push_back(std::move(result));
  changed.notify_all();
}

void LocalizationSession::Impl::GiveUp(uint64_t sequence, v1::AlignmentStatus status,
                                       const char* detail, Results* completed) {
  ++given_up;
  v1::AlignmentResult result;
  result.set_sequence(sequence);
  result.set_stamp_ns(unanswered.at(sequence)->scan().stamp_ns());
  result.set_status(status);
  result.set_detail(detail);
  Complete(std::move(result), completed);
}

void LocalizationSession::Impl::AbandonScansBefore(uint64_t sequence, Results* completed) {
  while (!unanswered.empty() && unanswered.begin()->first < sequence) {
    GiveUp(unanswered.begin()->first, v1::ALIGNMENT_STATUS_STALE,
           "the server was lost or drained before the answer, and a newer scan was there",
           completed);
  }
}

void LocalizationSession::Impl::OnMessage(v1::AlignmentResult result) {
  Results completed;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (unanswered.count(result.sequence()) == 0) {
      ++unexpected_results;
      return;
    }
    if (result.has_fused() || (result.accepted() && result.has_map_t_base())) {
      last_pose.emplace();
      if (result.has_fused()) {
        *last_pose = result.fused().map_t_base();
      } else {
        *last_pose->mutable_pose() = result.map_t_base().pose();
      }
      const absl::StatusOr<Pose> map_T_odom =
          DecodePose(result.has_fused() ? result.fused().map_t_odom() : result.map_t_odom());
      last_map_T_odom = map_T_odom.ok() ? std::optional<Pose>(*map_T_odom) : std::nullopt;
      guess_from_last_pose = false;
    }
    Complete(std::move(result), &completed);
  }
  Notify(completed);
}

void LocalizationSession::Impl::OnMessage(v1::RequestRejected rejected) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (rejections.size() == kMaxRejections) rejections.pop_front();
  rejections.push_back(std::move(rejected));
}

}  // namespace voxloc::client
