// SPDX-License-Identifier: Apache-2.0

#include "core/text/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace voxloc {
namespace {

TEST(Utf8Test, TakesTheFirstAndLastCharacterOfEachLength) {
  for (const char* text :
       {"", "a", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(Utf8PrefixLength(text), std::string(text).size()) << text;
  }
  EXPECT_EQ(Utf8PrefixLength(absl::string_view("a\0b", 3)), 3U);
}

TEST(Utf8Test, EndsBeforeWhatIsNoCharacter) {
  for (const char* bad : {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2g", "\xE0\x9F\xBF",
                          "\xED\xA0\x80", "\xED\xBF\xBF", "\xE2\x82", "\xF0\x8F\xBF\xBF",
                          "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xFF", "\xFE"}) {
    EXPECT_EQ(Utf8PrefixLength(std::string("ab") + bad + "c"), 2U) << bad;
  }
}

}  // namespace
}  // namespace voxloc
