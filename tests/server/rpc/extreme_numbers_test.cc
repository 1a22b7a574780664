// SPDX-License-Identifier: Apache-2.0
//
// Every number of every request at its extremes: the answer is finite, or says which field has
// which range. The fields are those of the contract's descriptors, so that a new one is tested once
// a request below has it, and missed here until then.

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/checksum/crc32c.h"
#include "tests/server/map_calls.h"
#include "tests/server/plain_calls.h"
#include "tests/server/rpc/message_numbers.h"
#include "tests/server/security/any_rpc.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::server {
namespace {

using ::google::protobuf::Message;
using ::google::protobuf::MethodDescriptor;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr char kDiagonal[] =
    "[0.02,0,0,0,0,0, 0,0.02,0,0,0,0, 0,0,0.02,0,0,0, 0,0,0,1e-3,0,0, 0,0,0,0,1e-3,0, "
    "0,0,0,0,0,1e-3]";

constexpr char kPose[] = "position { x: 1 y: -0.5 z: 0 } orientation { x: 0 y: 0 z: 0 w: 1 }";

// What an alignment of few points takes, with every option. %method: of the covariance.
std::string OptionsText(const std::string& profile, const std::string& method) {
  return absl::StrCat(
      "options { profile: '", profile,
      "' overrides { max_iterations { value: 2 } step_size_m { value: 0.1 } "
      "transformation_epsilon { value: 0.01 } outlier_ratio { value: 0.5 } "
      "line_search: LINE_SEARCH_MORE_THUENTE search_method: SEARCH_METHOD_RADIUS "
      "curvature: CURVATURE_EXACT independent_points { value: 20 } regularization { scale_factor { "
      "value: 0.01 } } } "
      "gate { score_type: SCORE_TYPE_NVTL score_threshold { value: 1 } "
      "min_matched_ratio { value: 0.1 } min_confidence { value: 0.01 } "
      "rival_confidence { value: 0.02 } odometry_drift { value: 0.02 } validation { "
      "required_distance_m { value: 1 } "
      "guess_timeout_s { value: 1 } guess_distance_tolerance_m { value: 10 } "
      "initial_to_result_distance_tolerance_m { value: 3 } max_execution_time_s { value: 9 } "
      "max_skipped_scans { value: 5 } max_oscillation_count { value: 10 } "
      "max_delay_s { value: 1 } } } "
      "covariance { method: ",
      method, " fixed_covariance: ", kDiagonal,
      " offset_x_m: [0.5, -0.5] offset_y_m: [0, 0] temperature { value: 0.05 } "
      "scale_factor { value: 1 } systematic_position_sigma_m: [0.04, 0.04, 0.04] "
      "systematic_rotation_sigma_rad: [0.003, 0.003, 0.003] "
      "systematic_time_sigma_s { value: 0.02 } systematic_skew_sigma_s { value: 0.01 } } } "
      "filter { min_range_m: 0.5 max_range_m: 100 min_height_m { value: -100 } "
      "max_height_m { value: 100 } box { min { x: -200 y: -200 z: -200 } "
      "max { x: 200 y: 200 z: 200 } } voxel_leaf_m: 0.1 max_points: 100 random_seed: 1 } "
      "output { trace: true point_scores: true point_colors: true aligned_cloud: true "
      "hessian: true diagnostics: true no_ground { z_margin_m: 0.8 cloud: true } ",
      method == "COVARIANCE_METHOD_CALIBRATED"
          ? "protection { risk { value: 0.001 } false_alarm { value: 0.001 } "
            "fault_probability { value: 0.01 } } "
          : "",
      "} base_t_sensor { position { x: 0 y: 0 z: 0 } orientation { x: 0 y: 0 z: 0 w: 1 } }");
}

std::string SetupText(const std::string& method = "COVARIANCE_METHOD_CALIBRATED",
                      const std::string& profile = "precise") {
  return absl::StrCat("setup { map: 'town' vehicle: 'v' min_map_revision: 1 ",
                      OptionsText(profile, method), " }");
}

// A scan of the small town, with a second cloud of the other layout, and everything that it may
// bring.
v1::Scan FullScan() {
  v1::Scan scan = GoodScan();
  constexpr int64_t kStampNs = 1'000'000'000;
  scan.set_stamp_ns(kStampNs);
  scan.mutable_clouds(0)->mutable_cloud()->mutable_origin();
  scan.mutable_clouds(0)->set_stamp_ns(kStampNs);
  v1::SensorCloud& other = *scan.add_clouds();
  const int16_t points[] = {500, 0, 10, 100, 0, 500, 10, 200, -500, 500, 10, 300};
  other.mutable_cloud()->set_data(points, sizeof(points));
  other.mutable_cloud()->set_layout(v1::CLOUD_LAYOUT_INT16_XYZT);
  other.mutable_cloud()->set_stride(8);
  other.mutable_cloud()->set_scale_m(0.01);
  other.mutable_cloud()->set_time_scale_s(1e-5);
  other.set_stamp_ns(kStampNs);
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(kPose, other.mutable_base_t_sensor()));
  v1::Scan more;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat("guess_map_t_base { covariance: ", kDiagonal,
                   " } poses { stamp_ns: ", kStampNs - 100'000'000, " map_t_base { pose { ", kPose,
                   " } covariance: ", kDiagonal, " } } poses { stamp_ns: ", kStampNs + 100'000'000,
                   " map_t_base { pose { ", kPose, " } covariance: ", kDiagonal,
                   " } } odom_t_base { ", kPose,
                   " } base_twist { linear { x: 1 } "
                   "angular { z: 0.1 } } reference_position { x: 1 y: -0.5 } timeout_s: 60 "
                   "age_s: 0.01 motion_covariance: ",
                   kDiagonal),
      &more));
  scan.MergeFrom(more);
  return scan;
}

