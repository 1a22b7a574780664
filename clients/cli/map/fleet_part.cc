// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map/fleet_part.h"

#include <algorithm>
#include <map>

namespace voxloc::cli {
namespace {

// From a part to the sensors whose scans see it, and from these to the map that they see.
constexpr double kReachM = kUpdateRangeM;

double Between(const Bounds& a, const Bounds& b) {
  const Eigen::Vector2d gap =
      (a.min - b.max).cwiseMax(b.min - a.max).cwiseMax(Eigen::Vector3d::Zero()).head<2>();
  return gap.norm();
}

Bounds BoundsAt(const Eigen::Vector3d& point) { return {point, point, 1}; }

}  // namespace

FleetPart::FleetPart(const MapTiles& map, absl::Span<const Bounds> bounds, const Bounds& box,
                     const std::set<size_t>& tiles, const RecordedDrives& drives) {
  std::set<size_t> seen;
  for (const UpdateScan& scan : drives.scans) {
    if (Between(BoundsAt(scan.map_T_base.translation), box) <= kReachM) seen.insert(scan.pass);
  }
  drives_.assign(seen.begin(), seen.end());
  std::stable_sort(drives_.begin(), drives_.end(), [&](size_t a, size_t b) {
    return drives.drives[a].start_ns > drives.drives[b].start_ns;
  });
  drives_.resize(std::min(drives_.size(), kMaxVotingPasses));
  std::map<size_t, size_t> pass_of;
  for (size_t i = 0; i < drives_.size(); ++i) {
    pass_of[drives_[i]] = i;
    start_ns_.push_back(drives.drives[drives_[i]].start_ns);
  }
  for (const UpdateScan& scan : drives.scans) {
    const auto pass = pass_of.find(scan.pass);
    if (pass == pass_of.end() || Between(BoundsAt(scan.map_T_base.translation), box) > kReachM) {
      continue;
    }
    scans_.push_back(scan);
    scans_.back().pass = pass->second;
  }
  for (size_t i = 0; i < map.tiles.size(); ++i) {
    if (bounds[i].finite_points == 0 || Between(bounds[i], box) > 2.0 * kReachM) continue;
    numbers_.push_back(i);
    tiles_.push_back({map.tiles[i].id, map.tiles[i].cloud_map, tiles.count(i) > 0});
  }
}

UpdateRequest FleetPart::Request(const ChangeRule& rule) const {
  UpdateRequest request;
  request.tiles = tiles_;
  request.pass_start_ns = start_ns_;
  request.scans = scans_;
  request.rule = rule;
  return request;
}

std::set<size_t> FleetPart::DrivesOf(PassMask passes) const {
  std::set<size_t> drives;
  for (size_t pass = 0; pass < drives_.size(); ++pass) {
    if ((passes >> pass & 1U) != 0) drives.insert(drives_[pass]);
  }
  return drives;
}

}  // namespace voxloc::cli
