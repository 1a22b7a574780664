// SPDX-License-Identifier: Apache-2.0
//
// Estimates that take alignments of their own are made behind the batch.

#include <gtest/gtest.h>

#include <memory>

#include "tests/server/gated_engine.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/gate.h"

namespace voxloc::server {
namespace {

// By default, MULTI_NDT aligns from as many poses around the result.
constexpr size_t kOffsets = 6;

TEST(SlowEstimates, HoldNoOtherSessionUp) {
  const auto gate = std::make_shared<Gate>();
  TownServer server({}, std::make_unique<GatedEngine>(gate, [](absl::Span<const AlignJob> jobs) {
                      return jobs.size() == kOffsets;
                    }));
  gate->Close();
  TestSession slow(server, TownSession("setup { options { covariance {"
                                       " method: COVARIANCE_METHOD_MULTI_NDT } } }"));
  TestSession fast(server, "town");
  slow.Send(GoodScan(1));
  gate->AwaitBatches(1);
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
    EXPECT_EQ(fast.Align(GoodScan(sequence)).status(), v1::ALIGNMENT_STATUS_OK);
  }
  gate->Open();
  const v1::AlignmentResult result = slow.ReadResult();
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OK) << result.ShortDebugString();
  EXPECT_EQ(result.covariance_report().method(), v1::COVARIANCE_METHOD_MULTI_NDT);
}

}  // namespace
}  // namespace voxloc::server
