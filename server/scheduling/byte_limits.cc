// SPDX-License-Identifier: Apache-2.0

#include "server/scheduling/byte_limits.h"

#include <utility>

namespace voxloc::server {

ByteShares::Share::Share(ByteShares& shares, Granted granted)
    : shares_(shares), granted_(std::move(granted)) {}

bool ByteShares::Share::Request(uint64_t bytes) {
  std::vector<Granted> granted;
  bool held = false;
  {
    const absl::MutexLock lock(&shares_.mutex_);
    if (waiting_ && bytes == bytes_) return false;
    const bool less = !waiting_ && bytes <= bytes_;
    shares_.Return(*this);
    bytes_ = bytes;
    // What it held may be what others wait for, whose requests come first.
    if (!less) granted = shares_.GrantLocked();
    held = less || (shares_.waiting_.empty() && shares_.Fits(bytes));
    if (held) {
      shares_.Hold(*this);
    } else {
      waiting_ = true;
      shares_.waiting_.push_back(this);
    }
    if (less) granted = shares_.GrantLocked();
  }
  for (const Granted& call : granted) call();
  return held;
}

void ByteShares::Share::Release() {
  std::vector<Granted> granted;
  {
    const absl::MutexLock lock(&shares_.mutex_);
    shares_.Return(*this);
    granted = shares_.GrantLocked();
  }
  for (const Granted& call : granted) call();
}

void ByteShares::set_limit(uint64_t limit) {
  std::vector<Granted> granted;
  {
    const absl::MutexLock lock(&mutex_);
    limit_ = limit;
    granted = GrantLocked();
  }
  for (const Granted& call : granted) call();
}

void ByteShares::Hold(Share& share) {
  held_ += share.bytes_;
  gauge_.Add(static_cast<double>(share.bytes_));
}

void ByteShares::Return(Share& share) {
  if (share.waiting_) {
    waiting_.remove(&share);
    share.waiting_ = false;
  } else {
    held_ -= share.bytes_;
    gauge_.Add(-static_cast<double>(share.bytes_));
  }
  share.bytes_ = 0;
}

std::vector<ByteShares::Granted> ByteShares::GrantLocked() {
  std::vector<Granted> granted;
  while (!waiting_.empty() && Fits(waiting_.front()->bytes_)) {
    Share& share = *waiting_.front();
    waiting_.pop_front();
    share.waiting_ = false;
    Hold(share);
    granted.push_back(share.granted_);
  }
  return granted;
}

}  // namespace voxloc::server
