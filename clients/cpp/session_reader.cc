// SPDX-License-Identifier: Apache-2.0
//
// The reading thread of a LocalizationSession: opens one stream after another and handles what
// comes.

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cpp/error_details.h"
#include "clients/cpp/messages.h"
#include "clients/cpp/session_impl.h"

namespace voxloc::client {
namespace {

constexpr size_t kMaxRejections = 64;

}  // namespace

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

void LocalizationSession::Impl::Run() {
  SessionReconnectPolicy policy(channel, options.reconnect);
  while (true) {
    const StreamEnd stream_end = RunStream(policy.endpoint());
    const std::optional<double> wait_s = policy.NextAttempt(stream_end);
    std::unique_lock<std::mutex> lock(mutex);
    writable = false;
    drain_wait_s.reset();
    lost = stream_end.status;
    if (wait_s.has_value()) {
      lock.unlock();
      WaitConnecting(*policy.endpoint().channel, *wait_s);
      lock.lock();
      if (!closing) continue;
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

void LocalizationSession::Impl::WaitConnecting(grpc::Channel& connection, double wait_s) {
  using Clock = std::chrono::system_clock;
  // After so long at most a session that is closed ends its wait.
  constexpr std::chrono::milliseconds kSlice(50);
  const auto end_of_wait = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                              std::chrono::duration<double>(wait_s));
  for (auto now = Clock::now(); now < end_of_wait; now = Clock::now()) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (closing) return;
    }
    connection.WaitForStateChange(connection.GetState(/*try_to_connect=*/true),
                                  std::min(end_of_wait, now + kSlice));
  }
}

StreamEnd LocalizationSession::Impl::RunStream(const Endpoint& endpoint) {
  const auto new_stream = std::make_shared<SessionStream>(channel, endpoint);
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
  result.status = new_stream->Open(options.open, options.open_timeout_s, &answer);
  if (!result.status.ok()) return result;
  result.was_open = true;
  OnStreamOpened(std::move(answer));
  v1::AlignScansResponse response;
  while (new_stream->Read(&response)) {
    if (response.has_result()) OnMessage(std::move(*response.mutable_result()));
    if (response.has_rejected()) OnMessage(std::move(*response.mutable_rejected()));
    if (response.has_draining()) OnDraining(response.draining());
  }
  result.status = new_stream->Finish();
  const std::lock_guard<std::mutex> lock(mutex);
  result.drain_wait_s = drain_wait_s;
  return result;
}

void LocalizationSession::Impl::OnStreamOpened(v1::SessionOpened answer) {
  Results stale;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    opened = std::move(answer);
    if (opened_once) {
      ++reconnects;
      guess_from_last_pose = true;
    }
    opened_once = true;
    // As many as may wait at the server, and the one that it works on.
    const size_t granted = opened.limits().max_waiting_scans();
    stream->LimitWaitingScans(granted == 0 ? options.max_outstanding : granted + 1);
    if (configuration != nullptr) stream->Put(configuration);
    if (activation != nullptr) stream->Put(activation);
    if (!unanswered.empty()) {
      AbandonScansBefore(unanswered.rbegin()->first, &stale);
      (void)stream->PutScan(WithGuess(unanswered.rbegin()->second));
    }
    if (closing) stream->FinishWrites();
    writable = true;
    changed.notify_all();
  }
  Notify(stale);
}

void LocalizationSession::Impl::OnDraining(const v1::SessionDraining& notice) {
  const std::lock_guard<std::mutex> lock(mutex);
  drain_wait_s = notice.reconnect_after_s();
  writable = false;
  stream->FinishWrites();
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
