// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <random>
#include <tuple>

#include "core/estimate/global_search/leaf_search.h"
#include "gtest/gtest.h"

namespace voxloc {
namespace {

std::tuple<int, int, int> PlaceOf(const CoarseNode& node) { return {node.heading, node.y, node.x}; }

// In walking order, as bounding gives them.
std::vector<CoarseNode> RandomNodes(size_t count, uint16_t max_hits) {
  std::mt19937 random(7);
  std::vector<CoarseNode> nodes;
  for (size_t i = 0; i < count; ++i) {
    nodes.push_back({static_cast<uint16_t>(i / 5000), static_cast<uint16_t>(4 * (i % 50)),
                     static_cast<uint16_t>(4 * (i / 50 % 100)),
                     static_cast<uint16_t>(random() % (max_hits + 1U))});
  }
  return nodes;
}

TEST(CoarseNodesTest, GroupsAreOfFallingHitsAndKeepTheOrderWithin) {
  const std::vector<CoarseNode> nodes = RandomNodes(20'000, 200);
  const CoarseNodeGroups groups = GroupByHits(nodes, 64);
  ASSERT_EQ(groups.nodes.size(), nodes.size());
  ASSERT_EQ(groups.ends.back(), nodes.size());
  ASSERT_GT(groups.ends.size(), 4U);
  size_t begin = 0;
  size_t wanted = 64;
  uint16_t least_before = kMaxBoundPoints;
  for (const size_t end : groups.ends) {
    const auto first = groups.nodes.begin() + static_cast<ptrdiff_t>(begin);
    const auto last = groups.nodes.begin() + static_cast<ptrdiff_t>(end);
    const auto fewer = [](const CoarseNode& a, const CoarseNode& b) { return a.hits < b.hits; };
    EXPECT_LE(std::max_element(first, last, fewer)->hits, least_before);
    least_before = std::min_element(first, last, fewer)->hits;
    EXPECT_TRUE(std::is_sorted(
        first, last,
        [](const CoarseNode& a, const CoarseNode& b) { return PlaceOf(a) < PlaceOf(b); }))
        << "group that ends at " << end;
    if (end < nodes.size()) {
      EXPECT_GE(end - begin, wanted);
      EXPECT_LE(end - begin, 3 * wanted);
    }
    begin = end;
    wanted *= 2;
  }
  std::vector<CoarseNode> sorted = groups.nodes;
  std::sort(sorted.begin(), sorted.end(),
            [](const CoarseNode& a, const CoarseNode& b) { return PlaceOf(a) < PlaceOf(b); });
  for (size_t i = 0; i < nodes.size(); ++i) {
    ASSERT_EQ(PlaceOf(sorted[i]), PlaceOf(nodes[i]));
    ASSERT_EQ(sorted[i].hits, nodes[i].hits);
  }
}

TEST(CoarseNodesTest, ManyWithTheSameHitsAreCutUp) {
  const std::vector<CoarseNode> nodes = RandomNodes(10'000, 0);
  const CoarseNodeGroups groups = GroupByHits(nodes, 100);
  ASSERT_GT(groups.ends.size(), 3U);
  EXPECT_EQ(groups.ends[0], 100U);
  EXPECT_EQ(groups.ends[1], 300U);
  EXPECT_EQ(groups.ends.back(), nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) ASSERT_EQ(PlaceOf(groups.nodes[i]), PlaceOf(nodes[i]));
}

TEST(CoarseNodesTest, FewerThanWantedAreOneGroupAndNoneAreNone) {
  const CoarseNodeGroups few = GroupByHits(RandomNodes(30, kMaxBoundPoints), 100);
  ASSERT_EQ(few.ends.size(), 1U);
  EXPECT_EQ(few.ends[0], 30U);
  EXPECT_TRUE(GroupByHits({}, 100).ends.empty());
}

}  // namespace
}  // namespace voxloc
