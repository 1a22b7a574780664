// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map/map_manifest.h"

#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/output/message_text.h"
#include "clients/cli/output/output.h"
#include "clients/dataset/cloud_sources.h"
#include "clients/dataset/map_yaml.h"
#include "core/cloud/cloud_digest.h"
#include "core/cloud/io/cloud_file.h"
#include "core/cloud/io/file_bytes.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

constexpr char kFormat[] = "voxloc map";
constexpr int kFormatVersion = 1;

// File systems take 255 bytes, of which ".pcd" and those of a file that is being written are some.
constexpr size_t kMaxStemBytes = 200;
constexpr size_t kDigestDigits = 16;

// A million tiles take 300 MB.
constexpr size_t kMaxManifestBytes = size_t{1} << 30;

// A file of an earlier export goes where the map has no projector.
absl::Status WriteProjector(const std::string& directory, const v1::MapFrame& frame) {
  const std::string path = absl::StrCat(directory, "/", kProjectorYamlName);
  if (frame.has_projector()) return WriteFileBytes(path, ProjectorYamlText(frame.projector()));
  std::error_code error;
  std::filesystem::remove(path, error);
  if (!error) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, " cannot be removed: ", error.message()));
}

// What follows throws where a value is missing or of another kind; ReadManifest catches it.

v1::MapOptions OptionsFrom(const Json& json) {
  v1::MapOptions options;
  for (const Json& profile : json.at("profiles")) options.add_profiles(profile.get<std::string>());
  const Json& cell_size_m = json.at("cell_size_m");
  if (!cell_size_m.is_null()) options.mutable_cell_size_m()->set_value(cell_size_m.get<double>());
  return options;
}

// Manifests that were written before there were origins have none.
void ReadOrigin(const Json& json, v1::MapFrame& frame) {
  const auto origin = json.find("wgs84_origin");
  if (origin == json.end() || origin->is_null()) return;
  v1::GeoPoint& point = *frame.mutable_origin()->mutable_point();
  point.set_latitude_deg(origin->at("latitude_deg").get<double>());
  point.set_longitude_deg(origin->at("longitude_deg").get<double>());
  point.set_altitude_m(origin->at("altitude_m").get<double>());
  frame.mutable_origin()->set_x_axis_yaw_rad(origin->at("x_axis_yaw_rad").get<double>());
}

absl::StatusOr<ManifestTile> TileFrom(const Json& json) {
  ManifestTile tile;
  tile.id = json.at("id").get<std::string>();
  tile.file = json.at("file").get<std::string>();
  tile.points = json.at("points").get<uint64_t>();
  const Json& origin = json.at("origin");
  for (size_t axis = 0; axis < 3; ++axis) {
    tile.origin[static_cast<Eigen::Index>(axis)] = origin.at(axis).get<double>();
  }
  VOXLOC_ASSIGN_OR_RETURN(tile.sha256, Sha256FromHex(json.at("sha256").get<std::string>()));
  if (tile.file != TileFileName(tile.id)) {
    return absl::InvalidArgumentError(absl::StrCat("the file of tile ", tile.id, " must be ",
                                                   TileFileName(tile.id), " (got ", tile.file,
                                                   ")"));
  }
  return tile;
}

absl::StatusOr<MapManifest> ManifestFrom(const Json& json) {
  if (json.at("format").get<std::string>() != kFormat) {
    return absl::InvalidArgumentError(absl::StrCat("`format` must be '", kFormat, "'"));
  }
  const int version = json.at("version").get<int>();
  if (version != kFormatVersion) {
    return absl::InvalidArgumentError(absl::StrCat("this program reads `version` ", kFormatVersion,
                                                   " (got ", version,
                                                   "); a newer voxloc may read it"));
  }
  MapManifest manifest;
  manifest.map = json.at("map").get<std::string>();
  manifest.revision = json.at("revision").get<uint64_t>();
  manifest.options = OptionsFrom(json.at("options"));
  ReadOrigin(json, manifest.frame);
  std::set<std::string> ids;
  for (const Json& entry : json.at("tiles")) {
    VOXLOC_ASSIGN_OR_RETURN(ManifestTile tile, TileFrom(entry));
    if (!ids.insert(tile.id).second) {
      return absl::InvalidArgumentError(absl::StrCat("tile ", tile.id, " is named twice"));
    }
    manifest.tiles.push_back(std::move(tile));
  }
  return manifest;
}

}  // namespace

