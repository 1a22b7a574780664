// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/cloud_sources.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "clients/dataset/map_yaml.h"
#include "clients/dataset/trajectory_file.h"
#include "core/cloud/io/cloud_file.h"
#include "core/cloud/io/text_scan.h"
#include "core/geometry/euler.h"
#include "core/status/try.h"
#include "core/text/names.h"

namespace voxloc {
namespace {

namespace fs = std::filesystem;

std::string NameOf(const std::string& path) { return fs::path(path).filename().native(); }
std::string StemOf(const std::string& path) { return fs::path(path).stem().native(); }
std::string FolderOf(const std::string& path) { return fs::path(path).parent_path().native(); }

// The order of ListClouds. The extension decides last.
bool CloudNameLess(const std::string& a, const std::string& b) {
  const int order = CompareNatural(StemOf(a), StemOf(b));
  return order != 0 ? order < 0 : NaturalLess(NameOf(a), NameOf(b));
}

// The digits after the last dot of a name such as 1700000000.25; empty: it is not of that form.
absl::string_view FractionOf(absl::string_view stem) {
  const size_t dot = stem.rfind('.');
  if (dot == absl::string_view::npos || dot == 0 || dot + 1 == stem.size()) return {};
  const absl::string_view fraction = stem.substr(dot + 1);
  const bool digits =
      fraction.find_first_not_of("0123456789") == absl::string_view::npos &&
      absl::string_view("0123456789").find(stem[dot - 1]) != absl::string_view::npos;
  return digits ? fraction : absl::string_view();
}

// Whether two names that follow each other in numeric order would not as decimal numbers.
bool DecimalsDisagree(const std::string& a, const std::string& b) {
  const absl::string_view fraction_a = FractionOf(a);
  const absl::string_view fraction_b = FractionOf(b);
  if (fraction_a.empty() || fraction_b.empty() || fraction_a.size() == fraction_b.size()) {
    return false;
  }
  const absl::string_view whole_a = absl::string_view(a).substr(0, a.size() - fraction_a.size());
  const absl::string_view whole_b = absl::string_view(b).substr(0, b.size() - fraction_b.size());
  return CompareNatural(whole_a, whole_b) == 0 && fraction_a > fraction_b;
}

absl::Status CheckPair(const std::string& before, const std::string& after) {
  const std::string a = StemOf(before);
  const std::string b = StemOf(after);
  if (CompareNatural(a, b) == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("clouds that are paired with poses must have names of different numbers (got ",
                     NameOf(before), " and ", NameOf(after), " in ", FolderOf(before), ")"));
  }
  if (DecimalsDisagree(a, b)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the fractions in the names of clouds that are paired with poses must have one width, "
        "since it is not certain which of ",
        NameOf(before), " and ", NameOf(after), " comes first"));
  }
  return absl::OkStatus();
}

size_t CloudsIn(const fs::path& folder) {
  size_t clouds = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (IsCloudOfFolder(entry->path().native()).value_or(false)) ++clouds;
  }
  return clouds;
}

// What lies in a folder: "README.md, tiles/ (12 clouds) and 3 more".
std::string FolderText(const std::string& path) {
  constexpr size_t kMaxNames = 5;
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(path, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    std::error_code entry_error;
    std::string name = entry->path().filename().native();
    if (entry->is_directory(entry_error)) {
      absl::StrAppend(&name, "/ (", CloudsIn(entry->path()), " clouds)");
    }
    names.push_back(std::move(name));
  }
  if (names.empty()) return "nothing";
  std::sort(names.begin(), names.end(), NaturalLess);
  const size_t more = names.size() - std::min(names.size(), kMaxNames);
  names.resize(names.size() - more);
  return absl::StrCat(absl::StrJoin(names, ", "),
                      more == 0 ? "" : absl::StrCat(" and ", more, " more"));
}

bool Moves(const Pose& pose) {
  return !pose.translation.isZero(0.0) || RotationDistance(pose, Pose()) > 0.0;
}

const char* ReasonText(RecordReason reason) {
  switch (reason) {
    case RecordReason::kRequested:
      return "as told";
    case RecordReason::kName:
      return "by the file's name";
    case RecordReason::kSize:
      return "by the file's size";
    case RecordReason::kValues:
      break;
  }
  return "by the file's values (--record-floats tells otherwise)";
}

constexpr const char* kMetadataName = "pointcloud_map_metadata.yaml";
constexpr const char* kTileFolder = "pointcloud_map.pcd";

