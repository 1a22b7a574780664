// SPDX-License-Identifier: Apache-2.0
//
// The program itself: what it prints, how it starts, drains and ends.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "core/checksum/crc32c.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/e2e/child_process.h"
#include "tests/e2e/compressed_call.h"
#include "tests/e2e/program_path.h"
#include "tests/support/eventually.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/test_engines.h"
#include "voxloc/v1/admin_service.grpc.pb.h"
#include "voxloc/v1/map_service.grpc.pb.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kHealthServing = grpc::health::v1::HealthCheckResponse::SERVING;
constexpr auto kHealthNotServing = grpc::health::v1::HealthCheckResponse::NOT_SERVING;
constexpr char kTownName[] = "voxloc.v1.LocalizationService/town";

std::vector<std::string> VoxlocdWith(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), ProgramPath(VOXLOC_VOXLOCD));
  return arguments;
}

// A run of voxlocd.
class Voxlocd {
 public:
  explicit Voxlocd(const std::vector<std::string>& arguments)
      : process_(VoxlocdWith(arguments), scratch_.Path("log")) {}

  void Signal(int signal) { process_.Signal(signal); }
  int Wait() { return process_.Wait(); }
  bool Ended() { return !process_.running(); }

  // The most memory that it has had so far.
  int64_t PeakMemoryBytes() const {
    std::ifstream file("/proc/" + std::to_string(process_.pid()) + "/status");
    for (std::string word; file >> word;) {
      int64_t kib = 0;
      if (word == "VmHWM:" && file >> kib) return kib << 10;
    }
    ADD_FAILURE() << "the system does not tell the memory of a process";
    return 0;
  }

  std::string Output() const {
    std::ifstream file(scratch_.Path("log"));
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

 private:
  const ScratchDir scratch_;
  ChildProcess process_;
};

class VoxlocdTest : public ::testing::Test {
 protected:
  // Starts a server and waits for its ready file, which must name this engine. Left to itself, it
  // takes the GPU where there is one.
  std::unique_ptr<Voxlocd> Start(std::vector<std::string> more = {},
                                 const std::string& engine = HasEngine("cuda") ? "cuda" : "cpu") {
    std::remove(ready_.c_str());  // of a server that was killed
    more.emplace_back("--listen=127.0.0.1:0");
    more.emplace_back("--metrics-listen=127.0.0.1:0");
    more.emplace_back("--ready-file=" + ready_);
    auto run = std::make_unique<Voxlocd>(more);
    EXPECT_TRUE(Eventually([&] { return std::ifstream(ready_).good() || run->Ended(); }));
    std::ifstream file(ready_);
    const nlohmann::json ready_info = nlohmann::json::parse(file, nullptr, false);
    EXPECT_FALSE(ready_info.is_discarded()) << run->Output();
    if (!ready_info.is_discarded()) {
      listen_ = ready_info.at("listen");
      metrics_ = ready_info.at("metrics");
      EXPECT_EQ(ready_info.at("engine"), engine) << run->Output();
    }
    return run;
  }

