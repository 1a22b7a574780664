// SPDX-License-Identifier: Apache-2.0
//
// Invalid client input against the real server: each fault has its answer, and the server keeps
// serving.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/server/plain_calls.h"
#include "tests/server/security/any_rpc.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kNanF = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinityF = std::numeric_limits<float>::infinity();

class BadInput : public EngineTest {
 protected:
  void SetUp() override {
    server_.LoadTown();
    session_.Open();
  }

  // A good scan is still aligned, in the session with the fault and in a new one.
  void TearDown() override {
    session_.Send(GoodScan(99));
    const v1::AlignmentResult result = session_.ReadResult();
    EXPECT_EQ(result.sequence(), 99);
    EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OK);
    ExpectServing();
    EngineTest::TearDown();
  }

  void ExpectServing() {
    TestSession session(server_);
    session.Open();
    session.Send(GoodScan(1));
    EXPECT_EQ(session.ReadResult().status(), v1::ALIGNMENT_STATUS_OK);
  }

  v1::AlignmentResult Align(const v1::Scan& scan) {
    session_.Send(scan);
    return session_.ReadResult();
  }

  grpc::StatusCode AlignUnary(const v1::AlignScanRequest& request) const {
    v1::AlignScanResponse response;
    return server_.localization->AlignScan(TestServer::NewContext().get(), request, &response)
        .error_code();
  }

  v1::AlignScanRequest UnaryRequest(const v1::Scan& scan) {
    v1::AlignScanRequest request;
    request.mutable_setup()->set_map("town");
    *request.mutable_scan() = scan;
    return request;
  }

  // INVALID_INPUT in a stream, INVALID_ARGUMENT without one.
  void ExpectMalformed(const v1::Scan& scan, const std::string& detail) {
    const v1::AlignmentResult result = Align(scan);
    EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_INVALID_INPUT) << result.ShortDebugString();
    EXPECT_THAT(result.detail(), HasSubstr(detail));
    EXPECT_FALSE(result.has_map_t_base());
    EXPECT_EQ(AlignUnary(UnaryRequest(scan)), grpc::StatusCode::INVALID_ARGUMENT);
  }

  grpc::Status OpenStatus(const std::function<void(v1::OpenSession&)>& change) {
    TestSession session(server_);
    v1::AlignScansRequest request;
    request.mutable_open()->mutable_setup()->set_map("town");
    change(*request.mutable_open());
    session.Send(request);
    EXPECT_FALSE(session.Read().has_opened());
    return session.Finish();
  }

  TestServer server_{[](Config& config) {
                       config.limits.max_points_per_scan = 100'000;
                       config.limits.max_message_bytes = 4 << 20;
                       config.metrics_listen = "127.0.0.1:0";
                     },
                     EngineHandle()};
  TestSession session_{server_};
};
VOXLOC_INSTANTIATE_ON_ENGINES(BadInput);

TEST_P(BadInput, EmptyScan) {
  v1::Scan scan = GoodScan();
  scan.mutable_clouds(0)->mutable_cloud()->clear_data();
  ExpectMalformed(scan, "no points");
  scan.clear_clouds();
  ExpectMalformed(scan, "no points");
}

TEST_P(BadInput, SomePointsNotFinite) {
  v1::Scan scan = GoodScan();
  scan.mutable_clouds(0)->mutable_cloud()->mutable_data()->append(
      CloudOf({kNanF, 0.0F, 0.0F, 0.0F, kInfinityF, 0.0F, 0.0F, 0.0F, -kInfinityF}).data());
  const v1::AlignmentResult result = Align(scan);
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OK);
  EXPECT_EQ(result.points().received(), 1503);
  EXPECT_EQ(result.points().not_finite(), 3);
  EXPECT_EQ(result.points().used(), 1500);
}

TEST_P(BadInput, AllPointsNotFinite) {
  v1::Scan scan = GoodScan();
  *scan.mutable_clouds(0)->mutable_cloud() = CloudOf({kNanF, 0.0F, 0.0F, kInfinityF, 1.0F, 2.0F});
  ExpectMalformed(scan, "no point is left of 2: 2 not finite");
}

TEST_P(BadInput, PointsBeyondAllReach) {
  v1::Scan scan = GoodScan();
  *scan.mutable_clouds(0)->mutable_cloud() = CloudOf({3e38F, 3e38F, -3e38F});
  ExpectMalformed(scan, "no point is left");
}

TEST_P(BadInput, OnePoint) {
  v1::Scan scan = GoodScan();
  *scan.mutable_clouds(0)->mutable_cloud() = CloudOf({5.0F, 1.0F, -1.5F});
  const v1::AlignmentResult result = Align(scan);
  EXPECT_NE(result.status(), v1::ALIGNMENT_STATUS_INVALID_INPUT);
  EXPECT_EQ(result.points().used(), 1);
  EXPECT_TRUE(result.has_map_t_base());
}

