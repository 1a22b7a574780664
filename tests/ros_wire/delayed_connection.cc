// SPDX-License-Identifier: Apache-2.0

#include "tests/ros_wire/delayed_connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"

namespace voxloc::ros_wire {
namespace {

// Of an Ethernet frame of 1500 bytes: without the headers of IP and TCP with timestamps.
constexpr size_t kSegmentBytes = 1448;
// What is under way in one direction at most; a sender waits beyond it, as for a full window.
constexpr size_t kMostUnderWay = 8 << 20;

bool SendAll(int socket, const std::string& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += static_cast<size_t>(count);
  }
  return true;
}

}  // namespace

DelayedDirection::DelayedDirection(int from, int to, const SlowLinkOptions& options, uint64_t seed,
                                   std::atomic<uint64_t>* lost)
    : from_(from), to_(to), options_(options), random_(seed), lost_(*lost) {
  reader_ = std::thread([this] { Read(); });
  writer_ = std::thread([this] { Write(); });
}

DelayedDirection::~DelayedDirection() {
  reader_.join();
  writer_.join();
}

// When what is sent now arrives.
absl::Time DelayedDirection::Arrival(size_t bytes) {
  absl::Duration delay = options_.one_way_delay;
  const size_t segments = (bytes + kSegmentBytes - 1) / kSegmentBytes;
  std::binomial_distribution<size_t> losses(segments, options_.segment_loss);
  const size_t lost = losses(random_);
  // Those of one flight are sent again together.
  if (lost > 0) delay += 2 * options_.one_way_delay;
  lost_ += lost;
  return absl::Now() + delay;
}

void DelayedDirection::Read() {
  std::string buffer(64 << 10, '\0');
  while (true) {
    const ssize_t count = recv(from_, buffer.data(), buffer.size(), 0);
    const std::string bytes = count > 0 ? buffer.substr(0, static_cast<size_t>(count)) : "";
    const absl::MutexLock lock(&mutex_);
    const auto has_room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return under_way_ < kMostUnderWay;
    };
    mutex_.Await(absl::Condition(&has_room));
    last_due_ = std::max(last_due_, Arrival(bytes.size()));
    under_way_ += bytes.size();
    pieces_.push_back({last_due_, bytes});
    if (bytes.empty()) return;
  }
}

void DelayedDirection::Write() {
  bool open = true;
  while (true) {
    Piece piece;
    {
      const absl::MutexLock lock(&mutex_);
      const auto has_piece = [this]()
                                 ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !pieces_.empty(); };
      mutex_.Await(absl::Condition(&has_piece));
      piece = std::move(pieces_.front());
      pieces_.pop_front();
    }
    absl::SleepFor(piece.due - absl::Now());
    if (piece.bytes.empty()) break;
    if (open) open = SendAll(to_, piece.bytes);
    const absl::MutexLock lock(&mutex_);
    under_way_ -= piece.bytes.size();
  }
  shutdown(to_, SHUT_WR);
}

DelayedConnection::DelayedConnection(int client, int server, const SlowLinkOptions& options,
                                     uint64_t seed, std::atomic<uint64_t>* lost)
    : client_(client),
      server_(server),
      up_(std::make_unique<DelayedDirection>(client, server, options, 2 * seed, lost)),
      down_(std::make_unique<DelayedDirection>(server, client, options, 2 * seed + 1, lost)) {}

DelayedConnection::~DelayedConnection() {
  shutdown(client_, SHUT_RDWR);
  shutdown(server_, SHUT_RDWR);
  up_.reset();
  down_.reset();
  close(client_);
  close(server_);
}

}  // namespace voxloc::ros_wire
