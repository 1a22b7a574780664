// SPDX-License-Identifier: Apache-2.0
//
// What `voxloc_bench gpu` aligns and scores: a map and scans from files, or made up.

#ifndef VOXLOC_TESTS_BENCH_GPU_DATA_H_
#define VOXLOC_TESTS_BENCH_GPU_DATA_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/bench_data.h"

namespace voxloc::bench {

struct GpuDataOptions {
  MapOptions map;
  ScanOptions scans;
  // Full scans of the same place, thinned at random.
  std::string dense_scans;
  std::string dense_poses;
  std::vector<size_t> dense_points = {5000};
};

struct GpuData {
  std::string source;  // for people
  std::vector<PointCloud> map;
  std::vector<BenchScan> scans;  // thin: about 1,500 points
  // For each number of points; may be none.
  std::vector<std::vector<BenchScan>> dense_scans;
};

void AddGpuDataFlags(CLI::App& app, GpuDataOptions& options);

// Made up where no map is given.
[[nodiscard]] absl::StatusOr<GpuData> LoadGpuData(const GpuDataOptions& options);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_GPU_DATA_H_
