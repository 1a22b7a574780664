// SPDX-License-Identifier: Apache-2.0
//
// `voxloc_bench ros-cloud`: what a vehicle's processor pays for the conversion of a PointCloud2 of
// 1 MB into the contract's cloud and for handing it to the system, the bytes that then go over the
// link, and the time that the bridge adds to that of the call.

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "clients/pointcloud2/cloud_encoding.h"
#include "core/geometry/euler.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/ros_bridge_latency.h"
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
    {"step 12, as it is", 12, ros::CloudEncoding::kAsIs},
    {"step 12, packed", 12, ros::CloudEncoding::kFloat32},
    {"step 16, as it is", 16, ros::CloudEncoding::kAsIs},
    {"step 16, packed", 16, ros::CloudEncoding::kFloat32},
    {"step 16, int16", 16, ros::CloudEncoding::kInt16},
    {"step 32, as it is", 32, ros::CloudEncoding::kAsIs},
    {"step 32, packed", 32, ros::CloudEncoding::kFloat32},
    {"step 32, packed, range and box", 32, ros::CloudEncoding::kFloat32, false, true},
    {"step 32, int16", 32, ros::CloudEncoding::kInt16},
    {"step 48, as it is", 48, ros::CloudEncoding::kAsIs},
    {"step 48, packed", 48, ros::CloudEncoding::kFloat32},
    {"step 48 with times, packed", 48, ros::CloudEncoding::kFloat32, true},
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

// The way of a message out of the process: its bytes into a socket that another process reads.
class ByteSink {
 public:
  ByteSink() {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends_) != 0) return;
    reader_ = fork();
    if (reader_ == 0) {
      close(ends_[0]);
      std::vector<char> buffer(1 << 16);
      while (read(ends_[1], buffer.data(), buffer.size()) > 0) {
      }
      _exit(0);
    }
    close(ends_[1]);
  }
  ~ByteSink() {
    if (reader_ < 0) return;
    close(ends_[0]);
    waitpid(reader_, nullptr, 0);
  }
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;

  [[nodiscard]] bool Write(const std::string& bytes) const {
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t written = write(ends_[0], bytes.data() + done, bytes.size() - done);
      if (written <= 0) return false;
      done += static_cast<size_t>(written);
    }
    return true;
  }

 private:
  int ends_[2] = {-1, -1};
  pid_t reader_ = -1;
};

// A message with points, and the fields and bytes that it refers to.
struct RosMessage {
  std::vector<uint8_t> data;
  std::vector<ros::PointField> fields;
  ros::PointCloud2View view;
};

void MakeRosMessage(size_t bytes, uint32_t point_step, bool times, RosMessage* message) {
  const size_t points = bytes / point_step;
  message->data = RandomPoints(points, point_step);
  message->fields = {{"x", 0, ros::PointField::kFloat32, 1},
                     {"y", 4, ros::PointField::kFloat32, 1},
                     {"z", 8, ros::PointField::kFloat32, 1}};
  if (times) message->fields.push_back({"t", 20, ros::PointField::kUint32, 1});
  ros::PointCloud2View& view = message->view;
  view.header.frame_id = "lidar";
  view.height = 1;
  view.width = static_cast<uint32_t>(points);
  view.fields = message->fields;
  view.point_step = point_step;
  view.row_step = static_cast<uint32_t>(message->data.size());
  view.data = message->data;
}

