// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/map/changed_cubes_file.h"
#include "clients/cli/map/map_source.h"
#include "clients/cli/output/output.h"
#include "clients/cli/report/map_view.h"
#include "clients/dataset/map_diff.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

struct MapDiffFlags {
  ServerFlags server;
  std::string before;
  std::string after;
  double cube_m = 0.5;
  uint64_t min_points = 3;
  size_t places = 20;
  std::string output;
  std::string html;
  size_t points = kDefaultViewPoints;
};

// How many tiles of the maps are in one of them, in both with other content, and in both alike.
struct TileCounts {
  size_t came = 0;
  size_t went = 0;
  size_t changed = 0;
  size_t same = 0;
};

bool Touches(const v1::Box& a, const v1::Box& b, double margin_m) {
  return a.min().x() <= b.max().x() + margin_m && b.min().x() <= a.max().x() + margin_m &&
         a.min().y() <= b.max().y() + margin_m && b.min().y() <= a.max().y() + margin_m &&
         a.min().z() <= b.max().z() + margin_m && b.min().z() <= a.max().z() + margin_m;
}

// The tiles of a revision whose points are needed to find what changed from the other: those that
// the other does not have alike, and those within a cube of any such tile of either.
class NeededTiles {
 public:
  NeededTiles(const MapSource& before, const MapSource& after, double cube_m)
      : cube_m_(cube_m), square_m_(cube_m + std::max(LongestEdge(before), LongestEdge(after))) {
    for (const auto& [id, tile] : before.tiles) {
      const auto other = after.tiles.find(id);
      if (other == after.tiles.end()) {
        ++counts_.went;
        Add(tile);
      } else if (other->second.sha256() != tile.sha256()) {
        ++counts_.changed;
        Add(tile);
        Add(other->second);
      } else {
        ++counts_.same;
      }
    }
    for (const auto& [id, tile] : after.tiles) {
      if (before.tiles.count(id) > 0) continue;
      ++counts_.came;
      Add(tile);
    }
  }

  [[nodiscard]] std::vector<std::string> Of(const MapSource& side) const {
    std::vector<std::string> ids;
    for (const auto& [id, tile] : side.tiles) {
      if (IsNearChanged(tile) || changed_ids_.count(id) > 0) ids.push_back(id);
    }
    return ids;
  }

  [[nodiscard]] const TileCounts& counts() const { return counts_; }

 private:
  using Square = std::pair<int64_t, int64_t>;

  static double LongestEdge(const MapSource& side) {
    double longest_m = 0.0;
    for (const auto& [id, tile] : side.tiles) {
      const v1::Box& box = tile.bounds();
      longest_m =
          std::max({longest_m, box.max().x() - box.min().x(), box.max().y() - box.min().y()});
    }
    return longest_m;
  }

  // Of the corner of a box. Corners of boxes that touch are in the same square or in neighbours.
  [[nodiscard]] Square SquareOf(const v1::Box& box) const {
    return {static_cast<int64_t>(std::floor(box.min().x() / square_m_)),
            static_cast<int64_t>(std::floor(box.min().y() / square_m_))};
  }

  [[nodiscard]] bool IsNearChanged(const v1::TileInfo& tile) const {
    if (!tile.has_bounds()) return false;
    const Square square = SquareOf(tile.bounds());
    for (int64_t x = square.first - 1; x <= square.first + 1; ++x) {
      const auto end = changed_.upper_bound({x, square.second + 1});
      if (std::any_of(changed_.lower_bound({x, square.second - 1}), end, [&](const auto& changed) {
            return Touches(tile.bounds(), changed.second, cube_m_);
          })) {
        return true;
      }
    }
    return false;
  }

  void Add(const v1::TileInfo& tile) {
    changed_ids_.insert(tile.tile_id());
    if (tile.has_bounds()) changed_.emplace(SquareOf(tile.bounds()), tile.bounds());
  }

