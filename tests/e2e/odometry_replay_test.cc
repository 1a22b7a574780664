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

constexpr double kScale = 1.02;

// A town whose vehicle has odometry that counts 2 % of the way too much, so that it alone is off by
// 2 % of the distance from the start.
class OdometryReplay : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(SimulateTown(scratch_.Path("town")));
    poses_ = scratch_.Path("town/poses_tum.txt");
    const auto truth = ReadTrajectory(poses_, TrajectoryFormat::kTum);
    ASSERT_TRUE(truth.ok()) << truth.status();
    truth_ = *truth;
    std::vector<StampedPose> odometry = truth_;
    for (StampedPose& pose : odometry) pose.pose.translation *= kScale;
    ASSERT_TRUE(
        WriteTrajectory(scratch_.Path("odometry.txt"), TrajectoryFormat::kTum, odometry).ok());
  }

  // Replays the drive with these flags too. What went wrong is a failure, and the JSON discarded.
  json Replay(const std::vector<std::string>& flags) {
    TownServer server;
    StartTownServer("cpu", scratch_.Path("."), scratch_.Path("town"), &server);
    if (HasFatalFailure()) return json(json::value_t::discarded);
    const std::string out = scratch_.Path("replay.json");
    std::vector<std::string> command = {"replay",
                                        "--map",
                                        "town",
                                        "--scans",
                                        scratch_.Path("town/scans"),
                                        "--poses",
                                        poses_,
                                        "--pose-format",
                                        "tum",
                                        "--points",
                                        "1500",
                                        "--min-range",
                                        "1",
                                        "--odometry",
                                        scratch_.Path("odometry.txt"),
                                        "--perturb",
                                        "0.2,0.2,0.1,0,0,1",
                                        "--covariance",
                                        "calibrated",
                                        "--json",
                                        out};
    command.insert(command.end(), flags.begin(), flags.end());
    const ProcessResult run = server.Voxloc(command);
    EXPECT_EQ(server.process->Stop(), 0);
    EXPECT_EQ(run.exit_code, 0) << run.error;
    return JsonIn(out);
  }

  [[nodiscard]] double DistanceBetween(size_t from, size_t to) const {
    return (truth_[to].pose.translation - truth_[from].pose.translation).norm();
  }

  ScratchDir scratch_;
  std::string poses_;
  std::vector<StampedPose> truth_;
};

TEST_F(OdometryReplay, TheServerCarriesItsAnswersOn) {
  const json result = Replay({"--guess", "odometry"});
  ASSERT_FALSE(result.is_discarded());
  EXPECT_EQ(result["accepted"], 25);
  EXPECT_LT(result["translation_error_m"]["max"], 0.05);
  EXPECT_EQ(result["within_3_sigma"]["of"], 25);
  EXPECT_NEAR(result["dead_reckoning"]["end_error_m"].get<double>(),
              (kScale - 1.0) * DistanceBetween(0, 24), 1e-9);
  EXPECT_TRUE(result["fused"].is_null());
  const json& results = result["results"];
  ASSERT_EQ(results.size(), 25U);
  for (size_t i = 1; i < results.size(); ++i) {
    const double moved_m =
        (PositionIn(results[i]["guess"]) - PositionIn(results[i - 1]["pose"])).norm();
    EXPECT_NEAR(moved_m, kScale * DistanceBetween(i - 1, i), 1e-9) << i;
  }
}

TEST_F(OdometryReplay, TheSessionsFilterLearnsTheScaleOfTheOdometry) {
  const json result = Replay({"--fusion"});
  ASSERT_FALSE(result.is_discarded());
  EXPECT_EQ(result["accepted"], 25);
  EXPECT_EQ(result["fused"]["poses"], 25);
  EXPECT_EQ(result["fused"]["resets"], 1);
  EXPECT_LT(result["fused"]["translation_error_m"]["max"], 0.05);
  EXPECT_EQ(result["fused"]["accepted_outside_3_sigma"], 0);
  const json& results = result["results"];
  ASSERT_EQ(results.size(), 25U);
  EXPECT_NEAR(results[24]["fused"]["odometry_scale"].get<double>(), 1.0 / kScale, 0.005);
  // The last guess is the pose of the filter carried on by its scale.
  const double moved_m =
      (PositionIn(results[24]["guess"]) - PositionIn(results[23]["fused"]["pose"])).norm();
  EXPECT_NEAR(moved_m, DistanceBetween(23, 24), 0.005 * DistanceBetween(23, 24));
}

}  // namespace
}  // namespace voxloc
