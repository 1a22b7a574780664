// SPDX-License-Identifier: Apache-2.0
//
// The benchmark's commands and what they share: the engine that is measured, where the results go.

#ifndef VOXLOC_TESTS_BENCH_BENCH_OPTIONS_H_
#define VOXLOC_TESTS_BENCH_BENCH_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/dataset/summary.h"
#include "core/engine/engine.h"
#include "core/engine/profile.h"

namespace voxloc::bench {

struct EngineOptions {
  std::string engine = "cpu";
  size_t threads = 1;
  std::vector<int> devices = {0};
  bool no_clusters = false;  // of the CUDA engine
};

// A command that was chosen on the command line is run through `run`.
struct Command {
  CLI::App* app = nullptr;
  std::function<absl::Status()> run;
};

[[nodiscard]] Command AddAccuracyCommand(CLI::App& program);
[[nodiscard]] Command AddAlignCommand(CLI::App& program);
[[nodiscard]] Command AddBasinCommand(CLI::App& program);
[[nodiscard]] Command AddBuildCommand(CLI::App& program);
[[nodiscard]] Command AddCoverageCommand(CLI::App& program);
[[nodiscard]] Command AddEstimateCommand(CLI::App& program);
[[nodiscard]] Command AddMapExtensionCommand(CLI::App& program);
[[nodiscard]] Command AddMapFitCommand(CLI::App& program);
[[nodiscard]] Command AddMapUpdateCommand(CLI::App& program);
[[nodiscard]] Command AddProtectionCommand(CLI::App& program);
[[nodiscard]] Command AddQualityCommand(CLI::App& program);
[[nodiscard]] Command AddRecoveryCommand(CLI::App& program);
[[nodiscard]] Command AddRosCloudCommand(CLI::App& program);
[[nodiscard]] Command AddRoundTripCommand(CLI::App& program);
[[nodiscard]] Command AddScoreCommand(CLI::App& program);
[[nodiscard]] Command AddSearchCommand(CLI::App& program);
[[nodiscard]] Command AddStoreCommand(CLI::App& program);
[[nodiscard]] Command AddSweepCommand(CLI::App& program);
[[nodiscard]] Command AddTakeoverCommand(CLI::App& program);
[[nodiscard]] Command AddGpuCommand(CLI::App& program);
[[nodiscard]] Command AddInitialPoseCommand(CLI::App& program);

void AddEngineFlags(CLI::App& app, EngineOptions& options);
[[nodiscard]] absl::StatusOr<std::unique_ptr<Engine>> MakeEngine(const EngineOptions& options);

// A profile by its name, or of FILE.yaml; with "+observed" behind it, moving along observed
// directions only.
[[nodiscard]] absl::StatusOr<Profile> ProfileOf(const std::string& name);
void AddProfileFlag(CLI::App& app, std::string& profile);
[[nodiscard]] absl::StatusOr<std::vector<Profile>> ProfilesOf(
    const std::vector<std::string>& names);
void AddProfilesFlag(CLI::App& app, std::vector<std::string>& profiles);

void AddRepeatFlag(CLI::App& app, size_t& repeat, const std::string& meaning);
void AddJsonFlag(CLI::App& app, std::string& json);

[[nodiscard]] nlohmann::json ToJson(const Summary& summary);
// To a file, or to standard output for "-"; nothing for an empty path.
[[nodiscard]] absl::Status WriteJson(const std::string& path, const nlohmann::json& json);

// By the wall clock.
[[nodiscard]] double SecondsSince(std::chrono::steady_clock::time_point start);
// Wall-clock milliseconds that `body` takes.
[[nodiscard]] double TimeMs(const std::function<void()>& body);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_BENCH_OPTIONS_H_
