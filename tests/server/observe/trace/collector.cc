// SPDX-License-Identifier: Apache-2.0

#include "tests/server/observe/trace/collector.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <regex>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace voxloc::server {
namespace {

using Json = nlohmann::json;

constexpr int kPollMs = 20;

bool CanRead(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  return poll(&waiting, 1, kPollMs) > 0;
}

size_t ContentLength(const std::string& head) {
  const std::string lower = absl::AsciiStrToLower(head);
  const size_t place = lower.find("content-length:");
  size_t length = 0;
  if (place != std::string::npos) length = std::stoul(lower.substr(place + 15));
  return length;
}

bool Matches(const Json& value, const char* pattern) {
  return value.is_string() && std::regex_match(value.get<std::string>(), std::regex(pattern));
}

void CheckAttributes(const Json& attributes) {
  ASSERT_TRUE(attributes.is_array());
  for (const Json& attribute : attributes) {
    EXPECT_TRUE(attribute.at("key").is_string());
    const Json& value = attribute.at("value");
    ASSERT_EQ(value.size(), 1U) << value;
    const std::string kind = value.begin().key();
    const Json& content = value.begin().value();
    EXPECT_TRUE((kind == "intValue" && Matches(content, "-?[0-9]+")) ||  // 64 bits: strings
                (kind == "stringValue" && content.is_string()) ||
                (kind == "boolValue" && content.is_boolean()) ||
                (kind == "doubleValue" && content.is_number()))
        << value;
  }
}

// opentelemetry/proto/trace/v1/trace.proto, in the mapping of protobuf to JSON with OTLP's changes:
// ids are hexadecimal, enumerations numbers, names in lowerCamelCase.
void CheckSpan(const Json& span) {
  const std::set<std::string> known = {
      "traceId",           "spanId",          "parentSpanId", "name",  "kind",
      "startTimeUnixNano", "endTimeUnixNano", "attributes",   "status"};
  for (const auto& field : span.items()) EXPECT_EQ(known.count(field.key()), 1U) << field.key();
  EXPECT_TRUE(Matches(span.at("traceId"), "[0-9a-f]{32}")) << span;
  EXPECT_TRUE(Matches(span.at("spanId"), "[0-9a-f]{16}")) << span;
  if (span.contains("parentSpanId")) {
    EXPECT_TRUE(Matches(span.at("parentSpanId"), "[0-9a-f]{16}")) << span;
  }
  EXPECT_FALSE(span.at("name").get<std::string>().empty());
  EXPECT_TRUE(span.at("kind").is_number_integer());
  EXPECT_TRUE(Matches(span.at("startTimeUnixNano"), "[0-9]+")) << span;
  EXPECT_TRUE(Matches(span.at("endTimeUnixNano"), "[0-9]+")) << span;
  EXPECT_LE(std::stoll(span.at("startTimeUnixNano").get<std::string>()),
            std::stoll(span.at("endTimeUnixNano").get<std::string>()));
  CheckAttributes(span.at("attributes"));
}

}  // namespace

Collector::Collector() : listening_(socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(bind(listening_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(listen(listening_, 8), 0);
  socklen_t size = sizeof(address);
  EXPECT_EQ(getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size), 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Serve(); });
}

Collector::~Collector() {
  stopping_ = true;
  thread_.join();
  close(listening_);
}

std::string Collector::endpoint() const { return absl::StrCat("http://127.0.0.1:", port_); }

void Collector::AnswerWith(std::deque<Answer> answers) {
  const absl::MutexLock lock(&mutex_);
  answers_ = std::move(answers);
}

std::vector<Collector::Request> Collector::requests() const {
  const absl::MutexLock lock(&mutex_);
  return requests_;
}

void Collector::Serve() {
  while (!stopping_) {
    if (!CanRead(listening_)) continue;
    const int connection = accept(listening_, nullptr, nullptr);
    if (connection < 0) continue;
    ServeOne(connection);
    close(connection);
  }
}

void Collector::ServeOne(int connection) {
  std::string text;
  size_t head = std::string::npos;
  while (head == std::string::npos ||
         text.size() < head + 4 + ContentLength(text.substr(0, head))) {
    char buffer[4096];
    while (!stopping_ && !CanRead(connection)) {
    }
    const ssize_t got = stopping_ ? 0 : read(connection, buffer, sizeof(buffer));
    if (got <= 0) return;
    text.append(buffer, static_cast<size_t>(got));
    head = text.find("\r\n\r\n");
  }
  Answer answer;
  {
    const absl::MutexLock lock(&mutex_);
    requests_.push_back({text.substr(0, head), text.substr(head + 4)});
    if (!answers_.empty()) {
      answer = answers_.front();
      answers_.pop_front();
    }
  }
  while (answer.hangs && !stopping_) {
    char byte = 0;
    if (CanRead(connection) && read(connection, &byte, 1) <= 0) return;  // the client gave up
  }
  const std::string reply = absl::StrCat(
      "HTTP/1.1 ", answer.code, " x\r\nContent-Type: application/json\r\n",
      "Connection: close\r\nContent-Length: ", answer.body.size(), "\r\n\r\n", answer.body);
  static_cast<void>(send(connection, reply.data(), reply.size(), MSG_NOSIGNAL));
}

std::vector<Json> SpansOf(const std::vector<Collector::Request>& requests) {
  std::vector<Json> spans;
  for (const Collector::Request& request : requests) {
    EXPECT_EQ(request.head.rfind("POST /v1/traces HTTP/1.1\r\n", 0), 0U) << request.head;
    EXPECT_NE(request.head.find("Content-Type: application/json"), std::string::npos);
    const Json json = Json::parse(request.body);
    EXPECT_EQ(json.size(), 1U);
    for (const Json& resource : json.at("resourceSpans")) {
      CheckAttributes(resource.at("resource").at("attributes"));
      EXPECT_EQ(AttributeOf(resource.at("resource"), "service.name"),
                Json({{"stringValue", "voxlocd"}}));
      for (const Json& scope : resource.at("scopeSpans")) {
        EXPECT_EQ(scope.at("scope").at("name"), "voxlocd");
        for (const Json& span : scope.at("spans")) {
          CheckSpan(span);
          spans.push_back(span);
        }
      }
    }
  }
  return spans;
}

Json AttributeOf(const Json& span, const std::string& key) {
  for (const Json& attribute : span.at("attributes")) {
    if (attribute.at("key") == key) return attribute.at("value");
  }
  return nullptr;
}

}  // namespace voxloc::server
