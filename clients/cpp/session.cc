// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/session.h"

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
#include "clients/cpp/messages.h"
#include "clients/cpp/session_stream.h"

namespace voxloc::client {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxRejections = 64;

void EncodeCovariance(const Matrix6& covariance, google::protobuf::RepeatedField<double>* field) {
  for (int row = 0; row < 6; ++row) {
    for (int column = 0; column < 6; ++column) field->Add(covariance(row, column));
  }
}

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
  absl::Status WriteNow(const v1::AlignScansRequest& request);
  void FillGuess(v1::AlignScansRequest* request) const;
  template <typename Predicate>
  bool WaitFor(std::unique_lock<std::mutex>* lock, double timeout_s, Predicate predicate);
  absl::Status EndOfResults() const;

  const Channel channel;
  const SessionOptions options;
  const std::unique_ptr<v1::LocalizationService::Stub> stub;

  // Held while writing, and taken before `mutex`.
  std::mutex write_mutex;

  std::mutex mutex;  // guards everything below but the thread
  std::condition_variable changed;
  std::shared_ptr<SessionStream> stream;
  bool writable = false;  // `stream` is open, and unanswered scans have been sent again
  bool closing = false;
  bool ended = false;
  absl::Status end;
  bool opened_once = false;
  int reconnects = 0;
  uint64_t unexpected_results = 0;
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
    const bool may_retry = opened_once && !closing &&
                           status.code() == absl::StatusCode::kUnavailable && backoff.MayTry();
    if (may_retry) {
      const Clock::time_point until = Clock::now() + Seconds(backoff.NextWait());
      if (!changed.wait_until(lock, until, [this] { return closing; })) continue;
    }
    end = status;
    if (end.code() == absl::StatusCode::kUnavailable && backoff.attempts() > 0) {
      end = absl::UnavailableError(absl::StrCat(status.message(), " (gave up after ",
                                                backoff.attempts(), " attempts to reconnect)"));
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
  {
    const std::lock_guard<std::mutex> writing(write_mutex);
    std::vector<v1::AlignScansRequest> again;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      opened = std::move(answer);
      if (opened_once) {
        ++reconnects;
        guess_from_last_pose = true;
      }
      opened_once = true;
      for (const auto& entry : unanswered) again.push_back(entry.second);
      for (v1::AlignScansRequest& request : again) FillGuess(&request);
      if (activation.has_value()) again.insert(again.begin(), *activation);
    }
    // A failed write shows as the end of the stream, below.
    for (const v1::AlignScansRequest& request : again) {
      if (!fresh->Write(request)) break;
    }
    const std::lock_guard<std::mutex> lock(mutex);
    if (closing) fresh->WritesDone();
    writable = true;
    changed.notify_all();
  }
  v1::AlignScansResponse response;
  while (fresh->Read(&response)) {
    if (response.has_result()) Take(std::move(*response.mutable_result()));
    if (response.has_rejected()) Take(std::move(*response.mutable_rejected()));
  }
  return fresh->Finish();
}

void LocalizationSession::Impl::Take(v1::AlignmentResult result) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (unanswered.erase(result.sequence()) == 0) {
      ++unexpected_results;
      return;
    }
    if (result.accepted() && result.has_map_t_base()) {
      last_pose = result.map_t_base().pose();
      guess_from_last_pose = false;
    }
    if (!options.on_result) {
      results.push_back(std::move(result));
      changed.notify_all();
      return;
    }
  }
  options.on_result(result);
}

void LocalizationSession::Impl::Take(v1::RequestRejected rejected) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (rejections.size() == kMaxRejections) rejections.pop_front();
  rejections.push_back(std::move(rejected));
}

absl::Status LocalizationSession::Impl::WriteNow(const v1::AlignScansRequest& request) {
  const std::lock_guard<std::mutex> writing(write_mutex);
  std::shared_ptr<SessionStream> open_stream;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (ended) return EndOfResults();
    if (closing) return absl::FailedPreconditionError("the session is being closed");
    if (request.has_activate()) activation = request;
    if (writable) open_stream = stream;
  }
  // A failed write is no error here: the reader reconnects or ends.
  if (open_stream != nullptr) open_stream->Write(request);
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

