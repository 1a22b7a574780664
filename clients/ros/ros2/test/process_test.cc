// SPDX-License-Identifier: Apache-2.0
//
// The node as users start it: as a process, and as a component in a container.

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <class_loader/class_loader.hpp>
#include <memory>
#include <optional>
#include <rclcpp/rclcpp.hpp>
#include <rclcpp_components/node_factory.hpp>
#include <std_srvs/srv/set_bool.hpp>
#include <string>
#include <thread>
#include <vector>

#include "clients/ros/ros2/test/server_process.h"

namespace voxloc::ros2 {
namespace {

using namespace std::chrono_literals;

class ProcessTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { rclcpp::init(0, nullptr); }
  static void TearDownTestSuite() { rclcpp::shutdown(); }

  // With Autoware's file, which every launch gives. No server is needed to start.
  static std::vector<std::string> Arguments(const std::string& name) {
    return {"--ros-args",
            "-r",
            "__node:=" + name,
            "-r",
            "trigger_node_srv:=" + name + "/trigger",
            "--params-file",
            VOXLOC_ROS_CONFIG_DIR "/ndt_scan_matcher.param.yaml",
            "-p",
            "voxloc.server:=\"127.0.0.1:1\""};
  }

  static bool CanTrigger(const std::string& service) {
    const auto node = std::make_shared<rclcpp::Node>("caller");
    const auto client = node->create_client<std_srvs::srv::SetBool>(service);
    if (!client->wait_for_service(30s)) return false;
    const auto request = std::make_shared<std_srvs::srv::SetBool::Request>();
    request->data = true;
    auto future = client->async_send_request(request);
    return rclcpp::spin_until_future_complete(node, future, 30s) ==
               rclcpp::FutureReturnCode::SUCCESS &&
           future.get()->success;
  }
};

TEST_F(ProcessTest, TheExecutableServesAndEndsOnAnInterrupt) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string name = "matcher_" + std::to_string(signal);
    ChildProcess process(VOXLOC_ROS_EXECUTABLE, Arguments(name));
    EXPECT_TRUE(CanTrigger(name + "/trigger"));
    EXPECT_FALSE(process.Wait(0.0).has_value());
    process.Signal(signal);
    const std::optional<int> status = process.Wait(20.0);
    ASSERT_TRUE(status.has_value()) << "still running 20 s after signal " << signal;
    EXPECT_EQ(*status, 0);
  }
}

TEST_F(ProcessTest, TheExecutableEndsWithAnErrorOnAWrongParameter) {
  std::vector<std::string> arguments = Arguments("wrong");
  arguments.insert(arguments.end(), {"-p", "ndt.max_iterations:=0"});
  ChildProcess process(VOXLOC_ROS_EXECUTABLE, arguments);
  EXPECT_EQ(process.Wait(30.0), std::optional<int>(1));
}

TEST_F(ProcessTest, TheComponentLoadsIntoAContainer) {
  class_loader::ClassLoader loader(VOXLOC_ROS_LIBRARY);
  const auto classes = loader.getAvailableClasses<rclcpp_components::NodeFactory>();
  ASSERT_EQ(classes.size(), 1U);
  EXPECT_NE(classes[0].find("voxloc::ros2::NdtScanMatcher"), std::string::npos);
  {
    const auto factory = loader.createInstance<rclcpp_components::NodeFactory>(classes[0]);
    rclcpp_components::NodeInstanceWrapper node = factory->create_node_instance(
        rclcpp::NodeOptions().arguments(Arguments("component")).use_intra_process_comms(true));
    // One thread is enough: no callback waits.
    rclcpp::executors::SingleThreadedExecutor executor;
    executor.add_node(node.get_node_base_interface());
    std::thread spinning([&] { executor.spin(); });
    EXPECT_TRUE(CanTrigger("component/trigger"));
    executor.cancel();
    spinning.join();
    executor.remove_node(node.get_node_base_interface());
  }
}

}  // namespace
}  // namespace voxloc::ros2
