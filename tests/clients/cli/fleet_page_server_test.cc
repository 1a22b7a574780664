// SPDX-License-Identifier: Apache-2.0
//
// The live page of a fleet, as any client of HTTP sees it; fleet_live_test.py opens it in a
// browser.

#include "clients/cli/fleet/fleet_page_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/fleet/fleet_state.h"
#include "tests/core/http/raw_http.h"

namespace voxloc::cli {
namespace {

using ::nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A server with a vehicle on a map of `tiles` tiles of 20 m.
FleetState FleetOf(const std::string& vehicle, int tiles) {
  FleetState fleet;
  FleetServer& server = fleet.servers.emplace_back();
  server.address = "a:1";
  server.vehicles.emplace_back().session.set_vehicle(vehicle);
  FleetMap& map = server.maps.emplace_back();
  map.info.set_name("town");
  auto list = std::make_shared<v1::ListTilesResponse>();
  for (int i = 0; i < tiles; ++i) {
    v1::TileInfo& tile = *list->add_tiles();
    tile.mutable_bounds()->mutable_min()->set_x(20.0 * i + 0.04);
    tile.mutable_bounds()->mutable_max()->set_x(20.0 * i + 20.0);
    if (i == 0) tile.mutable_fit()->set_change(0.5);
  }
  list->add_tiles();  // without points
  map.tiles = std::move(list);
  return fleet;
}

class FleetPageServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = FleetPageServer::Start("127.0.0.1:0", 0.5);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    std::string port = server_->url().substr(std::string("http://127.0.0.1:").size());
    port.pop_back();
    ASSERT_TRUE(absl::SimpleAtoi(port, &port_)) << server_->url();
  }

  std::string Get(const std::string& path, const std::string& host) const {
    return Exchange(port_, absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: ", host, "\r\n\r\n"));
  }

  // The data of the next event of a stream, which must have this name.
  static json NextEvent(RawConnection& stream, const std::string& name) {
    const std::string begin = absl::StrCat("event: ", name, "\ndata: ");
    const std::string event = stream.ReadThrough("\n\n");
    EXPECT_THAT(event, StartsWith(begin));
    return json::parse(event.substr(std::min(begin.size(), event.size())), nullptr, false);
  }

  std::unique_ptr<FleetPageServer> server_;
  int port_ = 0;
};

TEST_F(FleetPageServerTest, ServesThePageWithAPolicyAndNothingElse) {
  const std::string page = Get("/", "localhost:1");
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"));
  EXPECT_THAT(page, HasSubstr("\r\nContent-Security-Policy: default-src 'none'; "));
  EXPECT_THAT(page, HasSubstr("\r\nX-Frame-Options: DENY\r\n"));
  EXPECT_THAT(page, Not(HasSubstr("unsafe")));
  EXPECT_THAT(page, HasSubstr("<link rel=\"icon\" href=\"data:,\">"));
  EXPECT_THAT(page, HasSubstr("{\"interval_s\":0.5}</script>"));
  EXPECT_THAT(Get("/fleet", "localhost"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Get("/../../etc/passwd", "localhost"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Exchange(port_, "POST / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
              StartsWith("HTTP/1.1 405"));
}

TEST_F(FleetPageServerTest, AnswersOnLoopbackOnlyToNamesOfLoopback) {
  for (const char* host :
       {"localhost", "LOCALHOST:8080", "127.0.0.1", "127.1.2.3:80", "[::1]", "[::1]:8080"}) {
    EXPECT_THAT(Get("/", host), StartsWith("HTTP/1.1 200")) << host;
  }
  for (const char* host : {"", "evil.example", "evil.example:8080", "localhost.evil.example",
                           "127.0.0.1.evil.example", "10.0.0.1", "[2001:db8::1]:80", "0.0.0.0"}) {
    EXPECT_THAT(Get("/", host), StartsWith("HTTP/1.1 403")) << host;
    EXPECT_THAT(Get("/events", host), StartsWith("HTTP/1.1 403")) << host;
  }
  EXPECT_THAT(Exchange(port_, "GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 403"));
}

TEST_F(FleetPageServerTest, StreamsLooksAndTilesWhereTheyChange) {
  server_->Publish(FleetOf("bus\n1</script>", 2));
  RawConnection stream(port_);
  stream.Send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(stream.ReadThrough("\r\n\r\n"), HasSubstr("Content-Type: text/event-stream\r\n"));
  const json tiles = NextEvent(stream, "tiles");
  EXPECT_EQ(tiles, json::parse(R"([{"server": "a:1", "name": "town", "tiles_of": 3, "tiles":
      [[0.0, 0.0, 20.0, 0.0, 0.5], [20.0, 0.0, 40.0, 0.0, null]]}])"));
  EXPECT_EQ(NextEvent(stream, "fleet")["servers"][0]["vehicles"][0]["vehicle"], "bus\n1</script>");
  server_->Publish(FleetOf("bus-2", 2));
  EXPECT_EQ(NextEvent(stream, "fleet")["servers"][0]["vehicles"][0]["vehicle"], "bus-2");
  server_->Publish(FleetOf("bus-3", 3));
  EXPECT_EQ(NextEvent(stream, "tiles")[0]["tiles"].size(), 3u);
  EXPECT_EQ(NextEvent(stream, "fleet")["servers"][0]["vehicles"][0]["vehicle"], "bus-3");
}

TEST_F(FleetPageServerTest, KnowsWhatOtherMachinesCannotReach) {
  EXPECT_TRUE(server_->loopback());
  const auto wide = FleetPageServer::Start("0.0.0.0:0", 0.5);
  ASSERT_TRUE(wide.ok()) << wide.status();
  EXPECT_FALSE((*wide)->loopback());
  EXPECT_EQ(FleetPageServer::Start("localhost", 0.5).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// Digests by `printf body{} | openssl dgst -sha256 -binary | base64`, and likewise of `1`.
TEST(ContentSecurityPolicy, AllowsThePagesOwnStyleAndScriptByTheirDigests) {
  const std::string policy = ContentSecurityPolicy("<style>body{}</style><script>1</script>");
  EXPECT_THAT(policy,
              HasSubstr("; style-src 'sha256-fJgEClQWV1hGkK4qHMO0KotTsVnMYMXTq7/suurGyUo='; "));
  EXPECT_THAT(policy,
              HasSubstr("; script-src 'sha256-a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s='; "));
  EXPECT_THAT(policy, EndsWith("frame-ancestors 'none'"));
}

}  // namespace
}  // namespace voxloc::cli
