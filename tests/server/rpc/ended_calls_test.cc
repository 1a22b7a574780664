// SPDX-License-Identifier: Apache-2.0
//
// Calls that end, cancelled or by their deadline, while the server works on them, or before, or
// between two messages. The server works on with nothing that was gRPC's: AddressSanitizer finds
// where it does.

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/server/map_calls.h"
#include "tests/server/plain_calls.h"
#include "tests/server/pose_search_calls.h"
#include "tests/server/rpc/map/revision_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"
#include "tests/support/forwarding_engine.h"
#include "tests/support/gate.h"

namespace voxloc::server {
namespace {

// All that RPCs call of an engine waits at a gate.
class EngineAtAGate : public ForwardingEngine {
 public:
  explicit EngineAtAGate(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}
  absl::StatusOr<std::shared_ptr<const ResidentTile>> DoBuildTile(
      const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics) override {
    gate_->Pass(1);
    return ForwardingEngine::DoBuildTile(cloud_map, statistics);
  }
  absl::Status DoAlign(absl::Span<const AlignJob> jobs, absl::Span<AlignResult> results) override {
    gate_->Pass(jobs.size());
    return ForwardingEngine::DoAlign(jobs, results);
  }
  absl::StatusOr<ScoreResult> DoScore(const ScoreRequest& request) override {
    gate_->Pass(1);
    return ForwardingEngine::DoScore(request);
  }

 private:
  const std::shared_ptr<Gate> gate_;
};

// A map whose statistics wait at a gate while it is closed, and are none then.
class MapAtAGate : public ResidentMap {
 public:
  MapAtAGate(std::shared_ptr<const ResidentMap> map, std::shared_ptr<Gate> gate,
             std::shared_ptr<const std::atomic<bool>> held)
      : map_(std::move(map)), gate_(std::move(gate)), held_(std::move(held)) {}
  const std::vector<CellStatistics>& statistics() const override {
    if (!*held_) return map_->statistics();
    gate_->Pass(1);
    return none_;
  }
  size_t cells(size_t statistics_index) const override { return map_->cells(statistics_index); }
  size_t MemoryBytes() const override { return map_->MemoryBytes(); }
  absl::StatusOr<std::vector<MapCell>> CellsInBox(size_t statistics_index,
                                                  const Eigen::Vector3d& min,
                                                  const Eigen::Vector3d& max,
                                                  size_t max_cells) const override {
    return map_->CellsInBox(statistics_index, min, max, max_cells);
  }

 private:
  const std::shared_ptr<const ResidentMap> map_;
  const std::shared_ptr<Gate> gate_;
  const std::shared_ptr<const std::atomic<bool>> held_;
  const std::vector<CellStatistics> none_;
};

class EngineOfMapsAtAGate : public ForwardingEngine {
 public:
  EngineOfMapsAtAGate(std::shared_ptr<Gate> gate, std::shared_ptr<const std::atomic<bool>> held)
      : gate_(std::move(gate)), held_(std::move(held)) {}
  absl::StatusOr<std::shared_ptr<const ResidentMap>> DoCompose(
      absl::Span<const std::shared_ptr<const ResidentTile>> tiles,
      absl::Span<const CellStatistics> statistics, const ResidentMap* /*previous*/) override {
    auto map = ForwardingEngine::DoCompose(tiles, statistics, nullptr);
    if (!map.ok()) return map.status();
    return std::make_shared<MapAtAGate>(*std::move(map), gate_, held_);
  }

 private:
  const std::shared_ptr<Gate> gate_;
  const std::shared_ptr<const std::atomic<bool>> held_;
};

// While it lives, the statements that read a revision's tiles wait at the gate, in databases that
// are opened from now on.
class StatementsAtAGate {
 public:
  explicit StatementsAtAGate(Gate& gate) {
    the_gate = &gate;
    sqlite3_auto_extension(Extension());
  }
  StatementsAtAGate(const StatementsAtAGate&) = delete;
  StatementsAtAGate& operator=(const StatementsAtAGate&) = delete;
  ~StatementsAtAGate() { sqlite3_cancel_auto_extension(Extension()); }

 private:
  static void (*Extension())() { return reinterpret_cast<void (*)()>(&OnOpen); }
  static int OnOpen(sqlite3* database, char** /*error*/, const void* /*api*/) {
    return sqlite3_trace_v2(database, SQLITE_TRACE_STMT, &OnStatement, the_gate);
  }
  static int OnStatement(unsigned /*event*/, void* gate, void* /*statement*/, void* sql) {
    const auto* const text = static_cast<const char*>(sql);
    if (absl::StrContains(text, "FROM tiles t LEFT JOIN")) static_cast<Gate*>(gate)->Pass(1);
    return 0;
  }

