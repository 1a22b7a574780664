// SPDX-License-Identifier: Apache-2.0

#include "server/scheduling/limits.h"

namespace voxloc::server {

bool ByteQuota::Reservation::Request(uint64_t bytes) {
  std::vector<GrantCallback> granted;
  bool held = false;
  {
    const absl::MutexLock lock(&quota_.mutex_);
    if (waiting_ && bytes == bytes_) return false;
    const bool less = !waiting_ && bytes <= bytes_;
    quota_.Return(*this);
    bytes_ = bytes;
    // What it held may be what others wait for, whose requests come first.
    if (!less) granted = quota_.GrantLocked();
    held = less || (quota_.waiting_.empty() && quota_.HasCapacity(bytes));
    if (held) {
      quota_.Grant(*this);
    } else {
      waiting_ = true;
      quota_.waiting_.push_back(this);
    }
    if (less) granted = quota_.GrantLocked();
  }
  for (const GrantCallback& call : granted) call();
  return held;
}

void ByteQuota::Reservation::Release() {
  std::vector<GrantCallback> granted;
  {
    const absl::MutexLock lock(&quota_.mutex_);
    quota_.Return(*this);
    granted = quota_.GrantLocked();
  }
  for (const GrantCallback& call : granted) call();
}

void ByteQuota::set_limit(uint64_t limit) {
  std::vector<GrantCallback> granted;
  {
    const absl::MutexLock lock(&mutex_);
    limit_ = limit;
    granted = GrantLocked();
  }
  for (const GrantCallback& call : granted) call();
}

void ByteQuota::Grant(Reservation& share) {
  held_ += share.bytes_;
  gauge_.Add(static_cast<double>(share.bytes_));
}

void ByteQuota::Return(Reservation& share) {
  if (share.waiting_) {
    waiting_.remove(&share);
    share.waiting_ = false;
  } else {
    held_ -= share.bytes_;
    gauge_.Add(-static_cast<double>(share.bytes_));
  }
  share.bytes_ = 0;
}

std::vector<ByteQuota::GrantCallback> ByteQuota::GrantLocked() {
  std::vector<GrantCallback> granted;
  while (!waiting_.empty() && HasCapacity(waiting_.front()->bytes_)) {
    Reservation& share = *waiting_.front();
    waiting_.pop_front();
    share.waiting_ = false;
    Grant(share);
    granted.push_back(share.granted_);
  }
  return granted;
}

}  // namespace voxloc::server
