// SPDX-License-Identifier: Apache-2.0
//
// Estimates that take alignments of their own are made behind the batch.

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/forwarding_engine.h"
#include "tests/support/gate.h"

namespace voxloc::server {
namespace {

// By default, MULTI_NDT aligns from as many poses around the result.
constexpr size_t kOffsets = 6;

// Holds calls of as many jobs at a gate.
class HeldOffsetsEngine : public ForwardingEngine {
 public:
  explicit HeldOffsetsEngine(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}
  std::vector<AlignResult> Align(absl::Span<const AlignJob> jobs) override {
    if (jobs.size() == kOffsets) gate_->Pass(jobs.size());
    return ForwardingEngine::Align(jobs);
  }

 private:
  const std::shared_ptr<Gate> gate_;
};

TEST(SlowEstimates, HoldNoOtherSessionUp) {
  const auto gate = std::make_shared<Gate>();
  TestServer server({}, std::make_unique<HeldOffsetsEngine>(gate));
  server.LoadTown();
  gate->Close();
  v1::OpenSession open;
  open.mutable_setup()->set_map("town");
  open.mutable_setup()->mutable_options()->mutable_covariance()->set_method(
      v1::COVARIANCE_METHOD_MULTI_NDT);
  TestSession slow(server);
  slow.Open(open);
  TestSession fast(server);
  fast.Open();
  slow.Send(GoodScan(1));
  gate->AwaitBatches(1);
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
    fast.Send(GoodScan(sequence));
    EXPECT_EQ(fast.ReadResult().status(), v1::ALIGNMENT_STATUS_OK);
  }
  gate->Open();
  const v1::AlignmentResult result = slow.ReadResult();
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OK) << result.ShortDebugString();
  EXPECT_EQ(result.covariance_report().method(), v1::COVARIANCE_METHOD_MULTI_NDT);
}

}  // namespace
}  // namespace voxloc::server
