// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/request_world.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/cloud/filters.h"
#include "core/cloud/motion.h"
#include "server/convert/pose.h"
#include "server/convert/scan.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/server/maps/fake_map.h"

namespace voxloc::server {
const RequestWorld& RequestWorld::Get() {
  // Kept until the process ends, with its thread.
  static const RequestWorld& world = *new RequestWorld();
  return world;
}

RequestWorld::RequestWorld() {
  auto build = MakeMapBuild({}, ProfileSet());
  FuzzRequire(build.ok(), "a map can be built for all profiles");
  MapFrame frame;
  frame.origin.emplace();
  frame.origin->point = {35.6762, 139.6503, 40.0};
  auto made = MakeMapFrame(frame);
  FuzzRequire(made.ok(), "a map can lie in Tokyo");
  MapSnapshot snapshot;
  snapshot.name = "town";
  snapshot.revision = 3;
  snapshot.resident = std::make_shared<FakeMap>(build->statistics);
  MapTile tile;
  tile.bounds.min = {-50.0, -50.0, -5.0};
  tile.bounds.max = {50.0, 50.0, 20.0};
  tile.bounds.finite_points = tile.points = 1000;
  snapshot.tiles = TileCatalogue().With({{"x-50_y-50", tile}});
  MapFacts facts;
  facts.build = std::make_shared<const MapBuild>(*std::move(build));
  facts.frame = *std::move(made);
  (void)maps_.Activate(std::move(snapshot), std::move(facts));
}

absl::Status ReceiveScan(const v1::Scan& scan, const ScanRecipe& recipe, uint64_t max_points) {
  const auto points = CheckScanClouds(scan, max_points);
  if (!points.ok()) return points.status();
  const auto hints = ScanHintsFromProto(scan);
  if (!hints.ok()) return hints.status();
  size_t received = 0;
  for (const v1::SensorCloud& sensor_cloud : scan.clouds()) {
    DecodedCloud decoded = DecodeScan(sensor_cloud.cloud());
    FuzzRequire(
        decoded.received == decoded.cloud.size() + decoded.not_finite + decoded.out_of_reach,
        "every point is counted once");
    FuzzRequire(decoded.time_s.empty() || decoded.time_s.size() == decoded.cloud.size(),
                "every point has a time, or none");
    received += decoded.received;
    std::optional<Pose> base_T_sensor = recipe.base_T_sensor;
    if (sensor_cloud.has_base_t_sensor()) {
      const auto own = MountFromProto(sensor_cloud.base_t_sensor());
      FuzzRequire(own.ok(), "a mount has been checked");
      base_T_sensor = *own;
    }
    const Pose mount = recipe.CorrectedMount(base_T_sensor).value_or(Pose());
    if (hints->base_twist.has_value()) {
      Deskew(SensorTwist(*hints->base_twist, mount), decoded.time_s,
             CloudOffsetS(scan, sensor_cloud), decoded.cloud);
    }
    PointCloud cloud = std::move(decoded.cloud);
    for (const std::optional<FilterOptions>& filter :
         {recipe.filters.sensor, recipe.filters.base}) {
      if (!filter.has_value()) continue;
      auto filtered = FilterCloud(cloud, *filter);
      if (!filtered.ok()) return filtered.status();
      FuzzRequire(filtered->counts.kept == filtered->cloud.size(), "what is kept is counted");
      cloud = Transform(mount, filtered->cloud);
    }
  }
  FuzzRequire(received == *points, "as many points as were checked");
  return absl::OkStatus();
}

}  // namespace voxloc::server