bool IsFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

absl::Status AddAutowareMap(const fs::path& directory, std::vector<TileSource>& sources) {
  VOXLOC_ASSIGN_OR_RETURN(const MapYaml yaml, ReadMapYaml((directory / kMetadataName).native()));
  const auto first = static_cast<std::ptrdiff_t>(sources.size());
  for (const auto& [name, corner] : yaml.lowest_corner_of) {
    TileSource source;
    const fs::path beside = directory / name;
    const fs::path inside = directory / kTileFolder / name;
    if (!IsFile(inside) && !IsFile(beside)) {
      return absl::NotFoundError(absl::StrCat((directory / kMetadataName).native(), ": names ",
                                              name, ", but there is neither ", beside.native(),
                                              " nor ", inside.native()));
    }
    source.path = (IsFile(inside) ? inside : beside).native();
    source.bounds = XyBounds{corner, corner + yaml.resolution_m};
    source.listed = true;
    sources.push_back(std::move(source));
  }
  std::sort(sources.begin() + first, sources.end(),
            [](const TileSource& a, const TileSource& b) { return CloudNameLess(a.path, b.path); });
  return absl::OkStatus();
}

absl::Status AddClouds(const std::string& path, std::vector<TileSource>& sources) {
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<std::string> clouds, ListClouds(path));
  for (const std::string& cloud : clouds) {
    TileSource source;
    source.path = cloud;
    source.listed = cloud != path;
    sources.push_back(std::move(source));
  }
  return absl::OkStatus();
}

void NameTiles(std::vector<TileSource>& sources) {
  std::set<std::string> taken;
  for (TileSource& source : sources) {
    const std::string stem = fs::path(source.path).stem().native();
    source.id = stem;
    for (size_t number = 2; !taken.insert(source.id).second; ++number) {
      source.id = absl::StrCat(stem, "-", number);
    }
  }
}

// Checks the orientation of the map: the z axes of the clouds should point up.
std::optional<std::string> OrientationWarning(const std::vector<TileSource>& sources) {
  constexpr double kMinUpZ = 0.5;
  double up = 0.0;
  for (const TileSource& source : sources) {
    up += (source.map_T_cloud->rotation * Eigen::Vector3d::UnitZ()).z();
  }
  up /= static_cast<double>(sources.size());
  if (up >= kMinUpZ) return std::nullopt;
  return absl::StrFormat(
      "the z axes of the clouds point up in the map by %.2f of their length on average, so that it "
      "lies on its side or upside down",
      up);
}

std::vector<std::string> PathsOf(const std::vector<TileSource>& sources) {
  std::vector<std::string> paths;
  for (const TileSource& source : sources) paths.push_back(source.path);
  return paths;
}

absl::Status AddPoses(const MapSourceOptions& options, std::vector<TileSource>& sources,
                      InputNotes* notes) {
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<StampedPose> poses,
                          ReadPoses(options.poses, TrajectoryFormat::kKitti, options.calibration));
  if (poses.size() != sources.size()) {
    return absl::InvalidArgumentError(absl::StrCat(options.poses, ": has ", poses.size(),
                                                   " poses for ", sources.size(),
                                                   " clouds; the numbers must be equal"));
  }
  VOXLOC_ASSIGN_OR_RETURN(const std::string order, PairingOrder(PathsOf(sources)));
  const Pose base_T_sensor = options.base_T_sensor.value_or(Pose());
  for (size_t i = 0; i < sources.size(); ++i) {
    sources[i].map_T_cloud = poses[i].pose * base_T_sensor;
  }
  if (notes == nullptr) return absl::OkStatus();
  notes->remarks.push_back(absl::StrCat("poses are paired with the clouds ", order));
  if (!options.calibration.empty()) {
    notes->remarks.push_back(absl::StrCat(
        "the poses are a camera's, and are moved to the LiDAR by ", options.calibration));
  }
  std::optional<std::string> warning = OrientationWarning(sources);
  if (!warning.has_value() && !options.base_T_sensor.has_value()) warning = AxesWarning(poses);
  if (warning.has_value()) notes->warnings.push_back(*std::move(warning));
  return absl::OkStatus();
}

