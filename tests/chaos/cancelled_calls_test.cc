// SPDX-License-Identifier: Apache-2.0
//
// Floods of calls that their client cancels: the memory that they take is given back.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <csignal>
#include <list>
#include <memory>

#include "absl/strings/string_view.h"
#include "absl/synchronization/blocking_counter.h"
#include "tests/chaos/process_sample.h"
#include "tests/chaos/server_process.h"
#include "tests/chaos/town_load.h"
#include "tests/e2e/program_path.h"
#include "tests/support/eventually.h"
#include "tests/support/scratch_dir.h"
#include "voxloc/v1/localization_service.grpc.pb.h"

namespace voxloc::chaos {
namespace {

constexpr int kCalls = 10'000;
// Without giving back, about 900 MB stay of five floods; with it, 40 to 80 MB, of which 20 to 32 MB
// are in the caches of threads.
constexpr double kMaxRetained_bytes = 96 << 20;

// Sends all calls at once and cancels each of them as soon as all were sent. Returns when all have
// ended.
void Flood(v1::LocalizationService::Stub& stub, const v1::AlignScanRequest& request) {
  struct Call {
    grpc::ClientContext context;
    v1::AlignScanResponse response;
  };
  std::list<Call> calls;
  absl::BlockingCounter ended(kCalls);
  for (int i = 0; i < kCalls; ++i) {
    Call& call = calls.emplace_back();
    stub.async()->AlignScan(&call.context, &request, &call.response,
                            [&ended](const grpc::Status& /*status*/) { ended.DecrementCount(); });
  }
  for (Call& call : calls) call.context.TryCancel();
  ended.Wait();
}

TEST(CancelledCalls, GiveBackTheirMemory) {
  if (!absl::string_view(VOXLOC_SANITIZE).empty()) {
    GTEST_SKIP() << "sanitizers keep what is freed, to notice its use";
  }
  const ScratchDir folder;
  ServerOptions options;
  options.program = ProgramPath(VOXLOC_CHAOS);
  options.threads = 2;  // each keeps memory for its work
  auto server = ServerProcess::Start(options, folder.Path(""));
  ASSERT_TRUE(server.ok()) << server.status();
  ASSERT_TRUE(LoadTown((*server)->address()).ok());
  const auto stub = v1::LocalizationService::NewStub(
      grpc::CreateChannel((*server)->address(), grpc::InsecureChannelCredentials()));
  v1::AlignScanRequest request;
  request.mutable_setup()->set_map(kTown);
  *request.mutable_scan() = ScanOf(TownDrive(300), 0);
  const auto resident_bytes = [&server] { return SampleProcess((*server)->pid()).resident_bytes; };

  const double before_bytes = resident_bytes();
  for (int round = 0; round < 5; ++round) Flood(*stub, request);
  EXPECT_TRUE(Eventually([&] { return resident_bytes() < before_bytes + kMaxRetained_bytes; },
                         absl::Seconds(200)))
      << "grew by " << (resident_bytes() - before_bytes) * 1e-6 << " MB";
  EXPECT_EQ((*server)->End(SIGTERM), 0);
}

}  // namespace
}  // namespace voxloc::chaos
