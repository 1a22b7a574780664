// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map/map_load.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/output/message_text.h"
#include "clients/cli/output/terminal.h"
#include "clients/dataset/bag/drive.h"
#include "clients/dataset/map_yaml.h"
#include "clients/dataset/trajectory_file.h"
#include "core/cloud/filters.h"
#include "core/geometry/euler.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

constexpr double kSquare_m = 5.0;
constexpr size_t kMaxSquares = 4'000'000;

// Metadata gives corners in whole metres or so.
constexpr double kDeclaredMargin_m = 1.0;

// No map that is driven in is larger.
constexpr double kMaxExtent_m = 200e3;
constexpr double kMaxHeight_m = 5e3;
// The least share of the bounds' area that has points. A road of 50 km across them has 0.4 %.
constexpr double kMinFilledRatio = 1e-3;

// Maps on their side are higher than a building, and flat the other way.
constexpr double kMinSideHeight_m = 20.0;
constexpr double kSideRatio = 2.0;

// Fewer clouds that cover each other are no sign of a mistake.
constexpr size_t kMinStackedClouds = 3;

// Steps of float32 that a map's accuracy shows.
constexpr double kCoarseStep_m = 0.01;

uint64_t SquareOf(double x, double y) {
  const auto part = [](double value) {
    const double index = std::clamp(std::floor(value / kSquare_m), -2e9, 2e9);
    return static_cast<uint64_t>(static_cast<uint32_t>(static_cast<int32_t>(index)));
  };
  return part(x) << 32U | part(y);
}

void Extend(Bounds* bounds, const Bounds& more) {
  if (more.finite_points == 0) return;
  const bool first = bounds->finite_points == 0;
  bounds->min = first ? more.min : bounds->min.cwiseMin(more.min).eval();
  bounds->max = first ? more.max : bounds->max.cwiseMax(more.max).eval();
  bounds->finite_points += more.finite_points;
}

double AreaOf(const Bounds& bounds) {
  const Eigen::Vector3d extent = bounds.max - bounds.min;
  return extent.x() * extent.y();
}

// With 0.1 s at first and 5 s at most about 70 s: a server that is restarted is back by then.
constexpr int kMaxUploadAttempts = 20;

bool ChangesNothing(const v1::UpdateCommitted& committed) {
  return committed.tiles_added() + committed.tiles_replaced() + committed.tiles_removed() == 0;
}

absl::StatusOr<v1::Wgs84Origin> ParseOrigin(const std::string& text) {
  VOXLOC_ASSIGN_OR_RETURN(std::vector<double> numbers, ParseNumbers(text, kOriginNames, 2, 4));
  numbers.resize(4, 0.0);
  v1::Wgs84Origin origin;
  origin.mutable_point()->set_latitude_deg(numbers[0]);
  origin.mutable_point()->set_longitude_deg(numbers[1]);
  origin.mutable_point()->set_altitude_m(numbers[2]);
  origin.set_x_axis_yaw_rad(numbers[3] / kDegreesPerRadian);
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
    VOXLOC_ASSIGN_OR_RETURN(v1::MapProjector read, ReadProjectorYaml(*file));
    if (!projector.has_value()) {
      projector = std::move(read);
      first = *file;
    } else if (read.SerializeAsString() != projector->SerializeAsString()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the directories of a map must have one projector (got ", first, ": ",
                       ProjectorText(*projector), "; ", *file, ": ", ProjectorText(read), ")"));
    }
  }
  if (projector.has_value()) {
    absl::FPrintF(stderr, "%s: the map's projector is %s\n", first, ProjectorText(*projector));
  }
  return projector;
}

}  // namespace

void MapSurvey::Begin(const std::string& cloud, const std::optional<XyBounds>& declared,
                      bool placed) {
  Cloud& known = clouds_[cloud];
  known = Cloud();
  known.declared = declared;
  known.placed = placed;
}

void MapSurvey::Add(const std::string& cloud, const PointCloud& points) {
  Cloud& known = clouds_[cloud];
  Extend(&known.bounds, ComputeBounds(points));
  for (size_t i = 0; i < points.size(); ++i) {
    if (!points.IsFinite(i)) continue;
    known.largest_offset_m =
        std::max({known.largest_offset_m, std::abs(points.x[i]), std::abs(points.y[i])});
    const Eigen::Vector3d point = points.Point(i);
    if (known.declared.has_value()) {
      const XyBounds& declared = *known.declared;
      const Eigen::Array2d xy = point.head<2>().array();
      if ((xy < declared.min.array() - kDeclaredMargin_m).any() ||
          (xy > declared.max.array() + kDeclaredMargin_m).any()) {
        ++known.outside_declared;
      }
    }
    if (too_many_squares_) continue;
    squares_.insert(SquareOf(point.x(), point.y()));
    if (squares_.size() > kMaxSquares) {
      too_many_squares_ = true;
      squares_.clear();
    }
  }
}

uint64_t MapSurvey::points() const { return bounds().finite_points; }

