// SPDX-License-Identifier: Apache-2.0
//
// LiveConfig: the current configuration, which a reload replaces as a whole. Use one snapshot for
// values that must be consistent. Thread-safe.

#ifndef VOXLOC_SERVER_CONFIG_LIVE_CONFIG_H_
#define VOXLOC_SERVER_CONFIG_LIVE_CONFIG_H_

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/config/settings.h"

namespace voxloc::server {

class LiveConfig {
 public:
  explicit LiveConfig(EffectiveConfig config)
      : config_(std::make_shared<const EffectiveConfig>(std::move(config))) {}

  // Immutable; stays as it is for as long as it is held.
  [[nodiscard]] std::shared_ptr<const EffectiveConfig> Snapshot() const {
    const absl::ReaderMutexLock lock(&mutex_);
    return config_;
  }
  // Of a snapshot. Never null.
  [[nodiscard]] std::shared_ptr<const Config> Get() const {
    const std::shared_ptr<const EffectiveConfig> snapshot = Snapshot();
    return {snapshot, &snapshot->config};
  }
  [[nodiscard]] std::shared_ptr<const Limits> limits() const {
    const std::shared_ptr<const EffectiveConfig> snapshot = Snapshot();
    return {snapshot, &snapshot->config.limits};
  }

  void Set(EffectiveConfig config) {
    auto next = std::make_shared<const EffectiveConfig>(std::move(config));
    const absl::MutexLock lock(&mutex_);
    config_.swap(next);
  }

 private:
  mutable absl::Mutex mutex_;
  std::shared_ptr<const EffectiveConfig> config_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONFIG_LIVE_CONFIG_H_
