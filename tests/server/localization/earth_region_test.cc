// SPDX-License-Identifier: Apache-2.0
//
// Searches in a circle on the earth, over a real connection. The town lies where the equator meets
// the prime meridian, so that latitudes and longitudes follow from the radii of the ellipsoid.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/map_calls.h"
#include "tests/server/plain_calls.h"
#include "tests/server/pose_search_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"

namespace voxloc::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kSemiMajorAxis_m = 6378137.0;
constexpr double kFlattening = 1.0 / 298.257223563;
constexpr double kDegreesPerMetreEast = 180.0 / (M_PI * kSemiMajorAxis_m);
// The meridian's radius of curvature at the equator is a (1 - e^2) = a (1 - f)^2.
constexpr double kDegreesPerMetreNorth =
    kDegreesPerMetreEast / ((1.0 - kFlattening) * (1.0 - kFlattening));

class EarthRegion : public ::testing::Test {
 protected:
  void SetFrame(const v1::MapFrame& frame, const std::string& map = "town") {
    v1::UpdateMapTilesRequest begin = BeginRequest(map);
    *begin.mutable_begin()->mutable_frame() = frame;
    ASSERT_TRUE(RunUpdate(server_, {begin, CommitRequest()}).status.ok());
  }
  static v1::MapFrame Origin(double x_axis_yaw_rad) {
    v1::MapFrame frame;
    frame.mutable_origin()->mutable_point();
    frame.mutable_origin()->set_x_axis_yaw_rad(x_axis_yaw_rad);
    return frame;
  }

  // So far from the map's origin on the earth.
  static v1::EstimateInitialPoseRequest CircleRequest(double east_m, double north_m,
                                                      double radius_m) {
    v1::EstimateInitialPoseRequest request = WholeMapRequest();
    v1::Wgs84Circle& circle = *request.mutable_region()->mutable_wgs84_circle();
    circle.set_longitude_deg(east_m * kDegreesPerMetreEast);
    circle.set_latitude_deg(north_m * kDegreesPerMetreNorth);
    circle.set_radius_m(radius_m);
    return request;
  }

  TownServer server_;
};

TEST_F(EarthRegion, FindsTheVehicleInACircleByOriginAxesAndProjectorOfTheMap) {
  v1::MapFrame projected;
  projected.mutable_projector()->set_projector_type("TransverseMercator");
  projected.mutable_projector()->set_vertical_datum("WGS84");
  projected.mutable_projector()->mutable_map_origin();
  projected.mutable_projector()->set_scale_factor(1.0);
  std::pair<v1::MapFrame, v1::EstimateInitialPoseRequest> rows[] = {
      {Origin(0.0), CircleRequest(4.0, -4.0, 6.0)},        // the vehicle is at x 1, y -0.5
      {Origin(M_PI / 2.0), CircleRequest(4.5, 5.0, 6.0)},  // x is north, y is west
      {projected, CircleRequest(-3.0, 2.0, 6.0)},
  };
  std::string map = "town";
  for (auto& [frame, request] : rows) {
    SCOPED_TRACE(frame.ShortDebugString());
    // A map keeps the frame that it has.
    server_.LoadTown(map += "-next");
    SetFrame(frame, map);
    request.mutable_setup()->set_map(map);
    const PoseSearchReply reply = Search(server_, request);
    ASSERT_TRUE(reply.status.ok()) << reply.status.error_message();
    ASSERT_GE(reply.result.hypotheses_size(), 1);
    EXPECT_LT(DistanceFromVehicle(reply.result.hypotheses(0).map_t_base().pose()), 0.1);
    EXPECT_LT(AngleFromVehicle(reply.result.hypotheses(0).map_t_base().pose()), 0.01);
  }
}

TEST_F(EarthRegion, LooksNowhereElse) {
  SetFrame(Origin(0.0));
  const PoseSearchReply reply = Search(server_, CircleRequest(15.0, 12.0, 4.0));
  ASSERT_TRUE(reply.status.ok()) << reply.status.error_message();
  for (const v1::PoseHypothesis& wrong : reply.result.hypotheses()) {
    const v1::Vector3& at = wrong.map_t_base().pose().position();
    // Candidates may end a little outside.
    EXPECT_NEAR(at.x(), 15.0, 6.0);
    EXPECT_NEAR(at.y(), 12.0, 6.0);
  }
}

TEST_F(EarthRegion, NeedsTheFrameOfTheMap) {
  const PoseSearchReply none = Search(server_, CircleRequest(0.0, 0.0, 6.0));
  EXPECT_EQ(none.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(none.status), "MAP_FRAME_UNKNOWN");
  EXPECT_THAT(none.status.error_message(),
              AllOf(HasSubstr("map town"), HasSubstr("has no frame"), HasSubstr("WGS84 origin")));
  v1::MapFrame local;
  local.mutable_projector()->set_projector_type("Local");
  SetFrame(local);
  const PoseSearchReply nowhere = Search(server_, CircleRequest(0.0, 0.0, 6.0));
  EXPECT_EQ(nowhere.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(nowhere.status.error_message(), HasSubstr("type Local"));
}

TEST_F(EarthRegion, SaysWhatIsWrongWithACircle) {
  SetFrame(Origin(0.0));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<std::function<void(v1::Wgs84Circle&)>, std::string>> cases = {
      {[](auto& c) { c.set_latitude_deg(90.5); },
       "region.wgs84_circle.latitude_deg must be from -90 to 90 (got 90.5)"},
      {[nan](auto& c) { c.set_longitude_deg(nan); }, "longitude_deg must be from -180 to 180"},
      {[](auto& c) { c.set_radius_m(0.0); }, "radius_m must be over 0"},
      {[](auto& c) { c.set_radius_m(2e5); }, "radius_m must be over 0 and at most 100000 m"},
      {[](auto& c) { c.set_longitude_deg(180.0); }, "the other side of the earth"},
      {[](auto& c) { c.set_longitude_deg(0.01); },
       "does not touch the map: latitude 0.000000 and longitude 0.010000 are at x 1113.2, y 0.0 m"},
  };
  for (const auto& [change, says] : cases) {
    v1::EstimateInitialPoseRequest request = CircleRequest(0.0, 0.0, 6.0);
    change(*request.mutable_region()->mutable_wgs84_circle());
    const PoseSearchReply reply = Search(server_, request);
    EXPECT_EQ(reply.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << says;
    EXPECT_THAT(reply.status.error_message(), HasSubstr(says));
  }
  EXPECT_TRUE(Search(server_, CircleRequest(0.0, 0.0, 6.0)).status.ok());
}

}  // namespace
}  // namespace voxloc::server