// Degrees need a reader that scales them.
absl::Status CheckFormatOf(const std::string& path, const CrsToMap& crs) {
  VOXLOC_ASSIGN_OR_RETURN(const CloudFormat format, CloudFormatOf(path));
  if (crs.xy_scale() == 1.0 || format == CloudFormat::kLas || format == CloudFormat::kText) {
    return absl::OkStatus();
  }
  return Malformed(path, "a file with coordinates in degrees, by ", crs.name(),
                   ", must be .las, .xyz, .csv or .txt; convert the file: pdal translate ", path,
                   " out.las");
}

// The coordinate reference system of each source, by the option or by what its file states.
absl::Status AddCrs(const MapSourceOptions& options, std::vector<TileSource>& sources,
                    InputNotes* notes) {
  std::map<std::string, std::shared_ptr<const CrsToMap>> known;
  for (TileSource& source : sources) {
    std::string definition = options.crs;
    if (definition == "auto") {
      CloudReadOptions read = ReadOptionsOf(source);
      read.any_unit = true;
      VOXLOC_ASSIGN_OR_RETURN(const CloudFileInfo info, InspectCloud(source.path, read));
      if (info.points == 0) continue;
      definition = info.crs;
    }
    if (definition.empty()) {
      return Malformed(source.path,
                       "the file must be LAS and state its coordinate reference system by WKT or "
                       "a code of EPSG, that of heights too where they are not metres; give it, as "
                       "in EPSG:25832 or EPSG:2263+6360");
    }
    std::shared_ptr<const CrsToMap>& crs = known[definition];
    if (crs == nullptr) {
      absl::StatusOr<std::unique_ptr<const CrsToMap>> made =
          CrsToMap::Create(definition, options.frame, options.crs_heights);
      if (!made.ok()) {
        return absl::Status(made.status().code(),
                            absl::StrCat(source.path, ": ", made.status().message()));
      }
      crs = *std::move(made);
      if (notes != nullptr) {
        notes->remarks.push_back(absl::StrCat("coordinates of ", crs->name(),
                                              " are transformed to the map's frame, and ",
                                              crs->heights(), ", first those of ", source.path));
        if (crs->keeps_stated_heights()) {
          notes->warnings.push_back(absl::StrCat(
              crs->heights(), ", whatever the map's are above, first those of ", source.path));
        }
      }
    }
    VOXLOC_TRY(CheckFormatOf(source.path, *crs));
    source.crs = crs;
    source.bounds.reset();  // of the metadata: in the coordinates of the file
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ListClouds(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    return absl::NotFoundError(absl::StrCat(path, ": no such file or directory"));
  }
  if (error) return absl::UnavailableError(absl::StrCat(path, ": ", error.message()));
  if (!fs::is_directory(status)) {
    if (const auto format = CloudFormatOf(path); !format.ok()) return format.status();
    return std::vector<std::string>{path};
  }

  std::vector<std::string> clouds;
  fs::directory_iterator entry(path, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code entry_error;
    if (!entry->is_regular_file(entry_error) || entry_error) continue;
    const std::string& file = entry->path().native();
    VOXLOC_ASSIGN_OR_RETURN(const bool is_cloud, IsCloudOfFolder(file));
    if (is_cloud) clouds.push_back(file);
  }
  if (error) {
    return absl::UnavailableError(absl::StrCat(path, ": cannot list it: ", error.message()));
  }
  if (clouds.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": holds no cloud; a cloud's name ends in ", kFolderCloudNames,
                     "; there is ", FolderText(path)));
  }
  std::sort(clouds.begin(), clouds.end(), CloudNameLess);
  return clouds;
}

absl::StatusOr<std::string> PairingOrder(const std::vector<std::string>& paths) {
  bool numeric = true;
  bool one_folder = true;
  for (size_t i = 1; i < paths.size(); ++i) {
    if (FolderOf(paths[i - 1]) != FolderOf(paths[i])) {
      one_folder = false;
      continue;
    }
    numeric = numeric && CloudNameLess(paths[i - 1], paths[i]);
    VOXLOC_TRY(CheckPair(paths[i - 1], paths[i]));
  }
  if (!numeric && absl::c_is_sorted(paths)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "clouds that are paired with poses must be in the numeric order of their names (got ",
        NameOf(paths.front()), " to ", NameOf(paths.back()),
        " in the order of bytes, as a shell expands *); give their directory"));
  }
  constexpr size_t kFirstNames = 3;
  std::string names;
  for (size_t i = 0; i < paths.size(); ++i) {
    const bool last = i + 1 == paths.size();
    if (i >= kFirstNames && !last) continue;
    absl::StrAppend(&names, i == 0 ? "" : ", ", last && i > kFirstNames ? "... " : "",
                    NameOf(paths[i]));
  }
  const char* order = !numeric     ? "in the order given"
                      : one_folder ? "in the numeric order of their names"
                                   : "folder by folder, in the numeric order of their names";
  return absl::StrCat(order, ": ", names);
}

