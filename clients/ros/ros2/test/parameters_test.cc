// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rclcpp/rclcpp.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "clients/ros/ros2/node/ndt_scan_matcher.h"

namespace voxloc::ros2 {
namespace {

using testing::HasSubstr;

class Parameters : public testing::Test {
 protected:
  static void SetUpTestSuite() { rclcpp::init(0, nullptr); }
  static void TearDownTestSuite() { rclcpp::shutdown(); }

  static rclcpp::NodeOptions Options(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "--ros-args");
    return rclcpp::NodeOptions().arguments(arguments);
  }
};

TEST_F(Parameters, AutowaresFileGivesAutowaresValues) {
  rclcpp::Node node("ndt_scan_matcher",
                    Options({"--params-file", VOXLOC_ROS_CONFIG_DIR "/ndt_scan_matcher.param.yaml",
                             "-p", "ndt.max_iterations:=17"}));
  const auto loaded = DeclareParameters(node);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_TRUE(loaded->warnings.empty()) << loaded->warnings.front();
  const ros::Parameters& parameters = loaded->parameters;
  EXPECT_EQ(parameters.frame.ndt_base_frame, "ndt_base_link");
  EXPECT_EQ(parameters.ndt.max_iterations, 17);
  EXPECT_EQ(parameters.covariance.output_pose_covariance.size(), 36U);
  EXPECT_EQ(parameters.covariance.initial_pose_offset_model_y.size(), 6U);
  EXPECT_EQ(parameters.dynamic_map_loading.map_radius, 150.0);
}

TEST_F(Parameters, EveryOneOfTheTableIsDeclaredWithItsDefault) {
  rclcpp::Node node("ndt_scan_matcher");
  const auto loaded = DeclareParameters(node);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  for (const ros::ParameterInfo& info : ros::ParameterTable()) {
    ASSERT_TRUE(node.has_parameter(info.name)) << info.name;
    EXPECT_EQ(node.describe_parameter(info.name).description, info.meaning);
  }
}

TEST_F(Parameters, WholeNumbersServeForRealOnes) {
  rclcpp::Node node(
      "ndt_scan_matcher",
      Options({"-p", "dynamic_map_loading.update_distance:=25", "-p",
               "covariance.covariance_estimation.initial_pose_offset_model_x:=[1, 2]", "-p",
               "covariance.covariance_estimation.initial_pose_offset_model_y:=[0, 3]"}));
  const auto loaded = DeclareParameters(node);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->parameters.dynamic_map_loading.update_distance, 25.0);
  EXPECT_EQ(loaded->parameters.covariance.initial_pose_offset_model_y,
            (std::vector<double>{0.0, 3.0}));
}

TEST_F(Parameters, UnknownOnesAreWarningsThatNameTheNearest) {
  rclcpp::Node node("ndt_scan_matcher",
                    Options({"-p", "ndt.trans_epsilom:=0.1", "-p", "use_sim_time:=true"}));
  const auto loaded = DeclareParameters(node);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_EQ(loaded->warnings.size(), 1U);
  EXPECT_THAT(loaded->warnings[0], HasSubstr("ndt.trans_epsilom"));
  EXPECT_THAT(loaded->warnings[0], HasSubstr("ndt.trans_epsilon"));
}

TEST_F(Parameters, ThatCannotBeStopTheNodeWithTheirName) {
  for (const char* parameter : {"ndt.max_iterations:=many", "ndt.step_size:=-0.1",
                                "voxloc.server:=nowhere", "frame.base_frame:=[true]"}) {
    const std::string name = std::string(parameter).substr(0, std::string(parameter).find(':'));
    try {
      NdtScanMatcher node(Options({"-p", parameter}));
      ADD_FAILURE() << parameter << " was taken";
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), HasSubstr(name.substr(name.find('.') + 1)));
    }
  }
}

TEST_F(Parameters, CannotBeSetLater) {
  rclcpp::Node node("ndt_scan_matcher");
  ASSERT_TRUE(DeclareParameters(node).ok());
  EXPECT_FALSE(node.set_parameter(rclcpp::Parameter("ndt.resolution", 1.0)).successful);
  EXPECT_EQ(node.get_parameter("ndt.resolution").as_double(), 2.0);
}

}  // namespace
}  // namespace voxloc::ros2
