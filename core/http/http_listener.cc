// SPDX-License-Identifier: Apache-2.0

#include "core/http/http_listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/parallel/this_thread.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

// The request line and the headers. Prometheus sends about 300.
constexpr size_t kMaxRequestBytes = 4096;

constexpr char kEmptyLine[] = "\r\n\r\n";

bool IsRetryable(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

// Smaller bodies fit a packet as they are.
constexpr size_t kMinCompressedBytes = 1400;
// The largest window of deflate, and zlib's flag for gzip's header (zlib.h, deflateInit2).
constexpr int kWindowBits = 15 + 16;
// zlib's default.
constexpr int kMemoryLevel = 8;

const char* ReasonPhrase(int status) {
  constexpr std::pair<int, const char*> kPhrases[] = {
      {200, "OK"},        {400, "Bad Request"},        {403, "Forbidden"},
      {404, "Not Found"}, {405, "Method Not Allowed"}, {431, "Request Header Fields Too Large"}};
  for (const auto& [known, phrase] : kPhrases) {
    if (known == status) return phrase;
  }
  return "Service Unavailable";
}

// nullopt: it does not begin with "/", or "%" is not followed by two digits of a byte over 0.
std::optional<std::string> PathOf(absl::string_view target) {
  target = target.substr(0, target.find('?'));
  if (!absl::StartsWith(target, "/")) return std::nullopt;
  std::string path;
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] != '%') {
      path += target[i];
      continue;
    }
    uint32_t byte = 0;
    const absl::string_view digits = target.substr(i + 1, 2);
    if (digits.size() != 2 || !absl::ascii_isxdigit(static_cast<unsigned char>(digits[0])) ||
        !absl::SimpleHexAtoi(digits, &byte) || byte == 0) {
      return std::nullopt;
    }
    path += static_cast<char>(byte);
    i += 2;
  }
  return path;
}

// The request line and the headers, up to the empty line and without it. nullopt: they are none.
std::optional<HttpRequest> ParseHttpRequest(absl::string_view head) {
  const std::vector<absl::string_view> lines = absl::StrSplit(head, "\r\n");
  const std::vector<absl::string_view> parts = absl::StrSplit(lines[0], ' ');
  if (parts.size() != 3 || parts[0].empty() || (parts[2] != "HTTP/1.1" && parts[2] != "HTTP/1.0")) {
    return std::nullopt;
  }
  auto path = PathOf(parts[1]);
  if (!path.has_value()) return std::nullopt;
  HttpRequest request;
  request.method = std::string(parts[0]);
  request.path = *std::move(path);
  for (size_t i = 1; i < lines.size(); ++i) {
    const size_t colon = lines[i].find(':');
    if (colon == absl::string_view::npos || colon == 0) return std::nullopt;
    const absl::string_view name = lines[i].substr(0, colon);
    const absl::string_view value = absl::StripAsciiWhitespace(lines[i].substr(colon + 1));
    if (absl::EqualsIgnoreCase(name, "Accept-Encoding")) request.accepts_gzip = AcceptsGzip(value);
    if (absl::EqualsIgnoreCase(name, "Host")) request.host = std::string(value);
  }
  return request;
}

// What the kernel takes of a stream beyond what has been sent: it would be old before it arrives.
constexpr int kMaxUnsentBytes = 128 * 1024;

// What is sent first, or at all. Large bodies are compressed for those who accept it.
std::string Serialize(const HttpResponse& response, const HttpRequest& request) {
  std::optional<std::string> compressed;
  if (request.accepts_gzip && response.body.size() >= kMinCompressedBytes) {
    compressed = Gzip(response.body);
  }
  const std::string& body = compressed.has_value() ? *compressed : response.body;
  const std::string length = absl::StrCat("Content-Length: ", body.size(), "\r\n");
  return absl::StrCat("HTTP/1.1 ", response.status, " ", ReasonPhrase(response.status), "\r\n",
                      response.status == 405 ? "Allow: GET, HEAD\r\n" : "",
                      "Content-Type: ", response.content_type, "\r\n",
                      compressed.has_value() ? "Content-Encoding: gzip\r\n" : "",
                      response.streams_events ? "" : length, response.headers,
                      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                      "Connection: close\r\n\r\n",
                      request.method == "HEAD" ? "" : body);
}

}  // namespace

