// SPDX-License-Identifier: Apache-2.0
#include "clients/ros/ros2/test/room.h"

#include <array>
#include <cstring>
#include <random>

#include "clients/ros/ros2/node/conversions.h"

namespace voxloc::ros2 {
namespace {

constexpr double kLength = 40.0;
constexpr double kWidth = 24.0;
constexpr double kHeight = 6.0;
constexpr double kSpacing = 0.2;
constexpr double kScatter = 0.02;

// A rectangle of points: corner, and two edges with their lengths.
void AddRectangle(const Eigen::Vector3d& corner, const Eigen::Vector3d& u, double u_length,
                  const Eigen::Vector3d& v, double v_length, std::mt19937& random,
                  std::vector<Eigen::Vector3d>& points) {
  std::normal_distribution<double> scatter(0.0, kScatter);
  for (double a = 0.0; a <= u_length; a += kSpacing) {
    for (double b = 0.0; b <= v_length; b += kSpacing) {
      const Eigen::Vector3d noise(scatter(random), scatter(random), scatter(random));
      points.push_back(corner + a * u + b * v + noise);
    }
  }
}

sensor_msgs::msg::PointField Field(const char* name, uint32_t offset) {
  sensor_msgs::msg::PointField field;
  field.name = name;
  field.offset = offset;
  field.datatype = sensor_msgs::msg::PointField::FLOAT32;
  field.count = 1;
  return field;
}

template <size_t N>
sensor_msgs::msg::PointCloud2 Message(const std::array<const char*, N>& fields) {
  sensor_msgs::msg::PointCloud2 message;
  message.height = 1;
  message.point_step = 4 * N;
  for (size_t i = 0; i < N; ++i) {
    message.fields.push_back(Field(fields[i], static_cast<uint32_t>(4 * i)));
  }
  message.is_dense = true;
  return message;
}

template <size_t N>
void Append(const std::array<float, N>& values, sensor_msgs::msg::PointCloud2& message) {
  const size_t at = message.data.size();
  message.data.resize(at + sizeof(values));
  std::memcpy(message.data.data() + at, values.data(), sizeof(values));
  message.width += 1;
  message.row_step += message.point_step;
}

}  // namespace

std::vector<Eigen::Vector3d> RoomPoints(const Eigen::Vector3d& corner_map) {
  const Eigen::Vector3d x = Eigen::Vector3d::UnitX();
  const Eigen::Vector3d y = Eigen::Vector3d::UnitY();
  const Eigen::Vector3d z = Eigen::Vector3d::UnitZ();
  std::mt19937 random(7);
  std::vector<Eigen::Vector3d> points;
  const auto wall = [&](const Eigen::Vector3d& corner, const Eigen::Vector3d& u, double u_length,
                        const Eigen::Vector3d& v, double v_length) {
    AddRectangle(corner_map + corner, u, u_length, v, v_length, random, points);
  };
  wall({0, 0, 0}, x, kLength, y, kWidth);        // floor
  wall({0, 0, 0}, x, kLength, z, kHeight);       // south
  wall({0, kWidth, 0}, x, kLength, z, kHeight);  // north
  wall({0, 0, 0}, y, kWidth, z, kHeight);        // west
  wall({kLength, 0, 0}, y, kWidth, z, kHeight);  // east
  // Pillars of 1.5 m, at places that repeat nowhere.
  for (const Eigen::Vector2d& at : {Eigen::Vector2d(6, 5), Eigen::Vector2d(13, 18),
                                    Eigen::Vector2d(21, 6), Eigen::Vector2d(31, 17)}) {
    const Eigen::Vector3d corner(at.x(), at.y(), 0);
    wall(corner, x, 1.5, z, kHeight);
    wall(corner, y, 1.5, z, kHeight);
    wall(corner + 1.5 * y, x, 1.5, z, kHeight);
    wall(corner + 1.5 * x, y, 1.5, z, kHeight);
  }
  return points;
}

PointCloud ToCloud(const std::vector<Eigen::Vector3d>& points_map) {
  PointCloud cloud;
  cloud.Reserve(points_map.size());
  for (const Eigen::Vector3d& point : points_map) {
    const Eigen::Vector3f offset = point.cast<float>();
    cloud.PushBack(offset.x(), offset.y(), offset.z());
  }
  return cloud;
}

sensor_msgs::msg::PointCloud2 ScanFrom(const std::vector<Eigen::Vector3d>& points_map,
                                       const Pose& map_T_sensor, size_t stride, int64_t stamp_ns,
                                       const std::string& frame_id) {
  auto message = Message<4>({"x", "y", "z", "intensity"});
  message.header.stamp = ToTime(stamp_ns);
  message.header.frame_id = frame_id;
  const Pose sensor_T_map = map_T_sensor.Inverse();
  for (size_t i = 0; i < points_map.size(); i += stride) {
    const Eigen::Vector3f point = (sensor_T_map * points_map[i]).cast<float>();
    Append<4>({point.x(), point.y(), point.z(), 1.0F}, message);
  }
  return message;
}

sensor_msgs::msg::PointCloud2 MapMessage(const std::vector<Eigen::Vector3d>& points_map) {
  auto message = Message<3>({"x", "y", "z"});
  message.header.frame_id = "map";
  for (const Eigen::Vector3d& map_point : points_map) {
    const Eigen::Vector3f point = map_point.cast<float>();
    Append<3>({point.x(), point.y(), point.z()}, message);
  }
  return message;
}

}  // namespace voxloc::ros2