  static inline Gate* the_gate = nullptr;
};

enum class HowItEnds { kCancelled, kDeadline };

// A call that has begun: reads all that comes, and gives its status.
using Finish = std::function<grpc::Status()>;
// Begins a call, and brings it to its step. False: it ended before.
using Begin = std::function<bool(grpc::ClientContext& context, Finish& finish)>;

// Reads a stream to its end.
template <typename Response, typename Stream>
Finish ReadAll(const std::shared_ptr<Stream>& stream) {
  return [stream] {
    Response response;
    while (stream->Read(&response)) {
    }
    return stream->Finish();
  };
}

class EndedCalls : public ::testing::TestWithParam<HowItEnds> {
 protected:
  void Start(std::unique_ptr<Engine> engine = nullptr) {
    server_ = std::make_unique<TestServer>(
        [](Config& config) { config.metrics_listen = "127.0.0.1:0"; }, std::move(engine));
    server_->LoadTown();
  }
  void StartWithAGate() { Start(std::make_unique<EngineAtAGate>(gate_)); }

  double InFlight(const std::string& method) {
    return MetricsOf(*server_)[absl::StrCat("voxloc_rpc_in_flight{method=\"", method, "\"}")];
  }
  void AwaitEnd(const std::string& method) {
    EXPECT_TRUE(Eventually([&] { return InFlight(method) == 0.0; })) << method;
    // What gRPC does at the end of a call comes just after; this comes after that.
    static_cast<void>(ServerInfoOf(*server_));
  }

  // Begins a call, which `at_step` shows to be there, ends it, and lets the server go on.
  void EndAtStep(const std::string& method, const Begin& begin,
                 const std::function<bool()>& at_step, bool ends_while_held = true) {
    SCOPED_TRACE(method);
    const bool cancelled = GetParam() == HowItEnds::kCancelled;
    // A call that has not come to its step by its deadline is repeated with more time.
    for (absl::Duration time = absl::Milliseconds(250);; time *= 2) {
      const auto context = std::make_unique<grpc::ClientContext>();
      // Real time: deadlines pass by themselves.
      const auto now = std::chrono::system_clock::now();
      context->set_deadline(now + absl::ToChronoMilliseconds(cancelled ? kTestTimeout : time));
      Finish finish;
      const bool reached =
          begin(*context, finish) && Eventually(at_step, cancelled ? kTestTimeout : time);
      if (cancelled) context->TryCancel();
      // Nothing more is taken until the server has seen the end.
      if (ends_while_held) AwaitEnd(method);
      const grpc::Status status = finish();
      gate_->Open();
      AwaitEnd(method);
      if (reached) {
        EXPECT_EQ(status.error_code(),
                  cancelled ? grpc::StatusCode::CANCELLED : grpc::StatusCode::DEADLINE_EXCEEDED)
            << status.error_message();
        return;
      }
      ASSERT_FALSE(cancelled) << "the call did not come to its step";
      ASSERT_LT(time, kTestTimeout);
    }
  }
  // At the gate.
  void EndAtTheGate(const std::string& method, const Begin& begin, bool ends_while_held = true) {
    size_t before = 0;
    const Begin close_and_begin = [&](grpc::ClientContext& context, Finish& finish) {
      before = gate_->batches().size();
      gate_->Close();
      return begin(context, finish);
    };
    EndAtStep(
        method, close_and_begin, [&] { return gate_->batches().size() > before; }, ends_while_held);
  }
  // When the client has what `begin` reads.
  void EndBetweenMessages(const std::string& method, const Begin& begin) {
    EndAtStep(method, begin, [] { return true; });
  }

  void ExpectItServes() {
    v1::AlignmentResult result;
    EXPECT_TRUE(AlignInTown(*server_, GoodScan(), result).ok());
    EXPECT_TRUE(result.accepted());
  }

  void ExpectItShows(const std::string& map) {
    v1::GetMapRequest request;
    request.set_map(map);
    v1::GetMapResponse response;
    EXPECT_TRUE(server_->maps->GetMap(TestServer::NewContext().get(), request, &response).ok());
  }

