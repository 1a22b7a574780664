// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "server/scheduling/limits.h"

namespace voxloc::server {
namespace {

TEST(AdmissionTest, LetsInAsManyAsAllowed) {
  Admission admission(2);
  auto first = admission.Enter();
  auto second = admission.Enter();
  EXPECT_NE(first, nullptr);
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(admission.Enter(), nullptr);
  first.reset();
  EXPECT_NE(admission.Enter(), nullptr);
}

TEST(AdmissionTest, ANewLimitHoldsForWhoComesNext) {
  Admission admission(2);
  auto first = admission.Enter();
  auto second = admission.Enter();
  admission.set_limit(1);
  first.reset();
  EXPECT_EQ(admission.Enter(), nullptr);
  second.reset();
  EXPECT_NE(admission.Enter(), nullptr);
  EXPECT_EQ(admission.limit(), 1U);
}

}  // namespace
}  // namespace voxloc::server
