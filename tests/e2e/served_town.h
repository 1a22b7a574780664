// SPDX-License-Identifier: Apache-2.0
//
// The real programs, together: a simulated town of 150 m with a drive of 25 scans, and voxlocd with
// the town as a map.

#ifndef VOXLOC_TESTS_E2E_SERVED_TOWN_H_
#define VOXLOC_TESTS_E2E_SERVED_TOWN_H_

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/child_process.h"

namespace voxloc {

// Runs voxloc to its end.
[[nodiscard]] ProcessResult RunVoxloc(std::vector<std::string> arguments);

// The two lists, one after the other.
[[nodiscard]] std::vector<std::string> Concat(std::vector<std::string> arguments,
                                              const std::vector<std::string>& more);

// Discarded where the file is not JSON.
[[nodiscard]] nlohmann::json JsonIn(const std::filesystem::path& path);

// Writes `map`, `scans`, `poses.txt` and `poses_tum.txt` into the folder. A fatal failure of the
// test where it cannot.
void SimulateTown(const std::filesystem::path& town);

struct TownServer {
  std::string address;
  std::unique_ptr<ChildProcess> process;

  // Runs voxloc with --server and this server's address.
  [[nodiscard]] ProcessResult Voxloc(std::vector<std::string> arguments) const;
};

// Starts voxlocd at `listen` (port 0: any), with its files in `folder`, and waits until it is
// ready; maps that were loaded with the same engine and folder are there again. `flags` are
// voxlocd's. A fatal failure of the test where it cannot.
void LaunchServer(const std::string& engine, const std::filesystem::path& folder,
                  const std::string& listen, TownServer* server,
                  const std::vector<std::string>& flags = {});

// Likewise at any port of OwnLoopback, and loads the town as the map "town".
void StartTownServer(const std::string& engine, const std::filesystem::path& folder,
                     const std::filesystem::path& town, TownServer* server,
                     const std::vector<std::string>& flags = {});

}  // namespace voxloc

#endif  // VOXLOC_TESTS_E2E_SERVED_TOWN_H_
