// SPDX-License-Identifier: Apache-2.0
//
// The examples and the rules are those of https://www.w3.org/TR/trace-context/.

#include "server/observe/trace/trace_context.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace voxloc::server {
namespace {

const char* const kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const char* const kSpan = "00f067aa0ba902b7";

std::string Traceparent(const std::string& version, const std::string& flags) {
  return version + "-" + kTrace + "-" + kSpan + "-" + flags;
}

TEST(TraceContextTest, TakesTheExamplesOfTheStandard) {
  const auto sampled = ParseTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  ASSERT_TRUE(sampled.has_value());
  EXPECT_TRUE(sampled->valid());
  EXPECT_EQ(TraceIdHex(sampled->trace_id), kTrace);
  EXPECT_EQ(SpanIdHex(sampled->span_id), kSpan);
  EXPECT_TRUE(sampled->sampled);
  const auto not_sampled =
      ParseTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");
  ASSERT_TRUE(not_sampled.has_value());
  EXPECT_FALSE(not_sampled->sampled);
  EXPECT_EQ(TraceIdHex(not_sampled->trace_id), kTrace);
  // Of the flags, that one alone.
  EXPECT_TRUE(ParseTraceparent(Traceparent("00", "ff"))->sampled);
  EXPECT_FALSE(ParseTraceparent(Traceparent("00", "fe"))->sampled);
  // Higher versions as far as it knows them, and the least ids.
  for (const std::string& good :
       {Traceparent("01", "01"), Traceparent("cc", "01") + "-what-the-future-will-be-like",
        Traceparent("cc", "01") + "-",
        std::string("00-00000000000000000000000000000001-0000000000000001-01")}) {
    EXPECT_TRUE(ParseTraceparent(good).has_value()) << good;
  }
}

TEST(TraceContextTest, RefusesWhatIsMalformed) {
  const std::string good = Traceparent("00", "01");
  ASSERT_TRUE(ParseTraceparent(good).has_value());
  EXPECT_FALSE(TraceContext().valid());
  for (const std::string& bad :
       {std::string(), Traceparent("ff", "01"), " " + good, good + " ", good + "-extra", good + "-",
        Traceparent("cc", "01") + ".what-the-future",
        std::string("00-00000000000000000000000000000000-00f067aa0ba902b7-01"),
        std::string("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01")}) {
    EXPECT_FALSE(ParseTraceparent(bad).has_value()) << bad;
  }
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(ParseTraceparent(good.substr(0, length)).has_value()) << length;
  }
  // No other byte is right in any place: not upper case, not a separator, not a letter beyond f.
  for (size_t place = 0; place < good.size(); ++place) {
    for (const char c : {'A', 'F', 'g', '.', ' ', '_', '\0'}) {
      std::string bad = good;
      bad[place] = c;
      EXPECT_FALSE(ParseTraceparent(bad).has_value()) << place << " " << c;
    }
  }
}

TEST(TraceContextTest, MakesSpanIdsThatDiffer) {
  std::set<SpanId> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(NewSpanId());
  EXPECT_EQ(ids.size(), 1000U);
  EXPECT_EQ(ids.count(SpanId{}), 0U);
}

}  // namespace
}  // namespace voxloc::server
