// SPDX-License-Identifier: Apache-2.0

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/server/small_town.h"
#include "tests/server/test_server.h"

namespace voxloc::server {
namespace {

TEST(Drain, NotifiesSessionsAndWaitsForTheirEnd) {
  TestServer server([](Config& config) { config.drain_timeout_s = 60.0; });
  server.LoadTown();
  TestSession session(server);
  session.Open();
  std::thread drain([&server] { server.server().Drain(); });
  const v1::AlignScansResponse notice = session.Read();
  EXPECT_TRUE(notice.has_draining()) << notice.ShortDebugString();
  EXPECT_NE(notice.draining().reason(), "");
  session.Send(GoodScan(2));  // still answered
  EXPECT_EQ(session.ReadResult().status(), v1::ALIGNMENT_STATUS_OK);
  session.HalfClose();
  EXPECT_TRUE(session.Finish().ok());
  drain.join();  // long before its minute is over
}

TEST(Drain, EndsSessionsThatDoNotLeave) {
  TestServer server;
  server.LoadTown();
  TestSession session(server);
  session.Open();
  server.server().Drain();
  EXPECT_TRUE(session.Read().has_draining());
  EXPECT_FALSE(session.Read().has_result());
  EXPECT_EQ(session.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace voxloc::server
