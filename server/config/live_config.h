// SPDX-License-Identifier: Apache-2.0
//
// LiveConfig: the configuration in effect, which a reload replaces as a whole. Who needs several
// values of one configuration takes one snapshot. Thread-safe.

#ifndef VOXLOC_SERVER_CONFIG_LIVE_CONFIG_H_
#define VOXLOC_SERVER_CONFIG_LIVE_CONFIG_H_

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/config/config_place.h"

namespace voxloc::server {

class LiveConfig {
 public:
  explicit LiveConfig(ConfigInEffect config)
      : config_(std::make_shared<const ConfigInEffect>(std::move(config))) {}

  // Immutable; stays as it is for as long as it is held.
  [[nodiscard]] std::shared_ptr<const ConfigInEffect> Snapshot() const {
    const absl::ReaderMutexLock lock(&mutex_);
    return config_;
  }
  // Of a snapshot. Never null.
  [[nodiscard]] std::shared_ptr<const Config> Get() const {
    const std::shared_ptr<const ConfigInEffect> snapshot = Snapshot();
    return {snapshot, &snapshot->config};
  }
  [[nodiscard]] std::shared_ptr<const Limits> limits() const {
    const std::shared_ptr<const ConfigInEffect> snapshot = Snapshot();
    return {snapshot, &snapshot->config.limits};
  }

  void Set(ConfigInEffect config) {
    auto next = std::make_shared<const ConfigInEffect>(std::move(config));
    const absl::MutexLock lock(&mutex_);
    config_.swap(next);
  }

 private:
  mutable absl::Mutex mutex_;
  std::shared_ptr<const ConfigInEffect> config_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONFIG_LIVE_CONFIG_H_