absl::StatusOr<nlohmann::json> MeasureRosCloud(const RosCloudCase& tried,
                                               const RosCloudFlags& flags, const ByteSink& sink) {
  RosMessage message;
  MakeRosMessage(flags.bytes, tried.point_step, tried.times, &message);
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
  std::vector<double> encode_ms;
  std::vector<double> send_ms;
  size_t wire_bytes = 0;
  size_t sent = 0;
  for (size_t i = 0; i <= flags.repeat; ++i) {
    const double start_ms = ThreadCpuMs();
    const auto encoded = ros::EncodeCloud(message.view, base_T_sensor, options);
    const double encoded_ms = ThreadCpuMs();
    if (!encoded.ok()) return encoded.status();
    const std::string serialized = encoded->cloud.SerializeAsString();
    if (!sink.Write(serialized)) return absl::InternalError("the socket takes no bytes");
    const double sent_ms = ThreadCpuMs();
    wire_bytes = serialized.size();
    sent = encoded->sent;
    if (i == 0) continue;  // the first one faults its pages in
    encode_ms.push_back(encoded_ms - start_ms);
    send_ms.push_back(sent_ms - encoded_ms);
  }
  const Summary encode = Summarize(encode_ms);
  const Summary send = Summarize(send_ms);
  std::printf("%-32s %8zu %8u %8zu %8zu %9.3f %9.3f %9.3f %9.3f\n", tried.name, message.data.size(),
              message.view.width, sent, wire_bytes, encode.p50, encode.p95, send.p50, send.p95);
  return nlohmann::json{{"name", tried.name},           {"message_bytes", message.data.size()},
                        {"points", message.view.width}, {"sent", sent},
                        {"bytes", wire_bytes},          {"cpu_ms", ToJson(encode)},
                        {"send_cpu_ms", ToJson(send)}};
}

absl::StatusOr<nlohmann::json> MeasureAddedLatency(const RosCloudFlags& flags) {
  constexpr uint32_t kPointStep = 16;
  RosMessage message;
  MakeRosMessage(flags.bytes, kPointStep, false, &message);
  const auto times = MeasureRosBridge(message.view, flags.repeat);
  if (!times.ok()) return times.status();
  const Summary bridge = Summarize(times->bridge_ms);
  const Summary round_trip = Summarize(times->round_trip_ms);
  const Summary added = Summarize(times->added_ms);
  std::printf("\n%-32s %9s %9s\n", "bridge, wall time, step 16", "p50 ms", "p95 ms");
  std::printf("%-32s %9.3f %9.3f\n", "callback to publication", bridge.p50, bridge.p95);
  std::printf("%-32s %9.3f %9.3f\n", "round trip of the RPC", round_trip.p50, round_trip.p95);
  std::printf("%-32s %9.3f %9.3f\n", "added by the bridge", added.p50, added.p95);
  return nlohmann::json{{"bridge_ms", ToJson(bridge)},
                        {"round_trip_ms", ToJson(round_trip)},
                        {"added_ms", ToJson(added)}};
}

absl::Status RunRosCloud(const RosCloudFlags& flags) {
  std::printf("%-32s %8s %8s %8s %8s %9s %9s %9s %9s\n", "ros-cloud, processor time", "message",
              "points", "sent", "wire", "encode", "p95 ms", "write", "p95 ms");
  nlohmann::json rows = nlohmann::json::array();
  {
    const ByteSink sink;
    for (const RosCloudCase& tried : kRosCloudCases) {
      auto row = MeasureRosCloud(tried, flags, sink);
      if (!row.ok()) return row.status();
      rows.push_back(*std::move(row));
    }
  }
  auto latency = MeasureAddedLatency(flags);
  if (!latency.ok()) return latency.status();
  return WriteJson(flags.json, {{"rows", rows}, {"latency", *latency}});
}

}  // namespace

Command AddRosCloudCommand(CLI::App& program) {
  auto flags = std::make_shared<RosCloudFlags>();
  CLI::App* app = program.add_subcommand(
      "ros-cloud",
      "Measures the conversion of ROS clouds, processor time and bytes on the link, and the time "
      "that the bridge adds");
  app->add_option("--bytes", flags->bytes, "Bytes of each message, at least 1000")
      ->check(CLI::Range(size_t{1000}, size_t{1} << 30))
      ->capture_default_str();
  AddRepeatFlag(*app, flags->repeat, "Conversions of each message");
  AddJsonFlag(*app, flags->json);
  return {app, [flags] { return RunRosCloud(*flags); }};
}

}  // namespace voxloc::bench
