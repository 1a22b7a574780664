// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>

#include "server/scheduling/scheduler.h"

namespace voxloc::server {
namespace {

TEST(BatchLimit, DoesNotLimitBatchesThatAreQuick) {
  BatchLimit limit(0.05, 2);
  limit.RecordBatch(1000, 0.049);
  limit.RecordBatch(1, 0.0);
  EXPECT_GT(limit.scans(), 1'000'000u);
}

TEST(BatchLimit, CutsABatchThatTookTooLongToWhatThereWasTimeFor) {
  BatchLimit limit(0.05, 2);
  limit.RecordBatch(400, 0.5);
  EXPECT_EQ(limit.scans(), 40u);
  limit.RecordBatch(40, 0.1);
  EXPECT_EQ(limit.scans(), 20u);
}

TEST(BatchLimit, LeavesTheLeastBatchHoweverSlow) {
  BatchLimit limit(0.05, 8);
  limit.RecordBatch(1, 3.0);
  EXPECT_EQ(limit.scans(), 8u);
  BatchLimit of_none(0.05, 0);
  of_none.RecordBatch(1, 3.0);
  EXPECT_EQ(of_none.scans(), 1u);
}

TEST(BatchLimit, GrowsWithFullBatchesThatAreQuickerButAtMostTwofold) {
  BatchLimit limit(0.05, 2);
  limit.RecordBatch(100, 0.25);
  ASSERT_EQ(limit.scans(), 20u);
  limit.RecordBatch(19, 0.001);  // says nothing about larger ones
  EXPECT_EQ(limit.scans(), 20u);
  limit.RecordBatch(20, 0.04);
  EXPECT_EQ(limit.scans(), 25u);
  limit.RecordBatch(25, 0.001);
  EXPECT_EQ(limit.scans(), 50u);
}

TEST(BatchLimit, ForgetsASingleSlowBatch) {
  BatchLimit limit(0.05, 2);
  limit.RecordBatch(1, 10.0);  // a pause of the process, say
  int batches = 0;
  for (; limit.scans() < 1024 && batches < 100; ++batches) limit.RecordBatch(limit.scans(), 0.001);
  EXPECT_EQ(batches, 9);
}

TEST(BatchLimit, IsNoneWhereBatchesAreToEndAtAnyTime) {
  BatchLimit limit(std::numeric_limits<double>::infinity(), 2);
  limit.RecordBatch(1, 1e6);
  EXPECT_GT(limit.scans(), 1'000'000u);
}

}  // namespace
}  // namespace voxloc::server
