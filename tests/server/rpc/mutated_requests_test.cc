// SPDX-License-Identifier: Apache-2.0
//
// Mutated requests to every RPC of the contract and of health: each ends with a documented status,
// and a good vehicle is served after them. VOXLOC_MUTATED_REQUESTS says how many,
// VOXLOC_MUTATED_FIRST which is the first, so that several processes can share them.

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "grpc/health/v1/health.pb.h"
#include "tests/fuzz/corpus.h"
#include "tests/fuzz/mutation.h"
#include "tests/server/map_calls.h"
#include "tests/server/plain_calls.h"
#include "tests/server/pose_search_calls.h"
#include "tests/server/rpc/message_mutation.h"
#include "tests/server/security/any_rpc.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"

namespace voxloc::server {
namespace {

using ::google::protobuf::Message;
using ::google::protobuf::MethodDescriptor;

constexpr uint64_t kSeed = 20'261'127;
constexpr uint64_t kRequests = 2000;
constexpr uint64_t kRequestsBetweenGoodScans = 1000;
constexpr uint64_t kRequestsBetweenCleanups = 100;
// Whose map no request below names.
constexpr char kGoodMap[] = "reference";
// Of a call that does not end by itself, and of one that has hung.
constexpr std::chrono::milliseconds kWatchTime{50};
constexpr std::chrono::seconds kHungTime{60};

uint64_t NumberFrom(const char* variable, uint64_t number) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return number;
  EXPECT_TRUE(absl::SimpleAtoi(text, &number)) << variable << "=" << text;
  return number;
}

// docs/errors.md, but for INTERNAL, which no request may cause, and those of access.
bool IsDocumented(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK:
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::NOT_FOUND:
    case grpc::StatusCode::ALREADY_EXISTS:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DATA_LOSS:
      return true;
    default:
      return false;
  }
}

std::unique_ptr<Message> NewRequest(const MethodDescriptor& rpc) {
  return std::unique_ptr<Message>(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(rpc.input_type())->New());
}

// As text where it is a message.
std::string Shown(const MethodDescriptor& rpc, const std::string& bytes) {
  constexpr size_t kMostShown = 2000;
  const auto message = NewRequest(rpc);
  if (message->ParseFromString(bytes)) return message->DebugString().substr(0, kMostShown);
  return absl::StrCat(bytes.size(), " bytes ", absl::BytesToHexString(bytes.substr(0, 500)));
}

// Valid calls of an RPC: the messages of each, as bytes.
using Calls = std::vector<std::vector<std::string>>;

std::string Bytes(const Message& message) { return message.SerializeAsString(); }

// Each message of the fuzz corpus, alone where it opens a stream and else after `opening`.
void AddCorpus(const std::string& folder, const std::vector<std::string>& opening, Calls& calls) {
  const auto seeds = ReadCorpus(absl::StrCat(VOXLOC_SOURCE_DIR, "/tests/fuzz/corpus/", folder));
  ASSERT_TRUE(seeds.ok()) << seeds.status();
  for (const FuzzSeed& seed : *seeds) {
    std::vector<std::string> call;
    if (!absl::StartsWith(seed.name, "valid-open") && !absl::StartsWith(seed.name, "valid-setup") &&
        !absl::StartsWith(seed.name, "valid-begin")) {
      call = opening;
    }
    call.push_back(seed.bytes);
    calls.push_back(std::move(call));
  }
}

Calls CallsOfASession() {
  v1::AlignScansRequest open;
  *open.mutable_open() = TownSession("setup { vehicle: 'bus' }");
  v1::AlignScansRequest scan;
  *scan.mutable_scan() = GoodScan();
  Calls calls = {{Bytes(open), Bytes(scan)}};
  AddCorpus("align_scans_request", {Bytes(open)}, calls);
  return calls;
}

Calls CallsOfOneScan() {
  v1::AlignScanRequest request;
  request.mutable_setup()->set_map("town");
  *request.mutable_scan() = GoodScan();
  Calls calls = {{Bytes(request)}};
  AddCorpus("align_scan_request", {}, calls);
  return calls;
}

Calls CallsOfScoring() {
  v1::ScorePosesRequest setup;
  setup.mutable_setup()->mutable_setup()->set_map("town");
  *setup.mutable_setup()->mutable_scan() = GoodScan();
  v1::ScorePosesRequest poses;
  for (const double value : {1.0, -0.5, 0.0, 0.0, 0.0, 0.0, 1.0}) {
    poses.mutable_poses()->add_map_t_base(value);
  }
  Calls calls = {{Bytes(setup), Bytes(poses)}};
  AddCorpus("score_poses_request", {Bytes(setup)}, calls);
  return calls;
}

