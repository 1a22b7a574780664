// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/session.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cpp/channel_impl.h"
#include "clients/cpp/error_details.h"
#include "clients/cpp/session_outbox.h"
#include "clients/cpp/session_requests.h"
#include "clients/cpp/session_stream.h"

namespace voxloc::client {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxRejections = 64;

Clock::duration Seconds(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

struct LocalizationSession::Impl {
  Impl(const Channel& a_channel, const SessionOptions& an_options)
      : channel(a_channel),
        options(an_options),
        stub(v1::LocalizationService::NewStub(a_channel.impl().channel)) {}

  void Run();
  absl::Status ServeOneStream(bool* was_open);
  void Take(v1::AlignmentResult result);
  void Take(v1::RequestRejected rejected);
  void BeginDraining();
  absl::Status Write(const v1::AlignScansRequest& request);
  void FillGuess(v1::AlignScansRequest* request) const;
  // A scan has its outcome: it is no longer unanswered. Under the lock, as are the next two; what
  // they return is for Tell.
  std::vector<v1::AlignmentResult> Settle(v1::AlignmentResult result);
  // The scans before this one, which no server is going to answer.
  std::vector<v1::AlignmentResult> GiveUpScansBefore(uint64_t sequence);
  // A scan that a newer one has replaced before it was written.
  std::vector<v1::AlignmentResult> Supersede(uint64_t sequence);
  // Calls on_result, not under the lock.
  void Tell(const std::vector<v1::AlignmentResult>& results) const;
  template <typename Predicate>
  bool WaitFor(std::unique_lock<std::mutex>* lock, double timeout_s, Predicate predicate);
  absl::Status EndOfResults() const;

  const Channel channel;
  const SessionOptions options;
  const std::unique_ptr<v1::LocalizationService::Stub> stub;

  SessionOutbox outbox;  // its lock is taken after `mutex`

  std::mutex mutex;  // guards everything below but the thread
  std::condition_variable changed;
  std::shared_ptr<SessionStream> stream;
  bool writable = false;  // `stream` is open and takes messages
  bool draining = false;  // the server answers what it has, and takes no more
  bool closing = false;
  bool ended = false;
  absl::Status end;
  bool opened_once = false;
  int reconnects = 0;
  uint64_t unexpected_results = 0;
  uint64_t given_up = 0;
  v1::SessionOpened opened;
  uint64_t last_sequence = 0;
  std::map<uint64_t, v1::AlignScansRequest> unanswered;
  std::deque<v1::AlignmentResult> results;
  std::deque<v1::RequestRejected> rejections;
  std::optional<v1::AlignScansRequest> activation;  // the last one
  std::optional<v1::Pose> last_pose;
  bool guess_from_last_pose = false;  // since a reconnect, until a scan is accepted

  std::thread reader;
};

void LocalizationSession::Impl::Run() {
  Backoff backoff(options.reconnect);
  while (true) {
    bool was_open = false;
    const absl::Status status = ServeOneStream(&was_open);
    if (was_open) backoff.Reset();
    std::unique_lock<std::mutex> lock(mutex);
    writable = false;
    const bool drained = std::exchange(draining, false);
    const bool temporary = drained || status.code() == absl::StatusCode::kUnavailable ||
                           EndedForSilence(status) || (!was_open && MayHelpElsewhere(status));
    if (opened_once && !closing && temporary && backoff.MayTry()) {
      // A server that drains has said so while another one was there.
      const double own_wait_s = backoff.NextWait();
      const double wait_s = drained ? 0.0 : std::max(own_wait_s, RetryAfterS(status).value_or(0.0));
      const Clock::time_point until = Clock::now() + Seconds(wait_s);
      if (!changed.wait_until(lock, until, [this] { return closing; })) continue;
    }
    end = status;
    if (end.code() == absl::StatusCode::kUnavailable && backoff.attempts() > 0) {
      end = absl::UnavailableError(absl::StrCat(status.message(), " (gave up after ",
                                                backoff.attempts(), " attempts to reconnect)"));
    }
    // Closed before another server had them.
    if (end.ok()) {
      const std::vector<v1::AlignmentResult> left = GiveUpScansBefore(last_sequence + 1);
      lock.unlock();
      Tell(left);
      lock.lock();
    }
    ended = true;
    changed.notify_all();
    return;
  }
}

absl::Status LocalizationSession::Impl::ServeOneStream(bool* was_open) {
  auto fresh = std::make_shared<SessionStream>(channel, stub.get());
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (closing) return absl::CancelledError("the session was closed while it reconnected");
    stream = fresh;
  }
  v1::SessionOpened answer;
  if (absl::Status status = fresh->Open(options.open, options.open_timeout_s, &answer);
      !status.ok()) {
    return status;
  }
  *was_open = true;
  std::vector<v1::AlignmentResult> stale;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    opened = std::move(answer);
    if (opened_once) {
      ++reconnects;
      guess_from_last_pose = true;
    }
    opened_once = true;
    std::vector<v1::AlignScansRequest> first;
    if (activation.has_value()) first.push_back(*activation);
    if (!unanswered.empty()) {
      stale = GiveUpScansBefore(unanswered.rbegin()->first);
      first.push_back(unanswered.rbegin()->second);
      FillGuess(&first.back());
    }
    // As many as may wait at the server, and the one that it works on.
    const size_t granted = opened.limits().max_waiting_scans();
    outbox.Attach(fresh, std::move(first), granted == 0 ? options.max_outstanding : granted + 1);
    if (closing) outbox.FinishWrites();
    writable = true;
    changed.notify_all();
  }
  Tell(stale);
  v1::AlignScansResponse response;
  while (fresh->Read(&response)) {
    if (response.has_result()) Take(std::move(*response.mutable_result()));
    if (response.has_rejected()) Take(std::move(*response.mutable_rejected()));
    if (response.has_draining()) BeginDraining();
  }
  outbox.Detach();
  return fresh->Finish();
}

