// SPDX-License-Identifier: Apache-2.0

#include "server/security/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "tests/server/security/secured_calls.h"

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

TEST(AuditLog, WritesALineForEachRecord) {
  const TestFolder folder;
  const Metrics metrics;
  AuditLog log(folder.Path("audit.log"), metrics);
  ASSERT_TRUE(log.Open().ok());
  log.Write(Record("town"));
  EXPECT_THAT(folder.Lines("audit.log"),
              testing::ElementsAre(MatchesRegex(
                  "[0-9-]+T[0-9:]+\\.[0-9][0-9][0-9]Z level=info event=audit caller=mapper "
                  "peer=ipv4:10.0.0.1:5 method=DeleteMap map=town revision=7 detail=deleted "
                  "code=OK")));
}

TEST(AuditLog, NamesCannotForgeLines) {
  const TestFolder folder;
  const Metrics metrics;
  AuditLog log(folder.Path("audit.log"), metrics);
  ASSERT_TRUE(log.Open().ok());
  log.Write(Record("a\n2026-01-01T00:00:00.000Z level=info event=audit caller=\"admin\""));
  const auto lines = folder.Lines("audit.log");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines.front(), AllOf(HasSubstr("map=\"a\\n2026"), HasSubstr("\\\"admin\\\"")));
}

TEST(AuditLog, OpensAnewWhenItsFileHasBeenMovedAway) {
  const TestFolder folder;
  const Metrics metrics;
  AuditLog log(folder.Path("audit.log"), metrics);
  ASSERT_TRUE(log.Open().ok());
  log.Write(Record("first"));
  std::filesystem::rename(folder.Path("audit.log"), folder.Path("audit.log.1"));
  log.Write(Record("second"));
  EXPECT_THAT(folder.Read("audit.log.1"), HasSubstr("map=first "));
  EXPECT_THAT(folder.Lines("audit.log"), testing::ElementsAre(HasSubstr("map=second ")));
  // What is there already stays.
  AuditLog again(folder.Path("audit.log"), metrics);
  again.Write(Record("third"));
  EXPECT_EQ(folder.Lines("audit.log").size(), 2U);
  EXPECT_EQ(metrics.audit_failures.Value(), 0.0);
}

TEST(AuditLog, CountsWhatItCannotWriteAndGoesOn) {
  const TestFolder folder;
  const Metrics metrics;
  const std::string inside = folder.Path("gone/audit.log");
  AuditLog log(inside, metrics);
  EXPECT_THAT(std::string(log.Open().message()), HasSubstr("cannot open " + inside));
  log.Write(Record("town"));
  EXPECT_EQ(metrics.audit_failures.Value(), 1.0);
  std::filesystem::create_directory(folder.Path("gone"));
  log.Write(Record("town"));
  EXPECT_EQ(metrics.audit_failures.Value(), 1.0);
  EXPECT_EQ(folder.Lines("gone/audit.log").size(), 1U);
}

TEST(AuditLog, LinesOfManyThreadsStayWhole) {
  const TestFolder folder;
  const Metrics metrics;
  AuditLog log(folder.Path("audit.log"), metrics);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&log] {
      for (int k = 0; k < 250; ++k) log.Write(Record(std::string(200, 'm')));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto lines = folder.Lines("audit.log");
  EXPECT_EQ(lines.size(), 1000U);
  for (const std::string& line : lines) EXPECT_THAT(line, EndsWith(" code=OK"));
}

}  // namespace
}  // namespace voxloc::server
