// SPDX-License-Identifier: Apache-2.0
//
// ByteShares: what may be held in all by holders who ask before they take anything, and wait for
// their turn where it is too much. Whoever asks for more than the limit gets it while nothing else
// is held. Thread-safe. The ByteShares must outlive its shares.

#ifndef VOXLOC_SERVER_SCHEDULING_BYTE_SHARES_H_
#define VOXLOC_SERVER_SCHEDULING_BYTE_SHARES_H_

#include <cstdint>
#include <functional>
#include <list>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/observe/metrics/instruments.h"

namespace voxloc::server {

class ByteShares {
 public:
  // Called on any thread, without a lock, when what was asked for is held after a wait; once more
  // perhaps while its share is destroyed.
  using Granted = std::function<void()>;

  // Of one holder.
  class Share {
   public:
    Share(ByteShares& shares, Granted granted);
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() { Release(); }

    // In place of what is held or awaited, which may be the same. Whether it is held now; if not,
    // it will be. Who holds as much already holds it without a wait.
    [[nodiscard]] bool Ask(uint64_t bytes);
    // Holds nothing, and awaits nothing.
    void Release();

   private:
    friend class ByteShares;
    ByteShares& shares_;
    const Granted granted_;
    uint64_t bytes_ = 0;    // with its ByteShares' lock, as is the next
    bool waiting_ = false;  // for them
  };

  // `held` shows the bytes that are held.
  ByteShares(uint64_t limit, Gauge held) : gauge_(held), limit_(limit) {}
  ByteShares(const ByteShares&) = delete;
  ByteShares& operator=(const ByteShares&) = delete;

  void set_limit(uint64_t limit);

 private:
  [[nodiscard]] bool Fits(uint64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return held_ == 0 || (held_ <= limit_ && bytes <= limit_ - held_);
  }
  void Hold(Share& share) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LetGo(Share& share) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whose turn has come, in the order in which they asked.
  [[nodiscard]] std::vector<Granted> GrantLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Gauge gauge_;
  absl::Mutex mutex_;
  uint64_t limit_ ABSL_GUARDED_BY(mutex_);
  uint64_t held_ ABSL_GUARDED_BY(mutex_) = 0;
  std::list<Share*> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCHEDULING_BYTE_SHARES_H_
