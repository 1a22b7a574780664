// SPDX-License-Identifier: Apache-2.0

#include "core/http/http_listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/core/http/raw_http.h"
#include "tests/support/gate.h"

namespace voxloc {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class HttpListenerTest : public ::testing::Test {
 protected:
  void SetUp() override { Start(HttpLimits()); }

  void Start(const HttpLimits& limits) {
    HttpPages pages;
    pages.quick = [](const HttpRequest& request) -> std::optional<HttpResponse> {
      const std::string& path = request.path;
      if (path == "/large" || path == "/held") return std::nullopt;
      if (path == "/huge") return HttpResponse{200, std::string(20'000'000, 'a')};
      if (path == "/sick") return HttpResponse{503, "not well\n"};
      if (path == "/well") return HttpResponse{200, "well\n"};
      return HttpResponse{404, absl::StrCat("no ", path, "\n")};
    };
    pages.slow = [this](const HttpRequest& request) {
      if (request.path == "/held") gate_.Pass(1);
      return HttpResponse{200, std::string(100'000, 'a')};
    };
    auto listener = HttpListener::Start("127.0.0.1:0", std::move(pages), limits);
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
  }

  // No time is over while a test runs.
  static HttpLimits Patient(size_t max_connections) {
    HttpLimits limits;
    limits.max_connections = max_connections;
    limits.request_timeout = limits.answer_timeout = std::chrono::hours(1);
    return limits;
  }

  std::string Send(const std::string& bytes) const { return Exchange(listener_->port(), bytes); }
  std::string Get(const std::string& target, const std::string& headers = "") const {
    return Send(absl::StrCat("GET ", target, " HTTP/1.1\r\nHost: x\r\n", headers, "\r\n"));
  }

  Gate gate_;
  std::unique_ptr<HttpListener> listener_;
};

TEST_F(HttpListenerTest, AnswersWithWhatTheHandlerSays) {
  const std::string well = Get("/well?verbose=1");
  EXPECT_THAT(well, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(well, HasSubstr("\r\nContent-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_THAT(well, HasSubstr("\r\nContent-Length: 5\r\n"));
  EXPECT_THAT(well, EndsWith("\r\n\r\nwell\n"));
  EXPECT_THAT(Get("/sick"), StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_THAT(Get("/other"), StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(Get("/we%6Cl"), EndsWith("well\n"));
}

TEST_F(HttpListenerTest, AnswersHeadWithoutTheBody) {
  const std::string head = Send("HEAD /well HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(head, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(head, EndsWith("\r\n\r\n"));
}

TEST_F(HttpListenerTest, RefusesOtherMethods) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"}) {
    const std::string reply =
        Send(absl::StrCat(method, " /well HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"));
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 405 Method Not Allowed\r\n")) << method;
    EXPECT_THAT(reply, HasSubstr("\r\nAllow: GET, HEAD\r\n")) << method;
  }
}

TEST_F(HttpListenerTest, CompressesLargeBodiesForThoseWhoAcceptIt) {
  EXPECT_GT(Get("/large").size(), 100'000u);
  const std::string compressed = Get("/large", "Accept-Encoding: gzip\r\n");
  EXPECT_THAT(compressed, HasSubstr("\r\nContent-Encoding: gzip\r\n"));
  EXPECT_LT(compressed.size(), 10'000u);
  EXPECT_THAT(Get("/well", "Accept-Encoding: gzip\r\n"), EndsWith("well\n"));
}

TEST_F(HttpListenerTest, ServesNoFiles) {
  for (const char* target : {"/", "/etc/passwd", "/../../../../etc/passwd", "/%2e%2e/etc/passwd",
                             "//etc/passwd", "/.", "/well/../../etc/hostname"}) {
    const std::string reply = Get(target);
    EXPECT_THAT(reply, Not(StartsWith("HTTP/1.1 200"))) << target;
    EXPECT_THAT(reply, Not(HasSubstr("root:"))) << target;
  }
}

// What comes back is 4xx or nothing, and the next request is answered.
TEST_F(HttpListenerTest, SurvivesWhatIsNotHttp) {
  std::string every_byte;
  for (int i = 0; i < 256; ++i) every_byte += static_cast<char>(i);
  const std::vector<std::string> requests = {
      "\r\n\r\n",
      "GET\r\n\r\n",
      "GET /well\r\n\r\n",
      "GET /well HTTP/9.9\r\n\r\n",
      "GET  HTTP/1.1\r\n\r\n",
      "NONSENSE /well HTTP/1.1\r\n\r\n",
      "GET /well HTTP/1.1\r\nno colon\r\n\r\n",
      "GET /well HTTP/1.1\r\n: empty\r\n\r\n",
      "GET /%zz%00%ff HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET http://elsewhere/ HTTP/1.1\r\nHost: x\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
      every_byte + "\r\n\r\n",
      std::string(64, '\0') + "\r\n\r\n",
      absl::StrCat("GET /", std::string(100'000, 'a'), " HTTP/1.1\r\n\r\n"),
      absl::StrCat("GET /well HTTP/1.1\r\nX: ", std::string(100'000, 'b'), "\r\n\r\n"),
      absl::StrCat("GET /well HTTP/1.1\r\n", std::string(20'000, '\n')),
      "POST /well HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
      "POST /well HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
      "POST /well HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
      "GET /well HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
  };
  for (const std::string& request : requests) {
    const std::string reply = Send(request);
    EXPECT_THAT(reply, Not(HasSubstr(" 500 "))) << request.substr(0, 60);
    EXPECT_THAT(Get("/well"), EndsWith("well\n")) << "after " << request.substr(0, 60);
  }
}

TEST_F(HttpListenerTest, TakesARequestInPieces) {
  Start(Patient(4));
  RawConnection connection(listener_->port());
  for (const char* piece : {"G", "ET /well HT", "TP/1.1\r\nHost: x\r\n\r", "\n"}) {
    connection.Send(piece);
    EXPECT_THAT(Get("/well"), EndsWith("well\n"));  // it has been seen meanwhile
  }
  EXPECT_THAT(connection.ReadAll(), EndsWith("well\n"));
}

TEST_F(HttpListenerTest, AnswersBesideAnyNumberOfSilentConnections) {
  Start(Patient(8));
  std::vector<std::unique_ptr<RawConnection>> silent;
  for (int i = 0; i < 300; ++i) {
    silent.push_back(std::make_unique<RawConnection>(listener_->port()));
    silent.back()->Send(i % 2 == 0 ? "" : "GET /well HTTP/1.1\r\nHo");
    if (i % 10 == 0) {
      EXPECT_THAT(Get("/well"), EndsWith("well\n"));
      EXPECT_THAT(Get("/large"), StartsWith("HTTP/1.1 200 OK\r\n"));
    }
  }
  // The oldest have given way; the last can still say what it wants.
  EXPECT_EQ(silent.front()->ReadAll(), "");
  silent.back()->Send("st: x\r\n\r\n");
  EXPECT_THAT(silent.back()->ReadAll(), EndsWith("well\n"));
}

TEST_F(HttpListenerTest, AnswersBesideClientsThatTakeNothing) {
  Start(Patient(4));
  std::vector<std::unique_ptr<RawConnection>> slow;
  for (int i = 0; i < 20; ++i) {
    slow.push_back(std::make_unique<RawConnection>(listener_->port()));
    slow.back()->Send("GET /huge HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(Get("/well"), EndsWith("well\n"));
  }
}

TEST_F(HttpListenerTest, APageThatTakesLongHoldsNoOtherUp) {
  Start(Patient(4));
  gate_.Close();
  RawConnection held(listener_->port());
  held.Send("GET /held HTTP/1.1\r\nHost: x\r\n\r\n");
  gate_.AwaitBatches(1);
  for (int i = 0; i < 10; ++i) EXPECT_THAT(Get("/well"), EndsWith("well\n"));
  gate_.Open();
  EXPECT_GT(held.ReadAll().size(), 100'000u);
}

TEST_F(HttpListenerTest, AnAnswerThatComesTooLateIsForNobody) {
  HttpLimits limits = Patient(4);
  limits.answer_timeout = std::chrono::milliseconds(1);
  Start(limits);
  gate_.Close();
  RawConnection held(listener_->port());
  held.Send("GET /held HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(held.ReadAll(), "");
  gate_.Open();
}

TEST_F(HttpListenerTest, CutsOffWhoeverIsSilent) {
  std::vector<std::unique_ptr<RawConnection>> silent;
  for (int i = 0; i < 8; ++i) {
    silent.push_back(std::make_unique<RawConnection>(listener_->port()));
    silent.back()->Send(i % 2 == 0 ? "" : "GET /well HTTP/1.1\r\nHo");
  }
  EXPECT_THAT(Get("/well"), EndsWith("well\n"));
  for (const auto& connection : silent) EXPECT_THAT(connection->ReadAll(), Not(HasSubstr("well")));
}

TEST_F(HttpListenerTest, RefusesAnAddressThatIsTakenOrIsNone) {
  const HttpPages any = {[](const HttpRequest&) { return HttpResponse(); },
                         [](const HttpRequest&) { return HttpResponse(); }};
  EXPECT_EQ(HttpListener::Start(absl::StrCat("127.0.0.1:", listener_->port()), any).status().code(),
            absl::StatusCode::kAlreadyExists);
  for (const char* address : {"", "127.0.0.1", "127.0.0.1:", ":9464", "127.0.0.1:x",
                              "127.0.0.1:70000", "127.0.0.1:0,127.0.0.1:0", "127.0.0.1:443s"}) {
    EXPECT_EQ(HttpListener::Start(address, any).status().code(), absl::StatusCode::kInvalidArgument)
        << address;
  }
}

}  // namespace
}  // namespace voxloc
