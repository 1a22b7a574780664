// SPDX-License-Identifier: Apache-2.0
#include "clients/ros/ros2/node/map_loader.h"

#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clients/ros/core/topics.h"
#include "clients/ros/ros2/node/conversions.h"
#include "clients/ros/ros2/node/ros_versions.h"

namespace voxloc::ros2 {

// A request. It ends with its answer, an error or the next request, whichever is first.
struct NodeMapLoader::PendingRequest {
  // Returns the callback to the first caller, and null to all others.
  Done TakeCallback() {
    const std::lock_guard<std::mutex> lock(mutex);
    return std::exchange(done, nullptr);
  }

  std::mutex mutex;
  Done done;
};

NodeMapLoader::NodeMapLoader(rclcpp::Node& node)
    : group_(node.create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive)),
      client_(node.create_client<Service>(ros::kMapLoaderClient, ServicesQos(), group_)) {}

NodeMapLoader::~NodeMapLoader() {
  AbortPending(absl::CancelledError("the node is being shut down"));
}

bool NodeMapLoader::IsReady() const {
  try {
    return client_->service_is_ready();
  } catch (const std::exception&) {
    return false;  // ROS is being shut down
  }
}

void NodeMapLoader::AbortPending(const absl::Status& error) {
  std::shared_ptr<PendingRequest> pending;
  std::optional<int64_t> request_id;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    pending = std::exchange(pending_, nullptr);
    request_id = std::exchange(request_id_, std::nullopt);
  }
  if (request_id) {
    client_->remove_pending_request(*request_id);  // answered ones are no longer pending
  }
  if (const Done done = pending ? pending->TakeCallback() : nullptr) {
    done(error);
  }
}

void NodeMapLoader::Request(const ros::MapAreaRequest& request, Done done) {
  AbortPending(absl::DeadlineExceededError(
      absl::StrCat(client_->get_service_name(), " has not answered the request before")));
  auto message = std::make_shared<Service::Request>();
  message->area.center_x = request.center_x;
  message->area.center_y = request.center_y;
  message->area.radius = request.radius;
  message->cached_ids = request.cached_ids;
  const auto pending = std::make_shared<PendingRequest>();
  pending->done = std::move(done);
  const auto answered = [pending](rclcpp::Client<Service>::SharedFuture future) {
    const Done callback = pending->TakeCallback();
    if (!callback) {
      return;
    }
    const std::shared_ptr<Service::Response> response = future.get();
    std::vector<CloudView> clouds;
    clouds.reserve(response->new_pointcloud_with_ids.size());
    Area area;
    for (const auto& tile : response->new_pointcloud_with_ids) {
      clouds.emplace_back(tile.pointcloud);
      area.tiles_to_add.push_back({tile.cell_id, clouds.back().view()});
    }
    area.ids_to_remove = response->ids_to_remove;
    callback(std::move(area));
  };
  try {
    const int64_t request_id = client_->async_send_request(message, answered).request_id;
    const std::lock_guard<std::mutex> lock(mutex_);
    pending_ = pending;
    request_id_ = request_id;
  } catch (const std::exception& error) {
    if (const Done callback = pending->TakeCallback()) {
      callback(absl::UnavailableError(
          absl::StrCat(client_->get_service_name(), " was not called: ", error.what())));
    }
  }
}

}  // namespace voxloc::ros2
