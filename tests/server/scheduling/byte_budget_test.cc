// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "server/scheduling/limits.h"

namespace voxloc::server {
namespace {

TEST(ByteBudgetTest, IsSpentWhileMoreThanItsLimitIsHeld) {
  ByteBudget budget(10, Gauge());
  budget.Add(10);
  EXPECT_FALSE(budget.exhausted());
  budget.Add(5);
  EXPECT_TRUE(budget.exhausted());
  budget.Remove(10);
  EXPECT_FALSE(budget.exhausted());
}

TEST(ByteBudgetTest, ANewLimitHoldsForWhatIsHeldAlready) {
  ByteBudget budget(10, Gauge());
  budget.Add(8);
  budget.set_limit(7);
  EXPECT_TRUE(budget.exhausted());
  budget.set_limit(8);
  EXPECT_FALSE(budget.exhausted());
}

}  // namespace
}  // namespace voxloc::server