void LocalizationSession::Impl::BeginDraining() {
  const std::lock_guard<std::mutex> lock(mutex);
  draining = true;
  writable = false;
  outbox.FinishWrites();
}

std::vector<v1::AlignmentResult> LocalizationSession::Impl::Settle(v1::AlignmentResult result) {
  unanswered.erase(result.sequence());
  if (options.on_result) return {std::move(result)};
  results.push_back(std::move(result));
  changed.notify_all();
  return {};
}

std::vector<v1::AlignmentResult> LocalizationSession::Impl::GiveUpScansBefore(uint64_t sequence) {
  std::vector<v1::AlignmentResult> told;
  while (!unanswered.empty() && unanswered.begin()->first < sequence) {
    ++given_up;
    for (v1::AlignmentResult& outcome :
         Settle(LocalOutcome(unanswered.begin()->second.scan(), v1::ALIGNMENT_STATUS_STALE,
                             "the connection to the server was lost before the answer"))) {
      told.push_back(std::move(outcome));
    }
  }
  return told;
}

std::vector<v1::AlignmentResult> LocalizationSession::Impl::Supersede(uint64_t sequence) {
  ++given_up;
  return Settle(LocalOutcome(unanswered.at(sequence).scan(), v1::ALIGNMENT_STATUS_SUPERSEDED,
                             "a newer scan replaced this one before the connection took it"));
}

void LocalizationSession::Impl::Tell(
    const std::vector<v1::AlignmentResult>& results_to_tell) const {
  for (const v1::AlignmentResult& result : results_to_tell) options.on_result(result);
}

void LocalizationSession::Impl::Take(v1::AlignmentResult result) {
  std::vector<v1::AlignmentResult> told;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (unanswered.count(result.sequence()) == 0) {
      ++unexpected_results;
      return;
    }
    if (result.accepted() && result.has_map_t_base()) {
      last_pose = result.map_t_base().pose();
      guess_from_last_pose = false;
    }
    told = Settle(std::move(result));
  }
  Tell(told);
}

