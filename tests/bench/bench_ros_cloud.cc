// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench ros-cloud`: what a vehicle's processor pays for the conversion of a PointCloud2 of
// 1 MB into the contract's cloud, and the bytes that then go over the link.

#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "clients/pointcloud2/cloud_encoding.h"
#include "core/geometry/euler.h"
#include "tests/bench/bench_options.h"
#include "tests/support/random_numbers.h"

namespace voxloc::bench {
namespace {

struct RosCloudFlags {
  size_t bytes = 1'000'000;
  size_t repeat = 200;
  std::string json;
};

struct RosCloudCase {
  const char* name;
  uint32_t point_step;
  ros::CloudEncoding encoding;
  bool times = false;
  bool crop = false;
};

constexpr RosCloudCase kRosCloudCases[] = {
    {"xyz of 12 bytes, as it is", 12, ros::CloudEncoding::kAuto},
    {"xyzi of 16 bytes, as it is", 16, ros::CloudEncoding::kAuto},
    {"xyzi of 16 bytes, packed", 16, ros::CloudEncoding::kFloat32},
    {"pcl of 32 bytes, packed", 32, ros::CloudEncoding::kAuto},
    {"pcl of 32 bytes, packed, range and box", 32, ros::CloudEncoding::kAuto, false, true},
    {"ouster of 48 bytes with times, packed", 48, ros::CloudEncoding::kAuto, true},
    {"pcl of 32 bytes, int16", 32, ros::CloudEncoding::kInt16},
};

// Points within 60 m of the sensor.
std::vector<uint8_t> RandomPoints(size_t points, uint32_t step) {
  RandomNumbers random(1);
  std::vector<uint8_t> data(points * step, 0);
  for (size_t i = 0; i < points; ++i) {
    const float xyz[3] = {static_cast<float>(random.Uniform(-60.0, 60.0)),
                          static_cast<float>(random.Uniform(-60.0, 60.0)),
                          static_cast<float>(random.Uniform(-3.0, 20.0))};
    std::memcpy(data.data() + i * step, xyz, sizeof(xyz));
  }
  return data;
}

double ThreadCpuMs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

absl::StatusOr<nlohmann::json> MeasureRosCloud(const RosCloudCase& tried,
                                               const RosCloudFlags& flags) {
  const size_t points = flags.bytes / tried.point_step;
  const std::vector<uint8_t> data = RandomPoints(points, tried.point_step);
  std::vector<ros::PointField> fields = {{"x", 0, ros::PointField::kFloat32, 1},
                                         {"y", 4, ros::PointField::kFloat32, 1},
                                         {"z", 8, ros::PointField::kFloat32, 1}};
  if (tried.times) fields.push_back({"t", 20, ros::PointField::kUint32, 1});
  ros::PointCloud2View view;
  view.header.frame_id = "lidar";
  view.height = 1;
  view.width = static_cast<uint32_t>(points);
  view.fields = fields;
  view.point_step = tried.point_step;
  view.row_step = static_cast<uint32_t>(data.size());
  view.data = data;
  ros::CloudEncodingOptions options;
  options.encoding = tried.encoding;
  options.time.any = tried.times;
  if (tried.crop) {
    options.preparation.min_range_m = 1.0;
    options.preparation.max_range_m = 50.0;
    options.preparation.crop_base =
        ros::CloudPreparation::Box{{-45.0, -45.0, -5.0}, {45.0, 45.0, 15.0}};
  }
  const Pose base_T_sensor{{1.0, 0.0, 2.0}, RotationFromRosAngles(0.0, 0.1, 0.2)};
  std::vector<double> cpu_ms;
  size_t wire_bytes = 0;
  size_t sent = 0;
  for (size_t i = 0; i <= flags.repeat; ++i) {
    const double start_ms = ThreadCpuMs();
    const auto encoded = ros::EncodeCloud(view, base_T_sensor, options);
    const double took_ms = ThreadCpuMs() - start_ms;
    if (!encoded.ok()) return encoded.status();
    if (i > 0) cpu_ms.push_back(took_ms);  // the first one faults its pages in
    wire_bytes = encoded->cloud.ByteSizeLong();
    sent = encoded->sent;
  }
  const Summary summary = Summarize(cpu_ms);
  std::printf("%-40s %8zu %8zu %8zu %8zu %9.3f %9.3f\n", tried.name, data.size(), points, sent,
              wire_bytes, summary.p50, summary.p95);
  return nlohmann::json{{"name", tried.name},  {"message_bytes", data.size()},
                        {"points", points},    {"sent", sent},
                        {"bytes", wire_bytes}, {"cpu_ms", ToJson(summary)}};
}

absl::Status RunRosCloud(const RosCloudFlags& flags) {
  std::printf("%-40s %8s %8s %8s %8s %9s %9s\n", "ros-cloud", "message", "points", "sent", "wire",
              "p50 ms", "p95 ms");
  nlohmann::json rows = nlohmann::json::array();
  for (const RosCloudCase& tried : kRosCloudCases) {
    auto row = MeasureRosCloud(tried, flags);
    if (!row.ok()) return row.status();
    rows.push_back(*std::move(row));
  }
  return WriteJson(flags.json, {{"rows", rows}});
}

}  // namespace

Command AddRosCloudCommand(CLI::App& program) {
  auto flags = std::make_shared<RosCloudFlags>();
  CLI::App* app = program.add_subcommand(
      "ros-cloud", "Measures the conversion of ROS clouds, processor time and bytes on the link");
  app->add_option("--bytes", flags->bytes, "Bytes of each message, at least 1000")
      ->check(CLI::Range(size_t{1000}, size_t{1} << 30))
      ->capture_default_str();
  AddRepeatFlag(*app, flags->repeat, "Conversions of each message");
  AddJsonFlag(*app, flags->json);
  return {app, [flags] { return RunRosCloud(*flags); }};
}

}  // namespace voxloc::bench
