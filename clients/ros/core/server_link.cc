// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/server_link.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cpp/backoff.h"
#include "clients/cpp/session.h"

namespace voxloc::ros {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Poll period of the connection: the delay of on_change, of reopening a session and of expiring
// scans.
constexpr double kPollS = 0.1;
// Timeout of the answer to `open`, in the background.
constexpr double kOpenTimeoutS = 5.0;
// Scans without an outcome, most of them in searches for a lost vehicle: 10 s of a LiDAR of 10 Hz.
constexpr size_t kMaxOutstanding = 100;

client::ReconnectOptions RetryForever() {
  client::ReconnectOptions reconnect;
  reconnect.max_attempts = std::numeric_limits<int>::max();
  return reconnect;
}

// What a session has done so far. False: it was never open.
bool AddSession(const client::LocalizationSession& session, ServerState& state) {
  state.given_up += session.given_up();
  v1::SessionOpened opened = session.opened();
  if (opened.session().empty()) return false;
  state.opened = std::move(opened);
  state.sessions += 1 + static_cast<uint64_t>(session.reconnects());
  return true;
}

}  // namespace

struct ServerLink::Impl {
  struct Pending {
    uint64_t number = 0;
    int64_t stamp_ns = 0;
    SteadyClock::time_point sent;
    bool completed = false;  // it has its outcome, and the session may still have one for it
  };
  Impl(const client::Channel& a_channel, ServerLinkOptions some_options)
      : channel(a_channel), options(std::move(some_options)) {}

  // Under the lock.
  client::SessionOptions CurrentSessionOptions() {
    client::SessionOptions session_options;
    session_options.open = options.open;
    session_options.open_timeout_s = kOpenTimeoutS;
    session_options.reconnect = RetryForever();
    session_options.max_outstanding = kMaxOutstanding;
    session_options.on_result = [this](const v1::AlignmentResult& result) { HandleResult(result); };
    *session_options.open.mutable_setup()->mutable_output() = outputs;
    return session_options;
  }

  // Completes the pending scans for which due(sequence, scan) is true with the status STALE.
  template <typename Due>
  void CompletePending(const std::string& why, const Due& due) {
    std::map<uint64_t, Pending> stale;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      for (auto& [sequence, scan] : pending) {
        if (scan.completed || !due(sequence, scan)) continue;
        scan.completed = true;
        stale.emplace(sequence, scan);
      }
      completed += stale.size();
    }
    for (const auto& [sequence, scan] : stale) {
      v1::AlignmentResult result;
      result.set_sequence(sequence);
      result.set_stamp_ns(scan.stamp_ns);
      result.set_status(v1::ALIGNMENT_STATUS_STALE);
      result.set_detail(why);
      options.on_result(scan.number, result);
    }
  }

  void Run() {
    client::Backoff backoff(RetryForever());
    while (true) {
      std::shared_ptr<client::LocalizationSession> fresh;
      {
        const std::lock_guard<std::mutex> lock(mutex);
        pending.clear();
        fresh = client::LocalizationSession::Start(channel, CurrentSessionOptions());
        next_sequence = 1;
        session = fresh;
      }
      const absl::Status end = Watch(*fresh);
      {
        // No Send runs while the session is replaced.
        const std::lock_guard<std::mutex> sending(send_mutex);
        const std::lock_guard<std::mutex> lock(mutex);
        if (AddSession(*fresh, totals)) backoff.Reset();
        error = end;
        session.reset();
      }
      fresh.reset();  // joins: no result comes any more
      CompletePending(absl::StrCat("the session ended before the answer: ", end.message()),
                      [](uint64_t, const Pending&) { return true; });
      NotifyConnection(end);
      if (!Sleep(backoff.NextWait())) return;
    }
  }

  // Blocks until the session or the link ends; the status of the session.
  absl::Status Watch(client::LocalizationSession& watched) {
    while (true) {
      const std::optional<absl::Status> end = watched.AwaitEnd(kPollS);
      if (end.has_value()) return *end;
      const absl::Status connection = watched.connection();
      NotifyConnection(connection);
      if (!connection.ok()) {
        const auto now = SteadyClock::now();
        CompletePending(
            absl::StrCat("no connection within ", options.max_wait_s, " s: ", connection.message()),
            [&](uint64_t sequence, const Pending& scan) {
              // Send still has the next scan.
              return sequence < next_sequence &&
                     now - scan.sent >= std::chrono::duration<double>(options.max_wait_s);
            });
      }
      const std::lock_guard<std::mutex> lock(mutex);
      if (stopping) return absl::CancelledError("the node is being shut down");
    }
  }

  void HandleResult(const v1::AlignmentResult& result) {
    uint64_t number = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      const auto found = pending.find(result.sequence());
      if (found == pending.end()) return;
      const Pending scan = found->second;
      pending.erase(found);
      ++outcomes;
      if (scan.completed) {
        --completed;  // the session's count has it now
        return;
      }
      number = scan.number;
    }
    options.on_result(number, result);
  }

  void NotifyConnection(const absl::Status& now) {
    if (now.code() == notified.code()) return;
    notified = now;
    if (options.on_change) options.on_change(now);
  }

  // False: the link ends.
  bool Sleep(double seconds) {
    std::unique_lock<std::mutex> lock(mutex);
    return !changed.wait_for(lock, std::chrono::duration<double>(seconds),
                             [this] { return stopping; });
  }

  const client::Channel channel;
  const ServerLinkOptions options;

  std::mutex send_mutex;  // one Send at a time; taken before `mutex`

  mutable std::mutex mutex;  // guards everything below but the thread
  std::condition_variable changed;
  bool stopping = false;
  std::shared_ptr<client::LocalizationSession> session;  // null: there is none
  absl::Status error = absl::UnavailableError("the session is being opened");  // without a session
  v1::OutputOptions outputs;
  uint64_t next_sequence = 1;           // of the session, which counts from 1
  std::map<uint64_t, Pending> pending;  // by the session's sequence
  uint64_t outcomes = 0;                // that sessions gave, those made by them included
  uint64_t completed = 0;               // scans that got their outcome from the link
  ServerState totals;  // sent, bytes_sent; the rest of the sessions before this one
  absl::Status notified = absl::UnknownError("nothing has been notified");  // of the thread

  std::thread thread;
};