std::optional<std::string> Gzip(absl::string_view text) {
  z_stream stream{};
  // The fastest level: what is compressed goes to a neighbour.
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kWindowBits, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return std::nullopt;
  }
  std::string compressed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  const int done = deflate(&stream, Z_FINISH);
  compressed.resize(stream.total_out);
  deflateEnd(&stream);
  if (done != Z_STREAM_END) return std::nullopt;
  return compressed;
}

bool AcceptsGzip(absl::string_view accept_encoding) {
  bool any = false;
  for (const absl::string_view offer : absl::StrSplit(accept_encoding, ',')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(offer, absl::MaxSplits(';', 1));
    absl::string_view weight = absl::StripAsciiWhitespace(parts.second);
    double quality = 1.0;
    if (absl::ConsumePrefix(&weight, "q=") && !absl::SimpleAtod(weight, &quality)) quality = 0.0;
    const absl::string_view coding = absl::StripAsciiWhitespace(parts.first);
    if (absl::EqualsIgnoreCase(coding, "gzip")) return quality > 0.0;
    if (coding == "*") any = quality > 0.0;
  }
  return any;
}

// One request and its response over a socket that does not block. Each step does as much as the
// socket allows now.
struct HttpListener::Connection {
  // In the order in which connections are evicted for new ones.
  enum class State {
    kLingering,  // the response is sent; waits for the client to close
    kReading,    // the request is incomplete
    kWriting,    // the response is being sent
    kAnswering,  // the response is being made
    kStreaming,  // events are sent until the client closes
    kClosed,
  };

  Connection(int socket, Clock::time_point request_deadline)
      : fd(socket), deadline(request_deadline) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { Close(); }

  // What poll is to wait for.
  pollfd PollEvents() const {
    if (state == State::kReading || state == State::kLingering) return {fd, POLLIN, 0};
    if (state == State::kStreaming) {
      return {fd, static_cast<int16_t>(out.empty() ? POLLIN : POLLIN | POLLOUT), 0};
    }
    return {state == State::kWriting ? fd : -1, POLLOUT, 0};  // poll passes -1 over
  }

  // The socket is readable, or the client has gone. Afterwards kAnswering with a whole request, or
  // kWriting the error for one that is too large.
  void Read() {
    std::array<char, kMaxRequestBytes> buffer;
    const ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
    if (got < 0 && IsRetryable(errno)) return;
    if (got <= 0) {
      Close();
      return;
    }
    if (state != State::kReading) return;  // further input is ignored
    in.append(buffer.data(), static_cast<size_t>(got));
    if (const size_t end = in.find(kEmptyLine);
        end != std::string::npos && end < kMaxRequestBytes) {
      in.resize(end);
      state = State::kAnswering;
    } else if (in.size() >= kMaxRequestBytes) {
      Answer(Serialize({431, "the request is too large\n"}, HttpRequest()));
    }
  }

  // Sends this, after which the connection is kLingering.
  void Answer(std::string text) {
    state = State::kWriting;
    Send(std::move(text));
  }

  // Sends this, after which events follow.
  void BeginStream(std::string head) {
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kMaxUnsentBytes, sizeof(kMaxUnsentBytes));
    state = State::kStreaming;
    Send(std::move(head));
  }

  void Send(std::string text) {
    out = std::move(text);
    Write();
  }

  // The socket is writable.
  void Write() {
    while (sent < out.size()) {
      const ssize_t taken = send(fd, out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
      if (taken < 0 && IsRetryable(errno)) return;
      if (taken < 0) {  // the client has gone
        Close();
        return;
      }
      sent += static_cast<size_t>(taken);
    }
    out.clear();
    sent = 0;
    if (state == State::kStreaming) return;
    // Closing a socket with unread data resets the connection, and the response could be lost.
    shutdown(fd, SHUT_WR);
    state = State::kLingering;
  }

  void Close() {
    if (fd >= 0) close(fd);
    fd = -1;
    state = State::kClosed;
  }

  int fd;
  // By which the request must have come, the answer or event been taken, or a heartbeat been sent.
  Clock::time_point deadline;
  State state = State::kReading;
  std::string in;  // while it is kAnswering: the request line and the headers
  std::string out;
  size_t sent = 0;          // of `out`
  uint64_t last_event = 0;  // of a stream: the number of the event that was sent last
};

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