bool BeginsWithAny(const std::string& path, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&path](const std::string& prefix) { return absl::StartsWith(path, prefix); });
}

// What refuses a message within a stream that goes on; empty: nothing does.
std::string RefusalIn(const Message& message) {
  if (const auto* const session = dynamic_cast<const v1::AlignScansResponse*>(&message)) {
    if (session->result().status() == v1::ALIGNMENT_STATUS_INVALID_INPUT) {
      return session->result().detail();
    }
    return session->rejected().detail();
  }
  if (const auto* const scores = dynamic_cast<const v1::ScorePosesResponse*>(&message)) {
    return scores->scores().detail();
  }
  return "";
}

// How the message of an error names a number: by its field, or as a part of a vector or wrapper.
bool NamesNumber(const std::string& message, const Number& number) {
  const std::vector<std::string> parts = absl::StrSplit(number.path, '.');
  const std::string& leaf = parts.back();
  if (leaf.size() > 1 && leaf != "value") return absl::StrContains(message, leaf);
  return parts.size() > 1 && absl::StrContains(message, parts[parts.size() - 2]);
}

class ExtremeNumbers : public ::testing::Test {
 protected:
  ExtremeNumbers() {
    server_.LoadTown();
    channel_ = server_.NewChannel();
  }

  using Requests = std::vector<std::unique_ptr<Message>>;

