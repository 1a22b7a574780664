// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "core/map/tile_catalogue.h"

namespace voxloc {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

std::vector<uint32_t> Touching(const BoundsTree& tree, const Eigen::Vector2d& min,
                               const Eigen::Vector2d& max) {
  std::vector<uint32_t> numbers;
  tree.ForEachTouching(min, max,
                       [&](const BoundsTree::Box& box) { numbers.push_back(box.number); });
  return numbers;
}

std::vector<uint32_t> Within(const BoundsTree& tree, const Eigen::Vector2d& centre, double radius) {
  std::vector<uint32_t> numbers;
  tree.ForEachWithin(centre, radius,
                     [&](const BoundsTree::Box& box) { numbers.push_back(box.number); });
  return numbers;
}

TEST(BoundsTreeTest, FindsWhatASearchOfAllBoxesFinds) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> place(-5000.0, 5000.0);
  std::exponential_distribution<double> size(1.0 / 60.0);
  std::vector<BoundsTree::Box> boxes;
  for (uint32_t i = 0; i < 3000; ++i) {
    const Eigen::Vector2d min(place(random), place(random));
    boxes.push_back({min, min + Eigen::Vector2d(size(random), size(random)), i});
  }
  boxes.push_back({{-5000.0, -5000.0}, {5000.0, 5000.0}, 3000});  // one around all others
  const BoundsTree tree(boxes);
  EXPECT_EQ(tree.size(), boxes.size());
  for (int i = 0; i < 200; ++i) {
    const Eigen::Vector2d min(place(random), place(random));
    const Eigen::Vector2d max = min + Eigen::Vector2d(size(random), size(random)) * 5.0;
    const double radius = size(random);
    std::vector<uint32_t> touching;
    std::vector<uint32_t> within;
    for (const BoundsTree::Box& box : boxes) {
      const bool apart = box.max.x() < min.x() || box.min.x() > max.x() || box.max.y() < min.y() ||
                         box.min.y() > max.y();
      if (!apart) touching.push_back(box.number);
      const double dx = std::max({box.min.x() - min.x(), min.x() - box.max.x(), 0.0});
      const double dy = std::max({box.min.y() - min.y(), min.y() - box.max.y(), 0.0});
      if (std::hypot(dx, dy) <= radius) within.push_back(box.number);
    }
    EXPECT_THAT(Touching(tree, min, max), UnorderedElementsAreArray(touching));
    EXPECT_THAT(Within(tree, min, radius), UnorderedElementsAreArray(within));
  }
}

TEST(BoundsTreeTest, TakesBoxesWithoutExtentAtOnePlace) {
  const BoundsTree tree({{{3.0, 4.0}, {3.0, 4.0}, 5}, {{3.0, 4.0}, {3.0, 4.0}, 6}});
  EXPECT_THAT(Touching(tree, {3.0, 4.0}, {9.0, 9.0}), UnorderedElementsAre(5, 6));
  EXPECT_THAT(Within(tree, {0.0, 0.0}, 5.0), UnorderedElementsAre(5, 6));
  EXPECT_THAT(Within(tree, {0.0, 0.0}, 4.9), IsEmpty());
  EXPECT_THAT(Touching(BoundsTree(), {-1.0, -1.0}, {1.0, 1.0}), IsEmpty());
}

}  // namespace
}  // namespace voxloc
