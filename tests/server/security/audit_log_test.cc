// SPDX-License-Identifier: Apache-2.0

#include "server/security/audit_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/server/security/secured_calls.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;

AuditRecord Record(const std::string& map) {
  AuditRecord record;
  record.caller = "mapper";
  record.peer = "ipv4:10.0.0.1:5";
  record.method = "DeleteMap";
  record.map = map;
  record.revision = 7;
  record.detail = "deleted";
  record.code = "OK";
  return record;
}

class AuditLogTest : public testing::Test {
 protected:
  TestFolder folder_;
  const Metrics metrics_;
};

TEST_F(AuditLogTest, WritesALineForEachRecordThatNamesCannotForge) {
  AuditLog log(folder_.Path("audit.log"), metrics_);
  ASSERT_TRUE(log.Open().ok());
  log.Write(Record("town"));
  log.Write(Record("a\n2026-01-01T00:00:00.000Z level=info event=audit caller=\"admin\""));
  EXPECT_THAT(
      folder_.AwaitLines("audit.log", 2),
      testing::ElementsAre(
          MatchesRegex("[0-9-]+T[0-9:]+\\.[0-9][0-9][0-9]Z level=info event=audit caller=mapper "
                       "peer=ipv4:10.0.0.1:5 method=DeleteMap map=town revision=7 detail=deleted "
                       "code=OK"),
          AllOf(HasSubstr("map=\"a\\n2026"), HasSubstr("\\\"admin\\\""))));
}

TEST_F(AuditLogTest, OpensAnewWhenItsFileHasBeenMovedAway) {
  AuditLog log(folder_.Path("audit.log"), metrics_);
  ASSERT_TRUE(log.Open().ok());
  log.Write(Record("first"));
  static_cast<void>(folder_.AwaitLines("audit.log", 1));
  std::filesystem::rename(folder_.Path("audit.log"), folder_.Path("audit.log.1"));
  log.Write(Record("second"));
  EXPECT_THAT(folder_.Read("audit.log.1"), HasSubstr("map=first "));
  EXPECT_THAT(folder_.AwaitLines("audit.log", 1), testing::ElementsAre(HasSubstr("map=second ")));
  // What is there already stays.
  AuditLog again(folder_.Path("audit.log"), metrics_);
  again.Write(Record("third"));
  EXPECT_EQ(folder_.AwaitLines("audit.log", 2).size(), 2U);
  EXPECT_EQ(metrics_.audit_failures.Value(), 0.0);
}

TEST_F(AuditLogTest, CountsWhatItCannotWriteAndGoesOn) {
  const std::string inside = folder_.Path("gone") + "/audit.log";
  AuditLog log(inside, metrics_);
  EXPECT_THAT(std::string(log.Open().message()), HasSubstr("cannot open " + inside));
  log.Write(Record("town"));
  EXPECT_TRUE(Eventually([&] { return metrics_.audit_failures.Value() == 1.0; }));
  std::filesystem::create_directory(folder_.Path("gone"));
  log.Write(Record("town"));
  EXPECT_EQ(folder_.AwaitLines("gone/audit.log", 1).size(), 1U);
  EXPECT_EQ(metrics_.audit_failures.Value(), 1.0);
}

TEST_F(AuditLogTest, LinesOfManyThreadsStayWhole) {
  AuditLog log(folder_.Path("audit.log"), metrics_);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&log] {
      for (int k = 0; k < 250; ++k) log.Write(Record(std::string(200, 'm')));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto lines = folder_.AwaitLines("audit.log", 1000);
  EXPECT_EQ(lines.size(), 1000U);
  for (const std::string& line : lines) EXPECT_THAT(line, EndsWith(" code=OK"));
}

TEST_F(AuditLogTest, WritesWhatWaitsBeforeItEnds) {
  {
    AuditLog log(folder_.Path("audit.log"), metrics_);
    for (int i = 0; i < 2000; ++i) log.Write(Record("town"));
  }
  EXPECT_EQ(folder_.Lines("audit.log").size(), 2000U);
}

// A pipe that nobody reads from is a disk that has stopped: its 64 kB hold some 400 lines.
TEST_F(AuditLogTest, ADiskThatStandsStillHoldsNoCallUpAndLosesNoLineInSilence) {
  const std::string pipe = folder_.Path("audit.log");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  constexpr size_t kLines = 10'000;
  std::string read_lines;
  {
    AuditLog log(pipe, metrics_);
    ASSERT_TRUE(log.Open().ok());
    for (size_t i = 0; i < kLines; ++i) log.Write(Record("town"));
    EXPECT_GT(metrics_.audit_failures.Value(), 1000.0);
    // The disk goes on: all lines that were not counted as failed are there, whole.
    const auto written = [&] {
      char buffer[1 << 16];
      ssize_t bytes = 0;
      while ((bytes = read(reader, buffer, sizeof(buffer))) > 0) {
        read_lines.append(buffer, static_cast<size_t>(bytes));
      }
      return static_cast<size_t>(std::count(read_lines.begin(), read_lines.end(), '\n'));
    };
    EXPECT_TRUE(Eventually([&] {
      return written() + static_cast<size_t>(metrics_.audit_failures.Value()) == kLines;
    }));
  }
  close(reader);
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(read_lines, '\n', absl::SkipEmpty()))) {
    EXPECT_THAT(line, EndsWith(" code=OK"));
  }
}

}  // namespace
}  // namespace voxloc::server
