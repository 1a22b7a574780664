// SPDX-License-Identifier: Apache-2.0
//
// A map that its fleet mends, through the real programs: vehicles drive past a house that the map
// does not have, the server keeps their scans, and voxloc map propose makes the new tile of them.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/dataset/trajectory_file.h"
#include "core/cloud/io/cloud_file.h"
#include "tests/e2e/served_town.h"
#include "tests/support/eventually.h"
#include "tests/support/own_loopback.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/yard.h"

namespace voxloc {
namespace {

using ::nlohmann::json;

constexpr int kYardDrives = 5;
constexpr int kYardScans = 8;

TEST(MapUpdateE2e, TheHouseThatVehiclesSawIsProposedFromWhatTheServerKept) {
  const ScratchDir scratch;
  std::vector<sim::Solid> old = Yard();
  old.pop_back();
  ASSERT_TRUE(WritePcd(scratch.Path("map/yard.pcd"), SampleFaces(old)).ok());
  TownServer server;
  ASSERT_NO_FATAL_FAILURE(LaunchServer(
      "cpu", scratch.Path(""), absl::StrCat(OwnLoopback(), ":0"), &server,
      {"--map-update.max-bytes=64M", "--map-update.min-change=0", "--map-update.max-cpu-share=1"}));
  ProcessResult run = server.Voxloc({"map", "load", "--map", "yard", scratch.Path("map")});
  ASSERT_EQ(run.exit_code, 0) << run.error;

  const auto kept = [&] {
    const ProcessResult list =
        server.Voxloc({"admin", "captures", "--map-update", "--max", "0", "--json", "-"});
    EXPECT_EQ(list.exit_code, 0) << list.error;
    return json::parse(list.out, nullptr, false)["captures"];
  };
  for (int drive = 0; drive < kYardDrives; ++drive) {
    DriveThrough through;
    through.y_m = 0.3 * drive - 1.0;
    through.scans = kYardScans;
    through.seed = static_cast<uint64_t>(drive) + 1;
    const std::string folder = scratch.Path(absl::StrCat("drive", drive));
    std::vector<StampedPose> poses;
    for (const Pose& pose : WriteDrive(Yard(), through, folder)) {
      poses.push_back(
          {1'000'000'000'000 + 1'000'000'000 * static_cast<int64_t>(poses.size()), pose});
    }
    ASSERT_TRUE(WriteTrajectory(folder + ".txt", TrajectoryFormat::kTum, poses).ok());
    run = server.Voxloc({"replay", "--map", "yard", "--scans", folder, "--poses", folder + ".txt",
                         "--pose-format", "tum", "--perturb", "0.1,0.1,0,0,0,0.5"});
    ASSERT_EQ(run.exit_code, 0) << run.error;
    EXPECT_TRUE(Eventually([&] { return kept().size() == (drive + 1U) * kYardScans; }))
        << kept().size();
  }
  for (const json& capture : kept()) EXPECT_EQ(capture["purpose"], "MAP_UPDATE");

  const std::string proposal = scratch.Path("proposal");
  run = server.Voxloc(
      {"map", "propose", "--min-hours", "0", "--stage", "--json", "-", "yard", "server", proposal});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  const json result = json::parse(run.out, nullptr, false);
  EXPECT_EQ(result["drives"].size(), kYardDrives);
  ASSERT_EQ(result["tiles"].size(), 1U);
  EXPECT_EQ(result["tiles"][0]["drives"].size(), kYardDrives);
  EXPECT_EQ(result["upload"]["tiles_replaced"], 1);
  const size_t added = result["tiles"][0]["points_added"].get<size_t>();
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(proposal)) {
    if (entry.path().extension() == ".pcd") files.push_back(entry.path().string());
  }
  ASSERT_EQ(files.size(), 1U);
  const auto cloud = ReadCloud(files[0]);
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  ASSERT_GT(cloud->size(), added);
  // Of the front of the house, 6 m x 5 m with a point every 0.2 m.
  size_t front = 0;
  for (size_t i = cloud->size() - added; i < cloud->size(); ++i) {
    const Eigen::Vector3d point = cloud->Point(i);
    EXPECT_GT(point.x(), 2.8);
    EXPECT_LT(point.x(), 9.2);
    EXPECT_GT(point.y(), 4.9);
    if (std::abs(point.y() - 5.0) < 0.05) ++front;
  }
  EXPECT_GT(front, 300U);
  EXPECT_EQ(server.process->Stop(), 0);
}

}  // namespace
}  // namespace voxloc