  const double cube_m_;
  const double square_m_;
  TileCounts counts_;
  std::set<std::string> changed_ids_;
  std::multimap<Square, v1::Box> changed_;
};

Json PlaceJson(const ChangedPlace& place) {
  return {{"kind", place.came ? "came" : "went"},
          {"position", VectorJson(place.mean_map)},
          {"min", VectorJson(place.min_map)},
          {"max", VectorJson(place.max_map)},
          {"points", place.points},
          {"cubes", place.cubes},
          {"counterpart", place.counterpart.has_value() ? Json(*place.counterpart) : Json(nullptr)},
          {"moved_m", place.counterpart.has_value() ? Json(place.moved_m) : Json(nullptr)}};
}

std::string PlacesText(const std::vector<ChangedPlace>& places, size_t most) {
  if (places.empty()) return "";
  TextTable table("place|>x, m|>y, m|>z, m|>length, m|>width, m|>height, m|>moved, m|>points");
  const size_t shown = std::min(most, places.size());
  for (size_t i = 0; i < shown; ++i) {
    const ChangedPlace& place = places[i];
    const Eigen::Vector3d size = place.max_map - place.min_map;
    std::vector<std::string> cells = {place.came ? "came" : "went"};
    for (const double value : {place.mean_map.x(), place.mean_map.y(), place.mean_map.z(), size.x(),
                               size.y(), size.z()}) {
      cells.push_back(absl::StrFormat("%.1f", value));
    }
    cells.push_back(place.counterpart.has_value() ? absl::StrFormat("%.1f", place.moved_m) : "-");
    cells.push_back(GroupDigits(place.points));
    table.AddRow(std::move(cells));
  }
  return absl::StrCat("\n", table.Text(),
                      shown < places.size() ? absl::StrFormat("and %d more; --places shows them\n",
                                                              places.size() - shown)
                                            : "");
}

// The cubes that came, or those that went.
MapViewLayer CubesLayer(const MapDiff& diff, bool came, double cube_m) {
  std::vector<Eigen::Vector3d> middles;
  for (const ChangedCube& cube : diff.cubes) {
    if (cube.came != came) continue;
    middles.push_back(cube_m * (cube.index.cast<double>().array() + 0.5).matrix());
  }
  return CubeLayer(came ? "came" : "went", came ? "--good" : "--bad", cube_m, middles);
}

