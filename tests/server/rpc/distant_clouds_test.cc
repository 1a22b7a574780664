// SPDX-License-Identifier: Apache-2.0
//
// Clouds beyond the range of coordinates, in every request that has clouds. The sweeps of
// extreme_numbers_test.cc set larger numbers, which other checks refuse as well.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/server/map_calls.h"
#include "tests/server/plain_calls.h"
#include "tests/server/pose_search_calls.h"
#include "tests/server/small_town.h"
#include "tests/server/test_server.h"

namespace voxloc::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void SetAxis(int axis, double value, v1::Vector3& vector) {
  if (axis == 0) vector.set_x(value);
  if (axis == 1) vector.set_y(value);
  if (axis == 2) vector.set_z(value);
}

class DistantClouds : public ::testing::Test {
 protected:
  // A scan whose cloud has this origin.
  static v1::Scan ScanAt(int axis, double value) {
    v1::Scan scan = GoodScan();
    SetAxis(axis, value, *scan.mutable_clouds(0)->mutable_cloud()->mutable_origin());
    return scan;
  }
  // How a call of ScorePoses ends that begins with this scan.
  grpc::Status ScoreStatus(const v1::Scan& scan) {
    v1::ScorePosesRequest request;
    request.mutable_setup()->mutable_setup()->set_map("town");
    *request.mutable_setup()->mutable_scan() = scan;
    return CallWithMessages(server_.NewChannel(), "/voxloc.v1.LocalizationService/ScorePoses",
                            {request.SerializeAsString()})
        .status;
  }

  TownServer server_;
};

TEST_F(DistantClouds, AreRefusedByTheirOrigin) {
  for (int axis = 0; axis < 3; ++axis) {
    for (const double value : {1.001e9, -1.001e9}) {
      SCOPED_TRACE(absl::StrCat("axis ", axis, ", ", value, " m"));
      const auto expect_refused = [value](const std::string& message) {
        EXPECT_THAT(message, AllOf(HasSubstr("cloud.origin must have components from -1e+09 to "
                                             "1e+09"),
                                   HasSubstr(absl::StrCat(value))));
      };
      const auto expect_status = [&expect_refused](const grpc::Status& status) {
        EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
        expect_refused(status.error_message());
      };
      v1::UpdateMapTilesRequest tile = TileRequest("far", TownStrip(-3.0, 3.0));
      SetAxis(axis, value, *tile.mutable_chunk()->mutable_cloud()->mutable_origin());
      expect_status(RunUpdate(server_, {BeginRequest("town"), tile, CommitRequest()}).status);
      const v1::Scan scan = ScanAt(axis, value);
      v1::AlignmentResult result;
      expect_status(AlignInTown(server_, scan, result));
      v1::EstimateInitialPoseRequest search = PriorRequest(2);
      *search.mutable_scan() = scan;
      expect_status(Search(server_, search).status);
      expect_status(ScoreStatus(scan));
      // The session goes on.
      TestSession session(server_, "town");
      const v1::AlignmentResult refused = session.Align(scan);
      EXPECT_EQ(refused.status(), v1::ALIGNMENT_STATUS_INVALID_INPUT);
      expect_refused(refused.detail());
      EXPECT_EQ(session.Align(GoodScan(2)).status(), v1::ALIGNMENT_STATUS_OK);
    }
  }
  EXPECT_EQ(GetMap(server_).revision(), 1U);
}

// A point is no number of a request: a tile with one that its cells do not reach is refused, and a
// scan goes without it.
TEST_F(DistantClouds, AreRefusedOrThinnedByTheirPoints) {
  for (const float x : {1.001e9F, -1.001e9F, 3e38F}) {
    SCOPED_TRACE(absl::StrCat(x));
    PointCloud tile = TownStrip(-3.0, 3.0);
    tile.PushBack(x, 0.0F, 0.0F);
    const grpc::Status status =
        RunUpdate(server_, {BeginRequest("town"), TileRequest("far", tile), CommitRequest()})
            .status;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), AllOf(HasSubstr("'far'"), HasSubstr("a point lies ")));

    PointCloud seen = ScanFrom(VehiclePose());
    v1::Scan scan = GoodScan();
    *scan.mutable_clouds(0)->mutable_cloud() = CloudOf(seen);
    v1::AlignmentResult without;
    ASSERT_TRUE(AlignInTown(server_, scan, without).ok());
    seen.PushBack(x, 0.0F, 0.0F);
    *scan.mutable_clouds(0)->mutable_cloud() = CloudOf(seen);
    v1::AlignmentResult with;
    ASSERT_TRUE(AlignInTown(server_, scan, with).ok());
    EXPECT_EQ(with.status(), v1::ALIGNMENT_STATUS_OK);
    EXPECT_EQ(with.map_t_base().pose().SerializeAsString(),
              without.map_t_base().pose().SerializeAsString());
  }
  EXPECT_EQ(GetMap(server_).revision(), 1U);
}

}  // namespace
}  // namespace voxloc::server