Calls CallsOfUploads() {
  const v1::UpdateMapTilesRequest begin = BeginRequest("town");
  const v1::UpdateMapTilesRequest tile = TileRequest("more", TownStrip(-3.0, 3.0));
  Calls calls = {{Bytes(begin), Bytes(tile), Bytes(CommitRequest())},
                 {Bytes(BeginRequest("other")), Bytes(tile), Bytes(StageRequest({"bus"}))},
                 {Bytes(begin), Bytes(RemoveRequest("town")), Bytes(CommitRequest())},
                 {Bytes(begin), Bytes(ReuseRequest("more", std::string(32, 'x')))}};
  AddCorpus("update_map_tiles_request", {Bytes(begin)}, calls);
  return calls;
}

Calls CallsOfSearches() {
  Calls calls = {{Bytes(PriorRequest(20))}, {Bytes(RegionRequest())}};
  AddCorpus("estimate_initial_pose_request", {}, calls);
  return calls;
}

Calls CallsOf(const MethodDescriptor& rpc) {
  if (rpc.name() == "AlignScans") return CallsOfASession();
  if (rpc.name() == "AlignScan") return CallsOfOneScan();
  if (rpc.name() == "ScorePoses") return CallsOfScoring();
  if (rpc.name() == "UpdateMapTiles") return CallsOfUploads();
  if (rpc.name() == "EstimateInitialPose") return CallsOfSearches();
  if (rpc.service()->full_name() == "grpc.health.v1.Health") {
    grpc::health::v1::HealthCheckRequest map;
    map.set_service("voxloc.v1.LocalizationService/town");
    return {{""}, {Bytes(map)}};
  }
  return {{Bytes(*RequestOf(rpc, "town", "bus"))}};
}

// One message is mutated as a message or as bytes; up to three are sent.
std::vector<std::string> Mutated(const MethodDescriptor& rpc, const Calls& calls,
                                 std::mt19937_64& random) {
  constexpr size_t kMostMessages = 3;
  std::vector<std::string> messages = calls[random() % calls.size()];
  if (rpc.client_streaming()) {
    messages.resize(std::min(messages.size(), 1 + random() % kMostMessages));
  }
  std::string& bytes = messages[random() % messages.size()];
  const uint64_t changes = 1 + random() % 3;
  switch (random() % 4) {
    case 0:
      bytes = Mutate(bytes, random);
      break;
    case 1: {  // the beginning of one, and the end of another
      const std::vector<std::string>& others = calls[random() % calls.size()];
      const std::string& other = others[random() % others.size()];
      bytes.resize(random() % (bytes.size() + 1));
      bytes += other.substr(random() % (other.size() + 1));
      break;
    }
    default: {
      const auto message = NewRequest(rpc);
      EXPECT_TRUE(message->ParseFromString(bytes)) << rpc.full_name();
      for (uint64_t i = 0; i < changes; ++i) MutateField(*message, random);
      bytes = message->SerializeAsString();
    }
  }
  return messages;
}

// Sends the messages and reads what comes, to the end of the call; or cancels it when they are
// sent.
grpc::Status Send(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                  const std::vector<std::string>& messages, std::chrono::milliseconds time,
                  bool cancel) {
  grpc::ClientContext context;
  // Real time: ends a call that hangs, or that would not end.
  context.set_deadline(std::chrono::system_clock::now() + time);
  return CallWithMessages(channel, method, messages, context, cancel).status;
}

class MutatedRequests : public ::testing::Test {
 protected:
  MutatedRequests() : channel_(server_.NewChannel()) {
    server_.LoadTown(kGoodMap);
    server_.LoadTown("town");
    for (const MethodDescriptor* rpc : AllRpcs()) rpcs_.push_back(rpc);
    const auto* const health =
        grpc::health::v1::HealthCheckRequest::descriptor()->file()->FindServiceByName("Health");
    for (int i = 0; i < health->method_count(); ++i) rpcs_.push_back(health->method(i));
    for (const MethodDescriptor* rpc : rpcs_) calls_.push_back(CallsOf(*rpc));
  }

  // False: it has not ended as it may.
  bool SendOne(size_t index, std::mt19937_64& random) {
    const MethodDescriptor& rpc = *rpcs_[index];
    const std::vector<std::string> messages = Mutated(rpc, calls_[index], random);
    const bool watches = absl::StartsWith(rpc.name(), "Watch");
    const bool streams = rpc.client_streaming() || rpc.server_streaming();
    const bool cancel = streams && random() % 4 == 0;
    const grpc::Status status =
        Send(channel_, "/" + PathOf(rpc), messages,
             watches ? kWatchTime : std::chrono::milliseconds(kHungTime), cancel);
    Undo(rpc);
    // An error of the server's own has details: the deadline of a call that hangs has none.
    const bool hung = !watches && status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED &&
                      status.error_details().empty();
    if (IsDocumented(status.error_code()) && !hung) return true;
    std::string text;
    for (const std::string& message : messages) absl::StrAppend(&text, Shown(rpc, message), "\n");
    ADD_FAILURE() << rpc.full_name() << (cancel ? ", cancelled" : "") << ": code "
                  << status.error_code() << ", " << status.error_message() << "\n"
                  << text;
    return false;
  }

