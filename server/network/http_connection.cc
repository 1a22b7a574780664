// SPDX-License-Identifier: Apache-2.0

#include "server/network/http_connection.h"

#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace voxloc::server {
namespace {

// Smaller bodies fit a packet as they are.
constexpr size_t kMinCompressedBytes = 1400;
// The largest window of deflate, and zlib's flag for gzip's header (zlib.h, deflateInit2).
constexpr int kWindowBits = 15 + 16;
// zlib's default.
constexpr int kMemoryLevel = 8;

const char* ReasonPhrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Service Unavailable";
  }
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
    if (absl::EqualsIgnoreCase(lines[i].substr(0, colon), "Accept-Encoding")) {
      request.accepts_gzip = AcceptsGzip(lines[i].substr(colon + 1));
    }
  }
  return request;
}

std::string Serialize(const HttpResponse& response, const HttpRequest& request) {
  std::optional<std::string> compressed;
  if (request.accepts_gzip && response.body.size() >= kMinCompressedBytes) {
    compressed = Gzip(response.body);
  }
  const std::string& body = compressed.has_value() ? *compressed : response.body;
  return absl::StrCat("HTTP/1.1 ", response.status, " ", ReasonPhrase(response.status), "\r\n",
                      response.status == 405 ? "Allow: GET, HEAD\r\n" : "",
                      "Content-Type: ", response.content_type, "\r\n",
                      compressed.has_value() ? "Content-Encoding: gzip\r\n" : "",
                      "Content-Length: ", body.size(),
                      "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                      "Connection: close\r\n\r\n",
                      request.method == "HEAD" ? "" : body);
}

namespace {

// Of request line and headers. Prometheus sends about 300.
constexpr size_t kMaxRequestBytes = 4096;

constexpr char kEmptyLine[] = "\r\n\r\n";

bool IsRetryable(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

pollfd HttpConnection::PollEvents() const {
  switch (state_) {
    case State::kReading:
    case State::kLingering:
      return {fd_, POLLIN, 0};
    case State::kWriting:
      return {fd_, POLLOUT, 0};
    default:
      return {-1, 0, 0};  // poll passes it over
  }
}

void HttpConnection::Read() {
  std::array<char, kMaxRequestBytes> buffer;
  const ssize_t got = recv(fd_, buffer.data(), buffer.size(), 0);
  if (got < 0 && IsRetryable(errno)) return;
  if (got <= 0) {
    Close();
    return;
  }
  if (state_ != State::kReading) return;  // further input is ignored
  in_.append(buffer.data(), static_cast<size_t>(got));
  if (const size_t end = in_.find(kEmptyLine); end != std::string::npos && end < kMaxRequestBytes) {
    in_.resize(end);
    state_ = State::kAnswering;
  } else if (in_.size() >= kMaxRequestBytes) {
    Answer(Serialize({431, "the request is too large\n"}, HttpRequest()));
  }
}

void HttpConnection::Answer(std::string text) {
  out_ = std::move(text);
  state_ = State::kWriting;
  Write();
}

void HttpConnection::Write() {
  while (sent_ < out_.size()) {
    const ssize_t taken = send(fd_, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    if (taken < 0 && IsRetryable(errno)) return;
    if (taken < 0) {  // the client has gone
      Close();
      return;
    }
    sent_ += static_cast<size_t>(taken);
  }
  // Closing a socket with unread data resets the connection, and the response could be lost.
  shutdown(fd_, SHUT_WR);
  state_ = State::kLingering;
}

void HttpConnection::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  state_ = State::kClosed;
}

}  // namespace voxloc::server
