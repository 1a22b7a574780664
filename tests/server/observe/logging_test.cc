// SPDX-License-Identifier: Apache-2.0

#include "server/observe/logging.h"

#include <gtest/gtest.h>

namespace voxloc::server {
namespace {

TEST(LoggingTest, WritesOneLineThatNoValueCanForge) {
  EXPECT_EQ(FormatLogLine(LogLevel::kInfo, "session_opened",
                          {{"session", "s-1"}, {"points", 12}, {"share", 0.5}}),
            "level=info event=session_opened session=s-1 points=12 share=0.5");
  EXPECT_EQ(FormatLogLine(LogLevel::kWarn, "x", {{"vehicle", "a b\nlevel=error \"q\""}}),
            "level=warn event=x vehicle=\"a b\\nlevel=error \\\"q\\\"\"");
  EXPECT_EQ(FormatLogLine(LogLevel::kInfo, "x", {{"empty", ""}}), "level=info event=x empty=\"\"");
}

TEST(LoggingTest, LinesOfATraceNameIt) {
  const auto trace = ParseTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");
  ASSERT_TRUE(trace.has_value());
  {
    const LogTrace outer(*trace);
    EXPECT_EQ(FormatLogLine(LogLevel::kInfo, "x", {{"a", 1}}),
              "level=info event=x a=1 trace_id=4bf92f3577b34da6a3ce929d0e0e4736");
    {
      const LogTrace none{TraceContext()};
      EXPECT_EQ(FormatLogLine(LogLevel::kInfo, "x", {}), "level=info event=x");
    }
    EXPECT_EQ(FormatLogLine(LogLevel::kInfo, "x", {}),
              "level=info event=x trace_id=4bf92f3577b34da6a3ce929d0e0e4736");
  }
  EXPECT_EQ(FormatLogLine(LogLevel::kInfo, "x", {}), "level=info event=x");
}

}  // namespace
}  // namespace voxloc::server
