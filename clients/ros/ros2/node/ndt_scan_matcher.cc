// SPDX-License-Identifier: Apache-2.0
#include "clients/ros/ros2/node/ndt_scan_matcher.h"

#if defined(VOXLOC_ROS_LOGGING_DEMO)
#include <rcutils/allocator.h>
#include <rcutils/error_handling.h>
#include <rcutils/logging.h>

#include <logging_demo/srv/config_logger.hpp>
#endif

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <std_srvs/srv/empty.hpp>
#include <std_srvs/srv/set_bool.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/ros/core/bridge.h"
#include "clients/ros/core/topics.h"
#include "clients/ros/ros2/node/conversions.h"
#include "clients/ros/ros2/node/node_ports.h"
#include "clients/ros/ros2/node/ros_versions.h"

namespace voxloc::ros2 {
namespace {

using geometry_msgs::msg::PoseWithCovarianceStamped;
using geometry_msgs::msg::TwistStamped;
using geometry_msgs::msg::TwistWithCovarianceStamped;
using sensor_msgs::msg::PointCloud2;
using std_srvs::srv::Empty;
using std_srvs::srv::SetBool;

// Autoware's map timer.
constexpr std::chrono::seconds kTimerPeriod(1);

// The service ~/config_logger of Autoware's nodes, which sets the level of a logger of the process.
// Its type is in logging_demo, which a ROS without Autoware may lack: CMake looks for it, and
// without it there is no such service, and this returns null. The service must not outlive the
// node.
rclcpp::ServiceBase::SharedPtr ServeConfigLogger(
    [[maybe_unused]] rclcpp::Node& node,
    [[maybe_unused]] const rclcpp::CallbackGroup::SharedPtr& group) {
#if defined(VOXLOC_ROS_LOGGING_DEMO)
  using logging_demo::srv::ConfigLogger;
  return node.create_service<ConfigLogger>(
      "~/config_logger",
      [logger = node.get_logger()](const std::shared_ptr<ConfigLogger::Request>& request,
                                   const std::shared_ptr<ConfigLogger::Response>& response) {
        int severity = 0;
        response->success = rcutils_logging_severity_level_from_string(
                                request->level.c_str(), rcutils_get_default_allocator(),
                                &severity) == RCUTILS_RET_OK &&
                            rcutils_logging_set_logger_level(request->logger_name.c_str(),
                                                             severity) == RCUTILS_RET_OK;
        if (!response->success) {
          rcutils_reset_error();
          RCLCPP_WARN(logger,
                      "config_logger: level must be UNSET, DEBUG, INFO, WARN, ERROR or FATAL "
                      "(got '%s' for logger '%s')",
                      request->level.c_str(), request->logger_name.c_str());
        }
      },
      ServicesQos(), group);
#else
  return nullptr;
#endif
}

using rclcpp::ParameterType;

rclcpp::ParameterValue ParameterToRos(const ros::ParameterValue& value) {
  return std::visit([](const auto& held) { return rclcpp::ParameterValue(held); }, value);
}

// nullopt: a type that no parameter of the table has.
std::optional<ros::ParameterValue> ParameterFromRos(const rclcpp::ParameterValue& value) {
  switch (value.get_type()) {
    case ParameterType::PARAMETER_BOOL:
      return value.get<bool>();
    case ParameterType::PARAMETER_INTEGER:
      return value.get<int64_t>();
    case ParameterType::PARAMETER_DOUBLE:
      return value.get<double>();
    case ParameterType::PARAMETER_STRING:
      return value.get<std::string>();
    case ParameterType::PARAMETER_DOUBLE_ARRAY:
      return value.get<std::vector<double>>();
    case ParameterType::PARAMETER_STRING_ARRAY:
      return value.get<std::vector<std::string>>();
    case ParameterType::PARAMETER_INTEGER_ARRAY: {
      // YAML's [0, 1] where [0.0, 1.0] is meant.
      std::vector<double> numbers;
      for (const int64_t number : value.get<std::vector<int64_t>>()) {
        numbers.push_back(static_cast<double>(number));
      }
      return numbers;
    }
    default:
      return std::nullopt;
  }
}

// Names that every node of ROS 2 has.
bool IsBuiltInParameter(const std::string& name) {
  return name == "use_sim_time" || name == "start_type_description_service" ||
         absl::StartsWith(name, "qos_overrides.");
}

}  // namespace

struct NdtScanMatcher::Parts {
  Parts(rclcpp::Node& node, const ros::BridgeParameters& parameters)
      : logger(node.get_logger()), ports(node, parameters) {}

