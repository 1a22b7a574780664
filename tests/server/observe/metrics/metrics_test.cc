// SPDX-License-Identifier: Apache-2.0

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/server/plain_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"

namespace voxloc::server {
namespace {

TEST(MetricsEndpoint, CountsWhatTheServerDoes) {
  TownServer server([](Config& config) { config.metrics_listen = "127.0.0.1:0"; });
  auto before = MetricsOf(server);
  EXPECT_EQ(before["voxloc_maps"], 1.0);
  EXPECT_GT(before["voxloc_map_points"], 1000.0);
  EXPECT_GT(before["voxloc_map_voxels"], 100.0);
  EXPECT_GT(before["process_resident_memory_bytes"], 1e6);
  EXPECT_EQ(before.count("process_cpu_seconds_total"), 1);
  EXPECT_EQ(before["voxloc_align_result_total{status=\"OK\"}"], 0.0);
  {
    TestSession session(server, "town");
    EXPECT_EQ(session.Align(GoodScan()).status(), v1::ALIGNMENT_STATUS_OK);
    v1::Scan bad = GoodScan();
    bad.mutable_clouds(0)->mutable_cloud()->set_stride(5);
    EXPECT_EQ(session.Align(bad).status(), v1::ALIGNMENT_STATUS_INVALID_INPUT);
    auto meanwhile = MetricsOf(server);
    EXPECT_EQ(meanwhile["voxloc_sessions_active"], 1.0);
    EXPECT_EQ(meanwhile["voxloc_rpc_in_flight{method=\"AlignScans\"}"], 1.0);
    EXPECT_TRUE(session.Close().ok());
  }
  auto after = MetricsOf(server);
  EXPECT_EQ(after["voxloc_align_result_total{status=\"OK\"}"], 1.0);
  EXPECT_EQ(after["voxloc_align_result_total{status=\"INVALID_INPUT\"}"], 1.0);
  EXPECT_EQ(after["voxloc_scans_received_total"], 2.0);
  EXPECT_EQ(after["voxloc_scans_dropped_total{reason=\"invalid\"}"], 1.0);
  EXPECT_EQ(after["voxloc_scan_duration_seconds_count"], 2.0);
  EXPECT_EQ(after["voxloc_align_iterations_count"], 1.0);
  EXPECT_EQ(after["voxloc_rpc_started_total{method=\"AlignScans\"}"], 1.0);
}

}  // namespace
}  // namespace voxloc::server
