// SPDX-License-Identifier: Apache-2.0

#include "tests/e2e/served_town.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/e2e/program_path.h"
#include "tests/support/own_loopback.h"

namespace voxloc {

namespace fs = std::filesystem;

ProcessResult RunVoxloc(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), ProgramPath(VOXLOC_VOXLOC));
  return RunProcess(arguments);
}

std::vector<std::string> Concat(std::vector<std::string> arguments,
                                const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

nlohmann::json JsonIn(const fs::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file, nullptr, false);
}

void SimulateTown(const fs::path& town) {
  const ProcessResult simulated = RunVoxloc(
      {"simulate", "--size", "150", "--scans", "25", "--map-spacing", "0.15", town.string()});
  ASSERT_EQ(simulated.exit_code, 0) << simulated.error;
}

ProcessResult TownServer::Voxloc(std::vector<std::string> arguments) const {
  return RunVoxloc(Concat(std::move(arguments), {"--server", address}));
}

void LaunchServer(const std::string& engine, const fs::path& folder, const std::string& listen,
                  TownServer* server, const std::vector<std::string>& flags) {
  const fs::path ready_file = folder / (engine + "_ready.json");
  server->process =
      std::make_unique<ChildProcess>(Concat({ProgramPath(VOXLOC_VOXLOCD), "--engine=" + engine,
                                             "--listen=" + listen, "--metrics-listen=127.0.0.1:0",
                                             "--data-dir=" + (folder / (engine + "_maps")).string(),
                                             "--ready-file=" + ready_file.string()},
                                            flags),
                                     (folder / (engine + "_server.log")).string());
  for (int i = 0; i < 600 && !fs::exists(ready_file); ++i) {
    ASSERT_TRUE(server->process->running()) << "voxlocd ended before it was ready";
    // Real time: asks again until the server is ready, for a minute at most.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  const nlohmann::json ready = JsonIn(ready_file);
  ASSERT_TRUE(ready.contains("listen"));
  EXPECT_EQ(ready["engine"], engine);
  server->address = ready["listen"];
}

void StartTownServer(const std::string& engine, const fs::path& folder, const fs::path& town,
                     TownServer* server, const std::vector<std::string>& flags) {
  ASSERT_NO_FATAL_FAILURE(
      LaunchServer(engine, folder, absl::StrCat(OwnLoopback(), ":0"), server, flags));
  const ProcessResult loaded =
      server->Voxloc({"map", "load", "--map", "town", (town / "map").string()});
  ASSERT_EQ(loaded.exit_code, 0) << loaded.error;
}

}  // namespace voxloc
