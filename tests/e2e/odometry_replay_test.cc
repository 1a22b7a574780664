// SPDX-License-Identifier: Apache-2.0
//
// voxloc replay of a vehicle that has odometry, and a server that carries its poses on by it.

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "clients/dataset/trajectory_file.h"
#include "tests/e2e/child_process.h"
#include "tests/e2e/served_town.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using ::nlohmann::json;

Eigen::Vector3d PositionIn(const json& pose) {
  return {pose[0].get<double>(), pose[1].get<double>(), pose[2].get<double>()};
}

// The odometry counts 2 % of the way too much, so that it alone is off by 2 % of the distance from
// the start.
TEST(OdometryReplay, TheServerCarriesItsAnswersOn) {
  constexpr double kScale = 1.02;
  const ScratchDir scratch;
  ASSERT_NO_FATAL_FAILURE(SimulateTown(scratch.Path("town")));
  const std::string poses = scratch.Path("town/poses_tum.txt");
  const auto truth = ReadTrajectory(poses, TrajectoryFormat::kTum);
  ASSERT_TRUE(truth.ok()) << truth.status();
  std::vector<StampedPose> odometry = *truth;
  for (StampedPose& pose : odometry) pose.pose.translation *= kScale;
  ASSERT_TRUE(WriteTrajectory(scratch.Path("odometry.txt"), TrajectoryFormat::kTum, odometry).ok());
  TownServer server;
  ASSERT_NO_FATAL_FAILURE(StartTownServer("cpu", scratch.Path("."), scratch.Path("town"), &server));
  const std::string out = scratch.Path("replay.json");
  const ProcessResult run = server.Voxloc({"replay",
                                           "--map",
                                           "town",
                                           "--scans",
                                           scratch.Path("town/scans"),
                                           "--poses",
                                           poses,
                                           "--pose-format",
                                           "tum",
                                           "--points",
                                           "1500",
                                           "--min-range",
                                           "1",
                                           "--odometry",
                                           scratch.Path("odometry.txt"),
                                           "--guess",
                                           "odometry",
                                           "--perturb",
                                           "0.2,0.2,0.1,0,0,1",
                                           "--covariance",
                                           "calibrated",
                                           "--json",
                                           out});
  EXPECT_EQ(server.process->Stop(), 0);
  ASSERT_EQ(run.exit_code, 0) << run.error;
  const json result = JsonIn(out);
  ASSERT_FALSE(result.is_discarded());
  EXPECT_EQ(result["accepted"], 25);
  EXPECT_LT(result["translation_error_m"]["max"], 0.05);
  EXPECT_EQ(result["within_3_sigma"]["of"], 25);
  const auto distance = [&truth](size_t from, size_t to) {
    return ((*truth)[to].pose.translation - (*truth)[from].pose.translation).norm();
  };
  EXPECT_NEAR(result["dead_reckoning"]["end_error_m"].get<double>(),
              (kScale - 1.0) * distance(0, 24), 1e-9);
  const json& results = result["results"];
  ASSERT_EQ(results.size(), 25U);
  for (size_t i = 1; i < results.size(); ++i) {
    const double moved_m =
        (PositionIn(results[i]["guess"]) - PositionIn(results[i - 1]["pose"])).norm();
    EXPECT_NEAR(moved_m, kScale * distance(i - 1, i), 1e-9) << i;
  }
}

}  // namespace
}  // namespace voxloc
