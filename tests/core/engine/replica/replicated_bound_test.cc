// SPDX-License-Identifier: Apache-2.0
//
// Bounds of a search over several engines behind one, of which some fail.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "tests/core/engine/replica/replicated_scene.h"
#include "tests/support/random_bounds.h"

namespace voxloc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A random grid, kept by a fleet and by an engine alone, and what is asked of both.
class ReplicatedBoundTest : public ::testing::Test {
 protected:
  ReplicatedBoundTest() {
    options_.shape.columns_x = 64;
    options_.shape.columns_y = 57;
    options_.shape.shifts = {0, 1, 3};
    options_.shape.tolerances = {0, 2};
    columns_ = RandomColumns(options_, random_);
    scan_ = RandomScan(options_, random_);
    grid_alone_ = *alone_->LoadBoundGrid(Grid());
  }

  BoundGrid Grid() const { return *BoundGrid::Make(options_.shape, columns_); }
  // Of the fleet, with the grid kept by it.
  BoundRequest Request(const Fleet& fleet, size_t blocks) {
    BoundRequest request = RandomRequest(options_, 1, 6, 5, blocks, random_);
    request.scan = scan_;
    request.min_hits = 33;
    auto grid = fleet.engine->LoadBoundGrid(Grid());
    EXPECT_TRUE(grid.ok()) << grid.status();
    if (grid.ok()) request.grid = *std::move(grid);
    return request;
  }
  // The fleet's answer is that of the engine alone.
  void ExpectAsAlone(const Fleet& fleet, BoundRequest request) const {
    const auto hits = fleet.engine->Bound(request);
    request.grid = grid_alone_;
    const auto expected = alone_->Bound(request);
    ASSERT_TRUE(hits.ok()) << hits.status();
    ASSERT_TRUE(expected.ok()) << expected.status();
    const size_t nodes = request.blocks.size() * 6 * 5;
    EXPECT_FALSE(expected->empty() || expected->size() == nodes) << "it tells no nodes apart";
    EXPECT_EQ(Numbers(*hits), Numbers(*expected));
  }

  RandomBoundsOptions options_;
  RandomNumbers random_{17};
  std::vector<uint64_t> columns_;
  std::shared_ptr<const BoundScan> scan_;
  const std::unique_ptr<Engine> alone_ = MakeCpuEngine({1});
  std::shared_ptr<const ResidentBoundGrid> grid_alone_;

 private:
  static std::vector<std::array<uint32_t, 3>> Numbers(const std::vector<BoundHit>& hits) {
    std::vector<std::array<uint32_t, 3>> numbers;
    numbers.reserve(hits.size());
    for (const BoundHit& hit : hits) numbers.push_back({hit.node, hit.hits, hit.z});
    return numbers;
  }
};

TEST_F(ReplicatedBoundTest, BoundsAreThoseOfOneEngineInTheNodesOrder) {
  for (const size_t engines : {2, 3}) {
    const Fleet fleet = MakeEmptyFleet(engines);
    for (const size_t blocks : {1, 2, 5, 6, 17}) ExpectAsAlone(fleet, Request(fleet, blocks));
    const auto none = fleet.engine->Bound(Request(fleet, 0));
    ASSERT_TRUE(none.ok()) << none.status();
    EXPECT_THAT(*none, IsEmpty());
  }
  const Fleet fleet = MakeEmptyFleet(3);
  ExpectAsAlone(fleet, Request(fleet, 12));
  for (const auto& faults : fleet.faults) EXPECT_THAT(faults->batches(), ElementsAre(2, 2));
}

TEST_F(ReplicatedBoundTest, BlocksOfAnEngineThatFailsAreBoundedAgainOnAnother) {
  const Fleet fleet = MakeEmptyFleet(2);
  const BoundRequest request = Request(fleet, 8);
  fleet.faults[0]->fail_in_bound = true;
  ExpectAsAlone(fleet, request);
  EXPECT_THAT(fleet.faults[0]->batches(), ElementsAre(2, 2));
  EXPECT_THAT(fleet.faults[1]->batches(), ElementsAre(2, 2, 2, 2));
  EXPECT_TRUE(fleet.engine->Health().ok());
  // It gets no more work.
  ExpectAsAlone(fleet, request);
  EXPECT_THAT(fleet.faults[0]->batches(), ElementsAre(2, 2));
}

TEST_F(ReplicatedBoundTest, WithoutAnyEngineItIsUnavailable) {
  const Fleet fleet = MakeEmptyFleet(2);
  const BoundRequest request = Request(fleet, 6);
  for (const auto& faults : fleet.faults) faults->fail_in_bound = true;
  // The engines fail on the way, and have failed before.
  for (int call = 0; call < 2; ++call) {
    const absl::Status status = fleet.engine->Bound(request).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(status.message(), HasSubstr("fell off the bus"));
  }
  EXPECT_EQ(fleet.engine->LoadBoundGrid(Grid()).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ReplicatedBoundTest, AGridIsKeptByTheEnginesThatAreLeft) {
  const Fleet fleet = MakeEmptyFleet(3);
  fleet.faults[1]->failed = true;
  const BoundRequest request = Request(fleet, 9);
  ASSERT_NE(request.grid, nullptr);
  EXPECT_EQ(request.grid->MemoryBytes(), grid_alone_->MemoryBytes());
  ExpectAsAlone(fleet, request);
  EXPECT_THAT(fleet.faults[1]->batches(), IsEmpty());
}

TEST_F(ReplicatedBoundTest, AGridIsKeptByAllEnginesOrByNone) {
  const Fleet fleet = MakeEmptyFleet(2);
  fleet.faults[1]->out_of_memory = true;
  EXPECT_EQ(fleet.engine->LoadBoundGrid(Grid()).status().code(),
            absl::StatusCode::kResourceExhausted);
  // No memory is no failure of the engine.
  fleet.faults[1]->out_of_memory = false;
  ExpectAsAlone(fleet, Request(fleet, 4));
  EXPECT_THAT(fleet.faults[1]->batches(), ElementsAre(1, 1));
}

TEST_F(ReplicatedBoundTest, AGridOfAnotherEngineIsRefused) {
  const Fleet fleet = MakeEmptyFleet(2);
  const Fleet other = MakeEmptyFleet(2);
  BoundRequest request = Request(other, 4);
  EXPECT_EQ(fleet.engine->Bound(request).status().code(), absl::StatusCode::kFailedPrecondition);
  request.grid = grid_alone_;
  EXPECT_EQ(fleet.engine->Bound(request).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ReplicatedBoundTest, ADeadlineThatHasPassedIsNoFailureAndIsNotTriedElsewhere) {
  const Fleet fleet = MakeEmptyFleet(2);
  BoundRequest request = Request(fleet, 4);
  request.stop.deadline = absl::InfinitePast();
  EXPECT_EQ(fleet.engine->Bound(request).status().code(), absl::StatusCode::kDeadlineExceeded);
  for (const auto& faults : fleet.faults) EXPECT_THAT(faults->batches(), ElementsAre(1, 1));
  request.stop.deadline = absl::InfiniteFuture();
  ExpectAsAlone(fleet, request);
  for (const auto& faults : fleet.faults) EXPECT_THAT(faults->batches(), ElementsAre(1, 1, 1, 1));
}

}  // namespace
}  // namespace voxloc
