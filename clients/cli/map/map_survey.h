// SPDX-License-Identifier: Apache-2.0
//
// What a map that is being loaded is like: its bounds, its density, and what looks wrong with them.
// Memory: 100 bytes a cloud, and 32 bytes for each 5 m x 5 m that has a point, up to 128 MiB. For
// one thread.

#ifndef VOXLOC_CLIENTS_CLI_MAP_MAP_SURVEY_H_
#define VOXLOC_CLIENTS_CLI_MAP_MAP_SURVEY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "clients/cli/output/output_file.h"
#include "clients/dataset/map_source.h"
#include "core/cloud/point_cloud.h"

namespace voxloc::cli {

class MapSurvey {
 public:
  // Forgets the cloud's points, if it had any: it is read again. `declared`: where the map's
  // metadata says that they lie. `placed`: its pose was given.
  void Begin(const std::string& cloud, const std::optional<XyBounds>& declared = std::nullopt,
             bool placed = false);
  // Points of the cloud, in the map's frame. Those that are not finite do not count.
  void Add(const std::string& cloud, const PointCloud& points);

  // Finite points.
  [[nodiscard]] uint64_t points() const;
  [[nodiscard]] uint64_t PointsOf(const std::string& cloud) const;
  // Of all points; no finite point: its min and max mean nothing.
  [[nodiscard]] Bounds bounds() const;
  // Points on each square metre, of the squares of 5 m that have any. nullopt: there are none, or
  // more squares than are counted.
  [[nodiscard]] std::optional<double> density_per_m2() const;
  // What looks wrong, a sentence each: bounds out of proportion, a map on its side, clouds on top
  // of each other, clouds outside of their metadata's bounds, coordinates in coarse steps.
  [[nodiscard]] std::vector<std::string> Warnings() const;

  // Lines: extent, bounds and density, then the warnings.
  [[nodiscard]] std::string Text() const;
  // `extent_m` and `bounds` (null without points), `points_per_m2` (null: not known), `doubts`.
  void AddTo(Json* json) const;

 private:
  struct Cloud {
    Bounds bounds;
    float largest_offset_m = 0.0F;
    std::optional<XyBounds> declared;
    uint64_t outside_declared = 0;
    bool placed = false;
  };

  [[nodiscard]] std::optional<std::string> StackWarning(const Bounds& all) const;
  [[nodiscard]] std::optional<std::string> MetadataWarning() const;
  [[nodiscard]] std::optional<std::string> StepsWarning() const;

  std::map<std::string, Cloud> clouds_;
  std::unordered_set<uint64_t> squares_;
  bool too_many_squares_ = false;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_MAP_SURVEY_H_
