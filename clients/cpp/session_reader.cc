// SPDX-License-Identifier: Apache-2.0

#include <utility>

#include "clients/cpp/messages.h"
#include "clients/cpp/session_impl.h"

namespace voxloc::client {
namespace {

constexpr size_t kMaxRejections = 64;

}  // namespace

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
    if (result.accepted() && result.has_map_t_base()) {
      last_pose = result.map_t_base().pose();
      const absl::StatusOr<Pose> map_T_odom = DecodePose(result.map_t_odom());
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
