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

}  // namespace
}  // namespace voxloc::server
