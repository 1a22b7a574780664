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
      reachable_(std::move(reachable)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

PostgresWatch::~PostgresWatch() {
  if (wake_ >= 0) ::close(wake_);
}

absl::StatusOr<StoreChange> PostgresWatch::Next(absl::Duration at_most) {
  // What has changed while there was no connection was announced to nobody here, so the mark is
  // read at once then.
  const absl::Status ready = database_ == nullptr ? Connect() : Await(at_most);
  absl::Status status = ready.ok() ? Look() : ready;
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
  looked_ = std::nullopt;
  reachable_();
  return absl::OkStatus();
}

absl::Status PostgresWatch::Await(absl::Duration at_most) {
  const absl::Time deadline = absl::Now() + at_most;
  for (;;) {
    VOXLOC_ASSIGN_OR_RETURN(texts_, database_->TakeNotifications());
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
  return absl::UnavailableError("the database has no maps, and no place for them");
}

absl::Status PostgresWatch::Look() {
  VOXLOC_ASSIGN_OR_RETURN(const auto state, ReadState(*database_));
  const Announcements heard = Heard(state.schema);
  if (looked_.has_value() && heard.in_order && heard.last <= *looked_) {
    // Late ones. What is beyond them is announced in a moment.
    change_.maps = std::vector<std::string>();
  } else if (looked_.has_value() && heard.in_order && heard.last <= state.generation &&
             heard.maps.size() == static_cast<size_t>(heard.last - *looked_)) {
    const bool all = heard.last == state.generation;
    looked_ = heard.last;
    change_.mark = all ? MarkOf(state) : absl::StrCat(heard.last);
    std::set<std::string> names;
    for (const auto& [generation, map] : heard.maps) names.insert(map);
    change_.maps = std::vector<std::string>(names.begin(), names.end());
  } else {
    looked_ = state.generation;
    change_.mark = MarkOf(state);
    change_.maps = std::nullopt;
  }
  return absl::OkStatus();
}

PostgresWatch::Announcements PostgresWatch::Heard(absl::string_view schema) {
  Announcements heard;
  heard.in_order = !texts_.empty();
  for (const std::string& text : std::exchange(texts_, {})) {
    const std::vector<absl::string_view> words = absl::StrSplit(text, absl::MaxSplits(' ', 2));
    int64_t generation = 0;
    if (words.size() != 3 || words[0] != schema || !absl::SimpleAtoi(words[1], &generation)) {
      heard.in_order = false;  // of an older program
      continue;
    }
    if (generation <= announced_) heard.in_order = false;  // a backup was restored
    announced_ = heard.last = generation;
    if (!looked_.has_value() || generation > *looked_) heard.maps.emplace(generation, words[2]);
  }
  return heard;
}

std::string PostgresWatch::MarkOf(const State& state) {
  return absl::StrCat(state.generation, "/", state.changed_unix_ns);
}

}  // namespace voxloc::server
