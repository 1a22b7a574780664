// SPDX-License-Identifier: Apache-2.0
//
// `voxloc map propose` of a yard between houses, one of which its map does not have, on the disk or
// in a map service in the test's process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/map/map_manifest.h"
#include "core/cloud/io/cloud_file.h"
#include "tests/clients/cli/page_data.h"
#include "tests/clients/cpp/fake_maps.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/yard.h"

namespace voxloc::cli {
namespace {

using ::nlohmann::json;
using ::testing::HasSubstr;

constexpr size_t kDrives = 5;

std::string KittiPoses(const std::vector<Pose>& poses) {
  std::string text;
  for (const Pose& pose : poses) {
    absl::StrAppend(&text, "1 0 0 ", pose.translation.x(), " 0 1 0 ", pose.translation.y(),
                    " 0 0 1 ", pose.translation.z(), "\n");
  }
  return text;
}

class MapProposeCommand : public ::testing::Test {
 protected:
  MapProposeCommand() : server_(maps_.Behaviour()) {
    std::vector<sim::Solid> old = Yard();
    old.pop_back();
    EXPECT_TRUE(WritePcd(scratch_.Path("map/yard.pcd"), SampleFaces(old)).ok());
    json drives = json::array();
    for (size_t drive = 0; drive < kDrives; ++drive) drives.push_back(WriteDriveOf(drive));
    drives_ = scratch_.Write("drives.json", drives.dump());
  }

  json WriteDriveOf(size_t drive) const {
    DriveThrough through;
    through.y_m = 0.3 * static_cast<double>(drive) - 1.0;
    through.seed = drive + 1;
    const std::string folder = absl::StrCat("drive", drive);
    const std::vector<Pose> poses = WriteDrive(Yard(), through, scratch_.Path(folder));
    return {{"vehicle", absl::StrCat("bus-", drive % 2)},
            {"scans", folder},
            {"poses", scratch_.Write(folder + ".txt", KittiPoses(poses))},
            {"start_s", 7200.0 * static_cast<double>(drive)}};
  }

  absl::Status Run(std::vector<std::string> arguments, const std::string& command = "propose") {
    const std::string out = scratch_.Path("result.json");
    arguments.insert(arguments.begin(), {"map", command});
    arguments.insert(arguments.end(), {"--json", out, "--server", server_.address()});
    const ParsedCommandLine parsed = ParseCommandLine(arguments);
    if (!parsed.work) return absl::InvalidArgumentError(parsed.error);
    const absl::StatusOr<ExitCode> code = parsed.work();
    if (!code.ok()) return code.status();
    std::ifstream file(out);
    result_ = json::parse(file, nullptr, false);
    return absl::OkStatus();
  }

