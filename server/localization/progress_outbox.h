// SPDX-License-Identifier: Apache-2.0
//
// ProgressOutbox: the progress of a search for a client that may read slowly. Newer progress
// replaces unsent progress; particles are all kept, in order, and sent in messages of bounded size.
// Not thread-safe.

#ifndef VOXLOC_SERVER_LOCALIZATION_PROGRESS_OUTBOX_H_
#define VOXLOC_SERVER_LOCALIZATION_PROGRESS_OUTBOX_H_

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::server {

class ProgressOutbox {
 public:
  // Particles of one message: some 40 KiB.
  static constexpr size_t kParticlesPerMessage = 200;

  void Put(v1::SearchProgress progress) {
    for (v1::SearchParticle& particle : *progress.mutable_particles()) {
      particles_.push_back(std::move(particle));
    }
    progress.clear_particles();
    newest_ = std::move(progress);
    unsent_ = true;
  }

  [[nodiscard]] bool empty() const { return !unsent_ && particles_.empty(); }

  // The next message. Must not be empty.
  [[nodiscard]] v1::SearchProgress Take() {
    v1::SearchProgress message = newest_;
    const size_t count = std::min(particles_.size(), kParticlesPerMessage);
    for (size_t i = 0; i < count; ++i) {
      *message.add_particles() = std::move(particles_.front());
      particles_.pop_front();
    }
    unsent_ = false;
    return message;
  }

  void Clear() {
    particles_.clear();
    unsent_ = false;
  }

 private:
  v1::SearchProgress newest_;  // without particles
  bool unsent_ = false;
  std::deque<v1::SearchParticle> particles_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LOCALIZATION_PROGRESS_OUTBOX_H_
