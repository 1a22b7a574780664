// SPDX-License-Identifier: Apache-2.0
//
// Streams of server-sent events by HttpListener.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/http/http_listener.h"
#include "tests/core/http/raw_http.h"
#include "tests/support/eventually.h"

namespace voxloc {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class HttpStreamTest : public ::testing::Test {
 protected:
  void SetUp() override { Start(HttpLimits()); }

  void Start(const HttpLimits& limits) {
    HttpPages pages;
    pages.quick = [](const HttpRequest& request) -> std::optional<HttpResponse> {
      HttpResponse response;
      response.body = absl::StrCat(request.host, "\n");
      if (request.path != "/events") return response;
      response.content_type = "text/event-stream";
      response.headers = "X-More: 1\r\n";
      response.streams_events = true;
      return response;
    };
    auto listener = HttpListener::Start("127.0.0.1:0", std::move(pages), limits);
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
  }

  // A stream whose header has been read.
  std::unique_ptr<RawConnection> Open(const std::string& headers = "") const {
    auto stream = std::make_unique<RawConnection>(listener_->port());
    stream->Send(absl::StrCat("GET /events HTTP/1.1\r\nHost: x\r\n", headers, "\r\n"));
    head_ = stream->ReadThrough("\r\n\r\n");
    return stream;
  }

  mutable std::string head_;
  std::unique_ptr<HttpListener> listener_;
};

TEST_F(HttpStreamTest, EventsAreFramedAndTheHeaderHasNoLength) {
  const auto stream = Open("Accept-Encoding: gzip\r\n");
  EXPECT_THAT(head_, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"));
  EXPECT_THAT(head_, HasSubstr("\r\nX-More: 1\r\n"));
  EXPECT_THAT(head_, HasSubstr("\r\nCache-Control: no-store\r\n"));
  EXPECT_THAT(head_, Not(HasSubstr("Content-Length")));
  EXPECT_THAT(head_, Not(HasSubstr("Content-Encoding")));
  listener_->Publish("fleet", "{\"a\":1}");
  EXPECT_EQ(stream->ReadThrough("\n\n"), "event: fleet\ndata: {\"a\":1}\n\n");
  listener_->Publish("tiles", "[]");
  EXPECT_EQ(stream->ReadThrough("\n\n"), "event: tiles\ndata: []\n\n");
}

TEST_F(HttpStreamTest, ALaterStreamBeginsWithTheNewestOfEachNameInOrder) {
  listener_->Publish("tiles", "1");
  listener_->Publish("fleet", "2");
  listener_->Publish("tiles", "3");
  // What a browser sends when it comes back.
  const auto stream = Open("Last-Event-ID: 99999999999999999999\r\n");
  EXPECT_EQ(stream->ReadThrough("data: 3\n\n"),
            "event: fleet\ndata: 2\n\nevent: tiles\ndata: 3\n\n");
}

TEST_F(HttpStreamTest, ASlowReaderGetsTheNewestEventAndNoBacklog) {
  const auto slow = Open();
  const auto other = Open();
  constexpr int kEvents = 60;
  const std::string filling(1'000'000, 'a');  // more in all than sockets hold
  for (int i = 1; i <= kEvents; ++i) {
    listener_->Publish("fleet", absl::StrCat(filling, " ", i));
    EXPECT_THAT(other->ReadThrough(absl::StrCat(" ", i, "\n\n")), StartsWith("event: fleet\n"));
  }
  const std::string text = slow->ReadThrough(absl::StrCat(" ", kEvents, "\n\n"));
  EXPECT_THAT(text, EndsWith(absl::StrCat(" ", kEvents, "\n\n")));
  EXPECT_LT(text.size(), kEvents * filling.size() / 2);
}

TEST_F(HttpStreamTest, AReaderThatTakesNothingIsClosed) {
  HttpLimits limits;
  limits.max_streams = 1;
  limits.answer_timeout = std::chrono::milliseconds(100);
  Start(limits);
  const auto slow = Open();
  listener_->Publish("fleet", std::string(30'000'000, 'a'));
  // Its place is free again.
  EXPECT_TRUE(Eventually([this] {
    const auto next = Open();
    return absl::StartsWith(head_, "HTTP/1.1 200");
  }));
}

TEST_F(HttpStreamTest, RefusesMoreStreamsThanItsLimitAndStillAnswers) {
  HttpLimits limits;
  limits.max_streams = 2;
  Start(limits);
  auto first = Open();
  const auto second = Open();
  Open();
  EXPECT_THAT(head_, StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_THAT(Exchange(listener_->port(), "GET / HTTP/1.1\r\nHost: me:1\r\n\r\n"),
              EndsWith("me:1\n"));
  first.reset();
  EXPECT_TRUE(Eventually([this] {
    const auto next = Open();
    return absl::StartsWith(head_, "HTTP/1.1 200");
  }));
}

TEST_F(HttpStreamTest, ASilentStreamGetsHeartbeats) {
  HttpLimits limits;
  limits.heartbeat = std::chrono::milliseconds(1);
  Start(limits);
  const auto stream = Open();
  EXPECT_EQ(stream->ReadThrough(":\n\n:\n\n"), ":\n\n:\n\n");
  listener_->Publish("fleet", "1");
  EXPECT_THAT(stream->ReadThrough("data: 1\n\n"), EndsWith("event: fleet\ndata: 1\n\n"));
}

TEST_F(HttpStreamTest, HeadAndOtherMethodsOpenNoStream) {
  EXPECT_THAT(Exchange(listener_->port(), "HEAD /events HTTP/1.1\r\nHost: x\r\n\r\n"),
              EndsWith("\r\n\r\n"));
  EXPECT_THAT(Exchange(listener_->port(), "POST /events HTTP/1.1\r\nHost: x\r\n\r\n"),
              StartsWith("HTTP/1.1 405"));
}

TEST_F(HttpStreamTest, StreamsEndWithTheListener) {
  const auto stream = Open();
  listener_->Publish("fleet", "1");
  EXPECT_EQ(stream->ReadThrough("\n\n"), "event: fleet\ndata: 1\n\n");
  listener_.reset();
  EXPECT_EQ(stream->ReadAll(), "");
}

}  // namespace
}  // namespace voxloc