absl::StatusOr<ExitCode> DiffTwoMaps(const MapDiffFlags& options) {
  MapSources sources(options.server);
  std::vector<MapSource> sides;
  for (const std::string& text : {options.before, options.after}) {
    VOXLOC_ASSIGN_OR_RETURN(sides.emplace_back(), sources.Resolve(text));
  }
  const bool by_tiles = !sides[0].map.empty() && !sides[1].map.empty();
  const NeededTiles needed(sides[0], sides[1], options.cube_m);
  std::vector<CubeMap> cubes(2, CubeMap(options.cube_m));
  MapView view(options.html.empty() ? 1 : options.points);
  for (size_t i = 0; i < 2; ++i) {
    const auto receive = [&](const std::string& id, const PointCloud& cloud_map) {
      if (i == 1 && !options.html.empty()) view.AddTile(id, cloud_map);
      return cubes[i].Add(cloud_map);
    };
    // Beside clouds every tile counts as changed.
    VOXLOC_TRY(sides[i].map.empty() ? MapSources::ReadClouds(sides[i], receive)
                                    : sources.ReadTiles(sides[i], needed.Of(sides[i]), receive));
  }
  const MapDiff diff = DiffMaps(cubes[0], cubes[1], options.min_points);
  const auto came = static_cast<size_t>(std::count_if(
      diff.cubes.begin(), diff.cubes.end(), [](const ChangedCube& cube) { return cube.came; }));
  if (!options.output.empty()) {
    VOXLOC_TRY(WriteChangedCubes(options.output, diff.cubes));
  }

  Json json = {{"before", sides[0].text}, {"after", sides[1].text}};
  std::string text = absl::StrFormat("%s to %s\n", sides[0].text, sides[1].text);
  if (by_tiles) {
    const TileCounts& tiles = needed.counts();
    text += absl::StrFormat("tiles: %d came, %d went, %d changed, %d are the same\n", tiles.came,
                            tiles.went, tiles.changed, tiles.same);
    json["tiles"] = {{"came", tiles.came},
                     {"went", tiles.went},
                     {"changed", tiles.changed},
                     {"same", tiles.same}};
  }
  text += absl::StrFormat("cubes of %g m: %s came, %s went, in %s places\n%s", options.cube_m,
                          GroupDigits(came), GroupDigits(diff.cubes.size() - came),
                          GroupDigits(diff.places.size()), PlacesText(diff.places, options.places));
  if (!options.html.empty()) {
    view.headline = absl::StrCat("From ", sides[0].text, " to ", sides[1].text);
    view.subline = absl::StrFormat("cubes of %g m: %s came, %s went, in %s places", options.cube_m,
                                   GroupDigits(came), GroupDigits(diff.cubes.size() - came),
                                   GroupDigits(diff.places.size()));
    view.layers = {CubesLayer(diff, true, options.cube_m), CubesLayer(diff, false, options.cube_m)};
    view.made_at_ns = absl::GetCurrentTimeNanos();
    view.client_version = VOXLOC_VERSION;
    view.places = ListJson(diff.places, PlaceJson);
    VOXLOC_TRY(WriteTextFile(options.html, MapHtml(view)));
    absl::StrAppend(&text, "\npage: ", options.html, "\n");
  }
  json["cube_m"] = options.cube_m;
  json["cubes_came"] = came;
  json["cubes_went"] = diff.cubes.size() - came;
  json["places"] = ListJson(diff.places, PlaceJson);
  return Report(options.server.json, text, json);
}

}  // namespace

void AddMapDiffCommand(CLI::App* parent, Work* chosen) {
  const auto [command, options] = AddCommand(
      parent, chosen, &DiffTwoMaps, "diff", "Show what changed from one map to another",
      R"(BEFORE and AFTER are each a cloud file, a directory of clouds (an Autoware map, or one of
voxloc map export), a map of the server, or one of its revisions, MAP@REVISION. Space is cut into
cubes. A cube has come where AFTER has points and BEFORE has none in it nor in the cubes around
it, and it has gone the other way round: surfaces that were only measured again do not count.
Cubes that touch are a place; a thing that was moved is one place that went and one that came, and
"moved" tells how far it is from the one to the other.
Between two revisions only the points of tiles that differ, and of those beside them, are fetched.

Examples:
  voxloc map diff town@3 town@5
  voxloc map diff survey-2025/map survey-2026/map --cube 0.3 --output changed.ply
  voxloc map diff town@3 town@5 --html changes.html
  voxloc map diff town new-scan.pcd --json changes.json)");
  options->server.timeout_s = 60.0;
  command->add_option("BEFORE", options->before, "Compare this map")->required();
  command->add_option("AFTER", options->after, "with this one")->required();
  AddDefaulted(command, "--cube", options->cube_m, "M", "Cut space into cubes of this edge, metres")
      ->check(CLI::Range(0.05, 100.0));
  AddDefaulted(command, "--min-points", options->min_points, "N",
               "Leave out cubes with fewer points than this")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000}));
  AddDefaulted(command, "--places", options->places, "N",
               "Show this many places, those with the most points; the JSON has all");
  AddOutputFile(command, "--output", &options->output,
                "Also write the cubes to FILE: .csv, or .ply with those that came in green and "
                "those that went in red")
      ->check(&ChangedCubesExtensionError);
  CLI::Option* html = AddOutputFile(
      command, "--html", &options->html,
      "Also show the cubes, over the points of AFTER that were read, in an HTML page that needs no "
      "network");
  AddViewPointsFlag(command, &options->points)->needs(html);
  AddServerFlags(command, &options->server);
}

}  // namespace voxloc::cli
