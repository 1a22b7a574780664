// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/global_search/coarse_nodes.h"

#include <array>

namespace voxloc {

CoarseNodeGroups GroupByHits(const std::vector<CoarseNode>& nodes, size_t first_wanted) {
  std::array<size_t, kMaxBoundPoints + 1> with_hits{};
  for (const CoarseNode& node : nodes) ++with_hits[node.hits];
  CoarseNodeGroups groups;
  std::array<size_t, kMaxBoundPoints + 1> range_of{};
  std::vector<size_t> places(1, 0);  // where the next node of each range of hits goes
  size_t wanted = first_wanted;
  size_t begin = 0;
  size_t end = 0;
  for (size_t hits = with_hits.size(); hits-- > 0;) {
    range_of[hits] = places.size() - 1;
    end += with_hits[hits];
    if (end - begin < wanted && hits > 0) continue;
    places.push_back(end);
    for (; end - begin > 2 * wanted; wanted *= 2) groups.ends.push_back(begin += wanted);
    if (end > begin) groups.ends.push_back(end);
    begin = end;
    wanted *= 2;
  }
  groups.nodes.resize(nodes.size());
  for (const CoarseNode& node : nodes) groups.nodes[places[range_of[node.hits]]++] = node;
  return groups;
}

}  // namespace voxloc