  rclcpp::Logger logger;
  NodePorts ports;
  std::unique_ptr<ros::Bridge> bridge;  // goes first: it calls the ports
};

NdtScanMatcher::NdtScanMatcher(const rclcpp::NodeOptions& options)
    : Node("ndt_scan_matcher", options) {
  const absl::StatusOr<ros::LoadedParameters> loaded = DeclareParameters(*this);
  if (!loaded.ok()) throw std::invalid_argument(std::string(loaded.status().message()));
  for (const std::string& warning : loaded->warnings) {
    RCLCPP_WARN(get_logger(), "%s", warning.c_str());
  }
  const ros::Parameters& parameters = loaded->parameters;

  parts_ = std::make_shared<Parts>(*this, parameters.voxloc);
  absl::StatusOr<std::unique_ptr<ros::Bridge>> bridge =
      ros::Bridge::Create(get_name(), parameters, parts_->ports.Ports());
  if (!bridge.ok()) throw std::invalid_argument(std::string(bridge.status().message()));
  parts_->bridge = *std::move(bridge);

  SubscribeToPoses(parameters);
  SubscribeToPoints(parameters);
  if (parameters.voxloc.pointcloud_map) SubscribeToMap();
  CreateServices(parameters.voxloc.shadow);
  groups_.push_back(create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive));
  timer_ = rclcpp::create_timer(
      this, get_clock(), kTimerPeriod,
      [weak = std::weak_ptr<Parts>(parts_)] {
        if (const auto parts = weak.lock()) parts->bridge->OnTimer();
      },
      groups_.back());
}

NdtScanMatcher::~NdtScanMatcher() = default;

// The bridge gets a view of each message. Subscribing to shared messages avoids a copy if another
// subscriber in the process gets the same message.
void NdtScanMatcher::SubscribeToPoints(const ros::Parameters& parameters) {
  std::vector<std::string> topics = {ros::kPointsTopic};
  const std::vector<std::string>& extra = parameters.voxloc.points_extra_topics;
  topics.insert(topics.end(), extra.begin(), extra.end());
  for (size_t source = 0; source < topics.size(); ++source) {
    groups_.push_back(create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive));
    rclcpp::SubscriptionOptions options;
    options.callback_group = groups_.back();
    subscriptions_.push_back(create_subscription<PointCloud2>(
        topics[source], rclcpp::SensorDataQoS().keep_last(1),
        [weak = std::weak_ptr<Parts>(parts_), source](const PointCloud2::ConstSharedPtr& message) {
          if (const auto parts = weak.lock()) {
            parts->bridge->OnPoints(CloudView(*message).view(), source);
          }
        },
        options));
  }
}

void NdtScanMatcher::SubscribeToMap() {
  groups_.push_back(create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive));
  rclcpp::SubscriptionOptions options;
  options.callback_group = groups_.back();
  subscriptions_.push_back(create_subscription<PointCloud2>(
      ros::kMapTopic, rclcpp::QoS(1).transient_local(),
      [weak = std::weak_ptr<Parts>(parts_)](const PointCloud2::ConstSharedPtr& message) {
        if (const auto parts = weak.lock()) {
          parts->bridge->OnPointCloudMap(CloudView(*message).view());
        }
      },
      options));
}

void NdtScanMatcher::SubscribeToPoses(const ros::Parameters& parameters) {
  groups_.push_back(create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive));
  rclcpp::SubscriptionOptions options;
  options.callback_group = groups_.back();

  using OnPose = void (ros::Bridge::*)(const ros::PoseWithCovarianceStamped&);
  const auto subscribe = [&](const char* topic, OnPose handler) {
    subscriptions_.push_back(create_subscription<PoseWithCovarianceStamped>(
        topic, ros::kPoseDepth,
        [weak = std::weak_ptr<Parts>(parts_),
         handler](const PoseWithCovarianceStamped::ConstSharedPtr& message) {
          if (const auto parts = weak.lock()) ((*parts->bridge).*handler)(FromRos(*message));
        },
        options));
  };
  if (parameters.voxloc.guess_source == "odometry") {
    subscribe(ros::kUserPoseTopic, &ros::Bridge::OnUserPose);
  } else {
    subscribe(ros::kInitialPoseTopic, &ros::Bridge::OnInitialPose);
  }
  if (parameters.ndt.regularization_enable) {
    subscribe(ros::kRegularizationPoseTopic, &ros::Bridge::OnRegularizationPose);
  }
  if (parameters.voxloc.shadow) {
    subscribe(ros::kIncumbentPoseTopic, &ros::Bridge::OnIncumbentPose);
  }
  if (parameters.voxloc.twist_source == "topic") {
    const auto take = [weak = std::weak_ptr<Parts>(parts_)](const auto& message) {
      if (const auto parts = weak.lock()) parts->bridge->OnTwist(FromRos(*message));
    };
    subscriptions_.push_back(create_subscription<TwistStamped>(
        ros::kTwistTopic, ros::kPoseDepth,
        [take](const TwistStamped::ConstSharedPtr& message) { take(message); }, options));
    subscriptions_.push_back(create_subscription<TwistWithCovarianceStamped>(
        ros::kTwistWithCovarianceTopic, ros::kPoseDepth,
        [take](const TwistWithCovarianceStamped::ConstSharedPtr& message) { take(message); },
        options));
  }
}

