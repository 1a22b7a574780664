// SPDX-License-Identifier: Apache-2.0
//
// What the benchmarks of simulated towns share: their flags.

#ifndef VOXLOC_TESTS_BENCH_TOWN_FLAGS_H_
#define VOXLOC_TESTS_BENCH_TOWN_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>

#include "tests/support/aged_town.h"

namespace voxloc::bench {

struct TownFlags {
  uint64_t first_seed = 1;
  size_t towns = 2;
};
void AddTownFlags(CLI::App& app, TownFlags& flags);

// All but the seed.
void AddAgedTownFlags(CLI::App& app, AgedTownOptions& options);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_TOWN_FLAGS_H_
