// SPDX-License-Identifier: Apache-2.0
//
// voxlocd with a permanent GPU failure: the exit code, also during a drain. The program is the real
// one, with a fake GPU.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/e2e/child_process.h"
#include "tests/support/eventually.h"
#include "tests/support/scratch_dir.h"
#include "voxloc/v1/map_service.grpc.pb.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// As voxlocd --help has it.
constexpr int kExitRestartRequested = 4;

class EngineFailure : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(VOXLOC_VOXLOCD_WITH_FAILING_GPU)) {
      GTEST_SKIP() << "no " << VOXLOC_VOXLOCD_WITH_FAILING_GPU;
    }
  }

  // Waits until it serves.
  void Start(const std::string& on_engine_failure) {
    process_ = std::make_unique<ChildProcess>(
        std::vector<std::string>{VOXLOC_VOXLOCD_WITH_FAILING_GPU, "--engine=cpu",
                                 "--listen=127.0.0.1:0", "--metrics-listen=off",
                                 "--drain-delay-s=0", "--drain-spread-s=0",
                                 "--drain-timeout-s=3600", "--ready-file=" + ready_,
                                 "--on-engine-failure=" + on_engine_failure},
        scratch_.Path("log"));
    ASSERT_TRUE(
        Eventually([this] { return std::filesystem::exists(ready_) || !process_->running(); }));
    std::ifstream file(ready_);
    const nlohmann::json ready_info = nlohmann::json::parse(file, nullptr, false);
    ASSERT_FALSE(ready_info.is_discarded()) << Output();
    EXPECT_EQ(ready_info.at("engine"), "cuda");
    maps_ = v1::MapService::NewStub(grpc::CreateChannel(ready_info.at("listen").get<std::string>(),
                                                        grpc::InsecureChannelCredentials()));
  }
  std::string Output() const {
    std::ostringstream text;
    text << std::ifstream(scratch_.Path("log")).rdbuf();
    return text.str();
  }
  bool AwaitLog(const std::string& event) const {
    return Eventually([&] { return Output().find("event=" + event) != std::string::npos; });
  }

  // Whether the process has the signal yet to take.
  bool IsSignalPending(int signal) const {
    std::ifstream file("/proc/" + std::to_string(process_->pid()) + "/status");
    for (std::string word; file >> word;) {
      uint64_t waiting = 0;
      if (word == "ShdPnd:" && file >> std::hex >> waiting) {
        return (waiting >> (signal - 1)) % 2 == 1;
      }
    }
    ADD_FAILURE() << "the system does not tell the signals of a process";
    return false;
  }

  // A transaction that is open, for which a drain waits.
  void OpenTransaction() {
    stream_ = maps_->UpdateMapTiles(&context_);
    v1::UpdateMapTilesRequest request;
    request.mutable_begin()->set_map("town");
    request.mutable_begin()->set_create(true);
    v1::UpdateMapTilesResponse response;
    ASSERT_TRUE(stream_->Write(request) && stream_->Read(&response)) << Output();
  }
  void EndTransaction() {
    v1::UpdateMapTilesRequest request;
    request.mutable_abort();
    v1::UpdateMapTilesResponse response;
    EXPECT_TRUE(stream_->Write(request) && stream_->Read(&response));
    EXPECT_TRUE(stream_->Finish().ok());
  }

  const ScratchDir scratch_;
  const std::string ready_ = scratch_.Path("ready.json");
  std::unique_ptr<ChildProcess> process_;
  std::unique_ptr<v1::MapService::Stub> maps_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::UpdateMapTilesRequest, v1::UpdateMapTilesResponse>>
      stream_;
};

TEST_F(EngineFailure, EndsTheProcessToBeStartedAgainWhereTheOperatorWantsThat) {
  ASSERT_NO_FATAL_FAILURE(Start("restart"));
  process_->Signal(SIGUSR1);
  EXPECT_EQ(process_->Wait(), kExitRestartRequested) << Output();
  EXPECT_THAT(Output(), HasSubstr("event=engine_replaced"));
  EXPECT_THAT(Output(), HasSubstr("event=stopped"));
  EXPECT_FALSE(std::filesystem::exists(ready_));
}

TEST_F(EngineFailure, LeavesTheProcessServingElsewhere) {
  ASSERT_NO_FATAL_FAILURE(Start("serve"));
  process_->Signal(SIGUSR1);
  ASSERT_TRUE(AwaitLog("engine_replaced")) << Output();
  OpenTransaction();
  EndTransaction();
  EXPECT_TRUE(process_->running());
  EXPECT_EQ(process_->Stop(), 0) << Output();
}

// After a signal the exit code does not request a restart.
TEST_F(EngineFailure, DuringADrainLeavesTheDrainToEndWell) {
  ASSERT_NO_FATAL_FAILURE(Start("restart"));
  ASSERT_NO_FATAL_FAILURE(OpenTransaction());
  process_->Signal(SIGTERM);
  ASSERT_TRUE(Eventually([this] { return !std::filesystem::exists(ready_); })) << Output();
  process_->Signal(SIGUSR1);
  ASSERT_TRUE(AwaitLog("engine_replaced")) << Output();
  EXPECT_TRUE(process_->running());
  EXPECT_THAT(Output(), Not(HasSubstr("event=stopped")));
  EndTransaction();
  EXPECT_EQ(process_->Wait(), 0) << Output();
  EXPECT_THAT(Output(), HasSubstr("event=stopped"));
}

// The signal is the first one, which waits for the drain.
TEST_F(EngineFailure, BeforeASignalEndsTheProcessAsTheSignalDoes) {
  ASSERT_NO_FATAL_FAILURE(Start("restart"));
  ASSERT_NO_FATAL_FAILURE(OpenTransaction());
  process_->Signal(SIGUSR1);
  ASSERT_TRUE(Eventually([this] { return !std::filesystem::exists(ready_); })) << Output();
  process_->Signal(SIGTERM);
  // What has been taken is handled before the next one is.
  ASSERT_TRUE(Eventually([this] { return !IsSignalPending(SIGTERM); })) << Output();
  process_->Signal(SIGHUP);
  ASSERT_TRUE(AwaitLog("reload_ignored")) << Output();
  EndTransaction();
  EXPECT_EQ(process_->Wait(), 0) << Output();
  EXPECT_THAT(Output(), HasSubstr("event=stopped"));
}

}  // namespace
}  // namespace voxloc
