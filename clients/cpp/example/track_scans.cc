// SPDX-License-Identifier: Apache-2.0
//
// Tracks a vehicle through KITTI .bin scans: each scan starts at the last pose that was accepted.

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "clients/cpp/channel.h"
#include "clients/cpp/error_details.h"
#include "clients/cpp/messages.h"
#include "clients/cpp/session.h"

namespace {

using voxloc::client::Channel;
using voxloc::client::ChannelOptions;
using voxloc::client::LocalizationSession;

// Four float32 a point: x, y, z, intensity.
voxloc::PointCloud ReadKittiScan(const std::string& path) {
  voxloc::PointCloud cloud;
  std::ifstream in(path, std::ios::binary);
  float point[4];
  while (in.read(reinterpret_cast<char*>(point), sizeof(point))) {
    cloud.PushBack(point[0], point[1], point[2]);
  }
  return cloud;
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  const std::string reason = voxloc::client::ReasonOf(status);
  if (!reason.empty()) std::fprintf(stderr, "reason: %s\n", reason.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "Usage: %s SERVER MAP SCAN.bin...\n", argv[0]);
    return 2;
  }
  ChannelOptions address;
  address.server = argv[1];
  const absl::StatusOr<Channel> channel = Channel::Create(address);
  if (!channel.ok()) return Fail(channel.status());
  voxloc::client::SessionOptions options;
  options.open.mutable_setup()->set_map(argv[2]);
  const absl::StatusOr<std::unique_ptr<LocalizationSession>> session =
      LocalizationSession::Open(*channel, options);
  if (!session.ok()) return Fail(session.status());

  voxloc::Pose map_T_base;  // the drive begins at the map's zero
  for (int i = 3; i < argc; ++i) {
    const voxloc::PointCloud cloud = ReadKittiScan(argv[i]);
    voxloc::client::ScanInput scan;
    scan.cloud = &cloud;
    scan.guess_map_T_base = map_T_base;
    const absl::StatusOr<uint64_t> sequence = (*session)->Send(scan);
    if (!sequence.ok()) return Fail(sequence.status());
    const auto result = (*session)->ReceiveResultOf(*sequence, 10.0);
    if (!result.ok()) return Fail(result.status());
    const auto pose = voxloc::client::DecodePose(result->map_t_base().pose());
    if (result->accepted() && pose.ok()) map_T_base = *pose;
    std::printf("%s: %s, x %.3f y %.3f z %.3f\n", argv[i],
                voxloc::client::StatusName(result->status()).c_str(), map_T_base.translation.x(),
                map_T_base.translation.y(), map_T_base.translation.z());
  }
  return (*session)->Close(10.0).ok() ? 0 : 1;
}