uint64_t MapSurvey::PointsOf(const std::string& cloud) const {
  const auto found = clouds_.find(cloud);
  return found == clouds_.end() ? 0 : found->second.bounds.finite_points;
}

Bounds MapSurvey::bounds() const {
  Bounds all;
  for (const auto& [name, cloud] : clouds_) Extend(&all, cloud.bounds);
  return all;
}

std::optional<double> MapSurvey::density_per_m2() const {
  if (squares_.empty()) return std::nullopt;
  return static_cast<double>(points()) /
         (static_cast<double>(squares_.size()) * kSquare_m * kSquare_m);
}

std::vector<std::string> MapSurvey::Warnings() const {
  std::vector<std::string> warnings;
  const Bounds all = bounds();
  if (all.finite_points == 0) return warnings;
  const Eigen::Vector3d extent = all.max - all.min;
  const double furthest_m = std::max(all.min.cwiseAbs().maxCoeff(), all.max.cwiseAbs().maxCoeff());
  if (furthest_m > client::kMaxMapCoordinate_m) {
    warnings.push_back(absl::StrFormat("points are up to %.4g m from zero", furthest_m));
  }
  if (extent.head<2>().maxCoeff() > kMaxExtent_m || extent.z() > kMaxHeight_m) {
    warnings.push_back("the bounds are out of proportion for a map");
  }
  const double area_m2 = AreaOf(all);
  const double filled_m2 = static_cast<double>(squares_.size()) * kSquare_m * kSquare_m;
  if (!too_many_squares_ && filled_m2 < kMinFilledRatio * area_m2) {
    warnings.push_back(absl::StrFormat(
        "only %.2g %% of the bounds' area have points: some points may lie far from the others",
        100.0 * filled_m2 / area_m2));
  }
  const double narrow_m = std::min(extent.x(), extent.y());
  if (extent.z() > kMinSideHeight_m && extent.z() > kSideRatio * narrow_m) {
    warnings.push_back(absl::StrFormat(
        "it is %.0f m high and only %.0f m wide: does it lie on its side?", extent.z(), narrow_m));
  }
  size_t unplaced = 0;
  double unplaced_m2 = 0.0;
  size_t outside = 0;
  std::string first_outside;
  float largest_offset_m = 0.0F;
  for (const auto& [name, cloud] : clouds_) {
    if (!cloud.placed && cloud.bounds.finite_points > 0) {
      ++unplaced;
      unplaced_m2 += AreaOf(cloud.bounds);
    }
    if (2 * cloud.outside_declared > cloud.bounds.finite_points && ++outside == 1) {
      first_outside = name;
    }
    largest_offset_m = std::max(largest_offset_m, cloud.largest_offset_m);
  }
  if (unplaced >= kMinStackedClouds && area_m2 > 0.0 &&
      unplaced_m2 >= 0.5 * static_cast<double>(unplaced) * area_m2) {
    warnings.push_back(
        absl::StrCat("the ", unplaced,
                     " clouds lie on top of each other: are they scans that need --poses, or tiles "
                     "whose place got lost?"));
  }
  if (outside > 0) {
    warnings.push_back(absl::StrCat("most points of ", outside,
                                    " clouds lie outside of the bounds that the metadata has for "
                                    "them, first of ",
                                    first_outside));
  }
  const float step_m =
      std::nextafter(largest_offset_m, std::numeric_limits<float>::infinity()) - largest_offset_m;
  if (step_m >= kCoarseStep_m) {
    warnings.push_back(absl::StrFormat(
        "coordinates of up to %.0f m are float32 and come in steps of %.3g m; write them in double",
        largest_offset_m, step_m));
  }
  return warnings;
}

std::string MapSurvey::Text() const {
  const Bounds all = bounds();
  if (all.finite_points == 0) return "";
  const Eigen::Vector3d extent = all.max - all.min;
  std::string text =
      absl::StrFormat("extent %.1f x %.1f x %.1f m, from %.1f %.1f %.1f to %.1f %.1f %.1f m\n",
                      extent.x(), extent.y(), extent.z(), all.min.x(), all.min.y(), all.min.z(),
                      all.max.x(), all.max.y(), all.max.z());
  if (const std::optional<double> density = density_per_m2(); density.has_value()) {
    absl::StrAppendFormat(&text, "density %.3g points/m2 where there are any\n", *density);
  }
  for (const std::string& warning : Warnings()) absl::StrAppend(&text, "warning: ", warning, "\n");
  return text;
}

void MapSurvey::AddTo(Json* json) const {
  const Bounds all = bounds();
  Json& out = *json;
  out["extent_m"] = nullptr;
  out["bounds"] = nullptr;
  if (all.finite_points > 0) {
    out["extent_m"] = VectorJson(all.max - all.min);
    out["bounds"] = {{"min", VectorJson(all.min)}, {"max", VectorJson(all.max)}};
  }
  const std::optional<double> density = density_per_m2();
  out["points_per_m2"] = density.has_value() ? Json(*density) : Json(nullptr);
  Json& warnings = out["doubts"];
  if (!warnings.is_array()) warnings = Json::array();
  for (const std::string& warning : Warnings()) warnings.push_back(warning);
}