ServerLink::ServerLink(const client::Channel& channel, ServerLinkOptions options)
    : impl_(std::make_unique<Impl>(channel, std::move(options))) {
  impl_->outputs = impl_->options.open.setup().output();
  impl_->thread = std::thread([impl = impl_.get()] { impl->Run(); });
}

ServerLink::~ServerLink() {
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->stopping = true;
    impl_->changed.notify_all();
  }
  impl_->thread.join();
}

absl::Status ServerLink::Send(uint64_t number, v1::Scan scan) {
  const std::lock_guard<std::mutex> sending(impl_->send_mutex);
  const uint64_t bytes = scan.ByteSizeLong();
  std::shared_ptr<client::LocalizationSession> session;
  uint64_t sequence = 0;
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    session = impl_->session;
    if (session == nullptr) return impl_->error;
    // The outcome can come before Send returns.
    sequence = impl_->next_sequence;
    impl_->pending[sequence] = {number, scan.stamp_ns(), SteadyClock::now()};
  }
  const absl::StatusOr<uint64_t> sent = session->Send(std::move(scan));
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  if (!sent.ok()) {
    impl_->pending.erase(sequence);
    return sent.status();
  }
  ++impl_->next_sequence;
  ++impl_->totals.sent;
  impl_->totals.bytes_sent += bytes;
  return absl::OkStatus();
}

void ServerLink::SetOutputs(const v1::OutputOptions& outputs) {
  std::shared_ptr<client::LocalizationSession> session;
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    if (outputs.SerializeAsString() == impl_->outputs.SerializeAsString()) return;
    impl_->outputs = outputs;
    session = impl_->session;
  }
  if (session == nullptr) return;
  v1::ScanSetup setup;
  *setup.mutable_output() = outputs;
  // If the session has ended, the next one has these outputs.
  session->Configure(setup).IgnoreError();
}

void ServerLink::Activate() {
  std::shared_ptr<client::LocalizationSession> session;
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    session = impl_->session;
  }
  // If the session has ended, the next one has no poses.
  if (session != nullptr) session->Activate(true).IgnoreError();
}

ServerState ServerLink::state() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  ServerState state = impl_->totals;
  state.server = impl_->channel.server();
  state.connection = impl_->error;
  if (impl_->session != nullptr) {
    state.connection = impl_->session->connection();
    AddSession(*impl_->session, state);
  }
  // The session increments given_up before it reports the outcome.
  state.answered = impl_->outcomes - std::min(impl_->outcomes, state.given_up);
  state.given_up += impl_->completed;
  return state;
}

}  // namespace voxloc::ros
