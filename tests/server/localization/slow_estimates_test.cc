// SPDX-License-Identifier: Apache-2.0
//
// Estimates that take alignments of their own are made behind the batch, callers in turn, and for
// nobody who has gone.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "tests/server/gated_engine.h"
#include "tests/server/plain_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"
#include "tests/support/gate.h"

namespace voxloc::server {
namespace {

// By default, MULTI_NDT aligns from as many poses around the result.
constexpr size_t kOffsets = 6;
constexpr char kSlow[] = "covariance { method: COVARIANCE_METHOD_MULTI_NDT }";
constexpr size_t kFloodPoints = 1000;  // GoodScan has more

// What the engine was asked for, by the sizes of the scans, in order. Thread-safe.
class Asked {
 public:
  void Add(absl::Span<const AlignJob> jobs) {
    const absl::MutexLock lock(&mutex_);
    (jobs.size() == kOffsets ? estimates_ : alignments_).push_back(jobs.front().scan->size());
  }
  [[nodiscard]] std::vector<size_t> estimates() const {
    const absl::MutexLock lock(&mutex_);
    return estimates_;
  }
  [[nodiscard]] std::vector<size_t> alignments() const {
    const absl::MutexLock lock(&mutex_);
    return alignments_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::vector<size_t> estimates_ ABSL_GUARDED_BY(mutex_);
  std::vector<size_t> alignments_ ABSL_GUARDED_BY(mutex_);
};

// Calls of AlignScan on a connection of their own.
class Flood {
 public:
  explicit Flood(TestServer& server)
      : stub_(v1::LocalizationService::NewStub(server.NewChannel())) {}
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;

  void Begin(size_t calls) {
    v1::AlignScanRequest request;
    *request.mutable_setup() =
        TownSession(absl::StrCat("setup { options { ", kSlow, " } }")).setup();
    *request.mutable_scan() = GoodScan();
    *request.mutable_scan()->mutable_clouds(0)->mutable_cloud() =
        CloudOf(ScanFrom(VehiclePose(), kFloodPoints));
    for (size_t i = 0; i < calls; ++i) {
      Call& call = *calls_.emplace_back(std::make_unique<Call>());
      call.reader = stub_->AsyncAlignScan(call.context.get(), request, &queue_);
      call.reader->Finish(&call.response, &call.status, &call);
    }
  }
  void Cancel() {
    for (const auto& call : calls_) call->context->TryCancel();
  }
  // Waits for all to end. How many were answered.
  [[nodiscard]] size_t End() {
    for (size_t i = 0; i < calls_.size(); ++i) {
      void* tag = nullptr;
      bool ok = false;
      EXPECT_TRUE(queue_.Next(&tag, &ok));
    }
    return static_cast<size_t>(std::count_if(calls_.begin(), calls_.end(),
                                             [](const auto& call) { return call->status.ok(); }));
  }

 private:
  struct Call {
    std::unique_ptr<grpc::ClientContext> context = TestServer::NewContext();
    v1::AlignScanResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::AlignScanResponse>> reader;
  };