  const ScratchDir scratch_;
  client::FakeMaps maps_;
  client::FakeServer server_;
  std::string drives_;
  json result_;
};

TEST_F(MapProposeCommand, WritesTheMapWithTheNewHouseAndTheEvidence) {
  const std::string proposal = scratch_.Path("proposal");
  ASSERT_TRUE(Run({scratch_.Path("map"), drives_, proposal}).ok());
  ASSERT_EQ(result_["tiles"].size(), 1U);
  const json& tile = result_["tiles"][0];
  EXPECT_EQ(tile["tile"], "yard");
  EXPECT_EQ(tile["drives"].size(), kDrives);
  EXPECT_EQ(tile["vehicles"], json({"bus-0", "bus-1"}));
  EXPECT_GT(tile["held_out"]["scans"], 0);
  EXPECT_GT(tile["held_out"]["score_after"], tile["held_out"]["score_before"]);
  std::ifstream file(proposal + "/evidence.json");
  const json evidence = json::parse(file, nullptr, false);
  EXPECT_EQ(evidence["tiles"], result_["tiles"]);
  const json page = json::parse(EmbeddedData(FileText(proposal + "/evidence.html")));
  EXPECT_EQ(page["proposal"], evidence);
  ASSERT_EQ(page["tiles"].size(), 1U);
  EXPECT_EQ(page["tiles"][0]["points"], tile["points"]);
  // Cubes of 0.2 m on the house, 6 m x 3 m and 5 m high, of which drives see three sides or fewer.
  ASSERT_EQ(page["layers"][0]["name"], "joins");
  EXPECT_GT(page["layers"][0]["cells_of"], 300);
  EXPECT_LT(page["layers"][0]["cells_of"], 3000);
  ASSERT_EQ(page["layers"][1]["name"], "leaves");
  EXPECT_LE(page["layers"][1]["cells_of"], tile["points_removed"]);

  const auto manifest = ReadManifest(proposal);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  ASSERT_EQ(manifest->tiles.size(), 1U);
  const auto cloud = ReadManifestTile(proposal, manifest->tiles[0]);
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  // The front of the house, 6 m x 5 m with a point every 0.2 m.
  size_t front = 0;
  const size_t added = tile["points_added"].get<size_t>();
  for (size_t i = cloud->size() - added; i < cloud->size(); ++i) {
    const Eigen::Vector3d point = cloud->Point(i);
    EXPECT_GT(point.x(), 2.8);
    EXPECT_LT(point.x(), 9.2);
    EXPECT_GT(point.y(), 4.9);
    if (std::abs(point.y() - 5.0) < 0.05) ++front;
  }
  EXPECT_GT(front, 300U);
}

TEST_F(MapProposeCommand, WritesNothingWhereTooFewDrivesShowAChange) {
  const std::string proposal = scratch_.Path("proposal");
  ASSERT_TRUE(Run({scratch_.Path("map"), drives_, proposal, "--min-passes", "6"}).ok());
  EXPECT_TRUE(result_["tiles"].empty());
  EXPECT_FALSE(ReadManifest(proposal).ok());
}

TEST_F(MapProposeCommand, StagesTheNewTilesOnTheRevisionThatTheyWereMadeFrom) {
  EXPECT_TRUE(
      WritePcd(scratch_.Path("map/far.pcd"), SampleFaces({SolidBetween({400, 0, 0}, {404, 4, 4})}))
          .ok());
  ASSERT_TRUE(Run({"--map", "town", scratch_.Path("map")}, "load").ok());
  const client::FakeMaps::Tiles before = maps_.tiles();
  ASSERT_EQ(before.size(), 2U);
  ASSERT_TRUE(Run({"town", drives_, scratch_.Path("proposal"), "--canary", "bus-7"}).ok());
  EXPECT_EQ(result_["map"], "town@1");
  ASSERT_EQ(maps_.revisions().size(), 2U);
  const v1::MapRevision staged = maps_.revisions()[1].info;
  EXPECT_EQ(staged.state(), v1::REVISION_STATE_STAGED);
  EXPECT_EQ(staged.comment(), "voxloc map propose: tiles 1, drives 5, vehicles 2");
  EXPECT_EQ(staged.canary_vehicles(0), "bus-7");
  EXPECT_EQ(maps_.record().begin.base_revision(), 1U);
  EXPECT_EQ(maps_.tiles().at("far"), before.at("far"));
  EXPECT_NE(maps_.tiles().at("yard"), before.at("yard"));
  const auto manifest = ReadManifest(scratch_.Path("proposal"));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->revision, 1U);
  EXPECT_EQ(manifest->tiles.size(), 2U);
}

// A lane between houses leads east out of the yard's map and is driven to its end and back.
TEST_F(MapProposeCommand, ExtendsTheMapWhereDrivesLeaveIt) {
  const std::vector<sim::Solid> lane = {
      SolidBetween({-30, -15, -1}, {70, 15, 0}), SolidBetween({-30, 6, 0}, {-8, 12, 6}),
      SolidBetween({-6, 7, 0}, {10, 12, 7}),     SolidBetween({12, 6.5, 0}, {30, 12, 5}),
      SolidBetween({33, 6, 0}, {44, 12, 8}),     SolidBetween({46, 7, 0}, {70, 12, 6}),
      SolidBetween({-30, -12, 0}, {-3, -6, 6}),  SolidBetween({0, -12, 0}, {17, -7, 6}),
      SolidBetween({20, -12, 0}, {38, -6, 7}),   SolidBetween({41, -12, 0}, {70, -7, 5})};
  PointCloud west;
  const PointCloud whole = SampleFaces(lane);
  for (size_t i = 0; i < whole.size(); ++i) {
    if (whole.x[i] < 20.0F) west.PushBack(whole.x[i], whole.y[i], whole.z[i]);
  }
  EXPECT_TRUE(WritePcd(scratch_.Path("west/x0_y0.pcd"), west).ok());
  json drives = json::array();
  for (size_t drive = 0; drive < kDrives; ++drive) {
    DriveThrough through;
    through.from_x_m = -8.0;
    through.step_m = 2.5;
    through.y_m = 0.2 * static_cast<double>(drive) - 0.5;
    through.scans = 16;
    through.rings = 32;
    through.seed = drive + 1;
    const std::string folder = absl::StrCat("lane", drive);
    const std::vector<Pose> poses = WriteDrive(lane, through, scratch_.Path(folder));
    drives.push_back({{"vehicle", "bus"},
                      {"scans", folder},
                      {"poses", scratch_.Write(folder + ".txt", KittiPoses(poses))},
                      {"start_s", 7200.0 * static_cast<double>(drive)}});
  }
  const std::string list = scratch_.Write("lane.json", drives.dump());
  const std::string extension = scratch_.Path("extension");
  ASSERT_TRUE(Run({scratch_.Path("west"), list, extension, "--extend"}).ok());
  ASSERT_GE(result_["new_tiles"].size(), 2U);
  EXPECT_FALSE(result_.contains("tiles"));
  const auto manifest = ReadManifest(extension);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  ASSERT_EQ(manifest->tiles.size(), 1 + result_["new_tiles"].size());
  for (const ManifestTile& entry : manifest->tiles) {
    const auto cloud = ReadManifestTile(extension, entry);
    ASSERT_TRUE(cloud.ok()) << cloud.status();
    if (entry.id == "x0_y0") {
      EXPECT_EQ(cloud->size(), west.size());
      continue;
    }
    for (size_t i = 0; i < cloud->size(); ++i) {
      const Eigen::Vector3d point = cloud->Point(i);
      EXPECT_GT(point.x(), 19.7);
      double nearest = 1.0;
      for (const sim::Solid& solid : lane) {
        const Eigen::Vector3d q = (point - solid.center).cwiseAbs() - solid.half_extent;
        nearest = std::min(nearest, std::abs(q.cwiseMax(0.0).norm() + std::min(q.maxCoeff(), 0.0)));
      }
      EXPECT_LT(nearest, 0.2);
    }
  }
  const json page = json::parse(EmbeddedData(FileText(extension + "/evidence.html")));
  EXPECT_EQ(page["proposal"]["new_tiles"], result_["new_tiles"]);
  // The new tiles, and the old one beside them.
  EXPECT_EQ(page["tiles"].size(), 1 + result_["new_tiles"].size());
  EXPECT_GT(page["layers"][0]["cells_of"], 1000);
  for (const json& tile : result_["new_tiles"]) {
    EXPECT_EQ(tile["drives"].size(), kDrives);
    EXPECT_EQ(tile["drives_by_direction"], json({kDrives, 0}));
  }
}

TEST_F(MapProposeCommand, StagesMapsOfTheServerOnly) {
  const absl::Status status =
      Run({scratch_.Path("map"), drives_, scratch_.Path("proposal"), "--stage"});
  EXPECT_THAT(std::string(status.message()), HasSubstr("--stage and --canary must come with"));
}

TEST_F(MapProposeCommand, NamesTheDriveThatIsWrong) {
  const auto error_of = [&](const std::string& text) {
    return std::string(
        Run({scratch_.Path("map"), scratch_.Write("wrong.json", text), scratch_.Path("proposal")})
            .message());
  };
  EXPECT_THAT(error_of("{}"), HasSubstr("wrong.json, drive 1: it must be a list of drives"));
  EXPECT_THAT(error_of("[]"), HasSubstr("lists no drive"));
  EXPECT_THAT(error_of(R"([{"vehicle": "a"}])"),
              HasSubstr("drive 1: it must have 'scans' and 'poses', or 'bag'"));
  EXPECT_THAT(error_of(R"([{"vehicle": "a", "scans": "b", "poses": "c"}])"),
              HasSubstr("it must have 'start_s'"));
  EXPECT_THAT(error_of(R"([{"vehicle": "a", "scnas": "b"}])"), HasSubstr("'scnas' is not known"));
}

}  // namespace
}  // namespace voxloc::cli