std::string TileFileName(const std::string& tile_id) {
  std::string stem;
  for (const char c : tile_id) {
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' ||
                       (c == '.' && !stem.empty());
    if (plain) {
      stem += c;
    } else {
      absl::StrAppendFormat(&stem, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  if (stem.size() > kMaxStemBytes) {
    stem.resize(kMaxStemBytes - kDigestDigits - 1);
    absl::StrAppend(&stem, "-", ToHex(Sha256Of(tile_id)).substr(0, kDigestDigits));
  }
  return stem + ".pcd";
}

std::string ManifestPath(const std::string& directory) { return directory + "/manifest.json"; }
std::string TilesDirectory(const std::string& directory) { return directory + "/tiles"; }

absl::Status BeginManifest(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(TilesDirectory(directory), error);
  if (!error) std::filesystem::remove(ManifestPath(directory), error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat(directory, " cannot be written: ", error.message()));
  }
  return absl::OkStatus();
}

absl::Status WriteManifest(const std::string& directory, const MapManifest& manifest) {
  VOXLOC_TRY(WriteProjector(directory, manifest.frame));
  Json origin;  // null: none is known
  if (manifest.frame.has_origin()) {
    origin = MessageJson(manifest.frame.origin().point());
    origin["x_axis_yaw_rad"] = manifest.frame.origin().x_axis_yaw_rad();
  }
  Json tiles = Json::array();
  uint64_t points = 0;
  for (const ManifestTile& tile : manifest.tiles) {
    tiles.push_back({{"id", tile.id},
                     {"file", tile.file},
                     {"sha256", ToHex(tile.sha256)},
                     {"points", tile.points},
                     {"origin", VectorJson(tile.origin)},
                     {"bounds", MessageJson(tile.bounds)}});
    points += tile.points;
  }
  const Json json = {
      {"format", kFormat},
      {"version", kFormatVersion},
      {"about",
       "Points of a tile: its origin plus x, y, z of its PCD, whose VIEWPOINT has the origin too. "
       "sha256: of the origin as three little-endian float64 and then of the PCD's data."},
      {"map", manifest.map},
      {"revision", manifest.revision},
      {"points", points},
      {"options", MessageJson(manifest.options)},
      {"wgs84_origin", std::move(origin)},
      {"tiles", std::move(tiles)}};
  return WriteFileBytes(ManifestPath(directory), json.dump(1) + "\n");
}

absl::StatusOr<MapManifest> ReadManifest(const std::string& directory) {
  const std::string path = ManifestPath(directory);
  VOXLOC_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFileBytes(path, kMaxManifestBytes));
  try {
    absl::StatusOr<MapManifest> manifest = ManifestFrom(Json::parse(bytes.view()));
    if (!manifest.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": ", manifest.status().message()));
    }
    if (const auto yaml = FindProjectorYaml(directory); yaml.has_value()) {
      VOXLOC_ASSIGN_OR_RETURN(*manifest->frame.mutable_projector(), ReadProjectorYaml(*yaml));
    }
    return manifest;
  } catch (const std::exception& problem) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", problem.what()));
  }
}

absl::StatusOr<PointCloud> ReadManifestTile(const std::string& directory,
                                            const ManifestTile& tile) {
  const std::string path = absl::StrCat(TilesDirectory(directory), "/", tile.file);
  absl::StatusOr<PointCloud> cloud = ReadCloud(path);
  std::string damage;
  if (!cloud.ok()) {
    damage = std::string(cloud.status().message());
  } else if (DigestOf(*cloud) != tile.sha256) {
    damage = absl::StrCat(path, ": the points do not have its digest");
  } else {
    return cloud;
  }
  return absl::DataLossError(absl::StrCat("tile ", tile.id, " is damaged: ", damage));
}

}  // namespace voxloc::cli
