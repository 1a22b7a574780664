// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "clients/cli/output/terminal.h"

namespace voxloc::cli {
namespace {

std::string ContentOf(std::FILE* file) {
  std::string content;
  std::rewind(file);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
    content.push_back(static_cast<char>(c));
  }
  return content;
}

TEST(ProgressText, DrawsABarOnATerminalAndALineElsewhere) {
  EXPECT_EQ(ProgressText("loading", "tiles", 6, 12, 3.4, true),
            "loading [############............] 6 of 12 tiles, 3 s left");
  EXPECT_EQ(ProgressText("loading", "tiles", 12, 12, 0.0, true),
            "loading [########################] 12 of 12 tiles");
  EXPECT_EQ(ProgressText("loading", "tiles", 6, 12, -1.0, false), "loading 6 of 12 tiles");
  EXPECT_EQ(ProgressText("loading", "tiles", 0, 0, -1.0, true), "loading 0 of 0 tiles");
}

TEST(LiveLine, WritesPlainLinesWhereThereIsNoTerminal) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  {
    LiveLine line(1000.0, 0.0, file);
    EXPECT_FALSE(line.terminal());
    line.Show("too soon");
    line.Show("first", true);
    line.Show("last", true);
  }
  EXPECT_EQ(ContentOf(file), "first\nlast\n");
  std::fclose(file);
}

}  // namespace
}  // namespace voxloc::cli