void NdtScanMatcher::CreateServices(bool shadow) {
  groups_.push_back(create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive));
  const rclcpp::CallbackGroup::SharedPtr& group = groups_.back();
  const std::weak_ptr<Parts> weak = parts_;

  services_.push_back(create_service<SetBool>(
      ros::OfferedName(ros::kTriggerService, shadow),
      [weak](const std::shared_ptr<SetBool::Request>& request,
             const std::shared_ptr<SetBool::Response>& response) {
        if (const auto parts = weak.lock()) {
          const ros::TriggerResponse result = parts->bridge->Trigger(request->data);
          response->success = result.success;
          response->message = result.message;
        }
      },
      ServicesQos(), group));

  // The search takes seconds; the answer is sent from the bridge's thread when there is one.
  using AlignService = rclcpp::Service<AlignServiceType>;
  services_.push_back(create_service<AlignServiceType>(
      ros::OfferedName(ros::kAlignService, shadow),
      [weak](const std::shared_ptr<AlignService>& service,
             const std::shared_ptr<rmw_request_id_t>& request_id,
             const std::shared_ptr<AlignServiceType::Request>& request) {
        const auto parts = weak.lock();
        if (!parts) return;
        const auto answer = [service, request_id,
                             logger = parts->logger](const ros::AlignResponse& result) {
          AlignServiceType::Response response;
          response.success = result.success;
          SetReliable(response, result.reliable);
          response.pose_with_covariance = ToRos(result.pose_with_covariance);
          try {
            service->send_response(*request_id, response);
          } catch (const std::exception& error) {
            if (rclcpp::ok()) {
              RCLCPP_ERROR(logger, "%s was not answered: %s", service->get_service_name(),
                           error.what());
            }
          }
        };
        parts->bridge->Align(FromRos(request->pose_with_covariance), answer);
      },
      ServicesQos(), group));

  // Nav2's recovery waits for the answer for milliseconds: it says that the search has begun.
  services_.push_back(create_service<Empty>(
      ros::OfferedName(ros::kReinitializeService, shadow),
      [weak](const std::shared_ptr<Empty::Request>& /*request*/,
             const std::shared_ptr<Empty::Response>& /*response*/) {
        const auto parts = weak.lock();
        if (!parts) return;
        parts->bridge->Reinitialize([logger = parts->logger](const ros::AlignResponse& result) {
          if (result.success) {
            const Eigen::Vector3d& position = result.pose_with_covariance.pose.translation;
            RCLCPP_INFO(logger, "%s found x=%.2f y=%.2f z=%.2f, reliable=%s",
                        ros::kReinitializeService, position.x(), position.y(), position.z(),
                        result.reliable ? "true" : "false");
          } else {
            RCLCPP_WARN(logger, "%s: %s", ros::kReinitializeService, result.detail.c_str());
          }
        });
      },
      ServicesQos(), group));

  if (rclcpp::ServiceBase::SharedPtr config_logger = ServeConfigLogger(*this, group)) {
    services_.push_back(std::move(config_logger));
  }
}

absl::StatusOr<ros::LoadedParameters> DeclareParameters(rclcpp::Node& node) {
  std::set<std::string> known;
  std::map<std::string, ros::ParameterValue> given;
  for (const ros::ParameterInfo& info : ros::ParameterTable()) {
    known.insert(info.name);
    if (!node.has_parameter(info.name)) {
      rcl_interfaces::msg::ParameterDescriptor descriptor;
      descriptor.description = info.meaning;
      descriptor.read_only = true;
      // The bridge checks the types itself: an integer is accepted for a double.
      descriptor.dynamic_typing = true;
      node.declare_parameter(info.name, ParameterToRos(info.default_value), descriptor);
    }
    const rclcpp::ParameterValue value = node.get_parameter(info.name).get_parameter_value();
    if (value.get_type() == ParameterType::PARAMETER_NOT_SET) {
      continue;  // YAML's empty value or list: the default
    }
    const std::optional<ros::ParameterValue> converted = ParameterFromRos(value);
    if (!converted) {
      return absl::InvalidArgumentError(absl::StrCat("the parameter ", info.name,
                                                     " cannot be of the type ",
                                                     rclcpp::to_string(value.get_type())));
    }
    given[info.name] = *converted;
  }
  // What else was given has no effect; only its name counts, for the warning.
  for (const auto& [name, value] :
       node.get_node_parameters_interface()->get_parameter_overrides()) {
    if (known.count(name) == 0 && !IsBuiltInParameter(name)) {
      given[name] = ParameterFromRos(value).value_or(false);
    }
  }
  return ros::LoadParameters(given);
}

}  // namespace voxloc::ros2
