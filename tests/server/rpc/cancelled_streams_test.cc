// SPDX-License-Identifier: Apache-2.0
//
// Every stream of the contract and of health, cancelled at every step: before its first message,
// between two of them, after the first answer to each, and after the client's last message. What a
// stream occupies is given back, and the server goes on. VOXLOC_CANCELS says how often each.

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/server/map_calls.h"
#include "tests/server/plain_calls.h"
#include "tests/server/pose_search_calls.h"
#include "tests/server/security/any_rpc.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

// What a client sends in one call, and where it may be cancelled.
struct CancelledStream {
  std::string path;
  std::string method;
  std::vector<std::string> messages;
};

struct CancelStep {
  size_t written = 0;        // messages
  bool half_closed = false;  // nothing follows them
  bool answered = false;     // an answer has been read
};

std::string StepName(const CancelStep& step) {
  return absl::StrCat("after ", step.written, " messages", step.half_closed ? ", the last" : "",
                      step.answered ? ", and an answer" : "");
}

std::vector<CancelStep> StepsOf(const CancelledStream& stream) {
  std::vector<CancelStep> steps = {{0, false, false}};
  for (size_t written = 1; written <= stream.messages.size(); ++written) {
    steps.push_back({written, false, false});
    // What takes one request may answer it when it is known to be the only one.
    if (stream.messages.size() > 1) steps.push_back({written, false, true});
  }
  steps.push_back({stream.messages.size(), true, false});
  steps.push_back({stream.messages.size(), true, true});
  return steps;
}

// The messages of a call that ends with OK. None: no stream of this name is known here.
std::vector<std::string> MessagesOfStream(const std::string& method) {
  const auto bytes = [](const auto&... messages) {
    return std::vector<std::string>{messages.SerializeAsString()...};
  };
  if (method == "AlignScans") {
    v1::AlignScansRequest open;
    *open.mutable_open() = TownSession();
    v1::AlignScansRequest first;
    *first.mutable_scan() = GoodScan(1);
    v1::AlignScansRequest second;
    *second.mutable_scan() = GoodScan(2);
    return bytes(open, first, second);
  }
  if (method == "ScorePoses") {
    v1::ScorePosesRequest setup;
    setup.mutable_setup()->mutable_setup()->set_map("town");
    *setup.mutable_setup()->mutable_scan() = GoodScan();
    v1::ScorePosesRequest poses;
    for (const double value : {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0}) {
      poses.mutable_poses()->add_map_t_base(value);
    }
    return bytes(setup, poses);
  }
  if (method == "UpdateMapTiles") {
    return bytes(BeginRequest("changing"), TileRequest("tile", TownStrip(-3.0, 3.0)),
                 CommitRequest());
  }
  if (method == "EstimateInitialPose") return bytes(PriorRequest(20));
  if (method == "GetTiles") {
    v1::GetTilesRequest request;
    request.set_map("town");
    return bytes(request);
  }
  if (method == "GetCells") {
    v1::GetCellsRequest request;
    request.set_map("town");
    return bytes(request);
  }
  if (method == "WatchMap") {
    v1::WatchMapRequest request;
    request.set_map("town");
    return bytes(request);
  }
  return {};
}

// How the call ends that is cancelled at the step.
grpc::Status CancelAt(const CancelStep& step, const CancelledStream& stream,
                      const std::shared_ptr<grpc::Channel>& channel) {
  const auto context = TestServer::NewContext();
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(context.get(), stream.path, &queue);
  const auto done = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  call->StartCall(nullptr);
  EXPECT_TRUE(done());
  for (size_t i = 0; i < step.written; ++i) {
    const grpc::Slice slice(stream.messages[i]);
    call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    EXPECT_TRUE(done());
  }
  if (step.half_closed) {
    call->WritesDone(nullptr);
    static_cast<void>(done());  // false where the server has ended the call
  }
  grpc::ByteBuffer answer;
  if (step.answered) {
    call->Read(&answer, nullptr);
    EXPECT_TRUE(done());
  }
  context->TryCancel();
  grpc::Status status;
  call->Finish(&status, nullptr);
  EXPECT_TRUE(done());
  return status;
}

class CancelledStreams : public ::testing::Test {
 protected:
  CancelledStreams() {
    for (const auto* const rpc : AllRpcs()) {
      if (!rpc->client_streaming() && !rpc->server_streaming()) continue;
      streams_.push_back({"/" + PathOf(*rpc), rpc->name(), MessagesOfStream(rpc->name())});
      EXPECT_FALSE(streams_.back().messages.empty()) << "no calls of " << rpc->name();
    }
    // Of the whole server, which is asked for by no name.
    streams_.push_back({"/grpc.health.v1.Health/Watch", "Watch", {""}});
  }

  static uint64_t Cancels() {
    constexpr uint64_t kInTheGate = 3;
    const char* const text = std::getenv("VOXLOC_CANCELS");
    uint64_t cancels = kInTheGate;
    if (text == nullptr) return cancels;
    EXPECT_TRUE(absl::SimpleAtoi(text, &cancels)) << text;
    return cancels;
  }
  double Metric(const std::string& name) { return MetricsOf(server_)[name]; }

  // Work on what was cancelled may go on for a while; no call is refused because of it.
  TownServer server_{[](Config& config) {
    config.limits.max_searches = 10'000;
    config.limits.max_map_readers = 10'000;
    config.limits.max_watchers = 10'000;
    config.metrics_listen = "127.0.0.1:0";
  }};
  const std::shared_ptr<grpc::Channel> channel_ = server_.NewChannel();
  std::vector<CancelledStream> streams_;
};

TEST_F(CancelledStreams, GiveBackWhatTheyOccupyAtEveryStep) {
  const uint64_t cancels = Cancels();
  for (const CancelledStream& stream : streams_) {
    for (const CancelStep& step : StepsOf(stream)) {
      SCOPED_TRACE(absl::StrCat(stream.method, " ", StepName(step)));
      for (uint64_t i = 0; i < cancels; ++i) {
        const grpc::Status status = CancelAt(step, stream, channel_);
        // Where the server was faster it has ended well.
        EXPECT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::CANCELLED)
            << status.error_code() << ", " << status.error_message();
        EXPECT_TRUE(Eventually([&] {
          return Metric(absl::StrCat("voxloc_rpc_in_flight{method=\"", stream.method, "\"}")) ==
                 0.0;
        }));
      }
      v1::AlignmentResult result;
      EXPECT_TRUE(AlignInTown(server_, GoodScan(), result).ok());
      EXPECT_TRUE(result.accepted());
    }
  }
  for (const char* held :
       {"voxloc_sessions_active", "voxloc_map_read_bytes", "voxloc_reply_bytes"}) {
    EXPECT_TRUE(Eventually([&] { return Metric(held) == 0.0; })) << held;
  }
}

}  // namespace
}  // namespace voxloc::server