void LocalizationSession::Impl::Take(v1::RequestRejected rejected) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (rejections.size() == kMaxRejections) rejections.pop_front();
  rejections.push_back(std::move(rejected));
}

absl::Status LocalizationSession::Impl::Write(const v1::AlignScansRequest& request) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (ended) return EndOfResults();
  if (closing) return absl::FailedPreconditionError("the session is being closed");
  if (request.has_activate()) activation = request;
  if (writable) outbox.Put(request);
  return absl::OkStatus();
}

void LocalizationSession::Impl::FillGuess(v1::AlignScansRequest* request) const {
  if (guess_from_last_pose && last_pose.has_value() && !request->scan().has_guess_map_t_base()) {
    *request->mutable_scan()->mutable_guess_map_t_base()->mutable_pose() = *last_pose;
  }
}

template <typename Predicate>
bool LocalizationSession::Impl::WaitFor(std::unique_lock<std::mutex>* lock, double timeout_s,
                                        Predicate predicate) {
  if (timeout_s > 0.0) return changed.wait_for(*lock, Seconds(timeout_s), predicate);
  changed.wait(*lock, predicate);
  return true;
}

absl::Status LocalizationSession::Impl::EndOfResults() const {
  return end.ok() ? absl::OutOfRangeError("the session is closed and has no more results") : end;
}

LocalizationSession::LocalizationSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

LocalizationSession::~LocalizationSession() {
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->closing = true;
    if (impl_->stream != nullptr) impl_->stream->Cancel();
    impl_->changed.notify_all();
  }
  if (impl_->reader.joinable()) impl_->reader.join();
}

absl::StatusOr<std::unique_ptr<LocalizationSession>> LocalizationSession::Open(
    const Channel& channel, const SessionOptions& options) {
  std::unique_ptr<LocalizationSession> session(
      new LocalizationSession(std::make_unique<Impl>(channel, options)));
  Impl* impl = session->impl_.get();
  impl->reader = std::thread([impl] { impl->Run(); });
  std::unique_lock<std::mutex> lock(impl->mutex);
  impl->changed.wait(lock, [impl] { return impl->writable || impl->ended; });
  if (impl->ended && !impl->end.ok()) return impl->end;
  lock.unlock();
  return session;
}

v1::SessionOpened LocalizationSession::opened() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->opened;
}

int LocalizationSession::reconnects() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->reconnects;
}

uint64_t LocalizationSession::unexpected_results() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->unexpected_results;
}

uint64_t LocalizationSession::given_up() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->given_up;
}

absl::StatusOr<uint64_t> LocalizationSession::Send(const ScanInput& scan) {
  absl::StatusOr<v1::AlignScansRequest> request = ScanRequest(scan);
  if (!request.ok()) return request.status();
  std::vector<v1::AlignmentResult> given_up;
  uint64_t sequence = 0;
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    if (impl_->ended) return impl_->EndOfResults();
    if (impl_->closing) return absl::FailedPreconditionError("the session is being closed");
    const uint64_t limit = impl_->opened.max_message_bytes();
    const size_t bytes = request->ByteSizeLong();
    if (limit > 0 && bytes > limit) {
      return absl::InvalidArgumentError(
          absl::StrCat("the scan must take at most ", limit, " bytes, the message limit of ",
                       impl_->channel.server(), " (got ", bytes, ")"));
    }
    if (impl_->unanswered.size() + impl_->results.size() >= impl_->options.max_outstanding) {
      return absl::ResourceExhaustedError(absl::StrCat(
          impl_->options.max_outstanding, " scans are unanswered or have not been received"));
    }
    sequence = ++impl_->last_sequence;
    request->mutable_scan()->set_sequence(sequence);
    impl_->unanswered.emplace(sequence, *request);
    if (impl_->writable) {
      impl_->FillGuess(&*request);
      const auto replaced = impl_->outbox.PutScan(*std::move(request));
      if (replaced.has_value()) given_up = impl_->Supersede(*replaced);
    } else if (!impl_->draining) {
      given_up = impl_->GiveUpScansBefore(sequence);
    }
  }
  impl_->Tell(given_up);
  return sequence;
}

