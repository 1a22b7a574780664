// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/town_load.h"

#include <utility>

#include "clients/cpp/channel.h"
#include "clients/cpp/map_client.h"
#include "clients/cpp/map_transaction.h"
#include "clients/cpp/messages.h"
#include "tests/server/small_town.h"
#include "tests/support/synthetic_scene.h"

namespace voxloc::chaos {
namespace {

constexpr int kPlaces = 16;
constexpr double kTownTimeout_s = 60.0;

}  // namespace

absl::Status LoadTown(const std::string& address) {
  client::ChannelOptions channel_options;
  channel_options.server = address;
  const auto channel = client::Channel::Create(channel_options);
  if (!channel.ok()) return channel.status();
  if (client::MapClient(*channel).Get(kTown, kTownTimeout_s).ok()) return absl::OkStatus();
  client::TransactionOptions options;
  options.begin.set_map(kTown);
  options.begin.set_create(true);
  const auto transaction = client::MapTransaction::Begin(*channel, options);
  if (!transaction.ok()) return transaction.status();
  if (absl::Status status = (*transaction)->AddTile("town", server::SmallTown()); !status.ok()) {
    return status;
  }
  return (*transaction)->Commit(v1::CommitUpdate()).status();
}

cli::LoadDrive TownDrive(size_t points) {
  cli::LoadDrive drive;
  for (int i = 0; i < kPlaces; ++i) {
    const Pose map_T_base =
        Displaced(server::VehiclePose(), {0.25 * (i % 4), 0.25 * (i / 4), 0.0}, 0.02 * i);
    const PointCloud scan = server::ScanFrom(map_T_base, points);
    v1::Cloud message;
    client::EncodeCloud(scan, &message);
    drive.scans.push_back(std::move(message));
    drive.guesses_map_T_base.push_back(Displaced(map_T_base, {0.15, -0.12, 0.03}, 0.009));
    drive.points += scan.size();
  }
  return drive;
}

v1::Scan ScanOf(const cli::LoadDrive& drive, size_t index) {
  v1::Scan scan;
  *scan.add_clouds()->mutable_cloud() = drive.scans[index];
  client::EncodePose(drive.guesses_map_T_base[index],
                     scan.mutable_guess_map_t_base()->mutable_pose());
  return scan;
}

}  // namespace voxloc::chaos
