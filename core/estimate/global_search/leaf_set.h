// SPDX-License-Identifier: Apache-2.0
//
// LeafSet: the best leaves seen so far that are distinct from each other. Not thread-safe.

#ifndef VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_LEAF_SET_H_
#define VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_LEAF_SET_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/estimate/global_search/leaf_search.h"

namespace voxloc {

class LeafSet {
 public:
  LeafSet(const LeafSearchOptions& options, const Headings& headings)
      : options_(options), headings_(headings) {}

  void Add(const std::vector<Leaf>& leaves);

  // Most hits first. Any leaf that came is one of these, near one with no fewer hits, or has no
  // more hits than the last.
  [[nodiscard]] const std::vector<Leaf>& best() const { return best_; }
  // What a leaf must have to change the set; 0 while it is not full.
  [[nodiscard]] uint32_t HitsToBeat() const {
    return best_.size() < options_.max_leaves ? 0 : best_.back().hits;
  }

 private:
  [[nodiscard]] bool Near(const Leaf& a, const Leaf& b) const;

  const LeafSearchOptions options_;
  const Headings headings_;
  std::vector<Leaf> best_;
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_GLOBAL_SEARCH_LEAF_SET_H_