absl::StatusOr<std::optional<v1::MapFrame>> MapFrameOf(const std::string& projector,
                                                       const std::string& wgs84_origin,
                                                       const std::vector<std::string>& paths) {
  v1::MapFrame frame;
  if (!projector.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(*frame.mutable_projector(), ReadProjectorYaml(projector));
  } else {
    VOXLOC_ASSIGN_OR_RETURN(std::optional<v1::MapProjector> found, ProjectorBeside(paths));
    if (found.has_value()) *frame.mutable_projector() = *std::move(found);
  }
  if (!wgs84_origin.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(*frame.mutable_origin(), ParseOrigin(wgs84_origin));
  }
  if (!frame.has_projector() && !frame.has_origin()) return std::nullopt;
  return frame;
}

std::string UploadText(const std::string& label, size_t tiles,
                       const client::UploadProgress& progress, double seconds, bool bar) {
  if (!progress.broken.ok()) {
    return absl::StrFormat("%s: the connection was lost (%s); again in %.1f s", label,
                           std::string(progress.broken.message()), progress.wait_s);
  }
  std::string detail;
  if (progress.counts.tiles_reused > 0) {
    absl::StrAppend(&detail, ", ", progress.counts.tiles_reused, " there already");
  }
  const uint64_t bytes = progress.counts.bytes_sent;
  absl::StrAppend(&detail, ", ", ByteText(bytes), " sent");
  if (bytes > 0 && seconds > 0.0) {
    absl::StrAppend(&detail, ", ",
                    ByteText(static_cast<uint64_t>(static_cast<double>(bytes) / seconds)), "/s");
  }
  return ProgressText(label, "tiles" + detail, progress.tiles, tiles,
                      SecondsLeft(progress.tiles, tiles, seconds), bar);
}

absl::StatusOr<client::UploadResult> UploadWithProgress(const ServerFlags& server,
                                                        const CommitFlags& flags,
                                                        v1::BeginUpdate begin,
                                                        std::vector<client::UploadTile> tiles) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(server));
  client::UploadOptions options;
  options.transaction.timeout_s = server.timeout_s;
  options.transaction.begin = std::move(begin);
  flags.AddTo(&options.transaction.begin, &options.commit);
  options.reconnect.max_attempts = kMaxUploadAttempts;
  const std::string label = absl::StrCat("loading ", options.transaction.begin.map());
  const Stopwatch watch;
  LiveLine line(3.0, 0.1);
  options.progress = [&, all = tiles.size()](const client::UploadProgress& progress) {
    const bool last = progress.tiles >= all && line.terminal();
    const bool always = last || !progress.broken.ok();
    if (!always && !line.due()) return;
    line.Show(UploadText(label, all, progress, watch.seconds(), line.terminal()), always);
  };
  return client::UploadTiles(channel, std::move(tiles), options);
}

std::string UploadNotes(const client::UploadResult& result, bool staged,
                        uint64_t points_not_finite) {
  const v1::UpdateCommitted& committed = result.committed;
  if (committed.repeated()) {
    return absl::StrCat("nothing has changed: the request ", result.request_id,
                        " was committed before\n");
  }
  std::string text;
  if (ChangesNothing(committed)) {
    absl::StrAppend(&text, "no tile has changed: the revision is the same as the one ",
                    staged ? "in use\n" : "before\n");
  }
  if (result.counts.tiles_reused > 0) {
    absl::StrAppend(&text, "the server had ", result.counts.tiles_reused, " of the tiles; ",
                    ByteText(result.bytes_sent), " were sent\n");
  }
  if (points_not_finite > 0) {
    absl::StrAppend(&text, GroupDigits(points_not_finite), " points were dropped: not finite\n");
  }
  if (staged) {
    absl::StrAppend(&text, "the revision is staged; voxloc map activate --map ",
                    committed.map().name(), " --revision ", committed.map().revision(),
                    " puts it in use\n");
  }
  return text;
}

Json UploadJson(const client::UploadResult& result) {
  const v1::UpdateCommitted& committed = result.committed;
  return {{"map", MapJson(committed.map())},
          {"request_id", result.request_id},
          {"repeated", committed.repeated()},
          {"changed", !committed.repeated() && !ChangesNothing(committed)},
          {"tiles_sent", result.counts.tiles_sent},
          {"tiles_reused", result.counts.tiles_reused},
          {"tiles_added", committed.tiles_added()},
          {"tiles_replaced", committed.tiles_replaced()},
          {"tiles_removed", committed.tiles_removed()},
          {"bytes_sent", result.bytes_sent},
          {"transactions", result.transactions},
          {"commit_s", committed.commit_s()},
          {"store_s", committed.store_s()}};
}

}  // namespace voxloc::cli
