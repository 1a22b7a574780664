// SPDX-License-Identifier: Apache-2.0
//
// MapCommandTest: a map service in the test's process, and the commands on maps before it.

#ifndef VOXLOC_TESTS_CLIENTS_CLI_MAP_MAP_COMMAND_TEST_H_
#define VOXLOC_TESTS_CLIENTS_CLI_MAP_MAP_COMMAND_TEST_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "clients/cli/commands/commands.h"
#include "core/cloud/io/cloud_file.h"
#include "tests/clients/cpp/fake_maps.h"
#include "tests/core/cloud/io/cloud_bytes.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::cli {

class MapCommandTest : public ::testing::Test {
 protected:
  MapCommandTest() : server_(maps_.Behaviour()) {}

  // `map COMMAND...` with the server and a file for its JSON, which is `result_` afterwards.
  absl::Status Run(std::vector<std::string> arguments) {
    const std::string out = scratch_.Path("result.json");
    std::filesystem::remove(out);
    arguments.insert(arguments.begin(), "map");
    arguments.insert(arguments.end(), {"--server", server_.address(), "--json", out});
    const ParsedCommandLine parsed = ParseCommandLine(arguments);
    if (!parsed.work) return absl::InvalidArgumentError(parsed.error);
    const absl::StatusOr<ExitCode> code = parsed.work();
    if (!code.ok()) return code.status();
    std::ifstream file(out);
    result_ = nlohmann::json::parse(file, nullptr, false);
    return absl::OkStatus();
  }

  // Two clouds, which are tiles a and b.
  [[nodiscard]] std::string TwoClouds() const {
    PointCloud cloud = RandomCloud(400, 1, true);
    cloud.origin = {4e5, 4e6, 0.0};
    EXPECT_TRUE(WritePcd(scratch_.Path("map/a.pcd"), cloud).ok());
    EXPECT_TRUE(WritePcd(scratch_.Path("map/b.pcd"), RandomCloud(500, 2, false)).ok());
    return scratch_.Path("map");
  }

  const ScratchDir scratch_;
  client::FakeMaps maps_;
  client::FakeServer server_;
  nlohmann::json result_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_TESTS_CLIENTS_CLI_MAP_MAP_COMMAND_TEST_H_