TEST_P(BadInput, BytesThatAreNotAMultipleOfTheStride) {
  v1::Scan scan = GoodScan();
  scan.mutable_clouds(0)->mutable_cloud()->mutable_data()->pop_back();
  ExpectMalformed(scan, "not a multiple of the stride");
}

TEST_P(BadInput, StrideTooSmall) {
  v1::Scan scan = GoodScan();
  scan.mutable_clouds(0)->mutable_cloud()->set_stride(4);
  ExpectMalformed(scan, "for this layout (got 4)");
}

TEST_P(BadInput, UnknownLayout) {
  v1::Scan scan = GoodScan();
  scan.mutable_clouds(0)->mutable_cloud()->set_layout(static_cast<v1::CloudLayout>(77));
  ExpectMalformed(scan, "INT16_XYZT (6) (got 77)");
}

TEST_P(BadInput, MorePointsThanAllowed) {
  v1::Scan scan = GoodScan();
  scan.mutable_clouds(0)->mutable_cloud()->mutable_data()->resize(100'001 * 12);
  ExpectMalformed(scan, "at most 100000 points (got 100001)");
}

TEST_P(BadInput, TenMillionPointsAreOverTheLimitOfAMessage) {
  v1::Scan scan = GoodScan();
  scan.mutable_clouds(0)->mutable_cloud()->mutable_data()->resize(10'000'000 * 12);
  EXPECT_EQ(AlignUnary(UnaryRequest(scan)), grpc::StatusCode::RESOURCE_EXHAUSTED);
  TestSession session(server_);
  session.Open();
  session.Send(scan);
  EXPECT_FALSE(session.Read().has_result());
  EXPECT_EQ(session.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_P(BadInput, TenMillionPointsWhereMessagesMayBeLarge) {
  TestServer large([](Config& config) { config.limits.max_message_bytes = 200 << 20; },
                   EngineHandle());
  large.LoadTown();
  TestSession session(large);
  session.Open();
  v1::Scan scan = GoodScan();
  scan.mutable_clouds(0)->mutable_cloud()->mutable_data()->resize(10'000'000 * 12);
  session.Send(scan);
  const v1::AlignmentResult result = session.ReadResult();
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_INVALID_INPUT);
  EXPECT_THAT(result.detail(), HasSubstr("at most 2000000 points (got 10000000)"));
}

TEST_P(BadInput, UnknownMap) {
  EXPECT_EQ(OpenStatus([](v1::OpenSession& open) {
              open.mutable_setup()->set_map("nowhere");
            }).error_code(),
            grpc::StatusCode::NOT_FOUND);
  v1::AlignScanRequest request = UnaryRequest(GoodScan());
  request.mutable_setup()->set_map("nowhere");
  EXPECT_EQ(AlignUnary(request), grpc::StatusCode::NOT_FOUND);
  for (const std::string& name :
       {std::string(), std::string("../etc"), std::string(100'000, 'x')}) {
    const grpc::Status status =
        OpenStatus([&name](v1::OpenSession& open) { open.mutable_setup()->set_map(name); });
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
}

TEST_P(BadInput, MapWithoutAUsableCell) {
  PointCloud sparse;
  sparse.PushBack(0.0F, 0.0F, 0.0F);
  sparse.PushBack(10.0F, 0.0F, 0.0F);
  TestUpdate update(server_);
  update.Write(BeginRequest("sparse"));
  update.Write(TileRequest("t", sparse));
  update.Write(CommitRequest());
  for (int i = 0; i < 3; ++i) static_cast<void>(update.Read());
  ASSERT_TRUE(update.Finish().ok());
  TestSession session(server_);
  session.Open("sparse");
  session.Send(GoodScan());
  EXPECT_EQ(session.ReadResult().status(), v1::ALIGNMENT_STATUS_OUT_OF_MAP);
}

TEST_P(BadInput, MapWithoutATile) {
  TestUpdate update(server_);
  update.Write(BeginRequest("empty"));
  update.Write(CommitRequest());
  EXPECT_TRUE(update.Read().has_begun());
  EXPECT_TRUE(update.Read().has_committed());
  ASSERT_TRUE(update.Finish().ok());
  TestSession session(server_);
  session.Open("empty");
  session.Send(GoodScan());
  const v1::AlignmentResult result = session.ReadResult();
  EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OUT_OF_MAP);
  EXPECT_TRUE(result.has_map_t_base());
}

TEST_P(BadInput, GuessThatIsNotAPose) {
  v1::Scan scan = GoodScan();
  scan.mutable_guess_map_t_base()->mutable_pose()->clear_orientation();
  ExpectMalformed(scan, "guess_map_t_base.pose.orientation");
  for (const double bad : {kNan, kInfinity}) {
    scan = GoodScan();
    scan.mutable_guess_map_t_base()->mutable_pose()->mutable_orientation()->set_y(bad);
    ExpectMalformed(scan, "guess_map_t_base.pose.orientation");
    scan = GoodScan();
    scan.mutable_guess_map_t_base()->mutable_pose()->mutable_position()->set_x(bad);
    ExpectMalformed(scan, "guess_map_t_base.pose.position");
  }
  scan = GoodScan();
  scan.mutable_guess_map_t_base()->add_covariance(1.0);
  ExpectMalformed(scan, "guess_map_t_base.covariance must have 0 or 36 values (got 1)");
  scan = GoodScan();
  scan.mutable_reference_position()->set_x(kNan);
  ExpectMalformed(scan, "reference_position");
}

TEST_P(BadInput, GuessFarOutsideTheMap) {
  for (const double x : {1e3, 1e9, -1e9}) {
    v1::Scan scan = GoodScan();
    scan.mutable_guess_map_t_base()->mutable_pose()->mutable_position()->set_x(x);
    const v1::AlignmentResult result = Align(scan);
    EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OUT_OF_MAP) << x;
    EXPECT_EQ(result.map_t_base().pose().position().x(), x);
    EXPECT_EQ(result.scores().matched_points(), 0);
    EXPECT_FALSE(result.accepted());
    EXPECT_EQ(AlignUnary(UnaryRequest(scan)), grpc::StatusCode::OK);  // a result is not an error
  }
}

TEST_P(BadInput, AbsurdTimes) {
  for (const double seconds : {-1.0, 1e10, kNan, kInfinity}) {
    v1::Scan scan = GoodScan();
    scan.set_timeout_s(seconds);
    ExpectMalformed(scan, "timeout_s");
    const grpc::Status status = OpenStatus(
        [seconds](v1::OpenSession& open) { open.mutable_limits()->set_timeout_s(seconds); });
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  v1::Scan scan = GoodScan();
  scan.set_timeout_s(1e9);
  scan.set_stamp_ns(std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Align(scan).status(), v1::ALIGNMENT_STATUS_OK);
}

TEST_P(BadInput, AbsurdParameters) {
  const std::vector<std::function<void(v1::OpenSession&)>> changes = {
      [](auto& open) {
        open.mutable_setup()
            ->mutable_options()
            ->mutable_overrides()
            ->mutable_max_iterations()
            ->set_value(1'000'000'000);
      },
      [](auto& open) {
        open.mutable_setup()
            ->mutable_options()
            ->mutable_overrides()
            ->mutable_step_size_m()
            ->set_value(-0.1);
      },
      [](auto& open) {
        open.mutable_setup()
            ->mutable_options()
            ->mutable_overrides()
            ->mutable_outlier_ratio()
            ->set_value(kNan);
      },
      [](auto& open) { open.mutable_setup()->mutable_options()->set_profile("fastest"); },
      [](auto& open) { open.mutable_setup()->mutable_filter()->set_voxel_leaf_m(-1.0); },
      [](auto& open) { open.mutable_setup()->mutable_filter()->set_max_range_m(kNan); },
      [](auto& open) { open.mutable_setup()->mutable_base_t_sensor(); },
      [](auto& open) {
        *open.mutable_setup()->mutable_base_t_sensor() =
            PoseOf({{1e9, 0.0, 0.0}, Eigen::Quaterniond::Identity()});
      },
      [](auto& open) { open.mutable_setup()->set_vehicle(std::string(129, 'v')); },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    const grpc::Status status = OpenStatus(changes[i]);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << i;
    EXPECT_NE(status.error_message(), "") << i;
  }
}

TEST_P(BadInput, VoxelGridTooFineForTheScan) {
  v1::AlignScansRequest request;
  request.mutable_configure()->mutable_setup()->mutable_filter()->set_voxel_leaf_m(1e-9);
  session_.Send(request);
  EXPECT_TRUE(session_.Read().has_configured());
  EXPECT_EQ(Align(GoodScan()).status(), v1::ALIGNMENT_STATUS_INVALID_INPUT);
  request.mutable_configure()->mutable_setup()->mutable_filter()->set_voxel_leaf_m(0.0);
  session_.Send(request);
  EXPECT_TRUE(session_.Read().has_configured());
}

TEST_P(BadInput, OptionsThatContradictEachOther) {
  const std::vector<std::function<void(v1::OpenSession&)>> changes = {
      [](auto& open) { open.mutable_recovery(); },
      [](auto& open) {
        open.mutable_setup()->mutable_options()->mutable_covariance()->add_offset_x_m(1.0);
      },
      [](auto& open) { open.mutable_setup()->mutable_output()->set_point_colors(true); },
      [](auto& open) {
        open.mutable_setup()->mutable_options()->mutable_covariance()->set_method(
            v1::COVARIANCE_METHOD_FIXED);
        open.mutable_setup()->mutable_output()->mutable_protection();
      },
      [](auto& open) {
        open.mutable_setup()->mutable_options()->mutable_covariance()->set_method(
            v1::COVARIANCE_METHOD_CALIBRATED);
        open.mutable_setup()->mutable_output()->mutable_protection()->mutable_risk()->set_value(
            1.0);
      },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    EXPECT_EQ(OpenStatus(changes[i]).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << i;
  }
}

TEST_P(BadInput, MessagesOutOfOrder) {
  {
    TestSession session(server_);
    session.Send(GoodScan());
    EXPECT_FALSE(session.Read().has_result());
    EXPECT_EQ(session.Finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  }
  {
    TestSession session(server_);
    session.Open();
    v1::AlignScansRequest request;
    request.mutable_open()->mutable_setup()->set_map("town");
    session.Send(request);
    EXPECT_FALSE(session.Read().has_opened());
    EXPECT_EQ(session.Finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  }
  {
    TestSession session(server_);
    session.Open();
    session.Send(v1::AlignScansRequest());
    EXPECT_FALSE(session.Read().has_result());
    EXPECT_EQ(session.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  EXPECT_EQ(OpenStatus([](v1::OpenSession& open) {
              open.mutable_setup()->set_min_map_revision(9);
            }).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  v1::AlignScanRequest request = UnaryRequest(GoodScan());
  request.mutable_scan()->clear_guess_map_t_base();
  EXPECT_EQ(AlignUnary(request), grpc::StatusCode::INVALID_ARGUMENT);
  request.clear_scan();
  EXPECT_EQ(AlignUnary(request), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_P(BadInput, ClientsThatVanish) {
  for (int i = 0; i < 20; ++i) {
    TestSession session(server_);
    session.Open();
    for (uint64_t scan = 0; scan < 3; ++scan) session.Send(GoodScan(scan));
    session.Cancel();  // with replies unread
    static_cast<void>(session.Finish());
    TestUpdate update(server_);
    update.Write(BeginRequest("town"));
    update.Write(TileRequest("new", SmallTown()));
    update.Cancel();
    static_cast<void>(update.Finish());
  }
  v1::GetMapRequest request;
  request.set_map("town");
  v1::GetMapResponse response;
  ASSERT_TRUE(server_.maps->GetMap(TestServer::NewContext().get(), request, &response).ok());
  EXPECT_EQ(response.map().revision(), 1);
}

TEST_P(BadInput, RequestsThatCannotBeParsed) {
  // A field of bytes that ends in its length.
  const std::string cut = "\x0a\xff";
  const auto status_of = [&](const std::string& path) {
    return CallWithBytes(server_.NewChannel(), "/" + path, cut).status;
  };
  size_t tried = 0;
  for (const auto* const rpc : AllRpcs()) {
    const grpc::Status status = status_of(PathOf(*rpc));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << rpc->name();
    EXPECT_THAT(status.error_message(), HasSubstr("cannot be parsed")) << rpc->name();
    ++tried;
  }
  EXPECT_GE(tried, 23u);
  for (const char* health : {"grpc.health.v1.Health/Check", "grpc.health.v1.Health/Watch"}) {
    EXPECT_EQ(status_of(health).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << health;
  }
  EXPECT_EQ(status_of("voxloc.v1.MapService/Nothing").error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(
      MetricsOf(server_)["voxloc_rpc_handled_total{code=\"INVALID_ARGUMENT\",method=\"GetMap\"}"],
      1.0);
}

TEST_P(BadInput, BytesThatAreNoMessage) {
  // Valid fields with wrong contents: the same on every run. Few random bytes are a message at all.
  constexpr int kMessages = 50;
  constexpr int kMaxTries = 100'000;
  std::mt19937 random(11);
  int sent = 0;
  for (int i = 0; i < kMaxTries && sent < kMessages; ++i) {
    std::string bytes(1 + random() % 64, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 256);
    v1::AlignScansRequest request;
    if (!request.ParseFromString(bytes)) continue;
    ++sent;
    TestSession session(server_);
    session.Send(request);
    session.HalfClose();
    EXPECT_FALSE(session.Finish().ok());
  }
  EXPECT_EQ(sent, kMessages);
}

}  // namespace
}  // namespace voxloc::server