  // The same call, while the queue of readers is busy with `other`, which waits at the gate.
  Begin Behind(const Begin& other, const Begin& begin) {
    return [this, other, begin](grpc::ClientContext& context, Finish& finish) {
      other_ = nullptr;
      gate_->Close();
      const size_t before = gate_->batches().size();
      other_ = std::make_unique<OtherCall>();
      EXPECT_TRUE(other(other_->context, other_->finish));
      gate_->AwaitBatches(before + 1);
      return begin(context, finish);
    };
  }

  // Calls, up to their first `messages` replies.
  Begin GetTiles(const v1::GetTilesRequest& request, int messages) {
    return [this, request, messages](grpc::ClientContext& context, Finish& finish) {
      const std::shared_ptr stream = server_->maps->GetTiles(&context, request);
      finish = ReadAll<v1::GetTilesResponse>(stream);
      return ReadSome<v1::GetTilesResponse>(*stream, messages);
    };
  }
  Begin GetCells(const std::string& map) {
    return [this, map](grpc::ClientContext& context, Finish& finish) {
      v1::GetCellsRequest request;
      request.set_map(map);
      request.set_profile("precise");
      finish = ReadAll<v1::GetCellsResponse>(
          std::shared_ptr(server_->maps->GetCells(&context, request)));
      return true;
    };
  }
  Begin EstimateInitialPose() {
    return [this](grpc::ClientContext& context, Finish& finish) {
      finish = ReadAll<v1::EstimateInitialPoseResponse>(
          std::shared_ptr(server_->localization->EstimateInitialPose(&context, PriorRequest())));
      return true;
    };
  }
  // Sets up, and sends a pose if wanted.
  Begin ScorePoses(bool pose) {
    return [this, pose](grpc::ClientContext& context, Finish& finish) {
      const std::shared_ptr stream = server_->localization->ScorePoses(&context);
      finish = ReadAll<v1::ScorePosesResponse>(stream);
      v1::ScorePosesRequest request;
      request.mutable_setup()->mutable_setup()->set_map("town");
      *request.mutable_setup()->mutable_scan() = GoodScan();
      v1::ScorePosesResponse ready;
      if (!stream->Write(request) || !stream->Read(&ready)) return false;
      request.Clear();
      for (const double value : {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0}) {
        request.mutable_poses()->add_map_t_base(value);
      }
      return !pose || stream->Write(request);
    };
  }
  Begin AlignScans(bool scan) {
    return [this, scan](grpc::ClientContext& context, Finish& finish) {
      const std::shared_ptr stream = server_->localization->AlignScans(&context);
      finish = ReadAll<v1::AlignScansResponse>(stream);
      v1::AlignScansRequest request;
      *request.mutable_open() = TownSession();
      v1::AlignScansResponse opened;
      if (!stream->Write(request) || !stream->Read(&opened)) return false;
      *request.mutable_scan() = GoodScan();
      return !scan || stream->Write(request);
    };
  }
  // A call with one answer, in a thread of its own.
  Begin AlignScan() {
    return [this](grpc::ClientContext& context, Finish& finish) {
      struct Call {
        v1::AlignScanRequest request;
        v1::AlignScanResponse response;
        grpc::CompletionQueue queue;
        std::unique_ptr<grpc::ClientAsyncResponseReader<v1::AlignScanResponse>> reader;
        grpc::Status status;
      };
      const auto call = std::make_shared<Call>();
      call->request.mutable_setup()->set_map("town");
      *call->request.mutable_scan() = GoodScan();
      call->reader = server_->localization->AsyncAlignScan(&context, call->request, &call->queue);
      call->reader->Finish(&call->response, &call->status, nullptr);
      finish = [call] {
        void* tag = nullptr;
        bool ok = false;
        static_cast<void>(call->queue.Next(&tag, &ok));
        return call->status;
      };
      return true;
    };
  }
  Begin UpdateMapTiles(bool tile) {
    return [this, tile](grpc::ClientContext& context, Finish& finish) {
      const std::shared_ptr stream = server_->maps->UpdateMapTiles(&context);
      finish = ReadAll<v1::UpdateMapTilesResponse>(stream);
      v1::UpdateMapTilesResponse begun;
      if (!stream->Write(BeginRequest("town")) || !stream->Read(&begun)) return false;
      return !tile || stream->Write(TileRequest("more", TownStrip(-3.0, 3.0)));
    };
  }
  Begin WatchMap() {
    return [this](grpc::ClientContext& context, Finish& finish) {
      v1::WatchMapRequest request;
      request.set_map("town");
      const std::shared_ptr stream = server_->maps->WatchMap(&context, request);
      finish = ReadAll<v1::WatchMapResponse>(stream);
      return ReadSome<v1::WatchMapResponse>(*stream, 1);
    };
  }

