// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/postgres_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "core/status/try.h"
#include "server/maps/store/sql_database.h"

namespace voxloc::server {

PostgresWatch::PostgresWatch(PostgresOptions options, std::function<void()> reachable)
    : options_(std::move(options)),
      on_reachable_(std::move(reachable)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

PostgresWatch::~PostgresWatch() {
  if (wake_ >= 0) ::close(wake_);
}

absl::StatusOr<StoreChange> PostgresWatch::Next(absl::Duration timeout) {
  // Changes during a lost connection were not announced here, so a new one polls immediately.
  const absl::Status ready = database_ == nullptr ? Connect() : Await(timeout);
  absl::Status status = ready.ok() ? Poll() : ready;
  if (status.ok()) return change_;
  database_.reset();
  return status;
}

void PostgresWatch::Wake() {
  const uint64_t one = 1;
  // Full or not there: the wait ends with its time then.
  static_cast<void>(!::write(wake_, &one, sizeof(one)));
}

absl::Status PostgresWatch::Connect() {
  VOXLOC_ASSIGN_OR_RETURN(auto database, PostgresDatabase::Connect(options_));
  VOXLOC_ASSIGN_OR_RETURN(const auto before, ReadState(*database));
  VOXLOC_TRY(database->Execute("LISTEN voxloc_maps"));
  database_ = std::move(database);
  announced_ = before.generation;
  polled_generation_ = std::nullopt;
  on_reachable_();
  return absl::OkStatus();
}

absl::Status PostgresWatch::Await(absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  for (;;) {
    VOXLOC_ASSIGN_OR_RETURN(texts_, database_->DrainNotifications());
    if (!texts_.empty()) return absl::OkStatus();
    const int64_t left_ms = std::min<int64_t>(
        std::max<int64_t>(absl::ToInt64Milliseconds(deadline - absl::Now()), 0), 60'000);
    std::array<pollfd, 2> waited = {{{database_->socket(), POLLIN, 0}, {wake_, POLLIN, 0}}};
    const int ready = ::poll(waited.data(), waited.size(), static_cast<int>(left_ms));
    if (ready < 0 && errno != EINTR) return absl::InternalError("poll failed");
    if (ready == 0 && absl::Now() >= deadline) return absl::OkStatus();
    if ((waited[1].revents & POLLIN) != 0) {
      uint64_t count = 0;
      static_cast<void>(!::read(wake_, &count, sizeof(count)));
      return absl::OkStatus();
    }
  }
}

absl::StatusOr<PostgresWatch::State> PostgresWatch::ReadState(PostgresDatabase& database) {
  SqlQuery query(database, "SELECT generation, changed_unix_ns, current_schema() FROM store_state");
  if (query.Next()) return State{query.Int(0), query.Int(1), query.Text(2)};
  if (!query.status().ok()) return query.status();
  return absl::UnavailableError("the database has no tables of voxloc");
}

absl::Status PostgresWatch::Poll() {
  VOXLOC_ASSIGN_OR_RETURN(const auto state, ReadState(*database_));
  const Announcements announcements = ParseNotifications(state.schema);
  if (polled_generation_.has_value() && announcements.in_order &&
      announcements.last <= *polled_generation_) {
    // Outdated notifications. Those of later changes will follow.
    change_.maps = std::vector<std::string>();
  } else if (polled_generation_.has_value() && announcements.in_order &&
             announcements.last <= state.generation &&
             announcements.maps.size() ==
                 static_cast<size_t>(announcements.last - *polled_generation_)) {
    const bool all = announcements.last == state.generation;
    polled_generation_ = announcements.last;
    change_.fingerprint = all ? FingerprintOf(state) : absl::StrCat(announcements.last);
    std::set<std::string> names;
    for (const auto& [generation, map] : announcements.maps) names.insert(map);
    change_.maps = std::vector<std::string>(names.begin(), names.end());
  } else {
    polled_generation_ = state.generation;
    change_.fingerprint = FingerprintOf(state);
    change_.maps = std::nullopt;
  }
  return absl::OkStatus();
}

PostgresWatch::Announcements PostgresWatch::ParseNotifications(absl::string_view schema) {
  Announcements announcements;
  announcements.in_order = !texts_.empty();
  for (const std::string& text : std::exchange(texts_, {})) {
    const std::vector<absl::string_view> words = absl::StrSplit(text, absl::MaxSplits(' ', 2));
    int64_t generation = 0;
    if (words.size() != 3 || words[0] != schema || !absl::SimpleAtoi(words[1], &generation)) {
      announcements.in_order = false;  // of an older program
      continue;
    }
    if (generation <= announced_) announcements.in_order = false;  // a backup was restored
    announced_ = announcements.last = generation;
    if (!polled_generation_.has_value() || generation > *polled_generation_)
      announcements.maps.emplace(generation, words[2]);
  }
  return announcements;
}

std::string PostgresWatch::FingerprintOf(const State& state) {
  return absl::StrCat(state.generation, "/", state.changed_unix_ns);
}

}  // namespace voxloc::server
