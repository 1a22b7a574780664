// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/session_outbox.h"

#include <algorithm>
#include <utility>

namespace voxloc::client {
namespace {

// Poses of 20 s at 50 Hz: older ones are of no use to a server that has not had them.
constexpr size_t kMaxOthers = 1000;

}  // namespace

SessionOutbox::SessionOutbox() : writer_([this] { Run(); }) {}

SessionOutbox::~SessionOutbox() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  writer_.join();
}

void SessionOutbox::Attach(std::shared_ptr<SessionStream> stream, std::vector<SharedRequest> first,
                           size_t max_unsent_scans) {
  const std::lock_guard<std::mutex> lock(mutex_);
  stream_ = std::move(stream);
  waiting_.assign(std::make_move_iterator(first.begin()), std::make_move_iterator(first.end()));
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
    const bool goes_on = next != nullptr ? stream->Write(*next) : (stream->WritesDone(), false);
    lock.lock();
    writing_ = false;
    // A failed write shows as the end of the stream, which the reader learns.
    if (!goes_on && stream_ == stream) stream_.reset();
    changed_.notify_all();
  }
}

}  // namespace voxloc::client