std::vector<std::string> DescribeClouds(const std::vector<std::string>& paths,
                                        const CloudReadOptions& options) {
  size_t moved = 0;
  std::string first_moved;
  std::string first_bin;
  for (const std::string& path : paths) {
    const bool bin = CloudFormatOf(path).value_or(CloudFormat::kPcd) == CloudFormat::kKittiBin;
    if (bin && !first_bin.empty()) continue;
    const absl::StatusOr<CloudFileInfo> info = InspectCloud(path, options);
    if (!info.ok()) continue;
    if (info->record.has_value() && first_bin.empty()) {
      first_bin = absl::StrCat("points of .bin files have ", info->record->floats,
                               " float32 each, ", ReasonText(info->record->reason), ": ", path);
    }
    if (!Moves(info->viewpoint)) continue;
    if (++moved > 1) continue;
    const Eigen::Vector3d& position = info->viewpoint.translation;
    first_moved = absl::StrFormat("%s by %g %g %g m and %.4g deg", path, position.x(), position.y(),
                                  position.z(),
                                  RotationDistance(info->viewpoint, Pose()) * kDegreesPerRadian);
  }
  std::vector<std::string> remarks;
  if (!first_bin.empty()) remarks.push_back(first_bin);
  if (moved > 0) {
    remarks.push_back(absl::StrCat("VIEWPOINT moves the points of ", moved, " of ", paths.size(),
                                   " clouds, first ", first_moved));
  }
  return remarks;
}

absl::StatusOr<std::vector<TileSource>> ResolveMapSources(const std::vector<std::string>& paths,
                                                          const MapSourceOptions& options,
                                                          InputNotes* notes) {
  if (paths.empty()) {
    return absl::InvalidArgumentError(
        "the map must be one or more cloud files or directories (got none)");
  }
  std::vector<TileSource> sources;
  for (const std::string& path : paths) {
    VOXLOC_TRY(IsFile(fs::path(path) / kMetadataName) ? AddAutowareMap(path, sources)
                                                      : AddClouds(path, sources));
  }
  NameTiles(sources);
  for (TileSource& source : sources) source.record_floats = options.record_floats;
  if (!options.poses.empty()) {
    VOXLOC_TRY(AddPoses(options, sources, notes));
  }
  if (!options.crs.empty()) VOXLOC_TRY(AddCrs(options, sources, notes));
  if (notes != nullptr) {
    CloudReadOptions read;
    read.record_floats = options.record_floats;
    for (std::string& remark : DescribeClouds(PathsOf(sources), read)) {
      notes->remarks.push_back(std::move(remark));
    }
  }
  return sources;
}

std::optional<std::string> FindProjectorYaml(const std::string& path) {
  const fs::path file = fs::path(path) / kProjectorYamlName;
  if (!IsFile(file)) return std::nullopt;
  return file.native();
}

CloudReadOptions ReadOptionsOf(const TileSource& source, const CloudReadOptions& limits) {
  CloudReadOptions read = limits;
  read.record_floats = source.record_floats;
  read.any_unit = source.crs != nullptr;
  read.xy_scale = source.crs != nullptr ? source.crs->xy_scale() : 1.0;
  return read;
}

absl::StatusOr<PointCloud> PlaceInMap(const TileSource& source, PointCloud points) {
  if (source.map_T_cloud.has_value()) return Transform(*source.map_T_cloud, points);
  if (source.crs == nullptr) return points;
  absl::StatusOr<PointCloud> converted = source.crs->Convert(points);
  if (converted.ok()) return converted;
  return absl::Status(converted.status().code(),
                      absl::StrCat(source.path, ": ", converted.status().message()));
}

absl::StatusOr<PointCloud> LoadTile(const TileSource& source, const CloudReadOptions& limits) {
  VOXLOC_ASSIGN_OR_RETURN(PointCloud cloud, ReadCloud(source.path, ReadOptionsOf(source, limits)));
  return PlaceInMap(source, std::move(cloud));
}

}  // namespace voxloc
