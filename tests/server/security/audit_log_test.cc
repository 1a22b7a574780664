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
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "server/observe/logging.h"
#include "tests/server/security/any_rpc.h"
#include "tests/server/security/secured_calls.h"
#include "tests/server/test_server.h"
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

// What strangers send is as long as a message may be.
constexpr size_t kLongBytes = 15'000'000;
// Of five fields of 512 bytes, each of which may be written as four.
constexpr size_t kMostLineBytes = 12'000;

AuditRecord LongRecord() {
  const std::string all(kLongBytes, '\x01');
  return {all, all, "DeleteMap", all, 7, all, "PERMISSION_DENIED"};
}

TEST_F(AuditLogTest, CutsWhatIsLongAndSaysSo) {
  AuditLog log(folder_.Path("audit.log"), metrics_);
  log.Write(LongRecord());
  log.Write(Record(std::string(64, 'm')));
  const auto lines = folder_.AwaitLines("audit.log", 2);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_LT(lines[0].size(), kMostLineBytes);
  EXPECT_THAT(lines[0], AllOf(HasSubstr("...(cut from 15000000 bytes)\" revision=7 detail="),
                              HasSubstr("...(cut from 15000000 bytes)\" code=PERMISSION_DENIED")));
  EXPECT_THAT(lines[1], HasSubstr(" map=" + std::string(64, 'm') + " "));
}

// A pipe that nobody reads from, as above.
TEST_F(AuditLogTest, WhatWaitsForADiskHasABoundInBytes) {
  constexpr size_t kMostWaitingBytes = size_t{8} << 20;
  constexpr size_t kPipeBytes = 1 << 16;
  const std::string pipe = folder_.Path("audit.log");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  constexpr size_t kLines = 3000;  // of together some 20 MB
  AuditRecord record = LongRecord();
  record.caller.resize(1000);
  record.peer.resize(1000);
  record.map.resize(1000);
  record.detail.resize(1000);
  size_t bytes = 0;
  size_t lines = 0;
  {
    AuditLog log(pipe, metrics_);
    for (size_t i = 0; i < kLines; ++i) log.Write(record);
    const auto failed = static_cast<size_t>(metrics_.audit_failures.Value());
    EXPECT_GT(failed, 0U);
    EXPECT_TRUE(Eventually([&] {
      char buffer[1 << 16];
      ssize_t part = 0;
      while ((part = read(reader, buffer, sizeof(buffer))) > 0) {
        bytes += static_cast<size_t>(part);
        lines += static_cast<size_t>(std::count(buffer, buffer + part, '\n'));
      }
      return lines + failed == kLines;
    }));
  }
  close(reader);
  // Times of lines are on top, and one line is being written.
  EXPECT_LE(bytes, kMostWaitingBytes + lines * 32 + kPipeBytes + kMostLineBytes);
  EXPECT_GT(bytes, kMostWaitingBytes / 2);
}

// Standard error goes to a file for the time of a test.
class StandardErrorFile {
 public:
  explicit StandardErrorFile(std::string path)
      : path_(std::move(path)), before_(dup(STDERR_FILENO)) {
    const int file = open(path_.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    dup2(file, STDERR_FILENO);
    close(file);
  }
  StandardErrorFile(const StandardErrorFile&) = delete;
  StandardErrorFile& operator=(const StandardErrorFile&) = delete;
  ~StandardErrorFile() {
    dup2(before_, STDERR_FILENO);
    close(before_);
  }

 private:
  const std::string path_;
  const int before_;
};

TEST_F(AuditLogTest, WithoutAFileStrangersFillNoLogAndDisplaceNoChange) {
  constexpr size_t kCalls = 5000;
  const uint64_t left_out = SuppressedLogLines();
  size_t written = 0;
  {
    const StandardErrorFile standard_error(folder_.Path("stderr"));
    AuditLog log("", metrics_);
    AuditRecord denied = Record(std::string(1000, 'x'));
    denied.code = "PERMISSION_DENIED";
    for (; written < kCalls; ++written) log.Write(denied);
    // Again and again, since other tests have used up the burst of these.
    EXPECT_TRUE(Eventually([&] {
      log.Write(Record("town"));
      ++written;
      return folder_.Read("stderr").find(" map=town ") != std::string::npos;
    }));
  }
  size_t lines = 0;
  size_t bytes = 0;
  for (const std::string& line : folder_.Lines("stderr")) {
    // The log is written by a thread, which may still write lines of earlier tests.
    const bool of_this_test = line.find(" map=\"xxx") != std::string::npos ||
                              line.find(" map=town ") != std::string::npos;
    if (!of_this_test) continue;
    ++lines;
    bytes += line.size();
  }
  EXPECT_GT(lines, size_t{1});
  EXPECT_LT(lines, kCalls / 2);
  EXPECT_LT(bytes, lines * 400);  // the name is cut
  // What was left out is counted; the last lines may not be written yet.
  EXPECT_LE(lines + SuppressedLogLines() - left_out, written);
  EXPECT_GT(SuppressedLogLines() - left_out, kCalls / 2);
}

// Whatever the call, and without credentials.
TEST(AuditLogOfAServer, HasAFewBytesOfACallWithMillions) {
  const TestFolder folder;
  TestServer server([&folder](Config& config) {
    config.access_file = folder.Write("access.yaml", "identities: {}\n");
    config.audit_log = folder.Path("audit.log");
  });
  const auto channel = ChannelTo(server.server());
  const std::string text(3'000'000, '\x02');
  for (const auto* const rpc : AllRpcs()) {
    const auto request = RequestOf(*rpc, text, text);
    if (auto* const drain = dynamic_cast<v1::DrainRequest*>(request.get()); drain != nullptr) {
      drain->set_reason(text);
    }
    if (auto* const capture = dynamic_cast<v1::GetCaptureRequest*>(request.get());
        capture != nullptr) {
      capture->set_id(text);
    }
    EXPECT_TRUE(IsDenial(CallByName(channel, PathOf(*rpc), *request, "").status)) << rpc->name();
  }
  const auto lines = folder.AwaitLines("audit.log", 13);  // those of map-write and of admin
  EXPECT_EQ(lines.size(), 13U);
  for (const std::string& line : lines) EXPECT_LT(line.size(), kMostLineBytes);
  EXPECT_THAT(lines, testing::Contains(HasSubstr("...(cut from 3000000 bytes)")));
}

}  // namespace
}  // namespace voxloc::server