  // Of requests that are for the whole server.
  void Undo(const MethodDescriptor& rpc) {
    if (rpc.name() == "Drain") {
      // Refused while the server ends streams.
      EXPECT_TRUE(Eventually([this] {
        v1::UndrainResponse response;
        static_cast<void>(server_.admin->Undrain(TestServer::NewContext().get(), {}, &response));
        return ServerInfoOf(server_).state() != v1::SERVER_STATE_DRAINING;
      }));
    } else if (rpc.name() == "SetLogLevel") {
      v1::SetLogLevelRequest request;
      request.set_level(v1::LOG_LEVEL_ERROR);
      v1::SetLogLevelResponse response;
      EXPECT_TRUE(
          server_.admin->SetLogLevel(TestServer::NewContext().get(), request, &response).ok());
    }
  }

  // The maps are as at the beginning.
  void CleanUp() {
    // One that was cancelled here may go on there.
    ASSERT_TRUE(Eventually([this] {
      return MetricsOf(server_)["voxloc_rpc_in_flight{method=\"UpdateMapTiles\"}"] == 0.0;
    }));
    // Nor is one listed yet that was undeleted a moment ago.
    v1::GetMapRequest town;
    town.set_map("town");
    ASSERT_TRUE(Eventually([&] {
      v1::GetMapResponse map;
      return server_.maps->GetMap(TestServer::NewContext().get(), town, &map).error_code() !=
             grpc::StatusCode::UNAVAILABLE;
    }));
    v1::ListMapsResponse list;
    ASSERT_TRUE(
        server_.maps->ListMaps(TestServer::NewContext().get(), v1::ListMapsRequest(), &list).ok());
    // A map of staged revisions alone is not listed.
    for (const char* map : {"town", "other"}) {
      const grpc::Status deleted = DeleteMap(server_, map);
      EXPECT_TRUE(deleted.ok() || deleted.error_code() == grpc::StatusCode::NOT_FOUND)
          << deleted.error_message();
    }
    for (const v1::MapInfo& map : list.maps()) {
      if (map.name() == kGoodMap || map.name() == "town" || map.name() == "other") continue;
      EXPECT_TRUE(DeleteMap(server_, map.name()).ok()) << map.name();
    }
    server_.LoadTown("town");
  }

  void ExpectAGoodVehicleIsServed() {
    v1::AlignScanRequest request;
    request.mutable_setup()->set_map(kGoodMap);
    *request.mutable_scan() = GoodScan();
    v1::AlignScanResponse response;
    const grpc::Status status =
        server_.localization->AlignScan(TestServer::NewContext().get(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.result().status(), v1::ALIGNMENT_STATUS_OK);
    EXPECT_TRUE(response.result().accepted());
  }

  TestServer server_{[](Config& config) {
    config.limits.max_maps = 20;
    config.metrics_listen = "127.0.0.1:0";
  }};
  const std::shared_ptr<grpc::Channel> channel_;
  std::vector<const MethodDescriptor*> rpcs_;
  std::vector<Calls> calls_;  // of each
};

TEST_F(MutatedRequests, EndWithADocumentedStatusAndLeaveTheServerServing) {
  constexpr int kMaxBackoffFailures = 20;
  EXPECT_GE(rpcs_.size(), 27U);  // 25 of the contract, 2 of health
  const uint64_t first = NumberFrom("VOXLOC_MUTATED_FIRST", 0);
  const uint64_t end = first + NumberFrom("VOXLOC_MUTATED_REQUESTS", kRequests);
  int failures = 0;
  for (uint64_t i = first; i < end && failures < kMaxBackoffFailures; ++i) {
    // Each on its own, so that one that fails can be sent again alone.
    std::mt19937_64 random(kSeed + i);
    SCOPED_TRACE(absl::StrCat("request ", i));
    if (!SendOne(i % rpcs_.size(), random)) ++failures;
    if ((i + 1) % kRequestsBetweenCleanups == 0) CleanUp();
    if ((i + 1) % kRequestsBetweenGoodScans == 0) ExpectAGoodVehicleIsServed();
    if (HasFatalFailure()) return;
  }
  ExpectAGoodVehicleIsServed();
}

}  // namespace
}  // namespace voxloc::server
