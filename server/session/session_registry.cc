// SPDX-License-Identifier: Apache-2.0

#include "server/session/session_registry.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace voxloc::server {
namespace {

absl::Status Draining() {
  return absl::UnavailableError("the server is draining; connect to another one");
}

}  // namespace

SessionPlace::~SessionPlace() { registry_.Close(number_); }

absl::StatusOr<std::shared_ptr<SessionPlace>> SessionRegistry::Open(
    std::weak_ptr<DrainListener> listener) {
  const absl::MutexLock lock(&mutex_);
  if (draining_) {
    metrics_.rejected_sessions.Increment();
    return Draining();
  }
  if (sessions_.size() >= max_sessions_) {
    metrics_.rejected_sessions.Increment();
    return absl::ResourceExhaustedError(
        absl::StrCat("the server has ", sessions_.size(), " sessions open, its limit"));
  }
  sessions_.emplace(++last_, std::move(listener));
  metrics_.sessions_active.Set(static_cast<double>(sessions_.size()));
  return std::make_shared<SessionPlace>(*this, last_);
}

void SessionRegistry::Close(uint64_t session) {
  const absl::MutexLock lock(&mutex_);
  sessions_.erase(session);
  metrics_.sessions_active.Set(static_cast<double>(sessions_.size()));
}

void SessionRegistry::Drain(const DrainNotice& notice) {
  std::vector<std::shared_ptr<DrainListener>> listeners;
  {
    const absl::MutexLock lock(&mutex_);
    draining_ = true;
    for (const auto& [session, listener] : sessions_) {
      if (auto alive = listener.lock()) listeners.push_back(std::move(alive));
    }
  }
  for (const std::shared_ptr<DrainListener>& listener : listeners) listener->OnDraining(notice);
}

absl::Status SessionRegistry::Admit() const { return draining() ? Draining() : absl::OkStatus(); }

bool SessionRegistry::draining() const {
  const absl::MutexLock lock(&mutex_);
  return draining_;
}

size_t SessionRegistry::open() const {
  const absl::MutexLock lock(&mutex_);
  return sessions_.size();
}

}  // namespace voxloc::server
