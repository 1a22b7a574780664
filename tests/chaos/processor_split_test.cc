// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/processor_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "core/parallel/processors.h"

namespace voxloc::chaos {
namespace {

TEST(ProcessorSplit, GivesTheServerItsProcessorsAndTheGeneratorTheOthers) {
  const size_t usable = AffinityProcessors();
  if (usable < 2) GTEST_SKIP() << "one processor cannot be split";
  const auto split = ProcessorSplit::Make(1);
  ASSERT_TRUE(split.ok()) << split.status();
  std::thread([&] {  // whose processors end with it
    ASSERT_TRUE(split->UseServerCpus().ok());
    EXPECT_EQ(AffinityProcessors(), 1u);
    const int server = sched_getcpu();
    ASSERT_TRUE(split->UseOtherCpus().ok());
    EXPECT_EQ(AffinityProcessors(), usable - 1);
    EXPECT_NE(sched_getcpu(), server);
  })
      .join();
}

TEST(ProcessorSplit, RefusesToLeaveASideWithoutAny) {
  const size_t usable = AffinityProcessors();
  for (const size_t server : {size_t{0}, usable, usable + 5}) {
    const absl::Status status = ProcessorSplit::Make(server).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(std::to_string(server)));
  }
}

}  // namespace
}  // namespace voxloc::chaos
