// SPDX-License-Identifier: Apache-2.0
//
// BackgroundRoom: what alignments other than tracking may take of the device at the same time. The
// device prefers waiting blocks of tracking to others, but the blocks of a cluster begin together:
// where room for one block after another comes free, waiting blocks of a search take it, and the
// cluster waits until none is left. So no more of them are launched than run at once, and some room
// stays free. Thread-safe.

#ifndef VOXLOC_CUDA_ALIGN_BACKGROUND_ROOM_H_
#define VOXLOC_CUDA_ALIGN_BACKGROUND_ROOM_H_

#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace voxloc::cuda {

class BackgroundRoom : public std::enable_shared_from_this<BackgroundRoom> {
 public:
  // Some of the room, for as long as this lives.
  class Share {
   public:
    Share(std::shared_ptr<BackgroundRoom> room, int blocks)
        : room_(std::move(room)), blocks_(blocks) {}
    Share(Share&& other) noexcept : room_(std::move(other.room_)), blocks_(other.blocks_) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(room_, other.room_);
      std::swap(blocks_, other.blocks_);
      return *this;
    }
    ~Share() {
      if (room_ != nullptr) room_->Return(blocks_);
    }

   private:
    std::shared_ptr<BackgroundRoom> room_;
    int blocks_;
  };

  // In lone blocks of the kernel for many jobs; at least one.
  explicit BackgroundRoom(int blocks) : blocks_(blocks), free_(blocks) {}

  [[nodiscard]] int blocks() const { return blocks_; }

  // Of what is free and nobody waits for; a demand for more than there is at all is for all of it.
  [[nodiscard]] std::optional<Share> TryTake(int blocks);
  // Waits for it. The caller holds no share: of two that do and wait for each other none goes on.
  [[nodiscard]] Share Take(int blocks);

 private:
  void Return(int blocks);

  const int blocks_;
  absl::Mutex mutex_;
  int free_ ABSL_GUARDED_BY(mutex_);
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;  // callers of Take
};

}  // namespace voxloc::cuda

#endif  // VOXLOC_CUDA_ALIGN_BACKGROUND_ROOM_H_
