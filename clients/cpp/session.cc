// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cpp/messages.h"
#include "clients/cpp/session_impl.h"
#include "core/status/try.h"

namespace voxloc::client {
namespace {

void EncodeCovariance(const Matrix6& covariance, google::protobuf::RepeatedField<double>* field) {
  for (int row = 0; row < 6; ++row) {
    for (int column = 0; column < 6; ++column) field->Add(covariance(row, column));
  }
}

// Without a sequence number. InvalidArgument: not exactly one cloud.
absl::StatusOr<v1::AlignScansRequest> ScanRequest(const ScanInput& scan) {
  if ((scan.cloud == nullptr) == (scan.encoded_cloud == nullptr)) {
    return absl::InvalidArgumentError(absl::StrCat("the scan must have one cloud (got ",
                                                   scan.cloud == nullptr ? "none" : "two", ")"));
  }
  v1::AlignScansRequest request;
  v1::Scan* message = request.mutable_scan();
  message->set_stamp_ns(scan.stamp_ns);
  message->set_timeout_s(scan.timeout_s);
  message->set_age_s(scan.age_s);
  v1::Cloud* cloud = message->add_clouds()->mutable_cloud();
  if (scan.cloud != nullptr) {
    EncodeCloud(*scan.cloud, cloud);
  } else {
    *cloud = *scan.encoded_cloud;
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
  return request;
}

// Fields of the setup that a change has set replace those of the changes before it.
SharedRequest MergedConfiguration(const SharedRequest& before,
                                  const v1::AlignScansRequest& change) {
  v1::AlignScansRequest merged = before == nullptr ? v1::AlignScansRequest() : *before;
  v1::ScanSetup& setup = *merged.mutable_configure()->mutable_setup();
  const v1::ScanSetup& changed = change.configure().setup();
  if (changed.has_options()) *setup.mutable_options() = changed.options();
  if (changed.has_filter()) *setup.mutable_filter() = changed.filter();
  if (changed.has_output()) *setup.mutable_output() = changed.output();
  if (changed.has_base_t_sensor()) *setup.mutable_base_t_sensor() = changed.base_t_sensor();
  return std::make_shared<const v1::AlignScansRequest>(std::move(merged));
}

}  // namespace

absl::Status LocalizationSession::Impl::Write(v1::AlignScansRequest request) {
  const auto shared = std::make_shared<const v1::AlignScansRequest>(std::move(request));
  const std::lock_guard<std::mutex> lock(mutex);
  if (ended) return EndOfResults();
  if (closing) return absl::FailedPreconditionError("the session is being closed");
  if (shared->has_activate()) activation = shared;
  if (shared->has_configure()) configuration = MergedConfiguration(configuration, *shared);
  if (writable) stream->Put(shared);
  return absl::OkStatus();
}

SharedRequest LocalizationSession::Impl::WithGuess(const SharedRequest& request) const {
  const v1::Scan& scan = request->scan();
  // A guess is interpolated from two poses.
  const bool has_guess = scan.has_guess_map_t_base() || scan.poses_size() >= 2;
  if (!guess_from_last_pose || !last_pose.has_value() || has_guess) return request;
  auto filled = std::make_shared<v1::AlignScansRequest>(*request);
  v1::PoseWithCovariance& guess = *filled->mutable_scan()->mutable_guess_map_t_base();
  *guess.mutable_pose() = last_pose->pose();
  if (last_map_T_odom.has_value() && scan.has_odom_t_base()) {
    const absl::StatusOr<Pose> odom_T_base = DecodePose(scan.odom_t_base());
    if (odom_T_base.ok()) {
      EncodePose(*last_map_T_odom * *odom_T_base, guess.mutable_pose());
      *guess.mutable_covariance() = last_pose->covariance();
    }
  }
  return filled;
}

absl::StatusOr<uint64_t> LocalizationSession::Impl::SendScan(v1::AlignScansRequest request) {
  Results completed;
  uint64_t sequence = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (ended) return EndOfResults();
    if (closing) return absl::FailedPreconditionError("the session is being closed");
    const uint64_t limit = opened.max_message_bytes();
    const size_t bytes = request.ByteSizeLong();
    if (limit > 0 && bytes > limit) {
      return absl::InvalidArgumentError(absl::StrCat("the scan must take at most ", limit,
                                                     " bytes, the message limit of ",
                                                     channel.server(), " (got ", bytes, ")"));
    }
    if (unanswered.size() + results.size() >= options.max_outstanding) {
      return absl::ResourceExhaustedError(
          absl::StrCat(options.max_outstanding, " scans are unanswered or have not been received"));
    }
    sequence = ++last_sequence;
    request.mutable_scan()->set_sequence(sequence);
    const auto shared = std::make_shared<const v1::AlignScansRequest>(std::move(request));
    unanswered.emplace(sequence, shared);
    if (writable) {
      const auto replaced = stream->PutScan(WithGuess(shared));
      if (replaced.has_value()) {
        GiveUp(*replaced, v1::ALIGNMENT_STATUS_SUPERSEDED,
               "a newer scan replaced this one before the connection took it", &completed);
      }
    } else if (!drain_wait_s.has_value()) {
      AbandonScansBefore(sequence, &completed);
    }
  }
  Notify(completed);
  return sequence;
}

bool LocalizationSession::Impl::WaitFor(std::unique_lock<std::mutex>* lock, double timeout_s,
                                        const std::function<bool()>& predicate) {
  if (timeout_s > 0.0) {
    return changed.wait_for(*lock, std::chrono::duration<double>(timeout_s), predicate);
  }
  changed.wait(*lock, predicate);
  return true;
}

absl::StatusOr<v1::AlignmentResult> LocalizationSession::Impl::TakeResult(
    std::optional<uint64_t> sequence, double timeout_s) {
  std::unique_lock<std::mutex> lock(mutex);
  auto found = results.end();
  const auto arrived = [this, sequence, &found] {
    found = std::find_if(results.begin(), results.end(), [sequence](const auto& result) {
      return !sequence.has_value() || result.sequence() == *sequence;
    });
    return found != results.end() || ended;
  };
  if (!WaitFor(&lock, timeout_s, arrived)) {
    return absl::DeadlineExceededError(absl::StrCat(
        channel.server(), " AlignScans: no result",
        sequence.has_value() ? absl::StrCat(" of scan ", *sequence) : "", " in ", timeout_s, " s"));
  }
  if (found == results.end()) return EndOfResults();
  v1::AlignmentResult result = std::move(*found);
  results.erase(found);
  return result;
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

std::unique_ptr<LocalizationSession> LocalizationSession::Start(const Channel& channel,
                                                                const SessionOptions& options) {
  std::unique_ptr<LocalizationSession> session(
      new LocalizationSession(std::make_unique<Impl>(channel, options)));
  Impl* impl = session->impl_.get();
  impl->reader = std::thread([impl] { impl->Run(); });
  return session;
}

absl::StatusOr<std::unique_ptr<LocalizationSession>> LocalizationSession::Open(
    const Channel& channel, const SessionOptions& options) {
  std::unique_ptr<LocalizationSession> session = Start(channel, options);
  Impl* impl = session->impl_.get();
  std::unique_lock<std::mutex> lock(impl->mutex);
  impl->changed.wait(lock, [impl] { return impl->writable || impl->ended; });
  if (impl->ended && !impl->end.ok()) return impl->end;
  lock.unlock();
  return session;
}

v1::SessionOpened LocalizationSession::opened() const { return impl_->Locked(&Impl::opened); }

int LocalizationSession::reconnects() const { return impl_->Locked(&Impl::reconnects); }

uint64_t LocalizationSession::unexpected_results() const {
  return impl_->Locked(&Impl::unexpected_results);
}

absl::Status LocalizationSession::connection() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  if (impl_->ended) return impl_->end;
  return impl_->writable || impl_->drain_wait_s.has_value() ? absl::OkStatus() : impl_->lost;
}

uint64_t LocalizationSession::given_up() const { return impl_->Locked(&Impl::given_up); }

absl::StatusOr<uint64_t> LocalizationSession::Send(const ScanInput& scan) {
  VOXLOC_ASSIGN_OR_RETURN(v1::AlignScansRequest request, ScanRequest(scan));
  return impl_->SendScan(std::move(request));
}

absl::StatusOr<uint64_t> LocalizationSession::Send(v1::Scan scan) {
  v1::AlignScansRequest request;
  *request.mutable_scan() = std::move(scan);
  return impl_->SendScan(std::move(request));
}

absl::Status LocalizationSession::SendPose(int64_t stamp_ns, const Pose& map_T_base,
                                           const std::optional<Matrix6>& covariance) {
  v1::AlignScansRequest request;
  request.mutable_pose()->set_stamp_ns(stamp_ns);
  v1::PoseWithCovariance* message = request.mutable_pose()->mutable_map_t_base();
  EncodePose(map_T_base, message->mutable_pose());
  if (covariance.has_value()) EncodeCovariance(*covariance, message->mutable_covariance());
  return impl_->Write(std::move(request));
}

absl::Status LocalizationSession::SendReference(int64_t stamp_ns,
                                                const Eigen::Vector3d& position_map) {
  v1::AlignScansRequest request;
  request.mutable_reference()->set_stamp_ns(stamp_ns);
  EncodeVector(position_map, request.mutable_reference()->mutable_position());
  return impl_->Write(std::move(request));
}

absl::Status LocalizationSession::Activate(bool active) {
  v1::AlignScansRequest request;
  request.mutable_activate()->set_active(active);
  return impl_->Write(std::move(request));
}

absl::Status LocalizationSession::Configure(const v1::ScanSetup& setup) {
  v1::AlignScansRequest request;
  *request.mutable_configure()->mutable_setup() = setup;
  return impl_->Write(std::move(request));
}

std::optional<v1::RequestRejected> LocalizationSession::TakeRejection() {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  if (impl_->rejections.empty()) return std::nullopt;
  v1::RequestRejected rejected = std::move(impl_->rejections.front());
  impl_->rejections.pop_front();
  return rejected;
}

absl::StatusOr<v1::AlignmentResult> LocalizationSession::Receive(double timeout_s) {
  return impl_->TakeResult(std::nullopt, timeout_s);
}

absl::StatusOr<v1::AlignmentResult> LocalizationSession::ReceiveResultOf(uint64_t sequence,
                                                                         double timeout_s) {
  return impl_->TakeResult(sequence, timeout_s);
}

std::optional<absl::Status> LocalizationSession::AwaitEnd(double timeout_s) {
  std::unique_lock<std::mutex> lock(impl_->mutex);
  Impl* impl = impl_.get();
  if (!impl->WaitFor(&lock, timeout_s, [impl] { return impl->ended; })) return std::nullopt;
  return impl->end;
}

absl::Status LocalizationSession::Close(double timeout_s) {
  Impl* impl = impl_.get();
  std::unique_lock<std::mutex> lock(impl->mutex);
  // While reconnecting, the stream is half-closed once it is open.
  const bool first = !std::exchange(impl->closing, true);
  if (first && impl->writable && !impl->ended) impl->stream->FinishWrites();
  impl->changed.notify_all();
  const std::shared_ptr<SessionStream> stream = impl->stream;
  if (!impl->WaitFor(&lock, timeout_s, [impl] { return impl->ended; })) {
    stream->Cancel();
    impl->changed.wait(lock, [impl] { return impl->ended; });
    return absl::DeadlineExceededError(absl::StrCat(
        impl->channel.server(), " AlignScans: the session did not end in ", timeout_s, " s"));
  }
  return impl->end;
}

}  // namespace voxloc::client
