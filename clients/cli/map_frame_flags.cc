// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map_frame_flags.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/map_frame_text.h"
#include "clients/cli/pose_flag.h"
#include "clients/cli/pose_text.h"
#include "clients/dataset/map_projector_yaml.h"
#include "clients/dataset/map_source.h"
#include "core/geometry/angles.h"

namespace voxloc::cli {
namespace {

constexpr char kOriginNames[] = "LAT,LON[,ALT[,YAW]]";

absl::StatusOr<v1::Wgs84Origin> ParseOrigin(const std::string& text) {
  absl::StatusOr<std::vector<double>> numbers = ParseNumbers(text, kOriginNames, 2, 4);
  if (!numbers.ok()) return numbers.status();
  numbers->resize(4, 0.0);
  v1::Wgs84Origin origin;
  origin.mutable_point()->set_latitude_deg((*numbers)[0]);
  origin.mutable_point()->set_longitude_deg((*numbers)[1]);
  origin.mutable_point()->set_altitude_m((*numbers)[2]);
  origin.set_x_axis_yaw_rad((*numbers)[3] / kDegreesPerRadian);
  return origin;
}

// The projector that the directories among the paths have, and the file that says so.
absl::StatusOr<std::optional<v1::MapProjector>> ProjectorBeside(
    const std::vector<std::string>& paths) {
  std::optional<v1::MapProjector> projector;
  std::string first;
  for (const std::string& path : paths) {
    const std::optional<std::string> file = FindProjectorYaml(path);
    if (!file.has_value()) continue;
    absl::StatusOr<v1::MapProjector> read = ReadProjectorYaml(*file);
    if (!read.ok()) return read.status();
    if (!projector.has_value()) {
      projector = *std::move(read);
      first = *file;
    } else if (read->SerializeAsString() != projector->SerializeAsString()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the directories of a map must have one projector (got ", first, ": ",
                       ProjectorText(*projector), "; ", *file, ": ", ProjectorText(*read), ")"));
    }
  }
  if (projector.has_value()) {
    absl::FPrintF(stderr, "%s: the map's projector is %s\n", first, ProjectorText(*projector));
  }
  return projector;
}

}  // namespace

absl::StatusOr<std::optional<v1::MapFrame>> MapFrameFlags::FrameOf(
    const std::vector<std::string>& paths) const {
  v1::MapFrame frame;
  if (!projector.empty()) {
    absl::StatusOr<v1::MapProjector> read = ReadProjectorYaml(projector);
    if (!read.ok()) return read.status();
    *frame.mutable_projector() = *std::move(read);
  } else {
    absl::StatusOr<std::optional<v1::MapProjector>> found = ProjectorBeside(paths);
    if (!found.ok()) return found.status();
    if (found->has_value()) *frame.mutable_projector() = **std::move(found);
  }
  if (!wgs84_origin.empty()) {
    absl::StatusOr<v1::Wgs84Origin> origin = ParseOrigin(wgs84_origin);
    if (!origin.ok()) return origin.status();
    *frame.mutable_origin() = *std::move(origin);
  }
  if (!frame.has_projector() && !frame.has_origin()) return std::nullopt;
  return frame;
}

void AddMapFrameFlags(CLI::App* command, MapFrameFlags* flags) {
  command
      ->add_option("--projector", flags->projector,
                   "Read how x and y follow from latitude and longitude from this file, as "
                   "Autoware writes it; default: map_projector_info.yaml in a PATH")
      ->type_name("FILE");
  AddNumbersFlag(command, "--wgs84-origin", kOriginNames, 2, 4,
                 "Put the map's origin at this latitude and longitude (degrees, WGS84) and "
                 "altitude (metres), its x axis YAW degrees from east, counterclockwise; "
                 "default: ALT 0, YAW 0",
                 &flags->wgs84_origin);
}

}  // namespace voxloc::cli
