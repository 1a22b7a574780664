// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/global_search/leaf_set.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace voxloc {
namespace {

bool Better(const Leaf& a, const Leaf& b) {
  if (a.hits != b.hits) return a.hits > b.hits;
  if (a.heading != b.heading) return a.heading < b.heading;
  if (a.y != b.y) return a.y < b.y;
  return a.x < b.x;
}

}  // namespace

bool LeafSet::Near(const Leaf& a, const Leaf& b) const {
  if (std::abs(a.x - b.x) >= options_.min_separation_columns ||
      std::abs(a.y - b.y) >= options_.min_separation_columns) {
    return false;
  }
  auto apart =
      static_cast<int32_t>(std::max(a.heading, b.heading) - std::min(a.heading, b.heading));
  if (headings_.full_turn) apart = std::min(apart, static_cast<int32_t>(headings_.count) - apart);
  return apart < options_.min_separation_headings;
}

void LeafSet::Add(const std::vector<Leaf>& leaves) {
  std::vector<Leaf> all = best_;
  const uint32_t least = HitsToBeat();
  for (const Leaf& leaf : leaves) {
    if (leaf.hits >= least) all.push_back(leaf);
  }
  std::sort(all.begin(), all.end(), Better);
  best_.clear();
  for (const Leaf& leaf : all) {
    if (best_.size() == options_.max_leaves) break;
    const bool taken = std::any_of(best_.begin(), best_.end(),
                                   [&](const Leaf& better) { return Near(leaf, better); });
    if (!taken) best_.push_back(leaf);
  }
}

}  // namespace voxloc
