// SPDX-License-Identifier: Apache-2.0

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/server/test_server.h"

namespace voxloc::server {
namespace {

TEST(ReadyFile, IsThereAsLongAsTheServerServes) {
  const std::string path = ::testing::TempDir() + "/voxloc_ready_test.json";
  {
    TestServer server([&path](Config& config) {
      config.ready_file = path;
      config.metrics_listen = "127.0.0.1:0";
    });
    std::ifstream file(path);
    const nlohmann::json json = nlohmann::json::parse(file);
    EXPECT_EQ(json.at("listen"), server.server().address());
    EXPECT_EQ(json.at("metrics"), server.server().metrics_address());
    EXPECT_EQ(json.at("engine"), "cpu");
  }
  EXPECT_FALSE(std::ifstream(path).good());
}

}  // namespace
}  // namespace voxloc::server
