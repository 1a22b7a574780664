// SPDX-License-Identifier: Apache-2.0
//
// Made-up maps and scans to measure with. The same arguments give the same points.

#ifndef VOXLOC_TESTS_BENCH_SYNTHETIC_DATA_H_
#define VOXLOC_TESTS_BENCH_SYNTHETIC_DATA_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/cloud/point_cloud.h"
#include "tests/bench/bench_data.h"

namespace voxloc::bench {

// Points of a square with a rolling ground and walls every 20 m, in random order: 60 % ground, 40 %
// walls up to 12 m, 2 cm of noise.
[[nodiscard]] PointCloud SyntheticCloud(size_t points, double extent_m, uint64_t seed);

// `count` scans of `points` of that scene within 40 m, each from another place and heading; the
// guesses are 0.5 m and 2 degrees off. The scene's square must reach 60 m from its centre.
[[nodiscard]] std::vector<BenchScan> SyntheticScans(size_t count, size_t points, uint64_t seed);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_SYNTHETIC_DATA_H_