absl::Status LocalizationSession::SendPose(int64_t stamp_ns, const Pose& map_T_base,
                                           const std::optional<Matrix6>& covariance) {
  return impl_->Write(PoseRequest(stamp_ns, map_T_base, covariance));
}

absl::Status LocalizationSession::SendReference(int64_t stamp_ns,
                                                const Eigen::Vector3d& position_map) {
  return impl_->Write(ReferenceRequest(stamp_ns, position_map));
}

absl::Status LocalizationSession::Activate(bool active) {
  return impl_->Write(ActivateRequest(active));
}

std::optional<v1::RequestRejected> LocalizationSession::TakeRejection() {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  if (impl_->rejections.empty()) return std::nullopt;
  v1::RequestRejected rejected = std::move(impl_->rejections.front());
  impl_->rejections.pop_front();
  return rejected;
}

absl::StatusOr<v1::AlignmentResult> LocalizationSession::Receive(double timeout_s) {
  std::unique_lock<std::mutex> lock(impl_->mutex);
  Impl* impl = impl_.get();
  if (!impl->WaitFor(&lock, timeout_s, [impl] { return !impl->results.empty() || impl->ended; })) {
    return absl::DeadlineExceededError(
        absl::StrCat(impl->channel.server(), " AlignScans: no result in ", timeout_s, " s"));
  }
  if (impl->results.empty()) return impl->EndOfResults();
  v1::AlignmentResult result = std::move(impl->results.front());
  impl->results.pop_front();
  return result;
}

absl::StatusOr<v1::AlignmentResult> LocalizationSession::ReceiveResultOf(uint64_t sequence,
                                                                         double timeout_s) {
  std::unique_lock<std::mutex> lock(impl_->mutex);
  Impl* impl = impl_.get();
  auto found = impl->results.end();
  const auto arrived = [impl, sequence, &found] {
    for (found = impl->results.begin(); found != impl->results.end(); ++found) {
      if (found->sequence() == sequence) return true;
    }
    return impl->ended;
  };
  if (!impl->WaitFor(&lock, timeout_s, arrived)) {
    return absl::DeadlineExceededError(absl::StrCat(impl->channel.server(),
                                                    " AlignScans: no result of scan ", sequence,
                                                    " in ", timeout_s, " s"));
  }
  if (found == impl->results.end()) return impl->EndOfResults();
  v1::AlignmentResult result = std::move(*found);
  impl->results.erase(found);
  return result;
}

std::optional<absl::Status> LocalizationSession::AwaitEnd(double timeout_s) {
  std::unique_lock<std::mutex> lock(impl_->mutex);
  Impl* impl = impl_.get();
  if (!impl->WaitFor(&lock, timeout_s, [impl] { return impl->ended; })) return std::nullopt;
  return impl->end;
}

absl::Status LocalizationSession::Close(double timeout_s) {
  std::shared_ptr<SessionStream> stream;
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    const bool first = !impl_->closing;
    impl_->closing = true;
    stream = impl_->stream;
    // A session that is just reconnecting half-closes once it is open.
    if (first && impl_->writable && !impl_->ended) impl_->outbox.FinishWrites();
    impl_->changed.notify_all();
  }
  std::unique_lock<std::mutex> lock(impl_->mutex);
  Impl* impl = impl_.get();
  if (!impl->WaitFor(&lock, timeout_s, [impl] { return impl->ended; })) {
    stream->Cancel();
    impl->changed.wait(lock, [impl] { return impl->ended; });
    return absl::DeadlineExceededError(absl::StrCat(
        impl->channel.server(), " AlignScans: the session did not end in ", timeout_s, " s"));
  }
  return impl->end;
}

}  // namespace voxloc::client
