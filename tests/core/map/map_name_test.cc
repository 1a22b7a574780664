// SPDX-License-Identifier: Apache-2.0

#include "core/map/map_name.h"

#include <gtest/gtest.h>

#include <string>

namespace voxloc {
namespace {

TEST(MapNameTest, NamesAreLettersDigitsAndInnerMarks) {
  for (const std::string& name :
       {std::string("a"), std::string("Town-2_b.v1"), std::string("0"), std::string(64, 'x')}) {
    EXPECT_TRUE(ValidateMapName(name).ok()) << name;
  }
  for (const std::string& name :
       {std::string(), std::string(65, 'x'), std::string(".a"), std::string("-a"),
        std::string("_a"), std::string("a b"), std::string("a/b"), std::string("a\0b", 3),
        std::string("\xc3\xa4"), std::string("a\n"), std::string("..")}) {
    EXPECT_EQ(ValidateMapName(name).code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

}  // namespace
}  // namespace voxloc