  const std::unique_ptr<v1::LocalizationService::Stub> stub_;
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<Call>> calls_;
};

class SlowEstimates : public ::testing::Test {
 protected:
  // Slow estimates wait at the gate, or all alignments.
  void Start(bool all, uint32_t max_batch = 1024) {
    const auto holds = [asked = asked_, all](absl::Span<const AlignJob> jobs) {
      asked->Add(jobs);
      return all || jobs.size() == kOffsets;
    };
    server_ = std::make_unique<TownServer>(
        [max_batch](Config& config) {
          config.limits.max_batch = max_batch;
          config.metrics_listen = "127.0.0.1:0";
        },
        std::make_unique<GatedEngine>(gate_, holds));
    gate_->Close();
  }
  [[nodiscard]] std::unique_ptr<TestSession> SlowSession() {
    return std::make_unique<TestSession>(
        *server_, TownSession(absl::StrCat("setup { options { ", kSlow, " } }")));
  }
  void AwaitMetric(const std::string& name, double value) {
    EXPECT_TRUE(Eventually([&] { return MetricsOf(*server_)[name] == value; }))
        << name << " is " << MetricsOf(*server_)[name];
  }

  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  const std::shared_ptr<Asked> asked_ = std::make_shared<Asked>();
  std::unique_ptr<TestServer> server_;
};

TEST_F(SlowEstimates, HoldNoOtherSessionUp) {
  Start(/*all=*/false);
  const auto slow = SlowSession();
  TestSession fast(*server_, "town");
  slow->Send(GoodScan(1));
  gate_->AwaitBatches(1);
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
    EXPECT_EQ(fast.Align(GoodScan(sequence)).status(), v1::ALIGNMENT_STATUS_OK);
  }
  gate_->Open();
  const v1::AlignmentResult result = slow->ReadResult();
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OK) << result.ShortDebugString();
  EXPECT_EQ(result.covariance_report().method(), v1::COVARIANCE_METHOD_MULTI_NDT);
}

TEST_F(SlowEstimates, AreMadeForCallersInTurn) {
  constexpr size_t kCalls = 12;
  Start(/*all=*/false, /*max_batch=*/1);
  const auto vehicle = SlowSession();
  Flood flood(*server_);
  flood.Begin(kCalls);
  gate_->AwaitBatches(1);
  AwaitMetric("voxloc_scans_received_total", kCalls);
  vehicle->Send(GoodScan(1));
  const size_t vehicle_points = ScanFrom(VehiclePose()).size();
  const auto is_of_vehicle = [&](size_t points) { return points == vehicle_points; };
  EXPECT_TRUE(Eventually([&] {
    const std::vector<size_t> alignments = asked_->alignments();
    return std::any_of(alignments.begin(), alignments.end(), is_of_vehicle);
  }));
  gate_->Open();
  EXPECT_EQ(vehicle->ReadResult().status(), v1::ALIGNMENT_STATUS_OK);
  EXPECT_EQ(flood.End(), kCalls);
  const std::vector<size_t> estimates = asked_->estimates();
  EXPECT_EQ(estimates.size(), kCalls + 1);
  // Behind the one that was under way, and one that may have been taken meanwhile.
  EXPECT_LE(std::find_if(estimates.begin(), estimates.end(), is_of_vehicle) - estimates.begin(), 2);
}

TEST_F(SlowEstimates, AreNotMadeForCallsThatAreCancelled) {
  constexpr size_t kCalls = 4;
  Start(/*all=*/false);
  const auto slow = SlowSession();
  slow->Send(GoodScan(1));
  gate_->AwaitBatches(1);
  Flood flood(*server_);
  flood.Begin(kCalls);
  AwaitMetric("voxloc_queue_depth{class=\"estimating\"}", kCalls);
  flood.Cancel();
  EXPECT_EQ(flood.End(), 0u);
  // While the engine is busy.
  AwaitMetric("voxloc_rpc_in_flight{method=\"AlignScan\"}", 0.0);
  AwaitMetric("voxloc_queue_depth{class=\"estimating\"}", 0.0);
  AwaitMetric("voxloc_scans_dropped_total{reason=\"closed\"}", kCalls);
  gate_->Open();
  EXPECT_EQ(slow->ReadResult().status(), v1::ALIGNMENT_STATUS_OK);
  EXPECT_EQ(asked_->estimates().size(), 1u);
}

TEST_F(SlowEstimates, CancelledCallsThatWaitForTheEngineLeaveAtOnce) {
  constexpr size_t kCalls = 6;
  Start(/*all=*/true);
  TestSession vehicle(*server_, "town");
  vehicle.Send(GoodScan(1));
  gate_->AwaitBatches(1);
  Flood flood(*server_);
  flood.Begin(kCalls);
  AwaitMetric("voxloc_queue_depth{class=\"tracking\"}", kCalls);
  flood.Cancel();
  EXPECT_EQ(flood.End(), 0u);
  AwaitMetric("voxloc_rpc_in_flight{method=\"AlignScan\"}", 0.0);
  AwaitMetric("voxloc_queue_depth{class=\"tracking\"}", 0.0);
  gate_->Open();
  EXPECT_EQ(vehicle.ReadResult().status(), v1::ALIGNMENT_STATUS_OK);
  EXPECT_EQ(vehicle.Align(GoodScan(2)).status(), v1::ALIGNMENT_STATUS_OK);
  EXPECT_EQ(asked_->alignments().size(), 2u);
}

TEST_F(SlowEstimates, TheTimeThatTheyWaitIsAccountedFor) {
  Start(/*all=*/false);
  const auto first = SlowSession();
  const auto second = SlowSession();
  first->Send(GoodScan(1));
  gate_->AwaitBatches(1);
  second->Send(GoodScan(1));
  AwaitMetric("voxloc_queue_depth{class=\"estimating\"}", 1.0);
  // Real time: a lower bound of what the server measures, which holds however long it takes.
  const auto seen = std::chrono::steady_clock::now();
  AwaitMetric("voxloc_queue_depth{class=\"estimating\"}", 1.0);
  const std::chrono::duration<double> waited =
      std::chrono::steady_clock::now() - seen;  // Real time: as above
  gate_->Open();
  EXPECT_EQ(first->ReadResult().status(), v1::ALIGNMENT_STATUS_OK);
  const v1::Timings timings = second->ReadResult().timings();
  EXPECT_GE(timings.estimate_wait_s(), waited.count());
  EXPECT_NEAR(timings.server_s(),
              timings.queue_wait_s() + timings.prepare_s() + timings.batch_wait_s() +
                  timings.align_s() + timings.estimate_wait_s() + timings.estimate_s() +
                  timings.reply_s(),
              1e-6);
}

}  // namespace
}  // namespace voxloc::server
