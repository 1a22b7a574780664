// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cli/map_frame_text.h"
#include "clients/cli/message_json.h"
#include "clients/cli/text_table.h"

namespace voxloc::cli {
namespace {

std::string ExtentText(const v1::MapInfo& map) {
  if (!map.has_bounds()) return "-";
  const v1::Vector3& low = map.bounds().min();
  const v1::Vector3& high = map.bounds().max();
  return absl::StrFormat("%.0f x %.0f x %.0f m", high.x() - low.x(), high.y() - low.y(),
                         high.z() - low.z());
}

}  // namespace

std::string MapTableText(const std::vector<v1::MapInfo>& maps) {
  TextTable table("map|>revision|>tiles|>points|>extent|>memory|committed");
  for (const v1::MapInfo& map : maps) {
    table.AddRow({map.name(), absl::StrCat(map.revision()), absl::StrCat(map.tiles()),
                  Grouped(map.points()), ExtentText(map), ByteText(map.memory_bytes()),
                  TimeText(map.committed_at_ns())});
  }
  return table.Text();
}

std::string MapDetailText(const v1::MapInfo& map) {
  std::string text;
  const auto line = [&text](absl::string_view key, absl::string_view value) {
    absl::StrAppend(&text, absl::StrFormat("%-10s %s\n", key, value));
  };
  line("map", map.name());
  line("revision", absl::StrCat(map.revision()));
  line("tiles", map.resident_tiles() == map.tiles()
                    ? absl::StrCat(map.tiles())
                    : absl::StrCat(map.tiles(), ", of which ", map.resident_tiles(),
                                   " are in the server's memory"));
  line("points", Grouped(map.points()));
  line("extent", ExtentText(map));
  if (map.has_bounds()) {
    const v1::Vector3& low = map.bounds().min();
    const v1::Vector3& high = map.bounds().max();
    line("bounds", absl::StrFormat("%.1f %.1f %.1f to %.1f %.1f %.1f m", low.x(), low.y(), low.z(),
                                   high.x(), high.y(), high.z()));
  }
  line("memory", ByteText(map.memory_bytes()));
  line("profiles", absl::StrJoin(map.options().profiles(), ", "));
  if (map.frame().has_projector()) line("projector", ProjectorText(map.frame().projector()));
  if (map.frame().has_origin()) line("origin", OriginText(map.frame().origin()));
  line("committed", TimeText(map.committed_at_ns()));
  line("durable", map.durable() ? "yes" : "no, lost when the server stops");
  if (map.cells().empty()) return text;
  TextTable cells(">cell size|identity seed|>eigenvalue ratio|>least points|>cells");
  for (const v1::MapCells& kind : map.cells()) {
    const v1::CellStatistics& statistics = kind.statistics();
    cells.AddRow({absl::StrFormat("%g m", statistics.cell_size_m()),
                  statistics.identity_seed() ? "yes" : "no",
                  absl::StrFormat("%g", statistics.eigenvalue_ratio()),
                  absl::StrCat(statistics.min_points()), Grouped(kind.cells())});
  }
  return absl::StrCat(text, "\n", cells.Text());
}

Json MapJson(const v1::MapInfo& map) {
  Json cells = Json::array();
  for (const v1::MapCells& kind : map.cells()) {
    cells.push_back({{"cell_size_m", kind.statistics().cell_size_m()},
                     {"min_points", kind.statistics().min_points()},
                     {"identity_seed", kind.statistics().identity_seed()},
                     {"eigenvalue_ratio", kind.statistics().eigenvalue_ratio()},
                     {"cells", kind.cells()}});
  }
  Json profiles = Json::array();
  for (const std::string& profile : map.options().profiles()) profiles.push_back(profile);
  return {{"name", map.name()},
          {"revision", map.revision()},
          {"tiles", map.tiles()},
          {"points", map.points()},
          {"bounds", map.has_bounds() ? MessageJson(map.bounds()) : Json(nullptr)},
          {"memory_bytes", map.memory_bytes()},
          {"profiles", profiles},
          {"cells", cells},
          {"frame", map.has_frame() ? MessageJson(map.frame()) : Json(nullptr)},
          {"committed_at_ns", map.committed_at_ns()},
          {"durable", map.durable()}};
}

}  // namespace voxloc::cli
