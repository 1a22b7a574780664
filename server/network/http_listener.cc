// SPDX-License-Identifier: Apache-2.0

#include "server/network/http_listener.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/status/try.h"
#include "server/scheduling/this_thread.h"

namespace voxloc::server {
absl::StatusOr<std::unique_ptr<HttpListener>> HttpListener::Start(const std::string& address,
                                                                  HttpPages pages,
                                                                  const HttpLimits& limits) {
  VOXLOC_ASSIGN_OR_RETURN(auto sockets, ListeningSockets::Bind(address));
  const int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("no descriptor is left to serve ", address));
  }
  return absl::WrapUnique(new HttpListener(std::move(sockets), std::move(pages), limits, wake_fd));
}

HttpListener::HttpListener(ListeningSockets sockets, HttpPages pages, const HttpLimits& limits,
                           int wake_fd)
    : sockets_(std::move(sockets)), pages_(std::move(pages)), limits_(limits), wake_fd_(wake_fd) {
  slow_thread_ = std::thread([this] { MakeSlowPages(); });
  thread_ = std::thread([this] { Run(); });
}

HttpListener::~HttpListener() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  eventfd_write(wake_fd_, 1);
  thread_.join();
  slow_thread_.join();
  close(wake_fd_);
}

void HttpListener::Run() {
  SetThreadName("http");
  std::vector<pollfd> awaited;
  std::vector<uint64_t> numbers;
  while (true) {
    awaited = {{wake_fd_, POLLIN, 0}};
    numbers.clear();
    for (const auto& [number, connection] : connections_) {
      awaited.push_back(connection->PollEvents());
      numbers.push_back(number);
    }
    const size_t first_listener = awaited.size();
    const Clock::time_point now = Clock::now();
    if (now >= accept_at_) {
      for (const int listener : sockets_.fds()) awaited.push_back({listener, POLLIN, 0});
    }
    // Rounded up, so that the deadline has passed then.
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(NextDeadline(now) - now);
    static_cast<void>(
        poll(awaited.data(), awaited.size(), static_cast<int>(std::max<int64_t>(wait.count(), 0))));
    {
      const absl::MutexLock lock(&mutex_);
      if (stopping_) return;
    }
    if (awaited[0].revents != 0) SendSlowAnswers();
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto found = connections_.find(numbers[i]);
      if (awaited[i + 1].revents != 0) Step(found->first, *found->second);
      if (Clock::now() >= found->second->deadline()) found->second->Close();
      if (found->second->state() == HttpConnection::State::kClosed) Drop(found);
    }
    for (size_t i = first_listener; i < awaited.size(); ++i) {
      if (awaited[i].revents != 0) Accept(awaited[i].fd);
    }
  }
}

HttpListener::Clock::time_point HttpListener::NextDeadline(Clock::time_point now) const {
  // The longest wait of one poll.
  Clock::time_point next = now + std::chrono::hours(1);
  if (now < accept_at_) next = accept_at_;
  for (const auto& [number, connection] : connections_) {
    next = std::min(next, connection->deadline());
  }
  return next;
}

void HttpListener::Accept(int listener) {
  // Few enough that a new connection is served before later ones can evict it.
  for (size_t i = 0; i < limits_.max_connections / 4 + 1; ++i) {
    const int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        EvictConnection();
        accept_at_ = Clock::now() + kNoDescriptorPause;
      }
      return;  // any other error is of the connection, which has gone, or there are no more
    }
    if (connections_.size() >= limits_.max_connections) EvictConnection();
    connections_.emplace(++last_number_, std::make_unique<HttpConnection>(
                                             fd, Clock::now() + limits_.request_timeout));
  }
}

// Drops the oldest connection of the lowest state.
void HttpListener::EvictConnection() {
  const auto least = std::min_element(connections_.begin(), connections_.end(),
                                      [](const auto& one, const auto& other) {
                                        return one.second->state() < other.second->state();
                                      });
  if (least != connections_.end()) Drop(least);
}

void HttpListener::Step(uint64_t number, HttpConnection& connection) {
  if (connection.state() == HttpConnection::State::kWriting) {
    connection.Write();
  } else {
    const bool reading = connection.state() == HttpConnection::State::kReading;
    connection.Read();
    if (reading && connection.state() != HttpConnection::State::kReading) {
      connection.set_deadline(Clock::now() + limits_.answer_timeout);
    }
    if (connection.state() == HttpConnection::State::kAnswering) Answer(number, connection);
  }
}

void HttpListener::Answer(uint64_t number, HttpConnection& connection) {
  std::optional<HttpRequest> request = ParseHttpRequest(connection.head());
  if (!request.has_value()) {
    connection.Answer(Serialize({400, "this is not a request of HTTP/1.1\n"}, HttpRequest()));
    return;
  }
  if (request->method != "GET" && request->method != "HEAD") {
    connection.Answer(Serialize({405, "only GET and HEAD are served here\n"}, *request));
    return;
  }
  if (const auto response = pages_.quick(request->path); response.has_value()) {
    connection.Answer(Serialize(*response, *request));
    return;
  }
  const absl::MutexLock lock(&mutex_);
  slow_requests_.push_back({number, *std::move(request)});
}

void HttpListener::SendSlowAnswers() {
  eventfd_t count = 0;
  eventfd_read(wake_fd_, &count);
  std::vector<std::pair<uint64_t, std::string>> answers;
  {
    const absl::MutexLock lock(&mutex_);
    answers.swap(slow_answers_);
  }
  for (auto& [number, text] : answers) {
    const auto found = connections_.find(number);
    if (found != connections_.end()) found->second->Answer(std::move(text));
  }
}

void HttpListener::Drop(Connections::iterator connection) {
  {
    const absl::MutexLock lock(&mutex_);
    slow_requests_.erase(std::remove_if(slow_requests_.begin(), slow_requests_.end(),
                                        [&connection](const SlowRequest& request) {
                                          return request.connection == connection->first;
                                        }),
                         slow_requests_.end());
  }
  connections_.erase(connection);
}

void HttpListener::MakeSlowPages() {
  SetThreadName("http pages");
  while (true) {
    SlowRequest next;
    {
      const absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(
          +[](HttpListener* self) ABSL_EXCLUSIVE_LOCKS_REQUIRED(self->mutex_) {
            return self->stopping_ || !self->slow_requests_.empty();
          },
          this));
      if (stopping_) return;
      next = std::move(slow_requests_.front());
      slow_requests_.pop_front();
    }
    std::string text = Serialize(pages_.slow(next.request.path), next.request);
    const absl::MutexLock lock(&mutex_);
    slow_answers_.emplace_back(next.connection, std::move(text));
    eventfd_write(wake_fd_, 1);
  }
}

}  // namespace voxloc::server
