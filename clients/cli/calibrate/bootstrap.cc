// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/calibrate/bootstrap.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>

namespace voxloc::cli {
namespace {

// 5 and 95 % of 200 repetitions have ten beyond them each.
constexpr size_t kRepetitions = 200;
constexpr size_t kBeyond = kRepetitions / 20;
// Few enough that a run is longer than what neighbours have in common, and enough of them to draw.
constexpr size_t kBlocks = 20;

}  // namespace

std::vector<Estimated> WithIntervals(
    size_t count,
    const std::function<std::vector<double>(const std::vector<size_t>& places)>& estimate) {
  std::vector<size_t> places(count);
  std::iota(places.begin(), places.end(), size_t{0});
  std::vector<Estimated> results;
  for (const double value : estimate(places)) results.push_back({value, value, value});
  const size_t block = std::max<size_t>(1, count / kBlocks);
  std::mt19937_64 random(1);  // no std distribution: those differ between standard libraries
  std::vector<std::vector<double>> drawn(results.size());
  for (size_t repetition = 0; repetition < kRepetitions; ++repetition) {
    places.clear();
    while (places.size() < count) {
      const size_t begin = static_cast<size_t>(random() % (count - block + 1));
      for (size_t i = 0; i < block && places.size() < count; ++i) places.push_back(begin + i);
    }
    const std::vector<double> values = estimate(places);
    for (size_t k = 0; k < drawn.size(); ++k) drawn[k].push_back(values[k]);
  }
  for (size_t k = 0; k < drawn.size(); ++k) {
    std::sort(drawn[k].begin(), drawn[k].end());
    results[k].low = drawn[k][kBeyond];
    results[k].high = drawn[k][kRepetitions - 1 - kBeyond];
  }
  return results;
}

}  // namespace voxloc::cli
