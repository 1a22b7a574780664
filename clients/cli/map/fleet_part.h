// SPDX-License-Identifier: Apache-2.0
//
// FleetPart: what a part of a map is worked on with: the drives and scans within reach, and the
// tiles that they see. Immutable.

#ifndef VOXLOC_CLIENTS_CLI_MAP_FLEET_PART_H_
#define VOXLOC_CLIENTS_CLI_MAP_FLEET_PART_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "clients/cli/map/map_tiles.h"
#include "clients/cli/map/recorded_drives.h"
#include "core/cloud/point_cloud.h"
#include "core/map_update/update_request.h"

namespace voxloc::cli {

class FleetPart {
 public:
  // `bounds`: of the map's tiles; `box`: of the part; `tiles`: those that may be proposed anew. Of
  // more than kMaxVotingPasses drives through the part, the latest count.
  FleetPart(const MapTiles& map, absl::Span<const Bounds> bounds, const Bounds& box,
            const std::set<size_t>& tiles, const RecordedDrives& drives);

  // Of views into this part.
  [[nodiscard]] UpdateRequest Request(const ChangeRule& rule) const;

  // By pass, their numbers in the list of drives.
  [[nodiscard]] const std::vector<size_t>& drives() const { return drives_; }
  [[nodiscard]] std::set<size_t> DrivesOf(PassMask passes) const;
  // Of a tile of the request, in the map.
  [[nodiscard]] const std::string& IdOf(size_t tile) const { return tiles_[tile].id; }
  [[nodiscard]] size_t NumberOf(size_t tile) const { return numbers_[tile]; }
  [[nodiscard]] bool seen() const { return !scans_.empty(); }

 private:
  std::vector<size_t> drives_;
  std::vector<int64_t> start_ns_;
  std::vector<UpdateScan> scans_;
  std::vector<size_t> numbers_;  // of the tiles, in the map
  std::vector<UpdateTile> tiles_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_FLEET_PART_H_
