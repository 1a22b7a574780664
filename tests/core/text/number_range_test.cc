// SPDX-License-Identifier: Apache-2.0

#include "core/text/number_range.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>

namespace voxloc {
namespace {

template <typename Number>
std::string MessageOn(Number value, const NumberRange& range) {
  return std::string(CheckRanges({{"x", value, range}}).message());
}

TEST(NumberRangeTest, EndsBelongToTheRangeOrNot) {
  EXPECT_TRUE(CheckRanges({{"x", 0.0, FromTo(0.0, 1.0)},
                           {"x", 1.0, FromTo(0.0, 1.0)},
                           {"x", 0.0, AtLeast(0.0).Below(1.0)},
                           {"x", 1.0, Over(0.0).AtMost(1.0)},
                           {"x", 0.0, FromTo(1.0, 2.0).OrZero()},
                           {"x", -1e300, Finite()}})
                  .ok());
  EXPECT_EQ(MessageOn(1.5, FromTo(0.0, 1.0)), "x must be from 0 to 1 (got 1.5)");
  EXPECT_EQ(MessageOn(1.0, AtLeast(0.0).Below(1.0)), "x must be at least 0 and below 1 (got 1)");
  EXPECT_EQ(MessageOn(0.0, Over(0.0).Below(1.0)), "x must be over 0 and below 1 (got 0)");
  EXPECT_EQ(MessageOn(0.0, Over(0.0).AtMost(1.0)), "x must be over 0 and at most 1 (got 0)");
  EXPECT_EQ(MessageOn(0.5, FromTo(1.0, 2.0).OrZero()), "x must be 0 or from 1 to 2 (got 0.5)");
  EXPECT_EQ(MessageOn(-1.0, FromTo(0.01, 10.0).Unit(" m")), "x must be from 0.01 to 10 m (got -1)");
}

TEST(NumberRangeTest, WhatIsNotFiniteIsInNoRange) {
  EXPECT_EQ(MessageOn(std::nan(""), FromTo(0.0, 1.0)), "x must be from 0 to 1 (got nan)");
  EXPECT_EQ(MessageOn(HUGE_VAL, AtLeast(0.0)), "x must be finite and at least 0 (got inf)");
  EXPECT_EQ(MessageOn(HUGE_VAL, Over(1.0)), "x must be finite and over 1 (got inf)");
  EXPECT_EQ(MessageOn(-HUGE_VAL, Finite()), "x must be finite (got -inf)");
}

TEST(NumberRangeTest, WholeNumbersAreWrittenOut) {
  EXPECT_EQ(MessageOn(1'000'001, FromTo(2, 100'000)), "x must be from 2 to 100000 (got 1000001)");
  EXPECT_EQ(MessageOn(size_t{0}, AtLeast(1)), "x must be at least 1 (got 0)");
}

TEST(NumberRangeTest, TheFirstNumberOutsideIsNamed) {
  const absl::Status status =
      CheckRanges({{"a", 1, AtLeast(0)}, {"b", -1, AtLeast(0)}, {"c", -1, AtLeast(0)}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "b must be at least 0 (got -1)");
}

}  // namespace
}  // namespace voxloc