void HttpListener::Publish(const std::string& name, absl::string_view data) {
  auto text =
      std::make_shared<const std::string>(absl::StrCat("event: ", name, "\ndata: ", data, "\n\n"));
  const absl::MutexLock lock(&mutex_);
  published_[name] = {++last_event_, std::move(text)};
  eventfd_write(wake_fd_, 1);
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
    if (awaited[0].revents != 0) HandleWake();
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto found = connections_.find(numbers[i]);
      if (awaited[i + 1].revents != 0) Step(found->first, *found->second);
      if (Clock::now() >= found->second->deadline) HandleDeadline(*found->second);
      if (found->second->state == Connection::State::kClosed) Drop(found);
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
    next = std::min(next, connection->deadline);
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
    connections_.emplace(++last_number_,
                         std::make_unique<Connection>(fd, Clock::now() + limits_.request_timeout));
  }
}

// Drops the oldest connection of the lowest state.
void HttpListener::EvictConnection() {
  const auto least = std::min_element(
      connections_.begin(), connections_.end(),
      [](const auto& one, const auto& other) { return one.second->state < other.second->state; });
  if (least != connections_.end()) Drop(least);
}

void HttpListener::Step(uint64_t number, Connection& connection) {
  if (connection.state == Connection::State::kStreaming) {
    connection.Write();
    SendNextEvent(connection);
    if (connection.state == Connection::State::kStreaming) connection.Read();
  } else if (connection.state == Connection::State::kWriting) {
    connection.Write();
  } else {
    const bool reading = connection.state == Connection::State::kReading;
    connection.Read();
    if (reading && connection.state != Connection::State::kReading) {
      connection.deadline = Clock::now() + limits_.answer_timeout;
    }
    if (connection.state == Connection::State::kAnswering) Answer(number, connection);
  }
}

void HttpListener::Answer(uint64_t number, Connection& connection) {
  std::optional<HttpRequest> request = ParseHttpRequest(connection.in);
  if (!request.has_value()) {
    connection.Answer(Serialize({400, "this is not a request of HTTP/1.1\n"}, HttpRequest()));
    return;
  }
  if (request->method != "GET" && request->method != "HEAD") {
    connection.Answer(Serialize({405, "only GET and HEAD are served here\n"}, *request));
    return;
  }
  if (auto response = pages_.quick(*request); response.has_value()) {
    Reply(connection, *request, *std::move(response));
    return;
  }
  const absl::MutexLock lock(&mutex_);
  slow_requests_.push_back({number, *std::move(request)});
}

void HttpListener::Reply(Connection& connection, const HttpRequest& request,
                         HttpResponse response) {
  if (!response.streams_events || request.method != "GET") {
    connection.Answer(Serialize(response, request));
    return;
  }
  const auto streams = std::count_if(
      connections_.begin(), connections_.end(),
      [](const auto& entry) { return entry.second->state == Connection::State::kStreaming; });
  if (static_cast<size_t>(streams) >= limits_.max_streams) {
    connection.Answer(Serialize({503, "too many streams are open\n"}, request));
    return;
  }
  response.body.clear();
  connection.BeginStream(Serialize(response, request));
  SendNextEvent(connection);
}

void HttpListener::SendNextEvent(Connection& connection) const {
  while (connection.state == Connection::State::kStreaming && connection.out.empty()) {
    const Event* next = nullptr;
    for (const auto& entry : events_) {
      const Event& event = entry.second;
      if (event.number <= connection.last_event) continue;
      if (next == nullptr || event.number < next->number) next = &event;
    }
    connection.deadline =
        Clock::now() + (next == nullptr ? limits_.heartbeat : limits_.answer_timeout);
    if (next == nullptr) return;
    connection.last_event = next->number;
    connection.Send(*next->text);
  }
}

void HttpListener::HandleDeadline(Connection& connection) const {
  if (connection.state == Connection::State::kStreaming && connection.out.empty()) {
    connection.deadline = Clock::now() + limits_.answer_timeout;
    connection.Send(":\n\n");
    SendNextEvent(connection);
  } else {
    connection.Close();
  }
}

void HttpListener::HandleWake() {
  eventfd_t count = 0;
  eventfd_read(wake_fd_, &count);
  std::vector<std::pair<uint64_t, std::string>> answers;
  {
    const absl::MutexLock lock(&mutex_);
    answers.swap(slow_answers_);
    events_ = published_;
  }
  for (const auto& entry : connections_) SendNextEvent(*entry.second);
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
    std::string text = Serialize(pages_.slow(next.request), next.request);
    const absl::MutexLock lock(&mutex_);
    slow_answers_.emplace_back(next.connection, std::move(text));
    eventfd_write(wake_fd_, 1);
  }
}

}  // namespace voxloc
