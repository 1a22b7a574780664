// SPDX-License-Identifier: Apache-2.0
//
// Data sets for benchmarks that compare several: each with a name, a map and scans, given on the
// command line as --set "NAME --map PATH --scans DIR --poses FILE ..." with the flags of `align`.

#ifndef VOXLOC_TESTS_BENCH_DATA_SET_H_
#define VOXLOC_TESTS_BENCH_DATA_SET_H_

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tests/bench/bench_data.h"

namespace voxloc::bench {

struct DataSet {
  std::string name;
  MapOptions map;
  ScanOptions scans;
};

struct LoadedSet {
  std::string name;
  std::shared_ptr<const ResidentMap> map;
  std::vector<BenchScan> scans;
};

// Required, and may be given several times.
void AddSetFlag(CLI::App& app, std::vector<std::string>& sets);

// Parses all values of the flag. InvalidArgument names the set and the error.
[[nodiscard]] absl::StatusOr<std::vector<DataSet>> ParseSets(const std::vector<std::string>& sets);

// The map with the cells of all these profiles, and every `stride`-th scan.
[[nodiscard]] absl::StatusOr<LoadedSet> LoadSet(Engine& engine, const DataSet& set,
                                                const std::vector<Profile>& profiles,
                                                size_t stride);

// One job a scan, from its guess.
[[nodiscard]] std::vector<AlignJob> AlignJobs(const std::shared_ptr<const ResidentMap>& map,
                                              absl::Span<const BenchScan> scans,
                                              const Profile& profile);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_DATA_SET_H_
