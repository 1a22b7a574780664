// SPDX-License-Identifier: Apache-2.0

#include "server/session/session_registry.h"

#include "absl/strings/str_cat.h"
#include "server/errors/error_details.h"

namespace voxloc::server {
namespace {

// Sessions come and go with vehicles, not with scans.
constexpr double kFullRetryAfterS = 10.0;

}  // namespace

absl::Status DrainingError() {
  return WithRetryAfter(
      WithReason(absl::UnavailableError("the server is draining; connect to another one"),
                 "DRAINING"),
      kReconnectAfterDrainS);
}

absl::StatusOr<std::shared_ptr<SessionSlot>> SessionRegistry::Open(
    std::weak_ptr<RegisteredSession> session) {
  const absl::MutexLock lock(&mutex_);
  if (lifecycle_.draining()) {
    metrics_.rejected_sessions.Increment();
    return DrainingError();
  }
  if (sessions_.size() >= max_sessions_) {
    metrics_.rejected_sessions.Increment();
    return WithRetryAfter(
        WithReason(absl::ResourceExhaustedError(absl::StrCat("the server has ", sessions_.size(),
                                                             " sessions open, its limit")),
                   "TOO_MANY_SESSIONS", {{"limit", absl::StrCat(max_sessions_)}}),
        kFullRetryAfterS);
  }
  sessions_.emplace(++last_, std::move(session));
  metrics_.sessions_active.Set(static_cast<double>(sessions_.size()));
  return std::shared_ptr<SessionSlot>(new uint64_t(last_), [this](SessionSlot* number) {
    const absl::MutexLock close_lock(&mutex_);
    sessions_.erase(*number);
    metrics_.sessions_active.Set(static_cast<double>(sessions_.size()));
    delete number;
  });
}

std::vector<uint64_t> SessionRegistry::Numbers() const {
  const absl::MutexLock lock(&mutex_);
  std::vector<uint64_t> numbers;
  numbers.reserve(sessions_.size());
  for (const auto& [number, session] : sessions_) numbers.push_back(number);
  return numbers;
}

bool SessionRegistry::Notify(uint64_t session, const DrainNotice& notice) {
  std::shared_ptr<RegisteredSession> notified;
  {
    const absl::MutexLock lock(&mutex_);
    const auto it = sessions_.find(session);
    if (it != sessions_.end()) notified = it->second.lock();
  }
  if (notified == nullptr) return false;
  notified->OnDraining(notice);
  return true;
}

std::vector<std::pair<uint64_t, v1::SessionInfo>> SessionRegistry::List(
    uint64_t after, const std::function<bool(const std::string& map)>& wanted, size_t count) const {
  std::vector<std::pair<uint64_t, std::shared_ptr<RegisteredSession>>> sessions;
  {
    const absl::MutexLock lock(&mutex_);
    for (auto it = sessions_.upper_bound(after); it != sessions_.end(); ++it) {
      if (auto alive = it->second.lock()) sessions.emplace_back(it->first, std::move(alive));
    }
  }
  std::vector<std::pair<uint64_t, v1::SessionInfo>> listed;
  for (const auto& [number, session] : sessions) {
    if (listed.size() == count) break;
    v1::SessionInfo info = session->Info();
    if (wanted(info.map())) listed.emplace_back(number, std::move(info));
  }
  return listed;
}

}  // namespace voxloc::server