  template <typename Request>
  static std::unique_ptr<Message> Text(const std::string& text) {
    auto request = std::make_unique<Request>();
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, request.get())) << text;
    return request;
  }

  // The messages of one call, each number of which is set to its extremes in turn, if its path
  // begins with one of `under`. `before_each` makes a call independent of those before it.
  void Sweep(
      const std::string& method, Requests requests, const std::vector<std::string>& under,
      const std::function<void()>& before_each = [] {}) {
    const MethodDescriptor& rpc = *FindRpc(method);
    before_each();
    ExpectGood(rpc, requests);
    for (std::unique_ptr<Message>& request : requests) {
      const std::unique_ptr<Message> good = std::move(request);
      const std::vector<Number> numbers = NumbersOf(*good);
      for (size_t i = 0; i < numbers.size(); ++i) {
        if (!BeginsWithAny(numbers[i].path, under)) continue;
        seen_.insert(numbers[i].path);
        for (const Extreme& extreme : ExtremesOf(*numbers[i].field)) {
          before_each();
          request.reset(good->New());
          request->CopyFrom(*good);
          extreme.set(NumbersOf(*request)[i]);
          ExpectAnswered(rpc, requests, numbers[i], extreme.text);
        }
      }
      request.reset(good->New());
      request->CopyFrom(*good);
    }
  }

  // Every number that the RPC's requests can have, but those of `others`, has been set.
  void ExpectAllSeen(const std::string& method, const std::vector<std::string>& others = {}) {
    for (const std::string& path : NumberPathsOf(*FindRpc(method)->input_type())) {
      EXPECT_TRUE(seen_.count(path) == 1 || BeginsWithAny(path, others)) << method << ": " << path;
    }
    seen_.clear();
  }

  const ScratchDir captures_;
  TestServer server_{[this](Config& config) {
    config.limits.max_maps = 10;
    config.capture.max_bytes = 1 << 20;
    config.capture.directory = captures_.Path("captures");
  }};

 private:
  static const MethodDescriptor* FindRpc(const std::string& method) {
    for (const MethodDescriptor* rpc : AllRpcs()) {
      if (rpc->name() == method) return rpc;
    }
    ADD_FAILURE() << "no RPC " << method;
    return nullptr;
  }

  Answer Call(const MethodDescriptor& rpc, const Requests& requests) const {
    std::vector<std::string> bytes;
    for (const auto& request : requests) bytes.push_back(request->SerializeAsString());
    return CallWithMessages(channel_, "/" + PathOf(rpc), bytes);
  }

  static std::vector<std::unique_ptr<Message>> MessagesOf(const MethodDescriptor& rpc,
                                                          const Answer& answer) {
    std::vector<std::unique_ptr<Message>> messages;
    for (const std::string& bytes : answer.messages) {
      messages.emplace_back(google::protobuf::MessageFactory::generated_factory()
                                ->GetPrototype(rpc.output_type())
                                ->New());
      EXPECT_TRUE(messages.back()->ParseFromString(bytes));
    }
    return messages;
  }

  void ExpectGood(const MethodDescriptor& rpc, const Requests& requests) const {
    const Answer answer = Call(rpc, requests);
    EXPECT_TRUE(answer.status.ok()) << rpc.full_name() << ": " << answer.status.error_message();
    EXPECT_FALSE(answer.messages.empty());
    for (const auto& message : MessagesOf(rpc, answer)) {
      EXPECT_EQ(NotFiniteIn(*message), "");
      EXPECT_EQ(RefusalIn(*message), "");
    }
  }

  void ExpectAnswered(const MethodDescriptor& rpc, const Requests& requests, const Number& number,
                      const std::string& value) const {
    const std::string what = absl::StrCat(rpc.name(), ": ", number.path, " = ", value);
    const Answer answer = Call(rpc, requests);
    for (const auto& message : MessagesOf(rpc, answer)) {
      EXPECT_EQ(NotFiniteIn(*message), "") << what;
      const std::string refusal = RefusalIn(*message);
      if (refusal.empty() || !IsReal(*number.field)) continue;
      EXPECT_TRUE(NamesNumber(refusal, number)) << what << ": " << refusal;
      EXPECT_THAT(refusal, HasSubstr(value)) << what;
    }
    switch (answer.status.error_code()) {
      case grpc::StatusCode::OK:
        break;
      case grpc::StatusCode::INVALID_ARGUMENT:
        if (!IsReal(*number.field)) break;
        EXPECT_TRUE(NamesNumber(answer.status.error_message(), number))
            << what << ": " << answer.status.error_message();
        EXPECT_THAT(answer.status.error_message(), HasSubstr(value)) << what;
        break;
      case grpc::StatusCode::DEADLINE_EXCEEDED:
        EXPECT_THAT(number.path, EndsWith("timeout_s"));
        break;
      // Whole numbers are also revisions, indices and checksums.
      case grpc::StatusCode::NOT_FOUND:
      case grpc::StatusCode::FAILED_PRECONDITION:
      case grpc::StatusCode::ABORTED:
      case grpc::StatusCode::DATA_LOSS:
        EXPECT_FALSE(IsReal(*number.field)) << what << ": " << answer.status.error_message();
        break;
      default:
        ADD_FAILURE() << what << ": code " << answer.status.error_code() << ", "
                      << answer.status.error_message();
    }
  }

  std::shared_ptr<grpc::Channel> channel_;
  std::set<std::string> seen_;
};