  template <typename Response, typename Stream>
  static bool ReadSome(Stream& stream, int messages) {
    Response response;
    for (int i = 0; i < messages; ++i) {
      if (!stream.Read(&response)) return false;
    }
    return true;
  }

  struct OtherCall {
    ~OtherCall() {
      context.TryCancel();
      static_cast<void>(finish());
    }
    grpc::ClientContext context;
    Finish finish;
  };

  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  const std::shared_ptr<std::atomic<bool>> held_ = std::make_shared<std::atomic<bool>>(false);
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<OtherCall> other_;
};
INSTANTIATE_TEST_SUITE_P(, EndedCalls,
                         ::testing::Values(HowItEnds::kCancelled, HowItEnds::kDeadline),
                         [](const auto& how) {
                           return how.param == HowItEnds::kCancelled ? "cancelled" : "deadline";
                         });

TEST_P(EndedCalls, GetTilesWhileARevisionIsRead) {
  const StatementsAtAGate statements(*gate_);
  Start();
  Change(*server_, {TileRequest("more", TownStrip(-3.0, 3.0))});
  v1::GetTilesRequest request;
  request.set_map("town");
  request.set_revision(1);
  request.add_tile_ids("a name that is too long to be kept in the message itself");
  EndAtTheGate("GetTiles", GetTiles(request, 0));
  ExpectItServes();
}

TEST_P(EndedCalls, GetCellsWhileTheMapIsLookedAt) {
  const std::string map = "a-name-that-is-too-long-to-be-kept-in-the-message-itself";
  Start(std::make_unique<EngineOfMapsAtAGate>(gate_, held_));
  server_->LoadTown(map);
  *held_ = true;
  EndAtTheGate("GetCells", GetCells(map));
  *held_ = false;
  ExpectItShows(map);
}

TEST_P(EndedCalls, GetTilesAndGetCellsBeforeTheirTurn) {
  const StatementsAtAGate statements(*gate_);
  Start(std::make_unique<EngineOfMapsAtAGate>(gate_, held_));
  Change(*server_, {TileRequest("more", TownStrip(-3.0, 3.0))});
  v1::GetTilesRequest request;
  request.set_map("town");
  *held_ = true;
  EndAtStep("GetTiles", Behind(GetCells("town"), GetTiles(request, 0)),
            [&] { return InFlight("GetTiles") == 1.0; });
  *held_ = false;
  request.set_revision(1);
  EndAtStep("GetCells", Behind(GetTiles(request, 0), GetCells("town")),
            [&] { return InFlight("GetCells") == 1.0; });
  ExpectItShows("town");
}

TEST_P(EndedCalls, WhileTheEngineWorks) {
  StartWithAGate();
  EndAtTheGate("ScorePoses", ScorePoses(true));
  EndAtTheGate("AlignScans", AlignScans(true));
  EndAtTheGate("UpdateMapTiles", UpdateMapTiles(true));
  // These end when the engine has.
  EndAtTheGate("AlignScan", AlignScan(), /*ends_while_held=*/false);
  EndAtTheGate("EstimateInitialPose", EstimateInitialPose(), /*ends_while_held=*/false);
  ExpectItServes();
}

TEST_P(EndedCalls, BetweenTwoMessages) {
  Start();
  // Two tiles of which the window of the connection holds one: it is small and does not grow.
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 128);
  server_->maps = v1::MapService::NewStub(grpc::CreateCustomChannel(
      server_->server().address(), grpc::InsecureChannelCredentials(), arguments));
  PointCloud tile;
  for (int i = 0; i < 40'000; ++i) tile.PushBack(static_cast<float>(i) * 0.001F, 0.0F, 0.0F);
  Change(*server_, {TileRequest("a", tile), TileRequest("b", tile)}, CommitRequest(),
         BeginRequest("port"));
  v1::GetTilesRequest request;
  request.set_map("port");
  EndBetweenMessages("GetTiles", GetTiles(request, 1));
  EndBetweenMessages("ScorePoses", ScorePoses(false));
  EndBetweenMessages("AlignScans", AlignScans(false));
  EndBetweenMessages("UpdateMapTiles", UpdateMapTiles(false));
  EndBetweenMessages("WatchMap", WatchMap());
  ExpectItServes();
}

}  // namespace
}  // namespace voxloc::server