absl::StatusOr<uint64_t> LocalizationSession::Send(const ScanInput& scan) {
  if ((scan.cloud == nullptr) == (scan.encoded_cloud == nullptr)) {
    return absl::InvalidArgumentError(absl::StrCat("the scan must have one cloud (got ",
                                                   scan.cloud == nullptr ? "none" : "two", ")"));
  }
  v1::AlignScansRequest request;
  v1::Scan* message = request.mutable_scan();
  message->set_stamp_ns(scan.stamp_ns);
  message->set_timeout_s(scan.timeout_s);
  if (scan.cloud != nullptr) {
    EncodeCloud(*scan.cloud, message->add_clouds()->mutable_cloud());
  } else {
    *message->add_clouds()->mutable_cloud() = *scan.encoded_cloud;
  }
  if (scan.guess_map_T_base.has_value()) {
    v1::PoseWithCovariance& guess = *message->mutable_guess_map_t_base();
    EncodePose(*scan.guess_map_T_base, guess.mutable_pose());
    if (scan.guess_covariance.has_value()) {
      EncodeCovariance(*scan.guess_covariance, guess.mutable_covariance());
    }
  }
  if (scan.odom_T_base.has_value()) EncodePose(*scan.odom_T_base, message->mutable_odom_t_base());
  if (scan.base_twist.has_value()) {
    EncodeVector(scan.base_twist->linear_m_s, message->mutable_base_twist()->mutable_linear());
    EncodeVector(scan.base_twist->angular_rad_s, message->mutable_base_twist()->mutable_angular());
  }
  message->set_age_s(scan.age_s);

  const std::lock_guard<std::mutex> writing(impl_->write_mutex);
  std::shared_ptr<SessionStream> stream;
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    if (impl_->ended) return impl_->EndOfResults();
    if (impl_->closing) return absl::FailedPreconditionError("the session is being closed");
    const uint64_t limit = impl_->opened.max_message_bytes();
    const size_t bytes = request.ByteSizeLong();
    if (limit > 0 && bytes > limit) {
      return absl::InvalidArgumentError(
          absl::StrCat("the scan must take at most ", limit, " bytes, the message limit of ",
                       impl_->channel.server(), " (got ", bytes, ")"));
    }
    if (impl_->unanswered.size() + impl_->results.size() >= impl_->options.max_outstanding) {
      return absl::ResourceExhaustedError(absl::StrCat(
          impl_->options.max_outstanding, " scans are unanswered or have not been received"));
    }
    message->set_sequence(++impl_->last_sequence);
    impl_->unanswered.emplace(message->sequence(), request);
    impl_->FillGuess(&request);
    if (impl_->writable) stream = impl_->stream;
  }
  // A failed write is no error here: the scan is kept, and the reader reconnects or ends.
  if (stream != nullptr) stream->Write(request);
  return request.scan().sequence();
}

absl::Status LocalizationSession::SendPose(int64_t stamp_ns, const Pose& map_T_base,
                                           const std::optional<Matrix6>& covariance) {
  v1::AlignScansRequest request;
  request.mutable_pose()->set_stamp_ns(stamp_ns);
  v1::PoseWithCovariance* message = request.mutable_pose()->mutable_map_t_base();
  EncodePose(map_T_base, message->mutable_pose());
  if (covariance.has_value()) EncodeCovariance(*covariance, message->mutable_covariance());
  return impl_->WriteNow(request);
}

absl::Status LocalizationSession::SendReference(int64_t stamp_ns,
                                                const Eigen::Vector3d& position_map) {
  v1::AlignScansRequest request;
  request.mutable_reference()->set_stamp_ns(stamp_ns);
  v1::Vector3* position = request.mutable_reference()->mutable_position();
  position->set_x(position_map.x());
  position->set_y(position_map.y());
  position->set_z(position_map.z());
  return impl_->WriteNow(request);
}

absl::Status LocalizationSession::Activate(bool active) {
  v1::AlignScansRequest request;
  request.mutable_activate()->set_active(active);
  return impl_->WriteNow(request);
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
    const std::lock_guard<std::mutex> writing(impl_->write_mutex);
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    const bool first = !impl_->closing;
    impl_->closing = true;
    stream = impl_->stream;
    // A session that is just reconnecting half-closes once it is open.
    if (first && impl_->writable && !impl_->ended) stream->WritesDone();
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