const std::vector<std::string> kAll = {""};

TEST_F(ExtremeNumbers, OfOneScan) {
  for (const auto& [profile, method] :
       {std::pair("precise", "CALIBRATED"), std::pair("autoware", "LAPLACE"),
        std::pair("autoware", "MULTI_NDT_SCORE"), std::pair("precise", "MULTI_NDT")}) {
    Requests requests;
    requests.push_back(
        Text<v1::AlignScanRequest>(SetupText(absl::StrCat("COVARIANCE_METHOD_", method), profile)));
    *dynamic_cast<v1::AlignScanRequest&>(*requests[0]).mutable_scan() = FullScan();
    Sweep("AlignScan", std::move(requests),
          absl::string_view(method) == "CALIBRATED"
              ? kAll
              : std::vector<std::string>{"setup.options", "scan.base_twist", "scan.reference"});
  }
  ExpectAllSeen("AlignScan");
}

TEST_F(ExtremeNumbers, OfASession) {
  const auto open = [](const std::string& more) {
    return Text<v1::AlignScansRequest>(absl::StrCat("open { clock: STAMP_CLOCK_OWN ", more, " }"));
  };
  const std::string all = absl::StrCat(
      SetupText(),
      " limits { max_points_per_scan: 10000 max_waiting_scans: 1 timeout_s: 60 max_delay_s: 60 } "
      "recovery { lost_after_scans: 1 initial_radius_m: 1 max_radius_m: 2 "
      "false_confirmation_rate: 0.001 max_confirmation_scans: 3 min_confirmation_travel_m: 1 } "
      "accumulation { scans: 2 max_age_s: 1 max_distance_m: 10 } "
      "fusion { scale_sigma { value: 0.02 } position_sigma_per_metre { value: 0.01 } "
      "rotation_sigma_per_metre { value: 0.001 } rotation_sigma_per_radian { value: 0.02 } "
      "yaw_rate_bias_sigma_radps { value: 0.001 } }");
  const auto scan = [] {
    auto request = std::make_unique<v1::AlignScansRequest>();
    *request->mutable_scan() = FullScan();
    return request;
  };
  Requests requests;
  requests.push_back(open(all));
  requests.push_back(scan());
  Sweep("AlignScans", std::move(requests), {"open"});

  const std::string plain = "setup { map: 'town' filter { max_points: 100 } }";
  requests.clear();
  requests.push_back(open(plain));
  requests.push_back(scan());
  Sweep("AlignScans", std::move(requests), {"scan"});

  // A scan whose guess, twist and reference follow from the messages before it.
  requests.clear();
  requests.push_back(open(plain));
  for (const int64_t stamp_ns : {900'000'000, 1'100'000'000}) {
    requests.push_back(Text<v1::AlignScansRequest>(
        absl::StrCat("pose { stamp_ns: ", stamp_ns, " map_t_base { pose { ", kPose,
                     " } covariance: ", kDiagonal, " } }")));
    requests.push_back(Text<v1::AlignScansRequest>(
        absl::StrCat("reference { stamp_ns: ", stamp_ns, " position { x: 1 y: -0.5 z: 0 } }")));
  }
  requests.push_back(Text<v1::AlignScansRequest>(
      absl::StrCat("configure { sequence: 1 setup { ",
                   OptionsText("precise", "COVARIANCE_METHOD_CALIBRATED"), " } }")));
  requests.push_back(Text<v1::AlignScansRequest>("activate { sequence: 1 active: true }"));
  auto follower = scan();
  for (const char* field : {"guess_map_t_base", "poses", "base_twist", "reference_position"}) {
    v1::Scan& bare = *follower->mutable_scan();
    bare.GetReflection()->ClearField(&bare, v1::Scan::descriptor()->FindFieldByName(field));
  }
  requests.push_back(std::move(follower));
  Sweep("AlignScans", std::move(requests), {"pose", "reference", "configure", "activate"});
  ExpectAllSeen("AlignScans", {"configure.setup.min_map_revision"});
}

TEST_F(ExtremeNumbers, OfASearch) {
  const auto request = [](const std::string& scope, const std::string& setup) {
    Requests requests;
    requests.push_back(Text<v1::EstimateInitialPoseRequest>(absl::StrCat(
        setup, " ", scope,
        " search { particles: 2 startup_trials: 1 seed: 1 max_hypotheses: 2 min_separation_m: 1 "
        "min_separation_rad: 0.1 max_tilt_rad: 0.01 ambiguity_gap: 0.1 guided_batch: 1 } "
        "timeout_s: 60 report_particles: true")));
    *dynamic_cast<v1::EstimateInitialPoseRequest&>(*requests[0]).mutable_scan() = FullScan();
    return requests;
  };
  Sweep("EstimateInitialPose",
        request(absl::StrCat("prior { pose { ", kPose, " } covariance: ", kDiagonal, " }"),
                SetupText()),
        kAll);
  const std::string setup =
      "setup { map: 'town' filter { max_points: 100 } options { overrides { max_iterations { "
      "value: 2 } } } }";
  const std::string box =
      "region { yaw_rad: 0.1 yaw_half_range_rad: 0.1 box { min { x: 0 y: -2 z: 0 } "
      "max { x: 2 y: 0 z: 1 } } }";
  Sweep("EstimateInitialPose", request(box, setup), {"region", "search", "timeout_s"});

  v1::UpdateMapTilesRequest begin = BeginRequest("on_earth");
  begin.mutable_begin()->mutable_frame()->mutable_origin()->mutable_point();
  ASSERT_TRUE(
      RunUpdate(server_, {begin, TileRequest("town", SmallTown()), CommitRequest()}).status.ok());
  const std::string circle =
      "region { yaw_rad: 0.1 yaw_half_range_rad: 0.1 wgs84_circle { latitude_deg: 0 "
      "longitude_deg: 1e-5 radius_m: 1 } }";
  Sweep("EstimateInitialPose",
        request(circle, "setup { map: 'on_earth' filter { max_points: 100 } }"),
        {"region.wgs84_circle"});
  ExpectAllSeen("EstimateInitialPose");
}

TEST_F(ExtremeNumbers, OfScoring) {
  Requests requests;
  requests.push_back(
      Text<v1::ScorePosesRequest>(absl::StrCat("setup { ", SetupText(), " stage { value: 0 } }")));
  *dynamic_cast<v1::ScorePosesRequest&>(*requests[0]).mutable_setup()->mutable_scan() = FullScan();
  requests.push_back(Text<v1::ScorePosesRequest>(
      "poses { sequence: 1 map_t_base: [1, -0.5, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 1] }"));
  Sweep("ScorePoses", std::move(requests), kAll);
  ExpectAllSeen("ScorePoses");
}

TEST_F(ExtremeNumbers, OfMaps) {
  for (const std::string& frame :
       {std::string("projector { projector_type: 'TransverseMercator' vertical_datum: 'WGS84' "
                    "map_origin { latitude_deg: 35 longitude_deg: 139 altitude_m: 10 } "
                    "scale_factor: 0.9996 }"),
        std::string("origin { point { latitude_deg: 35 longitude_deg: 139 altitude_m: 10 } "
                    "x_axis_yaw_rad: 0.1 }")}) {
    Requests requests;
    requests.push_back(Text<v1::UpdateMapTilesRequest>(absl::StrCat(
        "begin { map: 'new' create: true options { profiles: 'precise' cell_size_m { value: 2 } } "
        "frame { ",
        frame, " } }")));
    v1::UpdateMapTilesRequest chunk = TileRequest("tile", ScanFrom(VehiclePose(), 300));
    chunk.mutable_chunk()->mutable_cloud()->mutable_origin();
    requests.push_back(std::make_unique<v1::UpdateMapTilesRequest>(chunk));
    requests.push_back(std::make_unique<v1::UpdateMapTilesRequest>(CommitRequest()));
    Sweep("UpdateMapTiles", std::move(requests), kAll,
          [this] { static_cast<void>(DeleteMap(server_, "new")); });
  }
  // Tiles of the int16 layout.
  const int16_t points[] = {0, 0, 0, 100, 0, 0, 0, 100, 0};
  v1::UpdateMapTilesRequest chunk;
  v1::TileChunk& tile = *chunk.mutable_chunk();
  tile.set_tile_id("tile");
  tile.mutable_cloud()->set_layout(v1::CLOUD_LAYOUT_INT16_XYZ);
  tile.mutable_cloud()->set_data(points, sizeof(points));
  tile.mutable_cloud()->set_scale_m(0.01);
  tile.set_crc32c(Crc32c(tile.cloud().data()));
  tile.set_last(true);
  tile.set_total_points(3);
  Requests requests;
  requests.push_back(Text<v1::UpdateMapTilesRequest>("begin { map: 'new' create: true }"));
  requests.push_back(std::make_unique<v1::UpdateMapTilesRequest>(chunk));
  requests.push_back(std::make_unique<v1::UpdateMapTilesRequest>(CommitRequest()));
  Sweep("UpdateMapTiles", std::move(requests), {"chunk.cloud"},
        [this] { static_cast<void>(DeleteMap(server_, "new")); });
  ExpectAllSeen("UpdateMapTiles");
}

TEST_F(ExtremeNumbers, OfWhatIsReadOfMapsAndServers) {
  const std::string region =
      "map: 'town' region { min { x: -5 y: -5 z: -5 } max { x: 5 y: 5 z: 5 } }";
  const auto sweep = [this](const std::string& method, std::unique_ptr<Message> request) {
    Requests requests;
    requests.push_back(std::move(request));
    Sweep(method, std::move(requests), kAll);
    ExpectAllSeen(method);
  };
  sweep("ListTiles",
        Text<v1::ListTilesRequest>(absl::StrCat(region, " page_size: 10 revision: 1")));
  sweep("GetTiles", Text<v1::GetTilesRequest>(absl::StrCat(region, " revision: 1")));
  sweep("GetCells", Text<v1::GetCellsRequest>(absl::StrCat(region, " stage: 0")));
  sweep("ListMaps", Text<v1::ListMapsRequest>("page_size: 10"));
  sweep("ListSessions", Text<v1::ListSessionsRequest>("page_size: 10"));
  sweep("ListCaptures", Text<v1::ListCapturesRequest>("page_size: 10"));
  sweep("SetLogLevel", Text<v1::SetLogLevelRequest>("level: LOG_LEVEL_ERROR"));
  sweep("ActivateRevision", Text<v1::ActivateRevisionRequest>("map: 'town' revision: 1"));
  // What else has numbers: revisions that there are none of.
  for (const auto& message :
       {Text<v1::WithdrawRevisionRequest>("map: 'town' revision: 18446744073709551615"),
        Text<v1::SetCanaryRequest>("map: 'town' revision: 18446744073709551615"),
        Text<v1::DeleteMapRequest>("map: 'town' revision: 18446744073709551615")}) {
    const std::string name = message->GetDescriptor()->name();
    const Answer answer = CallWithMessages(
        server_.NewChannel(), "/voxloc.v1.MapService/" + name.substr(0, name.size() - 7),
        {message->SerializeAsString()});
    EXPECT_FALSE(answer.status.ok()) << name;
    EXPECT_NE(answer.status.error_code(), grpc::StatusCode::INTERNAL) << name;
  }
}

TEST_F(ExtremeNumbers, OfTheDrain) {
  Requests requests;
  requests.push_back(Text<v1::DrainRequest>("grace_s: 60"));
  Sweep("Drain", std::move(requests), kAll);
  ExpectAllSeen("Drain");
}

}  // namespace
}  // namespace voxloc::server
