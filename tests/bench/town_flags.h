// SPDX-License-Identifier: Apache-2.0
//
// What the benchmarks of simulated towns share: their flags, and the run over the towns.

#ifndef VOXLOC_TESTS_BENCH_TOWN_FLAGS_H_
#define VOXLOC_TESTS_BENCH_TOWN_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "core/engine/engine.h"
#include "core/engine/profile.h"
#include "tests/bench/bench_options.h"
#include "tests/support/aged_town.h"

namespace voxloc::bench {

struct TownFlags {
  EngineOptions engine;
  std::string profile = "precise";
  uint64_t first_seed = 1;
  size_t towns = 2;
  size_t passes = 10;
  std::string json;
};
void AddTownFlags(CLI::App& app, TownFlags& flags);

// Calls run(engine, profile, seed, rows) for each town until one fails, and writes the rows, a JSON
// array that the calls append to, as `rows`.
[[nodiscard]] absl::Status RunTowns(
    const TownFlags& flags,
    absl::FunctionRef<absl::Status(Engine&, const Profile&, uint64_t, nlohmann::json&)> run);

// All but the seed.
void AddAgedTownFlags(CLI::App& app, AgedTownOptions& options);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_TOWN_FLAGS_H_