  grpc::health::v1::HealthCheckResponse::ServingStatus HealthOf(const std::string& service) const {
    const auto stub = grpc::health::v1::Health::NewStub(
        grpc::CreateChannel(listen_, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(service);
    grpc::health::v1::HealthCheckResponse response;
    const grpc::Status status = stub->Check(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.status();
  }

  // As many points as take some tenths of a second to build.
  void StoreTown() const {
    const auto stub =
        v1::MapService::NewStub(grpc::CreateChannel(listen_, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    const auto stream = stub->UpdateMapTiles(&context);
    v1::UpdateMapTilesRequest request;
    v1::UpdateMapTilesResponse response;
    request.mutable_begin()->set_map("town");
    request.mutable_begin()->set_create(true);
    ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
    std::mt19937 random(1);  // the standard's own: the same points everywhere
    for (int tile = 0; tile < 20; ++tile) {
      std::vector<float> xyz;
      const auto below = [&random](uint32_t limit) {
        return 0.01F * static_cast<float>(random() % limit);
      };
      for (int i = 0; i < 50'000; ++i) {
        xyz.push_back(static_cast<float>(50 * tile) + below(5000));
        xyz.push_back(below(5000));
        xyz.push_back(below(100));
      }
      v1::TileChunk& chunk = *request.mutable_chunk();
      chunk.Clear();
      chunk.set_tile_id(std::to_string(tile));
      chunk.mutable_cloud()->set_layout(v1::CLOUD_LAYOUT_FLOAT32_XYZ);
      chunk.mutable_cloud()->set_data(xyz.data(), xyz.size() * sizeof(float));
      chunk.set_crc32c(Crc32c(chunk.cloud().data()));
      chunk.set_last(true);
      chunk.set_total_points(50'000);
      ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
    }
    request.mutable_commit();
    ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
    ASSERT_TRUE(response.has_committed());
    EXPECT_TRUE(stream->Finish().ok());
  }

  const std::string ready_ =
      ::testing::TempDir() + "/voxlocd_ready_" + std::to_string(getpid()) + ".json";
  std::string listen_;
  std::string metrics_;
};

class VoxlocdOnEngineTest : public VoxlocdTest,
                            public ::testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(, VoxlocdOnEngineTest, ::testing::ValuesIn(TestEngineNames()),
                         NameByEngine);

TEST_P(VoxlocdOnEngineTest, ServesUntilSigtermAndEndsWellThen) {
  const ScratchDir folder;
  for (const int signal : {SIGTERM, SIGINT}) {
    const auto run =
        Start({"--engine=" + GetParam(), "--drain-delay-s=0", "--data-dir=" + folder.Path("maps")},
              GetParam());
    const auto stub =
        v1::AdminService::NewStub(grpc::CreateChannel(listen_, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    v1::GetServerInfoResponse info;
    ASSERT_TRUE(stub->GetServerInfo(&context, v1::GetServerInfoRequest(), &info).ok());
    EXPECT_EQ(info.engine(), GetParam());
    run->Signal(signal);
    EXPECT_EQ(run->Wait(), 0);
    EXPECT_FALSE(std::ifstream(ready_).good());
    EXPECT_THAT(run->Output(), HasSubstr("event=serving"));
    EXPECT_THAT(run->Output(), Not(HasSubstr("maps_not_kept")));
    EXPECT_THAT(run->Output(), HasSubstr("event=stopped"));
  }
}

// Without readiness probes a drain does not wait for load balancers.
TEST_F(VoxlocdTest, WaitsForNobodyWithoutCallsAndProbes) {
  const auto run = Start({"--drain-delay-s=3600", "--drain-spread-s=3600"});
  run->Signal(SIGINT);
  EXPECT_EQ(run->Wait(), 0);
}

TEST_F(VoxlocdTest, ASecondSignalEndsItAtOnce) {
  const auto run = Start({"--drain-delay-s=3600"});
  EXPECT_EQ(HealthOf("voxloc.v1.LocalizationService"), kHealthServing);
  run->Signal(SIGTERM);
  ASSERT_TRUE(Eventually([&] { return !std::ifstream(ready_).good(); })) << "it does not drain";
  run->Signal(SIGTERM);
  EXPECT_EQ(run->Wait(), 128 + SIGTERM);
}

TEST_F(VoxlocdTest, OpenStreamsHoldTheEndUpNoLongerThanTheTimeout) {
  const auto run = Start({"--drain-delay-s=0", "--drain-timeout-s=0.1"});
  const auto stub =
      v1::MapService::NewStub(grpc::CreateChannel(listen_, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto stream = stub->UpdateMapTiles(&context);
  v1::UpdateMapTilesRequest request;
  request.mutable_begin()->set_map("town");
  request.mutable_begin()->set_create(true);
  ASSERT_TRUE(stream->Write(request));
  v1::UpdateMapTilesResponse response;
  ASSERT_TRUE(stream->Read(&response));
  run->Signal(SIGTERM);
  EXPECT_EQ(run->Wait(), 0);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(VoxlocdTest, EndsWhatIsLeftOfADrainThatWasAskedFor) {
  const auto run = Start({"--drain-delay-s=3600", "--drain-timeout-s=0.1"});
  EXPECT_EQ(HealthOf("voxloc.v1.LocalizationService"), kHealthServing);
  const auto stub =
      v1::AdminService::NewStub(grpc::CreateChannel(listen_, grpc::InsecureChannelCredentials()));
  {
    grpc::ClientContext context;
    v1::DrainRequest request;
    v1::DrainResponse response;
    ASSERT_TRUE(stub->Drain(&context, request, &response).ok());
  }
  EXPECT_EQ(HealthOf("voxloc.v1.LocalizationService"), kHealthNotServing);
  ASSERT_TRUE(Eventually([&] { return run->Output().find("event=drained") != std::string::npos; }));
  {
    grpc::ClientContext context;
    v1::GetServerInfoResponse info;
    ASSERT_TRUE(stub->GetServerInfo(&context, v1::GetServerInfoRequest(), &info).ok());
    EXPECT_EQ(info.state(), v1::SERVER_STATE_DRAINING);
  }
  EXPECT_FALSE(run->Ended());
  run->Signal(SIGTERM);
  EXPECT_EQ(run->Wait(), 0);
}

// Wherever in its start the signal comes; the engine is chosen before anything is served.
TEST_F(VoxlocdTest, EndsWellWhenItIsStoppedWhileItStarts) {
  Voxlocd run({"--engine=cpu", "--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0",
               "--ready-file=" + ready_});
  ASSERT_TRUE(
      Eventually([&] { return run.Output().find("event=engine_chosen") != std::string::npos; }));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 0) << run.Output();
  EXPECT_FALSE(std::ifstream(ready_).good());
}

TEST_F(VoxlocdTest, EndsWellWhenItIsStoppedWhileItLoadsMaps) {
  const ScratchDir folder;
  const std::vector<std::string> flags = {"--engine=cpu", "--moments-cache=off",
                                          "--data-dir=" + folder.Path("maps")};
  {
    const auto run = Start(flags, "cpu");
    StoreTown();
    run->Signal(SIGTERM);
    EXPECT_EQ(run->Wait(), 0);
  }
  const auto run = Start(flags, "cpu");  // the maps follow
  run->Signal(SIGTERM);
  EXPECT_EQ(run->Wait(), 0) << run->Output();
  const auto again = Start(flags, "cpu");
  EXPECT_TRUE(Eventually([&] { return HealthOf(kTownName) == kHealthServing; })) << again->Output();
}

TEST_F(VoxlocdTest, RefusesAnAddressThatIsTaken) {
  const auto run = Start();
  Voxlocd second({"--listen=" + listen_, "--metrics-listen=off"});
  EXPECT_EQ(second.Wait(), 3);
  EXPECT_THAT(second.Output(), HasSubstr("cannot serve gRPC on " + listen_));
  Voxlocd third({"--listen=127.0.0.1:0", "--metrics-listen=" + metrics_});
  EXPECT_EQ(third.Wait(), 3);
  EXPECT_THAT(third.Output(),
              HasSubstr("cannot serve metrics and probes: metrics_listen " + metrics_));
  EXPECT_FALSE(run->Ended());
}

TEST_F(VoxlocdTest, ServesOtherMachinesWithoutEncryptionOnlyWhereItIsAskedTo) {
  Voxlocd refused({"--listen=0.0.0.0:0", "--metrics-listen=off", "--engine=cpu"});
  EXPECT_EQ(refused.Wait(), 2);
  EXPECT_THAT(refused.Output(), HasSubstr("--insecure"));
  Voxlocd no_file({"--listen=127.0.0.1:0", "--metrics-listen=off", "--engine=cpu",
                   "--access-file=/nowhere/access.yaml"});
  EXPECT_EQ(no_file.Wait(), 2);
  EXPECT_THAT(no_file.Output(), HasSubstr("cannot read /nowhere/access.yaml"));
  Voxlocd insecure({"--listen=0.0.0.0:0", "--insecure", "--metrics-listen=off", "--engine=cpu",
                    "--ready-file=" + ready_});
  EXPECT_TRUE(Eventually([&] { return std::ifstream(ready_).good() || insecure.Ended(); }));
  EXPECT_FALSE(insecure.Ended()) << insecure.Output();
}

// gRPC would expand a message before it looks at its size.
TEST_F(VoxlocdTest, TakesNoCompressedMessageHoweverSmallItIs) {
  const auto run = Start();
  constexpr size_t kExpandedBytes = 256 << 20;
  const int64_t before = run->PeakMemoryBytes();
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    const std::string bomb = CompressedZeros(kExpandedBytes, algorithm);
    const std::string small = CompressedZeros(1, algorithm);
    for (const char* method :
         {"/voxloc.v1.LocalizationService/AlignScan", "/voxloc.v1.LocalizationService/AlignScans",
          "/voxloc.v1.MapService/GetTiles", "/grpc.health.v1.Health/Check",
          "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "/no.Service/Method"}) {
      for (const std::string& message : {small, bomb}) {
        EXPECT_EQ(CallWithCompressed(listen_, method, message, algorithm),
                  grpc::StatusCode::UNIMPLEMENTED)
            << method << " with " << message.size() << " bytes";
      }
    }
  }
  EXPECT_LT(run->PeakMemoryBytes() - before, int64_t{kExpandedBytes} / 4);
  EXPECT_EQ(HealthOf(""), kHealthServing);
}

TEST_F(VoxlocdTest, SaysWhatIsWrongWithItsFlags) {
  Voxlocd unknown({"--listn=x"});
  EXPECT_EQ(unknown.Wait(), 2);
  EXPECT_THAT(unknown.Output(), HasSubstr("did you mean --listen?"));
  Voxlocd profile({"--default-profile=nonsense"});
  EXPECT_EQ(profile.Wait(), 2);
  EXPECT_THAT(profile.Output(), HasSubstr("nonsense"));
  Voxlocd help({"--help"});
  EXPECT_EQ(help.Wait(), 0);
  EXPECT_THAT(help.Output(), HasSubstr("Exit codes"));
}

TEST_F(VoxlocdTest, TakesAProfileThatWasPrintedByTheCommandLine) {
  const auto first = Start();
  const auto print = [this](const std::string& name) {
    return RunProcess({ProgramPath(VOXLOC_VOXLOC), "info", "--server", listen_, "--profile", name});
  };
  std::string text = print("precise").out;
  const std::string name = "name: \"precise\"";
  ASSERT_THAT(text, ::testing::StartsWith(name));
  text.replace(0, name.size(), "name: \"own\"");
  const ScratchDir scratch;
  const std::string file = scratch.Write("own.yaml", text);
  first->Signal(SIGTERM);
  EXPECT_EQ(first->Wait(), 0);
  const auto second = Start({"--profile-files=" + file, "--default-profile=own"});
  EXPECT_EQ(print("own").out, text);
  EXPECT_THAT(print("fast").error, HasSubstr("one of autoware, precise, own (got 'fast')"));
}

// Before main, while the program's libraries are initialized.
TEST(VoxlocdProgram, SignalsThatComeEarlyWait) {
  if (!std::ifstream(VOXLOC_SIGNAL_AT_LOAD).good()) GTEST_SKIP() << "no " << VOXLOC_SIGNAL_AT_LOAD;
  const auto with_signal = [](int signal, const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {"/usr/bin/env",
                                        std::string("LD_PRELOAD=") + VOXLOC_SIGNAL_AT_LOAD,
                                        "VOXLOC_TEST_SIGNAL=" + std::to_string(signal)};
    command.push_back(ProgramPath(VOXLOC_VOXLOCD));
    command.insert(command.end(), arguments.begin(), arguments.end());
    return RunProcess(command);
  };
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    const ProcessResult version = with_signal(signal, {"--version"});
    EXPECT_EQ(version.exit_code, 0) << signal;
    EXPECT_THAT(version.out, HasSubstr("voxlocd"));
  }
  // A termination signal before main shuts the server down cleanly.
  EXPECT_EQ(with_signal(SIGTERM, {"--listen", "127.0.0.1:0", "--engine", "cpu"}).exit_code, 0);
}

}  // namespace
}  // namespace voxloc
