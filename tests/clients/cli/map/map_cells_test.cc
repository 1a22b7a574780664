// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map/map_cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "clients/cli/map/cells_file.h"
#include "tests/clients/cpp/fake_server.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::cli {
namespace {

using ::testing::HasSubstr;

void AddCell(double x, double y, v1::GetCellsResponse* part) {
  for (int i = 0; i < 3; ++i) part->add_index(0);
  part->add_points(7);
  for (const double value : {x, y, 0.0}) part->add_mean(value);
  for (int i = 0; i < 6; ++i) part->add_covariance(static_cast<float>(i));
}

// A server whose map has a cell a metre, or `cells_a_call` in each answer, and notes the boxes that
// it was asked for.
class CellsAlongTest : public ::testing::Test {
 protected:
  absl::StatusOr<DriveCells> Along(const std::vector<Pose>& poses, int cells_a_call) {
    FakeBehaviour behaviour;
    behaviour.get_cells = [&](const v1::GetCellsRequest& request,
                              FakeBehaviour::CellStream* stream) {
      boxes_.push_back(request.region());
      v1::GetCellsResponse part;
      for (int i = 0; i < cells_a_call; ++i) AddCell(static_cast<double>(i), 0.0, &part);
      stream->Write(part);
      return grpc::Status::OK;
    };
    FakeServer server(behaviour);
    client::ChannelOptions channel;
    channel.server = server.address();
    return CellsAlong(*client::Channel::Create(channel), {"town", "precise", 2}, poses, 10.0);
  }

  static Pose At(double x, double y, double z) { return Pose{Eigen::Vector3d(x, y, z)}; }

  std::vector<v1::Box> boxes_;
};

TEST_F(CellsAlongTest, BoxesReachFortyMetresAroundEachPoseAndAreAskedForOnce) {
  const std::vector<Pose> poses = {At(0.0, 0.0, 5.0), At(0.1, 0.0, -5.0), At(250.0, 950.0, 0.0)};
  ASSERT_TRUE(Along(poses, 1).ok());
  for (const Pose& pose : poses) {
    for (const double dx : {-kCellReach_m, 0.0, kCellReach_m}) {
      for (const double dy : {-kCellReach_m, 0.0, kCellReach_m}) {
        const Eigen::Vector3d at = pose.translation + Eigen::Vector3d(dx, dy, 0.0);
        EXPECT_EQ(std::count_if(boxes_.begin(), boxes_.end(),
                                [&at](const v1::Box& box) {
                                  return box.min().x() <= at.x() && at.x() < box.max().x() &&
                                         box.min().y() <= at.y() && at.y() < box.max().y() &&
                                         box.min().z() <= at.z() && at.z() < box.max().z();
                                }),
                  1)
            << at.transpose();
      }
    }
  }
  EXPECT_LE(boxes_.size(), 8u);
}

TEST_F(CellsAlongTest, OfTooManyCellsEveryNthIsKept) {
  // Four boxes of 60,000 cells.
  const auto drive = Along({At(0.0, 0.0, 0.0)}, 60'000);
  ASSERT_TRUE(drive.ok()) << drive.status();
  EXPECT_EQ(drive->all, 240'000u);
  ASSERT_EQ(drive->cells.size(), 60'000u);
  for (size_t i = 0; i < drive->cells.size(); ++i) {
    ASSERT_EQ(drive->cells[i].mean_map.x(), static_cast<double>(4 * i % 60'000)) << i;
  }
}

TEST(ForEachCell, ReadsTheUpperTriangleOfACovariance) {
  v1::GetCellsResponse part;
  AddCell(1.5, 2.5, &part);
  int cells = 0;
  ASSERT_TRUE(ForEachCell(part, [&cells](const MapCell& cell) {
                ++cells;
                EXPECT_EQ(cell.points, 7u);
                EXPECT_EQ(cell.mean_map, Eigen::Vector3d(1.5, 2.5, 0.0));
                Eigen::Matrix3d expected;
                expected << 0, 1, 2, 1, 3, 4, 2, 4, 5;
                EXPECT_EQ(cell.covariance_map, expected);
                return absl::OkStatus();
              }).ok());
  EXPECT_EQ(cells, 1);
}

TEST(ForEachCell, RefusesArraysOfDifferentSizes) {
  v1::GetCellsResponse part;
  AddCell(1.5, 2.5, &part);
  part.add_mean(0.0);
  const absl::Status status = ForEachCell(part, [](const MapCell&) { return absl::OkStatus(); });
  EXPECT_THAT(std::string(status.message()), HasSubstr("arrays of different sizes"));
}

TEST(CellsFile, AFullDiskIsAnErrorAndTheFileIsGone) {
  const ScratchDir scratch;
  const std::string path = scratch.Path("x.ply");
  std::filesystem::create_symlink("/dev/full", path);
  auto file = CellsFile::Create(path);
  ASSERT_TRUE(file.ok()) << file.status();
  absl::Status status = (*file)->Add(0, 2.0, MapCell());
  status.Update((*file)->Close());
  EXPECT_THAT(std::string(status.message()), HasSubstr("x.ply cannot be written: No space left"));
  file->reset();
  EXPECT_FALSE(std::filesystem::is_symlink(path));
}

}  // namespace
}  // namespace voxloc::cli
