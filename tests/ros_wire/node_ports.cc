// SPDX-License-Identifier: Apache-2.0

#include "tests/ros_wire/node_ports.h"

#include <deque>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/ros_wire/core_messages.h"
#include "tests/ros_wire/values.h"
#include "tests/support/eventually.h"

namespace voxloc::ros_wire {
namespace {

const char* NameOf(ros::LogLevel level) {
  switch (level) {
    case ros::LogLevel::kDebug:
      return "DEBUG";
    case ros::LogLevel::kInfo:
      return "INFO";
    case ros::LogLevel::kWarn:
      return "WARN";
    case ros::LogLevel::kError:
      break;
  }
  return "ERROR";
}

// `fields` has room for those of each tile, which the views refer to.
ros::MapLoader::Area AreaOf(const MapLoadResponse& response,
                            std::deque<std::vector<ros::PointField>>* fields) {
  ros::MapLoader::Area area;
  for (uint32_t i = 0; i < response.new_pointcloud_with_ids._length; ++i) {
    const MapCellMessage& cell = response.new_pointcloud_with_ids._buffer[i];
    area.tiles_to_add.push_back(
        {cell.cell_id, ViewOf(cell.pointcloud, fields->emplace_back(FieldsOf(cell.pointcloud)))});
  }
  for (uint32_t i = 0; i < response.ids_to_remove._length; ++i) {
    area.ids_to_remove.emplace_back(response.ids_to_remove._buffer[i]);
  }
  return area;
}

}  // namespace

int64_t NodeClock::NowNs() const {
  return simulated_ ? simulated_ns_.load() : absl::ToUnixNanos(absl::Now());
}

void NodeLog::Write(ros::LogLevel level, absl::string_view text) {
  const absl::MutexLock lock(&mutex_);
  absl::StrAppend(&text_, NameOf(level), " ", text, "\n");
}

std::string NodeLog::Text() const {
  const absl::MutexLock lock(&mutex_);
  return text_;
}

void NodeMapLoader::Request(const ros::MapAreaRequest& request, Done done) {
  Join();
  caller_ = std::thread([this, request, done = std::move(done)] {
    std::vector<char*> cached;
    for (const std::string& id : request.cached_ids) cached.push_back(Borrow(id));
    MapLoadRequest message{};
    message.area = {request.center_x, request.center_y, request.radius};
    message.cached_ids._length = message.cached_ids._maximum = static_cast<uint32_t>(cached.size());
    message.cached_ids._buffer = cached.data();
    const bool answered = client_.Call(
        message,
        [&](const MapLoadResponse& response) {
          std::deque<std::vector<ros::PointField>> fields;
          done(AreaOf(response, &fields));
        },
        kTestTimeout);
    if (!answered) done(absl::DeadlineExceededError("the map loader did not answer"));
  });
}

void NodeMapLoader::Join() {
  if (caller_.joinable()) caller_.join();
}

}  // namespace voxloc::ros_wire
